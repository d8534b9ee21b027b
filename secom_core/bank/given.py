"""What a part of an application is given: a bank, and a background writer of it."""

from __future__ import annotations

from ..errors import InvalidInput, shorten
from .background import BackgroundWriter
from .bank import MemoryBank


def check_bank(bank: object, caller: str) -> MemoryBank:
    """The bank that a part was given.

    Raises:
        InvalidInput: it is something else.
    """
    if not isinstance(bank, MemoryBank):
        raise InvalidInput(f"{caller} needs a MemoryBank, got {shorten(bank)}; make one with MemoryBank.open(path)")
    return bank


def check_writer(writer: object, bank: MemoryBank, caller: str) -> BackgroundWriter | None:
    """The writer that a part was given, which writes into the part's bank; none where there is none.

    Raises:
        InvalidInput: it is something else, or writes into another bank.
    """
    if writer is None or (isinstance(writer, BackgroundWriter) and writer.bank is bank):
        return writer
    raise InvalidInput(f"{caller} needs a writer of its own bank, BackgroundWriter(bank), got {shorten(writer)}")
