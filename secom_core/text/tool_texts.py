"""What is kept of the words of programs: of what a tool is called with, and of what it answers."""

from __future__ import annotations

import re
from typing import Final

from .patterns import regex

LONGEST: Final = 500
"""Of how many characters such a text is at most: half of them of its end."""

_IDS_FOUND: Final = regex(r"(?:^|\\n)memory_id: \[\d+\] ", re.M)
"""Where the last line of a search of the memory begins to list the ids of what it has found, behind the block
(`secom_core.context.reading`), also written down as an object with the block in it."""
_NEWLINE: Final = "\\n"
"""How an object that is written down as text shows the end of a line."""

_OF_MEMORY: Final = regex(
    r"Nothing about this is remembered\.|No memory was found by these words; try others\."
    r"|There are memories, but none fits into \d+ tokens\.|Nothing is remembered yet\.|Remembered, as \S+\."
    r"|Corrected: \S+ is now \S+\.|Marked as not true: \S+\.|Forgot \d+ of \d+\..*",
    re.S,
)
"""What the tools of a memory say where they give no block (`secom_core.serve.tools`)."""


def is_of_memory(text: str) -> bool:
    """Whether a tool of a memory answered so, whichever server it is of.

    Args:
        text: the answer, without the block of recalled memories that such a tool gives.
    """
    return _OF_MEMORY.fullmatch(text.strip()) is not None


def result(text: str) -> str:
    """What a tool answered, without the ids of what a search of the memory found.

    Args:
        text: the answer, without the block of recalled memories that such a search gives.
    """
    return shortened(_without_ids(text))


def _without_ids(text: str) -> str:
    """The text before the ids. It takes no longer where a page is full of white space: only the last line is read."""
    found = _IDS_FOUND.search(text, text.rfind("\n") + 1)
    if found is None:
        return text
    end = found.start()
    if not found[0].startswith(_NEWLINE):
        return text[:end].rstrip()
    while text.endswith(_NEWLINE, 0, end):
        end -= len(_NEWLINE)
    return text[:end]


def shortened(text: str) -> str:
    """The text, or of a long one its beginning and its end, in whole lines unless these are long."""
    if len(text) <= LONGEST:
        return text
    # What a file or a list is about stands at its beginning, what came of a command at its end.
    first, last = text[: LONGEST // 2], text[-LONGEST // 2 :]
    # Two halves of lines would read as one.
    before, after = first.rfind("\n") + 1, last.find("\n")
    first = first[:before] if before > len(first) // 2 else first
    last = last[after:] if 0 <= after < len(last) // 2 else last
    return f"{first}…{last}"
