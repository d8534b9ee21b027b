"""The banks that are open in this process, by their file.

Whatever is made again from its serialised form shares the bank of its file, with its models, instead of opening the
file a second time. A bank leaves the registry when nobody uses it any more.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from secom_core.bank import MemoryBank, check_bank
from secom_core.errors import InvalidInput
from secom_core.layers import registered
from secom_core.processes import ForkLock
from secom_core.stores.places import is_postgres

_BUILT_IN: Final = frozenset({"summaries", "timelines", "topics", "citations"})

_banks: WeakValueDictionary[str, MemoryBank] = WeakValueDictionary()
_lock = ForkLock()


def bank_of(
    bank: MemoryBank | None,
    store_path: str | None,
    *,
    needed_by: str,
    layers: Collection[str] = (),
    key: str | None = None,
    busy_timeout: float | None = None,
) -> MemoryBank:
    """The bank that a part was given, or that of its file: the one that a part of this process has open, or a new one.

    Args:
        bank: what the part was given.
        store_path: the file, or the URL of a PostgreSQL database, where no bank was given.
        needed_by: the class that needs the bank, for the error.
        layers: the names of the layers that a new bank is opened with.
        key: the passphrase that a new bank is opened with; one that is open already needs none.
        busy_timeout: how many seconds a new bank waits for others who write.

    Raises:
        InvalidInput: it is no bank, there is neither a bank nor a path, or there is a key beside a bank.
        StoreError: the file cannot be opened.
    """
    if bank is not None:
        if key is not None:
            raise InvalidInput(f"{needed_by} takes a key with a store_path; a bank that is given is open already")
        return check_bank(bank, needed_by)
    if store_path is None:
        raise InvalidInput(
            f"{needed_by} needs a bank, or a store_path to open one; a bank in memory cannot be reopened"
        )
    with _lock:
        known = _banks.get(_key(store_path))
        if known is None or not known.storage.is_open:
            known = new_bank(store_path, layers, key=key, busy_timeout=busy_timeout)
        return share_bank(known)


def share_bank(bank: MemoryBank) -> MemoryBank:
    """Make the bank the one of its file in this process, and return it; a bank in memory is not shared."""
    if bank.storage.path is not None:
        _banks[bank.storage.path] = bank
    return bank


def new_bank(store_path: str, layers: Collection[str], **parts: Any) -> MemoryBank:
    """Open a bank with the layers of these names, whether the file is open already or not.

    Args:
        store_path: the file, or the URL of a PostgreSQL database.
        layers: names of layers; one that nobody has registered is left to the first recall to refuse.
        **parts: other arguments of `MemoryBank.open`, such as ``embedder`` and ``key``.

    Raises:
        StoreError: the file cannot be opened.
    """
    own = [layer for layer in registered() if layer.name in layers and layer.name not in _BUILT_IN]
    switches: dict[str, Any] = dict.fromkeys(_BUILT_IN.intersection(layers), True)
    return MemoryBank.open(store_path, layers=own, **switches, **parts)


def _key(store_path: str) -> str:
    return store_path if is_postgres(store_path) else str(Path(store_path).expanduser().resolve())
