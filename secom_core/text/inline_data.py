"""Pictures and other files that stand in a text as data URLs: their characters are no words."""

from __future__ import annotations

from typing import Final

from .patterns import regex

_LONGEST: Final = 256
"""How many characters of data stay: of an icon in a style sheet that people talk about, all."""

_DATA: Final = regex(rf"(data:[-\w.+/=;]{{0,100}};base64,)[-A-Za-z0-9+/=_%]{{{_LONGEST + 1},}}")


def without_inline_data(text: str) -> str:
    """The text with ``…`` in place of the data of long data URLs: ``![cat](data:image/png;base64,…)``."""
    return _DATA.sub(r"\1…", text) if ";base64," in text else text
