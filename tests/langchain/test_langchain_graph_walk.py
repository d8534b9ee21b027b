"""Any order of what happens to the thread of a graph of agents: its memory holds what the thread holds, once.

`walks` makes it longer. `test_langchain_walk.py` does the same with one agent.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from langchain.agents import create_agent
from langchain.tools import InjectedToolCallId
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command, interrupt
from walks import walks

from langchain_secom import SecomMiddleware
from langchain_secom.convert import to_messages
from secom_core.bank import MemoryBank

ANN = ("ann",)
THREAD: Any = {"configurable": {"thread_id": "friday"}}
AGENTS = ("first", "second", "third")


@tool
def look(number: int) -> str:
    """Look something up."""
    return f"Found {number}."


@tool
def ask(number: int) -> str:
    """Ask the user."""
    return f"Told {interrupt(number)}."


def handoff_to(agent: str) -> Any:
    @tool(f"transfer_to_{agent}")
    def transfer(
        state: Annotated[dict[str, Any], InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command[Any]:
        """Hand over."""
        told = {"role": "tool", "content": f"Successfully transferred to {agent}", "name": f"transfer_to_{agent}"}
        update = {"messages": [*state["messages"], {**told, "tool_call_id": tool_call_id}]}
        return Command(goto=agent, graph=Command.PARENT, update=update)

    return transfer


class Planned(BaseChatModel):
    """Calls the tools of a plan, one list after the other, and then answers; ``"fail"`` fails."""

    numbers: Any
    plan: Any

    @property
    def _llm_type(self) -> str:
        return "planned"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        number, names = next(self.numbers), self.plan.pop(0) if self.plan else []
        if names == ["fail"]:
            raise ConnectionError("the model is away")
        calls = [
            {"name": name, "args": {} if "transfer" in name else {"number": number}, "id": f"{number}-{place}"}
            for place, name in enumerate(names)
        ]
        said = "" if calls and number % 2 else f"Answer {number}."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said, tool_calls=calls))])


plans = st.lists(
    st.sampled_from([["look"], ["look", "look"], *([f"transfer_to_{agent}"] for agent in AGENTS)]), max_size=4
)


class Walk(RuleBasedStateMachine):
    """A thread of three agents that hand over to each other, and the memory beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.numbers, self.saver, self.plan = count(1), InMemorySaver(), list[list[str]]()
        self.gone, self.waits = set[str](), ""
        self.edits = dict[str, str]()

    @initialize(shared=st.booleans())
    def begin(self, shared: bool) -> None:
        self.shared = shared
        self.bank = MemoryBank.open(Path(self.folder.name) / "memory.db")
        one = SecomMiddleware(self.bank, scope=ANN, on_error="raise")
        self.memories = [one if shared else SecomMiddleware(self.bank, scope=ANN, on_error="raise") for _ in AGENTS]
        graph, model = StateGraph(MessagesState), Planned(numbers=self.numbers, plan=self.plan)
        tools = [look, ask, *map(handoff_to, AGENTS)]
        for name, memory in zip(AGENTS, self.memories, strict=True):
            graph.add_node(name, create_agent(model, tools, middleware=[memory], name=name), destinations=AGENTS)
        self.graph: Any = graph.add_edge(START, AGENTS[0]).compile(checkpointer=self.saver)

    def end(self) -> None:
        for memory in self.memories:
            memory.close()
        self.bank.close()

    def teardown(self) -> None:
        self.end()
        self.folder.cleanup()

    @property
    def messages(self) -> list[BaseMessage]:
        return list(self.graph.get_state(THREAD).values.get("messages", []))

    def message(self) -> HumanMessage:
        return HumanMessage(f"Message {next(self.numbers)}.")

    # -- what happens to a thread ---------------------------------------------------------------------------------

    @precondition(lambda self: self.waits != "user")
    @rule(plan=plans)
    def say(self, plan: list[list[str]]) -> None:
        self.run({"messages": [self.message()]}, plan)

    @precondition(lambda self: self.waits != "user")
    @rule(plan=plans)
    def fail(self, plan: list[list[str]]) -> None:
        self.plan[:], self.waits = [*plan, ["fail"]], "model"
        with pytest.raises(ConnectionError):
            self.graph.invoke({"messages": [self.message()]}, THREAD)

    @precondition(lambda self: self.waits == "model")
    @rule(plan=plans)
    def go_on(self, plan: list[list[str]]) -> None:
        self.run(None, plan)

    @precondition(lambda self: not self.waits)
    @rule(plan=plans)
    def wait_for_the_user(self, plan: list[list[str]]) -> None:
        self.plan[:], self.waits = [*plan, ["look", "ask"]], "user"
        self.graph.invoke({"messages": [self.message()]}, THREAD)

    @precondition(lambda self: self.waits == "user")
    @rule(plan=plans)
    def resume(self, plan: list[list[str]]) -> None:
        self.run(Command(resume=next(self.numbers)), plan)

    @precondition(lambda self: not self.waits)
    @rule(data=st.data())
    def edit(self, data: Any) -> None:
        if said := [each for each in self.messages if each.type == "human"]:
            old, new = data.draw(st.sampled_from(said), label="message"), self.message().text
            self.edits[old.text] = new
            self.gone |= {new} if old.text in self.gone else set()
            edited = {"messages": [HumanMessage(new, id=old.id)]}
            self.graph.update_state(THREAD, edited, as_node=AGENTS[0])

    @precondition(lambda self: not self.waits)
    @rule(data=st.data(), last=st.booleans())
    def forget(self, data: Any, last: bool) -> None:
        if turns := self.bank.turns(ANN, "friday"):
            turn = turns[-1] if last else data.draw(st.sampled_from(turns), label="turn")
            self.bank.forget(ANN, turn_ids=[turn.id])
            for text in (message.text for message in turn.messages):
                # With what is stored, its new words go, which the memory has not seen yet.
                while text:
                    self.gone.add(text)
                    text = self.edits.get(text, "")

    @rule()
    def another_process(self) -> None:
        self.end()
        self.begin(self.shared)

    # -- what must hold -------------------------------------------------------------------------------------------

    def run(self, given: Any, plan: list[list[str]]) -> None:
        self.plan[:], self.waits = plan, ""
        self.graph.invoke(given, THREAD)
        held = Counter(each.text for each in to_messages(self.messages) if each.text not in self.gone)
        assert Counter(message.text for turn in self.bank.turns(ANN) for message in turn.messages) == held


@pytest.mark.slow
def test_any_order_of_what_happens_to_a_thread_of_agents() -> None:
    run_state_machine_as_test(Walk, settings=walks(10, 12))
