"""The filters of LangChain's vector stores as the filter of a recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from secom_core.errors import InvalidInput, shorten
from secom_core.filters import FIELDS, METADATA, checked_filter

_SAME: Final = {"$eq": "eq", "$in": "in", "$gt": "gt", "$gte": "ge", "$lt": "lt", "$lte": "le", "$exists": "exists"}
_NOT: Final = {"$ne": "eq", "$nin": "in"}
_MEANT: Final = {"begin": "at", "end": "at", "speakers": "speaker"}
"""The fields that are meant by other names that documents have for them."""


def where_of(filter: Mapping[str, Any]) -> dict[str, Any]:
    """The ``where`` of a recall that a dictionary filter means, such as ``{"topic": {"$in": ["rent", "flat"]}}``.

    A name is a key of the messages' metadata, unless it is a field of its own: ``role``, ``speaker``, ``session`` or
    ``at``. The operators are ``$eq``, ``$ne``, ``$in``, ``$nin``, ``$gt``, ``$gte``, ``$lt``, ``$lte``, ``$exists``,
    ``$between``, ``$and``, ``$or`` and ``$not``. What has no value passes ``$ne`` and ``$nin``.

    Raises:
        InvalidInput: for what `secom_core.filters` has no form for, such as ``$like``, or a name by which documents
            know a field: nothing would be found by it.
    """
    return checked_filter(_translated(filter)) or {}


def _translated(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"a filter is a dictionary such as {{'topic': {{'$in': ['rent']}}}}, got {shorten(given)}")
    return {"and": [_part(name, value) for name, value in given.items()]} if given else {}


def _part(name: Any, value: Any) -> dict[str, Any]:
    if name in ("$and", "$or"):
        if not isinstance(value, (list, tuple)):
            raise InvalidInput(f"{name} takes a list of filters, got {shorten(value)}")
        return {name[1:]: [_translated(each) for each in value]}
    if name == "$not":
        return {"not": _translated(value)}
    if not isinstance(name, str) or name.startswith("$"):
        raise InvalidInput(f"a filter has names, $and, $or and $not, got {shorten(name)}")
    if name in _MEANT:
        raise InvalidInput(
            f"a recall filters by {_MEANT[name]!r}, not by {name!r}; write {METADATA + name!r} if it is a key of your "
            "messages' metadata"
        )
    field = name if name in FIELDS or name.startswith(METADATA) else METADATA + name
    tests = value if isinstance(value, Mapping) else {"$eq": value}
    return {"and": [_condition(field, *each) for each in tests.items()]} if tests else {}


def _condition(field: str, by: Any, value: Any) -> dict[str, Any]:
    if by in _SAME:
        return {field: {_SAME[by]: value}}
    if by in _NOT:
        return {"not": {field: {_NOT[by]: value}}}
    if by == "$not":
        return {"not": _part(field, value)}
    if by == "$between" and isinstance(value, (list, tuple)) and len(value) == 2:
        return {field: {"ge": value[0], "le": value[1]}}
    known = [*_SAME, *_NOT, "$not", "$between"]
    raise InvalidInput(f"a recall filters by {', '.join(known)} ($between with two values), got {shorten({by: value})}")
