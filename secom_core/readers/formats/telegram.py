"""The export of Telegram Desktop as JSON, ``result.json``: of one chat, or of an account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ...conversation import Message, Session
from ..files import Export, File
from ..json_stream import JsonStream
from ..reading import Reading, by_day, iso, seconds


def looks_like(file: File) -> bool:
    """Messages with ``from_id``, or with the time in two forms; or an account with ``chats``."""
    found = file.shape
    marks = ("date_unixtime", "from_id", "text_entities", "actor_id")
    is_chat = any(f"{where}messages[].{mark}" in found for mark in marks for where in ("", "chats.list[]."))
    return is_chat or {"about", "personal_information"} <= found or {"about", "chats"} <= found


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each chat."""
    for file in files:
        stream, mine = reading.stream(file), ""
        about: dict[str, Any] = {}
        for name in stream.members():
            if name == "personal_information":
                mine = f"user{(stream.value() or {}).get('user_id')}"
            elif name in ("chats", "left_chats"):
                yield from _chats(stream, mine, reading)
            elif name == "messages":
                yield from _sessions(stream, about, mine, reading)
            else:
                about[name] = stream.value()


def _chats(stream: JsonStream, mine: str, reading: Reading) -> Iterator[Session]:
    for part in stream.members():
        if part != "list":
            continue
        for _ in stream.items():
            about: dict[str, Any] = {}
            for name in stream.members():
                if name == "messages":
                    yield from _sessions(stream, about, mine, reading)
                else:
                    about[name] = stream.value()


def _sessions(stream: JsonStream, about: Mapping[str, Any], mine: str, reading: Reading) -> Iterator[Session]:
    is_own = about.get("type") == "saved_messages"
    chat = str(about.get("name") or ("Saved Messages" if is_own else f"chat {about.get('id', '')}")).strip()
    key = str(about.get("id", chat))
    return by_day(reading.chat(chat, key), _messages(stream, key, mine, reading))


def _messages(stream: JsonStream, chat: str, mine: str, reading: Reading) -> Iterator[Message]:
    for _ in stream.items():
        message = stream.value()
        if not isinstance(message, Mapping) or message.get("type") != "message":
            reading.left_out["service messages"] += 1
            continue
        text, name = _words(message), str(message.get("from") or message.get("from_id") or "")
        if not text:
            reading.left_out["empty messages"] += 1
            continue
        own = str(message.get("id", ""))
        yield reading.person(
            name,
            text,
            mine=bool(mine) and message.get("from_id") == mine,
            id=reading.stable(chat, own, text),
            at=_time(message, reading),
            metadata={"source": "telegram", "message": own, **_about(message)},
        )


def _about(message: Mapping[str, Any]) -> dict[str, Any]:
    kept = {"reply_to": message.get("reply_to_message_id"), "forwarded_from": message.get("forwarded_from")}
    return {name: str(value) for name, value in kept.items() if value is not None}


def _time(message: Mapping[str, Any], reading: Reading) -> datetime | None:
    """The time in UTC, where the export has it; older ones have the clock of the computer alone."""
    if "date_unixtime" in message:
        return seconds(message["date_unixtime"])
    written = iso(message.get("date"))
    return reading.local(written) if written is not None else None


def _words(message: Mapping[str, Any]) -> str:
    """The text, whose marked pieces are objects, and what was sent with it."""
    return "\n".join(filter(None, [_joined(message.get("text")), *_sent(message)]))


def _joined(text: Any) -> str:
    pieces = text if isinstance(text, list) else [text or ""]
    return "".join(_piece(piece) if isinstance(piece, Mapping) else str(piece) for piece in pieces)


def _piece(piece: Mapping[str, Any]) -> str:
    """The words of a marked piece; where they stand for a link, also its address."""
    text, address = str(piece.get("text", "")), piece.get("href")
    return f"{text} ({address})" if address and address != text else text


def _sent(message: Mapping[str, Any]) -> Iterator[str]:
    kind = str(message.get("media_type") or "")
    if "photo" in message:
        yield "[image]"
    if kind == "sticker":
        yield f"[sticker {message.get('sticker_emoji', '')}".rstrip() + "]"
    elif "file" in message:
        medium = next((word for word in ("voice", "video", "audio", "animation") if word in kind), "file")
        name = message.get("file_name")
        yield f"[{medium}: {name}]" if name else f"[{medium}]"
    if isinstance(poll := message.get("poll"), Mapping):
        yield _listed("poll", poll.get("question"), poll.get("answers"))
    if isinstance(plan := message.get("todo_list"), Mapping):
        yield _listed("to do", plan.get("title"), plan.get("items") or plan.get("answers"))
    if "location_information" in message:
        place = ", ".join(str(message[key]) for key in ("place_name", "address") if message.get(key))
        yield f"[location: {place}]" if place else "[location]"
    if isinstance(contact := message.get("contact_information"), Mapping):
        yield f"[contact: {contact.get('first_name', '')} {contact.get('last_name', '')}".rstrip() + "]"


def _listed(what: str, title: Any, items: Any) -> str:
    """``[poll: Pizza?]`` with a line for each answer. Votes are left out: they change from one export to the next."""
    texts = [_joined(each.get("text")) for each in items or () if isinstance(each, Mapping)]
    return "\n".join([f"[{what}: {_joined(title)}]", *(f"- {text}" for text in texts)])
