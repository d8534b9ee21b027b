"""The bank of a part: the one that it was given, the one that is open at its place, or a new one.

Whatever is made again from its serialised form shares the bank that this process has open at the same place, whoever
opened it and when, with its models and its redaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from os import PathLike
from typing import Any, Final

from secom_core.bank import MemoryBank, check_bank
from secom_core.bank.known import open_banks
from secom_core.bank.parts import BUILT_IN
from secom_core.errors import InvalidInput
from secom_core.layers import registered
from secom_core.processes import ForkLock
from secom_core.stores.opening import place_of

opening: Final = ForkLock()
"""Held while a bank is looked for and opened, so that threads open a place once."""


def bank_of(
    bank: MemoryBank | None,
    store_path: str | None,
    *,
    needed_by: str,
    layers: Collection[str] = (),
    key: str | None = None,
    busy_timeout: float | None = None,
) -> MemoryBank:
    """The bank that a part was given, or that of its file: the one that this process has open, or a new one.

    Args:
        bank: what the part was given.
        store_path: the file, or the URL of a PostgreSQL database, where no bank was given.
        needed_by: the class that needs the bank, for the error.
        layers: the names of the layers that a new bank is opened with.
        key: the passphrase that a new bank is opened with; one that is open already needs none.
        busy_timeout: how many seconds a new bank waits for others who write.

    Raises:
        InvalidInput: it is no bank, there is neither a bank nor a path, there is a key beside a bank, or several banks
            are open there that differ.
        StoreError: the file cannot be opened.
    """
    if bank is not None:
        if key is not None:
            raise InvalidInput(
                f"{needed_by} takes key= with store_path= only; give the key of a bank to MemoryBank.open"
            )
        return check_bank(bank, needed_by)
    if store_path is None:
        raise InvalidInput(
            f"{needed_by} needs a bank, or a store_path to open one; a bank in memory cannot be reopened"
        )
    if not isinstance(store_path, (str, PathLike)):
        raise InvalidInput(f"store_path is a file, or the URL of a PostgreSQL database, got {store_path!r}")
    with opening:
        known = open_banks(place_of(store_path))
        if known:
            return one_of([each for each in known if set(layers) <= set(each.layers)] or known)
        return new_bank(store_path, layers, key=key, busy_timeout=busy_timeout)


def one_of(banks: Sequence[MemoryBank]) -> MemoryBank:
    """The first of banks that are open at one place, which are all alike.

    Raises:
        InvalidInput: they differ, and the order in which they were opened says nothing about which is meant.
    """
    ways = list(dict.fromkeys(map(_opened_with, banks)))
    if len(ways) > 1:
        raise InvalidInput(
            f"{len(banks)} banks are open in this process at {banks[0].storage.path!r}, {', '.join(ways)}: "
            "give the one that is meant as bank=, or close the others"
        )
    return banks[0]


def _opened_with(bank: MemoryBank) -> str:
    given = [f"{name}=" for name in sorted({*bank.storage.needs, *bank.layers})]
    return f"one with {' '.join(given)}" if given else "one as its place alone gives it"


def new_bank(store_path: str, layers: Collection[str], **parts: Any) -> MemoryBank:
    """Open a bank with the layers of these names, whether the file is open already or not.

    Args:
        store_path: the file, or the URL of a PostgreSQL database.
        layers: names of layers; one that nobody has registered is left to the first recall to refuse.
        **parts: other arguments of `MemoryBank.open`, such as ``embedder`` and ``key``.

    Raises:
        StoreError: the file cannot be opened.
    """
    own = registered([name for name in layers if name not in BUILT_IN])
    switches: dict[str, Any] = dict.fromkeys(BUILT_IN.keys() & layers, True)
    return MemoryBank.open(store_path, layers=own, **switches, **parts)
