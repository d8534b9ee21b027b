"""What services of speech give as JSON: recognisers of speech, and agents that talk on the telephone.

Written from their public descriptions: Whisper, whisper.cpp and WhisperX, AssemblyAI, Deepgram, Amazon Transcribe,
Google Speech-to-Text and ElevenLabs for recordings (`secom_core.readers.recordings`); ElevenLabs, Retell, Vapi and
LiveKit for the calls of agents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from ...conversation import Message, Session
from ...errors import shorten
from ...text.captions import is_bracketed
from ...text.names import ROLES
from ...times import counted_time
from ..fields import list_field, number_of, text_field, text_of
from ..files import Export, File
from ..messages import is_step, read_messages
from ..reading import Reading, grouped
from ..recordings import bracketed, messages_of, seconds_of, utterances

_MARKS: Final = (
    ("segments[].start", "segments[].text"),  # Whisper, WhisperX
    ("transcription[].offsets.from",),  # whisper.cpp
    ("utterances[].start", "utterances[].text"),
    ("audio_url", "text"),  # AssemblyAI
    ("results.channels[].alternatives[].transcript",),
    ("results.utterances[].transcript",),  # Deepgram
    ("results.transcripts[].transcript",),  # Amazon Transcribe
    ("results[].alternatives[].transcript",),
    ("response.results[].alternatives[].transcript",),  # Google
    ("language_code", "text"),
    ("words[].speaker_id", "words[].text"),  # ElevenLabs, of recordings
    ("transcript[].message", "transcript[].role"),
    ("data.transcript[].message", "data.transcript[].role"),  # ElevenLabs, of calls
    ("transcript_object[].content", "transcript_object[].role"),
    ("call.transcript_object[].content", "call.transcript_object[].role"),  # Retell
    ("messages[].message", "messages[].role"),
    ("artifact.messages[].message", "artifact.messages[].role"),
    ("message.artifact.messages[].message", "message.artifact.messages[].role"),  # Vapi
    ("items[].content", "items[].role", "items[].type"),  # LiveKit
)
"""The fields that the beginning of a record of each service has."""
_ROLES: Final = {**ROLES, "agent": "assistant"}
_STEPS: Final = frozenset({"system", "tool", "tool_calls", "tool_call_result"})


def looks_like(file: File) -> bool:
    """A JSON file whose first records have the fields of a service, or lines of whisper.cpp."""
    if is_bracketed(file.start):
        return True
    paths = file.shape
    if {each for each in paths if not each.startswith("usage")} == {"text"}:
        return True  # Whisper, where only the text was asked for, or where it is very long
    return any(
        {f"{at}{mark}" for mark in marks} <= paths
        for at in ("", "[].")
        if not {f"{at}role", f"{at}speaker"} & paths
        for marks in _MARKS
    )


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a recording or call, called by the file, or by the id of the call where it has one."""
    for file in files:
        name = reading.session or file.stem
        if is_bracketed(file.start):
            yield _recording(messages_of(bracketed(reading.whole(file)), reading), name, reading)
            continue
        stream = reading.stream(file)
        records = (stream.value() for _ in stream.items()) if stream.peek() == "[" else stream.values()
        for number, record in enumerate(records, start=1):
            called = name if number == 1 else f"{name} {number}"
            yield from reading.kept(partial(_session, called), record, f"{file.shown}: recording {number}")


def _session(name: str, record: Any, reading: Reading) -> Session:
    """The session of a record, by the fields that it has."""
    if not isinstance(record, Mapping):
        raise ValueError(f"expected an object, got {shorten(record)}")
    for key in ("data", "call", "message", "response"):  # the messages by which services send them
        inner = record.get(key)
        if isinstance(inner, Mapping) and ("transcript_object" in inner or key != "call"):
            record = inner
    if "items" in record:
        return _history(record, name, reading)
    if "transcript_object" in record or isinstance(record.get("transcript"), list):
        return _call(record, name, reading)
    if "artifact" in record or "messages" in record:
        return _call(record, name, reading)
    return _recording(utterances(record, reading), name, reading)


def _recording(said: Sequence[Message], name: str, reading: Reading) -> Session:
    return grouped(name, (replace(each, role=reading.person(each.speaker or "", "").role) for each in said))


# -- calls of agents --------------------------------------------------------------------------------------------------


def _call(record: Mapping[str, Any], name: str, reading: Reading) -> Session:
    """A call of an agent of ElevenLabs, Retell or Vapi."""
    artifact = record.get("artifact")
    holder = artifact if isinstance(artifact, Mapping) and "messages" in artifact else record
    key = next((each for each in ("transcript_object", "transcript") if isinstance(record.get(each), list)), "messages")
    own = record.get("conversation_id") or record.get("call_id") or (record.get("id") if key == "messages" else None)
    begin = _begin(record) or reading.at
    if reading.session is None and own:
        name = str(own)
    messages: list[Message] = []
    for place, each in enumerate(list_field(holder, key)):
        messages += filter(None, reading.kept(partial(_turn, begin), each, f"{key}[{place}]"))
    return grouped(
        name,
        (
            replace(each, id=reading.stable(name, place, each.speaker or each.role, each.text))
            for place, each in enumerate(messages)
        ),
    )


def _begin(record: Mapping[str, Any]) -> datetime | None:
    """When a call began, as ElevenLabs (seconds) and Retell (milliseconds) say it."""
    about = record.get("metadata")
    own = about.get("start_time_unix_secs") if isinstance(about, Mapping) else None
    value = record.get("start_timestamp") if own is None else own
    return None if value is None else _counted(value, "the beginning of the call")


def _counted(value: Any, name: str) -> datetime:
    try:
        return counted_time(number_of(value, name))
    except (OverflowError, ValueError) as error:
        raise ValueError(f"{name}: no time can be read from {shorten(value)}") from error


def _turn(begin: datetime | None, each: Any, reading: Reading) -> Message | None:
    label = text_field(each, "role").lower()
    text = next((each[key] for key in ("message", "content") if each.get(key) is not None), "")
    if label in _STEPS:
        reading.left_out["calls of tools, their results and instructions"] += 1
        return None
    if not (words := text_of(text, "message").strip()):
        reading.left_out["turns without words"] += 1
        return None
    offset = _offset(each)
    if each.get("time") is not None:
        at: datetime | None = _counted(each["time"], "time")
    else:
        at = begin + offset if begin is not None and offset is not None else begin
    role = _ROLES.get(label, "")
    kept = {"time": str(offset).partition(".")[0]} if offset is not None else {}
    return Message(words, role, None if role else label, at=at, metadata=kept)


def _offset(each: Mapping[str, Any]) -> timedelta | None:
    """How long after the beginning of the call a turn begins."""
    for key in ("time_in_call_secs", "secondsFromStart"):
        if each.get(key) is not None:
            return timedelta(seconds=seconds_of(each[key], key))
    words = each.get("words")
    first = words[0] if isinstance(words, list) and words else None
    own = first.get("start") if isinstance(first, Mapping) else None
    return None if own is None else timedelta(seconds=seconds_of(own, "words[0].start"))


def _history(record: Mapping[str, Any], name: str, reading: Reading) -> Session:
    """The history of a session of LiveKit."""
    items = list_field(record, "items")
    messages: list[Message] = []
    for place, each in enumerate(items):
        if is_step(each):
            reading.left_out["calls of tools, their results and reasoning"] += 1
        else:
            messages += reading.kept(_item, each, f"items[{place}]")
    reading.left_out["turns without words"] += sum(not each.text.strip() for each in messages)
    return grouped(name, (each for each in messages if each.text.strip()))


def _item(each: Any, reading: Reading) -> Message:
    if isinstance(each, Mapping) and each.get("interrupted"):
        each = {**each, "metadata": {"interrupted": True}}
    [message] = read_messages([each], timezone=reading.zone)
    return message
