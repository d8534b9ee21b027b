"""Which fields the first records of a JSON text have, told from its beginning alone, which may end anywhere."""

from __future__ import annotations

import re
from typing import Final

from ..text.patterns import regex

# A string that the beginning cuts off is one token too: each escaped quote in it would be looked at as the next string.
_TOKEN: Final = regex(r'"((?:[^"\\]|\\.)*)(?:"\s*(:?)|\\?\Z)|[\[\]{}]', re.S)
_DEEPEST: Final = 12


def shape(start: str) -> frozenset[str]:
    """The paths of the fields: ``[].mapping`` is the field ``mapping`` of the objects in a list.

    Args:
        start: how the text begins. What is neither an object nor a list has no fields.
    """
    if start.lstrip()[:1] not in ("{", "["):
        return frozenset()
    found: set[str] = set()
    open_: list[str] = []
    key, deeper = "", 0
    for token in _TOKEN.finditer(start):
        mark = token[0][0]
        if mark in "]}":
            deeper, key = max(deeper - 1, 0), ""
            if deeper < len(open_):
                open_.pop()
        elif mark in "[{":
            deeper += 1
            if deeper <= _DEEPEST:
                inner = f"{open_[-1]}{key}" if open_ else ""
                open_.append(f"{inner}[]" if mark == "[" else f"{inner}." if inner else "")
            key = ""
        elif token[2] and open_ and deeper <= _DEEPEST:
            key = token[1]
            found.add(f"{open_[-1]}{key}")
    return frozenset(found)
