"""LlamaIndex's metadata filters as the filter of a recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters

from secom_core.errors import InvalidInput, shorten
from secom_core.filters import FIELDS, METADATA, checked_filter

_SAME: Final = {
    FilterOperator.EQ: "eq",
    FilterOperator.IN: "in",
    FilterOperator.GT: "gt",
    FilterOperator.GTE: "ge",
    FilterOperator.LT: "lt",
    FilterOperator.LTE: "le",
    FilterOperator.CONTAINS: "has",
}
_NOT: Final = {FilterOperator.NE: "eq", FilterOperator.NIN: "in"}
_MEANT: Final = {**dict.fromkeys(("begin", "end", "timestamp", "created_at"), "at"), "speakers": "speaker"}
"""The fields that are meant by other names that nodes and messages have for them."""
_LISTS: Final = {FilterOperator.ANY: "or", FilterOperator.ALL: "and"}


def where_of(filters: MetadataFilters) -> dict[str, Any]:
    """The ``where`` of a recall that these filters mean.

    A key is one of the messages' metadata, unless it is a field of its own: ``role``, ``speaker``, ``session`` or
    ``at``. What has no value passes ``NE`` and ``NIN``.

    Raises:
        InvalidInput: it is none, has an operator that a recall has no form for (those that match texts), or a key by
            which nodes or messages name a field: nothing would be found by it.
    """
    if not isinstance(filters, MetadataFilters):
        raise InvalidInput(f"filters are a MetadataFilters, got {shorten(filters)}")
    return checked_filter(_joined(filters)) or {}


def _joined(filters: MetadataFilters) -> dict[str, Any]:
    parts = [_joined(each) if isinstance(each, MetadataFilters) else _condition(each) for each in filters.filters]
    how = filters.condition.value if filters.condition is not None else "and"
    if not parts:
        return {}
    # Of several, none may pass, as the framework's own store has it.
    return {"not": {"or": parts}} if how == "not" else {how: parts}


def _condition(given: MetadataFilter) -> dict[str, Any]:
    if given.key in _MEANT:
        raise InvalidInput(
            f"a recall filters by {_MEANT[given.key]!r}, not by {given.key!r}; write {METADATA + given.key!r} if it is "
            "a key of your messages' metadata"
        )
    field = given.key if given.key in FIELDS or given.key.startswith(METADATA) else METADATA + given.key
    if given.operator in _SAME:
        return {field: {_SAME[given.operator]: given.value}}
    if given.operator in _NOT:
        return {"not": {field: {_NOT[given.operator]: given.value}}}
    if given.operator in _LISTS and isinstance(given.value, Sequence) and given.value:
        return {_LISTS[given.operator]: [{field: {"has": each}} for each in given.value]}
    if given.operator == FilterOperator.IS_EMPTY:
        nothing = [{field: {"exists": False}}]
        return {"or": [*nothing, {field: None}] if field.startswith(METADATA) else nothing}
    by = f"{given.operator.value!r} with {shorten(given.value)}"
    raise InvalidInput(f"a recall cannot filter {given.key!r} by {by}; see secom_core.filters for what it can")
