"""LangChain messages to the core's and back, and the core's hits to documents and back."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Final, Literal

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
)

from secom_core.bank import MemoryBank
from secom_core.context import without_recalled as strip
from secom_core.conversation import Message, Scope, Turn, check_scope, json_flaw
from secom_core.errors import InvalidInput
from secom_core.memory import Hit, Memory

__all__ = [
    "Tools",
    "from_message",
    "is_of_bank",
    "text_of",
    "to_document",
    "to_hits",
    "to_message",
    "to_messages",
    "without_recalled",
]

Tools = Literal["brief", "omit"]
"""What becomes of tool calls and their results: a line each, or nothing."""

_THINKING: Final = re.compile(r"\A\s*<(think|thinking)>.*?</\1>\s*", re.S)
_NAMESPACE: Final = uuid.UUID("6f1e7b1c-3c52-5d0e-9d1f-6d7365636f6d")
_SYNTHETIC: Final = "lc_source"
_MEDIA: Final = {"image": "image", "audio": "audio", "video": "video", "file": "file", "text-plain": "file"}
_ROLES: Final[tuple[tuple[type[BaseMessage], str], ...]] = (
    (HumanMessage, "user"),
    (AIMessage, "assistant"),
    (SystemMessage, "system"),
    (ToolMessage, "tool"),
    (FunctionMessage, "tool"),
)
_CHAT_ROLES: Final = {"human": "user", "ai": "assistant", "developer": "system", "function": "tool"}
_PROVIDERS_OWN: Final = frozenset({"timestamp", "tool_calls", "function_call", "reasoning_content", "audio", "refusal"})
_TOOL_CHARACTERS: Final = 500
_LAST_SECOND: Final = 1e11


# -- messages to the core ---------------------------------------------------------------------------------------------


def text_of(message: BaseMessage) -> str:
    """What a message says: its words as they are, other media as a short mark such as ``[image]``.

    Reasoning, inline data and tool calls are left out; so is a leading ``<think>`` block, which is how local models
    write their reasoning.
    """
    words = str(message.text) if isinstance(message.content, str) else _words(message)
    return _THINKING.sub("", words) if isinstance(message, AIMessage) else words


def _words(message: BaseMessage) -> str:
    media = [f"[{_MEDIA[block['type']]}]" for block in message.content_blocks if block["type"] in _MEDIA]
    return "\n".join(filter(None, [str(message.text), *media]))


def to_message(message: BaseMessage) -> Message:
    """One message as the core has it.

    The speaker is the message's ``name``; the time comes from ``additional_kwargs["timestamp"]``; what else in there
    JSON can hold becomes metadata. A tool call becomes a line ``[calls weather({"city": "Rome"})]``, a tool's result
    is cut after 500 characters.

    Raises:
        InvalidInput: for a timestamp that is no time.
    """
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(message)
    role = _role(message)
    text = without_recalled(text_of(message))
    if role == "tool":
        text = _shortened(text)
    return Message(
        "\n".join(filter(None, [text, *map(_call, getattr(message, "tool_calls", ()))])),
        role=role,
        speaker=message.name or None,
        id=message.id or None,
        at=_time(message.additional_kwargs.get("timestamp")),
        metadata=_metadata(message),
    )


def to_messages(messages: Iterable[BaseMessage], *, tools: Tools = "brief") -> list[Message]:
    """What is worth remembering of a conversation, in order.

    Left out are system messages, messages that a framework made up (``additional_kwargs["lc_source"]``), removals,
    recalled memory, and messages that say nothing. A tool's result stands directly after its call.

    Args:
        messages: the conversation.
        tools: ``"brief"`` keeps tool calls and results as a line each, ``"omit"`` leaves both out.
    """
    if tools not in ("brief", "omit"):
        raise InvalidInput(f"tools is 'brief' or 'omit', not {tools!r}")
    said = [message for message in messages if _is_said(message)]
    kept = _results_after_calls(said) if tools == "brief" else map(_without_calls, _without_results(said))
    return [message for message in map(to_message, kept) if message.text.strip()]


def _is_said(message: BaseMessage) -> bool:
    made_up = bool(message.additional_kwargs.get(_SYNTHETIC))
    return not (made_up or isinstance(message, RemoveMessage) or _role(message) == "system")


def _results_after_calls(messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    """The same messages, each tool result moved up to the call it answers."""
    waiting = {place: each for place, each in enumerate(messages) if isinstance(each, ToolMessage)}
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if place in waiting:
                yield waiting.pop(place)
            continue
        yield message
        for call in getattr(message, "tool_calls", ()):
            # Some providers count their calls from 0 again in every message, so that only the next result counts.
            answer = next((at for at, each in waiting.items() if at > place and each.tool_call_id == call["id"]), None)
            if answer is not None:
                yield waiting.pop(answer)


def _without_results(messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    return (message for message in messages if _role(message) != "tool")


def _without_calls(message: BaseMessage) -> BaseMessage:
    return message.model_copy(update={"tool_calls": []}) if isinstance(message, AIMessage) else message


def _role(message: BaseMessage) -> str:
    if isinstance(message, ChatMessage):
        return _CHAT_ROLES.get(message.role.casefold(), message.role)
    return next((role for kind, role in _ROLES if isinstance(message, kind)), "user")


def _call(call: Mapping[str, Any]) -> str:
    given = json.dumps(call["args"], ensure_ascii=False, default=str)
    return f"[calls {call['name']}({_shortened(given)})]"


def _shortened(text: str) -> str:
    return text if len(text) <= _TOOL_CHARACTERS else f"{text[:_TOOL_CHARACTERS]}…"


def _time(value: Any) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    try:
        if isinstance(value, (int, float)):
            # JavaScript counts in milliseconds.
            return datetime.fromtimestamp(value / 1000 if value > _LAST_SECOND else value, timezone.utc)
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    except (AttributeError, OSError, OverflowError, TypeError, ValueError) as error:
        raise InvalidInput(f"a timestamp is a datetime, ISO 8601 text or seconds since 1970, not {value!r}") from error


def _metadata(message: BaseMessage) -> dict[str, Any]:
    extra = {k: v for k, v in message.additional_kwargs.items() if k not in _PROVIDERS_OWN and _is_json(v)}
    return {**extra, "tool_call_id": message.tool_call_id} if isinstance(message, ToolMessage) else extra


def _is_json(value: Any) -> bool:
    return not json_flaw(value)


# -- recalled text ----------------------------------------------------------------------------------------------------


def without_recalled(text: str) -> str:
    """The text without blocks of recalled memories (see `secom_core.context.render`), which are nobody's words."""
    return strip(text)


# -- messages from the core -------------------------------------------------------------------------------------------


def from_message(message: Message) -> BaseMessage:
    """A core message as a LangChain message: the words, the name, the id, the time and the metadata.

    A tool's result becomes an `AIMessage`: models refuse a `ToolMessage` that does not follow its call.
    """
    stamp = {"timestamp": message.at.isoformat()} if message.at is not None else {}
    about: dict[str, Any] = {
        "content": message.text,
        "id": message.id,
        "name": message.speaker,
        "additional_kwargs": {**message.metadata, **stamp},
    }
    if message.role in ("assistant", "tool"):
        return AIMessage(**about)
    return SystemMessage(**about) if message.role == "system" else HumanMessage(**about)


# -- hits and documents -----------------------------------------------------------------------------------------------


def to_document(hit: Hit, scope: Sequence[str]) -> Document:
    """A hit as a document: the shown turns word for word, their origin in flat metadata, an id that stays.

    The metadata holds ``secom_memory_id``, ``session``, ``turn_ids``, ``speakers``, ``scope``, ``score``, ``number``,
    and ``begin`` and ``end`` in ISO 8601 where the times are known.
    """
    scope = check_scope(scope)
    ends = {"begin": hit.turns[0].at, "end": hit.turns[-1].at}
    return Document(
        page_content=hit.text,
        # Names and ids of scopes may hold any character, so that only a hash keeps two of them apart in a store.
        id=str(uuid.uuid5(_NAMESPACE, json.dumps([*scope, hit.memory.id]))),
        metadata={
            "secom_memory_id": hit.memory.id,
            "session": hit.memory.session,
            "turn_ids": list(hit.turn_ids),
            "speakers": list(dict.fromkeys(name for turn in hit.turns for name in turn.speakers)),
            "scope": list(scope),
            "score": float(hit.score),
            "number": hit.number,
            **{name: at.isoformat() for name, at in ends.items() if at is not None},
        },
    )


def to_hits(documents: Iterable[Document], bank: MemoryBank) -> list[Hit]:
    """Documents of ours as hits again, with their turns read back from the bank, such as after a reranker.

    Turns that were forgotten meanwhile are left out, and so is a document with none left. The memory holds the shown
    turns only, and its key is the document's text.

    Raises:
        InvalidInput: a document that `to_document` did not make.
    """
    given = [(document, _origin(document)) for document in documents]
    turns = {origin: {turn.id: turn for turn in bank.turns(*origin)} for origin in {each for _, each in given}}
    hits = (_hit(document, turns[origin]) for document, origin in given)
    return [hit for hit in hits if hit is not None]


def is_of_bank(document: Document) -> bool:
    """Whether `to_document` made it, as its metadata says; a timeline's document is none."""
    return {"secom_memory_id", "scope", "session", "turn_ids"} <= document.metadata.keys()


def _origin(document: Document) -> tuple[Scope, str]:
    about = document.metadata
    if not is_of_bank(document):
        raise InvalidInput(f"only a document of SecomRetriever can become a hit, got one with metadata {about!r}")
    return check_scope(about["scope"]), about["session"]


def _hit(document: Document, turns: Mapping[str, Turn]) -> Hit | None:
    about = document.metadata
    shown = tuple(turns[id_] for id_ in about["turn_ids"] if id_ in turns)
    if not shown:
        return None
    memory = Memory(about["secom_memory_id"], document.page_content, shown)
    return Hit(memory, shown, float(about.get("score", 0.0)), int(about.get("number", 0)))
