"""Files of conversations, in any form that `secom_core.readers` reads, into sessions."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ..conversation import Message, Session, group_messages, stamped
from ..errors import InvalidInput, shorten
from ..readers import read_captions, read_messages, read_transcript
from ..readers.fields import LONGEST_LINE
from ..stores.places import file_at
from ..text.captions import is_captions
from .terminal import Refused

_STDIN: Final = "-"
_TIMES: Final = ("at", "timestamp", "date")
"""What the time of a session may be called in a row that holds its messages."""


def read_text(name: str) -> str:
    """What stands in a file, or comes through standard input for ``-``.

    Raises:
        Refused: it is not UTF-8.
        OSError: it cannot be read.
    """
    raw = sys.stdin.buffer.read() if name == _STDIN else file_at(name).read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"{_called(name)} is not UTF-8: byte {error.start} is {raw[error.start]:#04x}") from error


def read_file(name: str, *, session: str | None = None, at: datetime | None = None) -> list[Session]:
    """The sessions in a file, every message with an id, so that reading it again adds nothing.

    Args:
        name: the file; ``-`` for standard input.
        session: what to call its session, where it does not say; the file's name without its ending unless given.
        at: when what carries no time was said.

    Raises:
        Refused: no reader understands it, or it needs a name.
        OSError: it cannot be read.
    """
    text = read_text(name)
    try:
        found = _sessions(text, name, session)
    except InvalidInput as error:
        reason = str(error)
        raise Refused(reason if name in reason else f"{_called(name)}: {reason}") from error
    kept = [_identified(each, at) for each in found if each.messages]
    if not kept:
        raise Refused(f"{_called(name)} holds no message")
    return kept


def _called(name: str) -> str:
    return "standard input" if name == _STDIN else name


def _sessions(text: str, name: str, session: str | None) -> Sequence[Session]:
    if is_captions(text):
        return [read_captions(text, session=session or _stem(name))]
    rows = _rows(text, name)
    if rows is None:
        return _from_transcript(text, name, session)
    if rows and isinstance(rows[0], Mapping) and rows[0].get("kind") == "header" and "format" in rows[0]:
        raise Refused(f"{_called(name)} is an export; take it in with: secom import {name}")
    return [_grouped(called, read_messages(items)) for called, items in _from_rows(rows, name, session)]


# -- which form -------------------------------------------------------------------------------------------------------


def _rows(text: str, name: str) -> list[Any] | None:
    """The items of a JSON or JSON lines file; nothing where it is neither."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        promised = name.lower().endswith((".json", ".jsonl", ".ndjson"))
        if not (promised or text.lstrip().startswith("{")):
            return None
        if name.lower().endswith(".json"):
            raise InvalidInput(f"not JSON: {error}") from error
        return list(_lines(text))
    return whole if isinstance(whole, list) else [whole] if isinstance(whole, dict) else None


def _lines(text: str) -> Iterator[Any]:
    # Not splitlines: JSON may hold line separators that are none of these lines' ends.
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > LONGEST_LINE:
            raise InvalidInput(f"line {number} has {len(line):,} characters, at most {LONGEST_LINE:,} are read")
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InvalidInput(f"line {number} is not JSON: {error}") from error


# -- what the sessions are called -------------------------------------------------------------------------------------


def _from_transcript(text: str, name: str, session: str | None) -> Sequence[Session]:
    found = read_transcript(text)
    if session is None and [each.name for each in found] != ["1"]:
        return found
    if len(found) > 1:
        raise Refused(f"{_called(name)} holds {len(found)} sessions with names of their own; leave --session out")
    return [_grouped(session or _stem(name), each.messages) for each in found]


def _from_rows(rows: Sequence[Any], name: str, session: str | None) -> Iterator[tuple[str, Sequence[Any]]]:
    """Role/content dicts are one session, or as many as their ``session`` names; each ``messages`` list is one."""
    if rows and all(isinstance(row, Mapping) and isinstance(row.get("messages"), list) for row in rows):
        for number, row in enumerate(rows, start=1):
            own = row.get("session") or row.get("id")
            place = "" if len(rows) == 1 else f" {number}"
            at = next((row[key] for key in _TIMES if row.get(key) is not None), None)
            yield (
                _name_of(own) if own is not None else f"{session or _stem(name)}{place}",
                _dated(row["messages"], at),
            )
        return
    by_name: dict[str, list[Any]] = {}
    for row in rows:
        own = row.get("session") if isinstance(row, Mapping) else None
        by_name.setdefault(_name_of(own) if own else session or _stem(name), []).append(row)
    yield from by_name.items()


def _name_of(own: Any) -> str:
    if isinstance(own, bool) or not isinstance(own, (str, int)):
        raise InvalidInput(f"a session is named by text or a whole number, not {shorten(own)}")
    return str(own)


def _dated(messages: Sequence[Any], at: Any) -> Sequence[Any]:
    """Messages with the time of their session, where they do not bring their own."""
    if at is None:
        return messages
    undated = (isinstance(each, Mapping) and not {"at", "timestamp"} & each.keys() for each in messages)
    return [{**each, "at": at} if needs else each for each, needs in zip(messages, undated, strict=True)]


def _stem(name: str) -> str:
    if name == _STDIN:
        raise Refused("what comes through standard input needs a name: --session NAME")
    return Path(name).stem


def _grouped(name: str, messages: Iterable[Message]) -> Session:
    return Session(name, group_messages(messages, name))


# -- what the messages carry ------------------------------------------------------------------------------------------


def _identified(session: Session, at: datetime | None) -> Session:
    """The session with a time, where one is given, and an id on every message: its own, or one made of its words."""
    times: Counter[str] = Counter()
    messages = [_with_id(message, session.name, times) for message in session.messages]
    return _grouped(session.name, [stamped(message, at) if at is not None else message for message in messages])


def _with_id(message: Message, session: str, times: Counter[str]) -> Message:
    if message.id is not None:
        return message
    at = message.at.isoformat() if message.at else None
    content = json.dumps([session, message.role, message.speaker, message.text, at])
    times[content] += 1
    return replace(message, id=hashlib.sha256(f"{content}{times[content]}".encode()).hexdigest()[:16])
