"""The export of Grok: ``prod-grok-backend.json``, alone or in its zip.

Its conversations are trees. The branch of the message that the export calls the last is read; where it names none, as
mostly, the branch of the latest message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ...conversation import Message, Session
from ...text.patterns import regex
from ..branches import standing
from ..fields import field, list_field
from ..files import Export, File
from ..messages import read_messages
from ..reading import Reading, grouped, iso, seconds, titled

_CARD: Final = regex(r"<grok:render\b[^>]{0,500}>.{0,2000}?</grok:render>", re.S)
"""Where a citation or a picture stands in an answer."""


def looks_like(file: File) -> bool:
    """A JSON file whose conversations have ``responses`` beside what is told of them."""
    return {"conversations[].conversation", "conversations[].responses"} <= file.shape


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a conversation, called by its title and the beginning of its id."""
    for file in files:
        stream = reading.stream(file)
        for name in stream.members():
            if name == "conversations":
                for number, _ in enumerate(stream.items(), start=1):
                    yield from reading.kept(_session, stream.value(), f"{file.shown}: conversation {number}")


def _session(record: Any, reading: Reading) -> Session:
    about = field(record, "conversation")
    key = str(about.get("id") or "")
    said = [field(each, "response") for each in list_field(record, "responses")]
    way = _standing(said, str(about.get("leaf_response_id") or ""))
    reading.left_out["messages on other branches"] += len(said) - len(way)
    messages = (_message(each, key, iso(about.get("create_time")), reading) for each in way)
    return grouped(titled(about.get("title"), key), [each for each in messages if each.text])


def _standing(said: Sequence[Mapping[str, Any]], leaf: str) -> Sequence[Mapping[str, Any]]:
    """The messages of the branch that stands; all of them where not each answer names what it answers."""
    by_id = {str(each.get("_id")): each for each in said}
    parents = {key: str(each.get("parent_response_id") or "") for key, each in by_id.items()}
    if len(by_id) < len(said) or any(
        _role(each) != "user" and parents[key] not in by_id for key, each in by_id.items()
    ):
        return said
    if leaf not in by_id and by_id:
        last = by_id.keys() - parents.values() or by_id.keys()
        times = {key: _time(by_id[key].get("create_time")) for key in by_id if key in last}
        leaf = max(times, key=lambda each: at.timestamp() if (at := times[each]) else 0.0)
    return [by_id[each] for each in standing(parents, leaf)]


def _role(message: Mapping[str, Any]) -> str:
    """An answer is by ``ASSISTANT``, ``assistant`` or the name of a model."""
    return "user" if str(message.get("sender")).lower() == "human" else "assistant"


def _time(value: Any) -> datetime | None:
    """The time of ISO text, or of ``{"$date": {"$numberLong": "1714737900000"}}``."""
    while isinstance(value, Mapping):
        value = value.get("$date", value.get("$numberLong"))
    return iso(value) or seconds(value)


def _message(message: Mapping[str, Any], key: str, began: datetime | None, reading: Reading) -> Message:
    reading.left_out["reasoning"] += bool(message.get("thinking_trace") or message.get("agent_thinking_traces"))
    own, at = str(message.get("_id") or ""), _time(message.get("create_time")) or began
    files = [{"type": "file"} for _ in message.get("file_attachments") or ()]
    pictures = [{"type": "image"} for _ in message.get("generated_image_urls") or ()]
    content = [_CARD.sub("", str(message.get("message") or "")).strip(), *files, *pictures]
    kept = {"source": "grok", "conversation": key, "message": own}
    [read] = read_messages([{"role": _role(message), "content": content, "metadata": kept, "at": at}])
    text = read.text.strip()
    return Message(text, read.role, None, reading.stable(key, own, text), at, kept)
