"""Any order of what happens to a thread: its memory holds what the thread holds, and nothing that it left behind.

`walks` makes it longer.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from walks import walks

from langchain_secom import SecomMiddleware
from secom_core.bank import MemoryBank

ANN = ("ann",)
THREAD: Any = {"configurable": {"thread_id": "friday"}}


class Numbered(BaseChatModel):
    """Gives each time another answer, or fails."""

    answers: Any
    fails: Any

    @property
    def _llm_type(self) -> str:
        return "numbered"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        if any(self.fails):
            raise ConnectionError("the model is away")
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"Answer {next(self.answers)}."))])


class Walk(RuleBasedStateMachine):
    """A thread, whose checkpoints tell what it holds, and the memory beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.numbers, self.saver, self.fails = count(1), InMemorySaver(), [False]
        self.gone, self.forgotten, self.waiting = set[str](), set[str](), ""
        self.begin()

    def begin(self) -> None:
        self.bank = MemoryBank.open(Path(self.folder.name) / "memory.db")
        self.memory = SecomMiddleware(self.bank, scope=ANN, on_error="raise")
        model = Numbered(answers=self.numbers, fails=self.fails)
        self.agent: Any = create_agent(model, middleware=[self.memory], checkpointer=self.saver)

    def teardown(self) -> None:
        self.memory.close()
        self.bank.close()
        self.folder.cleanup()

    @property
    def messages(self) -> list[BaseMessage]:
        return list(self.agent.get_state(THREAD).values.get("messages", []))

    def chosen(self, data: Any, kind: str) -> BaseMessage | None:
        """A message; the last one as often as all others."""
        found = [each for each in self.messages if each.type == kind]
        which = st.just(-1) | st.integers(0, max(0, len(found) - 1))
        return found[data.draw(which, label="message")] if found else None

    # -- what happens to a thread ---------------------------------------------------------------------------------

    @initialize()
    def two_turns(self) -> None:
        self.say()
        self.say()

    @rule()
    def say(self) -> None:
        self.run({"messages": [HumanMessage(f"Message {next(self.numbers)}.")]})

    @rule()
    def fail(self) -> None:
        self.waiting, self.fails[:] = f"Message {next(self.numbers)}.", [True]
        with pytest.raises(ConnectionError):
            self.agent.invoke({"messages": [HumanMessage(self.waiting)]}, THREAD)
        self.fails[:] = [False]

    @precondition(lambda self: self.waiting)
    @rule()
    def send_again(self) -> None:
        self.run({"messages": [HumanMessage(self.waiting)]})

    @precondition(lambda self: not self.waiting)
    @rule()
    def answer_again(self) -> None:
        before = [each for each in self.agent.get_state_history(THREAD) if each.next == ("model",)]
        if before:
            self.forgotten.clear()
            self.run(None, before[0].config)

    @rule(data=st.data())
    def branch(self, data: Any) -> None:
        ends = [each for each in self.agent.get_state_history(THREAD) if not each.next]
        if ends:
            self.forgotten.clear()
            place = data.draw(st.integers(0, len(ends) - 1), label="place")
            self.run({"messages": [HumanMessage(f"Message {next(self.numbers)}.")]}, ends[place].config)

    @precondition(lambda self: not self.waiting)
    @rule(data=st.data())
    def edit(self, data: Any) -> None:
        if (message := self.chosen(data, "human")) is not None:
            text = f"Message {next(self.numbers)}."
            if message.text in self.gone:
                self.gone.add(text)
            self.agent.update_state(THREAD, {"messages": [HumanMessage(text, id=message.id)]})

    @precondition(lambda self: not self.waiting)
    @rule(data=st.data(), kind=st.sampled_from(["human", "ai"]))
    def delete(self, data: Any, kind: str) -> None:
        if (message := self.chosen(data, kind)) is not None:
            after = self.messages[self.messages.index(message) :]
            self.gone |= {each.text for each in answered(after)} if kind == "human" else {message.text}
            self.agent.update_state(THREAD, {"messages": [RemoveMessage(id=str(message.id))]})

    @precondition(lambda self: not self.waiting)
    @rule(data=st.data(), last=st.booleans())
    def forget(self, data: Any, last: bool) -> None:
        if turns := self.bank.turns(ANN, "friday"):
            turn = turns[-1] if last else data.draw(st.sampled_from(turns), label="turn")
            self.bank.forget(ANN, turn_ids=[turn.id])
            self.forgotten |= {message.text for message in turn.messages}
            self.gone |= self.forgotten

    @rule()
    def another_process(self) -> None:
        self.memory.close()
        self.bank.close()
        self.begin()

    # -- what must hold -------------------------------------------------------------------------------------------

    def run(self, given: Any, config: Any = THREAD) -> None:
        self.agent.invoke(given, config)
        self.waiting = ""
        held = Counter(each.text for each in said_once(self.messages))
        found = Counter(message.text for turn in self.bank.turns(ANN) for message in turn.messages)
        assert not self.forgotten & set(found)
        # What was deleted may come back with an older checkpoint; whether it does is another test's matter.
        for text in self.gone:
            held.pop(text, None), found.pop(text, None)
        assert found == held


def answered(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """A message and its answers."""
    end = next((place for place, each in enumerate(messages) if place and each.type == "human"), len(messages))
    return list(messages[:end])


def said_once(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages without those that were sent again, as they had no answer."""
    pairs = zip([None, *messages], messages, strict=False)
    return [each for before, each in pairs if before is None or (before.type, before.text) != (each.type, each.text)]


@pytest.mark.slow
def test_any_order_of_what_happens_to_a_thread() -> None:
    run_state_machine_as_test(Walk, settings=walks(10, 12))
