"""Signal: its own export of chats as JSON lines, the JSON of signal-export, and the messages of Signal Desktop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from ...conversation import Message, Session
from ..files import Export, File
from ..reading import Reading, by_day, iso, seconds


def looks_like(file: File) -> bool:
    """Lines with ``chatItem`` after ``backupTimeMs``; or with date, sender and body; or rows of Signal Desktop."""
    found = file.shape
    of_desktop = any(
        {f"{at}conversationId", f"{at}sent_at"} <= found for at in ("", "[].", "messages[].", "messsages[].")
    )
    return {"date", "sender", "body"} <= found or "backupTimeMs" in found or "chatItem" in found or of_desktop


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each chat."""
    for file in files:
        if {"backupTimeMs", "chatItem"} & file.shape:
            yield from _of_backup(file, reading)
        elif "sender" in file.shape:
            chat = PurePosixPath(file.name).parent.name or (export.stem if file.stem == "data" else file.stem)
            yield from by_day(chat, _of_tool(file, chat, reading))
        else:
            yield from by_day(file.stem, _of_desktop(file, reading))


# -- signal-export ----------------------------------------------------------------------------------------------------


def _of_tool(file: File, chat: str, reading: Reading) -> Iterator[Message]:
    times: Counter[tuple[str, str]] = Counter()
    stamp = ""
    for row in reading.stream(file).values():
        text = _with_files(str(row.get("body") or ""), row.get("attachments"), "name")
        if not text.strip():
            reading.left_out["empty messages"] += 1
            continue
        written, sender = str(row.get("date")), str(row.get("sender") or "")
        at = iso(written)
        if written != stamp:
            times.clear()
            stamp = written
        times[sender, text] += 1
        again = times[sender, text]
        yield reading.person(
            sender,
            text.strip(),
            mine=sender == "Me",
            id=reading.stable(chat, written, sender, text, *([again] if again > 1 else ())),
            at=reading.local(at) if at is not None else None,
            metadata={"source": "signal"},
        )


def _with_files(text: str, files: Any, name: str) -> str:
    names = [str(each.get(name) or "") for each in files or () if isinstance(each, Mapping)]
    return "\n".join([*filter(None, [text]), *(f"[file: {each}]" if each else "[file]" for each in names)])


# -- rows of Signal Desktop, as sigtop and others give them ------------------------------------------------------------


def _of_desktop(file: File, reading: Reading) -> Iterator[Message]:
    for row in _rows(file, reading):
        text = _with_files(str(row.get("body") or ""), row.get("attachments"), "fileName")
        if row.get("type") not in ("incoming", "outgoing") or not text:
            reading.left_out["system messages"] += 1
            continue
        mine = row.get("type") == "outgoing"
        name = "Me" if mine else str(row.get("source") or row.get("sourceServiceId") or row.get("sourceUuid") or "")
        own, at = str(row.get("id") or row.get("sent_at")), seconds(row.get("sent_at"))
        given: dict[str, Any] = {"id": reading.stable(own, text), "at": at, "metadata": {"source": "signal"}}
        yield reading.person(name, text, mine=mine, **given)


def _rows(file: File, reading: Reading) -> Iterator[Mapping[str, Any]]:
    stream = reading.stream(file)
    if stream.peek() == "[":
        yield from (stream.value() for _ in stream.items())
    elif "sent_at" in file.shape:
        yield from stream.values()
    else:
        for name in stream.members():
            if name in ("messages", "messsages"):
                yield from (stream.value() for _ in stream.items())


# -- Signal's own export ----------------------------------------------------------------------------------------------


def _of_backup(file: File, reading: Reading) -> Iterator[Session]:
    """Frames in the order of the backup: recipients, then chats, then what was said, of whatever chat."""
    names: dict[str, str] = {}
    chats: dict[str, str] = {}
    said: dict[str, list[Message]] = {}
    mine = ""
    for frame in reading.stream(file).values():
        if recipient := frame.get("recipient"):
            names[str(recipient.get("id"))] = _recipient(recipient)
            mine = str(recipient.get("id")) if "self" in recipient else mine
        elif chat := frame.get("chat"):
            chats[str(chat.get("id"))] = names.get(str(chat.get("recipientId")), "")
        elif item := frame.get("chatItem"):
            chat_id = str(item.get("chatId"))
            if message := _item(item, names, mine, reading):
                said.setdefault(chat_id, []).append(message)
    for chat_id, messages in said.items():
        yield from by_day(reading.chat(chats.get(chat_id) or f"chat {chat_id}", chat_id), messages)


def _recipient(recipient: Mapping[str, Any]) -> str:
    if "self" in recipient:
        return "Me"
    if group := recipient.get("group"):
        title = ((group.get("snapshot") or {}).get("title") or {}).get("title")
        return str(title or "group")
    contact = recipient.get("contact") or {}
    nickname = contact.get("nickname") or {}
    given = " ".join(filter(None, [contact.get("profileGivenName"), contact.get("profileFamilyName")]))
    return str(nickname.get("given") or contact.get("systemGivenName") or given or contact.get("e164") or "somebody")


def _item(item: Mapping[str, Any], names: Mapping[str, str], mine: str, reading: Reading) -> Message | None:
    said = item.get("standardMessage") or {}
    text = str((said.get("text") or {}).get("body") or "")
    files = [(each.get("pointer") or {}).get("fileName") for each in said.get("attachments") or ()]
    text = "\n".join(filter(None, [text, *(f"[file: {name}]" if name else "[file]" for name in files)]))
    if not text:
        reading.left_out["calls, updates and stickers"] += 1
        return None
    author = str(item.get("authorId"))
    at: datetime | None = seconds(item.get("dateSent"))
    return reading.person(
        names.get(author, "somebody"),
        text,
        mine="outgoing" in item or (bool(mine) and author == mine),
        id=reading.stable(item.get("chatId"), author, item.get("dateSent"), text),
        at=at,
        metadata={"source": "signal"},
    )
