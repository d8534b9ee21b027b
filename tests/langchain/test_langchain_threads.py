"""The life of a thread: what is made anew, edited, deleted, forked or sent again, and what memory makes of it."""

from __future__ import annotations

import asyncio
import time
import warnings
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_agent import HttpAgentModel, run_agent, saver_of, skip_if_config_is_lost
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command
from pydantic import BaseModel

from langchain_secom import SecomMiddleware
from langchain_secom.convert import DIRECT, to_message, to_messages
from langchain_secom.lineage import retract_thread
from langchain_secom.messages import conversation_name
from secom_core.bank import MemoryBank
from secom_core.errors import DegradedWarning, InvalidInput, InvalidScope, StoreError
from secom_core.testing import Answer, Fault, ScriptedServer, ToolCall

ANN = ("ann",)
both = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
in_thread: Any = {"configurable": {"thread_id": "friday"}}


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


CALL = Answer(tool_calls=(ToolCall("weather", {"city": "Ghent"}, id="call-1"),))
CALL_LINE = '[calls weather({"city": "Ghent"})]'


def agent_of(server: ScriptedServer, bank: MemoryBank, *middleware: Any, saver: Any = None, **options: Any) -> Any:
    of_agent = {name: options.pop(name) for name in ("response_format",) if name in options}
    memory = SecomMiddleware(bank, scope=ANN, **{"write": "inline", "on_error": "raise", **options})
    model = HttpAgentModel(base_url=server.base_url)
    keeper = InMemorySaver() if saver is None else saver or None
    return create_agent(model, [weather], middleware=[memory, *middleware], checkpointer=keeper, **of_agent)


def said(bank: MemoryBank, session: str = "friday") -> list[list[str]]:
    """The texts of a session, turn by turn."""
    return [[message.text for message in turn.messages] for turn in bank.turns(ANN, session)]


def user(text: str, **more: Any) -> Any:
    return {"messages": [HumanMessage(text, **more)]}


def two_turns(agent: Any) -> list[Any]:
    agent.invoke(user("I live in Ghent.", id="u1"), in_thread)
    return list(agent.invoke(user("My cat is called Mimi.", id="u2"), in_thread)["messages"])


def checkpoint(agent: Any, messages: int, node: str | None = None) -> Any:
    """The latest checkpoint of the thread that has so many messages, before a node where one is given."""
    history = agent.get_state_history(in_thread)
    return next(
        each.config
        for each in history
        if len(each.values.get("messages", [])) == messages and (node is None or each.next == (node,))
    )


def test_a_thread_of_an_older_version_goes_on(server: ScriptedServer, bank: MemoryBank) -> None:
    agent = agent_of(server, bank)
    two_turns(agent)
    [ids] = agent.get_state(in_thread).values["secom_SecomMiddleware_thread"].values()
    # What versions wrote that knew of one owner of a thread.
    agent.update_state(in_thread, {"secom_SecomMiddleware_thread": ids, "messages": [RemoveMessage("u2")]})
    agent.invoke(user("What is my name?", id="u3"), in_thread)
    assert [turn[0] for turn in said(bank)] == ["I live in Ghent.", "What is my name?"]
    assert [*agent.get_state(in_thread).values["secom_SecomMiddleware_thread"].values()] != [ids]


@pytest.mark.slow
@pytest.mark.parametrize("done", ["pinned", "retracted", "corrected"])
def test_an_edit_takes_no_mark_from_what_it_does_not_touch(server: ScriptedServer, bank: MemoryBank, done: str) -> None:
    agent = agent_of(server, bank)
    for name, text in (("m1", "My locker is 12."), ("m2", "My bike is red."), ("m3", "Nice day.")):
        agent.invoke({"messages": [HumanMessage(text, id=name)]}, in_thread)
    ids = {turn.messages[0].text: turn.id for turn in bank.turns(ANN)}
    for turn_id in ids.values():
        if done == "corrected":
            bank.correct(ANN, turn_id, "It is another.")
        else:
            (bank.corrections.pin if done == "pinned" else bank.corrections.retract)(ANN, turn_id)
    agent.update_state(in_thread, {"messages": [HumanMessage("My locker is 55.", id="m1")]})
    agent.invoke({"messages": [HumanMessage("Go on.", id="m4")]}, in_thread)
    texts = {turn.id: turn.messages[0].text for turn in bank.turns(ANN)}
    known = bank.corrections.marks(ANN)
    marks = {texts[mark.turn_id]: mark.kind for mark in known if "another" not in texts[mark.turn_id]}
    untouched = {"My bike is red.": done, "Nice day.": done}
    assert marks == {**untouched, **({"My locker is 55.": "pinned"} if done == "pinned" else {})}
    if done == "corrected":
        # What had corrected the old words does not stand beside the new ones.
        kinds = [mark.kind for mark in known if "another" in texts[mark.turn_id]]
        assert kinds == ["retracted"]


FORGETTING: dict[str, Any] = {
    "all": lambda bank: bank.forget(ANN),
    "a session": lambda bank: bank.forget(ANN, session="friday"),
    "its turns": lambda bank: bank.forget(ANN, turn_ids=[turn.id for turn in bank.turns(ANN)]),
    "a turn": lambda bank: bank.forget(ANN, turn_ids=[bank.turns(ANN)[0].id]),
    "the last turn": lambda bank: bank.forget(ANN, turn_ids=[bank.turns(ANN)[-1].id]),
    "the end of a session": lambda bank: bank.lifetimes.set(ANN, datetime.now(timezone.utc), session="friday"),
    "the end of a scope": lambda bank: bank.lifetimes.set(ANN, datetime.now(timezone.utc)),
    "its age": lambda bank: bank.lifetimes.cap(ANN, age=timedelta(microseconds=1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("is_node", [False, True], ids=["an agent", "a node"])
@pytest.mark.parametrize("how", FORGETTING)
def test_what_was_forgotten_stays_so_while_its_thread_goes_on(
    server: ScriptedServer, bank: MemoryBank, how: str, is_node: bool
) -> None:
    agent = in_graph(lambda _: {}, agent_of(server, bank, saver=False)) if is_node else agent_of(server, bank)
    agent.invoke({"messages": [HumanMessage("My PIN is 1234.", id="m1")]}, in_thread)
    agent.invoke({"messages": [HumanMessage("My bike is red.", id="m2")]}, in_thread)
    FORGETTING[how](bank)
    if how == "its age":
        bank.turns(ANN)
        bank.lifetimes.cap(ANN)
    for text in ("Go on.", "And on."):
        agent.invoke({"messages": [HumanMessage(text)]}, in_thread)
    said = [turn.messages[0].text for turn in bank.turns(ANN)]
    left = {"a turn": ["My bike is red."], "the last turn": ["My PIN is 1234."]}.get(how, [])
    assert said == [*left, "Go on.", "And on."]


def test_of_what_was_forgotten_an_answer_by_an_agent_without_memory_stays_away(
    server: ScriptedServer, bank: MemoryBank
) -> None:
    graph = in_graph(agent_of(server, bank, saver=False), create_agent(HttpAgentModel(base_url=server.base_url)))
    for text in (LENA, PORTO):
        graph.invoke(user(text), in_thread)
    bank.forget(ANN, turn_ids=[bank.turns(ANN)[-1].id])
    graph.invoke(user(SHORTER), in_thread)
    assert said(bank) == [[LENA, "Answer 0.", "Answer 1."], [SHORTER, "Answer 4."]]


def test_a_copy_of_a_thread_of_agents_is_remembered_as_a_conversation_of_its_own(
    server: ScriptedServer, bank: MemoryBank
) -> None:
    graph = in_graph(lambda _: {}, agent_of(server, bank, saver=False))
    thread = graph.invoke(user(LENA), in_thread)["messages"]
    copied: Any = {"configurable": {"thread_id": "monday"}}
    graph.update_state(copied, {"messages": thread}, as_node="second")
    graph.invoke(user(PORTO), copied)
    assert said(bank, "monday") == [[LENA, "Answer 0."], [PORTO, "Answer 1."]]


class Forgets(AgentMiddleware[Any, Any, Any]):
    """A user's account, or a part of it, is deleted while the model answers."""

    def __init__(self, bank: MemoryBank, scope: tuple[str, ...] = ANN, **what: Any) -> None:
        super().__init__()
        self.forget: Any = lambda: bank.forget(scope, **what)

    def after_model(self, state: Any, runtime: Any) -> None:
        self.forget()
        self.forget = lambda: None


@pytest.mark.parametrize("write", ["inline", "background"])
@pytest.mark.parametrize("checkpointed", [True, False])
def test_a_run_in_which_its_user_is_forgotten_is_not_remembered(
    server: ScriptedServer, bank: MemoryBank, checkpointed: bool, write: Any
) -> None:
    saver = InMemorySaver() if checkpointed else False
    agent_of(server, bank, saver=saver).invoke(user("I live in Ghent."), in_thread)
    agent = agent_of(server, bank, Forgets(bank), saver=saver, write=write)
    agent.invoke(user("My PIN is 4711."), in_thread)
    assert bank.turns(ANN) == []
    agent.invoke(user("Hello."), in_thread)
    assert said(bank) == [["Hello.", "Answer 2."]]


@pytest.mark.parametrize("what", [{"scope": ("bob",)}, {"session": "monday"}], ids=["another user", "another thread"])
def test_a_run_in_which_something_else_is_forgotten_is_remembered(
    server: ScriptedServer, bank: MemoryBank, what: Any
) -> None:
    for scope in (ANN, ("bob",)):
        bank.remember(scope, [("user", "My sister plays the cello.")], session="monday")
    agent_of(server, bank, Forgets(bank, **what)).invoke(user("I live in Ghent."), in_thread)
    assert said(bank) == [["I live in Ghent.", "Answer 0."]]


@pytest.mark.slow
def test_what_could_not_be_stored_is_stored_by_the_next_run(server: ScriptedServer) -> None:
    fails = [True]

    def redact(text: str) -> str:
        if fails[0]:
            raise StoreError("the list of names cannot be read")
        return text

    with MemoryBank.open(redact=redact) as bank:
        agent = agent_of(server, bank, on_error="warn")
        with pytest.warns(DegradedWarning):
            agent.invoke({"messages": [HumanMessage("My PIN is 1234.", id="m1")]}, in_thread)
        assert not bank.turns(ANN)
        fails[0] = False
        agent.invoke({"messages": [HumanMessage("My bike is red.", id="m2")]}, in_thread)
        assert [turn.messages[0].text for turn in bank.turns(ANN)] == ["My PIN is 1234.", "My bike is red."]


@pytest.mark.parametrize("is_node", [False, True], ids=["an agent", "a node"])
def test_an_answer_given_before_hides_no_turn_that_could_not_be_stored(is_node: bool) -> None:
    fails = [False]

    def redact(text: str) -> str:
        if fails[0]:
            raise StoreError("the list of names cannot be read")
        return text

    with MemoryBank.open(redact=redact) as bank, ScriptedServer("Noted.") as server:
        agent = agent_of(server, bank, on_error="warn", saver=False if is_node else None)
        agent = in_graph(lambda _: {}, agent) if is_node else agent
        agent.invoke(user("My bike is red."), in_thread)
        fails[0] = True
        with pytest.warns(DegradedWarning):
            agent.invoke(user("My cat is called Mimi."), in_thread)
        fails[0] = False
        agent.invoke(user("I live in Ghent."), in_thread)
        facts = ["My bike is red.", "My cat is called Mimi.", "I live in Ghent."]
        assert said(bank) == [[fact, "Noted."] for fact in facts]


@pytest.mark.slow
@pytest.mark.parametrize("change", ["deleted", "edited"])
def test_what_becomes_of_a_message_reaches_its_users_memory_after_anothers_run(
    server: ScriptedServer, bank: MemoryBank, change: str
) -> None:
    memory = SecomMiddleware(bank, write="inline", on_error="raise")
    agent = create_agent(HttpAgentModel(base_url=server.base_url), middleware=[memory], checkpointer=InMemorySaver())

    def of(user: str) -> Any:
        return {"configurable": {"thread_id": "shared", "user_id": user}}

    def says(user: str, text: str, name: str) -> None:
        agent.invoke({"messages": [HumanMessage(text, id=name)]}, of(user))

    says("carl", "Hello.", "c0")
    says("carl", "My PIN is 1234.", "c1")
    says("dora", "Hi.", "d1")
    changed = RemoveMessage("c1") if change == "deleted" else HumanMessage("My PIN is a secret.", id="c1")
    agent.update_state(of("carl"), {"messages": [changed]})
    says("dora", "Next.", "d2")
    assert [turn.messages[0].text for turn in bank.turns(("dora",))] == ["Hi.", "Next."]
    says("carl", "And now?", "c2")
    mine = [turn.messages[0].text for turn in bank.turns(("carl",))]
    assert sorted(mine) == sorted(["Hello.", *(["My PIN is a secret."] if change == "edited" else []), "And now?"])


@pytest.mark.slow
@both
@pytest.mark.parametrize("kept", ["memory", "sqlite"])
async def test_users_who_share_a_thread_share_no_memory(
    server: ScriptedServer, bank: MemoryBank, tmp_path: Path, how: str, kept: str
) -> None:
    async def says(user: str, text: str, **change: Any) -> None:
        # An agent and a checkpointer of its own: nothing of a run is left in the process.
        async with saver_of(kept, how, tmp_path) if kept == "sqlite" else nullcontext(one) as saver:
            memory = SecomMiddleware(bank, write="inline", on_error="raise")
            agent = create_agent(HttpAgentModel(base_url=server.base_url), middleware=[memory], checkpointer=saver)
            run = {"configurable": {"thread_id": "shared", "user_id": user}}
            await run_agent(how, agent, {"messages": [HumanMessage(text, **change)]}, run)

    def said(user: str) -> list[str]:
        return [message.text for turn in bank.turns((user,)) for message in turn.messages]

    one = InMemorySaver()
    await says("ann", "My card ends in 4242.", id="a1")
    await says("bob", "My dog is Rex.", id="b1")
    assert said("ann") == ["My card ends in 4242.", "Answer 0."]
    assert said("bob") == ["My dog is Rex.", "Answer 1."]
    await says("ann", "My cat is Mia.", id="a2")
    await says("bob", "My dog is Rex the Second.", id="b2")
    await says("bob", "And he is old.", id="b3")
    assert said("ann") == ["My card ends in 4242.", "Answer 0.", "My cat is Mia.", "Answer 2."]
    mine = ["My dog is Rex.", "Answer 1.", "My dog is Rex the Second.", "Answer 3.", "And he is old.", "Answer 4."]
    assert said("bob") == mine
    # Edits reach the memory of the one who said it.
    await says("ann", "My cat is Minka.", id="a2")
    assert "My cat is Mia." not in said("ann")
    assert "My cat is Minka." in said("ann")
    assert said("bob") == mine


@pytest.mark.slow
@both
@pytest.mark.parametrize("kept", ["memory", "sqlite"])
async def test_an_answer_made_anew_takes_the_place_of_the_first(
    bank: MemoryBank, server: ScriptedServer, tmp_path: Path, how: str, kept: str
) -> None:
    async with saver_of(kept, how, tmp_path) as keeper:
        agent = agent_of(server, bank, saver=keeper)
        for text in ("I live in Ghent.", "My cat is called Mimi."):
            await run_agent(how, agent, user(text), in_thread)
        history = [each async for each in agent.aget_state_history(in_thread)] if how == "ainvoke" else None
        history = list(agent.get_state_history(in_thread)) if history is None else history
        before = next(each for each in history if each.next == ("model",))
        await run_agent(how, agent, None, before.config)
    assert said(bank) == [["I live in Ghent.", "Answer 0."], ["My cat is called Mimi.", "Answer 2."]]


@pytest.mark.parametrize("messages", [3, 2], ids=["before the model", "before the turn"])
def test_a_branch_goes_on_from_an_earlier_checkpoint(bank: MemoryBank, server: ScriptedServer, messages: int) -> None:
    agent = agent_of(server, bank)
    two_turns(agent)
    agent.invoke(user("And I have a dog."), in_thread)
    fork = checkpoint(agent, messages)
    agent.invoke(user("My cat is called Lila."), fork)
    assert "Mimi" not in str(said(bank)) or messages == 3
    assert "dog" not in str(said(bank))
    assert said(bank)[-1] == ["My cat is called Lila.", "Answer 3."]
    # The next turn has nothing of the branch that was left, either.
    agent.invoke(user("What is my cat called?"), in_thread)
    assert "dog" not in server.requests[-1].prompt


def test_who_returns_to_a_branch_finds_its_turns_though_an_answer_was_given_twice(bank: MemoryBank) -> None:
    with ScriptedServer("Noted.") as server:
        agent = agent_of(server, bank)
        two_turns(agent)
        first, second = checkpoint(agent, 2), checkpoint(agent, 4)
        agent.invoke(user("I have no pets."), first)
        agent.invoke(user("Mimi is old."), second)
        facts = ["I live in Ghent.", "My cat is called Mimi.", "Mimi is old."]
        assert said(bank) == [[fact, "Noted."] for fact in facts]


def test_who_returns_to_a_branch_that_shares_nothing_finds_its_turns(bank: MemoryBank, server: ScriptedServer) -> None:
    agent = agent_of(server, bank)
    two_turns(agent)
    *_, begin = agent.get_state_history(in_thread)
    first = checkpoint(agent, 4)
    agent.invoke(user("I have no pets."), begin.config)
    assert said(bank) == [["I have no pets.", "Answer 2."]]
    agent.invoke(user("Mimi is old."), first)
    facts = ["I live in Ghent.", "My cat is called Mimi.", "Mimi is old."]
    assert said(bank) == [[fact, f"Answer {number}."] for fact, number in zip(facts, [0, 1, 3], strict=True)]


@both
@pytest.mark.parametrize("window", [1, 2, 3, 4])
async def test_a_history_sent_again_beside_checkpoints_is_stored_once(bank: MemoryBank, how: str, window: int) -> None:
    history: list[Any] = []
    with ScriptedServer("Noted.") as server:
        agent = agent_of(server, bank)
        for fact in ("I live in Ghent.", "Yes.", "My cat is called Mimi.", "It is old."):
            given = [*history[len(history) - min(window, len(history)) :], ("user", fact)]
            await run_agent(how, agent, {"messages": given}, in_thread)
            history += [("user", fact), ("ai", "Noted.")]
        assert said(bank) == [[text, "Noted."] for role, text in history if role == "user"]


@pytest.mark.parametrize("window", [2, 4])
def test_a_history_sent_again_into_a_bank_that_redacts_is_stored_once(window: int) -> None:
    history: list[Any] = []
    with (
        ScriptedServer("Noted.") as server,
        MemoryBank.open(redact=lambda text: text.replace("4111", "[card]")) as bank,
    ):
        agent = agent_of(server, bank)
        for fact in ("My card is 4111.", "Yes, 4111.", "My cat is called Mimi."):
            given = [*history[len(history) - min(window, len(history)) :], ("user", fact)]
            agent.invoke({"messages": given}, in_thread)
            history += [("user", fact), ("ai", "Noted.")]
        assert [texts[0] for texts in said(bank)] == ["My card is [card].", "Yes, [card].", "My cat is called Mimi."]


def test_a_whole_history_sent_by_a_front_end_is_stored_once_and_shown_once_where_a_bank_takes_words_out() -> None:
    picture = f"Here is your card:\n\n![card](data:image/png;base64,{'iVBORw0KGgo' * 40})"
    answers, history = [picture, "Noted 4111.", "Noted too.", "Bye."], list[Any]()
    with ScriptedServer(answers) as server, MemoryBank.open(redact=lambda text: text.replace("4111", "[no]")) as bank:
        agent = agent_of(server, bank, saver=False)
        for fact in ("Draw my card.", "It is 4111.", "My cat is called Mimi.", "What is my card?"):
            history.append({"role": "user", "content": fact})
            answer = agent.invoke({"messages": history}, in_thread)["messages"][-1]
            history.append({"role": "assistant", "content": answer.content})
        assert "<memories>" not in str(server.requests[-1].body)
        assert said(bank) == [
            ["Draw my card.", "Here is your card:\n\n![card](data:image/png;base64,…)"],
            ["It is [no].", "Noted [no]."],
            ["My cat is called Mimi.", "Noted too."],
            ["What is my card?", "Bye."],
        ]


@pytest.mark.parametrize("gone", ["forgotten", "deleted"])
def test_a_branch_goes_on_from_what_is_not_remembered_any_more(
    bank: MemoryBank, server: ScriptedServer, gone: str
) -> None:
    agent = agent_of(server, bank)
    first, *_ = two_turns(agent)
    if gone == "forgotten":
        bank.forget(ANN, turn_ids=[bank.turns(ANN, "friday")[0].id])
    else:
        agent.update_state(in_thread, {"messages": [RemoveMessage(id=first.id)]})
    agent.invoke(user("And I have a dog."), in_thread)
    assert [texts[0] for texts in said(bank)] == ["My cat is called Mimi.", "And I have a dog."]
    agent.invoke(user("I have no pets."), checkpoint(agent, 2))
    assert not [texts for texts in said(bank) if "Mimi" in texts[0] or "dog" in texts[0]]
    assert said(bank)[-1] == ["I have no pets.", "Answer 3."]


class SlowSaver(InMemorySaver):
    """Has written a checkpoint only after the step that follows it has begun."""

    def put(self, *args: Any) -> Any:
        time.sleep(0.05)
        return super().put(*args)

    async def aput(self, *args: Any) -> Any:
        await asyncio.sleep(0.05)
        return super().put(*args)


@both
async def test_a_branch_is_told_while_its_checkpoint_is_being_written(
    bank: MemoryBank, server: ScriptedServer, how: str
) -> None:
    agent = agent_of(server, bank, saver=SlowSaver())
    first, *_ = two_turns(agent)
    agent.update_state(in_thread, {"messages": [RemoveMessage(id=first.id)]})
    agent.invoke(user("And I have a dog."), in_thread)
    await run_agent(how, agent, user("I have no pets."), checkpoint(agent, 2))
    assert [texts[0] for texts in said(bank)] == ["I have no pets."]


@pytest.mark.slow
@both
@pytest.mark.parametrize("kept", ["memory", "sqlite"])
async def test_the_first_message_may_be_edited_by_a_branch(
    bank: MemoryBank, server: ScriptedServer, tmp_path: Path, how: str, kept: str
) -> None:
    async with saver_of(kept, how, tmp_path) as keeper:
        agent = agent_of(server, bank, saver=keeper)
        for text in ("I live in Ghent.", "My cat is called Mimi."):
            await run_agent(how, agent, user(text), in_thread)
        if how == "ainvoke":
            history = [each async for each in agent.aget_state_history(in_thread)]
        else:
            history = list(agent.get_state_history(in_thread))
        await run_agent(how, agent, user("I live in Bruges."), history[-1].config)
        await run_agent(how, agent, user("And I have a dog."), in_thread)
    assert said(bank) == [["I live in Bruges.", "Answer 2."], ["And I have a dog.", "Answer 3."]]


@pytest.mark.parametrize("id_", ["u1", "other"])
def test_the_first_message_may_be_edited_by_a_fork_that_goes_on(
    bank: MemoryBank, server: ScriptedServer, id_: str
) -> None:
    agent = agent_of(server, bank)
    two_turns(agent)
    words = [HumanMessage("I live in Bruges.", id=id_)]
    gone = [RemoveMessage(id="u1")] if id_ != "u1" else []
    fork = agent.update_state(checkpoint(agent, 1, "model"), {"messages": [*gone, *words]})
    agent.invoke(None, fork)
    # What was there is not recalled in the run that goes on, either.
    assert "Ghent" not in server.requests[-1].prompt
    assert said(bank) == [["I live in Bruges.", "Answer 2."]]


@pytest.mark.parametrize("forked", [False, True], ids=["in place", "by a fork"])
def test_the_first_message_may_be_edited_while_its_turn_waits(bank: MemoryBank, forked: bool) -> None:
    asking = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    approve = Command(resume={"decisions": [{"type": "approve"}]})
    edited = {"messages": [HumanMessage("The weather in Bruges?", id="u1")]}
    with ScriptedServer([CALL, CALL, CALL, "Rain."] if forked else [CALL, CALL, "Rain."]) as server:
        agent = agent_of(server, bank, asking)
        agent.invoke(user("The weather in Ghent?", id="u1"), in_thread)
        agent.invoke(approve, in_thread)
        if forked:
            agent.invoke(None, agent.update_state(checkpoint(agent, 1, "model"), edited))
        else:
            agent.update_state(in_thread, edited, as_node="HumanInTheLoopMiddleware.after_model")
        agent.invoke(approve, in_thread)
    calls = 1 if forked else 2
    assert said(bank) == [["The weather in Bruges?", *[CALL_LINE, "rain in Ghent"] * calls, "Rain."]]


def test_a_message_edited_in_place_is_remembered_with_its_new_words(bank: MemoryBank, server: ScriptedServer) -> None:
    agent = agent_of(server, bank)
    two_turns(agent)
    agent.invoke(user("Good."), in_thread)
    agent.update_state(in_thread, {"messages": [HumanMessage("My cat is called Lila.", id="u2")]})
    agent.invoke(user("What is my cat called?"), in_thread)
    # What was there is not recalled in the run that finds it changed, either.
    assert "Mimi" not in server.requests[-1].prompt
    texts = said(bank)
    assert ["My cat is called Lila.", "Answer 1."] in texts
    assert "Mimi" not in str(texts)
    assert len(texts) == 4


def test_an_answer_is_made_anew_after_an_earlier_message_was_edited(bank: MemoryBank, server: ScriptedServer) -> None:
    agent = agent_of(server, bank)
    two_turns(agent)
    agent.update_state(in_thread, {"messages": [HumanMessage("I live in Bruges.", id="u1")]})
    agent.invoke(user("Good."), in_thread)
    agent.invoke(None, checkpoint(agent, 5, "model"))
    assert said(bank) == [
        ["I live in Bruges.", "Answer 0."],
        ["My cat is called Mimi.", "Answer 1."],
        ["Good.", "Answer 3."],
    ]
    # The first message has its earlier words at this checkpoint.
    agent.invoke(None, checkpoint(agent, 3, "model"))
    assert said(bank) == [["I live in Ghent.", "Answer 0."], ["My cat is called Mimi.", "Answer 4."]]


@pytest.mark.slow
@pytest.mark.parametrize("write", ["background", "inline"])
def test_deleted_messages_are_forgotten(bank: MemoryBank, server: ScriptedServer, write: Any) -> None:
    agent = agent_of(server, bank, write=write)
    answers = [message.id for message in two_turns(agent) if message.type == "ai"]
    agent.invoke(user("Good."), in_thread)
    agent.update_state(in_thread, {"messages": [RemoveMessage(id="u2"), RemoveMessage(id=answers[1])]})
    agent.invoke(user("What is my cat called?"), in_thread)
    assert said(bank) == [
        ["I live in Ghent.", "Answer 0."],
        ["Good.", "Answer 2."],
        ["What is my cat called?", "Answer 3."],
    ]
    agent.update_state(in_thread, {"messages": [RemoveMessage(id=answers[0])]})
    agent.invoke(user("Where do I live?"), in_thread)
    assert ["I live in Ghent."] in said(bank)
    agent.update_state(in_thread, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})
    agent.invoke(user("Anew."), in_thread)
    assert [texts[0] for texts in said(bank)] == ["Anew."]


def test_the_answer_to_the_last_message_goes_with_it(bank: MemoryBank, server: ScriptedServer) -> None:
    agent = agent_of(server, bank)
    two_turns(agent)
    agent.update_state(in_thread, {"messages": [RemoveMessage(id="u2")]})
    agent.invoke(user("Good."), in_thread)
    agent.invoke(user("What now?"), in_thread)
    assert said(bank) == [["I live in Ghent.", "Answer 0."], ["Good.", "Answer 2."], ["What now?", "Answer 3."]]


def test_a_branch_is_left_behind_after_its_last_message_and_an_older_answer_were_deleted(bank: MemoryBank) -> None:
    with ScriptedServer([*(f"Answer {number}." for number in range(4)), Fault(500), "Answer 4."]) as server:
        agent = agent_of(server, bank)
        agent.invoke(user("I live in Ghent.", id="u1"), in_thread)
        one, [_, answer] = checkpoint(agent, 2), agent.get_state(in_thread).values["messages"]
        agent.invoke(None, checkpoint(agent, 1, "model"))
        other = agent.get_state(in_thread).config
        agent.invoke(user("My cat is called Mimi.", id="u2"), one)
        agent.invoke(user("Good.", id="u3"), in_thread)
        agent.update_state(in_thread, {"messages": [RemoveMessage(id=each) for each in (answer.id, "u3")]})
        with pytest.raises(Exception, match="500"):
            agent.invoke(user("Which one?"), in_thread)
        agent.invoke(user("I have a dog, too."), other)
        assert said(bank) == [["I live in Ghent.", "Answer 1."], ["I have a dog, too.", "Answer 4."]]


@pytest.mark.parametrize("together", [False, True], ids=["of another turn", "of the same turn"])
def test_an_answer_stands_with_its_question_when_a_checkpoint_brings_back_what_was_deleted(
    bank: MemoryBank, server: ScriptedServer, together: bool
) -> None:
    agent = agent_of(server, bank)
    if together:
        words = [HumanMessage("I live in Ghent.", id="u1"), HumanMessage("My cat is called Mimi.", id="u2")]
        agent.invoke({"messages": words}, in_thread)
    else:
        two_turns(agent)
    old = checkpoint(agent, 2 if together else 3, "model")
    agent.update_state(in_thread, {"messages": [RemoveMessage(id="u1")]})
    agent.invoke(user("Good."), in_thread)
    agent.invoke(None, old)
    agent.invoke(user("And I have a dog."), in_thread)
    *answers, last = [f"Answer {number}." for number in range(len(server.requests))]
    assert said(bank)[-2:] == [["My cat is called Mimi.", answers[-1]], ["And I have a dog.", last]]
    assert "Ghent" not in str(said(bank))


def test_what_is_retracted_may_be_marked_instead(bank: MemoryBank, server: ScriptedServer) -> None:
    agent = agent_of(server, bank, retracted="mark")
    two_turns(agent)
    agent.invoke(user("My cat is called Lila."), checkpoint(agent, 2))
    assert said(bank) == [["I live in Ghent.", "Answer 0."], ["My cat is called Lila.", "Answer 2."]]
    [turn] = bank.turns(ANN, "friday/retracted")
    assert [message.line for message in turn.messages] == [
        "user: My cat is called Mimi.",
        "assistant: Answer 1.",
    ]
    assert [(mark.turn_id, mark.kind) for mark in bank.corrections.marks(ANN)] == [(turn.id, "retracted")]
    block = bank.recall(ANN, "Mimi the cat", token_budget=300).text
    assert "Answer 1.\n→ (retracted on" in block
    assert "Mimi" not in bank.recall(ANN, "Mimi the cat", token_budget=300, history=False).text
    bank.correct(ANN, bank.turns(ANN, "friday")[0], "I live in Bruges.")
    assert retract_thread(bank, ANN, "friday", "forget") == 4
    assert bank.sessions(ANN) == []


@pytest.mark.slow
@both
@pytest.mark.parametrize("retracted", ["forget", "mark"])
async def test_a_deleted_thread_is_retracted_by_its_name(
    bank: MemoryBank, server: ScriptedServer, how: str, retracted: Any
) -> None:
    memory = SecomMiddleware(bank, scope_keys=("user_id",), write="inline", retracted=retracted)
    agent = create_agent(HttpAgentModel(base_url=server.base_url), middleware=[memory], checkpointer=InMemorySaver())
    for thread in ("friday", "friday evening"):
        agent.invoke(user("I live in Ghent."), {"configurable": {"thread_id": thread, "user_id": "ann"}})
    if how == "invoke":
        assert memory.retract_thread("friday", scope=ANN) == 1
        assert memory.retract_thread("friday", scope=ANN) == 0
    else:
        assert await memory.aretract_thread("friday", scope=ANN) == 1
    assert said(bank) == []
    assert len(said(bank, "friday evening")) == 1
    assert len(said(bank, "friday/retracted")) == (retracted == "mark")
    with pytest.raises(InvalidScope):
        memory.retract_thread("friday")


def test_a_thread_is_retracted_without_those_whose_names_begin_with_its_own(bank: MemoryBank) -> None:
    memory = SecomMiddleware(bank, scope=ANN, write="off")
    sub_agents = f"work/{conversation_name([HumanMessage('Find the file.')])}"
    for name in ("work", sub_agents, "work/2024", "work/chat-about-bikes", "work2", "7"):
        bank.remember(ANN, [("user", f"Said in {name}.")], session=name, close=True)
    assert memory.retract_thread("work", scope=ANN) == 2
    assert sorted(bank.sessions(ANN)) == ["7", "work/2024", "work/chat-about-bikes", "work2"]
    assert memory.retract_thread(7, scope=ANN) == 1
    for nameless in (None, ""):
        with pytest.raises(InvalidInput, match="needs its name, the thread_id of its runs, got"):
            memory.retract_thread(nameless, scope=ANN)  # type: ignore[arg-type]
    assert len(bank.sessions(ANN)) == 3


# -- what is not left behind ------------------------------------------------------------------------------------------


class Trim(AgentMiddleware[Any, Any, Any]):
    """Keeps a thread short, as LangChain's pages show it."""

    def __init__(self, when: str) -> None:
        self.when = when

    def _trimmed(self, when: str, messages: list[Any]) -> Any:
        doomed = messages[:-2] if when == self.when and len(messages) > 3 else []
        return {"messages": [RemoveMessage(id=message.id) for message in doomed]} if doomed else None

    def before_model(self, state: Any, runtime: Any) -> Any:
        return self._trimmed("before", state["messages"])

    def after_model(self, state: Any, runtime: Any) -> Any:
        return self._trimmed("after", state["messages"])

    def after_agent(self, state: Any, runtime: Any) -> Any:
        return self._trimmed("end", state["messages"])


def summing_up() -> SummarizationMiddleware:
    summarizer = RunnableLambda(lambda messages: "A summary.")
    unused = FakeListChatModel(responses=["unused"])
    return SummarizationMiddleware(unused, trigger=("messages", 4), keep=("messages", 1), summarizer=summarizer)


TRIMMING = [lambda: Trim("before"), lambda: Trim("after"), lambda: Trim("end"), summing_up]


@pytest.mark.slow
@pytest.mark.parametrize("shorten", TRIMMING)
def test_what_is_taken_out_to_keep_a_thread_short_stays(bank: MemoryBank, server: ScriptedServer, shorten: Any) -> None:
    agent = agent_of(server, bank, shorten())
    for number in range(6):
        agent.invoke(user(f"Fact {number}."), in_thread)
    assert said(bank) == [[f"Fact {number}.", f"Answer {number}."] for number in range(6)]


def test_what_was_taken_out_stays_where_the_rest_of_the_thread_was_forgotten(
    bank: MemoryBank, server: ScriptedServer
) -> None:
    agent = agent_of(server, bank, Trim("before"))
    for number in range(4):
        agent.invoke(user(f"Fact {number}."), in_thread)
    shown = [turn.id for turn in bank.turns(ANN, "friday", last=2)]
    bank.forget(ANN, turn_ids=shown)
    agent.invoke(user("Fact 4."), in_thread)
    assert [texts[0] for texts in said(bank)] == ["Fact 0.", "Fact 1.", "Fact 4."]


def test_a_turn_that_was_summed_up_while_it_waited_stays(bank: MemoryBank) -> None:
    asking = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    approve = Command(resume={"decisions": [{"type": "approve"}]})
    with ScriptedServer(["Fine.", CALL, CALL, "Done."]) as server:
        agent = agent_of(server, bank, summing_up(), asking)
        agent.invoke(user("Fact."), in_thread)
        agent.invoke(user("Weather?"), in_thread)
        agent.invoke(approve, in_thread)
        agent.invoke(approve, in_thread)
    assert [texts[0] for texts in said(bank)] == ["Fact.", "Weather?"]
    assert said(bank)[1][-1] == "Done."
    assert str(said(bank)).count("rain in Ghent") == 2


LENA, PORTO, SHORTER = "Write a poem for my sister Lena.", "She lives in Porto.", "Make it shorter."


def in_graph(first: Any, second: Any) -> Any:
    """A graph of two steps, one after the other, and a checkpointer of its own."""
    graph = StateGraph(MessagesState).add_node("first", first).add_node("second", second)
    return graph.add_edge(START, "first").add_edge("first", "second").compile(checkpointer=InMemorySaver())


@pytest.mark.slow
@both
@pytest.mark.parametrize("durability", ["async", "sync", "exit"])
async def test_a_branch_of_a_graph_around_an_agent_is_followed_whenever_checkpoints_are_written(
    bank: MemoryBank, server: ScriptedServer, how: str, durability: str
) -> None:
    graph = in_graph(lambda _: {}, agent_of(server, bank, saver=False))
    for text in ("I live in Ghent.", "My cat is called Mimi.", "And I have a dog."):
        await run_agent(how, graph, user(text), in_thread, durability=durability)
    await run_agent(how, graph, user("I have no pets."), checkpoint(graph, 2), durability=durability)
    await run_agent(how, graph, user("Good."), in_thread, durability=durability)
    assert [texts[0] for texts in said(bank)] == ["I live in Ghent.", "I have no pets.", "Good."]


@pytest.mark.slow
@both
@pytest.mark.parametrize("handed", [slice(1), slice(-2, -1), slice(0, None, 2)], ids=["first", "question", "user's"])
async def test_a_node_may_hand_an_agent_some_of_the_messages(
    bank: MemoryBank, server: ScriptedServer, how: str, handed: slice
) -> None:
    chat, judge = agent_of(server, bank, saver=False), agent_of(server, bank, saver=False)

    def judging(state: MessagesState) -> dict[str, Any]:
        judge.invoke({"messages": state["messages"][handed]})
        return {}

    async def ajudging(state: MessagesState) -> dict[str, Any]:
        await judge.ainvoke({"messages": state["messages"][handed]})
        return {}

    graph = in_graph(chat, RunnableLambda(judging, ajudging))
    for text in (LENA, PORTO, SHORTER):
        await run_agent(how, graph, user(text), in_thread)
    assert [turn[:2] for turn in said(bank)] == [[LENA, "Answer 0."], [PORTO, "Answer 2."], [SHORTER, "Answer 4."]]


@pytest.mark.slow
@both
@pytest.mark.parametrize("kept", [[-1], [0, -1]], ids=["last", "first and last"])
async def test_a_graph_may_shorten_its_thread(
    bank: MemoryBank, server: ScriptedServer, how: str, kept: list[int]
) -> None:
    def shorten(state: MessagesState) -> dict[str, Any]:
        ids = {str(state["messages"][place].id) for place in kept}
        return {"messages": [RemoveMessage(str(each.id)) for each in state["messages"] if each.id not in ids]}

    graph = in_graph(RunnableLambda(shorten), agent_of(server, bank, saver=False))
    for text in (LENA, PORTO, SHORTER):
        await run_agent(how, graph, user(text), in_thread)
    assert said(bank) == [[LENA, "Answer 0."], [PORTO, "Answer 1."], [SHORTER, "Answer 2."]]


@pytest.mark.slow
@both
async def test_a_node_may_change_words_on_their_way_to_an_agent(
    bank: MemoryBank, server: ScriptedServer, how: str
) -> None:
    chat, judge = agent_of(server, bank, saver=False), agent_of(server, bank, saver=False, write="inline")

    def changed(state: MessagesState) -> Any:
        return {"messages": [HumanMessage(f"Judge: {state['messages'][0].text}", id=state["messages"][0].id)]}

    judging = RunnableLambda(changed) | judge | RunnableLambda(lambda _: {})
    await run_agent(how, in_graph(chat, judging), user(LENA), in_thread)
    assert said(bank)[0] == [LENA, "Answer 0."]


@pytest.mark.slow
@both
async def test_agents_in_a_graph_follow_its_thread(bank: MemoryBank, server: ScriptedServer, how: str) -> None:
    graph = in_graph(agent_of(server, bank, saver=False), agent_of(server, bank, saver=False))
    for text in (LENA, PORTO):
        await run_agent(how, graph, user(text, id=text), in_thread)
    await run_agent(how, graph, None, checkpoint(graph, 4, "first"))
    assert said(bank) == [[LENA, "Answer 0.", "Answer 1."], [PORTO, "Answer 4.", "Answer 5."]]
    graph.update_state(in_thread, user("She lives in Faro.", id=PORTO))
    await run_agent(how, graph, user(SHORTER), in_thread)
    assert [turn[0] for turn in said(bank)] == [LENA, "She lives in Faro.", SHORTER]


@pytest.mark.slow
@both
async def test_users_who_share_a_thread_of_a_graph_share_no_memory(
    bank: MemoryBank, server: ScriptedServer, how: str
) -> None:
    model, memory = HttpAgentModel(base_url=server.base_url), SecomMiddleware(bank, write="inline", on_error="raise")
    graph = in_graph(*(create_agent(model, middleware=[memory]) for _ in range(2)))
    for name, text in (("ann", "My PIN is 1234."), ("bob", "I like tea."), ("ann", "And I coffee.")):
        await run_agent(how, graph, user(text), {"configurable": {"thread_id": "shared", "user_id": name}})
    told = {name: [turn.messages[0].text for turn in bank.turns((name,))] for name in ("ann", "bob")}
    assert told == {"ann": ["My PIN is 1234.", "And I coffee."], "bob": ["I like tea."]}
    assert "Answer 0." not in str(bank.turns(("bob",)))


@pytest.mark.slow
@both
async def test_agents_with_threads_of_their_own_share_a_conversation(
    bank: MemoryBank, server: ScriptedServer, how: str
) -> None:
    poet, critic = agent_of(server, bank), agent_of(server, bank)
    for agent, text in ((poet, LENA), (critic, PORTO), (poet, SHORTER), (critic, "And?")):
        await run_agent(how, agent, user(text), in_thread)
    assert [turn[0] for turn in said(bank)] == [LENA, PORTO, SHORTER, "And?"]


def test_a_thread_whose_checkpoints_were_lost_keeps_its_memory(bank: MemoryBank, server: ScriptedServer) -> None:
    two_turns(agent_of(server, bank))
    agent_of(server, bank).invoke(user("I am back."), in_thread)
    assert [texts[0] for texts in said(bank)] == ["I live in Ghent.", "My cat is called Mimi.", "I am back."]


def test_what_cannot_be_retracted_costs_a_warning_and_is_tried_again(
    bank: MemoryBank, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise StoreError("the disk is full")

    agent = agent_of(server, bank, on_error="warn")
    two_turns(agent)
    fork = checkpoint(agent, 2)
    with monkeypatch.context() as broken:
        broken.setattr(bank, "forget", fails)
        with pytest.warns(DegradedWarning, match="retracting what the thread has left behind.*the disk is full"):
            agent.invoke(user("My cat is called Lila."), fork)
    assert "Mimi" in str(said(bank))


def test_reading_on_costs_no_more_than_the_latest_turn(
    bank: MemoryBank, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = agent_of(server, bank)
    two_turns(agent)
    monkeypatch.setattr(bank, "forget", None)
    agent.invoke(user("Good."), in_thread)
    assert len(said(bank)) == 3


# -- sent again -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@both
@pytest.mark.parametrize("ids", [True, False], ids=["under its id", "under new ids"])
@pytest.mark.parametrize("first", [[Fault(500)], [CALL, Fault(500)]], ids=["no answer", "after a call"])
async def test_what_is_sent_again_after_a_failure_is_stored_once(
    bank: MemoryBank, how: str, ids: bool, first: list[Any]
) -> None:
    import openai

    with ScriptedServer([*first, Fault(500), "In Ghent."]) as server:
        agent = agent_of(server, bank)
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                await run_agent(how, agent, user("Where do I live?", **({"id": "u1"} if ids else {})), in_thread)
        await run_agent(how, agent, user("Where do I live?", **({"id": "u1"} if ids else {})), in_thread)
    [turn] = said(bank)
    assert turn == ["Where do I live?", *([CALL_LINE, "rain in Ghent"] if len(first) == 2 else []), "In Ghent."]


class Dated(InMemorySaver):
    """Makes its checkpoints so many days ago."""

    days = 21

    def put(self, config: Any, checkpoint: Any, *rest: Any) -> Any:
        at = datetime.fromisoformat(checkpoint["ts"]) - timedelta(days=self.days)
        dated: Any = {**checkpoint, "ts": at.isoformat()}
        return super().put(config, dated, *rest)


def days_ago(bank: MemoryBank) -> list[list[int]]:
    now = datetime.now(timezone.utc)
    return [[(now - (each.at or now)).days for each in turn.messages] for turn in bank.turns(ANN, "friday")]


@both
async def test_what_an_agent_was_told_before_it_had_memory_is_of_its_day(
    bank: MemoryBank, server: ScriptedServer, how: str
) -> None:
    saver = Dated()
    plain: Any = create_agent(HttpAgentModel(base_url=server.base_url), checkpointer=saver)
    in_march = "2026-03-01T12:00:00Z"
    await run_agent(how, plain, user("Yesterday I moved to Ghent."), in_thread)
    saver.days = 7
    await run_agent(how, plain, user("I have a cat.", additional_kwargs={"timestamp": in_march}), in_thread)
    saver.days = 0
    agent = agent_of(server, bank, saver=saver)
    await run_agent(how, agent, user("When did I move?"), in_thread)
    await run_agent(how, agent, user("Where?"), in_thread)
    [moved, (_, answer), *today] = days_ago(bank)
    assert (moved, answer, today) == ([21, 21], 7, [[0, 0], [0, 0]])
    assert str(bank.turns(ANN, "friday")[1].messages[0].at).startswith("2026-03-01 12:00")


def test_what_a_failed_run_was_told_is_of_its_day(bank: MemoryBank) -> None:
    import openai

    saver = Dated()
    with ScriptedServer([Fault(500), "In Ghent."]) as server:
        agent = agent_of(server, bank, saver=saver)
        with pytest.raises(openai.InternalServerError):
            agent.invoke(user("Yesterday I moved to Ghent."), in_thread)
        saver.days = 0
        agent.invoke(user("Where do I live?"), in_thread)
    assert days_ago(bank) == [[21], [0, 0]]


@pytest.mark.parametrize("turns", [1, 4])
def test_what_a_failed_run_was_told_is_of_its_day_though_a_branch_was_followed_meanwhile(
    bank: MemoryBank, turns: int
) -> None:
    import openai

    saver = Dated()
    with ScriptedServer(["Hello.", Fault(500), *["Noted."] * turns, "In Ghent."]) as server:
        agent = agent_of(server, bank, saver=saver)
        agent.invoke(user("Hello."), in_thread)
        branch = checkpoint(agent, 2)
        with pytest.raises(openai.InternalServerError):
            agent.invoke(user("Yesterday I moved to Ghent."), in_thread)
        failed = checkpoint(agent, 3)
        saver.days = 5
        for each in range(turns):
            agent.invoke(user(f"Message {each}."), in_thread if each else branch)
        saver.days = 0
        agent.invoke(user("Where do I live?"), failed)
    assert days_ago(bank)[-2:] == [[21], [0, 0]]


class Counted(Dated):
    """Knows how many checkpoints were read when they were listed."""

    read = 0

    def list(self, *args: Any, **kwargs: Any) -> Any:
        for each in super().list(*args, **kwargs):
            self.read += 1
            yield each


@pytest.mark.parametrize("days", [21, 0], ids=["failed earlier", "failed just now"])
def test_in_a_long_thread_few_checkpoints_tell_when_a_failed_run_was_told(bank: MemoryBank, days: int) -> None:
    import openai

    saver = Counted()
    saver.days = days
    with ScriptedServer([*(f"Answer {each}." for each in range(20)), Fault(500), "In Ghent."]) as server:
        agent = agent_of(server, bank, saver=saver)
        for each in range(20):
            agent.invoke(user(f"Message {each}."), in_thread)
        with pytest.raises(openai.InternalServerError):
            agent.invoke(user("Yesterday I moved to Ghent."), in_thread)
        saver.days, saver.read = 0, 0
        agent.invoke(user("Where do I live?"), in_thread)
    assert days_ago(bank)[-2:] == [[days], [0, 0]]
    assert saver.read <= 40, "of more than a hundred"


def test_in_a_long_thread_few_checkpoints_tell_that_an_answer_is_made_anew(
    bank: MemoryBank, server: ScriptedServer
) -> None:
    saver = Counted()
    saver.days = 0
    agent = agent_of(server, bank, saver=saver)
    for each in range(15):
        agent.invoke(user(f"Message {each}."), in_thread)
    before = checkpoint(agent, 29, "model")
    saver.read = 0
    agent.invoke(None, before)
    assert said(bank)[-2:] == [["Message 13.", "Answer 13."], ["Message 14.", "Answer 15."]]
    assert saver.read <= 10, "of seventy"


async def close_the_page(server: ScriptedServer, agent: Any, text: str) -> None:
    """Say something, and read no further once the model has begun."""
    run, before = asyncio.create_task(agent.ainvoke(user(text), in_thread)), len(server.requests)
    while len(server.requests) == before:
        await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_what_was_said_before_the_page_was_closed_is_remembered_once(bank: MemoryBank) -> None:
    slow = Answer("Oh!", delay=5)
    with ScriptedServer([slow, slow, "How nice."]) as server:
        agent = agent_of(server, bank)
        for _ in range(2):
            await close_the_page(server, agent, "I moved to Ghent.")
            assert said(bank) == [["I moved to Ghent."]]
        await agent.ainvoke(user("I moved to Ghent."), in_thread)
    assert said(bank) == [["I moved to Ghent.", "How nice."]]


async def test_what_was_said_before_the_page_was_closed_may_be_edited(bank: MemoryBank) -> None:
    with ScriptedServer(["Hi.", Answer("Oh!", delay=5), "How nice."]) as server:
        agent = agent_of(server, bank)
        await agent.ainvoke(user("Hello."), in_thread)
        before = checkpoint(agent, 2)
        await close_the_page(server, agent, "I moved to Gent.")
        await agent.ainvoke(user("I moved to Ghent."), before)
    assert said(bank) == [["Hello.", "Hi."], ["I moved to Ghent.", "How nice."]]


@pytest.mark.parametrize("without", [{"saver": False}, {"write": "off"}], ids=["a checkpointer", "writing"])
async def test_without_a_thread_what_was_said_before_the_page_was_closed_is_not_remembered(
    bank: MemoryBank, without: Any
) -> None:
    with ScriptedServer(Answer("Oh!", delay=5)) as server:
        await close_the_page(server, agent_of(server, bank, **without), "I moved to Ghent.")
    assert said(bank) == []


async def test_a_page_is_closed_though_what_was_said_cannot_be_stored(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise StoreError("the disk is full")

    with ScriptedServer(Answer("Oh!", delay=5)) as server:
        monkeypatch.setattr(bank, "remember", broken)
        await close_the_page(server, agent_of(server, bank), "I moved to Ghent.")


def test_who_says_the_same_after_an_answer_says_it_twice(bank: MemoryBank, server: ScriptedServer) -> None:
    agent = agent_of(server, bank)
    for _ in range(2):
        agent.invoke(user("Yes."), in_thread)
    assert said(bank) == [["Yes.", "Answer 0."], ["Yes.", "Answer 1."]]


@tool(return_direct=True)
def add(thing: str) -> str:
    """Add a thing to the basket."""
    return f"added: {thing}"


@pytest.mark.parametrize("structured", [False, True], ids=["return_direct", "ToolStrategy"])
@pytest.mark.parametrize("checkpointed", [True, False])
def test_who_says_the_same_after_a_turn_that_a_tool_ended_says_it_twice(
    bank: MemoryBank, structured: bool, checkpointed: bool
) -> None:
    call = ToolCall("Place", {"city": "Ghent"}) if structured else ToolCall("add", {"thing": "a bottle"})
    with ScriptedServer(Answer(tool_calls=(call,))) as server:
        agent = create_agent(
            HttpAgentModel(base_url=server.base_url),
            [add],
            middleware=[SecomMiddleware(bank, scope=ANN, write="inline", on_error="raise")],
            checkpointer=InMemorySaver() if checkpointed else None,
            response_format=ToolStrategy(Place) if structured else None,
        )
        thread: list[Any] = []
        for _ in range(3):
            asked = user("One more.")["messages"]
            thread = agent.invoke({"messages": asked if checkpointed else thread + asked}, in_thread)["messages"]
    assert [texts[0] for texts in said(bank)] == ["One more."] * 3


@tool(return_direct=True)
def recite(poem: str) -> str:
    """Recite a poem."""
    return f"{poem} begins. {'The mill turns by the river. ' * 40}The middle. {'A ferry waits. ' * 40}The end."


@both
@pytest.mark.parametrize("structured", [False, True], ids=["return_direct", "ToolStrategy"])
@pytest.mark.parametrize("tool_lines", ["brief", "omit"])
@pytest.mark.parametrize("sent", ["checkpoints", "whole", "without metadata"])
async def test_an_answer_by_a_tool_is_kept_whole_and_stored_once(
    bank: MemoryBank, how: str, tool_lines: Any, sent: str, structured: bool
) -> None:
    poem = str(recite.invoke({"poem": "Ghent"}))
    call = ToolCall("Place", {"city": poem}) if structured else ToolCall("recite", {"poem": "Ghent"})
    with ScriptedServer(Answer(tool_calls=(call,))) as server:
        agent = create_agent(
            HttpAgentModel(base_url=server.base_url),
            [recite],
            middleware=[SecomMiddleware(bank, scope=ANN, write="inline", tool_lines=tool_lines, on_error="raise")],
            checkpointer=InMemorySaver() if sent == "checkpoints" else None,
            response_format=ToolStrategy(Place) if structured else None,
        )
        thread: list[Any] = []
        for text in ("A poem, please.", "Thank you."):
            asked = user(text)["messages"]
            [state] = await run_agent(how, agent, {"messages": [*thread, *asked]}, in_thread)
            if sent != "checkpoints":
                bare = {"response_metadata": {}} if sent == "without metadata" else {}
                thread = [each.model_copy(update=bare) for each in state["messages"]]
    called = [] if tool_lines == "omit" else ['[calls recite({"poem": "Ghent"})]']
    answered = [f'[calls Place({{"city": "{poem}"}})]'] if structured else [*called, poem]
    assert said(bank) == [["A poem, please.", *answered], ["Thank you.", *answered]]


@both
@pytest.mark.parametrize("tool_lines", ["brief", "omit"])
async def test_a_result_that_is_the_answer_is_known_where_a_page_sends_it_as_the_models_words(
    bank: MemoryBank, how: str, tool_lines: Any
) -> None:
    with ScriptedServer([Answer(tool_calls=(ToolCall("recite", {"poem": "Ghent"}),)), Answer("Gladly.")]) as server:
        agent = create_agent(
            HttpAgentModel(base_url=server.base_url),
            [recite],
            middleware=[SecomMiddleware(bank, scope=ANN, write="inline", tool_lines=tool_lines, on_error="raise")],
        )
        asked = user("A poem, please.")["messages"]
        [state] = await run_agent(how, agent, {"messages": asked}, in_thread)
        shown = AIMessage(state["messages"][-1].text)
        await run_agent(how, agent, {"messages": [*asked, shown, *user("Thank you.")["messages"]]}, in_thread)
    called = [] if tool_lines == "omit" else ['[calls recite({"poem": "Ghent"})]']
    assert said(bank) == [["A poem, please.", *called, shown.text], ["Thank you.", "Gladly."]]


@pytest.mark.slow
def test_an_answer_that_waited_in_vain_is_remembered_each_time(bank: MemoryBank) -> None:
    asking = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    shall_i = Answer("Shall I look?", CALL.tool_calls)
    with ScriptedServer([shall_i, "As you like."] * 2) as server:
        agent = agent_of(server, bank, asking)
        for text in ("Will it rain?", "No, wait.") * 2:
            agent.invoke(user(text), in_thread)
    assert said(bank) == [["Will it rain?", f"Shall I look?\n{CALL_LINE}"], ["No, wait.", "As you like."]] * 2


def test_an_answer_that_a_caller_sends_again_without_its_id_is_stored_once(bank: MemoryBank) -> None:
    with ScriptedServer(["Two left.", "One left.", "None left.", "At nine."]) as server:
        agent = agent_of(server, bank)
        thread: list[Any] = []
        for number, text in enumerate(("One more.", "One more.", "One more.", "When do you open?")):
            answers = [each.model_copy(update={"id": None}) if each.text == "One left." else each for each in thread]
            thread = [*thread, HumanMessage(text, id=f"u{number}")]
            thread.append(agent.invoke({"messages": [*answers, thread[-1]]}, in_thread)["messages"][-1])
    assert said(bank) == [
        ["One more.", "Two left."],
        ["One more.", "One left."],
        ["One more.", "None left."],
        ["When do you open?", "At nine."],
    ]


# -- who said it ------------------------------------------------------------------------------------------------------


class Place(BaseModel):
    """A place."""

    city: str


def test_limits_and_failures_are_nobodys_words(bank: MemoryBank) -> None:
    limits = [
        (ModelCallLimitMiddleware(run_limit=1), "Model call limits exceeded"),
        (ToolCallLimitMiddleware(run_limit=1, exit_behavior="end"), "call limit reached"),
        (ToolCallLimitMiddleware(tool_name="weather", run_limit=1, exit_behavior="end"), "call limit reached"),
    ]
    for number, (limit, notice) in enumerate(limits):
        with ScriptedServer([CALL, Answer(tool_calls=(ToolCall("weather", {"city": "Rome"}, id="call-2"),))]) as server:
            state = agent_of(server, bank, limit).invoke(
                user("Weather?"), {"configurable": {"thread_id": f"t{number}"}}
            )
        assert notice in state["messages"][-1].text
        [turn] = said(bank, f"t{number}")
        assert turn[:3] == ["Weather?", CALL_LINE, "rain in Ghent"]
        assert "limit" not in str(turn)
    with ScriptedServer([Fault(500)] * 2) as server:
        bank.remember(ANN, [("user", "My umbrella is for bad weather.")], session="before", close=True)
        retrying = ModelRetryMiddleware(max_retries=1, on_failure="continue", initial_delay=0)
        state = agent_of(server, bank, retrying).invoke(user("Weather?"), {"configurable": {"thread_id": "failed"}})
    assert "Model call failed after" in state["messages"][-1].text
    assert said(bank, "failed") == [["Weather?"]]


@tool
def stocks(name: str) -> str:
    """The price of a stock."""
    raise ConnectionError(f"no price of {name}")


@both
async def test_what_is_said_of_a_call_that_failed_is_no_result(bank: MemoryBank, how: str) -> None:
    retrying = ToolRetryMiddleware(max_retries=1, initial_delay=0)
    calls = [("map", {"city": "Rome"}), ("weather", {"town": "Rome"}), ("stocks", {"name": "Acme"})]
    orders = [Answer(tool_calls=(ToolCall(*call, id=f"call-{number}"),)) for number, call in enumerate(calls)]
    with ScriptedServer([*orders, "It failed."]) as server:
        memory = SecomMiddleware(bank, scope=ANN, write="inline")
        model = HttpAgentModel(base_url=server.base_url)
        agent = create_agent(model, [weather, stocks], middleware=[memory, retrying])
        [state] = await run_agent(how, agent, user("Weather?"), in_thread)
    results = [message.text for message in state["messages"] if isinstance(message, ToolMessage)]
    assert "not a valid tool" in results[0]
    assert "Please fix the error" in results[1]
    assert "failed after 2 attempts" in results[2]
    [turn] = said(bank)
    assert [text.partition("(")[0] for text in turn] == [
        "Weather?",
        "[calls map",
        "[calls weather",
        "[calls stocks",
        "It failed.",
    ]


def test_what_is_said_of_a_call_that_was_not_made_is_no_result(bank: MemoryBank) -> None:
    plan = {"todos": [{"content": "Look out.", "status": "pending"}]}
    twice = Answer(tool_calls=(ToolCall("write_todos", plan, id="p1"), ToolCall("write_todos", plan, id="p2")))
    with ScriptedServer([twice, "It rains."]) as server:
        state = agent_of(server, bank, TodoListMiddleware()).invoke(user("Weather?"), in_thread)
    assert "should never be called multiple times" in state["messages"][2].text
    [turn] = bank.turns(ANN, "friday")
    assert [message.role for message in turn.messages] == ["user", "assistant", "assistant"]


def test_a_call_that_was_blocked_as_risky_has_no_result(bank: MemoryBank) -> None:
    decisions = pytest.importorskip("langchain_core.decisions", reason="needs langchain-core with decision models")
    module = pytest.importorskip("langchain.agents.middleware.auto_mode", reason="needs LangChain 1.5")

    class Careful(decisions.BaseDecisionModel):  # type: ignore[misc,name-defined]
        """Finds every call risky."""

        model: str = "careful"

        @property
        def _provider(self) -> str:
            return "test"

        def _classify(self, state: Any, questions: Any) -> Any:
            answers = {name: {"type": "noul", "noul": 0.9} for name in questions}
            return decisions.ClassifierResponse(model=self.model, answers=answers)

    with ScriptedServer([CALL, "I may not look."]) as server:
        blocking = module.AutoModeMiddleware(tools=[weather], classifier=Careful())
        state = agent_of(server, bank, blocking).invoke(user("Weather?"), in_thread)
    assert "classified as risky" in state["messages"][2].text
    assert said(bank) == [["Weather?", CALL_LINE, "I may not look."]]


def test_a_structured_answer_is_its_call_alone(bank: MemoryBank) -> None:
    answer = Answer(tool_calls=(ToolCall("Place", {"city": "Ghent"}, id="call-1"),))
    with ScriptedServer([answer]) as server:
        agent = agent_of(server, bank, response_format=ToolStrategy(Place))
        state = agent.invoke(user("Where do I live?"), in_thread)
    assert state["messages"][-1].text.startswith("Returning structured response")
    assert said(bank) == [["Where do I live?", '[calls Place({"city": "Ghent"})]']]


def test_what_a_reviewer_says_is_the_reviewers(bank: MemoryBank) -> None:
    asking = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    for number, more in enumerate([{"message": "No weather, please."}, {}]):
        config = {"configurable": {"thread_id": f"t{number}"}}
        with ScriptedServer([CALL, "All right."]) as server:
            agent = agent_of(server, bank, asking)
            agent.invoke(user("Weather?"), config)
            agent.invoke(Command(resume={"decisions": [{"type": "reject", **more}]}), config)
    [turn] = bank.turns(ANN, "t0")
    assert turn.messages[2].line == "reviewer: No weather, please."
    assert said(bank, "t1") == [["Weather?", CALL_LINE, "All right."]]


ALLERGY = f"{'Well, let me think. ' * 20}I cannot eat peanuts. {'That is all, I think. ' * 20}"


@pytest.mark.slow
@pytest.mark.parametrize("tool_lines", ["brief", "omit"])
@pytest.mark.parametrize("decision", ["reject", "respond"])
def test_what_a_person_says_in_the_place_of_a_tool_is_kept_whole(
    bank: MemoryBank, decision: str, tool_lines: Any
) -> None:
    asking = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    with ScriptedServer([CALL, "Noted."]) as server:
        agent = agent_of(server, bank, asking, tool_lines=tool_lines)
        agent.invoke(user("Plan a dinner."), in_thread)
        resume = Command(resume={"decisions": [{"type": decision, "message": ALLERGY}]})
        messages = agent.invoke(resume, in_thread)["messages"]
    if decision == "respond" and not messages[2].additional_kwargs:
        pytest.skip("needs LangChain 1.5.2: before, nothing tells a person's answer from a tool's")
    [turn] = bank.turns(ANN, "friday")
    lines = [] if tool_lines == "omit" else [f"assistant: {CALL_LINE}"]
    assert [each.line for each in turn.messages] == [
        "user: Plan a dinner.",
        *lines,
        f"reviewer: {ALLERGY}",
        "assistant: Noted.",
    ]


@both
async def test_a_call_that_a_reviewer_changed_is_the_one_that_was_made(bank: MemoryBank, how: str) -> None:
    skip_if_config_is_lost(how)
    asking = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    change: Any = {"type": "edit", "edited_action": {"name": "weather", "args": {"city": "Köln"}}}
    with ScriptedServer([CALL, "It rains."]) as server:
        agent = agent_of(server, bank, asking)
        await run_agent(how, agent, user("Weather?"), in_thread)
        await run_agent(how, agent, Command(resume={"decisions": [change]}), in_thread)
    [[_, call, result, _]] = said(bank)
    # LangChain before 1.5 changes the model's call.
    assert 'weather({"city": "Köln"})]' in (result if call == CALL_LINE else call)
    assert result.endswith("rain in Köln")
    assert "Note:" not in result


def test_a_changed_call_stands_before_its_result() -> None:
    note = "Note: a human reviewer replaced this tool call before it ran. Do not re-issue your original call. Executed "
    note += 'instead: weather with arguments {"city": "K\\u00f6ln"}.'
    results = (note, f"{note}\n\nTool response:\nrain {'and wind ' * 100}", "Note: a human reviewer replaced this.")
    texts = [to_message(ToolMessage(text, tool_call_id="call-1")).text for text in results]
    changed = '[a reviewer calls instead: weather({"city": "Köln"})]'
    assert texts[0] == changed
    assert texts[2] == results[2]
    assert texts[1].startswith(f"{changed}\nrain and wind")
    assert "…" in texts[1]
    assert texts[1].endswith("and wind ")
    call = AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "call-1"}], response_metadata={DIRECT: True})
    assert to_messages([call, ToolMessage(results[1], tool_call_id="call-1")])[1].text == (
        f"{changed}\nrain {'and wind ' * 100}"
    )


def test_a_model_may_say_what_a_notice_says() -> None:
    words = "Model call limits exceeded: that is what the log said."
    spoken = AIMessage(words, response_metadata={"model_name": "m"})
    assert [message.text for message in to_messages([spoken])] == [words]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to_messages([AIMessage(words), ToolMessage("Returning structured response: x", tool_call_id="1")]) == []
