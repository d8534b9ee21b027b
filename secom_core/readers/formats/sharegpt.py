"""Conversations in the form of ShareGPT: ``{"conversations": [{"from": "human", "value": …}]}``, JSON or JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from ...conversation import Session
from ..fields import list_field, text_field
from ..files import Export, File
from ..messages import read_messages
from ..reading import Reading, grouped

_ROLES: Final = {
    **dict.fromkeys(("gpt", "chatgpt", "bard", "bing", "model", "claude"), "assistant"),
    **dict.fromkeys(("observation", "function_response", "tool_response"), "tool"),
    "function_call": "assistant",
}


def looks_like(file: File) -> bool:
    """Records whose ``conversations`` are pieces with ``from`` and ``value``."""
    places = ("[].conversations[]", "conversations[]", "[].conversation[]", "conversation[]")
    return any({f"{at}.from", f"{at}.value"} <= file.shape for at in places)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a record, called by its id, or by the file and its number."""
    for file in files:
        for number, record in enumerate(_records(file, reading), start=1):
            name = f"{reading.session or file.stem} {number}"
            yield from reading.kept(partial(session_of, name=name), record, f"{file.shown}: conversation {number}")


def session_of(record: Any, reading: Reading, *, name: str) -> Session:
    """The session of one record.

    Args:
        record: with ``conversations``, and perhaps an ``id``.
        reading: the reading that it is of.
        name: what to call it, where it has no id.

    Raises:
        ValueError: it is no record of this form.
    """
    key = "conversations" if isinstance(record, Mapping) and "conversations" in record else "conversation"
    said = [
        {"role": _ROLES.get(who := text_field(each, "from").lower(), who), "content": text_field(each, "value")}
        for each in list_field(record, key)
    ]
    own = record.get("id")
    return grouped(str(own) if own not in (None, "") else name, read_messages(said))


def _records(file: File, reading: Reading) -> Iterator[Any]:
    stream = reading.stream(file)
    if stream.peek() == "[":
        yield from (stream.value() for _ in stream.items())
    else:
        yield from stream.values()
