"""How what holds a bank is pickled: by its saved form, which finds or opens the bank again by its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.schema import BaseComponent

from secom_core.errors import InvalidInput


def by_saved_form(part: BaseComponent) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What ``__reduce__`` returns of a part that saves the place of its bank.

    Args:
        part: what is pickled.

    Raises:
        InvalidInput: its bank is in memory, or is not saved with it.
    """
    if getattr(part, "store_path", None) is None:
        raise InvalidInput(
            f"this {type(part).__name__} cannot be pickled: what is saved of it names no place of its bank. Make it "
            "again in the other process, with the bank of that process"
        )
    return type(part).from_dict, (part.to_dict(),)
