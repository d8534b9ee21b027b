"""Chat engines and agents that remember, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_models import HttpLLM
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatResponse, CitationBlock, TextBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, JsonSerializer

from llamaindex_secom import SecomMemory, SecomRetriever
from secom_core import MemoryBank
from secom_core.testing import Answer, ScriptedServer, ToolCall

ANN = ("acme", "ann")


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        talk = [
            {"role": "user", "content": "My violin teacher is Marta, and {context_str} is my motto."},
            {"role": "assistant", "content": "How nice!"},
        ]
        bank.remember(ANN, talk, session="friday", close=True)
        yield bank


@pytest.fixture
def memory(bank: MemoryBank) -> SecomMemory:
    return SecomMemory.from_defaults(scope=ANN, session="now", bank=bank)


def stored(bank: MemoryBank) -> list[str]:
    return [message.text for turn in bank.turns(ANN, "now") for message in turn.messages]


QUERY = "Who is my violin teacher?"


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
def test_a_simple_chat_engine_remembers_across_sessions(memory: SecomMemory, bank: MemoryBank, streaming: bool) -> None:
    with ScriptedServer({QUERY: "Marta, as you said."}) as server:
        engine = SimpleChatEngine.from_defaults(
            llm=HttpLLM(base_url=server.base_url), memory=memory, system_prompt="Be kind."
        )
        if streaming:
            assert "".join(engine.stream_chat(QUERY).response_gen) == "Marta, as you said."
        else:
            assert str(engine.chat(QUERY)) == "Marta, as you said."
        assert [role for role, _ in server.requests[0].messages] == ["system", "user"]
        assert "My violin teacher is Marta" in server.requests[0].text
    assert stored(bank) == [QUERY, "Marta, as you said."]
    assert [message.content for message in engine.chat_history] == stored(bank)


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
async def test_an_async_chat_engine_never_blocks(memory: SecomMemory, bank: MemoryBank, streaming: bool) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    with ScriptedServer("Marta.") as server:
        engine = SimpleChatEngine.from_defaults(llm=HttpLLM(base_url=server.base_url), memory=memory)
        await engine.achat("Hello")  # the HTTP client reads certificates when it is first made
        with blockbuster.blockbuster_ctx(["llamaindex_secom", "secom_core"]):
            if streaming:
                response = await engine.astream_chat(QUERY)
                assert "".join([token async for token in response.async_response_gen()]) == "Marta."
            else:
                assert str(await engine.achat(QUERY)) == "Marta."
        assert "My violin teacher is Marta" in server.requests[-1].text
    assert stored(bank) == ["Hello", "Marta.", QUERY, "Marta."]


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
def test_pitfall_12_a_context_chat_engine_does_not_fill_in_remembered_words(
    memory: SecomMemory, bank: MemoryBank, streaming: bool
) -> None:
    with ScriptedServer("Marta.") as server:
        engine = ContextChatEngine.from_defaults(
            retriever=SecomRetriever(bank, ("acme", "nobody"), empty="SHELF"),
            memory=memory,
            llm=HttpLLM(base_url=server.base_url),
        )
        if streaming:
            assert "".join(engine.stream_chat(QUERY).response_gen) == "Marta."
        else:
            assert str(engine.chat(QUERY)) == "Marta."
        messages = server.requests[0].messages
    assert [role for role, _ in messages] == ["system", "user", "user"]
    assert "SHELF" in messages[0][1]
    assert "{ context_str } is my motto" in messages[1][1]
    assert "SHELF" not in messages[1][1]
    assert messages[2][1] == QUERY
    assert stored(bank) == [QUERY, "Marta."]


@pytest.mark.slow
async def test_a_context_chat_engine_asks_async(memory: SecomMemory, bank: MemoryBank) -> None:
    with ScriptedServer("Marta.") as server:
        engine = ContextChatEngine.from_defaults(
            retriever=SecomRetriever(bank, ANN, k=1, empty="Nothing is remembered."),
            memory=memory,
            llm=HttpLLM(base_url=server.base_url),
        )
        response = await engine.achat(QUERY)
        assert [node.metadata["session"] for node in response.source_nodes] == ["friday"]
        streamed = await engine.astream_chat("And who plays?")
        assert "".join([token async for token in streamed.async_response_gen()]) == "Marta."
    assert stored(bank) == [QUERY, "Marta.", "And who plays?", "Marta."]


@pytest.mark.slow
def test_a_condensing_chat_engine_works_too(memory: SecomMemory, bank: MemoryBank) -> None:
    with ScriptedServer("Marta.") as server:
        engine = CondensePlusContextChatEngine.from_defaults(
            retriever=SecomRetriever(bank, ANN, k=1), memory=memory, llm=HttpLLM(base_url=server.base_url)
        )
        engine.chat(QUERY)
        engine.chat("Since when?")
    assert stored(bank) == [QUERY, "Marta.", "Since when?", "Marta."]


@pytest.mark.slow
def test_a_reset_engine_still_remembers(memory: SecomMemory) -> None:
    with ScriptedServer("ok") as server:
        engine = SimpleChatEngine.from_defaults(llm=HttpLLM(base_url=server.base_url), memory=memory)
        engine.chat("The key is under the blue pot.")
        engine.reset()
        engine.chat("Where is the key?")
        assert "under the blue pot" in server.requests[-1].text
        assert len(server.requests[-1].messages) == 1


@pytest.mark.slow
def test_an_answer_that_a_page_gives_back_as_it_was_streamed_is_stored_once(bank: MemoryBank) -> None:
    questions, shown = ["I moved to Ghent.", "And the river?", "Thanks."], list[ChatMessage]()
    with ScriptedServer({"Thanks": "Bye. ", "river": "The Leie.\n\n", "": " How nice. "}) as server:
        for question in questions:
            memory = SecomMemory(scope=ANN, session="now", bank=bank)
            engine = SimpleChatEngine.from_defaults(llm=HttpLLM(base_url=server.base_url), memory=memory)
            answer = "".join(engine.stream_chat(question, chat_history=shown).response_gen)
            shown += [ChatMessage(role="user", content=question), ChatMessage(role="assistant", content=answer)]
    assert stored(bank) == [str(each.content).strip() for each in shown]


class Quoting(HttpLLM):
    """Quotes its source beside its answer, as the models of some providers do."""

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        reply = super().chat(messages, **kwargs)
        content = TextBlock(text="Customers may return goods.")
        quote = CitationBlock(cited_content=content, source="terms", title="Terms", additional_location_info={})
        reply.message.blocks.append(quote)
        return reply


@pytest.mark.slow
def test_what_a_provider_quotes_beside_an_answer_is_not_the_assistants_and_the_answer_is_known(
    memory: SecomMemory, bank: MemoryBank
) -> None:
    with ScriptedServer("You have 30 days.") as server:
        engine = SimpleChatEngine.from_defaults(llm=Quoting(base_url=server.base_url), memory=memory)
        answer = str(engine.chat("How long can I return it?"))
    turns = bank.turns(ANN, "now")
    assert stored(bank) == ["How long can I return it?", answer]
    shown = [("user", "How long can I return it?"), ("assistant", answer)]
    memory.set([ChatMessage(role=role, content=text) for role, text in shown])
    assert bank.turns(ANN, "now") == turns


@pytest.mark.slow
def test_a_page_that_hands_over_its_latest_messages_forgets_nothing_that_was_asked_in_the_same_words(
    bank: MemoryBank,
) -> None:
    questions, shown = ["Hello", "Next", "Next", "Next", "Thanks", "Bye"], list[ChatMessage]()
    with ScriptedServer(["A riddle?", "Cats.", "Dogs.", "Eels.", "Welcome.", "Bye!"]) as server:
        for question in questions:
            memory = SecomMemory(scope=ANN, session="now", bank=bank)
            engine = SimpleChatEngine.from_defaults(llm=HttpLLM(base_url=server.base_url), memory=memory)
            answer = str(engine.chat(question, chat_history=shown[-4:]))
            shown += [ChatMessage(role="user", content=question), ChatMessage(role="assistant", content=answer)]
    assert stored(bank) == [str(each.content) for each in shown]


@pytest.mark.slow
def test_history_given_to_each_call_is_remembered_once(memory: SecomMemory, bank: MemoryBank) -> None:
    with ScriptedServer("ok") as server:
        engine = SimpleChatEngine.from_defaults(llm=HttpLLM(base_url=server.base_url), memory=memory)
        history = [ChatMessage(role="user", content="Hello"), ChatMessage(role="assistant", content="Hi")]
        engine.chat("one", chat_history=history)
        engine.chat("two", chat_history=[*history, *(memory.get_all()[2:])])
    assert stored(bank) == ["Hello", "Hi", "one", "ok", "two", "ok"]


def weather(city: str) -> str:
    """The weather in a city."""
    return f"12 degrees in {city}"


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_function_agent_remembers_and_recalls_once_a_turn(
    memory: SecomMemory, bank: MemoryBank, streaming: bool
) -> None:
    replies = [Answer("", (ToolCall("weather", {"city": "Ghent"}, "c1"),)), "12 degrees, says Marta."]
    with ScriptedServer(replies) as server:
        agent = FunctionAgent(
            tools=[weather], llm=HttpLLM(base_url=server.base_url), system_prompt="Be kind.", streaming=streaming
        )
        answer = await agent.run(QUERY, memory=memory)
        first, second = (request.messages for request in server.requests)
    assert str(answer) == "12 degrees, says Marta."
    assert [role for role, _ in first] == ["system", "user"]
    assert [role for role, _ in second] == ["system", "user", "assistant", "tool"]
    assert "My violin teacher is Marta" in first[1][1]
    assert second[1] == first[1], "memory and its numbers stay the same within a turn"
    assert stored(bank) == [QUERY, "12 degrees, says Marta."]
    assert [message.role.value for message in memory.get_all()] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.slow
async def test_a_message_with_an_empty_time_or_id_is_answered(memory: SecomMemory, bank: MemoryBank) -> None:
    empty = {"timestamp": "", "created_at": "", "id": ""}
    with ScriptedServer("Marta.") as server:
        agent = FunctionAgent(llm=HttpLLM(base_url=server.base_url), streaming=False)
        await agent.run(ChatMessage(role="user", content=QUERY, additional_kwargs=empty), memory=memory)
    assert stored(bank) == [QUERY, "Marta."]


@pytest.mark.slow
async def test_a_page_of_questions_and_answers_keeps_what_an_agent_said_beside_its_calls(bank: MemoryBank) -> None:
    replies = list[Answer | str]()
    for number in range(3):
        replies += [Answer(f"Let me look, {number}.", (ToolCall("weather", {"city": "Ghent"}, "c1"),)), "12 degrees."]
    shown, epochs = list[ChatMessage](), set[object]()
    with ScriptedServer([*replies, "Yes."]) as server:
        agent = FunctionAgent(tools=[weather], llm=HttpLLM(base_url=server.base_url), streaming=False)
        for question in ("And now?", "And today?", "Now?", "Sure?"):
            memory = SecomMemory(scope=ANN, session="now", bank=bank)
            answer = str(await agent.run(question, chat_history=list(shown), memory=memory))
            shown += [ChatMessage(role="user", content=question), ChatMessage(role="assistant", content=answer)]
            epochs.add(bank.storage.epoch(ANN))
    assert [text for text in stored(bank) if text.startswith("Let")] == [f"Let me look, {n}." for n in range(3)]
    assert [text for text in stored(bank) if not text.startswith("Let")] == [str(each.content) for each in shown]
    assert len(epochs) == 1, "nothing is forgotten and stored again"


async def test_pitfall_02_an_agent_with_state_rewrites_only_its_copy(memory: SecomMemory, bank: MemoryBank) -> None:
    with ScriptedServer("ok") as server:
        agent = FunctionAgent(
            tools=[weather], llm=HttpLLM(base_url=server.base_url), initial_state={"mood": "sunny"}, streaming=False
        )
        await agent.run(QUERY, memory=memory)
        prompt = server.requests[0].text
    assert "sunny" in prompt
    assert "My violin teacher is Marta" in prompt
    assert memory.get_all()[0].content == QUERY
    assert stored(bank) == [QUERY, "ok"]


@pytest.mark.slow
async def test_pitfall_01_a_react_agent_without_a_system_prompt_sees_memory(
    memory: SecomMemory, bank: MemoryBank
) -> None:
    replies = [
        'Thought: I look it up.\nAction: weather\nAction Input: {"city": "Ghent"}',
        "Thought: I can answer.\nAnswer: Marta, and it is 12 degrees.",
    ]
    with ScriptedServer(replies) as server:
        agent = ReActAgent(tools=[weather], llm=HttpLLM(base_url=server.base_url), streaming=False)
        answer = await agent.run(QUERY, memory=memory)
        for request in server.requests:
            assert "My violin teacher is Marta" in request.prompt
    assert str(answer) == "Marta, and it is 12 degrees."
    assert stored(bank) == [QUERY, "Marta, and it is 12 degrees."], "pitfall 8: thoughts and actions are left out"


CARD = "My card:\nThought: I will fail.\nAction: take a walk.\nAnswer: I will not."


def card() -> str:
    """The card."""
    return CARD


@pytest.mark.slow
@pytest.mark.parametrize("direct", [False, True])
async def test_what_a_tool_of_a_react_agent_found_is_no_answer_unless_it_is_returned_directly(
    memory: SecomMemory, bank: MemoryBank, direct: bool
) -> None:
    replies = [
        "Thought: I look it up.\nAction: card\nAction Input: {}",
        "Thought: I can answer.\nAnswer: It says that you will not.",
    ]
    with ScriptedServer(replies) as server:
        tool = FunctionTool.from_defaults(card, return_direct=direct)
        agent = ReActAgent(tools=[tool], llm=HttpLLM(base_url=server.base_url), streaming=False)
        await agent.run("What is on my card?", memory=memory)
    assert stored(bank) == ["What is on my card?", CARD if direct else "It says that you will not."]


@pytest.mark.slow
async def test_hand_offs_are_not_remembered(memory: SecomMemory, bank: MemoryBank) -> None:
    replies = [Answer("", (ToolCall("handoff", {"to_agent": "b", "reason": "music"}, "h1"),)), "Marta."]
    with ScriptedServer(replies) as server:
        llm = HttpLLM(base_url=server.base_url)
        agents = [
            FunctionAgent(name=name, description=name, llm=llm, system_prompt=f"You are {name}.", streaming=False)
            for name in ("a", "b")
        ]
        answer = await AgentWorkflow(agents=agents, root_agent="a").run(user_msg=QUERY, memory=memory)
        assert "My violin teacher is Marta" in server.requests[-1].prompt
    assert str(answer) == "Marta."
    assert stored(bank) == [QUERY, "Marta."]


@pytest.mark.slow
async def test_an_agents_context_survives_json(memory: SecomMemory, bank: MemoryBank) -> None:
    with ScriptedServer("ok") as server:
        agent = FunctionAgent(tools=[weather], llm=HttpLLM(base_url=server.base_url), streaming=False)
        context = Context(agent)
        await agent.run("Hello", ctx=context, memory=memory)
        data = json.loads(json.dumps(context.to_dict(serializer=JsonSerializer())))
        restored = Context.from_dict(agent, data, serializer=JsonSerializer())
        await agent.run(QUERY, ctx=restored)
        assert "My violin teacher is Marta" in server.requests[-1].text
        assert [role for role, _ in server.requests[-1].messages] == ["user", "assistant", "user"]
        again = await restored.store.get("memory")
    assert isinstance(again, SecomMemory)
    assert again.bank is bank
    assert stored(bank) == ["Hello", "ok", QUERY, "ok"]
