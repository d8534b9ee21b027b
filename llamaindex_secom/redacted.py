"""Chat messages without what the redaction of a bank takes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from secom_core.bank import MemoryBank

_NAMES: Final = frozenset({"role", "block_type", "tool_name", "format", "session", "turn", "step", "created_at", "at"})
_ENDS: Final = ("id", "mimetype", "timestamp")
_DATA: Final = frozenset({"image", "audio", "video", "data"})


def redacted(value: Any, bank: MemoryBank) -> Any:
    """A message as JSON holds it, or a list or mapping of such, with every text in it redacted.

    Ids, roles, times, names of tools and pictures as text stay as they are.

    Args:
        value: what ``model_dump(mode="json")`` gives.
        bank: the bank whose redaction it is.
    """
    if isinstance(value, Mapping):
        return {key: each if _is_kept(key, each) else redacted(each, bank) for key, each in value.items()}
    if isinstance(value, list):
        return [redacted(each, bank) for each in value]
    return bank.storage.redacted(value)


def _is_kept(key: str, value: Any) -> bool:
    return isinstance(value, str) and (key in _NAMES or key in _DATA or key.endswith(_ENDS))
