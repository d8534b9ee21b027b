"""How parts are pickled: what holds a bank by its saved form, and nothing without the parts that it was given."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
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


def check_pickled_whole(part: BaseComponent, *names: str) -> None:
    """Refuse to pickle a part of which the framework would leave out a field, so that the default takes its place.

    Args:
        part: what is pickled.
        names: the fields that it cannot be without.

    Raises:
        InvalidInput: one of them cannot be pickled.
    """
    for name in names:
        value = getattr(part, name)
        try:
            # As it is sent to a worker; nothing is read back.
            ForkingPickler.dumps(value)
        except Exception as error:
            raise InvalidInput(
                f"this {type(part).__name__} cannot be pickled, as worker processes need: its {name} {value!r} cannot "
                f"({error}). Leave out num_workers, or give it a {name} that can be pickled"
            ) from error
