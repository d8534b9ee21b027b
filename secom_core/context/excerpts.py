"""Excerpts of a turn that is too long to be shown whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Final

from ..conversation import USER_ROLES, Turn
from ..memory import Hit, Passage, passages_of
from ..ranking.cores import leads
from ..text.kept import Kept
from ..text.parts import is_row, line_spans, rows_only
from ..text.patterns import regex
from ..text.terms import terms

_FEW = 12
"""How many words tell something."""
_AGAIN = 60
"""So many characters that are said again in one turn are worth leaving out."""
_AROUND = regex(r"^[\W_]+|[\W_]+$")
_WORD = regex("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
"""A word, or a character where words are not parted by blanks."""


def excerpted(hit: Hit, turn: Turn, fits: Callable[[Hit], bool]) -> Hit | None:
    """The hit with as many passages of one of its turns as fit; nothing where none does.

    What a user says comes first, then what shares most words with the memory's summary.

    Args:
        hit: a memory.
        turn: one of its turns.
        fits: whether there is room for a hit.
    """
    about = set(terms(hit.memory.summary or hit.memory.key))

    def telling(passage: Passage) -> tuple[bool, int]:
        is_users = turn.messages[passage.place].role in USER_ROLES
        return not is_users, -len(about.intersection(terms(passage.text)))

    part: Hit | None = None
    for passage in sorted(passages_of(turn), key=telling):
        kept = (*(part.excerpts if part is not None else ()), passage)
        grown = replace(hit, turns=(turn,), excerpts=tuple(sorted(kept, key=lambda each: (each.place, each.start))))
        part = grown if fits(grown) else part
    return part


def beginnings(passage: Passage) -> Iterator[Passage]:
    """A passage cut short where a sentence ends, the longest first, then where a word of its first sentence does.

    A few words tell nothing: of a short sentence there is no beginning, and none ends with a greeting, a heading or
    the head of a table. No row of a table is cut.
    """
    text, start = passage.message.text, passage.start
    spans = line_spans(text, start, passage.stop)
    telling = [each for each in rows_only(text, spans) if not leads(text[slice(*each)])]
    ends = [stop for _, stop in telling]
    is_cut = bool(ends) and telling[0] == spans[0] and not is_row(text, start)
    words = [found.end() for found in _WORD.finditer(text, start, ends[0])] if is_cut else []
    for stop in (*reversed(ends), *reversed(words[_FEW:])):
        if stop < passage.stop:
            yield replace(passage, stop=stop)


def without_lines(passage: Passage, known: Set[str]) -> Passage | None:
    """A passage without what its first and last lines and sentences say again; nothing where all of it is said again.

    A few words that are said again stay where they are.

    Args:
        passage: the passage.
        known: what is shown of its turn (`lines_of`).
    """
    lines = lines_of(passage.text)
    if known.isdisjoint(lines):
        return passage
    new = [place for place, line in enumerate(lines) if line and line not in known]
    again = sum(len(line) for line in lines if line in known)
    if again < _AGAIN or (not new and 2 * again < passage.stop - passage.start):
        return passage
    if not new:
        return None
    first, last = new[0], new[-1] + 1
    if sum(map(len, (*lines[:first], *lines[last:]))) < _AGAIN:
        return passage
    spans = [
        (passage.start + start, passage.start + stop) for start, stop in line_spans(passage.text, 0, len(passage.text))
    ]
    # What is short stays with what stands below it.
    while first and not lines[first - 1]:
        first -= 1
    return replace(passage, start=spans[first][0], stop=spans[last - 1][1])


def _lines_of(words: str) -> tuple[str, ...]:
    return tuple(_said(words[slice(*span)]) for span in line_spans(words, 0, len(words)))


lines_of: Final[Kept[str, tuple[str, ...]]] = Kept(_lines_of, characters=1_000_000)
"""What each line or sentence of a passage says, whatever signs stand around it; nothing where it is short."""


def _said(line: str) -> str:
    words = _AROUND.sub("", line).casefold()
    return words if len(words) > (_FEW if words.isascii() else _FEW // 2) else ""


def cut_short(excerpts: Sequence[Passage]) -> tuple[Passage, ...]:
    """Those of turns of which anything is left out."""
    shown: dict[str, int] = {}
    for each in excerpts:
        shown[each.turn.id] = shown.get(each.turn.id, 0) + each.stop - each.start
    return tuple(
        each for each in excerpts if shown[each.turn.id] < sum(len(message.text) for message in each.turn.messages)
    )
