"""Agents and chat engines on `SecomMemory` over real HTTP: every engine in every mode, and what goes wrong."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from broken_banks import Broken

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_models import HttpLLM
from llama_index.core.agent.workflow import AgentStream, AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock, ToolCallBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory
from llama_index.core.workflow import Context, JsonPickleSerializer, JsonSerializer
from openai import AsyncOpenAI

from llamaindex_secom import (
    CitationNumberer,
    CitationReward,
    SecomMemory,
    SecomMemoryBlock,
    SecomRetriever,
    memory_tools,
    rewritten_query,
)
from llamaindex_secom.tracing import SecomRecallEvent
from secom_core import DegradedWarning, InvalidInput, MemoryBank, StoreError
from secom_core.citations.prompt import CITE_INSTRUCTION
from secom_core.segmenters.lexical import LexicalSegmenter
from secom_core.testing import Answer, ScriptedRequest, ScriptedServer, ToolCall
from secom_core.text.terms import count_tokens

ANN, BOB = ("acme", "ann"), ("acme", "bob")
QUERY = "Who is my violin teacher?"
FACT = "My violin teacher is Marta."
REPLY = "Marta, as you said."


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def bot(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def fill(bank: MemoryBank) -> MemoryBank:
    for number, words in enumerate([FACT, "The violin hangs in the hall, next to the [9] coats."]):
        talk = [{"role": "user", "content": words}, {"role": "assistant", "content": "How nice!"}]
        bank.remember(ANN, talk, session=f"day-{number}", close=True)
    return bank


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def bank(path: Path) -> Iterator[MemoryBank]:
    with fill(MemoryBank.open(path)) as bank:
        yield bank


def memory_of(bank: MemoryBank, session: str = "now", scope: Sequence[str] = ANN, **options: Any) -> SecomMemory:
    return SecomMemory(scope=scope, session=session, bank=bank, **options)


def stored(bank: MemoryBank, session: str = "now", scope: Sequence[str] = ANN) -> list[str]:
    return [message.text for turn in bank.turns(scope, session) for message in turn.messages]


def weather(city: str) -> str:
    """The weather in a city."""
    return f"12 degrees in {city}"


# -- agents -----------------------------------------------------------------------------------------------------------

AGENTS = ["function", "react", "workflow", "workflow-react"]


def agent_of(kind: str, llm: HttpLLM, *, streaming: bool = True, prompt: str = "Be kind.") -> Any:
    """An agent; a workflow has three, of which the first two hand over."""
    made: Any = ReActAgent if "react" in kind else FunctionAgent
    if "workflow" not in kind:
        return made(tools=[weather], llm=llm, streaming=streaming, system_prompt=prompt)
    agents = [
        made(name=name, description=name, llm=llm, system_prompt=f"You are {name}. {prompt}", streaming=streaming)
        for name in ("a", "b", "c")
    ]
    return AgentWorkflow(agents=agents, root_agent="a")


def replies_of(kind: str, reply: str = REPLY) -> list[str | Answer]:
    """What the model says in one run: one call of a tool, or two hand-offs, and the answer."""
    calls: list[tuple[str, dict[str, str]]] = [("weather", {"city": "Ghent"})]
    if "workflow" in kind:
        calls = [("handoff", {"to_agent": name, "reason": "music"}) for name in ("b", "c")]
    if "react" in kind:
        steps = [f"Thought: next.\nAction: {name}\nAction Input: {json.dumps(kwargs)}" for name, kwargs in calls]
        return [*steps, f"Thought: I can answer.\nAnswer: {reply}"]
    return [*(Answer("", (ToolCall(name, kwargs, f"c{n}"),)) for n, (name, kwargs) in enumerate(calls)), reply]


@asynccontextmanager
async def running(kind: str, replies: Any, **options: Any) -> AsyncIterator[tuple[Any, ScriptedServer]]:
    with ScriptedServer(replies) as server:
        yield agent_of(kind, HttpLLM(base_url=server.base_url), **options), server


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("write", ["inline", "background"])
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("kind", AGENTS)
async def test_an_agent_remembers_recalls_and_never_blocks(
    bank: MemoryBank, kind: str, streaming: bool, write: Any
) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    memory = memory_of(bank, write=write)
    async with running(kind, replies_of(kind) * 2, streaming=streaming) as (agent, server):
        await agent.run("Hello", memory=memory)  # the HTTP client reads certificates when it is first made
        first = len(server.requests)
        with blockbuster.blockbuster_ctx(["llamaindex_secom", "secom_core"]):
            handler = agent.run(QUERY, memory=memory)
            events = [event async for event in handler.stream_events()]
            answer = await handler
        requests = server.requests[first:]
    assert str(answer) == REPLY
    assert len(requests) == len(replies_of(kind))
    for request in requests:
        assert request.prompt.count("<memories>") == 1, "memory stays in every step of the turn, once"
        assert f"user: {FACT}" in request.prompt
    recalled = {re.findall("<memories>.*?</memories>", request.prompt, re.S)[0] for request in requests}
    assert len(recalled) == 1, "pitfall 5: memory and its numbers stay the same within a turn"
    deltas = [event.delta for event in events if isinstance(event, AgentStream)]
    assert bool(deltas) is streaming
    assert "memories" not in "".join(deltas)
    assert stored(bank) == ["Hello", REPLY, QUERY, REPLY], "pitfall 8: no thoughts, no tools, no hand-offs"
    assert memory.last_recall is not None
    assert memory.injected_tokens == count_tokens(memory.last_recall.text) > 10
    assert await memory.aflush(10)


@pytest.mark.slow
@pytest.mark.parametrize("serializer", [JsonSerializer(), JsonPickleSerializer()])
@pytest.mark.parametrize("kind", AGENTS)
async def test_a_saved_context_goes_on_in_another_process(bank: MemoryBank, kind: str, serializer: Any) -> None:
    memory = memory_of(bank, write="background", on_error="raise", token_limit=3000)
    async with running(kind, replies_of(kind) * 2) as (agent, server):
        context = Context(agent)
        await agent.run("Hello", ctx=context, memory=memory)
        data = json.loads(json.dumps(context.to_dict(serializer=serializer)))
        assert FACT not in json.dumps(data), "nothing recalled is in it"
        del memory, context
        bank.close()
        restored = Context.from_dict(agent, data, serializer=serializer)
        await agent.run(QUERY, ctx=restored)
        again = await restored.store.get("memory")
        assert "My violin teacher is Marta" in server.requests[-1].prompt
        assert "Hello" in server.requests[-1].prompt
    assert isinstance(again, SecomMemory)
    assert again.bank is not bank
    assert (again.scope, again.session, again.write, again.on_error) == (ANN, "now", "background", "raise")
    assert stored(again.bank) == ["Hello", REPLY, QUERY, REPLY]
    assert await again.aflush(10)
    again.bank.close()


@pytest.mark.slow
async def test_a_context_keeps_its_memory_until_another_one_is_set(bank: MemoryBank) -> None:
    bobs = SecomMemory(bank=bank, scope=("bob",), session="now")
    async with running("function", replies_of("function") * 3) as (agent, _):
        context = Context(agent)
        await agent.run("I am Ann.", ctx=context, memory=memory_of(bank))
        await agent.run("I am still Ann.", ctx=context, memory=bobs)
        assert not bank.sessions(("bob",)), "LlamaIndex goes on with the memory of the first run"
        await context.store.set("memory", bobs)
        await agent.run("I am Bob.", ctx=context)
    assert stored(bank) == ["I am Ann.", REPLY, "I am still Ann.", REPLY]
    assert [turn.messages[0].text for turn in bank.turns(("bob",))] == ["I am Bob."]


async def test_a_human_in_the_loop_resumes_within_the_turn(bank: MemoryBank) -> None:
    """A context that was saved between the question and the answer."""
    memory = memory_of(bank)
    await memory.aput(user(QUERY))
    before = await memory.aget()
    again = SecomMemory.from_dict(json.loads(memory.to_json()))
    assert await again.aget(input=QUERY) == before
    await again.aput_messages([bot(REPLY)])
    assert stored(bank) == [QUERY, REPLY]


@pytest.mark.slow
async def test_agents_of_one_workflow_share_one_memory(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    async with running("workflow", replies_of("workflow")) as (agent, server):
        answer = await agent.run(QUERY, memory=memory)
        systems = [request.messages[0][1].split(".")[0] for request in server.requests]
    assert systems == ["You are a", "You are b", "You are c"]
    assert answer.current_agent_name == "c"
    assert len(bank.turns(ANN, "now")) == 1


@pytest.mark.slow
async def test_what_the_bank_asks_a_model_never_reaches_the_stream(path: Path) -> None:
    with ScriptedServer(REPLY) as server:
        llm = HttpLLM(base_url=server.base_url)
        with MemoryBank.open(path) as bank:
            memory = memory_of(bank, query=rewritten_query(llm))
            streamed, requests = await streamed_with(memory, agent_of("function", llm), server)
    assert requests > 1, "the bank has asked within the run"
    assert streamed == REPLY


async def streamed_with(memory: SecomMemory, agent: Any, server: ScriptedServer) -> tuple[str, int]:
    await memory.aput_messages([user(FACT), bot("How nice!"), user("The tomatoes are red."), bot("I see.")])
    before = len(server.requests)
    handler = agent.run(QUERY, memory=memory)
    deltas = [event.delta async for event in handler.stream_events() if isinstance(event, AgentStream)]
    return "".join(deltas), len(server.requests) - before


# -- tracing ----------------------------------------------------------------------------------------------------------


class Spans(SimpleSpanHandler):
    """Keeps what the handlers of spans see of recalls."""

    _seen: list[str] = PrivateAttr(default_factory=list)

    def new_span(self, id_: str, bound_args: Any, instance: Any = None, *args: Any, **kwargs: Any) -> Any:
        if id_.startswith("SecomRecall-"):
            self._seen.append(repr((id_, bound_args, instance)))
        return super().new_span(id_, bound_args, instance, *args, **kwargs)


@contextmanager
def recorded_events() -> Iterator[tuple[list[SecomRecallEvent], Spans]]:
    events: list[SecomRecallEvent] = []

    class Ear(BaseEventHandler):
        def handle(self, event: BaseEvent, **kwargs: Any) -> None:
            if isinstance(event, SecomRecallEvent):
                events.append(event)

    root, ear, spans = get_dispatcher(), Ear(), Spans()
    root.add_event_handler(ear)
    root.add_span_handler(spans)
    try:
        yield events, spans
    finally:
        root.event_handlers = [each for each in root.event_handlers if each is not ear]
        root.span_handlers = [each for each in root.span_handlers if each is not spans]


def check_spans(spans: Spans, events: Sequence[SecomRecallEvent]) -> None:
    assert [each.span_id for each in events] == [each.id_ for each in spans.completed_spans if "Recall-" in each.id_]
    assert len(spans._seen) == len(events)
    assert not any("Marta" in each or QUERY in each for each in spans._seen)


@pytest.mark.slow
@pytest.mark.parametrize("contents", [True, False])
@pytest.mark.parametrize("kind", ["memory", "block"])
async def test_a_recall_is_traced_once_a_turn_and_without_words_on_request(
    bank: MemoryBank, kind: str, contents: bool
) -> None:
    block = SecomMemoryBlock(scope=ANN, bank=bank, trace_contents=contents)
    stock = Memory.from_defaults(session_id="now", memory_blocks=[block])
    memory: Any = memory_of(bank, trace_contents=contents) if kind == "memory" else stock
    async with running("function", replies_of("function")) as (agent, _):
        with recorded_events() as (events, spans):
            await agent.run(QUERY, memory=memory)
    (event,) = events
    check_spans(spans, events)
    (span,) = [each for each in spans.completed_spans if each.id_ == event.span_id]
    assert span.parent_id is not None, "it is a part of the agent's run"
    assert (event.session, event.class_name(), event.numbers[:1]) == ("now", "SecomRecallEvent", [1])
    assert event.tokens > 10
    assert event.memory_ids[0] == "day-0#0-1"
    assert ("Marta" in event.model_dump_json()) is contents
    assert (event.query == QUERY) is contents


@pytest.mark.parametrize("contents", [True, False])
def test_a_retriever_and_a_tool_that_search_are_traced_too(bank: MemoryBank, contents: bool) -> None:
    (search,) = memory_tools(bank, scope=ANN, actions=["search"], trace_contents=contents)
    with recorded_events() as (events, spans):
        SecomRetriever(bank, ANN, trace_contents=contents).retrieve(QUERY)
        search.call(query=QUERY)
    assert [(each.session, each.query) for each in events] == [(None, QUERY if contents else None)] * 2
    check_spans(spans, events)


@pytest.mark.filterwarnings("ignore::secom_core.DegradedWarning")
def test_a_recall_that_fails_drops_its_span(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    memory.get_all()
    bank.close()
    with recorded_events() as (events, spans):
        memory.get(QUERY)
    assert not events
    assert [each.id_.split("-")[0] for each in spans.dropped_spans] == ["SecomRecall"]


# -- chat engines -----------------------------------------------------------------------------------------------------

ENGINES = ["simple", "context", "condense"]
MODES = ["sync", "stream", "async", "astream"]


def engine_of(kind: str, memory: SecomMemory, llm: HttpLLM) -> Any:
    if kind == "simple":
        return SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    made: Any = ContextChatEngine if kind == "context" else CondensePlusContextChatEngine
    retriever = SecomRetriever(memory.bank, ("acme", "handbook"), empty="SHELF")
    return made.from_defaults(retriever=retriever, memory=memory, llm=llm)


async def chat(engine: Any, mode: str, text: str) -> str:
    if mode == "sync":
        return str(await asyncio.to_thread(engine.chat, text))
    if mode == "stream":
        return await asyncio.to_thread(lambda: "".join(engine.stream_chat(text).response_gen))
    if mode == "async":
        return str(await engine.achat(text))
    answer = await engine.astream_chat(text)
    return "".join([token async for token in answer.async_response_gen()])


async def until(done: Callable[[], bool]) -> None:
    """A stream is written to memory by a thread or task of the engine's own."""
    for _ in range(200):
        if done():
            return
        await asyncio.sleep(0.01)


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("write", ["inline", "background"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ENGINES)
async def test_a_chat_engine_remembers_and_recalls(bank: MemoryBank, kind: str, mode: str, write: Any) -> None:
    memory = memory_of(bank, write=write)
    with ScriptedServer({"standalone question": QUERY, "": REPLY}) as server:
        engine = engine_of(kind, memory, HttpLLM(base_url=server.base_url))
        for place, text in enumerate(["Hello", QUERY]):
            assert await chat(engine, mode, text) == REPLY
            await until(lambda place=place: len(stored(bank)) == 2 * place + 2)
        request = server.requests[-1]
    assert f"user: {FACT}" in request.prompt
    assert request.messages[-1][1].endswith(QUERY)
    assert stored(bank) == ["Hello", REPLY, QUERY, REPLY]
    assert [message.content for message in engine.chat_history] == stored(bank)
    assert memory.injected_tokens > 10
    assert await memory.aflush(10)


# -- many users -------------------------------------------------------------------------------------------------------


class PooledLLM(HttpLLM):
    """One client for all requests, as a server would have."""

    _one: Any = PrivateAttr(default=None)

    @asynccontextmanager
    async def _pooled(self) -> AsyncIterator[AsyncOpenAI]:
        self._one = self._one or AsyncOpenAI(base_url=self.base_url, api_key="none", max_retries=0)
        yield self._one

    def _aclient(self) -> Any:
        return self._pooled()


def sees(prompt: str) -> str:
    """A model that tells whose words it was shown."""
    return f"I see {' '.join(sorted(set(re.findall(r'mark-[0-9]+', prompt))))}."


async def interleaved(
    bank: MemoryBank, users: int, turns: int, write: Any, ask: Callable[[str, SecomMemory], Any]
) -> list[int]:
    """All users say alike things at once, each with a mark of his own; how many tokens each turn was given."""
    slots = asyncio.Semaphore(16)

    async def talk(number: int) -> list[int]:
        scope, mark, injected = ("acme", f"user-{number}"), f"mark-{number}", []
        memory = memory_of(bank, f"s{number % 3}", scope, write=write, token_limit=200, token_budget=100)
        for turn in range(turns):
            async with slots:
                answer = await ask(f"My violin teacher of {mark} is number {turn}.", memory)
            assert str(answer) == f"I see {mark}.", "nobody else's words were in the prompt"
            injected.append(memory.injected_tokens)
        texts = stored(bank, f"s{number % 3}", scope)
        assert len(texts) == 2 * turns
        assert set(re.findall(r"mark-[0-9]+", " ".join(texts))) == {mark}
        return injected

    found = await asyncio.gather(*(talk(number) for number in range(users)))
    return [tokens for each in found for tokens in each]


@pytest.mark.slow
@pytest.mark.parametrize("write", ["inline", "background"])
async def test_many_users_of_one_agent_never_mix(path: Path, write: Any) -> None:
    with MemoryBank.open(path) as bank, ScriptedServer(lambda request: sees(request.prompt)) as server:
        agent = FunctionAgent(llm=PooledLLM(base_url=server.base_url), streaming=False)
        injected = await interleaved(bank, 6, 8, write, lambda text, memory: agent.run(text, memory=memory))
    assert sum(tokens > 0 for tokens in injected) > 6, "what has left the window was recalled"


class SeeingLLM(MockLLM):
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        await asyncio.sleep(0)
        return ChatResponse(message=bot(sees("\n".join(str(message.content) for message in messages))))


@pytest.mark.slow
async def test_hundreds_of_interleaved_turns_of_many_users_never_mix(path: Path) -> None:
    llm = SeeingLLM()

    async def ask(text: str, memory: SecomMemory) -> Any:
        return await SimpleChatEngine.from_defaults(llm=llm, memory=memory).achat(text)

    with MemoryBank.open(path) as bank:
        injected = await interleaved(bank, 15, 20, "background", ask)
    assert len(injected) == 300
    assert sum(tokens > 0 for tokens in injected) > 90


# -- writing ----------------------------------------------------------------------------------------------------------


async def test_what_was_said_is_on_disk_and_recalled_before_the_writer_has_come_to_it(bank: MemoryBank) -> None:
    first, second = (memory_of(bank, name, write="background") for name in ("one", "two"))
    assert first._writer is second._writer, "all memories of a bank share one thread"
    await first.aput_messages([user("The key is under the blue pot."), bot("Noted.")])
    assert stored(bank, "one") == ["The key is under the blue pot.", "Noted."]
    await second.aput(user("Where is the key?"))
    assert "blue pot" in str((await second.aget())[-1].content)
    assert await second.aflush()
    assert first._writer is not None
    assert len(first._writer) == 0
    await first.areset()
    assert first.session == "one~2"
    assert await first.aflush()


@pytest.mark.slow
async def test_in_the_background_an_agents_reads_cut_no_topics(path: Path) -> None:
    """What is in the window need not be recalled, so that a reading need not wait until it is derived."""
    cut: list[str] = []

    class Counted(LexicalSegmenter):
        def segment(self, turns: Any) -> Any:
            cut.append(threading.current_thread().name)
            return super().segment(turns)

    with fill(MemoryBank.open(path, segmenter=Counted())) as bank:
        memory = memory_of(bank, write="background")
        memory._writer._debounce = 60  # type: ignore[union-attr]
        cut.clear()
        async with running("function", replies_of("function") * 2) as (agent, server):
            for text in (QUERY, "And since when does she teach me the violin?"):
                await agent.run(text, memory=memory)
            assert FACT in server.requests[-1].prompt
        assert cut == []
        # What was said is recalled elsewhere at once, all the same.
        other = memory_of(bank, "elsewhere")
        await other.aput(user("Who asked since when she teaches the violin?"))
        assert "And since when does she teach me" in str((await other.aget())[-1].content)
        assert cut
        cut.clear()
        assert await memory.aflush(10)


@pytest.mark.slow
def test_a_process_killed_right_after_a_put_loses_nothing(path: Path) -> None:
    code = f"""
import os, signal
from llama_index.core.llms import ChatMessage
from llamaindex_secom import SecomMemory
memory = SecomMemory(scope=("acme", "ann"), session="now", store_path={str(path)!r}, write="background")
memory.put(ChatMessage(role="user", content="The key is under the blue pot."))
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.getcwd()}, check=False)
    assert done.returncode == -signal.SIGKILL
    with MemoryBank.open(path) as bank:
        assert "blue pot" in bank.recall(ANN, "Where is the key?").text


@pytest.mark.slow
@pytest.mark.parametrize("write", ["inline", "background"])
@pytest.mark.parametrize("kind", AGENTS)
async def test_a_store_that_fails_in_the_middle_of_a_run_costs_no_answer_and_no_word(
    bank: MemoryBank, path: Path, kind: str, write: Any
) -> None:
    memory = memory_of(bank, write=write)
    broken = Broken(bank, path)
    replies = iter(replies_of(kind) * 2)

    def breaks(request: ScriptedRequest) -> str | Answer:
        reply = next(replies)
        if request is server.requests[0]:
            broken.__enter__()
        return reply

    with ScriptedServer(breaks) as server:
        agent = agent_of(kind, HttpLLM(base_url=server.base_url))
        # The writer's thread may come to what was stored before while the store is broken, and warns too.
        with pytest.warns(DegradedWarning, match="the store failed|the next recall tries again") as warned:
            answers = [str(await agent.run(text, memory=memory)) for text in (QUERY, "Since when?")]
        broken.__exit__()
    assert answers == [REPLY, REPLY]
    kept = "messages are kept and stored with the next ones"
    assert any(kept in str(each.message) for each in warned)
    assert [batch.session for batch in memory.unstored] == ["now"] * 3
    again = SecomMemory.from_dict(json.loads(memory.to_json()))  # a context that was saved keeps them
    assert stored(bank) == [QUERY]
    assert await again.aflush()
    assert stored(bank) == [QUERY, REPLY, "Since when?", REPLY]
    turn_ids = {turn.id for turn in bank.turns(ANN, "now")}
    assert {entry.turn for entry in again.window if entry.turn} == turn_ids
    assert len(again.get_all()) == len(memory.get_all())


@pytest.mark.slow
async def test_a_store_that_fails_can_end_the_run(bank: MemoryBank, path: Path) -> None:
    memory = memory_of(bank, on_error="raise")
    async with running("function", [REPLY] * 2) as (agent, _):
        with Broken(bank, path), pytest.raises(StoreError, match="was removed or replaced"):
            await agent.run(QUERY, memory=memory)
        assert memory.get_all() == []
        assert str(await agent.run(QUERY, memory=memory)) == REPLY
    assert stored(bank) == [QUERY, REPLY]


def test_every_call_goes_on_while_the_store_fails(bank: MemoryBank, path: Path) -> None:
    memory = memory_of(bank)
    memory.put_messages([user("Hello"), bot("Hi")])
    with Broken(bank, path), pytest.warns(DegradedWarning):  # noqa: PT031 - each of them warns
        memory.set([*memory.get_all(), user(QUERY)])
        assert [message.content for message in memory.get()] == ["Hello", "Hi", QUERY]
        assert memory.injected_tokens == 0
        assert not memory.flush()
        memory.reset()
        memory.put(user("A new session"))
    assert memory.flush()
    assert stored(bank) == ["Hello", "Hi", QUERY]
    assert stored(bank, memory.session) == ["A new session"]


def test_a_question_for_which_nothing_could_be_recalled_is_not_asked_again_and_again(
    bank: MemoryBank, path: Path
) -> None:
    memory = memory_of(bank)
    memory.put(user(QUERY))
    with Broken(bank, path), pytest.warns(DegradedWarning):
        before = memory.get()
    assert memory.get(input=QUERY) == before, "the prompt does not change within a turn"
    memory.put_messages([bot("I do not know."), user(QUERY)])
    assert FACT in str(memory.get()[-1].content)


# -- forgetting -------------------------------------------------------------------------------------------------------


def test_a_bank_tells_when_something_was_forgotten(bank: MemoryBank) -> None:
    assert bank.storage.epoch(BOB) is None
    before = bank.storage.epoch(ANN)
    bank.remember(ANN, [{"role": "user", "content": "x"}], session="more")
    assert bank.storage.epoch(ANN) == before
    bank.forget(ANN, session="more")
    assert bank.storage.epoch(ANN) != before
    bank.forget(ANN)
    assert bank.storage.epoch(ANN) is None
    fill(bank)
    assert bank.storage.epoch(ANN) != before


def test_what_is_forgotten_within_a_turn_is_shown_no_more(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    memory.put_messages([user("My sister plays the cello."), bot("Oh!"), user(QUERY)])
    assert FACT in str(memory.get()[-1].content)
    bank.forget(ANN, session="day-0")
    assert FACT not in str(memory.get(input=QUERY)[-1].content)
    first = bank.turns(ANN, "now")[0].id
    bank.forget(ANN, turn_ids=[first])
    assert [message.content for message in memory.get_all()] == [QUERY]
    assert "cello" not in memory.to_json()


def test_an_exchange_that_is_answered_and_forgotten_is_shown_to_no_engine_that_reads_before_it_puts(
    bank: MemoryBank,
) -> None:
    memory = memory_of(bank)
    memory.put_messages(
        [ChatMessage(role="system", content="Be kind."), user("My PIN is 4711K."), bot("I note 4711K.")]
    )
    bank.forget(ANN, session="now")
    assert "4711K" not in str(memory.get(input="Hello"))
    assert [message.content for message in memory.get_all()] == ["Be kind."]


def test_what_is_being_answered_stays_until_the_next_question(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    memory.put(user("Forget everything about the cello."))
    memory.get()
    bank.forget(ANN, session="now")
    assert (memory.get()[-1].content or "").endswith("Forget everything about the cello.")
    memory.put_messages([bot("Done."), user("Hello")])
    memory.get()
    assert [message.content for message in memory.get_all()] == ["Hello"]


@pytest.mark.parametrize("what", [{}, {"session": "now"}], ids=["all", "the session"])
def test_the_answer_to_what_is_forgotten_meanwhile_is_forgotten_too(bank: MemoryBank, what: Any) -> None:
    memory = memory_of(bank)
    memory.put_messages([user("My sister plays the cello."), bot("Oh!"), user("My PIN is 4711K.")])
    memory.get()
    bank.forget(ANN, **what)
    memory.put_messages([bot("I note the PIN 4711K."), bot("Anything else?")])
    assert "4711K" not in str(bank.turns(ANN))
    memory.put(user("Hello"))
    memory.put(bot("Hi"))
    memory.get()
    assert [message.content for message in memory.get_all()] == stored(bank)[-2:] == ["Hello", "Hi"]
    assert [message.content for message in memory_of(bank).get_all()] == ["Hello", "Hi"]


def test_an_answer_is_kept_where_something_else_was_forgotten_meanwhile(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    memory.put_messages([user("My sister plays the cello."), bot("Oh!"), user("I live in Ghent.")])
    memory.get()
    bank.forget(ANN, turn_ids=[bank.turns(ANN, "now")[0].id])
    memory.put(bot("How nice."))
    assert stored(bank)[-2:] == ["I live in Ghent.", "How nice."]


def test_history_given_again_brings_nothing_back(bank: MemoryBank) -> None:
    """Chat engines and agents that are given the history with each call `set` it."""
    memory = memory_of(bank)
    history = [user("My sister plays the cello."), bot("Oh!")]
    memory.set(history)
    bank.forget(ANN)
    memory.set([*history, user("Hello")])
    assert stored(bank) == ["Hello"]


@pytest.mark.slow
def test_what_the_store_had_refused_stays_forgotten_with_its_scope(bank: MemoryBank, path: Path) -> None:
    memory = memory_of(bank)
    memory.put_messages([user("Hello"), bot("Hi")])
    memory.get()
    with Broken(bank, path), pytest.warns(DegradedWarning):
        memory.put(user("My sister plays the cello."))
    bank.forget(ANN)
    memory.put(user("Good evening"))
    assert stored(bank) == ["Good evening"]


# -- learning from what agents answer ---------------------------------------------------------------------------------


@pytest.fixture
def learner(path: Path) -> Iterator[MemoryBank]:
    with fill(MemoryBank.open(path, citations=True)) as bank:
        yield bank


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("kind", AGENTS)
async def test_pitfall_06_an_agents_answer_teaches_once(learner: MemoryBank, kind: str, streaming: bool) -> None:
    memory = memory_of(learner, citations=True)
    async with running(kind, replies_of(kind, "Marta [1], not [9]."), streaming=streaming, prompt=CITE_INSTRUCTION) as (
        agent,
        _,
    ):
        assert str(await agent.run(QUERY, memory=memory)) == "Marta [1], not [9]."
    (entry,) = learner.citations.log(ANN)
    assert (entry.query, entry.cited) == (QUERY, (1,))
    assert memory.last_citations is not None
    assert memory.last_citations.unknown == (9,)
    assert stored(learner) == [QUERY, "Marta, not [9]."]
    assert "[1]" not in memory.to_json(), "these numbers mean other memories next time"
    memory.put(bot("Marta [1]."))
    assert len(learner.citations.log(ANN)) == 1, "one question, one lesson"


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ENGINES)
async def test_pitfall_06_a_chat_engines_answer_teaches_once(learner: MemoryBank, kind: str, mode: str) -> None:
    memory = memory_of(learner, citations=True)
    with ScriptedServer("Marta [1].") as server:
        engine = engine_of(kind, memory, HttpLLM(base_url=server.base_url))
        await chat(engine, mode, QUERY)
        await until(lambda: len(stored(learner)) == 2)
    assert [entry.cited for entry in learner.citations.log(ANN)] == [(1,)]
    assert stored(learner) == [QUERY, "Marta."]


CITING_CALL = 'Thought: memory [1] helps.\nAction: weather\nAction Input: {"city": "[1]"}'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "replies"),
    [
        ("react", [CITING_CALL, "Thought: [1] said so.\nAnswer: She is Marta [2]."]),
        ("react", [CITING_CALL, "Thought: so.\nAnswer: <think>[1]</think>She is Marta [2]."]),
        ("function", [Answer("", (ToolCall("weather", {"city": "[1]"}, "c1"),)), "She is Marta [2]."]),
    ],
)
async def test_pitfall_06_only_what_the_agent_tells_the_user_counts(
    learner: MemoryBank, kind: str, replies: list[str | Answer]
) -> None:
    """Thoughts, calls of tools, their results and recalled text that quotes a marker cite nothing."""
    memory = memory_of(learner, citations=True)
    async with running(kind, replies) as (agent, server):
        await agent.run(QUERY, memory=memory)
        assert "next to the (9) coats" in server.requests[0].prompt
        assert "12 degrees in [1]" in server.requests[1].prompt
    assert [entry.cited for entry in learner.citations.log(ANN)] == [(2,)]


async def test_words_beside_a_call_are_kept_without_markers_and_cite_nothing(learner: MemoryBank) -> None:
    memory = memory_of(learner, citations=True)
    call = Answer("Marta [1], I think.", (ToolCall("weather", {"city": "[1]"}, "c1"),))
    async with running("function", [call, "She is Marta [2]."]) as (agent, _):
        await agent.run(QUERY, memory=memory)
    assert stored(learner) == [QUERY, "Marta, I think.", "She is Marta."]
    assert [entry.cited for entry in learner.citations.log(ANN)] == [(2,)]
    (called,) = (block for message in memory.get_all() for block in message.blocks if isinstance(block, ToolCallBlock))
    assert called.tool_kwargs == {"city": "[1]"}
    shown = [message.model_copy(deep=True) for message in memory.get_all()]
    shown[1].blocks[0] = TextBlock(text="Marta [1], I think.")  # as the front end had shown it
    memory.set(shown)
    assert stored(learner) == [QUERY, "Marta, I think.", "She is Marta."]


def test_code_beside_which_nothing_is_cited_stays_as_it_is(learner: MemoryBank) -> None:
    memory = memory_of(learner, citations=True)
    memory.put(user(QUERY))
    memory.get()
    code = bot("<execute>print(names[1])</execute>")
    memory.put_messages([code, user("Result of executing the code given:\n\nMarta"), bot("Marta [1].")])
    memory.set(memory.get_all())
    assert [message.content for message in memory.get_all()][1] == code.content


@pytest.mark.slow
async def test_pitfall_06_each_users_answer_teaches_his_own_scope(learner: MemoryBank) -> None:
    learner.remember(BOB, [{"role": "user", "content": "My violin teacher is Ivo."}], session="x", close=True)
    memories = {scope: memory_of(learner, scope=scope, citations=True) for scope in (ANN, BOB)}
    async with running("function", {"Marta": "Marta [1].", "Ivo": "Ivo [NO_CITE]."}) as (agent, _):
        await asyncio.gather(*(agent.run(QUERY, memory=memory) for memory in memories.values()))
    assert [entry.cited for entry in learner.citations.log(ANN)] == [(1,)]
    assert [entry.cited for entry in learner.citations.log(BOB)] == [()]


def test_an_answer_without_markers_and_one_to_nothing_teach_nothing(learner: MemoryBank) -> None:
    memory = memory_of(learner, citations=True)
    memory.put(bot("Welcome [1]!"))
    memory.put(user(QUERY))
    memory.get()
    memory.put(bot(REPLY))
    assert learner.citations.log(ANN) == []
    assert stored(learner) == ["Welcome [1]!", QUERY, REPLY]


def test_a_lesson_that_cannot_be_stored_costs_no_answer(learner: MemoryBank, path: Path) -> None:
    memory = memory_of(learner, citations=True)
    memory.put(user(QUERY))
    memory.get()
    with Broken(learner, path), pytest.warns(DegradedWarning, match="the store failed") as warned:
        memory.put(bot("Marta [1]."))
    assert "the citations of the answer were not taken in" in str(warned[0].message)
    assert memory.flush()
    assert stored(learner) == [QUERY, "Marta."]


def test_a_bank_that_does_not_learn_is_refused(bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match=r"opened without 'citations'.* open it with citations=True"):
        memory_of(bank, citations=True)


@pytest.mark.slow
async def test_an_agent_that_is_shown_nodes_teaches_by_take_in(learner: MemoryBank) -> None:
    """For agents with a chat memory of another kind, or with nodes beside ours."""
    numberer, reward = CitationNumberer(learner, first=101), CitationReward(learner)
    found = await SecomRetriever(learner, ANN).aretrieve(QUERY)
    nodes = numberer.postprocess_nodes(found, query_str=QUERY)
    prompt_text = "\n".join(node.get_content(metadata_mode="llm") for node in nodes)  # type: ignore[arg-type]
    async with running("function", "Marta [101].") as (agent, server):
        answer = await agent.run(
            f"<memories>\n{prompt_text}\n</memories>\n{QUERY}", memory=memory_of(learner, citations=True)
        )
        assert "[101]" in server.requests[0].prompt
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    with blockbuster.blockbuster_ctx(["llamaindex_secom", "secom_core"]):
        (lesson,) = await reward.atake_in(answer.response, nodes)
        assert lesson.kind == "recorded"
        assert await reward.atake_in(answer.response, nodes) == []
    assert [entry.cited for entry in learner.citations.log(ANN)] == [(101,)]


class SavedAtEachStep:
    """A server's state: it holds no memory, only what one was saved as, and restores it for each step."""

    def __init__(self, memory: SecomMemory) -> None:
        self._saved = json.dumps(memory.to_dict())

    @property
    def memory(self) -> SecomMemory:
        return SecomMemory.from_dict(json.loads(self._saved))


def test_a_memory_restored_at_each_step_knows_the_recall_of_its_turn_and_takes_in_what_the_answer_cites() -> None:
    bank = MemoryBank.open(citations=True)
    bank.remember(ANN, [("user", "My violin teacher is Marta.")], session="old", close=True)
    state = SavedAtEachStep(SecomMemory(bank=bank, scope=ANN, session="now", citations=True))
    state.memory.put(ChatMessage(role="user", content="Who teaches me the violin?"))
    assert "Marta" in str(state.memory.get()[-1].content)
    first = state.memory.last_recall
    bank.remember(ANN, [("user", "The violin has a new string.")], session="other", close=True)
    state.memory.get()
    assert first is not None
    assert state.memory.last_recall is first
    state.memory.put_messages([ChatMessage(role="assistant", content="Marta [1].")])
    assert [entry.cited for entry in bank.citations.log(ANN)] == [(1,)]
    assert [message.text for turn in bank.turns(ANN, "now") for message in turn.messages][1] == "Marta."


def test_a_memory_restored_at_each_step_stores_what_the_store_refused_with_the_next_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bank = MemoryBank.open()
    state = SavedAtEachStep(SecomMemory(bank=bank, scope=ANN, session="now"))

    def failing(*args: Any, **kwargs: Any) -> Any:
        raise StoreError("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(MemoryBank, "remember", failing)
        with pytest.warns(DegradedWarning, match="kept and stored with the next"):
            state.memory.put(ChatMessage(role="user", content="My dog is called Rex."))
        with pytest.warns(DegradedWarning, match="kept and stored with the next"):
            state.memory.put(ChatMessage(role="assistant", content="Hello, Rex."))
    state.memory.put(ChatMessage(role="user", content="He is four."))
    said = [message.text for turn in bank.turns(ANN, "now") for message in turn.messages]
    assert said == ["My dog is called Rex.", "Hello, Rex.", "He is four."]


def test_a_turn_that_was_given_up_is_not_taken_for_the_one_of_another_run_of_the_session() -> None:
    bank = MemoryBank.open()
    given_up = SavedAtEachStep(SecomMemory(bank=bank, scope=ANN, session="now"))
    given_up.memory.put(ChatMessage(role="user", content="Tell me about Ghent."))
    for question, answer in (("Tell me about Bruges.", "It has canals."), ("And Ostend?", "It has a beach.")):
        state = SavedAtEachStep(SecomMemory(bank=bank, scope=ANN, session="now"))
        state.memory.put(ChatMessage(role="user", content=question))
        state.memory.put(ChatMessage(role="assistant", content=answer))
    shown = [message.content for message in SecomMemory(bank=bank, scope=ANN, session="now").get_all()]
    assert shown == [
        "Tell me about Ghent.",
        "Tell me about Bruges.",
        "It has canals.",
        "And Ostend?",
        "It has a beach.",
    ]
    assert state.memory is not given_up.memory


def test_a_saved_memory_is_let_go_when_its_turn_is_answered() -> None:
    bank = MemoryBank.open()
    state = SavedAtEachStep(SecomMemory(bank=bank, scope=ANN, session="now"))
    state.memory.put(ChatMessage(role="user", content="My dog is called Rex."))
    held = weakref.ref(state.memory)
    gc.collect()
    assert held() is not None
    state.memory.put(ChatMessage(role="assistant", content="Hello, Rex."))
    gc.collect()
    assert held() is None
