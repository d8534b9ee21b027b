"""Conversion of LlamaIndex messages to those of the core, and of what the core recalls to nodes."""

from __future__ import annotations

import json
import re
import uuid
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import datetime
from types import SimpleNamespace
from typing import Any, Final

from llama_index.core.base.llms.types import (
    BaseContentBlock,
    BaseRecursiveContentBlock,
    ChatMessage,
    CitationBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.schema import NodeWithScore, TextNode

from secom_core.context.block import without_recalled as strip
from secom_core.context.replacing import replacements_json, text_with_marks
from secom_core.conversation import Message, Scope, Turn, json_flaw
from secom_core.errors import InvalidInput, shorten
from secom_core.llm.quoting import spoken
from secom_core.memory import Hit, Section
from secom_core.text.tool_texts import result, shortened
from secom_core.times import written_time

from .react_answers import answer_of

_NAMESPACE: Final = uuid.UUID("4b6f2c1e-0f5a-5d0a-9a55-6d7365636f6d")
_ROLES: Final = {
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.FUNCTION: "tool",
    MessageRole.DEVELOPER: "system",
}
_FRAMEWORK_ROLES: Final = {role.value: role for role in MessageRole} | {"ai": MessageRole.ASSISTANT}
_TIMES: Final = ("timestamp", "at", "created_at")
_IDS: Final = ("id", "message_id")
_NAMES: Final = ("name", "speaker")
_CALLS: Final = ("tool_calls", "function_call")
_BOOKKEEPING: Final = (
    *("secom_memory_id", "session", "turn_ids", "speakers", "scope", "kind", "excerpts", "replaced", "end"),
)
_ATTACHED: Final = frozenset({"image", "audio", "video", "document"})
_UNNAMED: Final = "input_document"
"""What the framework calls a document that has no title."""
# Context chat engines make prompt templates of messages, and fill in these names; all else stays as it was said.
_TEMPLATE_NAME: Final = re.compile(r"\{(context_str|context_msg|query_str|existing_answer)\}")


def text_of(chat: ChatMessage, *, tools: bool = False) -> str:
    """The text of a message, from all its blocks; other media are a short mark such as ``[image]``.

    Args:
        chat: the message; its ``content`` is not read, which is ``None`` where there are only tool calls.
        tools: spell out tool calls too. Thinking is always left out.
    """
    parts = [_block_text(block, tools) for block in chat.blocks]
    return "\n".join(part for part in parts if part is not None)


def asked_in(chat: ChatMessage) -> str:
    """What a message asks: its own words, or where it has none, the marks and the words of what is attached."""
    words = own_words(chat)
    return words if words.strip() else text_of(chat)


def own_words(chat: ChatMessage) -> str:
    """The words of a message without what is attached to it."""
    kept = (_block_text(block, False) for block in chat.blocks if not _is_attached(block))
    return "\n".join(part for part in kept if part is not None)


def _is_attached(block: BaseContentBlock) -> bool:
    return getattr(block, "block_type", "") in _ATTACHED


def _block_text(block: BaseContentBlock, tools: bool) -> str | None:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, (ThinkingBlock, CitationBlock)):  # a citation quotes what somebody else has said
        return None
    if isinstance(block, ToolCallBlock):
        given = json.dumps(block.tool_kwargs, ensure_ascii=False, default=str) if tools else ""
        return f"[{block.tool_name}: {shortened(given)}]" if tools else None
    if isinstance(block, BaseRecursiveContentBlock):
        nested = getattr(block, block.nested_blocks_field_name())
        inner = nested if isinstance(nested, list) else [nested]
        return "\n".join(part for each in inner if (part := _block_text(each, tools)) is not None)
    return _attached(block, getattr(block, "block_type", "")) if _is_attached(block) else None


def _attached(block: object, kind: str) -> str:
    """The mark of a medium, with its name or its address where it has one, and the words of plain text."""
    words = _plain_text(block) if kind == "document" else ""
    names = (str(getattr(block, key, None) or "") for key in ("title", "url", "path"))
    name = next((" ".join(each.split()) for each in names if each.strip() and each != _UNNAMED), "")
    name = "" if name.startswith("data:") else name
    mark = f"[{kind}: {name}]" if name else f"[{kind}]"
    return "\n".join(filter(None, [mark if name or not words else "", words]))


def readable(kept: Mapping[str, Any]) -> Mapping[str, Any]:
    """A block as it was kept; where it cannot be read, as a picture whose file is gone, as its mark."""
    try:
        ChatMessage.model_validate({"blocks": [kept]})
    except ValueError:
        kind = kept.get("block_type")
        if kind in _ATTACHED:
            return {"block_type": "text", "text": _attached(SimpleNamespace(**kept), kind)}
    return kept


def _plain_text(block: object) -> str:
    """The words of a document of plain text that is in the message itself: nothing is read or fetched."""
    data, kind = getattr(block, "data", None), getattr(block, "document_mimetype", None)
    if not isinstance(data, bytes) or not str(kind).startswith("text/"):
        return ""
    try:
        return b64decode(data, validate=True).decode()
    except ValueError:
        return data.decode(errors="replace")


def without_recalled(chat: ChatMessage) -> ChatMessage:
    """A copy of the message without recalled memory; it has no blocks where it held nothing else."""
    clean = copied(chat)
    clean.blocks = [
        block.model_copy(update={"text": strip(block.text)}) if isinstance(block, TextBlock) else block
        for block in clean.blocks
        if not (isinstance(block, TextBlock) and block.text.strip() and not strip(block.text).strip())
    ]
    return clean


def all_without_recalled(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Copies without recalled memory; a message that held nothing else is left out.

    Raises:
        InvalidInput: one of them is no message.
    """
    pairs = [(message, without_recalled(_checked(message))) for message in messages]
    return [cleaned for message, cleaned in pairs if cleaned.blocks or not message.blocks]


def _checked(message: object) -> ChatMessage:
    if not isinstance(message, ChatMessage):
        raise InvalidInput(f'a message is a ChatMessage(content, role="user"), got {shorten(message)}')
    return message


def to_message(chat: ChatMessage, *, tools: bool = False) -> Message:
    """A chat message as a message of the core.

    Id, time and speaker come from ``additional_kwargs`` (``id``, ``timestamp``, ``name``). Of the other keys, those
    with values that JSON can hold become metadata. Of a tool's result, or of what it is called with, that is longer
    than 500 characters, the first and the last 250 are kept.

    Args:
        chat: the message.
        tools: spell out tool calls.

    Raises:
        InvalidInput: for a timestamp that is no time, with its key.
    """
    extra = chat.additional_kwargs
    role = _ROLES.get(chat.role, chat.role.value)
    text = strip(text_of(chat, tools=tools))
    if role == "tool":
        text = result(text)
    name = _first(extra, _NAMES) if role in {"user", "assistant"} else None
    id_ = _first(extra, _IDS)
    return Message(
        spoken(answer_of(spoken(text))) if role == "assistant" else text,
        role=role,
        speaker=None if name is None else str(name),
        id=None if id_ is None else str(id_),
        at=to_time(extra),
        metadata={key: value for key, value in extra.items() if _is_metadata(key, value)},
    )


def to_messages(chats: Iterable[ChatMessage], *, tools: bool = False) -> list[Message]:
    """The messages of a chat that are worth remembering, as messages of the core.

    System messages, recalled memory and empty messages are left out; tool calls, tool results and hand-offs too unless
    ``tools`` is set. An agent's thoughts and actions are stripped from its answer, and what a model thinks
    aloud before it.

    Args:
        chats: the messages.
        tools: keep tool calls and results.
    """
    return [message for chat in chats if (message := _memorable(chat, tools)) is not None]


def _memorable(chat: ChatMessage, tools: bool) -> Message | None:
    role = _ROLES.get(chat.role, chat.role.value)
    if role == "system" or (role == "tool" and not tools):
        return None
    message = to_message(chat, tools=tools)
    return message if message.text.strip() else None


def from_message(message: Message) -> ChatMessage:
    """A message of the core as a chat message; id, time and speaker go into ``additional_kwargs``."""
    known = {"id": message.id, "timestamp": message.at and message.at.isoformat(), "name": message.speaker}
    extra = {**message.metadata, **{key: value for key, value in known.items() if value}}
    role = _FRAMEWORK_ROLES.get(message.role, MessageRole.USER)
    return ChatMessage(role=role, content=message.text, additional_kwargs=extra)


class MemoryNode(TextNode):
    """A memory as a node. It is the same for fusion whichever query found it, and whatever it was shown for."""

    @property
    def hash(self) -> str:
        """A digest of the text and the metadata, but for the ``kind``."""
        alike = {key: value for key, value in self.metadata.items() if key != "kind"}
        return TextNode(text=self.text, metadata=alike).hash


def to_node(hit: Hit, scope: Scope) -> NodeWithScore:
    """A hit as a node: its turns verbatim, its origin in flat metadata, and a deterministic id.

    ``secom_memory_id``, ``session``, ``turn_ids``, ``speakers``, ``scope`` (lists as JSON) and ``end`` are hidden from
    the language model and the embedder, and so are ``kind`` (why it is shown, as `Hit.kind`) and ``excerpts``;
    ``begin`` is shown to the language model, and so is ``scope`` where several scopes were asked. In the text, a turn
    of another day than the one before it comes after a line with its day. Excerpts are there where a turn is shown in
    part: a list of ``turn_id``, ``message_id``, ``role``, ``start`` and ``stop``, in characters of the message, as
    JSON. Of what holds no more, the text says so in a line below it, and ``replaced`` lists what is known of it, hidden
    and as JSON (`secom_core.context.replacing.replacements_json`); a memory that holds has no such key.

    Args:
        hit: the memory, and the turns of it that are shown.
        scope: whose memory it is.

    Returns:
        The node, scored by `Hit.relevance`, from 0 to 1.
    """
    memory = hit.memory
    metadata = {
        "secom_memory_id": memory.id,
        "session": memory.session,
        **metadata_of(hit.turns),
        "scope": flat(scope),
        "kind": hit.kind,
        **({"excerpts": json.dumps(_excerpts(hit), ensure_ascii=False)} if hit.excerpts else {}),
        **({"replaced": json.dumps(replacements_json(hit), ensure_ascii=False)} if hit.replaced else {}),
    }
    shown = {"scope"} if hit.is_named else set()
    values: dict[str, Any] = {
        "id_": str(uuid.uuid5(_NAMESPACE, flat([*scope, memory.id]))),
        "text": text_with_marks(hit),
        "metadata": metadata,
        "excluded_embed_metadata_keys": [*_BOOKKEEPING, "begin"],
        "excluded_llm_metadata_keys": [key for key in _BOOKKEEPING if key not in shown],
    }
    return NodeWithScore(node=MemoryNode(**values), score=hit.relevance)


def metadata_of(turns: Sequence[Turn]) -> dict[str, str]:
    """What the metadata of a node say of the turns that it shows: ids, speakers, and when they began and ended."""
    ends = {"begin": turns[0].at, "end": turns[-1].at}
    return {
        "turn_ids": flat([turn.id for turn in turns]),
        "speakers": flat(list(dict.fromkeys(name for turn in turns for name in turn.speakers))),
        **{name: at.isoformat() for name, at in ends.items() if at is not None},
    }


def _excerpts(hit: Hit) -> list[dict[str, Any]]:
    return [
        {
            "turn_id": each.turn.id,
            "message_id": each.message.id,
            "role": each.message.role,
            "start": each.start,
            "stop": each.stop,
        }
        for each in hit.excerpts
    ]


def section_nodes(section: Section, scope: Scope, score: float) -> list[NodeWithScore]:
    """The section of a layer as nodes: one for each entry that rests on turns, else one for the whole section.

    A summary is one node, and each timeline is a node. The metadata ``layer``, ``heading``, ``scope`` and ``turn_ids``
    (lists as JSON) are hidden from the language model and the embedder.

    Args:
        section: the section, as it stands in `Recall.sections`.
        scope: whose memory it is.
        score: the score of the nodes.
    """
    if not section.turn_ids:
        return [_section_node(section, scope, score, section.text)]
    entries = zip(section.entries, section.turn_ids, strict=True)
    return [_section_node(section, scope, score, text, turn_ids) for text, turn_ids in entries]


def _section_node(
    section: Section, scope: Scope, score: float, text: str, turn_ids: Sequence[str] = ()
) -> NodeWithScore:
    metadata = {
        "layer": section.layer,
        "heading": section.heading,
        "scope": flat(scope),
        **({"turn_ids": flat(turn_ids)} if turn_ids else {}),
    }
    node = TextNode(
        id_=str(uuid.uuid5(_NAMESPACE, flat([*scope, section.layer, text]))),
        text=text.rstrip("\n"),
        metadata=metadata,
        excluded_embed_metadata_keys=list(metadata),
        excluded_llm_metadata_keys=list(metadata),
    )
    return NodeWithScore(node=node, score=score)


def to_time(values: Mapping[str, Any]) -> datetime | None:
    """The time in a mapping's ``timestamp``, ``at`` or ``created_at``, where it has one.

    Args:
        values: the metadata of a document, or the ``additional_kwargs`` of a message.

    Raises:
        InvalidInput: the value is neither a datetime, nor ISO 8601, nor seconds or milliseconds since 1970. It names
            the key.
    """
    key = _first_key(values, _TIMES)
    try:
        return written_time(values[key]) if key is not None else None
    except InvalidInput as error:
        raise InvalidInput(f"{key!r}: {error}") from error


def said_at(chat: ChatMessage) -> datetime | None:
    """When a message was said, where it says so in a form that can be read."""
    with suppress(InvalidInput):
        return to_time(chat.additional_kwargs)
    return None


def turn_ids_of(node: NodeWithScore | TextNode) -> tuple[str, ...]:
    """The ids of the turns that a node of ours shows; none for a node of another origin."""
    return tuple(json.loads(node.metadata.get("turn_ids", "[]")))


def excerpts_of(node: NodeWithScore | TextNode) -> list[dict[str, Any]]:
    """What a node of ours shows of turns that it shows in part, as `to_node` has it; none where it shows them whole."""
    excerpts: list[dict[str, Any]] = json.loads(node.metadata.get("excerpts", "[]"))
    return excerpts


def copied(chat: ChatMessage) -> ChatMessage:
    """The message with blocks and arguments of its own, which whoever has it may change."""
    blocks = [block.model_copy(deep=not isinstance(block, TextBlock)) for block in chat.blocks]
    extra = deepcopy(chat.additional_kwargs) if chat.additional_kwargs else {}
    return chat.model_copy(update={"blocks": blocks, "additional_kwargs": extra})


def escape_braces(text: str) -> str:
    """Write ``{query_str}`` and the other names that chat engines fill in as ``{ query_str }``, which they do not."""
    return _TEMPLATE_NAME.sub(r"{ \1 }", text)


def flat(parts: Sequence[str]) -> str:
    """Strings as a JSON list, for metadata that has to be flat."""
    return json.dumps(list(parts), ensure_ascii=False)


def _first_key(extra: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    # An empty text says nothing: databases and forms have it for what is missing.
    return next((key for key in keys if (value := extra.get(key)) is not None and value != ""), None)


def _first(extra: Mapping[str, Any], keys: Sequence[str]) -> Any:
    key = _first_key(extra, keys)
    return extra[key] if key is not None else None


def _is_metadata(key: str, value: Any) -> bool:
    return key not in {*_TIMES, *_IDS, *_NAMES, *_CALLS} and _is_json(value)


def _is_json(value: Any) -> bool:
    return not json_flaw(value)
