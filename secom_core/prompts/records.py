"""Records in a reply: JSON objects that name numbered exchanges, repaired where they have one reading only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from ..errors import BadReply

__all__ = ["exchange_numbers", "objects"]

_TRAILING_COMMA: Final = re.compile(r",(?=\s*[}\]])")
_MOST_DIGITS: Final = 9


def objects(text: str, reply: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text, trailing commas left out; of an object around a list of objects, those.

    Args:
        text: where to look.
        reply: the whole reply, for the error.

    Raises:
        BadReply: for a brace that begins no object.
    """
    text, place = _TRAILING_COMMA.sub("", text), 0
    decoder = json.JSONDecoder()
    while (place := text.find("{", place)) >= 0:
        try:
            found, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            raise BadReply(f"this is no JSON object: {text[place : place + 200]}", reply) from None
        # An object around them all, such as {"events": […]}.
        inner = next((value for value in found.values() if _is_rows(value)), None)
        yield from inner if inner is not None else [found]


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def exchange_numbers(given: Any, count: int, key: str, reply: str) -> set[int]:
    """The numbers of exchanges that a record names: one, or a list; as numbers or as strings, in brackets or not.

    Args:
        given: what stands under the key.
        count: how many exchanges there are.
        key: the key, for the error.
        reply: the whole reply, for the error.

    Raises:
        BadReply: for what is no whole number, or no exchange.
    """
    numbers = {_number(each, key, reply) for each in _flat(given)}
    if outside := sorted(number for number in numbers if not 0 <= number < count):
        raise BadReply(f"there is no exchange {outside[0]}; they are numbered from 0 to {count - 1}", reply)
    return numbers


def _flat(given: Any) -> Iterator[Any]:
    if isinstance(given, list):
        for each in given:
            yield from each if isinstance(each, list) else [each]
    elif isinstance(given, str) and re.fullmatch(r"[\[\]\s,;\d]*\d[\[\]\s,;\d]*", given):
        yield from re.findall(r"\d+", given)
    else:
        yield given


def _number(value: Any, key: str, reply: str) -> int:
    if isinstance(value, str):
        digits = re.sub(r"^\W*(?:exchange|turn)?\W*|\W+$", "", value, flags=re.I)
        if digits.isdecimal() and len(digits) <= _MOST_DIGITS and "-" not in value:
            return int(digits)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise BadReply(f'"{key}" is a list of whole numbers, got {json.dumps(value)[:50]}', reply)
