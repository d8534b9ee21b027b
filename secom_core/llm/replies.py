"""Records in a reply that say something of numbered exchanges; the good ones are kept where one is bad."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import Any, Final

from ..errors import BadReply, CutOff, shorten
from ..text.patterns import regex
from ..text.terms import count_tokens
from .quoting import unquoted, without_thoughts
from .records import Record, Records, blocks_of, records_in
from .reply import cut_off

CUT_OFF: Final = "the reply was cut off before its end; keep it shorter"
Texts = list[tuple[str, tuple[int, ...]]]

_MOST_CHARACTERS: Final = 200_000  # of a reply that is read at all
_FILLING: Final = regex(r"[\s\"'#()\[\]]+|\.(?!\d)|\b(?:exchanges?|turns?|nos?|numbers?)\b", re.IGNORECASE)
_PARTING: Final = regex(r"[,;&/]|\band\b", re.IGNORECASE)
_LONGEST_LINE: Final = 600  # characters of a line that is looked at for a record in words
_WORDED: Final = regex(
    r"[\s>*+•|-]*(?:\d{1,3}[.)]\s+)?(\w.{8,}?)\s*[(\[|]\s*((?:exchanges?|turns?)?[\d\s,:–-]*\d(?:\s*and\s*\d+)?)\s*[)\]|][\s.*|]*",
    re.IGNORECASE,
)
_SPAN: Final = regex(r"(\d{1,9})(?:(?:-|–|—|to|through|until)(\d{1,9}))?", re.IGNORECASE)
_WORDS: Final = regex(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+")


def words_of(key: str) -> list[str]:
    """The words of a key, however it is written: ``startExchange``, ``start_exchange`` and ``Start exchange``."""
    return [word.casefold() for word in _WORDS.findall(key)]


def shown(value: Any) -> str:
    """A value as a complaint shows it: as JSON."""
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return shorten(value)


def checked_length(reply: str, most: int = _MOST_CHARACTERS) -> str:
    """The reply; a `BadReply` where nobody would read it to its end."""
    if len(reply) > most:
        raise BadReply(f"the reply has {len(reply)} characters", reply)
    return reply


def exchange_numbers(given: Any, key: str) -> set[int]:
    """The numbers of exchanges that a record names: one, or a list; numbers or strings, in brackets or not, or a range
    such as ``"2-4"`` or ``{"start": 2, "end": 4}``.

    Args:
        given: what stands under the key.
        key: the key, for the error.

    Raises:
        ValueError: for what is no whole number, in words for the model.
    """
    values = [inner for each in _listed(given) for inner in _listed(each)]
    return set(chain.from_iterable(_numbers(value, key) for value in values))


def _listed(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [f"{value['start']}-{value['end']}"] if {"start", "end"} <= {*value} else [*value.values()]
    return value if isinstance(value, list) else [value]


def _numbers(value: Any, key: str) -> Iterator[int]:
    refused = ValueError(f'"{key}" takes whole numbers, got {shown(value)[:50]}')
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise refused
    if isinstance(value, int):
        yield value
        return
    for part in _PARTING.split(re.sub(r"(\d)\s+(?=\d)", r"\1,", re.sub(r"(\d)\.0\b", r"\1", value))):
        span = _SPAN.fullmatch(_FILLING.sub("", part))
        first, last = (int(span[1]), int(span[2] or span[1])) if span else (1, 0)
        if not first <= last < first + 1000:
            raise refused
        yield from range(first, last + 1)


@dataclass(frozen=True, slots=True)
class RecordForm:
    """How a record says something, and on which exchanges that rests.

    Args:
        name: what it is, such as ``"an event"``, for errors.
        tag: the tags around the records, such as ``"events"``.
        text_keys: the keys that its text may stand under, the one that was asked for first.
        number_keys: the same for the numbers of its exchanges.
        size: how long its text should be, in words, for errors.
        max_tokens: how long it may be.
    """

    name: str
    tag: str
    text_keys: Sequence[str]
    number_keys: Sequence[str]
    size: str
    max_tokens: int

    def text(self, record: Mapping[str, Any]) -> Any:
        """What stands in the place of the record's text."""
        return _under(record, self.text_keys, str)

    def numbers(self, record: Mapping[str, Any]) -> Any:
        """What stands in the place of the record's numbers of exchanges."""
        return _under(record, self.number_keys, int | str | list)

    def found_in(self, reply: str) -> Records:
        """The records of a reply: of the first block by `blocks_of` that has any."""
        for block in blocks_of(checked_length(reply), self.tag):
            found = records_in(block, self._is_whole)
            if found.records or found.broken:
                return found
        return Records(self._in_lines(without_thoughts(reply)))

    def _in_lines(self, text: str) -> list[Record]:
        """Records in plain words, a line each that ends with its exchanges: ``- Ann sails (exchanges 0, 2)``."""
        found = (_WORDED.fullmatch(line) for line in text.splitlines() if len(line) <= _LONGEST_LINE)
        return [{self.text_keys[0]: line[1].strip("*_ "), self.number_keys[0]: line[2]} for line in found if line]

    def _is_whole(self, record: Mapping[str, Any]) -> bool:
        return self.text(record) is not None and self.numbers(record) is not None

    def read(self, found: Records, count: int, reply: str) -> Texts:
        """The texts of records, each with the numbers of its exchanges, rising; what is said twice is joined.

        Where there are several numbers, none of them 0, and ``count`` is the largest, they are taken to begin with 1.

        Args:
            found: what was found in the reply.
            count: how many exchanges there are.
            reply: the whole reply.

        Raises:
            BadReply: with what is wrong, in words for the model: an object that cannot be read, no text or one that is
                too long, or no exchanges or some that do not exist. The good records are its ``kept``.
            CutOff: the reply was cut off; likewise.
        """
        rows = [self._row(record) for record in found.records]
        complaints = [f"this is no JSON object: {each}" for each in found.broken]
        complaints += [row for row in rows if isinstance(row, str)]
        read = [row for row in rows if not isinstance(row, str)]
        every = set[int]().union(*(numbers for _, numbers in read))
        first = int(len(every) > 1 and min(every) >= 1 and max(every) == count)
        texts: dict[str, set[int]] = {}
        for text, numbers in read:
            inside = {number - first for number in numbers if first <= number < count + first}
            if inside:
                texts.setdefault(text, set()).update(inside)
        if outside := sorted(number for number in every if not first <= number < count + first):
            complaints.append(f"there is no exchange {outside[0]}; they are numbered from 0 to {count - 1}")
        kept = [(text, tuple(sorted(numbers))) for text, numbers in texts.items()]
        if cut_off(reply):
            raise CutOff(CUT_OFF, reply, kept)
        if complaints:
            raise BadReply(complaints[0], reply, kept)
        return kept

    def _row(self, record: Mapping[str, Any]) -> tuple[str, set[int]] | str:
        """A record's text and numbers; in words, why it has none."""
        try:
            return self._text_of(record), self._numbers_of(record)
        except ValueError as error:
            return str(error)

    def _text_of(self, record: Mapping[str, Any]) -> str:
        text = self.text(record)
        if not isinstance(text, str) or not any(map(str.isalnum, text)):
            given = shown(record)[:200]
            raise ValueError(f'{self.name} needs words under "{self.text_keys[0]}", got {given}')
        if count_tokens(text) > self.max_tokens:
            raise ValueError(f"{self.name} is {self.size}, this is longer: {text[:200]}")
        return " ".join(unquoted(text).split())

    def _numbers_of(self, record: Mapping[str, Any]) -> set[int]:
        numbers = exchange_numbers(self.numbers(record), self.number_keys[0])
        if not numbers:
            text = self._text_of(record)[:200]
            raise ValueError(f"{self.name} needs the numbers of its exchanges, got none for: {text}")
        return numbers


def _under(record: Mapping[str, Any], keys: Sequence[str], kind: Any) -> Any:
    """What stands under the first of the keys that is there; else under a key that is near one, if it is of a kind."""
    plain = {"_".join(words_of(key)): key for key in record}
    for key in keys:
        if key in plain:
            return record[plain[key]]
    for own, written in plain.items():
        words = own.split("_")
        near = not {*words}.isdisjoint(keys) or get_close_matches(own, keys, 1, 0.8)
        if near and isinstance(record[written], kind) and "id" not in words:
            return record[written]
    return None
