"""What an agent's memory writes of a thread: its new messages, and what becomes of those that it left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from secom_core.bank import BackgroundWriter, MemoryBank, remember_soon
from secom_core.bank.answers import ANSWER_WAITS_S, epoch_soon
from secom_core.bank.unwritten import is_forgotten
from secom_core.conversation import Message
from secom_core.errors import MissingExtra, SecomError, StoreError, StoreUnwritable
from secom_core.stores.database import waiting_at_most
from secom_core.stores.reasons import ConnectionLost
from secom_core.times import present

from .agent_turn import OWNERS, REMEMBERED, AgentTurn, is_subagent, owner_of
from .checkpoints import (
    LOOKED_THROUGH,
    checkpoints_and_line,
    checkpoints_until,
    held_before,
    id_of_saved,
    messages_in,
    off_loop,
    parent_of,
    said_at,
)
from .identity import is_checkpointed
from .known_messages import ThreadOptions, handed_on, ids_of_messages, named_messages, new_messages
from .lineage import Lineage, Retracted, follow
from .messages import earlier_turns, is_summary, is_users, place_of
from .open_turns import OpenTurn, open_turns

try:
    from langchain.agents.middleware import ModelRequest
    from langgraph.checkpoint.base import CheckpointTuple
    from langgraph.runtime import Runtime
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error


_Answer = TypeVar("_Answer")


async def unless_cancelled(answer: Awaitable[_Answer], remember: Callable[[], object]) -> _Answer:
    """The model's answer; if the run is cancelled before, as by a user who closes the page, the turn is remembered.

    The thread keeps what the user said, though nothing may ever go on with it. Without a checkpointer, nothing tells
    that the same words, sent again, are no second message.
    """
    try:
        return await answer
    except asyncio.CancelledError:
        if is_checkpointed():
            # Who is cancelled once more does not wait: it goes on in its thread.
            with suppress(asyncio.CancelledError, SecomError):
                await asyncio.shield(off_loop(remember))
        raise


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

    def begun(self, turn: AgentTurn) -> AgentTurn:
        """The turn, which is remembered, with what tells at its end whether its scope was forgotten meanwhile."""
        with suppress(StoreError):
            return replace(turn, writes=True, epoch=epoch_soon(self.bank, turn.scope))
        return replace(turn, writes=True)

    def remember(self, turn: AgentTurn, messages: Sequence[BaseMessage]) -> bool:
        """Remember the thread's new messages, with those of the turn that summaries replaced; whether all is on disk.

        Where the whole scope was forgotten since the run began, nothing of it is remembered.
        """
        open_turns(self.bank).forget(turn.scope, turn.session)
        new = [] if self._was_forgotten(turn) else self._new_or_of_turn(turn, messages)
        return not new or remember_soon(self.bank, self.writer, turn.scope, new, session=turn.session) is not None

    def _new_or_of_turn(self, turn: AgentTurn, messages: Sequence[BaseMessage]) -> list[Message]:
        """The thread's new messages; those of the turn where the store cannot be read, as what is stored has its id."""
        try:
            return self._new(turn, messages, said_at)
        except (StoreUnwritable, ConnectionLost):
            thread = turn.seen.with_replaced(messages)
            begins = next((place for place, each in enumerate(thread) if each.id == turn.began_id), None)
            # Which messages within another graph are others', only the store tells.
            if begins is None or turn.inner:
                raise
        # A user may say several things at once. Those of earlier turns are for the next run to find.
        while begins and is_users(thread[begins - 1]):
            begins -= 1
        named = named_messages(thread[begins:], turn.session, turn.reading(self.options), turn.ended)
        # What an earlier run took in is stored, or was forgotten.
        return [each for each in named if each.id not in turn.mine and place_of(str(each.id)) not in turn.others]

    def _new(
        self,
        turn: AgentTurn,
        messages: Sequence[BaseMessage],
        times: Callable[[Collection[str]], Mapping[str, datetime]],
    ) -> list[Message]:
        about: dict[str, Any] = {"question_id": turn.began_id, "ended": turn.ended}
        thread = turn.seen.with_replaced(messages)
        about |= {
            "mine": [*turn.mine, *(self._taken_in(turn, thread) if turn.inner else ())],
            "others": self._others(turn, thread),
            "times": times,
            "returned": partial(self._left_for_others, turn),
        }
        return new_messages(self.bank, turn.scope, turn.session, thread, options=turn.reading(self.options), **about)

    @contextmanager
    def answering(self, turn: AgentTurn, request: ModelRequest[Any]) -> Iterator[None]:
        """While the model answers, and until the turn is remembered, hold what was said: the run may never end.

        Without a checkpointer nothing tells that the same words, sent again, are no second message.
        """
        if not self.follows(request.runtime):
            yield
            return
        remember = partial(self._remember_open, turn, request.state["messages"], present(self.bank.timezone))
        open_turns(self.bank).begin(OpenTurn(turn.scope, turn.session, remember))
        try:
            yield
        except Exception:
            open_turns(self.bank).forget(turn.scope, turn.session)
            raise

    def _remember_open(self, turn: AgentTurn, messages: Sequence[BaseMessage], at: datetime, closing: bool) -> None:
        """Remember what was said at a time in a turn that has not ended; the run's configuration is not at hand."""
        new = [] if self._was_forgotten(turn) else self._new(turn, messages, lambda ids: {})
        new = [replace(each, at=each.at or at) for each in new]
        if new and closing:  # no thread is to begin anything in the bank
            self.bank.remember(turn.scope, new, session=turn.session, later=True)
        elif new:
            remember_soon(self.bank, self.writer, turn.scope, new, session=turn.session)

    def close(self) -> None:
        """Remember what was said in all open turns of the bank, and end the writer."""
        open_turns(self.bank).end()
        if self.writer is not None:
            self.writer.close()

    def remember_open(self, turn: AgentTurn) -> None:
        """Remember what the user said in other threads, where no run has ended since."""
        with waiting_at_most(ANSWER_WAITS_S):
            open_turns(self.bank).remember(turn.scope, besides=turn.session)

    def _was_forgotten(self, turn: AgentTurn) -> bool:
        with suppress(StoreError):
            return is_forgotten(turn.epoch, epoch_soon(self.bank, turn.scope))
        return False

    def follow(self, turn: AgentTurn, messages: Sequence[BaseMessage], *, begins: bool) -> None:
        """Retract what the thread left behind.

        Args:
            turn: the current turn.
            messages: the thread's, or what another graph handed to the agent.
            begins: whether a run begins; where one goes on, frameworks may have taken messages out since it began.
        """
        others, summed_up = self._others(turn, messages), any(map(is_summary, messages))
        options = turn.reading(self.options)
        named = named_messages(messages, turn.session, options, turn.ended)
        named = [each for each in named if place_of(str(each.id)) not in others]
        ended = turn.mine
        only_branches = partial(self._in_other_branches, turn, off_line=True)
        branches = partial(self._in_other_branches, turn, off_line=turn.inner)
        whole = partial(self._whole_thread, turn) if turn.inner else None
        lineage = Lineage(named, ended if begins else (), summed_up, branches, only_branches, whole)
        follow(self.bank, turn.scope, turn.session, lineage, self.retracted)

    def _taken_in(self, turn: AgentTurn, thread: Sequence[BaseMessage]) -> list[str]:
        """The ids of what users said that an agent within another graph took in, as the answers in the thread tell."""
        now, options = self.begun(turn).epoch, turn.reading(self.options)
        waiting, said = list[BaseMessage](), list[BaseMessage]()
        for message in (message for each in earlier_turns(thread) for message in each):
            waiting.append(message)
            noted = message.response_metadata.get(REMEMBERED, {})
            if turn.remembered_as in noted:
                epoch = noted[turn.remembered_as]
                said += waiting if epoch is None or tuple(epoch) != now else ()
                waiting = []
        asked = (each for each in said if isinstance(each, HumanMessage))
        return [id for each in asked for id in ids_of_messages([each], turn.session, options, turn.ended)]

    def _others(self, turn: AgentTurn, thread: Sequence[BaseMessage]) -> Collection[str]:
        """The places of messages that others' memories took in.

        Within another graph, of the turns of their answers, and of answers that it hands on in the name of an agent.
        """
        if not turn.inner:
            return turn.others
        mine, earlier, options = owner_of(turn.scope), earlier_turns(thread), turn.reading(self.options)
        theirs = (each for each in earlier if (owners := _owners(each)) and mine not in owners)
        ids = (id for each in theirs for id in ids_of_messages(each, turn.session, options, turn.ended))
        named = named_messages(thread, turn.session, options, turn.ended)
        return {*turn.others, *map(place_of, (*ids, *handed_on(self.bank, turn.scope, turn.session, named)))}

    def _in_other_branches(self, turn: AgentTurn, ids: Collection[str], *, off_line: bool) -> set[str]:
        """Those of some messages that a checkpoint of the thread holds; with ``off_line``, none of the current line.

        What a graph has taken out of its thread, such as to keep it short, is in the line of its checkpoints.
        """
        if not ids:
            return set()
        if not off_line:
            saved = checkpoints_until(lambda some: self._ids_in(turn, some).issuperset(ids), LOOKED_THROUGH)
            return set(ids) & self._ids_in(turn, saved)
        saved, line = checkpoints_and_line()
        return (set(ids) & self._ids_in(turn, saved)) - self._ids_in(turn, line) if line else set()

    def _left_for_others(self, turn: AgentTurn, ids: Collection[str]) -> set[str]:
        """Those of some messages that the thread left behind for another branch, to which it has come back since.

        A checkpoint of another branch was made after they were said and lacks them, and so do all before it: a branch
        that held them has had them deleted.
        """
        saved, line = checkpoints_and_line()
        held = {id_of_saved(each): set(ids) & self._ids_in(turn, [each]) for each in saved}
        on_line, lacking, left = set(map(id_of_saved, line)), dict[str | None, set[str]](), set[str]()
        said = held_before(saved, held)
        for each in reversed(saved):
            name = id_of_saved(each)
            lacking[name] = lacking.get(parent_of(each), set(ids)) - held[name]
            said |= held[name]
            if name not in on_line:
                left |= lacking[name] & said
        return left

    def _whole_thread(self, turn: AgentTurn) -> set[str]:
        _, line = checkpoints_and_line()
        return self._ids_in(turn, line[:1])

    def _ids_in(self, turn: AgentTurn, saved: Sequence[CheckpointTuple]) -> set[str]:
        # Checkpoints give objects of their own, each time.
        threads, options = map(messages_in, saved), self.options
        return {id for each in threads for id in ids_of_messages(each, turn.session, options, turn.ended)}

    def held(self, turn: AgentTurn, messages: Sequence[BaseMessage]) -> dict[str, list[str]]:
        """The ids by which the bank knows the thread's messages, by whose memory took each in (`owner_of`)."""
        mine, others, options = owner_of(turn.scope), turn.others, turn.reading(self.options)
        ids = ids_of_messages(messages, turn.session, options, turn.ended)
        own = [each for each in ids if place_of(each) not in others]
        # What became of the others' messages is for their own next runs to see.
        theirs = {owner: list(ids) for owner, ids in (turn.held or {}).items() if owner != mine}
        return {**theirs, mine: own}
