"""The export of a Slack workspace, as a zip or a folder: a folder a channel, in it a JSON file a day."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from ...conversation import Message, Session
from ...errors import InvalidTranscript
from ...text.patterns import regex
from ..files import Export, File
from ..reading import Reading, grouped, seconds
from ..slack_blocks import blocks_text

_SAID: Final = frozenset({None, "", "bot_message", "file_share", "me_message", "thread_broadcast"})
_LISTS: Final = ("channels.json", "groups.json", "dms.json", "mpims.json", "users.json")
_MARK: Final = regex(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")


def looks_like(file: File) -> bool:
    """A list of messages with ``ts``, the seconds at which each was sent."""
    is_list = PurePosixPath(file.name).name in _LISTS
    return not is_list and "[].ts" in file.shape and bool({"[].user", "[].text", "[].bot_id"} & file.shape)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each channel, and one for each thread."""
    users, channels = _users(export), _channels(export)
    for file in sorted(files, key=lambda each: each.name):
        folder = PurePosixPath(file.name).parent.name or (export.stem if export.is_single else file.stem)
        chat = channels.get(folder) or f"#{folder}"
        if folder in channels and channels[folder][:1] not in "#":
            chat = ", ".join(users.get(each, each) for each in channels[folder].split())
        yield from _day(file, chat, folder, users, reading)


def _day(file: File, chat: str, folder: str, users: Mapping[str, str], reading: Reading) -> Iterator[Session]:
    """The threads of a file apart from what stands in the channel itself."""
    said: dict[str, list[Message]] = {}
    for message in _listed(file, reading):
        if not isinstance(message, Mapping) or "ts" not in message:
            raise InvalidTranscript(f"{file.shown}: a message has 'ts', the seconds at which it was sent")
        if message.get("subtype") not in _SAID or message.get("type", "message") != "message":
            reading.left_out["system messages"] += 1
            continue
        at, thread = seconds(message["ts"]), str(message.get("thread_ts") or "")
        began = seconds(thread) if thread else at
        stamp = f"{began:%Y-%m-%d, thread of %H:%M:%S}" if thread and began else f"{at:%Y-%m-%d}" if at else ""
        if read := _message(message, folder, users, reading):
            said.setdefault(f"{chat} {stamp}", []).append(read)
    yield from (grouped(name, messages) for name, messages in said.items())


def _message(message: Mapping[str, Any], folder: str, users: Mapping[str, str], reading: Reading) -> Message | None:
    text = _words(message, users)
    if not text:
        reading.left_out["empty messages"] += 1
        return None
    profile = message.get("user_profile") or {}
    user = str(message.get("user") or "")
    name = users.get(user) or profile.get("display_name") or profile.get("real_name") or message.get("username") or user
    stamp, thread = str(message["ts"]), message.get("thread_ts")
    kept = {"source": "slack", "message": stamp, **({"thread": str(thread)} if thread else {})}
    at = seconds(stamp)
    return reading.person(str(name), text, id=reading.stable(folder, stamp, user, text), at=at, metadata=kept)


def _words(message: Mapping[str, Any], users: Mapping[str, str]) -> str:
    """The text, or that of its blocks; what is attached, where there is no text or it is another message; its files."""
    shown = str(message.get("text") or "") or blocks_text(message.get("blocks"))
    attached = [each for each in message.get("attachments") or () if not shown or each.get("is_share")]
    said = [shown, *map(_attached, attached)]
    sent = (each for each in message.get("files") or () if each.get("mode") != "tombstone")
    files = [f"[file: {each.get('name') or each.get('title') or ''}]" for each in sent]
    text = html.unescape(
        _MARK.sub(lambda mark: _named(mark[1], mark[2], mark[3], users), "\n".join(filter(None, said)))
    )
    return "\n".join(filter(None, [text, *files]))


def _attached(attachment: Mapping[str, Any]) -> str:
    """What an attachment shows, else its ``fallback``, which programs write for those that show nothing."""
    parts = [attachment.get(part) for part in ("pretext", "author_name", "title", "text")]
    fields = [f"{each.get('title') or ''}: {each.get('value') or ''}" for each in attachment.get("fields") or ()]
    blocks = blocks_text(attachment.get("blocks"))
    if not (attachment.get("text") or fields or blocks):
        return str(attachment.get("fallback") or attachment.get("title") or "")
    return "\n".join(filter(None, [*map(str, filter(None, parts)), *fields, "" if attachment.get("text") else blocks]))


def _named(kind: str, what: str, label: str | None, users: Mapping[str, str]) -> str:
    """``<@U1>`` as ``@Ann``, ``<#C1|general>`` as ``#general``, ``<https://x|a page>`` as ``a page (https://x)``."""
    if kind == "@":
        return f"@{users.get(what) or label or what}"
    if kind == "#":
        return f"#{label or what}"
    if kind == "!":
        return label if label else f"@{what.partition('^')[0]}"
    address = what.removeprefix("mailto:")
    return f"{label} ({what})" if label and label not in (what, address) else address


def _users(export: Export) -> dict[str, str]:
    found: dict[str, str] = {}
    for user in _records(export.named("users.json")):
        profile = user.get("profile") or {}
        name = profile.get("display_name") or profile.get("real_name") or user.get("real_name") or user.get("name")
        if user.get("id") and name:
            found[str(user["id"])] = str(name)
    return found


def _channels(export: Export) -> dict[str, str]:
    """By the name of its folder, what a channel is called; of direct messages the ids of who takes part."""
    found: dict[str, str] = {}
    for name in ("channels.json", "groups.json"):
        found |= {str(each.get("name")): f"#{each.get('name')}" for each in _records(export.named(name))}
    for name in ("dms.json", "mpims.json"):
        for each in _records(export.named(name)):
            members = " ".join(map(str, each.get("members") or ()))
            found |= {str(key): members for key in (each.get("name"), each.get("id")) if key and members}
    return found


def _records(file: File | None) -> Sequence[Mapping[str, Any]]:
    if file is None:
        return ()
    try:
        with file.text() as text:
            rows = json.load(text)
    except (ValueError, RecursionError) as error:
        raise InvalidTranscript(f"{file.shown}: not JSON: {error}; get the export once more") from error
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else ()


def _listed(file: File, reading: Reading) -> Iterator[Any]:
    stream = reading.stream(file)
    for _ in stream.items():
        yield stream.value()
