"""The filters of a LangGraph store: which values of items, and which namespaces, match."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, Final

from langgraph.store.base import MatchCondition

from secom_core.errors import InvalidInput

_EQUAL: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"$eq": operator.eq, "$ne": operator.ne}
_ORDER: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def check_filter(wanted: Any) -> None:
    """Refuse a filter with an operator that there is not, or one that compares with what is no number.

    Raises:
        InvalidInput: with the operator, or the value.
    """
    if isinstance(wanted, Mapping):
        is_operators = any(str(key).startswith("$") for key in wanted)
        for key, value in wanted.items():
            if is_operators and key not in {*_EQUAL, *_ORDER}:
                raise InvalidInput(f"a filter has the operators {sorted({*_EQUAL, *_ORDER})}, got {key!r}")
            if is_operators and key in _ORDER and _number(value) is None:
                raise InvalidInput(f"the operator {key} compares with a number, got {value!r}")
            if not is_operators:
                check_filter(value)


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether an item's value meets every condition of a filter; a checked one."""
    return all(_meets(value.get(key), each) for key, each in (wanted or {}).items())


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(key.startswith("$") for key in wanted):
            return all(_compares(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(_meets(value.get(key), each) for key, each in wanted.items())
    if isinstance(wanted, (list, tuple)):
        is_list = isinstance(value, (list, tuple)) and len(value) == len(wanted)
        return is_list and all(map(_meets, value, wanted))
    return bool(value == wanted)


def _compares(value: Any, name: str, other: Any) -> bool:
    if name in _EQUAL:
        return _EQUAL[name](value, other)
    left, right = _number(value), _number(other)
    return left is not None and right is not None and _ORDER[name](left, right)


def _number(value: Any) -> float | None:
    """A number, also one that is written as text; nothing for anything else."""
    if not isinstance(value, (Real, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def is_in(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Whether a namespace begins, or ends, as a condition says; ``"*"`` stands for any label.

    Raises:
        InvalidInput: it is neither about the beginning nor about the end.
    """
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"a namespace is matched by 'prefix' or 'suffix', got {condition.match_type!r}")
    wanted = condition.path
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(wanted)
    part = namespace[start : start + len(wanted)] if start >= 0 else ()
    return len(part) == len(wanted) and all(each in ("*", label) for label, each in zip(part, wanted, strict=True))
