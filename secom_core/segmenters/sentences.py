"""The sentences of a document: a line that was broken to fit a page ends none, and neither does the number of an item.

Text from a PDF, mail, and Markdown that is kept at 80 columns have such lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..text.passages import Span, blocks
from ..text.patterns import regex
from ..text.terms import sentence_spans

_WHOLE: Final = ("code", "table")
_APART: Final = (*_WHOLE, "heading")
_SHORTEST: Final = 30
"""How many characters a line has at least that was broken because it was full."""
_NUMBER: Final = regex(r"[ \t>]*[(（]?(?:\d{1,3}|[a-zA-Z])[.)）][ \t]+")
_ITEM: Final = regex(r"[ \t>]*(?:[-*+•·#|>]|[(（]?\d{1,3}[.．)）、][ \t])")
_WORD: Final = regex(r"[ \t]*(\S+)")
_GOES_ON: Final = frozenset(",-–—)]'’\"”»/&\u00ad")
"""What a line that was broken inside a sentence may end with, besides letters and digits."""


def document_sentences(text: str) -> Iterator[Span]:
    """Ranges of characters that cover the text: sentences, each heading, each block of code and each table whole."""
    begin = 0
    pieces = list(_pieces(text))
    widths = _Widths(text)
    for (start, stop, kind), (_, after, next_kind) in pairwise(pieces):
        apart = kind in _APART or next_kind in _APART
        if apart or not (_NUMBER.fullmatch(text, start, stop) or _is_broken(text, stop, after, widths)):
            yield begin, stop
            begin = stop
    if begin < len(text):
        yield begin, len(text)


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    for start, stop, kind in blocks(text):
        spans = [(start, stop)] if kind in _WHOLE else sentence_spans(text, start, stop)
        yield from ((first, last, kind) for first, last in spans)


def _is_broken(text: str, place: int, stop: int, widths: _Widths) -> bool:
    """Whether the line that ends before a place was broken to fit, and its sentence goes on behind it."""
    end = place
    while text[end - 1] in " \t":
        end -= 1
    if text[end - 1] != "\n":
        return False
    line = text[text.rfind("\n", 0, end - 1) + 1 : end].rstrip()
    first = _WORD.match(text, place, stop)
    if len(line) < _SHORTEST or not (line[-1].isalnum() or line[-1] in _GOES_ON):
        return False
    if first is None or _ITEM.match(text, end, stop):
        return False
    return first[1][0].islower() or len(line) + 1 + len(first[1]) > widths.at(place)


class _Widths:
    """How long the longest line of each paragraph is."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._longest: list[int] = []
        place, before = 0, ""
        for line in text.splitlines(keepends=True):
            words = line.rstrip()
            if words and not before:
                self._starts.append(place)
                self._longest.append(0)
            if words:
                self._longest[-1] = max(self._longest[-1], len(words))
            place, before = place + len(line), words

    def at(self, place: int) -> int:
        return self._longest[bisect_right(self._starts, place) - 1]
