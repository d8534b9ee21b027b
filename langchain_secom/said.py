"""What was said in an agent's thread and is not remembered yet, told from what was resent, dropped or made up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Scope, Turn
from secom_core.reflection.citations import read_citations

from .convert import Tools, text_of, to_messages, without_recalled

__all__ = [
    "Heard",
    "digest",
    "in_prompt",
    "new_messages",
    "opening",
    "query_of",
    "question",
    "stable_id",
]

_TAIL: Final = 64
"""How many of a session's latest turns are looked at to tell what is known."""


def stable_id(session: str, message: Message) -> str:
    """An id of a message of ours that is the same whenever the message comes back under its own id, word for word.

    Ids of frameworks and callers may be used again in another thread of the same scope, where the bank wants one of
    its own; and a message may come back under its id with other words, such as after a redaction.
    """
    return digest(session, message.id or "", message.role, message.text)


def digest(*parts: str) -> str:
    """The parts as 32 hexadecimal digits."""
    return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def question(messages: Iterable[BaseMessage]) -> HumanMessage | None:
    """What the user said last; messages that a framework made up are nobody's words."""
    humans = (message for message in reversed(list(messages)) if isinstance(message, HumanMessage))
    return next((message for message in humans if _is_users(message)), None)


def opening(messages: Iterable[BaseMessage]) -> str | None:
    """The first words of the user's, by which a conversation without a name is known again."""
    first = next((message for message in messages if _is_users(message)), None)
    return None if first is None else f"chat-{digest(text_of(first))}"


def _is_users(message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage) and not _is_summary(message)


@dataclass(frozen=True)
class Heard:
    """What was seen of a turn, so that a summary which takes the place of messages meanwhile takes none from memory.

    Args:
        messages: the turn's messages when the model was called last.
        replaced: those that summaries have taken the place of.
        summaries: the ids of the summaries seen by then.
    """

    messages: tuple[BaseMessage, ...] = ()
    replaced: tuple[BaseMessage, ...] = ()
    summaries: frozenset[str | None] = frozenset()

    def now(self, thread: Sequence[BaseMessage], asked: str | None) -> Heard:
        """What is seen as the model is called again.

        What was taken out of the thread without a new summary was to be gone.

        Args:
            thread: its messages.
            asked: the id of the message that began the turn.
        """
        held = {message.id for message in thread}
        summaries = frozenset(message.id for message in thread if _is_summary(message))
        gone = tuple(message for message in self.messages if message.id not in held)
        replaced = (*self.replaced, *gone) if summaries - self.summaries else self.replaced
        if any(message.id == asked for message in replaced):
            return Heard(tuple(thread), replaced, summaries)
        start = next((place for place, message in enumerate(thread) if message.id == asked), len(thread))
        return Heard(tuple(thread[start:]), replaced, summaries)

    def whole(self, thread: Sequence[BaseMessage]) -> list[BaseMessage]:
        """The thread's messages, and before them those of the turn that were replaced."""
        held = {message.id for message in thread}
        return [*(message for message in self.replaced if message.id not in held), *thread]


def _is_summary(message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage) and bool(message.additional_kwargs.get("lc_source"))


def new_messages(
    bank: MemoryBank,
    scope: Scope,
    session: str,
    messages: Sequence[BaseMessage],
    *,
    asked: str | None,
    tools: Tools,
    markers: bool,
) -> list[Message]:
    """What of a thread is not remembered yet, in order, with ids that stay.

    What belongs to the turn at hand is new unless it is known by its id: who says "yes" again says it twice. What
    stands before it is known up to the last message that is known by its id or, where a caller sends the history again
    under new ids, by its words.

    Args:
        bank: where it would be.
        scope: whose memory it is.
        session: the conversation.
        messages: the thread.
        asked: the id of the message that began the turn.
        tools: what becomes of tool calls.
        markers: whether answers may hold citations, which are not remembered.
    """
    said = _said(messages, tools, markers)
    start = _start(said, asked)
    named = [replace(message, id=stable_id(session, message)) for message in said]
    known = [message for turn in bank.turns(scope, session, last=_TAIL) for message in turn.messages]
    ids, words = {message.id for message in known}, {_words(message) for message in known}
    seen = [place for place, each in enumerate(named[:start]) if each.id in ids or _words(each) in words]
    since = seen[-1] + 1 if seen else 0
    return [*named[since:start], *(message for message in named[start:] if message.id not in ids)]


def in_prompt(
    bank: MemoryBank, scope: Scope, session: str, messages: Sequence[BaseMessage], *, tools: Tools, markers: bool
) -> set[str]:
    """The ids of the turns that the model sees anyway, which need not be recalled."""
    said = _said(messages, tools, markers)
    words = {_words(message) for message in said}
    ids = {stable_id(session, message) for message in said}
    return ids | {turn.id for turn in bank.turns(scope, session, last=_TAIL) if _is_seen(turn, words)}


def _said(messages: Sequence[BaseMessage], tools: Tools, markers: bool) -> list[Message]:
    said = to_messages(_without_our_tools(messages), tools=tools)
    return [_unmarked(message) for message in said] if markers else said


def _without_our_tools(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages without calls of tools whose results are memories, which are nobody's words."""
    ours = {m.tool_call_id for m in messages if isinstance(m, ToolMessage) and m.additional_kwargs.get("lc_source")}
    return [_without_calls(message, ours) if isinstance(message, AIMessage) else message for message in messages]


def _without_calls(message: AIMessage, ids: set[str]) -> AIMessage:
    kept = [call for call in message.tool_calls if call["id"] not in ids]
    return message if len(kept) == len(message.tool_calls) else message.model_copy(update={"tool_calls": kept})


def _is_seen(turn: Turn, words: set[tuple[str, str]]) -> bool:
    return all(_words(message) in words for message in turn.messages)


def _words(message: Message) -> tuple[str, str]:
    return message.role, message.text


def _start(said: Sequence[Message], asked: str | None) -> int:
    """Where the turn at hand begins: at what was asked, or at what the user said right before it."""
    users = [place for place, message in enumerate(said) if message.role == "user"]
    start = next((place for place in users if said[place].id == asked), users[-1] if users else 0)
    while start and said[start - 1].role == "user":
        start -= 1
    return start


def _unmarked(message: Message) -> Message:
    if message.role != "assistant":
        return message
    return replace(message, text=read_citations(message.text, (), markers="strip").text)


def query_of(message: BaseMessage | None) -> str:
    """What is searched for."""
    return without_recalled(text_of(message)).strip() if message is not None else ""
