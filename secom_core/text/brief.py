"""How values with long texts are shown at a prompt, in a notebook or in a log: on a line, each text once, shortened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Final, TypeVar

C = TypeVar("C")

_HEAD: Final = 100
_TAIL: Final = 20
_LONGEST: Final = 160
"""So many characters of a text, or of a mapping as Python writes it, are shown whole."""
_ITEMS: Final = 10
"""So many items of a tuple are shown."""


def brief(*names: str) -> Callable[[type[C]], type[C]]:
    """Make a class show these of its attributes, those that hold anything: ``Hit(number=1, text='user: …')``.

    Args:
        names: ``"turn.id"`` is shown as ``turn_id``.
    """
    getters = [(name.replace(".", "_"), attrgetter(name)) for name in names]

    def decorated(cls: type[C]) -> type[C]:
        def shown(self: C) -> str:
            given = ((name, get(self)) for name, get in getters)
            values = [f"{name}={_shown(value)}" for name, value in given if value not in (None, "", (), {})]
            return f"{type(self).__name__}({', '.join(values)})"

        cls.__repr__ = shown  # type: ignore[method-assign, assignment]
        return cls

    return decorated


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else f"{value[:_HEAD]} […] {value[-_TAIL:]}")
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        more = [f"… and {len(value) - _ITEMS} more"] if len(value) > _ITEMS else []
        items = ", ".join([*map(_shown, value[:_ITEMS]), *more])
        return f"({items},)" if len(value) == 1 else f"({items})"
    text = repr(value)
    return f"{text[:_LONGEST]}…" if isinstance(value, Mapping) and len(text) > _LONGEST else text
