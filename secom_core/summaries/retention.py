"""What of an earlier summary a later one still holds, by words, names and numbers: found locally, without a model.

RSum counts missing details as the most frequent error of a recursive summary (section 6.4, Table 6). A statement counts
as held where the later text has enough of its words, and every name and number of it, in what is not said of another
speaker. Words cannot tell a change from a loss ("moved to Ghent" after "lives in Bruges" drops a word on purpose), so
a `Summarizer` asks about what seems lost before it keeps it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from difflib import SequenceMatcher
from functools import cache
from typing import Final

from ..errors import InvalidInput
from ..text.dates import without_days
from ..text.patterns import regex
from ..text.terms import latin_language_of, terms
from .statements import about, lines_of, marks, unlabelled

_ENOUGH: Final = 0.6
_FIGURE: Final = regex(r"\w*\d\w*")


def retention(earlier: str, later: str, *, enough: float = _ENOUGH, speakers: Collection[str] = ()) -> float:
    """The share of the earlier text's sentences that the later text still holds; 1 where there are none.

    Args:
        earlier: the summary before the update.
        later: the summary after it.
        enough: the share of a sentence's words, rare ones counting more, that must be there; above 0, at most 1.
        speakers: names of those who speak, beside the user and the assistant.
    """
    before = len(lines_of(earlier))
    return 1 - len(lost_sentences(earlier, later, enough=enough, speakers=speakers)) / before if before else 1.0


def lost_sentences(earlier: str, later: str, *, enough: float = _ENOUGH, speakers: Collection[str] = ()) -> list[str]:
    """The earlier text's sentences that the later text does not hold any more, in order.

    Args:
        earlier: the summary before the update.
        later: the summary after it.
        enough: as for `retention`.
        speakers: as for `retention`; what is said of one of them is not held by what is said of another.

    Raises:
        InvalidInput: for a share out of range.
    """
    if not 0 < enough <= 1:
        raise InvalidInput(f"enough is a share of words, above 0 and at most 1, got {enough}")
    language = latin_language_of(f"{earlier}\n{later}")
    before = [(sentence, set(terms(sentence, language=language))) for sentence in lines_of(earlier)]
    spread = Counter(term for _, words in before for term in words)
    # A name that stands in every sentence says nothing about any of them.
    worth = {term: math.log(1 + len(before) / count) for term, count in spread.items()}
    after = [(each, about(each, speakers)) for each in lines_of(later)]

    @cache
    def kept_of(who: str) -> set[str]:
        """The terms of what is not said of somebody else."""
        said = "\n".join(each for each, of in after if not (who and of) or who == of)
        return set(terms(said, language=language))

    def held(sentence: str, words: set[str]) -> bool:
        kept = kept_of(about(sentence, speakers))
        return _share(words, kept, worth) >= enough and _names(sentence, language) <= kept

    return [sentence for sentence, words in before if not held(sentence, words)]


def rewritten_sentences(earlier: str, later: str, session: str) -> list[str]:
    """The earlier text's sentences in whose place the later text has the same with another date or number.

    So that nobody need be asked whether "starts on the 5th of May" still holds: a small model writes "on the 19th" in
    its place, and then says that the old one holds too.

    Args:
        earlier: the summary before the update.
        later: the summary after it.
        session: what was said; a date or number that it does not have takes the place of none.
    """
    before, after = lines_of(earlier), lines_of(later)
    said, kept, known = set(_FIGURE.findall(session)), set(after), set(before)
    frames, later_frames = list(map(_frame, before)), list(map(_frame, after))
    pairs = [
        (old, new)
        for block in SequenceMatcher(None, frames, later_frames, autojunk=False).get_matching_blocks()
        for old, new in zip(before[block.a :][: block.size], after[block.b :][: block.size], strict=True)
    ]
    return [old for old, new in pairs if old not in kept and new not in known and _has_other_figures(old, new, said)]


def _frame(sentence: str) -> tuple[str, ...]:
    """The words of a sentence but for its label, dates and numbers."""
    return tuple(terms(_FIGURE.sub(" ", without_days(unlabelled(sentence)[1]))))


def _has_other_figures(old: str, new: str, said: Collection[str]) -> bool:
    before, after = set(_FIGURE.findall(old)), set(_FIGURE.findall(new))
    return bool(_frame(old)) and bool(before - after) and bool(after - before) and after - before <= set(said)


def _names(sentence: str, language: str) -> set[str]:
    return {term for mark in marks(sentence) for term in terms(mark, language=language)}


def _share(words: set[str], kept: set[str], worth: dict[str, float]) -> float:
    total = math.fsum(worth[term] for term in words)
    return math.fsum(worth[term] for term in words & kept) / total if total else 1.0
