"""Records in a reply: JSON objects that name numbered exchanges, repaired where they have one reading only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..errors import BadReply
from ..text.terms import count_tokens

_TRAILING_COMMA: Final = re.compile(r",(?=\s*[}\]])")
_WHOLE_NUMBERS: Final = re.compile(r"[^\w-]*(?:(?:exchange|turn)[^\w-]*)?\d{1,9}(?:[\s,;\[\]]+\d{1,9})*[^\w-]*", re.I)


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
        yield from next(filter(_is_rows, found.values()), [found])


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
    values = [inner for each in _listed(given) for inner in _listed(each)]
    numbers = {number for value in values for number in _whole_numbers(value, key, reply)}
    if outside := sorted(number for number in numbers if not 0 <= number < count):
        raise BadReply(f"there is no exchange {outside[0]}; they are numbered from 0 to {count - 1}", reply)
    return numbers


@dataclass(frozen=True, slots=True)
class RecordForm:
    """How a record says something, and on which exchanges that rests.

    Args:
        name: what it is, such as ``"an event"``, for errors.
        text_keys: the keys that its text may stand under, the one that was asked for first.
        number_keys: the same for the numbers of its exchanges.
        size: how long its text should be, in words, for errors.
        max_tokens: how long it may be.
    """

    name: str
    text_keys: Sequence[str]
    number_keys: Sequence[str]
    size: str
    max_tokens: int

    def text(self, record: Mapping[str, Any]) -> Any:
        """What stands in the place of the record's text."""
        return _first(record, self.text_keys)

    def read(self, records: Iterable[Mapping[str, Any]], count: int, reply: str) -> list[tuple[str, tuple[int, ...]]]:
        """The texts of records, each with the numbers of its exchanges, rising; what is said twice is joined.

        Args:
            records: from `objects`.
            count: how many exchanges there are.
            reply: the whole reply, for the error.

        Raises:
            BadReply: with what is wrong, in words for the model: no text or one that is too long, or no exchanges or
                some that do not exist.
        """
        found: dict[str, set[int]] = {}
        for record in records:
            text = self.text(record)
            if not isinstance(text, str) or not text.strip():
                given = json.dumps(record)[:200]
                raise BadReply(f'{self.name} needs words under "{self.text_keys[0]}", got {given}', reply)
            if count_tokens(text) > self.max_tokens:
                raise BadReply(f"{self.name} is {self.size}, this is longer: {text[:200]}", reply)
            numbers = exchange_numbers(_first(record, self.number_keys), count, self.number_keys[0], reply)
            if not numbers:
                raise BadReply(f"{self.name} needs the numbers of its exchanges, got none for: {text[:200]}", reply)
            found.setdefault(" ".join(text.split()), set()).update(numbers)
        return [(text, tuple(sorted(numbers))) for text, numbers in found.items()]


def _first(record: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((record[key] for key in keys if key in record), None)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _whole_numbers(value: Any, key: str, reply: str) -> list[int]:
    """The numbers in ``3``, ``3.0``, ``"3"``, ``"exchange 3"`` or ``"[3, 4]"``; a `BadReply` for anything else."""
    if isinstance(value, str) and _WHOLE_NUMBERS.fullmatch(value):
        return [int(digits) for digits in re.findall(r"\d+", value)]
    if isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0:
        return [int(value)]
    raise BadReply(f'"{key}" takes whole numbers, got {json.dumps(value)[:50]}', reply)
