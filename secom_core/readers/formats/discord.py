"""The JSON of DiscordChatExporter: a file a channel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...conversation import Message, Session
from ..files import Export, File
from ..json_stream import JsonStream
from ..reading import Reading, by_day, iso

_SAID: Final = frozenset({"Default", "Reply", "ChatInputCommand", "ContextMenuCommand", "0", "19", "20", "23"})
"""The kinds of messages that somebody wrote; of a kind that the exporter has no name for, it writes the number."""


def looks_like(file: File) -> bool:
    """A server (``guild``), a channel and messages."""
    return {"guild", "channel"} <= file.shape and bool({"messages", "dateRange", "exportedAt"} & file.shape)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each channel."""
    for file in files:
        stream, about = reading.stream(file), dict[str, Any]()
        for name in stream.members():
            if name == "messages":
                key = str((about.get("channel") or {}).get("id") or file.name)
                yield from by_day(reading.chat(_called(about, file), key), _messages(stream, reading))
            else:
                about[name] = stream.value()


def _called(about: Mapping[str, Any], file: File) -> str:
    guild, channel = about.get("guild") or {}, about.get("channel") or {}
    name = str(channel.get("name") or file.stem)
    is_direct = str(channel.get("type", "")).startswith("Direct") or str(guild.get("id")) == "0"
    return name if is_direct else f"{guild.get('name', '')} #{name}".strip()


def _messages(stream: JsonStream, reading: Reading) -> Iterator[Message]:
    for _ in stream.items():
        message = stream.value()
        if not isinstance(message, Mapping) or message.get("type") not in _SAID:
            reading.left_out["system messages"] += 1
            continue
        text, author = _words(message), message.get("author") or {}
        if not text:
            reading.left_out["empty messages"] += 1
            continue
        name = str(author.get("nickname") or author.get("name") or "")
        own, reply = str(message.get("id", "")), (message.get("reference") or {}).get("messageId")
        yield reading.person(
            name,
            text,
            id=reading.stable(own, text),
            at=iso(message.get("timestamp")),
            metadata={"source": "discord", "message": own, **({"reply_to": str(reply)} if reply else {})},
        )


def _words(message: Mapping[str, Any]) -> str:
    """The words, else what is shown with them; then the files, and what is forwarded, which has the same fields."""
    files = [f"[file: {each.get('fileName', '')}]" for each in message.get("attachments") or ()]
    stickers = [f"[sticker: {each.get('name', '')}]" for each in message.get("stickers") or ()]
    content, forwarded = str(message.get("content") or ""), message.get("forwardedMessage") or {}
    embeds = [] if content else [_embed(each) for each in message.get("embeds") or ()]
    return "\n".join(filter(None, [content, *embeds, *files, *stickers, _words(forwarded) if forwarded else ""]))


def _embed(embed: Mapping[str, Any]) -> str:
    fields = [f"{each.get('name') or ''}: {each.get('value') or ''}" for each in embed.get("fields") or ()]
    return "\n".join(filter(None, [*(str(embed.get(part) or "") for part in ("title", "description")), *fields]))
