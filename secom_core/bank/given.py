"""What the adapters are given as a bank."""

from __future__ import annotations

from ..errors import InvalidInput, shorten
from .bank import MemoryBank


def check_bank(bank: object, caller: str) -> MemoryBank:
    """The bank that a part was given.

    Raises:
        InvalidInput: it is something else.
    """
    if not isinstance(bank, MemoryBank):
        raise InvalidInput(f"{caller} needs a MemoryBank, got {shorten(bank)}; make one with MemoryBank.open(path)")
    return bank
