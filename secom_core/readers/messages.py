"""Role/content dicts, pairs and messages into messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from typing import Any, Final

from ..conversation import Message
from ..errors import InvalidInput, InvalidTranscript, shorten
from ..llm.quoting import spoken
from ..text.names import ROLES
from ..times import LONGEST_TIME, in_zone, iso_time, written_time, zone_or_utc
from .fields import LONGEST_TEXT
from .moments import read_moment

MessageLike = Message | Mapping[str, Any] | tuple[str, str]
"""A message, a role/content dict, or a pair of role and text, such as ``("user", "Hello.")``."""

TIMES: Final = ("at", "timestamp", "created_at", "createdAt", "sent_at", "datetime")
"""What a message's time may be called."""
_STEPS: Final = frozenset({"reasoning", "item_reference", "compaction", "agent_handoff", "agent_config_update"})
_FRAMEWORKS: Final = {"langchain_core": "langchain_secom", "llama_index": "llamaindex_secom"}
"""The packages that make messages of those of a framework, by its module."""


def read_messages(
    items: Iterable[MessageLike | object], *, timezone: str | tzinfo | None = None
) -> tuple[Message, ...]:
    """Messages from role/content dicts, as chat APIs take and give them, from pairs, or from messages themselves.

    A dict has ``role`` and ``content``; ``content`` is text, ``None`` or a list of parts, of which the text is kept
    and everything else leaves a placeholder such as ``[image]``; what a model thinks is left out, as a part or
    between tags before its answer. Tool calls become a line of text each and are kept whole in the metadata, as is
    a result's ``tool_call_id``. ``name`` is the speaker; ``id``, ``metadata`` and the time are kept: ``at``,
    ``timestamp``, ``created_at``, ``createdAt``, ``sent_at`` or ``datetime`` (a datetime, ISO text, or seconds
    since 1970). A role that is none of the usual ones is taken for the name of a person: ``("Ann", "Hello")``.
    Objects with ``model_dump``, such as the ``openai`` package's own messages, are read as the dict that they dump
    to. So are the dicts as which LangChain and LlamaIndex store messages: with ``type`` and ``data``, or ``blocks``.
    Items of OpenAI's Responses API that are no messages (`is_step`) are left out.

    Args:
        items: the messages.
        timezone: the zone of times that carry none, such as ``"Europe/Brussels"``; UTC unless given.

    Raises:
        InvalidInput: there is no such time zone.
        InvalidTranscript: naming the first item that is none of these, or has more than `LONGEST_TEXT` characters.
    """
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise InvalidTranscript(f"messages come as a list of messages, dicts or pairs, not {shorten(items)}")
    zone = zone_or_utc(timezone)
    return tuple(_message(item, place, zone) for place, item in enumerate(items) if not is_step(item))


def is_step(item: object) -> bool:
    """Whether it is an item of OpenAI's Responses API that is no message, but reasoning, a call or its result."""
    kind, role = (item.get(key) if isinstance(item, Mapping) else getattr(item, key, None) for key in ("type", "role"))
    return isinstance(kind, str) and role is None and (kind in _STEPS or _is_call(kind))


def _is_call(kind: str) -> bool:
    return kind.startswith("mcp_") or kind.endswith(("_call", "_call_output"))


def _message(item: object, place: int, zone: tzinfo) -> Message:
    try:
        message = _read(item, place, zone)
    except RecursionError as error:
        raise InvalidTranscript(f"message {place}: {shorten(item)} is nested too deeply to be read") from error
    except InvalidTranscript:
        raise
    except InvalidInput as error:
        raise InvalidTranscript(f"message {place}: {error}") from error
    if len(message.text) > LONGEST_TEXT:
        size = f"{len(message.text):,} characters, at most {LONGEST_TEXT:,} are kept"
        raise InvalidTranscript(f"message {place}: {size}; divide it, it begins with {shorten(message.text[:100])}")
    return message


def _read(item: object, place: int, zone: tzinfo) -> Message:
    if isinstance(item, Message):
        if item.text.casefold() in ROLES and item.role and item.role.casefold() not in ROLES:
            raise InvalidTranscript(
                f"message {place}: its text is {item.text!r} and its role {shorten(item.role)}, so they are swapped; "
                f"the text comes first: Message(text, role={item.text!r})"
            )
        return item
    framework = _FRAMEWORKS.get(type(item).__module__.partition(".")[0], "")
    if framework:
        kind = type(item).__name__
        way = f"convert a {kind} with {framework}.convert.to_messages(messages) first"
        if not hasattr(item, "content"):
            way = f"a {kind} is no message; give what was said in it, such as ('user', 'I moved to Ghent.')"
        raise InvalidTranscript(f"message {place}: {way}, got {shorten(item)}")
    if hasattr(item, "model_dump"):
        item = item.model_dump()
    if isinstance(item, Mapping):
        return _from_dict(item, place, zone)
    if isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2:
        return _from_dict({"role": item[0], "content": item[1]}, place, zone)
    raise InvalidTranscript(f"message {place}: expected a Message, a dict or a (role, text) pair, got {shorten(item)}")


def _from_dict(given: Mapping[str, Any], place: int, zone: tzinfo) -> Message:
    item = _unwrapped(given)
    label, speaker = item.get("role"), item.get("name") or item.get("speaker")
    if not isinstance(label or speaker, str):
        raise InvalidTranscript(f"message {place}: needs a 'role' (or a 'speaker'), got {shorten(dict(item))}")
    if not {"content", "text", "blocks", "function_call", "tool_calls"} & item.keys():
        raise InvalidTranscript(f"message {place}: needs a 'content', got {shorten(dict(item))}")
    role = ROLES.get((label or "").casefold(), "")
    name = speaker or (None if role else label)
    words = _words(item, place)
    text = spoken(words) if role == "assistant" else words
    return Message(text, role, name, _id_of(item, place), _time_of(item, place, zone), _kept(item, place))


def _unwrapped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message as LangChain stores it (``messages_to_dict``), with its kind as its role; any other as it is."""
    kind, data = item.get("type"), item.get("data")
    if not isinstance(kind, str) or not isinstance(data, Mapping) or {"role", "content", "text"} & item.keys():
        return item
    role = data.get("role") if kind == "chat" else kind.removesuffix("MessageChunk")
    return {**data, "role": role} if isinstance(role, str) and (kind == "chat" or role.lower() in ROLES) else item


def _id_of(item: Mapping[str, Any], place: int) -> str | None:
    value = item.get("id")
    if isinstance(value, (bool, float, Mapping, Sequence)) and not isinstance(value, str):
        raise InvalidTranscript(f"message {place}: an id is text or a whole number, not {shorten(value)}")
    try:
        return None if value is None else str(value)
    except ValueError as error:
        raise InvalidTranscript(f"message {place}: an id cannot be {shorten(value)}") from error


def _words(item: Mapping[str, Any], place: int) -> str:
    content = item.get("content", item.get("text", item.get("blocks")))
    if content is not None and not isinstance(content, (str, Sequence)):
        raise InvalidTranscript(f"message {place}: content is text or a list of parts, not {shorten(content)}")
    made = item.get("tool_calls") or ()
    if not isinstance(made, Sequence) or isinstance(made, (str, bytes)):
        raise InvalidTranscript(f"message {place}: tool_calls is a list, not {shorten(made)}")
    calls = [*made, *filter(None, [item.get("function_call")])]
    texts = [content] if isinstance(content, str) else [_part(part, place) for part in content or ()]
    if not any(texts) and isinstance(item.get("refusal"), str):
        texts = [item["refusal"]]
    return "\n".join(filter(None, [*texts, *(_call(call, place) for call in calls)]))


def _part(part: object, place: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InvalidTranscript(f"message {place}: a content part is text or a dict, not {shorten(part)}")
    kind = str(part.get("type", part.get("block_type", "text")))
    if kind in {"thinking", "redacted_thinking", "reasoning"}:
        return ""
    if kind == "tool_use":
        return _call({"name": part.get("name"), "arguments": part.get("input")}, place)
    if kind == "tool_result":
        return _words({"content": part.get("content")}, place)
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else _placeholder(kind, part)


def _placeholder(kind: str, part: Mapping[str, Any]) -> str:
    """``[image]`` for ``image_url``, ``input_image`` and the like; a file keeps its name: ``[file: report.pdf]``."""
    medium = next((word for word in ("image", "audio", "video", "file", "document") if word in kind), kind)
    file = part.get("file")
    name = file.get("filename") if isinstance(file, Mapping) else part.get("filename")
    return f"[{medium}: {name}]" if isinstance(name, str) else f"[{medium}]"


def _call(call: object, place: int) -> str:
    """A call to a tool as text, so that it can be found by its words: ``[calls weather({"city": "Rome"})]``."""
    if not isinstance(call, Mapping):
        return f"[calls {call}]"
    inner = call.get("function")
    function = inner if isinstance(inner, Mapping) else call
    arguments = function.get("arguments", function.get("args", ""))
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    except (TypeError, ValueError) as error:
        raise InvalidTranscript(f"message {place}: arguments {shorten(arguments)} are no JSON: {error}") from error
    return f"[calls {function.get('name', 'a tool')}({text})]"


def _time_of(item: Mapping[str, Any], place: int, zone: tzinfo) -> datetime | None:
    at = _written_time(item, place, zone)
    return at.replace(tzinfo=zone) if at is not None and at.tzinfo is None else at


def _noted_time(text: str, zone: tzinfo) -> datetime | None:
    """The time of ISO text, to its last digit, or of the forms that transcripts have."""
    with suppress(ValueError):
        return in_zone(iso_time(text), zone)
    moment = read_moment(text.strip())
    return moment.on(None, zone) if moment is not None else None


def _written_time(item: Mapping[str, Any], place: int, zone: tzinfo) -> datetime | None:
    value = next((item[key] for key in TIMES if item.get(key) is not None), None)
    if value is None or isinstance(value, datetime):
        return value
    try:
        if isinstance(value, str) and len(value) <= LONGEST_TIME and (at := _noted_time(value, zone)) is not None:
            return at
        return written_time(value)
    except (ValueError, InvalidInput) as error:
        raise InvalidTranscript(f"message {place}: no time can be read from {shorten(value)}") from error


def _kept(item: Mapping[str, Any], place: int) -> dict[str, Any]:
    about = item.get("metadata") or {}
    if not isinstance(about, Mapping):
        raise InvalidTranscript(f"message {place}: metadata is an object, not {shorten(about)}")
    own = {key: item[key] for key in ("tool_calls", "function_call", "tool_call_id") if item.get(key)}
    return {**about, **own}
