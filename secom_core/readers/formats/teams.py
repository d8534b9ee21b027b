"""Microsoft Teams: the export of a personal account (``messages.json``), and messages as Microsoft Graph gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import unescape
from operator import itemgetter
from typing import Any, Final

from ...conversation import Message, Session
from ...errors import InvalidTranscript
from ...text.patterns import regex
from ..files import Export, File
from ..html_text import words_of
from ..json_stream import JsonStream
from ..reading import Reading, by_day, iso

_SAID: Final = frozenset({"Text", "RichText", "RichText/Html"})
_SENT: Final = ("RichText/UriObject", "RichText/Media")
"""How the kinds begin of messages that are a picture, a file, a voice message or the like."""
_MEDIUM: Final = regex(r'<URIObject[^>]{0,2000}\stype="(Picture|Video|Audio|File)')
_NAME: Final = regex(r'<OriginalName v="([^"]{1,300})"')
_PICTURE: Final = regex(r"<img\b(?![^>]{0,2000}Emoji)[^>]{0,2000}>")


def looks_like(file: File) -> bool:
    """Conversations with ``MessageList``, or messages with ``createdDateTime`` and a ``body``."""
    of_graph = any({f"{at}[].createdDateTime", f"{at}[].body.content"} <= file.shape for at in ("", "value"))
    return "conversations[].MessageList" in file.shape or of_graph


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each chat."""
    for file in files:
        stream = reading.stream(file)
        if stream.peek() == "[":
            yield from _of_graph(stream, file, reading)
            continue
        mine = ""
        for name in stream.members():
            if name == "userId":
                mine = str(stream.value())
            elif name == "value":
                yield from _of_graph(stream, file, reading)
            elif name == "conversations":
                yield from _of_account(stream, mine, reading)


def _of_account(stream: JsonStream, mine: str, reading: Reading) -> Iterator[Session]:
    for _ in stream.items():
        chat = stream.value()
        if not isinstance(chat, Mapping) or not isinstance(chat.get("MessageList"), list):
            reading.bad(InvalidTranscript(f"line {stream.line}: a conversation has a 'MessageList'"))
            continue
        messages = [each for each in chat["MessageList"] if isinstance(each, Mapping)]
        messages.sort(key=lambda each: str(each.get("originalarrivaltime") or ""))
        name = str(chat.get("displayName") or _others(messages, mine) or chat.get("id") or "")
        key = str(chat.get("id", name))
        yield from by_day(reading.chat(name, key), _messages(messages, key, mine, reading))


def _others(messages: list[Mapping[str, Any]], mine: str) -> str:
    names = (each.get("displayName") for each in messages if each.get("from") != mine)
    return ", ".join(list(dict.fromkeys(str(name) for name in names if name))[:3])


def _messages(messages: list[Mapping[str, Any]], chat: str, mine: str, reading: Reading) -> Iterator[Message]:
    for message in messages:
        content, kind = str(message.get("content") or ""), str(message.get("messagetype"))
        if kind in _SAID:
            text = content if kind == "Text" else _shown(content)
        else:
            text = _sent(content) if kind.startswith(_SENT) else ""
        if not text:
            reading.left_out["system messages" if content else "deleted messages"] += 1
            continue
        own, sender = str(message.get("id", "")), str(message.get("from") or "")
        yield reading.person(
            str(message.get("displayName") or ("" if sender == mine else sender.partition(":")[2])),
            text,
            mine=bool(mine) and sender == mine,
            id=reading.stable(chat, own, text),
            at=iso(message.get("originalarrivaltime")),
            metadata={"source": "teams", "message": own},
        )


def _shown(page: str) -> str:
    """The words of a page, with ``[image]`` where a picture stands in them."""
    return words_of(_PICTURE.sub(" [image] ", page))


def _sent(content: str) -> str:
    """``[file: report.pdf]`` for what was sent; nothing for cards and other objects."""
    medium, name = _MEDIUM.search(content), _NAME.search(content)
    if medium is None:
        return ""
    kind = {"Picture": "image"}.get(medium[1], medium[1].lower())
    return f"[{kind}: {unescape(name[1])}]" if name else f"[{kind}]"


def _of_graph(stream: JsonStream, file: File, reading: Reading) -> Iterator[Session]:
    """What ``/chats/{id}/messages`` gives, which begins with the latest."""
    found: dict[str, list[Message]] = {}
    for _ in stream.items():
        message = stream.value()
        if (
            not isinstance(message, Mapping)
            or message.get("messageType") != "message"
            or message.get("deletedDateTime")
        ):
            reading.left_out["system messages"] += 1
            continue
        body, own = message.get("body") or {}, str(message.get("id", ""))
        content = str(body.get("content") or "")
        words = _shown(content) if body.get("contentType") == "html" else content
        text = "\n".join(filter(None, [words, *_files(message)]))
        if not text:
            reading.left_out["empty messages"] += 1
            continue
        who = (message.get("from") or {}).get("user") or (message.get("from") or {}).get("application") or {}
        chat = str(message.get("chatId") or (message.get("channelIdentity") or {}).get("channelId") or "")
        kept = {"source": "teams", "message": own}
        name, at = str(who.get("displayName") or ""), iso(message.get("createdDateTime"))
        made = reading.person(name, text, id=reading.stable(chat, own, text), at=at, metadata=kept)
        found.setdefault(chat, []).append(made)
    for place, messages in enumerate(found.values(), start=1):
        ordered = sorted(((each.at.timestamp() if each.at else 0.0, each) for each in messages), key=itemgetter(0))
        yield from by_day(file.stem if len(found) == 1 else f"{file.stem} {place}", (each for _, each in ordered))


def _files(message: Mapping[str, Any]) -> Iterator[str]:
    """The names of files that came with a message; other attachments are cards, and messages that it answers."""
    for each in message.get("attachments") or ():
        if isinstance(each, Mapping) and each.get("contentType") == "reference":
            yield f"[file: {each.get('name') or ''}]"
