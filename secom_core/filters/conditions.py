"""What a filter asks of a message, and whether it holds."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Mask: TypeAlias = "npt.NDArray[np.bool_]"
"""For each of so many messages, whether it passes."""
Field: TypeAlias = Literal["role", "speaker", "session", "at", "metadata"]

MISSING: Final = object()
"""The value of a field that a message does not have."""

FIELDS: Final = ("role", "speaker", "session", "at")
"""The fields that every message may have."""

ROLES: Final = {
    name: names
    for names in (("user", "human"), ("assistant", "ai", "bot", "model"), ("system", "developer"), ("tool", "function"))
    for name in names
}
"""The names that a role has in chat APIs and frameworks, by each of them: in a filter they mean the same."""

METADATA: Final = "metadata."
"""What the names of fields in metadata begin with."""
ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_MOMENTS: Final[Mapping[str, Callable[[Any, int, int], Any]]] = {
    "lt": lambda at, start, stop: at < start,
    "le": lambda at, start, stop: at < stop,
    "gt": lambda at, start, stop: at >= stop,
    "ge": lambda at, start, stop: at >= start,
}
OPERATORS: Final = ("eq", "in", *ORDER, "exists", "has")
"""What a field may be compared by."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What one field has to be.

    Args:
        field: the field.
        key: of metadata, which key.
        by: the operator, one of `OPERATORS`.
        values: what it compares with; of ``at`` each the microseconds since 1970 from which and up to which it lasts.
    """

    field: Field
    key: str
    by: str
    values: tuple[Any, ...]

    def holds(self, value: Any) -> bool:
        """Whether it holds of a value, `MISSING` where there is none; of ``metadata`` all of it is given."""
        if self.field == "metadata":
            value = _value_at(value, self.key)
        if self.by == "exists":
            return (value is not MISSING) is self.values[0]
        if value is MISSING:
            return False
        if self.by == "has":
            return isinstance(value, (list, tuple)) and any(map(self._equals, value))
        if self.by in ORDER:
            return self._compares(value)
        return self._equals(value)

    def of_moments(self, moments: npt.NDArray[np.float64]) -> Mask:
        """Of each of these times, in seconds since 1970, whether it holds; of the field ``at``. -inf is no time."""
        import numpy as np

        known = np.isfinite(moments)
        if self.by == "exists":
            return np.asarray(known == self.values[0])
        at = np.rint(np.where(known, moments, 0) * 1e6).astype(np.int64)
        if self.by in ORDER:
            return np.asarray(known & _MOMENTS[self.by](at, *self.values[0]))
        lasting = [(at >= start) & (at < stop) for start, stop in self.values]
        return np.asarray(known & np.logical_or.reduce([np.zeros(len(at), dtype=np.bool_), *lasting]))

    def _equals(self, value: Any) -> bool:
        return any(kind_of(value) == kind_of(each) and value == each for each in self.values)

    def _compares(self, value: Any) -> bool:
        [bound] = self.values
        return kind_of(value) == kind_of(bound) and ORDER[self.by](value, bound)


@dataclass(frozen=True, slots=True)
class Joined:
    """Filters that all have to pass, or any of them, or the only one must not."""

    how: Literal["and", "or", "not"]
    parts: tuple[Joined | Condition, ...]

    def mask(self, mask_of: Callable[[Condition], Mask], size: int) -> Mask:
        """Which of so many messages pass, from which of them meet each condition."""
        import numpy as np

        masks = [each.mask(mask_of, size) if isinstance(each, Joined) else mask_of(each) for each in self.parts]
        if self.how == "or":
            return np.asarray(np.logical_or.reduce([np.zeros(size, dtype=np.bool_), *masks]))
        together = np.asarray(np.logical_and.reduce([np.ones(size, dtype=np.bool_), *masks]))
        return ~together if self.how == "not" else together


def kind_of(value: object) -> str:
    """The kind of a value: those of one kind compare."""
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "number" if isinstance(value, (int, float)) else type(value).__name__


def _value_at(metadata: Any, key: str) -> Any:
    """The value of a key, or else of the path that it is written as."""
    if not isinstance(metadata, Mapping):
        return MISSING
    if key in metadata:
        return metadata[key]
    first, dot, rest = key.partition(".")
    return _value_at(metadata[first], rest) if dot and first in metadata else MISSING
