"""What holds in every framework: conversations go on, recall from others, and survive a store that fails."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from frameworks import ALICE, BOB, LONG, Framework, broken, everything_said

from secom_core import MemoryBank
from secom_core.errors import DegradedWarning, InvalidInput, InvalidScope
from secom_core.testing import Answer, Fault, ScriptedServer, ToolCall


async def test_a_second_turn_sees_the_first_with_its_long_reply(framework: Framework, bank: MemoryBank) -> None:
    session = framework.session(bank, scope=ALICE, session="monday")
    with ScriptedServer([LONG, "Yes."]) as server:
        await framework.turn(server, "How do I bake sourdough?", session)
        again = framework.session(bank, scope=ALICE, session="monday")
        await framework.turn(server, "Is that all?", again)
    assert server.requests[1].messages == (
        ("system", "Help."),
        ("user", "How do I bake sourdough?"),
        ("assistant", LONG),
        ("user", "Is that all?"),
    )
    assert LONG.strip() in everything_said(bank)
    assert len(bank.turns(ALICE, "monday")) == 2


async def test_another_session_is_recalled_before_the_last_message_and_not_remembered_again(
    framework: Framework, bank: MemoryBank
) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit."), ("assistant", "Noted.")], session="sunday")
    bank.remember(BOB, [("user", "My dog is called Rex."), ("assistant", "Noted.")], session="sunday")
    session = framework.session(bank, scope=ALICE, session="monday")
    with ScriptedServer(["Biscuit.", "Still Biscuit."]) as server:
        for asked in ("What is my dog called?", "And my dog today?"):
            await framework.turn(server, asked, session)
    for request in server.requests:
        block = request.prompt[request.prompt.index("<memories>") :]
        assert "My dog is called Biscuit." in block
        assert "Rex" not in request.prompt
        assert request.prompt.count("<memories>") == 1
        assert request.prompt.endswith(("What is my dog called?", "And my dog today?"))
    assert "<memories>" not in everything_said(bank)
    assert [text for _, text in await framework.kept(session)] == [
        *("What is my dog called?", "Biscuit.", "And my dog today?", "Still Biscuit.")
    ]
    assert everything_said(bank).count("called Biscuit") == 1


async def test_what_others_remember_in_the_session_is_a_message(framework: Framework, bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "Hello."), ("assistant", "Hi.")], session="monday")
    session = framework.session(bank, scope=ALICE, session="monday")
    with ScriptedServer("I am.") as server:
        await framework.turn(server, "Are you there?", session)
    assert [text for _, text in server.requests[0].messages] == ["Help.", "Hello.", "Hi.", "Are you there?"]
    bank.remember(ALICE, [("user", "Bye.")], session="monday")
    assert await framework.kept(session) == [
        ("user", "Hello."),
        ("assistant", "Hi."),
        ("user", "Are you there?"),
        ("assistant", "I am."),
        ("user", "Bye."),
    ]


async def test_what_was_forgotten_is_not_recalled_when_the_same_is_asked_again(
    framework: Framework, bank: MemoryBank
) -> None:
    bank.remember(ALICE, [("user", "My PIN is 9911.")], session="sunday")
    session = framework.session(bank, scope=ALICE, session="monday")
    asked = "What is my PIN?"
    with ScriptedServer(Fault(status=400)) as server:
        for _ in range(2):
            with pytest.raises(Exception, match="400"):
                await framework.turn(server, asked, session)
            await framework.take_back(session)
            bank.forget(ALICE, session="sunday")
    assert ["9911" in request.prompt for request in server.requests] == [True, False]


async def test_a_store_that_fails_costs_memories_and_no_turn(
    framework: Framework, bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    session = framework.session(bank, scope=ALICE, session="monday")
    with ScriptedServer("I do not know.") as server, monkeypatch.context() as patch:
        for name in ("recall", "turns", "remember"):
            patch.setattr(MemoryBank, name, broken)
        with pytest.warns(DegradedWarning, match="the disk is full"):
            assert await framework.turn(server, "What is my dog called?", session) == "I do not know."
        assert "<memories>" not in server.requests[0].prompt
    with ScriptedServer("Biscuit.") as server:
        await framework.turn(server, "And now?", session)
    said = server.requests[0].prompt
    assert said.index("What is my dog called?") < said.index("I do not know.") < said.index("And now?")
    assert "What is my dog called?\nI do not know.\nAnd now?" in everything_said(bank)


async def test_the_loop_is_not_blocked(framework: Framework, bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    recall = MemoryBank.recall

    def seen(*given: Any, **more: Any) -> Any:
        threads.append(threading.get_ident())
        return recall(*given, **more)

    monkeypatch.setattr(MemoryBank, "recall", seen)
    with ScriptedServer("Hi.") as server:
        await framework.turn(server, "Hello.", framework.session(bank, scope=ALICE))
    assert threads
    assert threading.get_ident() not in threads


async def test_the_scope_of_tools_comes_from_the_run_and_from_no_model(framework: Framework, bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    tools = framework.tools(bank, scope=lambda who: ("acme", who), tools=["recall", "remember"])
    calls: list[Any] = [
        Answer(None, (ToolCall("recall", {"query": "dog"}),)),
        Answer(None, (ToolCall("recall", {"query": "dog", "scope": ["acme", "alice"]}),)),
        Answer(None, (ToolCall("remember", {"text": "Bob sails."}),)),
        "Done.",
    ]
    with ScriptedServer(calls) as server:
        await framework.turn(server, "My dog?", tools=tools, who="bob")
    results = [text for role, text in server.requests[-1].messages if role == "tool"]
    assert "Biscuit" not in "".join(results)
    assert "scope: Extra inputs are not permitted" in results[1]
    assert "Bob sails." in everything_said(bank, BOB)
    assert "Bob sails." not in everything_said(bank)


async def test_a_tool_finds_what_the_scope_holds(framework: Framework, bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    with ScriptedServer([Answer(None, (ToolCall("recall", {"query": "dog"}),)), "Biscuit."]) as server:
        await framework.turn(server, "My dog?", tools=framework.tools(bank, scope=ALICE))
    assert server.requests[0].tools == ("recall", "read_the_rest")
    assert "called Biscuit" in server.requests[1].text


async def test_half_a_character_that_is_remembered_ends_no_run(framework: Framework, bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "I like \ud83d apples.")], session="sunday")
    bank.remember(ALICE, [("user", "And \ud83d pears.")], session="monday")
    recalled = Answer(None, (ToolCall("recall", {"query": "apples"}),))
    with ScriptedServer([recalled, "Apples."]) as server:
        session = framework.session(bank, scope=ALICE, session="monday")
        await framework.turn(server, "Which fruit do I like?", session, framework.tools(bank, scope=ALICE))
    assert "I like \ufffd apples." in server.requests[0].prompt
    assert "And \ufffd pears." in server.requests[0].prompt
    assert "I like \ufffd apples." in server.requests[1].messages[-1][1]


@pytest.mark.parametrize("arguments", ['{"query": "dog", "ctx": 1}', '{"query": "dog", "context": 1}', "[1]", "null"])
async def test_arguments_that_no_tool_takes_do_not_end_the_run(
    framework: Framework, bank: MemoryBank, arguments: str
) -> None:
    call = Answer(None, (ToolCall("recall", arguments),))
    with ScriptedServer([call, "I cannot say."]) as server:
        assert await framework.turn(server, "My dog?", tools=framework.tools(bank, scope=ALICE)) == "I cannot say."
    [(role, told)] = server.requests[1].messages[-1:]
    assert role == "tool"
    assert "not permitted" in told or "should be" in told


def test_bad_arguments_are_refused(framework: Framework, bank: MemoryBank) -> None:
    with pytest.raises(InvalidScope):
        framework.session(bank, scope="alice")
    with pytest.raises(InvalidInput):
        framework.session(bank, scope=ALICE, session=7)
    with pytest.raises(InvalidInput, match="leave it out for a new conversation"):
        framework.session(bank, scope=ALICE, session="")
    with pytest.raises(InvalidInput):
        framework.session("memory.db", scope=ALICE)
    with pytest.raises(InvalidInput, match="tools are some of 'recall'"):
        framework.tools(bank, scope=ALICE, tools=["erase"])
    for wrong in ("recall", None, [], [["recall"]]):
        with pytest.raises(InvalidInput, match=re.escape(f"got {wrong!r}")):
            framework.tools(bank, scope=ALICE, tools=wrong)
    with pytest.raises(InvalidInput, match=r"give a list: tools=\['recall'\]"):
        framework.tools(bank, scope=ALICE, tools="recall")
    with pytest.raises(InvalidScope, match="function of the run's context"):
        framework.tools(bank, scope=())
