"""What is recalled for an agent's turn: memories for the user's message, without those that its thread shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from langchain_core.messages import BaseMessage
from langchain_core.runnables import run_in_executor

from secom_core.bank import MemoryBank
from secom_core.memory import Recall, RecallOptions

from .agent_turn import AgentTurn
from .dialogue import Dialogue, QueryHook, said_in_session
from .known_messages import ThreadOptions, ids_in_prompt
from .tracing import RecallRun


@dataclass(frozen=True)
class TurnRecall:
    """Recalls for turns.

    Args:
        bank: where it searches.
        options: how much is recalled, and of what.
        hook: makes what is searched for out of the dialogue.
        read_as: how threads are read.
        contents: whether traces hold the query and the memories.
    """

    bank: MemoryBank
    options: RecallOptions
    hook: QueryHook | None
    read_as: ThreadOptions
    contents: bool

    def recalled(self, turn: AgentTurn, thread: Sequence[BaseMessage], shown: Sequence[BaseMessage]) -> AgentTurn:
        """The turn with what is recalled for it.

        Args:
            turn: the current turn.
            thread: all messages of its thread.
            shown: those of them that the model sees.
        """
        dialogue = self._dialogue(turn, thread)
        turn = replace(turn, query=dialogue.query(self.hook))
        return replace(turn, recall=self._run(turn, shown, dialogue).recall() if turn.query else nothing(turn.query))

    async def arecalled(
        self, turn: AgentTurn, thread: Sequence[BaseMessage], shown: Sequence[BaseMessage]
    ) -> AgentTurn:
        """As `recalled`, without blocking the event loop."""
        dialogue = Dialogue.in_thread(thread)
        if not dialogue.before:
            dialogue = await run_in_executor(None, self._dialogue, turn, thread)
        turn = replace(turn, query=await dialogue.aquery(self.hook))
        run = self._run(turn, shown, dialogue)
        return replace(turn, recall=await run.arecall() if turn.query else nothing(turn.query))

    def _dialogue(self, turn: AgentTurn, thread: Sequence[BaseMessage]) -> Dialogue:
        """The thread up to the question; where the caller sends no more than that, after what the bank holds of it."""
        dialogue = Dialogue.in_thread(thread)
        if dialogue.before:
            return dialogue
        return replace(dialogue, before=said_in_session(self.bank, turn.scope, turn.session))

    def _run(self, turn: AgentTurn, shown: Sequence[BaseMessage], dialogue: Dialogue) -> RecallRun:
        search = partial(self._search, turn, shown, dialogue)
        return RecallRun(search=search, query=turn.query, scope=turn.scope, contents=self.contents)

    def _search(self, turn: AgentTurn, shown: Sequence[BaseMessage], dialogue: Dialogue) -> Recall:
        in_prompt = ids_in_prompt(self.bank, turn.scope, turn.session, shown, turn.reading(self.read_as))
        arguments = replace(self.options, also=(*self.options.also, *turn.also)).arguments
        arguments |= {"exclude": in_prompt, "context": dialogue.context, "now": dialogue.at}
        return self.bank.recall(turn.scope, turn.query, **arguments)


def nothing(query: str) -> Recall:
    """A recall that found nothing."""
    return Recall(query, (), "", 0)
