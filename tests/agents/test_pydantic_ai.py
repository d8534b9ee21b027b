"""The session, the recall and the tools for Pydantic AI, over real HTTP against the scripted server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")

from frameworks import ALICE, LONG, everything_said
from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    RunContext,
    ToolReturn,
)
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from pydantic_ai_secom import SecomSession
from secom_core import MemoryBank
from secom_core.errors import DegradedWarning
from secom_core.testing import Answer, ScriptedServer, ToolCall


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


@pytest.mark.parametrize("keeps_itself", [True, False])
async def test_what_a_tool_gives_the_model_to_read_is_not_remembered_as_the_users_words(
    bank: MemoryBank, keeps_itself: bool
) -> None:
    bank.remember(ALICE, [("user", "I never wear a hat in hail.")], session="sunday")
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer([Answer(None, (ToolCall("page"),)), "It is an advertisement."]) as server:
        agent = agent_on(server)

        @agent.tool
        def page(ctx: RunContext[Any]) -> ToolReturn:
            ctx.enqueue("Be quick, please.")
            return ToolReturn(
                "found", content=["I always wear a hat.", BinaryContent(b"\x89PNG", media_type="image/png")]
            )

        if keeps_itself:
            await agent.run("What of my hat?", capabilities=[session.conversation])
        else:
            await turn(agent, session, "What of my hat?")
    assert ["I always wear a hat." in request.prompt for request in server.requests] == [False, True]
    assert all("I never wear a hat" in request.prompt for request in server.requests)
    assert "I always wear" in ModelMessagesTypeAdapter.dump_json(await session.messages()).decode()
    assert everything_said(bank).splitlines() == [
        *("I never wear a hat in hail.", "What of my hat?", "Be quick, please.", "It is an advertisement.")
    ]


async def test_a_page_that_a_tool_shows_is_not_what_is_asked(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "I never wear a hat in hail.")], session="sunday")
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer([Answer(None, (ToolCall("page"),)), "Hail."]) as server:
        agent = agent_on(server)

        @agent.tool_plain
        def page() -> ToolReturn:
            return ToolReturn("found", content="Weather: hail.")

        await agent.run("What of my hat?", capabilities=[session.conversation])
    before, after = (request.messages for request in server.requests)
    assert "never wear a hat" in before[-2][1]
    assert after[: len(before)] == before


@pytest.mark.parametrize("content", ["Roofs of straw.", BinaryContent(b"\x89PNG", media_type="image/png")])
async def test_nor_is_it_where_another_process_goes_on_with_the_run(bank: MemoryBank, content: Any) -> None:
    bank.remember(ALICE, [("user", "I never wear a hat in hail.")], session="sunday")
    calls = [Answer(None, (ToolCall(name),)) for name in ("page", "buy")]
    with ScriptedServer([*calls, "Bought.", "Yes."]) as server:
        agent: Agent[Any, Any] = agent_on(server, output_type=[str, DeferredToolRequests])

        @agent.tool_plain
        def page() -> ToolReturn:
            return ToolReturn("found", content=[content])

        @agent.tool_plain(requires_approval=True)
        def buy() -> str:
            return "a straw one"

        asks = SecomSession(bank, scope=ALICE, session="monday")
        [call] = (await agent.run("Buy me a hat.", capabilities=[asks.conversation])).output.approvals
        session = SecomSession(bank, scope=ALICE, session="monday")
        approved = DeferredToolResults(approvals={call.tool_call_id: True})
        history = await session.messages()
        await agent.run(message_history=history, deferred_tool_results=approved, capabilities=[session.conversation])
    for request in server.requests:
        texts = [text for _, text in request.messages]
        assert "I never wear a hat" in texts[texts.index("Buy me a hat.") - 1]


async def test_an_answer_that_a_validator_sends_back_is_not_remembered(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer(["The PIN is 4711.", "I may not tell."]) as server:
        agent = agent_on(server)

        @agent.output_validator
        def checked(output: str) -> str:
            if "4711" in output:
                raise ModelRetry("no numbers")
            return output

        result = await agent.run("Which PIN?", capabilities=[session.conversation])
    assert everything_said(bank) == "Which PIN?\nI may not tell."
    assert written(await session.messages()) == written(result.all_messages())


async def test_calls_and_results_of_tools_are_redacted_whatever_the_names_in_them_are(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    # No part of an id in hexadecimal digits.
    given = {"data": "pin4711", "paid": "with pin4711", "card_id": "pin4711", "at": ["pin4711"]}
    picture = BinaryContent(b"\x89PNG\xff\xfe", media_type="image/png")
    said = [
        ModelRequest(parts=[UserPromptPart("Pay.")]),
        ModelResponse(parts=[ToolCallPart("pay", given, tool_call_id="id-pin4711")]),
        ModelRequest(parts=[ToolReturnPart("pay", given, tool_call_id="id-pin4711")]),
        ModelRequest(parts=[ToolReturnPart("show", [{"data": "pin4711"}, picture], tool_call_id="id-pin4711")]),
        ModelResponse(parts=[TextPart("Paid.")]),
    ]
    with MemoryBank.open(path, redact=lambda text: text.replace("pin4711", "[PIN]").replace("iVBOR", "")) as bank:
        session = SecomSession(bank, scope=ALICE, session="monday")
        await session.add(said)
        _, call, result, shown, _ = await session.messages()
    masked = {"data": "[PIN]", "paid": "with [PIN]", "card_id": "[PIN]", "at": ["[PIN]"]}
    assert call.parts[0].args == result.parts[0].content == masked
    assert call.parts[0].tool_call_id == result.parts[0].tool_call_id == "id-pin4711"
    assert shown.parts[0].content[0] == {"data": "[PIN]"}
    assert shown.parts[0].content[1].data == picture.data
    assert b"pin4711" not in path.read_bytes().replace(b"id-pin4711", b"")


async def test_clear_forgets_the_conversation_and_no_other(bank: MemoryBank) -> None:
    session, other = (SecomSession(bank, scope=ALICE, session=name) for name in ("monday", "tuesday"))
    for each in (session, other):
        await each.add([ModelRequest([UserPromptPart("I take the red bicycle.")])])
    await session.clear()
    assert await session.messages() == []
    assert bank.turns(ALICE, "monday") == []
    assert len(await other.messages()) == 1


async def test_a_conversation_restores_itself_and_keeps_what_is_new_also_streamed(bank: MemoryBank) -> None:
    def session() -> SecomSession:
        return SecomSession(bank, scope=ALICE, session="monday")

    with ScriptedServer(["Noted.", LONG, "In Ghent."]) as server:
        agent = agent_on(server, system_prompt="Be brief.")
        await agent.run("I live in Ghent.", capabilities=[session().conversation])
        async with agent.run_stream("How do I bake?", capabilities=[session().conversation]) as streamed:
            assert "".join([piece async for piece in streamed.stream_text(delta=True)]) == LONG
        result = await agent.run("Where do I live?", capabilities=[session().conversation])
    said = [text for role, text in server.requests[2].messages if role != "system"]
    assert said == ["I live in Ghent.", "Noted.", "How do I bake?", LONG, "Where do I live?"]
    assert server.requests[2].prompt.count("Be brief.") == 1, "the system prompt stands once, at the beginning"
    assert len(result.new_messages()) == 2
    assert written(result.all_messages()) == written(await session().messages())
    assert len(bank.turns(ALICE, "monday")) == 3


async def test_a_conversation_takes_the_history_that_a_run_is_given(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer(["Noted.", "Yes."]) as server:
        agent = agent_on(server)
        await agent.run("I live in Ghent.", capabilities=[session.conversation])
        history = [ModelRequest([UserPromptPart("Only this.")])]
        await agent.run("Well?", message_history=history, capabilities=[session.conversation])
    assert ("user", "I live in Ghent.") not in server.requests[1].messages
    assert len(await session.messages()) == 4


async def test_of_a_run_that_fails_nothing_is_kept(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    agent = Agent(FunctionModel(lambda messages, info: ModelResponse([])), retries=0)
    with pytest.raises(UnexpectedModelBehavior):
        await agent.run("Hello.", capabilities=[session.conversation])
    assert await session.messages() == []


async def test_a_processor_of_the_history_gets_the_whole_conversation_and_no_memories(bank: MemoryBank) -> None:
    bank.remember(ALICE, [("user", "My dog is called Biscuit.")], session="sunday")
    session, given = SecomSession(bank, scope=ALICE, session="monday"), list[int]()

    def latest(messages: list[Any]) -> list[Any]:
        given.append(len(messages))
        return messages[-1:]

    with ScriptedServer("Noted.") as server:
        agent = agent_on(server, capabilities=[ProcessHistory(latest)])
        for asked in ("I have a cat.", "Who is my dog?", "And my dog is how old?"):
            result = await agent.run(asked, capabilities=[session.conversation])
    assert given == [1, 3, 5]
    _, block, last = server.requests[2].messages
    assert "Biscuit" in block[1]
    assert last == ("user", "And my dog is how old?")
    assert "Biscuit" not in str(result.all_messages())
    assert len(await session.messages()) == 6


@pytest.mark.parametrize("on_change", ["rewrite", "append"])
async def test_a_dynamic_system_prompt_is_that_of_the_run_as_with_a_history(bank: MemoryBank, on_change: Any) -> None:
    def sent(messages: Any, info: Any) -> ModelResponse:
        requests = [message for message in messages if isinstance(message, ModelRequest)]
        return ModelResponse(
            [TextPart(" ".join(str(getattr(part, "content", "")) for request in requests for part in request.parts))]
        )

    days = iter(["Monday", "Tuesday", "Tuesday"] * 2)
    agent = Agent(FunctionModel(sent), system_prompt="Help.")
    agent.system_prompt(dynamic=True, on_change=on_change)(lambda: next(days))
    session = SecomSession(bank, scope=ALICE, session="monday")
    kept = [(await agent.run("Hello.", capabilities=[session.conversation])).output for _ in range(3)]
    given: list[str] = []
    history: Any = None
    for _ in range(3):
        result = await agent.run("Hello.", message_history=history)
        given, history = [*given, str(result.output)], result.all_messages()
    assert kept == given
    assert "Tuesday" in kept[1]


async def test_runs_side_by_side_each_have_their_history(bank: MemoryBank) -> None:
    names = ("monday", "tuesday")
    sessions = {name: SecomSession(bank, scope=ALICE, session=name) for name in names}
    model = FunctionModel(lambda messages, info: ModelResponse([TextPart(f"{len(messages)} messages")]))
    for count in (1, 3):
        runs = [Agent(model).run(f"On {name}.", capabilities=[sessions[name].conversation]) for name in names]
        assert [each.output for each in await asyncio.gather(*runs)] == [f"{count} messages"] * 2


async def test_messages_of_another_version_come_in_words_and_stay_as_they_are(bank: MemoryBank) -> None:
    session = SecomSession(bank, scope=ALICE, session="monday")
    with ScriptedServer([Answer(None, (ToolCall("weather", {"place": "Ghent"}),)), "Stay inside."]) as server:
        agent = agent_on(server)

        @agent.tool_plain
        def weather(place: str) -> str:
            return f"hail in {place}"

        await agent.run("Weather?", capabilities=[session.conversation])
    records = bank.chats.read(ALICE, "monday")
    strange = {"pydantic_ai": {"kind": "response", "parts": [{"part_kind": "hologram"}]}}
    written_later = [replace(records[0], body=strange) if each is records[1] else each for each in records]
    bank.chats.write(ALICE, "monday", written_later, anew=True)
    again = SecomSession(bank, scope=ALICE, session="monday")
    with pytest.warns(DegradedWarning, match="1 of the 4 messages of the session 'monday' cannot be read by pydantic-"):
        messages = await again.messages()
    said = [(each.kind, "".join(str(part.content) for part in each.parts)) for each in messages]  # type: ignore[union-attr]
    assert said == [("request", "Weather?"), ("response", "Stay inside.")]
    assert bank.chats.read(ALICE, "monday") == written_later
