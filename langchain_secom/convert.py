"""Conversion between LangChain's messages and documents and the core's messages and hits."""

from __future__ import annotations

import json
import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
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

from secom_core.context import without_recalled as without_blocks
from secom_core.context.lines import owner, shown_summary
from secom_core.context.replacing import replacements_json, text_with_marks
from secom_core.conversation import Message, check_scope, json_flaw
from secom_core.errors import InvalidInput
from secom_core.llm.quoting import spoken
from secom_core.memory import Hit, Passage, Section
from secom_core.text.tool_texts import LONGEST, result, shortened

from .attachments import own_words, words_of
from .hits import to_hits as to_hits
from .notices import REVIEWER, edited_call, is_handoff, is_notice, reviewers_words
from .times import time_of

Tools = Literal["brief", "omit"]
"""Whether tool calls and their results are kept, a line each, or left out; what a person said there is kept."""

DIRECT: Final = "secom_direct"
"""Marks, in ``response_metadata``, calls whose results are the answer (``return_direct``), and these results."""

STRUCTURED: Final = "secom_structured"
"""Marks calls there that are the answer themselves (``ToolStrategy``)."""

_A_CALL: Final = re.compile(r"^(\[calls [^(\n]+\()(.*)(\)\])$", re.MULTILINE)

_NAMESPACE: Final = uuid.UUID("6f1e7b1c-3c52-5d0e-9d1f-6d7365636f6d")
_SYNTHETIC: Final = "lc_source"
_SPOKEN: Final = (None, "", "hitl_interrupt_decision")
"""The sources of messages that are not made up: what a person decides of a tool's call is theirs."""
_ROLES: Final[tuple[tuple[type[BaseMessage], str], ...]] = (
    (HumanMessage, "user"),
    (AIMessage, "assistant"),
    (SystemMessage, "system"),
    (ToolMessage, "tool"),
    (FunctionMessage, "tool"),
)
_PLAIN: Final = (HumanMessage, AIMessage)
"""Kinds of messages whose words are mostly all there is to them."""
_CHAT_ROLES: Final = {"human": "user", "ai": "assistant", "developer": "system", "function": "tool"}
_PROVIDERS_OWN: Final = frozenset({"timestamp", "tool_calls", "function_call", "reasoning_content", "audio", "refusal"})


# -- messages to the core ---------------------------------------------------------------------------------------------


def text_of(message: BaseMessage) -> str:
    """The text of a message, word for word, with a short mark for other media: ``[image]``, ``[file: lease.pdf]``.

    The words of attached plain text are part of it, behind the mark of its name. Reasoning, inline data and tool calls
    are left out; so is what a local model writes of its reasoning before its answer.
    """
    text = own_words(message)
    if not isinstance(message.content, str):
        attached = (part for block in message.content_blocks for part in words_of(block))
        text = "\n".join(filter(None, [text, *attached]))
    return spoken(text) if isinstance(message, AIMessage) else text


def to_message(message: BaseMessage) -> Message:
    """Convert one message to the core's.

    The speaker is the message's ``name``; the time comes from ``additional_kwargs["timestamp"]``; the rest of the
    ``additional_kwargs`` becomes metadata as far as JSON can hold it. A tool call becomes a line
    ``[calls weather({"city": "Rome"})]``; of arguments, or a result, of more than 500 characters the first and the last
    250 are kept. What a person says who refuses a call, or answers in its place, is kept whole, and is of the speaker
    ``reviewer``; a call that a person changed stands before its result.

    Raises:
        InvalidInput: for a timestamp that is no time.
    """
    if is_plain(message):
        return Message(without_recalled(text_of(message)), _role(message), message.name or None, message.id or None)
    return _converted(message)


def is_plain(message: BaseMessage) -> bool:
    """Whether there is no more to it than its words, its id and its name, which is so of most messages."""
    about = message.additional_kwargs
    is_more = bool(getattr(message, "tool_calls", ())) or "timestamp" in about or not _PROVIDERS_OWN.issuperset(about)
    return type(message) in _PLAIN and isinstance(message.content, str) and not is_more


def _converted(message: BaseMessage) -> Message:
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(message)
    role = _role(message)
    text = without_recalled(text_of(message))
    by_person = reviewers_words(message, text) if role == "tool" else None
    if role == "tool":
        text = by_person or _result(text, str if _is_direct(message) else result)
    kept = str if STRUCTURED in message.response_metadata else shortened
    calls = (_call(call, kept=kept) for call in getattr(message, "tool_calls", ()))
    return Message(
        "\n".join(filter(None, [text, *calls])),
        role=role,
        speaker=REVIEWER if by_person else message.name or None,
        id=message.id or None,
        at=time_of(message),
        metadata=_metadata(message),
    )


def to_messages(
    messages: Iterable[BaseMessage],
    *,
    tools: Tools = "brief",
    convert: Callable[[BaseMessage], Message] = to_message,
) -> list[Message]:
    """Convert the messages of a conversation that are worth remembering, in order.

    Left out are system messages, messages that a framework made up (``additional_kwargs["lc_source"]``, unless it gives
    what a person decided of a tool's call), its notices in place of an answer or a result (`langchain_secom.notices`),
    calls that hand over to another agent, removals, recalled memory, and messages that say nothing. A tool's result
    stands directly after its call. A result that is the answer, or a call that is, is kept whole.

    Args:
        messages: the conversation.
        tools: ``"brief"`` keeps tool calls and results as a line each, ``"omit"`` leaves both out, but for what a
            person said in the place of a tool, and for results and calls that are the answer.
        convert: converts one of them.
    """
    if tools not in ("brief", "omit"):
        raise InvalidInput(f"tools is 'brief' or 'omit', not {tools!r}")
    messages = list(messages)
    handoffs = {each.tool_call_id for each in messages if isinstance(each, ToolMessage) and is_handoff(each)}
    spoken = [without_calls(message, handoffs) for message in _with_direct(messages) if _is_spoken(message)]
    kept = _results_after_calls(spoken) if tools == "brief" else map(_without_calls, _without_results(spoken))
    return [message for message in map(convert, kept) if message.text.strip()]


def _is_spoken(message: BaseMessage) -> bool:
    """Whether the user, the model or a tool wrote it, not the developer or a framework."""
    if type(message) is HumanMessage and not message.additional_kwargs:
        return True
    made_up = message.additional_kwargs.get(_SYNTHETIC) not in _SPOKEN or is_notice(message)
    return not (made_up or isinstance(message, RemoveMessage) or _role(message) == "system")


def _is_direct(message: BaseMessage) -> bool:
    return DIRECT in message.response_metadata


def _with_direct(messages: Sequence[BaseMessage]) -> Iterable[BaseMessage]:
    """The messages, each result marked that is the answer, as the agent noted of its call (`SecomMiddleware`)."""
    return _marked_direct(messages) if any(map(_is_direct, messages)) else messages


def _marked_direct(messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    marks: dict[str | None, dict[str, bool]] = {}
    for message in messages:
        mark = {DIRECT: True} if _is_direct(message) else {}
        marks.update((call["id"], mark) for call in getattr(message, "tool_calls", ()))
        if isinstance(message, ToolMessage):
            about = {**message.response_metadata, **marks.get(message.tool_call_id, {})}
            message = message.model_copy(update={"response_metadata": about})
        yield message


def _results_after_calls(messages: Sequence[BaseMessage]) -> Iterable[BaseMessage]:
    """The same messages, each tool result moved up to the call it answers: the nearest of its id before it."""
    if not any(isinstance(message, ToolMessage) for message in messages):
        return messages
    return _with_results(messages)


def _with_results(messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    callers: dict[str | None, int] = {}
    results: defaultdict[int, list[ToolMessage]] = defaultdict(list)
    for place, message in enumerate(messages):
        # Some providers count their calls from 0 again in every message.
        callers.update((call["id"], place) for call in getattr(message, "tool_calls", ()))
        if isinstance(message, ToolMessage):
            results[callers.get(message.tool_call_id, place)].append(message)
    for place, message in enumerate(messages):
        if not isinstance(message, ToolMessage):
            yield message
        order = [call["id"] for call in getattr(message, "tool_calls", ())]
        yield from sorted(results[place], key=lambda each: (*order, each.tool_call_id).index(each.tool_call_id))


def _without_results(messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    return (
        each for each in messages if _role(each) != "tool" or _is_direct(each) or reviewers_words(each, text_of(each))
    )


def without_calls(message: BaseMessage, ids: Collection[str]) -> BaseMessage:
    """A message without its calls of these ids."""
    calls = getattr(message, "tool_calls", ())
    kept = [call for call in calls if call["id"] not in ids]
    return message if len(kept) == len(calls) else message.model_copy(update={"tool_calls": kept})


def _without_calls(message: BaseMessage) -> BaseMessage:
    if not getattr(message, "tool_calls", ()) or STRUCTURED in message.response_metadata:
        return message
    return message.model_copy(update={"tool_calls": []})


def _role(message: BaseMessage) -> str:
    if isinstance(message, ChatMessage):
        return _CHAT_ROLES.get(message.role.casefold(), message.role)
    return _role_of(type(message))


@lru_cache(maxsize=64)
def _role_of(kind: type[BaseMessage]) -> str:
    return next((role for base, role in _ROLES if issubclass(kind, base)), "user")


def _call(call: Mapping[str, Any], verb: str = "calls", *, kept: Callable[[str], str] = shortened) -> str:
    args = json.dumps(call["args"], ensure_ascii=False, default=str)
    return f"[{verb} {call['name']}({kept(args)})]"


def in_brief(message: Message) -> str:
    """The words of a message of the core, with calls and results shortened also where they are kept whole."""
    if message.role == "tool":
        return shortened(message.text)
    if message.role != "assistant" or len(message.text) <= LONGEST:
        return message.text
    return _A_CALL.sub(lambda found: f"{found[1]}{shortened(found[2])}{found[3]}", message.text)


def _result(text: str, kept: Callable[[str], str]) -> str:
    edited = edited_call(text)
    if edited is None:
        return kept(text)
    return "\n".join(filter(None, [_call(edited[0], "a reviewer calls instead:"), kept(edited[1])]))


def _metadata(message: BaseMessage) -> dict[str, Any]:
    extra = {k: v for k, v in message.additional_kwargs.items() if k not in _PROVIDERS_OWN and _is_json(v)}
    return {**extra, "tool_call_id": message.tool_call_id} if isinstance(message, ToolMessage) else extra


def _is_json(value: Any) -> bool:
    return not json_flaw(value)


# -- recalled text ----------------------------------------------------------------------------------------------------


def without_recalled(text: str) -> str:
    """Remove blocks of recalled memories (see `secom_core.context.render`) from a text: nobody said them."""
    return without_blocks(text)


# -- messages from the core -------------------------------------------------------------------------------------------


def from_message(message: Message) -> BaseMessage:
    """Convert a message of the core to LangChain's: text, name, id, time and metadata.

    A tool's result becomes an `AIMessage`: models refuse a `ToolMessage` that does not follow its call.
    """
    stamp = {"timestamp": message.at.isoformat()} if message.at is not None else {}
    fields: dict[str, Any] = {
        "content": message.text,
        "id": message.id,
        "name": message.speaker,
        "additional_kwargs": {**message.metadata, **stamp},
    }
    if message.role in ("assistant", "tool"):
        return AIMessage(**fields)
    return SystemMessage(**fields) if message.role == "system" else HumanMessage(**fields)


# -- hits and documents -----------------------------------------------------------------------------------------------


def to_document(hit: Hit, scope: Sequence[str]) -> Document:
    """Convert a hit to a document: its turns word for word, after the summary where the memory is a topic.

    A turn of another day than the one before it comes after its day, the first after whose it is of several scopes.

    The metadata holds ``secom_memory_id``, ``session``, ``turn_ids``, ``speakers``, ``scope``, ``number``, ``begin``
    and ``end`` in ISO 8601 where the times are known, and of a topic its ``summary`` and the ``sessions`` of its turns.
    ``score`` is the estimated probability that the memory helps to answer, from 0 to 1, comparable between queries.
    ``kind`` tells why it is shown (`secom_core.memory.Hit`). ``excerpts`` lists what is shown of turns that are too
    long to be shown whole: ``turn_id``, ``message_id``, ``role``, and which characters of the message, from ``start``
    to ``stop``. Of what holds no more, the text says so in a line below it, and ``replaced`` lists what is known of it
    (`secom_core.context.replacing.replacements_json`); a memory that holds has no such key.

    The document's id is the same whenever the memory is found.
    """
    scope = check_scope(scope)
    text = "\n".join(filter(None, [shown_summary(hit), text_with_marks(hit)]))
    return Document(
        page_content=f"{owner(scope)}{text}" if hit.is_named else text,
        # Names and ids of scopes may hold any character, so that only a hash keeps two of them apart in a store.
        id=str(uuid.uuid5(_NAMESPACE, json.dumps([*scope, hit.memory.id]))),
        metadata={
            "secom_memory_id": hit.memory.id,
            "session": hit.memory.session,
            "turn_ids": list(hit.turn_ids),
            "speakers": list(dict.fromkeys(name for turn in hit.turns for name in turn.speakers)),
            "scope": list(scope),
            "score": float(hit.relevance),
            "kind": hit.kind,
            "number": hit.number,
            "excerpts": list(map(_excerpt, hit.excerpts)),
            **({"replaced": replacements_json(hit)} if hit.replaced else {}),
            **_times(hit),
            **_topic_metadata(hit),
        },
    )


def _excerpt(passage: Passage) -> dict[str, Any]:
    about = {"turn_id": passage.turn.id, "message_id": passage.message.id, "role": passage.message.role}
    return {**about, "start": passage.start, "stop": passage.stop}


def _times(hit: Hit) -> dict[str, str]:
    ends = {"begin": hit.turns[0].at, "end": hit.turns[-1].at}
    return {name: at.isoformat() for name, at in ends.items() if at is not None}


def _topic_metadata(hit: Hit) -> dict[str, Any]:
    if not hit.memory.summary:
        return {}
    return {"summary": hit.memory.summary, "sessions": list(dict.fromkeys(turn.session for turn in hit.turns))}


def section_documents(section: Section, scope: Sequence[str]) -> list[Document]:
    """Convert what a layer adds to a recall: a document an entry that can be cited, else one for the whole section.

    The metadata holds ``layer``, ``heading`` and ``scope``, and of an entry that can be cited its ``number`` and
    ``turn_ids``. The text is quoted as in the block of a recall; that of a whole section begins with its heading.
    """
    scope = check_scope(scope)
    entries = section.entries if section.turn_ids else (section.text,)
    cited = [
        {"number": number, "turn_ids": list(turn_ids)}
        for number, turn_ids in zip(section.numbers, section.turn_ids, strict=True)
    ]
    shared = {"layer": section.layer, "heading": section.heading, "scope": list(scope)}
    ids = (str(uuid.uuid5(_NAMESPACE, json.dumps([*scope, section.layer, entry]))) for entry in entries)
    return [
        Document(page_content=entry.rstrip("\n"), id=number, metadata={**shared, **more})
        for entry, number, more in zip(entries, ids, cited or [{}], strict=True)
    ]
