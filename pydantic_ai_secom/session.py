"""A conversation of Pydantic AI in a bank, and the memories of other conversations for its requests."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext

from secom_core.agents import ConversationLog, PromptRecall
from secom_core.bank import MemoryBank
from secom_core.bank.checks import check_name
from secom_core.conversation import check_scope
from secom_core.memory import RecallOptions

from .convert import as_body, as_entry, as_messages, dialogue_of, with_block


class SecomSession:
    """A conversation that is stored completely, and remembered for all later conversations of its scope.

    `messages` returns the history for a run, and `add` stores the new messages of the run. `memories` is a capability
    that puts memories of other conversations before the user's last prompt in each request. They are not in the session
    or in the result of the run, so they are never remembered again.

    Usage::

        session = SecomSession(bank, scope=("acme", "alice"), session="monday")
        history = await session.messages()
        result = await agent.run("Where do I live?", message_history=history, capabilities=[session.memories])
        await session.add(result.new_messages())

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
        recall = PromptRecall(bank, options, type(self).__name__)
        self.session = session if session is not None else uuid.uuid4().hex
        check_name(self.session)
        self.scope = check_scope(scope)
        self._log = ConversationLog(bank, self.scope, self.session, framework="pydantic_ai", plain=as_body)
        self.memories = Memories(recall, self.scope, self.session)

    async def messages(self) -> list[ModelMessage]:
        """The messages of the conversation, in order, for ``message_history``; also in another process."""
        return as_messages(await asyncio.to_thread(self._log.read))

    async def add(self, messages: Sequence[ModelMessage]) -> None:
        """Add the new messages of a run: they are on disk when this returns, and what they say can be recalled.

        Args:
            messages: such as ``result.new_messages()``.

        Raises:
            InvalidInput: a message cannot be remembered; none of these is kept.
        """
        await asyncio.to_thread(self._log.add, [as_entry(message) for message in messages])

    async def clear(self) -> None:
        """Delete the conversation: its messages, and everything that was remembered from it.

        Raises:
            StoreError: the store failed.
        """
        await asyncio.to_thread(self._log.clear)


class Memories(AbstractCapability[Any]):
    """A capability that puts recalled memories into the requests of a run; ``session.memories``.

    Args:
        recall: recalls for prompts.
        scope: whose memory it is.
        session: the name of the conversation.
    """

    def __init__(self, recall: PromptRecall, scope: tuple[str, ...], session: str) -> None:
        self._recall, self._scope, self._session = recall, scope, session

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put memories before the user's last prompt, in this request only.

        All requests of a run get the same memories, so that the prompt before them stays in prompt caches.

        Args:
            ctx: the run.
            request_context: what is about to be sent.
        """
        dialogue = dialogue_of(request_context.messages)
        if not dialogue:
            return request_context
        block = await asyncio.to_thread(self._recall.block, self._scope, self._session, dialogue)
        return (
            replace(request_context, messages=with_block(request_context.messages, block)) if block else request_context
        )

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Nothing: a bank is not written into the specification of an agent."""
        return None
