"""Which layers there are: those of this package, imported when they are asked for, and those that others register."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import TypeVar

from sqlalchemy import Table

from ..errors import InvalidInput
from .layer import Layer

L = TypeVar("L", bound=type[Layer])

_registered: dict[str, type[Layer] | str] = {}
"""The layers by name, in the order of their registration; for one that is announced, the module that registers it."""
_saying: set[str] = set()
_taking_part: set[str] = set()


def register(layer: L) -> L:
    """Make a layer known to every bank, to the command, the report and the archive of this process; a decorator.

    Raises:
        InvalidInput: it is no layer, or its name is taken or no identifier.
    """
    if not (isinstance(layer, type) and issubclass(layer, Layer)):
        raise InvalidInput(f"register takes a subclass of secom_core.layers.Layer, got {layer!r}")
    name = getattr(layer, "name", None)
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidInput(f"a layer's name is an identifier such as 'timelines', {layer.__name__} has {name!r}")
    known = _registered.get(name, layer)
    if known is not layer and known != layer.__module__:
        raise InvalidInput(f"there is a layer {name!r} already: {known}")
    _registered[name] = layer
    return layer


def announce(name: str, module: str, *, says_what_holds: bool = False, takes_part: bool = False) -> None:
    """Make a layer known that a module registers, which is imported when the layer is first asked for.

    Args:
        name: the layer's.
        module: registers it.
        says_what_holds: whether it knows of replacements or pins, and is imported with the first recall.
        takes_part: whether a recall may name it (`Layer.takes_part`).
    """
    _registered.setdefault(name, module)
    if says_what_holds:
        _saying.add(name)
    if takes_part:
        _taking_part.add(name)


def unregister(name: str) -> None:
    """Forget a layer that `register` made known, if there is one of this name."""
    _registered.pop(name, None)


def layer_names() -> tuple[str, ...]:
    """The names of all known layers."""
    return tuple(_registered)


def names_taking_part() -> tuple[str, ...]:
    """The names of those that a recall may name; none is imported."""
    return tuple(
        name
        for name, layer in _registered.items()
        if name in _taking_part or (not isinstance(layer, str) and layer.takes_part())
    )


def registered(names: Collection[str] | None = None) -> tuple[type[Layer], ...]:
    """Every known layer: those made of closed sessions first, else in the order of their registration.

    Args:
        names: only those of these names; no other is imported.
    """
    for name, layer in list(_registered.items()):
        if isinstance(layer, str) and (names is None or name in names):
            import_module(layer)
    found = [layer for layer in _loaded() if names is None or layer.name in names]
    return tuple(sorted(found, key=lambda layer: not layer.takes_in_sessions))


def saying_what_holds() -> list[type[Layer]]:
    """The layers that know of replacements or pins; no other is imported."""
    for name in sorted(_saying):
        registered((name,))
    return [layer for layer in _loaded() if _knows_what_holds(layer)]


def _knows_what_holds(layer: type[Layer]) -> bool:
    names = ("replacements", "replacements_found", "pinned")
    return any(getattr(layer, name).__func__ is not getattr(Layer, name).__func__ for name in names)


def is_of_others(layer: type[Layer]) -> bool:
    """Whether this package does not bring the layer."""
    return not layer.__module__.startswith("secom_core.")


def tables_of_others() -> list[Table]:
    """The tables of layers that this package does not bring; its own are made by migrations."""
    return [table for layer in _loaded() if is_of_others(layer) for table in layer.tables]


def _loaded() -> list[type[Layer]]:
    return [layer for layer in _registered.values() if not isinstance(layer, str)]
