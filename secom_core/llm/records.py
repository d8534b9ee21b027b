"""JSON objects in a model's reply, each read by itself, so that a broken one costs no other.

Strict JSON is tried first. What is then put up with has one reading only: single and typographic quotes, colons and
commas of full width, names without quotes, ``None`` and ``True``, commas too many or missing, comments, line breaks and
quotation marks inside a text, a brace that was not closed before the next object or tag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from ..text.patterns import regex
from .quoting import without_thoughts

Record = dict[str, Any]

_MOST_BROKEN: Final = 50  # objects of a reply that cannot be read, before it is given up
_LONGEST: Final = 4_000  # characters of an object that is no JSON by the letter
_DEEPEST: Final = 8  # levels of objects and lists inside an object
_SPACE: Final = regex(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_BREAK: Final = regex(r"(?:\s|//[^\n]*|/\*.*?\*/|,)*", re.DOTALL)
_NUMBER: Final = regex(r"[-+]?\d{1,400}(?:\.\d{1,400})?(?:[eE][-+]?\d{1,3})?(?=\s*[,}\]\n/])")
_BARE: Final = regex(r"[^\s,:{}\[\]\"'<“”‘’][^,:{}\[\]\"'\n<“”]*")
_STRINGS: Final = {
    quote: regex(
        # A quotation mark ends a text where what comes next is not a text's.
        rf"{quote}((?:\\.|[^\\])*?){quote}(?=\s*(?:[:}}\]]|\Z|//|,\s*(?:[\"'{{}}\[\]]|-?\d|\w+\"?\s*:)|\n\s*[\"'}}\]]))",
        re.DOTALL,
    )
    for quote in "\"'"
}
_CONSTANTS: Final = {"true": True, "false": False, "null": None, "none": None, "nil": None}
_TYPOGRAPHIC: Final = str.maketrans("“”„‟‘’", '""""\'\'')
_WIDE: Final = regex(r"(?<=[\"'”’\]}\d])(\s*)([：，])(?=\s*[\"'“‘\[{\d-])")
_FRAME: Final = regex(r"[^{}]*[\[:]\s*")
_NAMING: Final = regex(r"\s*[\"'“‘]?\w[^{}:=]{0,60}[:=]")
_FENCE: Final = regex(r"```\w*")
_FENCED: Final = regex(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(slots=True)
class Records:
    """What was found in a text.

    Args:
        records: the objects, in order; of an object or list around others, those.
        broken: the beginnings of objects that could not be read.
    """

    records: list[Record] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def blocks_of(reply: str, tag: str) -> list[str]:
    """Where an answer may stand in a reply, the most likely place first.

    That is the last block between the tags, as models repeat the form or an example first, and think before they
    answer; then the blocks before it; then fenced blocks, the last one first; then the whole reply.

    Args:
        reply: the reply.
        tag: the name of the tags, such as ``"events"``.
    """
    answer = without_thoughts(reply)
    opening, closing = (regex(rf"<\s*{slash}{tag}\b[^<>]*>", re.IGNORECASE) for slash in ("", r"/\s*"))
    tagged = [closing.split(part)[0] for part in opening.split(answer)[1:]]
    fenced = _FENCED.findall(answer)
    return [*reversed(tagged), *reversed(fenced), answer]


def holds_nothing(reply: str, tag: str, nothing: re.Pattern[str]) -> bool:
    """Whether the likeliest place of an answer holds what says that there is none, such as an empty list.

    Args:
        reply: the reply.
        tag: as for `blocks_of`.
        nothing: matches all of it.
    """
    block = _FENCE.sub("", blocks_of(reply, tag)[0]).strip()
    return bool(without_thoughts(reply).strip()) and nothing.fullmatch(block) is not None


def records_in(text: str, is_record: Callable[[Mapping[str, Any]], bool]) -> Records:
    """The records in a text.

    Args:
        text: where to look.
        is_record: whether an object says what is looked for; if not, the objects in it are looked at.
    """
    found, place, failures = Records(), 0, 0
    while (place := text.find("{", place)) >= 0:
        try:
            value, place = _object_at(text, place)
        except (ValueError, RecursionError):
            failures += 1
            if failures == _MOST_BROKEN or _is_record_begun(text, place):
                found.broken.append(text[place : place + 200])
            if failures == _MOST_BROKEN:
                break
            place += 1
            continue
        found.records += _unwrapped(value, is_record, _DEEPEST) or [value] * (not _is_empty_frame(value))
    return found


def _is_record_begun(text: str, place: int) -> bool:
    """Whether a brace that is not read begins a record: it names something, and is not the frame of other objects."""
    following = text.find("{", place + 1)
    framing = following >= 0 and _FRAME.fullmatch(text, place + 1, following)
    return not framing and _NAMING.match(text, place + 1) is not None


def _is_empty_frame(value: Record) -> bool:
    """Whether an object only says that there is nothing, such as ``{"events": []}``."""
    return bool(value) and all(each in ([], {}, None) for each in value.values())


def _unwrapped(value: Any, is_record: Callable[[Mapping[str, Any]], bool], depth: int) -> list[Record]:
    """The records in a value, however deep; a text may be JSON again."""
    if isinstance(value, dict) and is_record(value):
        return [value]
    if isinstance(value, str):
        again = value.lstrip().startswith(("{", "[")) and depth >= _DEEPEST - 1
        return [each for each in records_in(value, is_record).records if is_record(each)] if again else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [record for each in inner if depth for record in _unwrapped(each, is_record, depth - 1)]


def _object_at(text: str, place: int) -> tuple[Any, int]:
    """The object that begins at ``place``, and where it ends; a `ValueError` where it does not."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, place)
    except (ValueError, RecursionError):
        text = text[place : place + _LONGEST]
    with suppress(ValueError):
        return _read_loosely(text, place)
    with suppress(ValueError):
        return _read_loosely(text.translate(_TYPOGRAPHIC), place)
    narrow = _WIDE.sub(lambda sign: sign[1] + (":" if sign[2] == "：" else ","), text)
    return _read_loosely(narrow.translate(_TYPOGRAPHIC), place)


def _read_loosely(text: str, place: int) -> tuple[Record, int]:
    reader = _Reader(text)
    return reader.mapping(0), place + reader.place


class _Reader:
    """Reads one object that is not JSON by the letter."""

    def __init__(self, text: str) -> None:
        self._text, self.place = text, 0

    def mapping(self, depth: int) -> Record:
        self._check(depth)
        found: Record = {}
        while not self._closed("}"):
            key = self._string() if self._sign() in "\"'" else self._bare()
            self._skip(_SPACE)
            if self._sign() not in {":", "="}:
                raise ValueError(f"no colon after {key!r}")
            self.place += 1
            found[str(key)] = self._value(depth)
        return found

    def _list(self, depth: int) -> list[Any]:
        self._check(depth)
        found = []
        while not self._closed("]"):
            found.append(self._value(depth))
        return found

    def _check(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        self.place += 1

    def _closed(self, bracket: str) -> bool:
        """Whether the object or list ends here; the next object or tag ends an object too."""
        self._skip(_BREAK)
        sign = self._sign()
        if sign == bracket:
            self.place += 1
            return True
        if bracket == "}" and sign in {"{", "<"} and self._text[self.place - 1] == "\n":
            return True
        if not sign:
            raise ValueError("cut off")
        return False

    def _value(self, depth: int) -> Any:
        self._skip(_SPACE)
        sign = self._sign()
        if sign == "{":
            return self.mapping(depth + 1)
        if sign == "[":
            return self._list(depth + 1)
        return self._string() if sign in {'"', "'"} else self._bare()

    def _string(self) -> str:
        found = _STRINGS[self._sign()].match(self._text, self.place)
        if found is None:
            raise ValueError("a text without an end")
        self.place = found.end()
        return _unescaped(found[1])

    def _bare(self) -> Any:
        for form in (_NUMBER, _BARE):
            if found := form.match(self._text, self.place):
                self.place = found.end()
                return _number(found[0]) if form is _NUMBER else _constant(found[0].strip())
        raise ValueError("no value")

    def _sign(self) -> str:
        return self._text[self.place : self.place + 1]

    def _skip(self, form: re.Pattern[str]) -> None:
        if found := form.match(self._text, self.place):
            self.place = found.end()


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _constant(word: str) -> Any:
    return _CONSTANTS.get(word.casefold(), word)


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n")
