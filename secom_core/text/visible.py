"""Anybody's words on a terminal or in a log: what would be obeyed is written out instead."""

from __future__ import annotations

import re
from typing import Final

# Control characters but for line feed and tab, line separators, overrides of the writing direction, halves of
# characters, and characters that are there without being seen.
_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""``text`` with every character that would control a terminal written out, such as ``\x1b``."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def inline(text: str) -> str:
    """``text`` as part of a line, wherever it goes."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")
