"""Messenger and Instagram: the JSON of "Download your information", and that of Messenger's encrypted chats.

A chat is divided among ``message_1.json``, the latest, ``message_2.json`` and so on, each beginning with its latest
message. Texts stand there with each byte of UTF-8 as a character of its own: ``CafÃ©``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, Final

from ...conversation import Message, Session
from ...text.patterns import regex
from ..fields import list_field
from ..files import Export, File
from ..reading import Reading, by_day, seconds

_MARKS: Final = (
    {"messages[].sender_name", "messages[].timestamp_ms"},
    {"messages[].senderName", "messages[].timestamp", "threadName"},
)
_NUMBER: Final = regex(r"_(\d{1,6})$")
_REACTION: Final = regex(r"(?:Reacted .{1,20} to your message|Liked a message)\s*")
_NOTICE: Final = regex(r".{1,200} sent an attachment\.")
"""What Messenger writes, in English, where something was sent without words."""
_KINDS: Final = {"photos": "image", "videos": "video", "audio_files": "audio", "gifs": "gif", "files": "file"}
_ENDINGS: Final = {
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".webp", ".heic"), "image"),
    **dict.fromkeys((".mp4", ".mov", ".webm"), "video"),
    **dict.fromkeys((".ogg", ".mp3", ".m4a", ".aac", ".wav"), "audio"),
    ".gif": "gif",
}


def looks_like(file: File) -> bool:
    """Messages with a ``sender_name`` and ``timestamp_ms``; or of a thread, with a ``senderName``."""
    return any(marks <= file.shape for marks in _MARKS)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each chat."""
    for _, parts in groupby(sorted(files, key=_place), key=lambda file: _place(file)[0]):
        yield from _chat(list(parts), reading)


def _place(file: File) -> tuple[str, int]:
    """The chat that a file is of, and where it stands there: the earliest messages have the highest number."""
    path = PurePosixPath(file.name)
    number = _NUMBER.search(path.stem) if path.stem.startswith("message_") else None
    return (str(path.parent), -int(number[1])) if number else (file.name, 0)


def _chat(files: list[File], reading: Reading) -> Iterator[Session]:
    about = _without_messages(files[0], reading)
    title = _mended(str(about.get("title") or "")) or _NUMBER.sub("", str(about.get("threadName") or "")) or "chat"
    key = PurePosixPath(str(about.get("thread_path") or about.get("threadName") or title)).name
    yield from by_day(reading.chat(title, key), _messages(files, key, reading))


def _without_messages(file: File, reading: Reading) -> dict[str, Any]:
    stream = reading.stream(file)
    return {name: stream.value() for name in stream.members() if name != "messages"}


def _messages(files: Iterable[File], key: str, reading: Reading) -> Iterator[Message]:
    for file in files:
        said = [each for each in list_field(reading.stream(file).value(), "messages") if isinstance(each, Mapping)]
        # Of one time, what stands above was sent later where the latest comes first.
        if said and _stamp(said[0]) > _stamp(said[-1]):
            said.reverse()
        for message in sorted(said, key=_stamp):
            if (told := _message(message, key, reading)) is not None:
                yield told


def _stamp(message: Mapping[str, Any]) -> float:
    value = message.get("timestamp_ms", message.get("timestamp"))
    return float(value) if isinstance(value, (int, float)) else 0.0


def _message(message: Mapping[str, Any], key: str, reading: Reading) -> Message | None:
    """What somebody said or sent; nothing for what was deleted, calls, notices and reactions, which are counted."""
    if (why := _left_out(message)) is not None:
        reading.left_out[why] += 1
        return None
    is_plain = "senderName" in message
    name = str(message.get("senderName") or "") if is_plain else _mended(str(message.get("sender_name") or ""))
    text = str(message.get("text") or "") if is_plain else _mended(str(message.get("content") or ""))
    sent = list(_sent(message))
    text = "\n".join(filter(None, ["" if sent and _NOTICE.fullmatch(text) else text.strip(), *sent]))
    if not text or _REACTION.fullmatch(text):
        reading.left_out["reactions" if text else "empty messages"] += 1
        return None
    at = _stamp(message)
    kept = {"source": "messenger"}
    return reading.person(name, text, id=reading.stable(key, int(at), name, text), at=seconds(at), metadata=kept)


def _left_out(message: Mapping[str, Any]) -> str | None:
    if message.get("is_unsent") or message.get("isUnsent"):
        return "deleted messages"
    if "call_duration" in message or message.get("type") == "Call":
        return "calls"
    return "system messages" if message.get("type") in ("Subscribe", "Unsubscribe", "placeholder") else None


def _sent(message: Mapping[str, Any]) -> Iterator[str]:
    """What came with the words, and the address that was shared."""
    for field, kind in _KINDS.items():
        for each in message.get(field) or ():
            yield _file(kind, each)
    for each in message.get("media") or ():
        yield _file(_ENDINGS.get(PurePosixPath(_address(each)).suffix.lower(), "file"), each)
    if message.get("sticker"):
        yield "[sticker]"
    share = message.get("share") or {}
    link, words = str(share.get("link") or ""), _mended(str(share.get("share_text") or ""))
    yield from filter(None, [words, "" if link in str(message.get("content") or "") else link])


def _file(kind: str, each: Any) -> str:
    return f"[file: {PurePosixPath(_address(each)).name}]" if kind == "file" else f"[{kind}]"


def _address(each: Any) -> str:
    return str(each.get("uri") or "") if isinstance(each, Mapping) else ""


def _mended(text: str) -> str:
    """The text whose bytes of UTF-8 stand there as characters; a text for which that is not so stays."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
