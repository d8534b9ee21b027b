"""JSON schemas of replies, as ``response_format`` takes them: every key required, no other allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "integer"}
NUMBERS: Final[Schema] = {"type": "array", "items": NUMBER}


def one_of(*names: str) -> Schema:
    """One of some words."""
    return {"type": "string", "enum": list(names)}


def object_of(**keys: Schema) -> Schema:
    """An object with these keys."""
    return {"type": "object", "properties": keys, "required": list(keys), "additionalProperties": False}


def records_of(name: str, **keys: Schema) -> Schema:
    """An object with a list of objects under ``name``."""
    return object_of(**{name: {"type": "array", "items": object_of(**keys)}})
