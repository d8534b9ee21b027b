"""Anybody's words as they may stand in a picture: on one line, without what a reader would obey or refuse."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from itertools import accumulate
from typing import Final

_JOINERS: Final = "\u200c\u200d"  # Persian words and composed emoji need them


def tame(text: str) -> str:
    """``text`` on one line, without anything that a terminal or an XML reader would obey or refuse."""
    kept = (" " if character.isspace() else character for character in text)
    visible = (c if c in _JOINERS or unicodedata.category(c)[0] != "C" else "\ufffd" for c in kept)
    return " ".join("".join(visible).split())


def columns(character: str) -> int:
    """How many columns a character takes where all have the same width."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clip(text: str, width: int) -> str:
    """``text`` cut to so many columns, with an ellipsis where something is gone."""
    ends = list(accumulate(map(columns, text)))
    if not ends or ends[-1] <= width:
        return text
    return text[: bisect_right(ends, width - 1)] + "…"


def wrap(text: str, width: int, lines: int) -> list[str]:
    """``text`` in at most so many lines of so many columns, broken between words where there are any."""
    rows: list[str] = []
    rest = text
    while rest and len(rows) < lines - 1:
        fits = bisect_right(list(accumulate(map(columns, rest))), width)
        if fits >= len(rest):
            break
        space = rest.rfind(" ", 0, fits + 1)
        cut = space if space > 0 else max(fits, 1)
        rows.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*rows, clip(rest, width)] if rest else rows
