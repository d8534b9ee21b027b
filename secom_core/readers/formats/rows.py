"""Role/content messages as JSON or JSON lines: of one session, of several, or a session a line (fine-tuning)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from itertools import chain
from typing import Any, Final

from ...conversation import Message, Session
from ...errors import InvalidInput, shorten
from ..fields import LONGEST_LINE
from ..files import Export, File
from ..json_stream import JsonStream
from ..messages import TIMES, is_step, read_messages
from ..reading import Reading, grouped

_TIMES: Final = (*TIMES, "date")
"""What the time of a session may be called in a row that holds its messages."""
_LISTS: Final = ("messages", "conversation", "conversations")
"""What the messages of a session may be called in its row: for fine-tuning, in WildChat and LMSYS-Chat, elsewhere."""
_NAMES: Final = ("session", "id", "conversation_id", "conversation_hash")
"""What a session may be called by in its row."""


def looks_like(file: File) -> bool:
    """An object or a list, or a name that promises one."""
    promised = file.suffix in (".json", ".jsonl", ".ndjson")
    begins = file.start.lstrip()
    is_object = begins[:1] == "{" and not begins.startswith("{\\rtf")
    return not file.encoding.is_binary and (promised or is_object or _is_json_list(file))


def _is_json_list(file: File) -> bool:
    """``[{`` and ``[["user", …`` begin a list; ``[14:05] Ann:`` begins a transcript."""
    return file.start.lstrip()[:1] == "[" and file.start.lstrip()[1:].lstrip()[:1] in ("{", "[", "]")


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each ``messages`` list; of bare messages, one for each ``session`` that they name, or for all."""
    for file in files:
        rows = _lines(file, reading) if _is_lines(file) else iter(_whole(file, reading))
        first = next(rows, None)
        if isinstance(first, Mapping) and first.get("kind") == "header" and "format" in first:
            raise InvalidInput(f"{export.name} is an export of a bank; take it in with: secom import {export.name}")
        if first is not None:
            yield from sessions_of(chain([first], rows), reading.session or file.stem, reading)


def sessions_of(rows: Iterator[Any], name: str, reading: Reading) -> Iterator[Session]:
    """The sessions of rows: each list of ``messages`` or ``conversation`` is one; bare messages are one together.

    Args:
        rows: objects, pairs or messages.
        name: what a session is called that does not say.
        reading: the reading that they are of; what it is to pass over is passed over.

    Raises:
        InvalidInput: a row is none of these; with its number.
    """
    first, second = next(rows, None), next(rows, None)
    rest = chain([first] if second is None else [first, second], rows)
    if list_in(first):
        yield from _a_session_each(rest, name, reading, alone=second is None)
        return
    by_name: dict[str, list[Any]] = {}
    for row in rest:
        own = row.get("session") if isinstance(row, Mapping) else None
        by_name.setdefault(_name_of(own) if own else name, []).append(row)
    for called, items in by_name.items():
        yield grouped(called, _messages_of(items, reading))


def _a_session_each(rows: Iterable[Any], name: str, reading: Reading, *, alone: bool) -> Iterator[Session]:
    for number, row in enumerate(rows, start=1):
        yield from _session_of(row, name, reading) if alone else _session_at(number, row, name, reading)


def _session_at(number: int, row: Any, name: str, reading: Reading) -> Iterator[Session]:
    try:
        found = list(_session_of(row, f"{name} {number}", reading))
    except InvalidInput as error:
        reading.bad(InvalidInput(f"row {number}: {error}"))
    else:
        yield from found


def _session_of(row: Any, name: str, reading: Reading) -> Iterator[Session]:
    key = list_in(row)
    if not key:
        raise InvalidInput(f"expected an object with a list of 'messages', got {shorten(row)}")
    own = next((row[each] for each in _NAMES if row.get(each) not in (None, "")), None)
    at = next((row[each] for each in _TIMES if row.get(each) is not None), None)
    yield grouped(_name_of(own) if own is not None else name, _messages_of(_dated(row[key], at), reading))


def list_in(row: Any) -> str:
    """The field of a row that holds a list of messages; empty where none does."""
    return next((key for key in _LISTS if isinstance(row, Mapping) and isinstance(row.get(key), list)), "")


def _messages_of(items: Sequence[Any], reading: Reading) -> Sequence[Message]:
    """The messages of a session; one by one where those that cannot be read are passed over."""
    reading.left_out["calls of tools, their results and reasoning"] += sum(map(is_step, items))
    try:
        found = read_messages(items, timezone=reading.zone)
    except InvalidInput:
        if not reading.partial:
            raise
        found = tuple(message for place, item in enumerate(items) for message in _message_at(place, item, reading))
    said = [message for message in found if message.text.strip()]
    reading.left_out["messages without words"] += len(found) - len(said)
    return said


def _message_at(place: int, item: Any, reading: Reading) -> Sequence[Message]:
    try:
        return read_messages([item], timezone=reading.zone)
    except InvalidInput as error:
        reading.bad(InvalidInput(str(error).replace("message 0:", f"message {place}:", 1)))
        return ()


def _name_of(own: Any) -> str:
    if isinstance(own, bool) or not isinstance(own, (str, int)):
        raise InvalidInput(f"a session is named by text or a whole number, not {shorten(own)}")
    return str(own)


def _dated(messages: Sequence[Any], at: Any) -> Sequence[Any]:
    """Messages with the time of their session, where they do not bring their own; ``null`` is that of what follows."""
    if at is None:
        return messages
    dated, following = list[Any](), at
    for each in reversed(messages):
        if isinstance(each, Mapping):
            named = [each[key] for key in TIMES if key in each]
            own = next((time for time in named if time is not None), None)
            each = each if own is not None else {**each, "at": following if named else at}
            following = following if own is None else own
        dated.append(each)
    return dated[::-1]


# -- JSON, or JSON lines ----------------------------------------------------------------------------------------------


def _is_lines(file: File) -> bool:
    """Whether each line is a record: the first one is whole by itself, and another follows; or the name says so."""
    if file.suffix in (".jsonl", ".ndjson"):
        return True
    first, _, rest = file.start.lstrip().partition("\n")
    try:
        return file.suffix != ".json" and bool(rest.strip()) and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _whole(file: File, reading: Reading) -> Sequence[Any]:
    text = reading.whole(file)
    if not text.strip():
        return []
    try:
        whole = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        reading.bad(InvalidInput(f"not JSON: {error}{_cut(text, error)}"))
        return _before_damage(text)
    store = whole.get("store") if isinstance(whole, Mapping) and not {"role", "messages"} & whole.keys() else None
    if isinstance(store, Mapping) and all(isinstance(each, list) for each in store.values()):
        # What LlamaIndex's SimpleChatStore persists.
        return [{"session": key, "messages": messages} for key, messages in store.items()]
    return whole if isinstance(whole, list) else [whole]


def _cut(text: str, error: Exception) -> str:
    """What to do where a text, the last of its file, is no JSON because it breaks off."""
    breaks_off = isinstance(error, json.JSONDecodeError) and (
        error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip())
    )
    return "; the file breaks off here, get it once more, or wait until it is written" if breaks_off else ""


def _before_damage(text: str) -> Sequence[Any]:
    """What stands in a list before the place where it cannot be read."""
    stream, found = JsonStream(StringIO(text)), list[Any]()
    with suppress(InvalidInput):
        for _ in stream.items():
            found.append(stream.value())
    return found


def _lines(file: File, reading: Reading) -> Iterator[Any]:
    # Universal line ends are those of the text layer; JSON may hold line separators that end none of these lines.
    with reading.opened(file) as text:
        number = 0
        while line := text.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise InvalidInput(f"line {number} has more than {LONGEST_LINE:,} characters, which is what is read")
            if line.strip():
                yield from _decoded(line, number, reading)


def _decoded(line: str, number: int, reading: Reading) -> Iterator[Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        cut = "" if line.endswith("\n") else _cut(line, error)
        reading.bad(InvalidInput(f"line {number} is not JSON: {error}{cut}"))
        return
    yield from found if isinstance(found, list) and number == 1 and found and isinstance(found[0], dict) else [found]
