"""The session, the recall and the tools for Pydantic AI, over real HTTP against the scripted server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")

from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from pydantic_ai_secom import SecomSession, memory_toolset
from secom_core import MemoryBank
from secom_core.errors import DegradedWarning, InvalidInput, InvalidScope, StoreError
from secom_core.testing import Answer, ScriptedServer, ToolCall

ALICE, BOB = ("acme", "alice"), ("acme", "bob")
LONG = "Sourdough wants patience: fold it, rest it, fold it again. " * 400


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(str(tmp_path / "memory.db")) as opened:
        yield opened


def agent_on(server: ScriptedServer, **more: Any) -> Agent[Any, str]:
    model = OpenAIChatModel("any", provider=OpenAIProvider(base_url=server.base_url, api_key="none"))
    return Agent(model, instructions="Help.", **more)


async def turn(agent: Agent[Any, str], session: SecomSession, asked: Any, **more: Any) -> Any:
    history = await session.messages()
    result = await agent.run(asked, message_history=history, capabilities=[session.memories], **more)
    await session.add(result.new_messages())
    return result


def written(messages: Any) -> Any:
    return json.loads(ModelMessagesTypeAdapter.dump_json(messages))


def everything_said(bank: MemoryBank, scope: Any = ALICE) -> str:
    return "\n".join(message.text for turn in bank.turns(scope) for message in turn.messages)


async def test_a_second_turn_sees_the_first_with_its_long_reply(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer([LONG, "Yes."]) as server:
        await turn(agent_on(server), session, "How do I bake sourdough?")
        result = await turn(agent_on(server), session, "Is that all?")
    assert server.requests[1].messages == (
        ("system", "Help."),
        ("user", "How do I bake sourdough?"),
        ("assistant", LONG),
        ("user", "Is that all?"),
    )
    assert written(await session.messages()) == written(result.all_messages())
    assert LONG.strip() in everything_said(bank)
    assert len(bank.turns(ALICE, "monday")) == 2


async def test_another_process_goes_on_with_the_same_messages(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    picture = BinaryContent(b"\x89PNG\xff\xfe", media_type="image/png")
    with MemoryBank.open(path) as bank, ScriptedServer("A castle in Ghent.") as server:
        session = SecomSession(bank, scope=ALICE, session="monday")
        await turn(agent_on(server), session, ["What is in the picture?", picture])
        kept = ModelMessagesTypeAdapter.dump_json(await session.messages())
    code = (
        "import asyncio, sys\n"
        "from pydantic_ai.messages import ModelMessagesTypeAdapter\n"
        "from pydantic_ai_secom import SecomSession\n"
        "from secom_core import MemoryBank\n"
        "with MemoryBank.open(sys.argv[1]) as bank:\n"
        "    session = SecomSession(bank, scope=('acme', 'alice'), session='monday')\n"
        "    print(ModelMessagesTypeAdapter.dump_json(asyncio.run(session.messages())).decode())\n"
    )
    root = str(Path(__file__).parents[2])
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code, path], cwd=root, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == json.loads(kept)
    again = ModelMessagesTypeAdapter.validate_json(done.stdout)
    [prompt] = [part for part in again[0].parts if isinstance(part, UserPromptPart)]
    assert prompt.content[0] == "What is in the picture?"
    assert isinstance(prompt.content[1], BinaryContent)
    assert prompt.content[1].data == picture.data


async def test_another_session_is_recalled_beside_the_last_prompt_and_not_remembered_again(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit."), ("assistant", "Noted.")], session="sunday")
    bank.remember(BOB, [("user", "My dog is called Rex."), ("assistant", "Noted.")], session="sunday")
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer(["Biscuit.", "Still Biscuit."]) as server:
        await turn(agent_on(server), session, "What is my dog called?")
        result = await turn(agent_on(server), session, "And my dog today?")
    for request in server.requests:
        block = request.prompt[request.prompt.index("<memories>") :]
        assert "My dog is called Biscuit." in block
        assert "Rex" not in request.prompt
        assert request.prompt.count("<memories>") == 1
        assert request.prompt.endswith(("What is my dog called?", "And my dog today?"))
    assert "<memories>" not in everything_said(bank)
    assert b"<memories>" not in ModelMessagesTypeAdapter.dump_json([*await session.messages(), *result.all_messages()])
    assert everything_said(bank).count("called Biscuit") == 1


async def test_a_streamed_run_recalls_and_is_kept_too(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer(LONG) as server:
        async with agent_on(server).run_stream("And my dog?", capabilities=[session.memories]) as result:
            pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        await session.add(result.new_messages())
    assert len(pieces) > 10
    assert "called Biscuit" in server.requests[0].prompt
    assert len(await session.messages()) == 2
    assert LONG.strip() in everything_said(bank)


async def test_calls_of_tools_come_back_whole_and_get_the_same_memories(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "I never wear a hat in hail.")], session="sunday")
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer([Answer(None, (ToolCall("weather", {"place": "Ghent"}),)), "Stay inside."]) as server:
        agent = agent_on(server)

        @agent.tool_plain
        def weather(place: str) -> str:
            return f"hail in {place}"

        result = await turn(agent, session, "Weather for my hat?")
    before, after = (request.messages for request in server.requests)
    assert after[: len(before)] == before
    assert "never wear a hat" in "".join(text for _, text in before)
    assert written(await session.messages()) == written(result.all_messages())
    assert "hail in Ghent" not in everything_said(bank)


async def test_clear_forgets_the_conversation_and_no_other(bank: MemoryBank) -> None:
    session, other = (SecomSession(bank, scope=ALICE, session=name) for name in ("monday", "tuesday"))
    for each in (session, other):
        await each.add([ModelRequest([UserPromptPart("I take the red bicycle.")])])
    await session.clear()
    assert await session.messages() == []
    assert bank.turns(ALICE, "monday") == []
    assert len(await other.messages()) == 1


async def test_what_others_remember_in_the_session_is_a_message(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "Hello."), ("assistant", "Hi.")], session="monday")
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer("Yes.") as server:
        await turn(agent_on(server), session, "Are you there?")
    assert [text for _, text in server.requests[0].messages] == ["Help.", "Hello.", "Hi.", "Are you there?"]
    assert len(await session.messages()) == 4


async def test_a_store_that_fails_costs_memories_and_no_turn(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    session = SecomSession(bank, scope=ALICE, session="monday")

    def broken(*_: Any, **__: Any) -> Any:
        raise StoreError("the disk is full")

    with ScriptedServer("I do not know.") as server, monkeypatch.context() as patch:
        for name in ("recall", "turns", "remember"):
            patch.setattr(MemoryBank, name, broken)
        with pytest.warns(DegradedWarning, match="the disk is full"):
            result = await turn(agent_on(server), session, "What is my dog called?")
    assert result.output == "I do not know."
    assert len(await session.messages()) == 2
    await session.add([ModelRequest([UserPromptPart("And now?")])])
    assert "What is my dog called?\nI do not know.\nAnd now?" in everything_said(bank)


async def test_the_loop_is_not_blocked(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    recall = MemoryBank.recall

    def seen(*given: Any, **more: Any) -> Any:
        threads.append(threading.get_ident())
        return recall(*given, **more)

    monkeypatch.setattr(MemoryBank, "recall", seen)
    with ScriptedServer("Hi.") as server:
        await turn(agent_on(server), SecomSession(bank, scope=ALICE), "Hello.")
    assert threads
    assert threading.get_ident() not in threads


async def test_the_scope_of_tools_comes_from_the_deps_and_from_no_model(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    toolset = memory_toolset(bank, scope=lambda who: ("acme", who), tools=["recall", "remember"])
    calls = [
        Answer(None, (ToolCall("recall", {"query": "dog"}),)),
        Answer(None, (ToolCall("recall", {"query": "dog", "scope": ["acme", "alice"]}),)),
        Answer(None, (ToolCall("remember", {"text": "Bob sails."}),)),
        "Done.",
    ]
    with ScriptedServer(calls) as server:
        await agent_on(server, deps_type=str, toolsets=[toolset]).run("My dog?", deps="bob")
    results = [text for role, text in server.requests[-1].messages if role == "tool"]
    assert "Biscuit" not in "".join(results)
    assert "scope: Extra inputs are not permitted" in results[1]
    assert "Bob sails." in everything_said(bank, BOB)
    assert "Bob sails." not in everything_said(bank)


async def test_a_tool_finds_what_the_scope_holds(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    with ScriptedServer([Answer(None, (ToolCall("recall", {"query": "dog"}),)), "Biscuit."]) as server:
        await agent_on(server, toolsets=[memory_toolset(bank, scope=ALICE)]).run("My dog?")
    assert server.requests[0].tools == ("recall", "read_the_rest")
    assert "called Biscuit" in server.requests[1].text


def test_bad_arguments_are_refused(bank: MemoryBank) -> None:
    with pytest.raises(InvalidScope):
        SecomSession(bank, scope="alice")
    with pytest.raises(InvalidInput):
        SecomSession("memory.db", scope=ALICE)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="tools are some of 'recall'"):
        memory_toolset(bank, scope=ALICE, tools=["erase"])  # type: ignore[list-item]
