"""What an agent's memory writes of a thread: its new messages, and what becomes of those that it left behind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import ensure_config

from secom_core.bank import BackgroundWriter, MemoryBank, remember_soon
from secom_core.errors import MissingExtra

from .agent_turn import OWNERS, AgentTurn, is_subagent, owner_of
from .known_messages import ThreadOptions, ids_of_messages, named_messages, new_messages
from .lineage import Lineage, Retracted, follow
from .messages import earlier_turns, is_summary, place_of

try:
    from langgraph.runtime import Runtime
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error


_CHECKPOINTER: Final = "__pregel_checkpointer"
_LOOKED_THROUGH: Final = 64
"""In how many checkpoints messages of other branches are looked for: the latest of a branch has all of its messages."""


def is_checkpointed() -> bool:
    """Whether the current run has a checkpointer: the thread is then known whole, and may be interrupted."""
    return ensure_config().get("configurable", {}).get(_CHECKPOINTER) is not None


def _latest_checkpoints() -> list[Mapping[str, Any]]:
    """The latest checkpoints of the current run's thread: the outermost graph's, if the agent is within another."""
    configurable = ensure_config()["configurable"]
    of_thread = {"thread_id": configurable.get("thread_id"), "checkpoint_ns": ""}
    found = configurable[_CHECKPOINTER].list({"configurable": of_thread}, limit=_LOOKED_THROUGH)
    # An iterator of an asynchronous saver that is not read to its end cannot be closed here.
    return [saved.checkpoint for saved in found]


def _current_checkpoint() -> Mapping[str, Any] | None:
    """The checkpoint from which the outermost graph's current step began; nothing if it is not written yet."""
    configurable = ensure_config()["configurable"]
    number = configurable.get("checkpoint_map", {}).get("")
    named = {"thread_id": configurable.get("thread_id"), "checkpoint_ns": "", "checkpoint_id": number}
    saved = configurable[_CHECKPOINTER].get_tuple({"configurable": named}) if number else None
    return saved.checkpoint if saved is not None else None


def _messages_in(checkpoint: Mapping[str, Any]) -> list[BaseMessage]:
    """The messages in a graph's state, whatever their key."""
    lists = (value for value in checkpoint["channel_values"].values() if isinstance(value, list))
    return [each for value in lists for each in value if isinstance(each, BaseMessage)]


def _owners(turn: Sequence[BaseMessage]) -> set[str]:
    answers = (each for each in turn if isinstance(each, AIMessage))
    return {owner for each in answers for owner in each.response_metadata.get(OWNERS, ())}


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
        about: dict[str, Any] = {name: getattr(turn, name) for name in ("question_id", "ended", "mine")}
        thread = turn.seen.with_replaced(messages)
        about["others"] = self._others(turn, thread)
        new = new_messages(self.bank, turn.scope, turn.session, thread, options=self.options, **about)
        if new:
            remember_soon(self.bank, self.writer, turn.scope, new, session=turn.session)
        return True

    def follow(self, turn: AgentTurn, messages: Sequence[BaseMessage], *, begins: bool) -> None:
        """Retract what the thread left behind.

        Args:
            turn: the current turn.
            messages: the thread's, or what another graph handed to the agent.
            begins: whether a run begins; where one goes on, frameworks may have taken messages out since it began.
        """
        others, summed_up = self._others(turn, messages), any(map(is_summary, messages))
        named = named_messages(messages, turn.session, self.options, turn.ended)
        named = [each for each in named if place_of(str(each.id)) not in others]
        ended = turn.mine
        branches = partial(self._in_other_branches, turn)
        lineage = Lineage(named, ended if begins else (), summed_up, branches, in_part=turn.inner)
        follow(self.bank, turn.scope, turn.session, lineage, self.retracted)

    def _others(self, turn: AgentTurn, thread: Sequence[BaseMessage]) -> Collection[str]:
        """The places of messages that others' memories took in; within another graph, of the turns of their answers."""
        if not turn.inner:
            return turn.others
        mine, earlier = owner_of(turn.scope), earlier_turns(thread)
        theirs = (each for each in earlier if (owners := _owners(each)) and mine not in owners)
        ids = (id for each in theirs for id in ids_of_messages(each, turn.session, self.options, turn.ended))
        return {*turn.others, *map(place_of, ids)}

    def _in_other_branches(self, turn: AgentTurn, ids: Collection[str]) -> set[str]:
        """Those of some messages, by their ids, that checkpoints of the thread hold, and its current one does not."""
        sought = set(ids)
        if sought and turn.inner:
            current = _current_checkpoint()
            sought = sought - self._ids_in(current, turn) if current is not None else set()
        saved = _latest_checkpoints() if sought else []
        return sought & {each for checkpoint in saved for each in self._ids_in(checkpoint, turn)}

    def _ids_in(self, checkpoint: Mapping[str, Any], turn: AgentTurn) -> set[str]:
        return set(ids_of_messages(_messages_in(checkpoint), turn.session, self.options, turn.ended))

    def held(self, turn: AgentTurn, messages: Sequence[BaseMessage]) -> dict[str, list[str]]:
        """The ids by which the bank knows the thread's messages, by whose memory took each in (`owner_of`)."""
        mine, others = owner_of(turn.scope), turn.others
        ids = ids_of_messages(messages, turn.session, self.options, turn.ended)
        own = [each for each in ids if place_of(each) not in others]
        # What became of the others' messages is for their own next runs to see.
        theirs = {owner: list(ids) for owner, ids in (turn.held or {}).items() if owner != mine}
        return {**theirs, mine: own}
