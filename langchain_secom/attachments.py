"""The text of a message that consists of blocks: its own words, and what stands for what is attached to it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage

_MEDIA: Final = frozenset({"image", "audio", "video", "file"})
_REFUSAL: Final = "refusal"
_WORDS: Final = {"text": "text", "input_text": "text", "output_text": "text", _REFUSAL: _REFUSAL}
"""The keys of the words in kinds of blocks."""
_PROVIDERS: Final = {"image_url": "image", "input_image": "image", "input_audio": "audio", "input_file": "file"}
"""Kinds of blocks that LangChain passes on to a provider as they are."""


def own_words(message: BaseMessage) -> str:
    """What a message itself says, without what is attached to it. Of an answer that is spoken, it is the transcript.

    What a person or a tool says in several blocks stands on lines of its own. Providers also divide an answer within a
    sentence, where something is cited: only what another block, such as a call, divides is on lines of its own.
    """
    if isinstance(message.content, str):
        text = message.content
    elif isinstance(message, AIMessage):
        text = "\n".join(filter(None, _runs(message.content)))
    else:
        text = "\n".join(filter(None, map(_text, message.content)))
    return text or _said_elsewhere(message)


def _runs(content: Sequence[Any]) -> Iterator[str]:
    """The texts of an answer, those joined that follow each other in one message of the provider."""
    for (is_text, _), blocks in groupby(content, lambda block: (_text(block) is not None, _id(block))):
        if is_text:
            yield "".join(_text(block) or "" for block in blocks)


def _id(block: Any) -> Any:
    return block.get("id") if isinstance(block, Mapping) else None


def _text(block: Any) -> str | None:
    if isinstance(block, Mapping):
        block = block.get(_WORDS.get(block.get("type", ""), ""))
    return block if isinstance(block, str) else None


def _said_elsewhere(message: BaseMessage) -> str:
    """What an answer without text says: what was spoken, or why the model refuses."""
    about = message.additional_kwargs if isinstance(message, AIMessage) else {}
    audio = about.get("audio")
    return str((audio.get("transcript") if isinstance(audio, Mapping) else None) or about.get(_REFUSAL) or "")


def words_of(block: Mapping[str, Any]) -> Iterator[str]:
    """The mark of a medium, with its name or its address where it has one, and the words of plain text."""
    kind, about = block["type"], ChainMap(dict(block), block.get("extras") or {})
    if kind == "non_standard" and isinstance(block.get("value"), Mapping):
        kind, about = _kind(block["value"]), ChainMap(dict(block["value"]))
    names = (about.get(key) for key in ("filename", "title", "name", "url"))
    name = next((" ".join(each.split()) for each in names if isinstance(each, str) and each.strip()), "")
    name = "" if name.startswith("data:") else name
    words = about.get("text") if kind == "text-plain" else None
    if kind in _MEDIA or (kind == "text-plain" and (name or not words)):
        kind = "file" if kind == "text-plain" else kind
        yield f"[{kind}: {name}]" if name else f"[{kind}]"
    if isinstance(words, str):
        yield words


def _kind(block: Mapping[str, Any]) -> str:
    """What a provider's own block is: ``image`` for ``{"type": "media", "mime_type": "image/png"}``."""
    kind = str(block.get("type"))
    if kind != "media":
        return _PROVIDERS.get(kind, "")
    medium = str(block.get("mime_type")).partition("/")[0]
    return medium if medium in _MEDIA else "file"
