"""What segments are called where people look at them: the words that tell each from the others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from ..conversation import Message
from ..denoisers.phrases import FILLERS, NEGATIONS, TIMES
from ..memory import Memory
from ..protocols import Statistics
from ..text.terms import is_stopword, latin_language_of, terms, word_spans
from ..text.word_lists import word_lists

_LISTS: Final = word_lists(__package__, "everyday.txt")
_EVERYDAY: Final = frozenset(word for words in _LISTS.values() for word in words.split())
"""Words of every conversation, which name no subject, lower-cased."""
_SPACELESS: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\u30a1-\u30fa\u30fc]+")
"""A run of Chinese characters, or of Katakana: Hiragana is what stands between words."""
_BETWEEN: Final = re.compile(f"[{''.join(_LISTS['chinese characters'].split())}]+")
_LONGEST: Final = 24
"""How many letters a word may have: what is longer is an address or a key."""
_LONGEST_SPACELESS: Final = 4
_REPLY: Final = 0.6
"""What an assistant's words count beside the user's: it is the user's subject."""
_NAME: Final = 1.3
"""What a word counts that begins with a capital where no sentence begins."""
_EXPECTED: Final = 0.5
"""What of the expected is taken off: all of it would leave no word that the speaker's other sessions are about too."""
_CHARACTERS: Final = 20_000
"""How much of a message is read."""
_REPLIES: Final = frozenset({"assistant", "ai", "tool"})


class _Found(NamedTuple):
    """A word of a message: its term, how it is spelled, where it stands, and whether a capital makes it a name."""

    term: str
    word: str
    start: int
    stop: int
    is_name: bool


@dataclass
class _Segment:
    """The words of one segment, by their terms.

    Args:
        messages: how much is said, a reply counting for less than what it answers.
        weights: in how much of it each word stands.
        spelled: how often each is spelled in which way.
        names: which of them are names.
        pairs: how often which two stand side by side.
    """

    messages: float = 0.0
    weights: dict[str, float] = field(default_factory=dict)
    spelled: dict[str, Counter[str]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def read(self, message: Message) -> None:
        """Count the words of a message."""
        found = list(_telling(message.text[:_CHARACTERS]))
        weight = _REPLY if message.role in _REPLIES else 1.0
        self.messages += weight
        for each in found:
            self.spelled.setdefault(each.term, Counter())[each.word] += 1
        for term in {each.term for each in found}:
            self.weights[term] = self.weights.get(term, 0.0) + weight
        self.names.update(each.term for each in found if each.is_name)
        beside = (pair for pair in pairwise(found) if pair[1].start - pair[0].stop == 1)
        self.pairs.update((one.term, other.term) for one, other in beside if one.term != other.term)

    def shown(self, term: str) -> str:
        """A word as it is spelled most often; in small letters where a sentence may have begun with it."""
        spelled = self.spelled[term]
        return max(spelled, key=lambda word: (spelled[word], word.islower() != (term in self.names), word))


def segment_names(
    memories: Sequence[Memory], statistics: Statistics | None = None, *, most: int = 3
) -> list[tuple[str, ...]]:
    """The words that tell each segment of a session from the others, the most telling first; none where nothing does.

    A word counts by how much more of the segment's messages hold it than would be expected, in standard deviations
    (Monroe et al. 2008, "Fightin' Words", section 3.5, of which this is the first-order form). Of words that often
    stand side by side, such as a first and a last name, one name is made.

    Args:
        memories: the segments of one session, in order.
        statistics: how common terms are in the scope; the session itself tells where there are none.
        most: how many words, or pairs of words, a segment is named by.
    """
    segments = [_read(memory) for memory in memories]
    total = sum(each.messages for each in segments)
    held: dict[str, float] = {}
    for each in segments:
        for term, weight in each.weights.items():
            held[term] = held.get(term, 0.0) + weight

    def share(term: str) -> float:
        inside = held[term] / max(total, 1.0)
        if statistics is None or not statistics.total:
            return inside
        return (inside + statistics.frequency(term) / statistics.total) / 2

    def worth(segment: _Segment, term: str) -> float:
        weight = segment.weights[term]
        excess = (weight - _EXPECTED * segment.messages * share(term)) / math.sqrt(weight)
        return excess * (_NAME if term in segment.names else 1.0)

    return [_name(each, {term: worth(each, term) for term in each.weights}, most) for each in segments]


def _read(memory: Memory) -> _Segment:
    segment = _Segment()
    for turn in memory.turns:
        for message in turn.messages:
            segment.read(message)
    return segment


def _name(segment: _Segment, worth: dict[str, float], most: int) -> tuple[str, ...]:
    chosen: list[str] = []
    used: set[str] = set()
    # Of words that tell as much, the one that was said first.
    for term in sorted(worth, key=lambda term: -worth[term]):
        if len(chosen) < most and term not in used:
            phrase = _phrase(segment, term, used)
            used.update(phrase)
            chosen.append(" ".join(map(segment.shown, phrase)))
    return tuple(chosen)


def _phrase(segment: _Segment, term: str, used: set[str]) -> tuple[str, ...]:
    """The term with the one that it mostly stands beside, in their order."""
    beside = {pair: count for pair, count in segment.pairs.items() if term in pair and not used & set(pair)}
    if not beside:
        return (term,)
    best = max(beside, key=lambda pair: beside[pair])
    enough = 1 if set(best) <= segment.names else 2
    return best if beside[best] >= enough else (term,)


def _telling(text: str) -> Iterator[_Found]:
    """The words of a text that may name a subject."""
    language = latin_language_of(text)
    for start, stop in word_spans(text):
        if _SPACELESS.search(text, start, stop):
            for place in _SPACELESS.finditer(text, start, stop):
                yield from _of_run(text, *place.span())
        elif (found := terms(text[start:stop], language=language)) and _may_name(text[start:stop], language):
            yield _Found(found[0], text[start:stop], start, stop, _is_name(text, start))


def _of_run(text: str, start: int, stop: int) -> Iterator[_Found]:
    """The words of a run of Chinese or Japanese, as far as they stand between such as every sentence has."""
    cuts = [start, *(edge for place in _BETWEEN.finditer(text, start, stop) for edge in place.span()), stop]
    for first, last in zip(cuts[::2], cuts[1::2], strict=True):
        if 2 <= last - first <= _LONGEST_SPACELESS and text[first:last] not in _EVERYDAY:
            yield _Found(text[first:last], text[first:last], first, last, is_name=False)


def _may_name(word: str, language: str) -> bool:
    folded = word.casefold().replace("’", "'")
    listed = (folded,) in FILLERS or folded in NEGATIONS or folded in TIMES or folded in _EVERYDAY
    least = 3 if folded.isascii() else 2
    is_function_word = is_stopword(folded, language) or is_stopword(folded)
    return least <= len(folded) <= _LONGEST and folded.isalpha() and not listed and not is_function_word


def _is_name(text: str, start: int) -> bool:
    """Whether a capital stands where no sentence or line begins."""
    before = text[:start].rstrip(" \"'“”‘’*_([")
    return text[start].isupper() and bool(before) and before[-1] not in ".!?…:\n-#>•"
