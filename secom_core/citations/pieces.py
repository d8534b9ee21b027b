"""An answer cut into pieces: citations, formulas, what opens or closes code, and the words between."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ..text.patterns import regex
from .placing import WAITS
from .spelling import LONGEST, Spelling

AFTER: Final = 11
"""So many characters behind a bracket say what it is."""


class Kind(Enum):
    """What a piece is."""

    WORDS = "words"
    RUN = "run"
    """Backticks or tildes."""
    TAG = "tag"
    FORMULA = "formula"
    """What opens or closes a formula that may have several lines."""
    CITATION = "citation"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer; of words there may be several in a row.

    Args:
        kind: what it is.
        text: its characters.
        after: what follows a citation.
    """

    kind: Kind
    text: str
    after: str = ""


_SPECIAL: Final = re.escape("[\u3010\uff3b(\uff08*<$\\N")
_PLAIN: Final = regex(rf"[^`~{_SPECIAL}]+")
_RUN: Final = regex("`+|~+")
_INLINE: Final = r"(?![\s\d$])[^$\n]{0,116}"
_PRICED: Final = r"\d[^\s$]{0,40}"  # the beginning of a price, as a formula that begins so has no blanks


def _form(whole: str, begun: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What matches a piece, and what matches the end of a text that may go on as one."""
    return regex(whole, re.IGNORECASE), regex(rf"(?:{begun})\Z", re.IGNORECASE)


_FORMS: Final = (
    (Kind.TAG, *_form(r"</?(?:think|thinking|thought|reasoning|code|pre)>", r"</?[a-z]{0,9}")),
    (Kind.WORDS, *_form(r"\\[\\$]", r"\\")),
    (
        Kind.WORDS,
        *_form(rf"\$(?:{_INLINE}(?<![\s\\])|{_PRICED})\$(?!\d)", rf"\$(?:{_INLINE}\$?|{_PRICED}\$?|)"),
    ),
    (Kind.FORMULA, *_form(r"\$\$|\\[\[\]()]", r"[$\\]")),
)


def piece_at(text: str, place: int, spelling: Spelling, *, ended: bool) -> Piece | None:
    """The piece that begins at a place; nothing where what follows the text decides what it is.

    Args:
        text: the answer, from the beginning of a piece on.
        place: where in it.
        spelling: how citations are written.
        ended: whether nothing follows the text.
    """
    if words := _PLAIN.match(text, place):
        return Piece(Kind.WORDS, words[0])
    if run := _RUN.match(text, place):
        return Piece(Kind.RUN, run[0]) if ended or run.end() < len(text) else None
    waits = not ended and len(text) - place < LONGEST + AFTER
    for kind, whole, begun in ((Kind.CITATION, spelling.whole, spelling.begun), *_FORMS):
        found = whole.match(text, place, place + LONGEST)
        if found:
            after = text[found.end() : found.end() + AFTER]
            undecided = waits and len(after) < AFTER and (WAITS.match(after) if kind is Kind.CITATION else not after)
            return None if undecided else Piece(kind, found[0], after)
        if waits and begun.match(text, place):
            return None
    return Piece(Kind.WORDS, text[place])
