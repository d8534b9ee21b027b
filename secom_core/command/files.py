"""Files of conversations, in any form that `secom_core.readers` reads, into sessions."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ..conversation import Message, Session, group_messages, stamped
from ..errors import InvalidInput
from ..readers import read_locomo, read_messages, read_transcript
from .terminal import Refused

__all__ = ["read_file", "read_text"]

_STDIN: Final = "-"


def read_text(name: str) -> str:
    """What stands in a file, or comes through standard input for ``-``.

    Raises:
        Refused: it is not UTF-8.
        OSError: it cannot be read.
    """
    raw = sys.stdin.buffer.read() if name == _STDIN else Path(name).expanduser().read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"{_called(name)} is not UTF-8: byte {error.start} is {raw[error.start]:#04x}") from error


def read_file(
    name: str, *, session: str | None = None, at: datetime | None = None, sample: str | None = None
) -> list[Session]:
    """The sessions in a file, every message with an id, so that reading it again adds nothing.

    Args:
        name: the file; ``-`` for standard input.
        session: what to call its session, where it does not say; the file's name without its ending unless given.
        at: when what carries no time was said.
        sample: which conversation of a LoCoMo file that holds several.

    Raises:
        Refused: no reader understands it, or it needs a name.
        OSError: it cannot be read.
    """
    text = read_text(name)
    try:
        found = _sessions(text, name, session, sample)
    except InvalidInput as error:
        reason = str(error)
        raise Refused(reason if name in reason else f"{_called(name)}: {reason}") from error
    kept = [each for each in map(_identified, found) if each.messages]
    if not kept:
        raise Refused(f"{_called(name)} holds no message")
    return [_dated(each, at) for each in kept] if at is not None else kept


def _called(name: str) -> str:
    return "standard input" if name == _STDIN else name


def _sessions(text: str, name: str, session: str | None, sample: str | None) -> Sequence[Session]:
    rows = _rows(text, name)
    if rows is None:
        return _from_transcript(text, name, session)
    if _is_export(rows):
        raise Refused(f"{_called(name)} is an export; take it in with: secom import {name}")
    if not _is_locomo(rows):
        return list(_from_rows(rows, name, session))
    if name == _STDIN:
        raise Refused("a LoCoMo file is read by its name, not from standard input")
    return _own_names(read_locomo(Path(name).expanduser(), sample=sample), name, session)


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
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InvalidInput(f"line {number} is not JSON: {error}") from error


def _is_export(rows: Sequence[Any]) -> bool:
    return bool(rows) and isinstance(rows[0], Mapping) and rows[0].get("kind") == "header" and "format" in rows[0]


def _is_locomo(rows: Sequence[Any]) -> bool:
    return bool(rows) and all(
        isinstance(row, Mapping) and any(key == "conversation" or re.fullmatch(r"session_\d+", key) for key in row)
        for row in rows
    )


# -- what the sessions are called -------------------------------------------------------------------------------------


def _from_transcript(text: str, name: str, session: str | None) -> Sequence[Session]:
    found = read_transcript(text)
    if [each.name for each in found] != ["1"]:
        return _own_names(found, name, session)
    return [_renamed(found[0], session or _stem(name))]


def _own_names(found: Sequence[Session], name: str, session: str | None) -> Sequence[Session]:
    if session is not None and len(found) > 1:
        raise Refused(f"{_called(name)} holds {len(found)} sessions with names of their own; leave --session out")
    return found if session is None else [_renamed(each, session) for each in found]


def _from_rows(rows: Sequence[Any], name: str, session: str | None) -> Iterator[Session]:
    """Role/content dicts are one session, or as many as their ``session`` names; each ``messages`` list is one."""
    if rows and all(isinstance(row, Mapping) and isinstance(row.get("messages"), list) for row in rows):
        for number, row in enumerate(rows, start=1):
            own = row.get("session") or row.get("id")
            usual = session or _stem(name) if own is None else ""
            called = str(own) if own is not None else usual if len(rows) == 1 else f"{usual} {number}"
            yield _session(called, row["messages"])
        return
    by_name: dict[str, list[Any]] = {}
    for row in rows:
        own = row.get("session") if isinstance(row, Mapping) else None
        by_name.setdefault(str(own) if own else session or _stem(name), []).append(row)
    for called, items in by_name.items():
        yield _session(called, items)


def _session(name: str, items: Iterable[Any]) -> Session:
    return Session(name, group_messages(read_messages(items), name))


def _stem(name: str) -> str:
    if name == _STDIN:
        raise Refused("what comes through standard input needs a name: --session NAME")
    return Path(name).stem


def _renamed(session: Session, name: str) -> Session:
    return Session(name, group_messages(session.messages, name))


# -- what the messages carry ------------------------------------------------------------------------------------------


def _identified(session: Session) -> Session:
    """The session with an id on every message: its own, or one made from what it says and where."""
    times: Counter[str] = Counter()
    return _with(session, [_with_id(message, session.name, times) for message in session.messages])


def _with_id(message: Message, session: str, times: Counter[str]) -> Message:
    if message.id is not None:
        return message
    at = message.at.isoformat() if message.at else None
    said = json.dumps([session, message.role, message.speaker, message.text, at])
    times[said] += 1
    return replace(message, id=hashlib.sha256(f"{said}{times[said]}".encode()).hexdigest()[:16])


def _dated(session: Session, at: datetime) -> Session:
    return _with(session, [stamped(message, at) for message in session.messages])


def _with(session: Session, messages: Sequence[Message]) -> Session:
    return Session(session.name, group_messages(messages, session.name))
