"""What is kept of the words of programs: of what a tool is called with, and of what it answers."""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 500
"""Of how many characters such a text is at most: half of them of its end."""


def shortened(text: str) -> str:
    """The text, or of a long one its beginning and its end."""
    if len(text) <= _LONGEST:
        return text
    # What a file or a list is about stands at its beginning, what came of a command at its end.
    return f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 :]}"
