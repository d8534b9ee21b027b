"""The session, the recall and the tools for the OpenAI Agents SDK, over real HTTP against the scripted server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="needs the extra openai-agents")

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from agents.memory import Session, SessionSettings
from frameworks import ALICE, LONG, broken, everything_said
from openai import AsyncOpenAI

from openai_agents_secom import SecomSession, memory_tools
from secom_core import MemoryBank
from secom_core.errors import DegradedWarning, InvalidInput
from secom_core.testing import Answer, ScriptedRequest, ScriptedServer, ToolCall


def agent_on(server: ScriptedServer, tools: Any = ()) -> Agent[Any]:
    client = AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)
    model = OpenAIChatCompletionsModel("any", client)
    return Agent("helper", instructions="Help.", model=model, tools=list(tools))


def quiet(**more: Any) -> RunConfig:
    return RunConfig(tracing_disabled=True, **more)


def recalling(session: SecomSession) -> RunConfig:
    return quiet(call_model_input_filter=session.with_memories)


def test_it_is_a_session_of_the_sdk(bank: MemoryBank) -> None:
    assert isinstance(SecomSession(bank, scope=ALICE), Session)


async def test_another_process_goes_on_with_the_same_items(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with MemoryBank.open(path) as bank, ScriptedServer("You live in Ghent.") as server:
        session = SecomSession(bank, scope=ALICE, session="monday")
        await Runner.run(agent_on(server), "I live in Ghent.", session=session, run_config=quiet())
        kept = await session.get_items()
    code = (
        "import asyncio, json, sys\n"
        "from openai_agents_secom import SecomSession\n"
        "from secom_core import MemoryBank\n"
        "with MemoryBank.open(sys.argv[1]) as bank:\n"
        "    session = SecomSession(bank, scope=('acme', 'alice'), session='monday')\n"
        "    print(json.dumps(asyncio.run(session.get_items())))\n"
    )
    root = str(Path(__file__).parents[2])
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code, path], cwd=root, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == kept
    assert [item["role"] for item in kept] == ["user", "assistant"]  # type: ignore[typeddict-item]


async def test_words_that_the_user_copies_out_of_a_prompt_are_not_remembered_as_said(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    block = bank.recall(ALICE, "dog").text
    session = SecomSession(bank, scope=ALICE, session="monday")
    await session.add_items([{"role": "user", "content": f"{block}\nWho is this?"}])
    assert everything_said(bank).count("Biscuit") == 1
    assert "Who is this?" in everything_said(bank)


async def test_a_streamed_run_is_kept_too(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer(LONG) as server:
        run = Runner.run_streamed(agent_on(server), "Sourdough?", session=session, run_config=recalling(session))
        pieces = [event async for event in run.stream_events() if event.type == "raw_response_event"]
    assert len(pieces) > 10
    assert len(await session.get_items()) == 2
    assert LONG.strip() in everything_said(bank)


async def test_calls_of_tools_come_back_whole_and_are_not_remembered(bank: MemoryBank, tmp_path: Path) -> None:
    @function_tool
    def weather(place: str) -> str:
        """The weather."""
        return f"hail in {place}"

    session = SecomSession(bank, scope=ALICE, session="monday")
    replies: list[Any] = [Answer(None, (ToolCall("weather", {"place": "Ghent"}, "call_1"),)), "Take a hat.", "Yes."]
    with ScriptedServer(replies) as server:
        agent = agent_on(server, [weather])
        first = await Runner.run(agent, "Weather in Ghent?", session=session, run_config=recalling(session))
        assert await session.get_items() == first.to_input_list()
        await Runner.run(agent, "Sure?", session=session, run_config=recalling(session))
    assert [role for role, _ in server.requests[2].messages] == [
        *("system", "user", "assistant", "tool", "assistant", "user")
    ]
    assert "hail" not in everything_said(bank)


async def test_all_calls_of_a_turn_get_the_same_memories(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    session = SecomSession(bank, scope=ALICE, session="monday")
    call = Answer(None, (ToolCall("recall", {"query": "dog"}),))
    with ScriptedServer([call, "Biscuit."]) as server:
        agent = agent_on(server, memory_tools(bank, scope=ALICE))
        await Runner.run(agent, "What is my dog called?", session=session, run_config=recalling(session))
    before, after = (request.messages for request in server.requests)
    assert after[: len(before)] == before
    assert after[-1][0] == "tool"
    assert "called Biscuit" in after[-1][1]
    assert "What is my dog called?" not in after[-1][1]


async def test_an_agent_that_is_told_the_conversation_as_a_summary_gets_the_same_memories(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My plan is Gold.")], session="sunday")
    session = SecomSession(bank, scope=ALICE, session="monday")
    handed_on = Answer("I pass you on.", (ToolCall("transfer_to_billing"),))
    call = Answer(None, (ToolCall("recall", {"query": "plan"}),))
    with ScriptedServer([handed_on, call, "Gold."]) as server:
        billing = agent_on(server, memory_tools(bank, scope=ALICE)).clone(name="billing")
        config = quiet(call_model_input_filter=session.with_memories, nest_handoff_history=True)
        triage = agent_on(server).clone(handoffs=[billing])
        await Runner.run(triage, "What is my plan?", session=session, run_config=config)
    first, *others = (request.messages for request in server.requests)
    assert "My plan is Gold." in first[1][1]
    assert [messages[1] for messages in others] == [first[1]] * 2
    assert [role for role, _ in others[0]] == ["system", "user", "assistant", "assistant", "assistant"]
    assert everything_said(bank) == "My plan is Gold.\nWhat is my plan?\nI pass you on.\nGold."


async def test_an_agent_as_a_tool_leaves_the_memories_of_the_turn_as_they_are(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    session = SecomSession(bank, scope=ALICE, session="monday")
    replies = iter([Answer(None, (ToolCall("ask", {"input": "Which dog?"}),)), "Biscuit.", "It is Biscuit."])

    def reply(request: ScriptedRequest) -> Any:
        bank.remember(ALICE, [("user", f"My dog ate {len(request.prompt)} biscuits.")], session="sunday")
        return next(replies)

    with ScriptedServer(reply) as server:
        agent = agent_on(server, [agent_on(server).as_tool("ask", "Asks.")])
        await Runner.run(agent, "What is my dog called?", session=session, run_config=recalling(session))
    before, asked, after = (request.messages for request in server.requests)
    assert after[: len(before)] == before
    assert asked[-1] == ("user", "Which dog?")
    assert "Which dog?" not in everything_said(bank)


async def test_an_encrypted_session_around_it_is_refused(bank: MemoryBank) -> None:
    extensions = pytest.importorskip("agents.extensions.memory.encrypt_session", reason="needs cryptography")
    session = SecomSession(bank, scope=ALICE, session="monday")
    wrapped = extensions.EncryptedSession("monday", session, "a key of high entropy")
    with pytest.raises(InvalidInput, match="gets no words to remember"):
        await wrapped.add_items([{"role": "user", "content": "Hello."}])


async def test_pop_forgets_what_was_said_last_and_clear_forgets_the_session(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    other = SecomSession(bank, scope=ALICE, session="tuesday")
    said: list[Any] = [
        {"role": "user", "content": "I take the red bicycle."},
        {"role": "assistant", "content": "Ride safely."},
    ]
    await other.add_items(said[:1])
    await session.add_items(said)
    assert await session.pop_item() == said[1]
    assert "Ride safely" not in everything_said(bank)
    assert await session.get_items() == said[:1]
    await session.add_items(said[1:])
    assert await session.get_items() == said
    assert [await session.pop_item() for _ in range(3)] == [said[1], said[0], None]
    assert await session.get_items() == []
    await session.add_items(said)
    await session.clear_session()
    assert await session.get_items() == []
    assert bank.turns(ALICE, "monday") == []
    assert await other.get_items() == said[:1]


@pytest.mark.parametrize("call", range(6))
async def test_a_process_that_is_killed_as_it_takes_an_item_back_loses_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    said: list[Any] = [
        {"role": "user", "content": "I take the red bicycle."},
        {"role": "assistant", "content": "Ride safely."},
        {"role": "assistant", "content": "And take a lamp."},
    ]
    calls = []

    def dying(does: Any) -> Any:
        def done(*given: Any, **more: Any) -> Any:
            calls.append(does)
            if len(calls) > call:
                raise KeyboardInterrupt
            return does(*given, **more)

        return done

    with MemoryBank.open(str(tmp_path / "memory.db")) as bank:
        session = SecomSession(bank, scope=ALICE, session="monday")
        await session.add_items(said)
        log = session._log
        with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
            for name in ("remember", "forget"):
                patch.setattr(bank, name, dying(getattr(bank, name)))
            patch.setattr(bank.chats, "write", dying(bank.chats.write))
            assert log.pop() == said[2]
    with MemoryBank.open(str(tmp_path / "memory.db")) as bank:
        session = SecomSession(bank, scope=ALICE, session="monday")
        items = [item["content"] for item in await session.get_items()]  # type: ignore[typeddict-item]
        assert {"I take the red bicycle.", "Ride safely."} <= set(items)
        assert "I take the red bicycle.\nRide safely." in everything_said(bank)
        if len(calls) <= call:
            assert items == ["I take the red bicycle.", "Ride safely."]


async def test_what_follows_a_turn_that_an_assistant_began_is_taken_back_alone(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    said: list[Any] = [{"role": "assistant", "content": text} for text in ("Good morning.", "Are you there?")]
    await session.add_items(said)
    assert await session.pop_item() == said[1]
    assert everything_said(bank) == "Good morning."
    assert [item["content"] for item in await session.get_items()] == ["Good morning."]  # type: ignore[typeddict-item]


async def test_what_came_before_a_message_stays_when_that_is_taken_back_or_forgotten(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    said: list[Any] = [
        {"type": "compaction", "encrypted_content": "…"},
        {"role": "user", "content": "Weather?"},
        {"type": "function_call", "call_id": "1", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "hail"},
        {"role": "user", "content": "Shall I take a hat?"},
    ]
    for batch in (said[:3], said[3:]):
        await session.add_items(batch)
    bank.forget(ALICE, turn_ids=[bank.turns(ALICE, "monday")[-1].id])
    assert await session.get_items() == said[:4]
    await session.add_items(said[4:])
    assert [await session.pop_item() for _ in said[1:]] == said[:0:-1]
    assert await session.get_items() == said[:1]


async def test_limits(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session_settings=SessionSettings(limit=1))
    said: list[Any] = [{"role": "user", "content": f"Number {number}."} for number in range(3)]
    await session.add_items(said)
    assert await session.get_items() == said[2:]
    assert await session.get_items(2) == said[1:]
    assert await session.get_items(0) == []


async def test_what_others_remember_in_the_session_is_an_item(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    bank.remember(ALICE, [("user", "Hello."), ("assistant", "Hi.")], session="monday")
    assert await session.get_items() == [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hi."},
    ]
    said: list[Any] = [{"role": "user", "content": "Are you there?"}]
    await session.add_items(said)
    bank.remember(ALICE, [("assistant", "I am.")], session="monday")
    items = [item["content"] for item in await session.get_items()]  # type: ignore[typeddict-item]
    assert items == ["Hello.", "Hi.", "Are you there?", "I am."]
    assert await session.pop_item() == {"role": "assistant", "content": "I am."}
    assert len(await session.get_items()) == 3


async def test_items_that_were_remembered_but_not_kept_are_kept_with_the_next(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    said: list[Any] = [
        {"role": "user", "content": "Weather?"},
        {"type": "function_call", "call_id": "1", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "hail"},
        {"role": "assistant", "content": "Take a hat."},
    ]

    with monkeypatch.context() as patch:
        patch.setattr(bank.chats, "write", broken)
        with pytest.warns(DegradedWarning, match="the disk is full"):
            await session.add_items(said[:3])
    await session.add_items(said[3:])
    again = SecomSession(bank, scope=ALICE, session="monday")
    assert await again.get_items() == said
    assert everything_said(bank) == "Weather?\nTake a hat."


def test_tools_are_those_that_are_named(bank: MemoryBank) -> None:
    assert [tool.name for tool in memory_tools(bank, scope=ALICE)] == ["recall", "read_the_rest"]
    assert [tool.name for tool in memory_tools(bank, scope=ALICE, tools=["forget"])] == ["forget"]
    with pytest.raises(InvalidInput, match="tools are some of 'recall'"):
        memory_tools(bank, scope=ALICE, tools=["erase"])  # type: ignore[list-item]
