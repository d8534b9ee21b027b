"""What an agent's memory writes of a thread: its new messages, and what becomes of those that it left behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from langchain_core.messages import BaseMessage
from langchain_core.runnables import ensure_config

from secom_core.bank import BackgroundWriter, MemoryBank, remember_soon
from secom_core.errors import MissingExtra

from .agent_turn import AgentTurn, is_subagent, owner_of
from .known_messages import ThreadOptions, ids_of_messages, named_messages, new_messages
from .lineage import Lineage, Retracted, follow
from .messages import is_summary, place_of

try:
    from langgraph.runtime import Runtime
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error


_CHECKPOINTER: Final = "__pregel_checkpointer"


def is_checkpointed() -> bool:
    """Whether the current run has a checkpointer: the thread is then known whole, and may be interrupted."""
    return ensure_config().get("configurable", {}).get(_CHECKPOINTER) is not None


def _ids_in_checkpoints(key: str) -> set[str]:
    """The ids that all checkpoints of the current run's thread have in their states."""
    configurable = ensure_config()["configurable"]
    of_thread = {"thread_id": configurable.get("thread_id"), "checkpoint_ns": ""}
    found = configurable[_CHECKPOINTER].list({"configurable": of_thread})
    held = (saved.checkpoint["channel_values"].get(key, {}) for saved in found)
    return {each for ids_of in held for ids in ids_of.values() for each in ids}


@dataclass(frozen=True)
class ThreadMemory:
    """Writes threads into a bank.

    Args:
        bank: where they are remembered.
        writer: does what follows remembering in the background; done at once unless given.
        write: whether anything is written.
        subagents: what of sub-agents is.
        options: how threads are read.
        retracted: what becomes of messages that a thread left behind.
    """

    bank: MemoryBank
    writer: BackgroundWriter | None
    write: Literal["background", "inline", "off"]
    subagents: Literal["recall", "remember", "off"]
    options: ThreadOptions
    retracted: Retracted

    def writes(self, runtime: Runtime[Any]) -> bool:
        """Whether this agent's messages are remembered."""
        return self.write != "off" and (self.subagents == "remember" or not is_subagent(runtime))

    def follows(self, runtime: Runtime[Any]) -> bool:
        """Whether what this agent's thread leaves behind can be told, and is retracted."""
        return self.writes(runtime) and is_checkpointed()

    def remember(self, turn: AgentTurn, messages: Sequence[BaseMessage]) -> bool:
        """Remember the thread's new messages, with those of the turn that summaries have replaced; whether it stood."""
        about: dict[str, Any] = {name: getattr(turn, name) for name in ("question_id", "ended", "mine", "others")}
        thread = turn.seen.with_replaced(messages)
        new = new_messages(self.bank, turn.scope, turn.session, thread, options=self.options, **about)
        if new:
            remember_soon(self.bank, self.writer, turn.scope, new, session=turn.session)
        return True

    def follow(self, turn: AgentTurn, messages: Sequence[BaseMessage], key: str, *, begins: bool) -> None:
        """Retract what the thread left behind.

        Args:
            turn: the current turn.
            messages: the thread's.
            key: where states have the ids of the thread's messages when its last run ended.
            begins: whether a run begins; where one goes on, frameworks may have taken messages out since it began.
        """
        others, summed_up = turn.others, any(map(is_summary, messages))
        named = named_messages(messages, turn.session, self.options, turn.ended)
        named = [each for each in named if place_of(str(each.id)) not in others]
        ended = turn.mine
        branches = tuple if ended else partial(_ids_in_checkpoints, key)
        lineage = Lineage(named, ended if begins else (), summed_up, branches)
        follow(self.bank, turn.scope, turn.session, lineage, self.retracted)

    def held(self, turn: AgentTurn, messages: Sequence[BaseMessage]) -> dict[str, list[str]]:
        """The ids by which the bank knows the thread's messages, by whose memory took each in (`owner_of`)."""
        mine, others = owner_of(turn.scope), turn.others
        ids = ids_of_messages(messages, turn.session, self.options, turn.ended)
        own = [each for each in ids if place_of(each) not in others]
        # What became of the others' messages is for their own next runs to see.
        theirs = {owner: list(ids) for owner, ids in (turn.held or {}).items() if owner != mine}
        return {**theirs, mine: own}
