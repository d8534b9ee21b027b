"""Denoising without a model: the words that say least in their scope go."""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import Final

from ..errors import InvalidInput
from ..protocols import Statistics
from ..text.passages import Span, blocks
from ..text.patterns import regex
from ..text.terms import is_stopword, latin_language_of, terms, word_spans
from .phrases import FILLER_RUN, FILLERS, NEGATION_CHARACTERS, NEGATIONS, TIMES

# Below this many turns a document frequency says more about chance than about the word.
_ENOUGH_TURNS: Final = 20
# A function word is worth as much as a word in three of five turns.
_FUNCTION_SHARE: Final = 0.6
# Two characters belong to one word if they meet twice as often as chance would have it, or most times that one of
# them is there.
_COHESION: Final = 2.0
_LOYALTY: Final = 0.5
_IDEOGRAPHS: Final = re.compile(r"[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u3005\uf900-\ufaff\U00020000-\U000323af]+")
_DATE_RUN: Final = re.compile("[一二三四五六七八九十百千万两兩半]|[今昨明前后後去上下][天日年晚周週月]|星期|曜日")
_LONGEST_FILLER: Final = max(map(len, FILLERS))
_ENDS: Final = re.compile(r"[.!?…。！？؟।]+")
_CLOSES: Final = re.compile(r"""[,.;:!?…%)\]}"'”’»。，、；：！？」』）】؟،।]+""")
_OPENS: Final = re.compile(r"(?<=\s)[^\w\s]+$")
_BLOCKS: Final = ("code", "table")
_LABELLED: Final = regex(r"^([^\n:]{1,60}:) (?=```|~~~|\|)", re.M)
"""The speaker before a message that begins with code or a table."""
_BLOCK: Final = regex(r"^[ \t]*(?:```|~~~|\|)", re.M)
_IN_LINE: Final = regex(
    r"`[^`\n]+`|https?://[^\s<>\"]+[^\s<>\".,;:!?)\]'。、]"
    # Addresses, paths, and names such as a_flag or an.object: a word of ASCII that holds signs inside.
    r"|(?:(?<![!-~])|(?<=[\"'(\[{*<]))[A-Za-z0-9~./\\-][!-~]{0,80}?(?:[@_/\\]|[A-Za-z0-9]{2}\.(?=[A-Za-z0-9]{2}))"
    r"[!-~]{0,200}(?<=[A-Za-z0-9_/\\])"
)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word or run of characters at ``[start, stop)`` of the text.

    ``worth`` is an idf in nats: infinite for words that must stay, negative for fillers.
    """

    start: int
    stop: int
    worth: float


class Informativeness:
    """Drops greetings, fillers and the least informative words of a text; needs no model.

    A word is worth its idf in the scope: a word of every turn does not tell turns apart. Function words are worth
    little everywhere. Names, numbers, dates, negations, links, code and tables always stay. In Chinese and Japanese,
    which write no space between words, characters that often stand together in the scope are taken for one word. What
    stays keeps its order, spelling and punctuation; a text of which nothing would be left stays whole.

    Without statistics, or with those of fewer than 20 turns, only fillers and function words go.

    Args:
        rate: the share of words, fillers apart, that stays at least; more than 0 and at most 1, where 1 drops
            nothing. 0.75 is SeCom's for LLMLingua-2 (section 3).

    Raises:
        InvalidInput: for a rate out of range.
    """

    def __init__(self, rate: float = 0.75) -> None:
        if not 0 < rate <= 1:
            raise InvalidInput(f"rate is the share of words that stays, more than 0 and at most 1, got {rate}")
        self.rate = rate

    def denoise(self, texts: Sequence[str], statistics: Statistics | None = None) -> list[str]:
        """The more informative part of each text, in order.

        Args:
            texts: any texts, in any script.
            statistics: how common terms are in the scope, such as its lexical index.
        """
        if self.rate >= 1:
            return list(texts)
        scope = statistics if statistics is not None and statistics.total >= _ENOUGH_TURNS else None
        return [self._denoise(text, scope) for text in texts]

    def _denoise(self, text: str, scope: Statistics | None) -> str:
        words = list(_weighed(text, scope))
        content = [word for word in words if word.worth >= 0]
        counts = Counter(text[word.start : word.stop].casefold() for word in content)
        # Of words that are worth the same, the short ones go first, then those that the text repeats.
        order = sorted(
            content, key=lambda w: (w.worth, w.stop - w.start, -counts[text[w.start : w.stop].casefold()], -w.start)
        )
        most = len(content) - math.ceil(self.rate * len(content))
        dropped = {word for word in order[:most] if word.worth < math.inf}
        kept = frozenset(content) - dropped
        return _joined(text, words, kept) if 0 < len(kept) < len(words) else text


def _function_worth(scope: Statistics | None) -> float:
    total = scope.total if scope is not None else _ENOUGH_TURNS
    return math.log((total + 1) / (_FUNCTION_SHARE * total + 1))


def _idf(scope: Statistics, term: str) -> float:
    return math.log((scope.total + 1) / (min(scope.frequency(term), scope.total) + 1))


def _weighed(text: str, scope: Statistics | None) -> Iterator[_Word]:
    whole = _whole(text)
    spans = _words_around(word_spans(text), whole)
    fillers = _filler_places(text, spans)
    language = latin_language_of(text)
    for place, (start, stop) in enumerate(spans):
        if (start, stop) in whole:
            yield _Word(start, stop, math.inf)
        elif place in fillers:
            yield _Word(start, stop, -1.0)
        elif _IDEOGRAPHS.fullmatch(text, start, stop):
            yield from _weighed_run(text, start, stop, scope)
        elif _must_stay(text[start:stop], language):
            yield _Word(start, stop, math.inf)
        else:
            yield _Word(start, stop, _worth(text[start:stop], language, scope))


def _whole(text: str) -> dict[Span, None]:
    """What is code, a table or a link, in order: without some of its words it is none any more."""
    # A speaker stands on a line of its own then, so that places stay what they are.
    text = _LABELLED.sub(r"\1\n", text)
    lines = blocks(text) if _BLOCK.search(text) else ()
    large = [(start, start + len(text[start:stop].rstrip())) for start, stop, kind in lines if kind in _BLOCKS]
    small = (found.span() for found in _IN_LINE.finditer(text))
    apart = [span for span in small if not any(start < span[1] and span[0] < stop for start, stop in large)]
    return dict.fromkeys(sorted([*large, *apart]))


def _words_around(words: Sequence[Span], whole: Collection[Span]) -> list[Span]:
    """The words, each of the spans in place of the words in it."""
    if not whole:
        return list(words)
    edges = [edge for span in whole for edge in span] + [sys.maxsize]
    places = (bisect_right(edges, start) for start, _ in words)
    outside = (not place % 2 and edges[place] >= stop for (_, stop), place in zip(words, places, strict=True))
    return sorted([*whole, *compress(words, outside)])


def _filler_places(text: str, spans: Sequence[tuple[int, int]]) -> set[int]:
    folded = [_folded(text[start:stop]) for start, stop in spans]
    places = {place for place, span in enumerate(spans) if FILLER_RUN.fullmatch(text, *span)}
    for length in range(1, _LONGEST_FILLER + 1):
        for first in range(len(folded) - length + 1):
            if tuple(folded[first : first + length]) in FILLERS:
                places.update(range(first, first + length))
    return places


def _folded(word: str) -> str:
    return word.casefold().replace("’", "'")


def _must_stay(word: str, language: str) -> bool:
    folded = _folded(word)
    return (
        any(map(str.isdigit, word))
        or folded in NEGATIONS
        or folded.endswith("n't")
        or folded in TIMES
        or NEGATION_CHARACTERS.search(word) is not None
        or (word[0].isupper() and not is_stopword(word, language) and not is_stopword(word))
    )


def _worth(word: str, language: str, scope: Statistics | None) -> float:
    if is_stopword(word, language):
        return _function_worth(scope)
    if scope is None:
        return math.inf  # Nothing tells common words from rare ones.
    found = terms(word, language=language)
    return max((_idf(scope, term) for term in found), default=_function_worth(scope))


def _weighed_run(text: str, start: int, stop: int, scope: Statistics | None) -> Iterator[_Word]:
    """The words of a run of Chinese or Japanese; the whole run where there is nothing to tell them by."""
    if scope is None:
        yield _Word(start, stop, math.inf)
        return
    after_number = start > 0 and text[start - 1].isdigit()
    cuts = (place for place in range(start + 1, stop) if not _belong(text[place - 1], text[place], scope))
    for first, last in pairwise([start, *cuts, stop]):
        run = text[first:last]
        fixed = NEGATION_CHARACTERS.search(run) or _DATE_RUN.search(run) or (after_number and first == start)
        yield _Word(first, last, math.inf if fixed else _run_worth(run, scope))


def _run_worth(run: str, scope: Statistics) -> float:
    grams = [first + second for first, second in pairwise(run)] or [run]
    return max(_idf(scope, gram) for gram in grams)


def _belong(first: str, second: str, scope: Statistics) -> bool:
    """Whether two characters make one word: by mutual information (Sproat & Shih, 1990), or by loyalty.

    Mutual information is blind to words that most turns hold; there one character hardly comes without the other.
    """
    together = scope.frequency(first + second)
    alone = scope.frequency(first), scope.frequency(second)
    if not all(alone):
        return True
    return together * scope.total >= _COHESION * alone[0] * alone[1] or together >= _LOYALTY * min(alone)


def _joined(text: str, words: Sequence[_Word], kept: Collection[_Word]) -> str:
    """The kept words with what stood between them; where words are missing, the strongest of it."""
    parts: list[str] = []
    end, missing = 0, False
    for word in words:
        if word not in kept:
            missing = True
            continue
        between = text[end : word.start]
        parts += [_mended(between, inside=bool(parts)) if missing else between, text[word.start : word.stop]]
        end, missing = word.stop, False
    parts.append(_mended(text[end:], inside=True).rstrip() if missing else text[end:])
    return "".join(parts)


def _mended(gap: str, *, inside: bool) -> str:
    """Punctuation and space in place of a gap that held words: what closes before it, what opens after it."""
    closes = _CLOSES.match(gap)
    mark = closes[0] if closes else ""
    ends = _ENDS.findall(gap)
    if ends and not _ENDS.search(mark):
        mark = ends[-1]
    opens = _OPENS.search(gap)
    space = "\n" if "\n" in gap else " " if any(map(str.isspace, gap)) else ""
    return (mark + space if inside else "") + (opens[0] if opens else "")
