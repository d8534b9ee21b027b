"""What one person dictated, as text without names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...conversation import Message, Session
from ..files import Export, File
from ..reading import Reading, grouped
from ..strangers import is_words

_BETWEEN: Final = re.compile(r"\n\s*\n")


def looks_like(file: File) -> bool:
    """Any text: nothing in it tells a dictation from other prose, so that only its name in ``--format`` does."""
    return is_words(file)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """One session, called by the file: a message of the user for each paragraph."""
    for file in files:
        paragraphs = (each.strip() for each in _BETWEEN.split(reading.whole(file)))
        yield grouped(reading.session or file.stem, [Message(each, speaker=reading.me) for each in paragraphs if each])
