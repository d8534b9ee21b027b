"""A session of the OpenAI Agents SDK in a bank, and the memories of other sessions for its prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from agents import TResponseInputItem
from agents.memory.session_settings import SessionSettings, resolve_session_limit
from agents.run_config import CallModelData, ModelInputData

from secom_core.agents import AgentSession
from secom_core.bank import MemoryBank
from secom_core.memory import RecallOptions

from .items import as_entry, as_item, dialogue_of, has_user, last_user, with_block

_ALL: Final = -1


class SecomSession(AgentSession):
    """A conversation that is stored completely, and remembered for all later conversations of its scope.

    It is a session of the SDK (``agents.memory.Session``): every item comes back unchanged and in order, also in
    another process. The messages of users and assistants are remembered; tool calls and their results are only stored.
    `with_memories` puts memories of other conversations into the prompts of a run. They are not in the session or in
    the result of the run, so they are never remembered again.

    Usage::

        session = SecomSession(bank, scope=("acme", "alice"), session="monday")
        recall = RunConfig(call_model_input_filter=session.with_memories)
        result = await Runner.run(agent, "Where do I live?", session=session, run_config=recall)

    If the store fails, the run goes on with a `DegradedWarning`: nothing is recalled, and the messages are stored
    later, together with the next ones.

    Args:
        bank: where everything is remembered; the session does not close it.
        scope: whose memory it is.
        session: the name of the conversation; a new one unless given. An existing one is continued.
        token_budget: the largest length of the recalled block, in the bank's token counter.
        k: the largest number of recalled memories.
        layers: layers of the bank that take part in recalls, such as ``"summaries"``.
        only_relevant: recall only memories that answer the user's message, and leave the rest of the budget empty.
        where: a filter (`secom_core.filters`), such as ``{"role": "user"}``.
        also: other scopes that are searched too, such as a team's.
        history: also show statements that no longer hold, marked as such.
        session_settings: the SDK's settings, such as how many items a run reads.

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
        session_settings: SessionSettings | None = None,
    ) -> None:
        options = RecallOptions(token_budget, k, layers, only_relevant, where, also, history)
        super().__init__(bank, scope, session, options, framework="openai_agents", plain=as_item)
        self.session_id = self._name
        self.session_settings = session_settings

    # -- the SDK's session --------------------------------------------------------------------------------------------

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items of the conversation, in order.

        Args:
            limit: only the latest so many; all unless given here or in ``session_settings``.
        """
        items = cast("list[TResponseInputItem]", await asyncio.to_thread(self._log.read))
        most = resolve_session_limit(limit, self.session_settings)
        return items if most is None or most < 0 else items[max(len(items) - most, 0) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items: they are on disk when this returns, and what is said in them can be recalled.

        Raises:
            InvalidInput: for what the SDK's ``EncryptedSession`` makes of items.
        """
        await asyncio.to_thread(self._log.add, [as_entry(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item and return it; what was remembered of it is forgotten.

        Raises:
            StoreError: the store failed.
        """
        return cast("TResponseInputItem | None", await asyncio.to_thread(self._log.pop))

    async def clear_session(self) -> None:
        """Delete the conversation: its items, and everything that was remembered from it.

        Raises:
            StoreError: the store failed.
        """
        await asyncio.to_thread(self._log.clear)

    # -- recall -------------------------------------------------------------------------------------------------------

    async def with_memories(self, data: CallModelData[Any]) -> ModelInputData:
        """Put memories before the user's last message, for one call of the model (``call_model_input_filter``).

        All calls of a turn get the same memories, so that the prompt before them stays in prompt caches. If the call
        has no message of the user, as after a handoff with ``nest_handoff_history``, they stand before everything.

        Args:
            data: what the SDK is about to send.
        """
        given = data.model_data
        begins = last_user(given.input) == len(given.input) - 1
        said = given.input if has_user(given.input) else await self.get_items(_ALL)
        block = await self._block(dialogue_of(said), begins)
        return ModelInputData(with_block(given.input, block), given.instructions) if block else given
