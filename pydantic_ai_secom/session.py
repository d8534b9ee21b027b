"""A conversation of Pydantic AI in a bank, and the memories of other conversations for its requests."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import pydantic_ai
from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.messages import ModelMessage, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import ToolDefinition

from secom_core.agents import AgentSession
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import warn_degraded
from secom_core.memory import RecallOptions

from .convert import ToolContents, after, as_body, as_entries, as_messages, as_of, dialogue_of, last_prompt, with_block

Block: TypeAlias = Callable[[Sequence[Message], bool], Awaitable[str]]
"""What is recalled beside a dialogue, and whether the model is called for its last message for the first time."""


class SecomSession(AgentSession):
    """A conversation that is stored completely, and remembered for all later conversations of its scope.

    `conversation` is a capability: a run with it begins with the stored messages, gets memories of other conversations
    before the user's last prompt in each request, and stores its new messages. The memories are not in the session or
    in the result of the run, so they are never remembered again.

    Usage::

        session = SecomSession(bank, scope=("acme", "alice"), session="monday")
        result = await agent.run("Where do I live?", capabilities=[session.conversation])

    If a program keeps the history itself, `memories` only recalls; `messages` and `add` read and write the stored
    conversation.

    If the store fails, the run goes on with a `DegradedWarning`: nothing is recalled, and the messages are stored
    later, together with the next ones.

    Args:
        bank: where everything is remembered; the session does not close it.
        scope: whose memory it is.
        session: the name of the conversation; a new one unless given. An existing one is continued.
        token_budget: the largest length of the recalled block, in the bank's token counter.
        k: the largest number of recalled memories.
        layers: layers of the bank that take part in recalls, such as ``"summaries"``.
        only_relevant: recall only memories that answer the user's prompt, and leave the rest of the budget empty.
        where: a filter (`secom_core.filters`), such as ``{"role": "user"}``.
        also: other scopes that are searched too, such as a team's.
        history: also show statements that no longer hold, marked as such.

    Raises:
        InvalidScope: for a bad scope.
        InvalidInput: ``bank`` is not a bank, the name is not valid, or the bank lacks a layer or model for the options.
    """

    def __init__(
        self,
        bank: MemoryBank,
        *,
        scope: Sequence[str],
        session: str | None = None,
        token_budget: int | None = 1000,
        k: int | None = None,
        layers: Sequence[str] = (),
        only_relevant: bool = False,
        where: Mapping[str, Any] | None = None,
        also: Sequence[Sequence[str]] = (),
        history: bool = True,
    ) -> None:
        options = RecallOptions(token_budget, k, layers, only_relevant, where, also, history)
        super().__init__(bank, scope, session, options, framework="pydantic_ai", plain=as_body)
        self.session: Final = self._name
        self._contents = ToolContents()
        self.memories: Final = Memories(self._block, self._contents)
        """A capability that recalls."""
        self.conversation: Final = Conversation(self, self._block, self._contents)
        """A capability that gives a run the history, recalls, and keeps what is new."""

    async def messages(self) -> list[ModelMessage]:
        """The messages of the conversation, in order, for ``message_history``; also in another process.

        If this version of Pydantic AI cannot read a message that another one has written, they come in words alone:
        what the user and the model said, with a `DegradedWarning`. What is kept stays as it is.
        """
        kept = await asyncio.to_thread(self._log.read_all)
        try:
            messages = as_messages([body for body, _ in kept])
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)
            places = {each["loc"][0] for each in details if each["loc"]}
            warn_degraded(
                f"{len(places)} of the {len(kept)} messages of the session {self.session!r} cannot be read by "
                f"pydantic-ai {pydantic_ai.__version__} ({details[0]['msg']}); the history is given in words alone, "
                "without calls of tools. Nothing is deleted: the version that wrote them reads them whole"
            )
            return as_messages(await asyncio.to_thread(self._log.words))
        for message, (_, remembered) in zip(messages, kept, strict=True):
            self._contents.note_kept(message, remembered)
        return messages

    async def add(self, messages: Sequence[ModelMessage]) -> None:
        """Add the new messages of a run: they are on disk when this returns, and what they say can be recalled.

        Args:
            messages: such as ``result.new_messages()``.

        Raises:
            InvalidInput: a message cannot be remembered; none of these is kept.
        """
        await asyncio.to_thread(self._log.add, as_entries(messages, self._contents))

    async def clear(self) -> None:
        """Delete the conversation: its messages, and everything that was remembered from it.

        Raises:
            StoreError: the store failed.
        """
        await asyncio.to_thread(self._log.clear)


class Memories(AbstractCapability[Any]):
    """A capability that puts recalled memories into the requests of a run; ``session.memories``.

    Args:
        block: gives what is recalled beside a dialogue.
        contents: takes in what tools give the model to read, so that it does not pass for the user's words.
    """

    def __init__(self, block: Block, contents: ToolContents) -> None:
        self._block, self._contents = block, contents

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put memories before the user's last prompt, in this request only; after all processors of the history.

        All requests of a run get the same memories, unless a processor shortens what is before them, so that the prompt
        stays in prompt caches.

        Args:
            ctx: the run.
            request_context: what is about to be sent.
        """
        messages, contents = request_context.messages, self._contents
        begins = last_prompt(messages, contents) == len(messages) - 1
        block = await self._block(dialogue_of(messages, contents), begins)
        return replace(request_context, messages=with_block(messages, block, contents)) if block else request_context

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], result: Any
    ) -> Any:
        """Take in what a tool gives the model to read.

        Args:
            ctx: the run.
            call: what the model asked.
            tool_def: the tool.
            args: what it was called with.
            result: what it returned, which stays as it is.
        """
        self._contents.note(result)
        return result

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Nothing: a bank is not written into the specification of an agent."""
        return None


class Conversation(Memories):
    """A capability for the runs of one conversation; ``session.conversation``.

    A run begins with the messages that the session keeps, unless it is given others by ``message_history``. When it
    has ended, also where it is streamed, its new messages are kept. Of a run that fails nothing is.

    Args:
        session: the conversation.
        block: gives what is recalled beside a dialogue.
        contents: takes in what tools give the model to read.
    """

    def __init__(self, session: SecomSession, block: Block, contents: ToolContents) -> None:
        super().__init__(block, contents)
        self._session, self._is_begun = session, False

    def get_ordering(self) -> CapabilityOrdering:
        """Outermost: processors of the history, such as those that shorten it, get the whole conversation."""
        return CapabilityOrdering(position="outermost")

    async def for_run(self, ctx: RunContext[Any]) -> Conversation:
        """The capability for one run, which knows whether the run has its history.

        Args:
            ctx: the run.
        """
        own = copy.copy(self)
        own._is_begun = bool(ctx.messages)
        return own

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Give the run its history before its first request.

        Args:
            ctx: the run.
            request_context: what is about to be sent.
        """
        if not self._is_begun:
            self._is_begun = True
            history = as_of(await self._session.messages(), ctx.messages)
            # What the run keeps, and what is sent, are two lists of the same messages.
            ctx.messages[:] = after(history, ctx.messages)
            request_context.messages = after(history, request_context.messages)
        return request_context

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Keep what is new.

        Args:
            ctx: the run.
            result: what it came to.

        Raises:
            InvalidInput: a message cannot be remembered; none of the run is kept.
        """
        await self._session.add(result.new_messages())
        return result
