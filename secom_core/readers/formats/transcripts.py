"""A transcript, `Name: words` on each line, into its sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...conversation import Message, Session
from ...errors import InvalidInput
from ..files import Export, File
from ..reading import Reading, grouped
from ..strangers import is_words
from ..transcript import read_transcript


def looks_like(file: File) -> bool:
    """Any text that is no web page: whether it is a transcript shows when it is read."""
    return is_words(file)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """The sessions that its headers begin; one, called by the file, where there are none.

    Raises:
        InvalidInput: one name is given to several sessions that have names of their own.
    """
    for file in files:
        found = read_transcript(reading.whole(file), timezone=reading.zone)
        if reading.session is not None and len(found) > 1:
            raise InvalidInput(f"it holds {len(found)} sessions with names of their own; leave --session out")
        unnamed = [each.name for each in found] == ["1"]
        for session in found:
            name = (reading.session or file.stem) if unnamed or reading.session else session.name
            yield grouped(name, (_mine(each, reading) for each in session.messages))


def _mine(message: Message, reading: Reading) -> Message:
    """The message, as the user's own where the user is named."""
    if message.role:
        return message
    return replace(message, role=reading.person(message.speaker or "", "").role)
