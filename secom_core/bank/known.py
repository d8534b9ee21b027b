"""The banks that are open in this process, each known from the moment it is opened.

A part of an application that is made again from its saved form finds the bank that it belongs to here.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from ..processes import ForkLock

if TYPE_CHECKING:
    from .bank import MemoryBank

_banks: Final[WeakValueDictionary[int, MemoryBank]] = WeakValueDictionary()
_numbers: Final = count()
_lock: Final = ForkLock()


def know(bank: MemoryBank) -> None:
    """Make a bank known; it is forgotten when nobody uses it any more."""
    with _lock:
        _banks[next(_numbers)] = bank


def open_banks(id_: str) -> list[MemoryBank]:
    """The banks with this id (`Storage.id`) that nobody has closed, in the order in which they were opened."""
    with _lock:
        banks = list(_banks.values())
    return [bank for bank in banks if bank.storage.is_open and bank.storage.id == id_]
