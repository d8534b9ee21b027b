"""The drop-ins in chains, agents and graphs, with a model over real HTTP: sync, async and streamed."""

from __future__ import annotations

import contextvars
import threading
import warnings
from collections.abc import Iterator
from datetime import date, datetime, timezone
from operator import itemgetter
from typing import Any

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_agent import HttpAgentModel
from http_chat import HttpChatModel
from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_classic.chains import ConversationalRetrievalChain, ConversationChain, LLMChain
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import Document
from langchain_core.output_parsers import (
    BaseOutputParser,
    CommaSeparatedListOutputParser,
    JsonOutputParser,
    PydanticOutputParser,
    StrOutputParser,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langgraph.prebuilt import chat_agent_executor
from pydantic import BaseModel

from langchain_secom import (
    LLMLinguaDenoiser,
    SecomMemory,
    SecomRetriever,
    SegmentTextSplitter,
    create_search_memory_tool,
)
from langchain_secom.convert import to_messages
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import InvalidScope
from secom_core.testing import Answer, Fault, ScriptedServer, ToolCall

SCOPE = ("acme", "ann")
SCRIPT = ["Your dog is called Bello.", "I see."]


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open() as bank:
        at = datetime(2024, 5, 7, tzinfo=timezone.utc)
        messages = [Message("My dog is called Bello.", at=at), Message("A fine name.", role="assistant", at=at)]
        bank.remember(SCOPE, messages, session="monday", close=True)
        bank.remember(SCOPE, [Message("Bread dough needs rye flour.", at=at)], session="friday", close=True)
        yield bank


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


def memory_of(bank: MemoryBank, **fields: Any) -> SecomMemory:
    return SecomMemory(bank=bank, scope=SCOPE, session="today", **fields)


def remembered(bank: MemoryBank) -> list[str]:
    return [message.text for turn in bank.turns(SCOPE, "today") for message in turn.messages]


def classic(kind: Any, **parts: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classic chains are deprecated, and wanted
        return kind(**parts)


async def invoke(how: str, chain: Any, inputs: Any) -> Any:
    return chain.invoke(inputs) if how == "sync" else await chain.ainvoke(inputs)


both_ways = pytest.mark.parametrize("how", ["sync", "async"])


@pytest.mark.slow
@both_ways
async def test_a_conversation_chain_takes_the_memory_with_its_default_prompt(
    bank: MemoryBank, server: ScriptedServer, how: str
) -> None:
    chain = classic(ConversationChain, llm=HttpChatModel(base_url=server.base_url), memory=memory_of(bank))
    answer = await invoke(how, chain, {"input": "What is my dog called?"})
    assert answer["response"] == "Your dog is called Bello."
    assert "My dog is called Bello." in server.requests[0].text
    await invoke(how, chain, {"input": "Thanks."})
    assert "Human: What is my dog called?\nAI: Your dog is called Bello." in server.requests[1].text
    assert remembered(bank) == ["What is my dog called?", "Your dog is called Bello.", "Thanks.", "I see."]


class Trip(BaseModel):
    city: str


@both_ways
@pytest.mark.parametrize(
    ("parser", "answer", "kept"),
    [
        (JsonOutputParser(), '```json\n{"city": "Gent–Süd"}\n```', '{"city": "Gent–Süd"}'),
        (PydanticOutputParser(pydantic_object=Trip), '{"city": "Ghent"}', '{"city": "Ghent"}'),
        (CommaSeparatedListOutputParser(), "Ghent, Bruges", '["Ghent", "Bruges"]'),
        (JsonOutputParser(), '[{"city": "Ghent"}]', '[{"city": "Ghent"}]'),
    ],
)
async def test_of_an_answer_that_is_parsed_the_data_is_remembered(
    bank: MemoryBank, how: str, parser: Any, answer: str, kept: str
) -> None:
    prompt = PromptTemplate.from_template("{history}\n{input}")
    with ScriptedServer([answer]) as server:
        llm = HttpChatModel(base_url=server.base_url)
        chain = classic(LLMChain, llm=llm, prompt=prompt, memory=memory_of(bank), output_parser=parser)
        assert (await invoke(how, chain, {"input": "Where to?"}))["text"] == parser.parse(answer)
    assert remembered(bank) == ["Where to?", kept]


class Own(BaseOutputParser[Any]):
    made: Any

    def parse(self, text: str) -> Any:
        return self.made


ITSELF: dict[str, Any] = {"city": "Ghent"}
ITSELF["again"] = ITSELF


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        (["Ghent"], "Ghent"),
        ([{"type": "hotel", "text": "Grand"}], '[{"type": "hotel", "text": "Grand"}]'),
        ([{"type": "text", "text": "Ghent"}], "Ghent"),
        ([{"type": "ai", "content": "Ghent"}], "Ghent"),
        ({"b": b"\xff\xfe"}, r"{'b': b'\xff\xfe'}"),
        (ITSELF, "{'city': 'Ghent', 'again': {...}}"),
        ([ITSELF], "[{'city': 'Ghent', 'again': {...}}]"),
        ({"on": date(2026, 1, 2)}, '{"on": "2026-01-02"}'),
    ],
    ids=str,
)
def test_whatever_data_a_parser_makes_of_an_answer_ends_no_chain(bank: MemoryBank, made: Any, kept: str) -> None:
    prompt = PromptTemplate.from_template("{history}\n{input}")
    with ScriptedServer(["ok"]) as server:
        llm = HttpChatModel(base_url=server.base_url)
        parser = Own.model_construct(made=made)
        chain = classic(LLMChain, llm=llm, prompt=prompt, memory=memory_of(bank), output_parser=parser)
        assert chain.invoke({"input": "Where to?"})["text"] is made
    assert remembered(bank) == ["Where to?", kept]


@pytest.mark.slow
@both_ways
async def test_a_model_that_fails_leaves_nothing_remembered(bank: MemoryBank, how: str) -> None:
    with ScriptedServer(Fault(status=500)) as server:
        chain = classic(ConversationChain, llm=HttpChatModel(base_url=server.base_url), memory=memory_of(bank))
        with pytest.raises(Exception, match="500"):
            await invoke(how, chain, {"input": "What is my dog called?"})
    assert remembered(bank) == []


@pytest.mark.slow
@both_ways
async def test_an_llm_chain_with_messages_in_the_prompt(bank: MemoryBank, server: ScriptedServer, how: str) -> None:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be {style}."), MessagesPlaceholder("past"), ("human", "{question}")]
    )
    memory = memory_of(bank, memory_key="past", input_key="question", return_messages=True)
    chain = classic(LLMChain, llm=HttpChatModel(base_url=server.base_url), prompt=prompt, memory=memory)
    for question in ("What is my dog called?", "Thanks."):
        await invoke(how, chain, {"question": question, "style": "brief"})
    roles = [role for role, _ in server.requests[1].messages]
    assert roles[0] == "system"
    assert roles[-3:] == ["user", "assistant", "user"]
    assert remembered(bank) == ["What is my dog called?", "Your dog is called Bello.", "Thanks.", "I see."]


@pytest.mark.slow
@both_ways
async def test_an_agent_executor_with_intermediate_steps(bank: MemoryBank, how: str) -> None:
    @tool
    def dog_register(name: str) -> str:
        """Looks up a dog."""
        return f"{name}: terrier"

    script = {
        "Observation: Bello": "I now know the final answer\nFinal Answer: Bello is a terrier.",
        "": "I should look it up\nAction: dog_register\nAction Input: Bello",
    }
    template = (
        "{history}\nTools: {tools} named {tool_names}. Use Thought, Action, Action Input, Observation, Final Answer.\n"
        "Question: {input}\nThought:{agent_scratchpad}"
    )
    with ScriptedServer(script) as server:
        model = HttpChatModel(base_url=server.base_url)
        agent = create_react_agent(model, [dog_register], PromptTemplate.from_template(template))
        executor = classic(
            AgentExecutor,
            agent=agent,
            tools=[dog_register],
            memory=memory_of(bank, input_key="input"),
            return_intermediate_steps=True,
        )
        answer = await invoke(how, executor, {"input": "What kind of dog is Bello?"})
        assert len(answer["intermediate_steps"]) == 1
        assert "My dog is called Bello." in server.requests[0].text
    assert remembered(bank) == ["What kind of dog is Bello?", "Bello is a terrier."]


@both_ways
async def test_an_agent_that_reaches_its_limit_says_nothing(bank: MemoryBank, how: str) -> None:
    @tool
    def dog_register(name: str) -> str:
        """Looks up a dog."""
        return f"{name}: terrier"

    template = "{history}\nTools: {tools} named {tool_names}.\nQuestion: {input}\nThought:{agent_scratchpad}"
    asked = "What kind of dog is Bello?"
    with ScriptedServer(["I look it up\nAction: dog_register\nAction Input: Bello"]) as server:
        model = HttpChatModel(base_url=server.base_url)
        agent = create_react_agent(model, [dog_register], PromptTemplate.from_template(template))
        memory = memory_of(bank, input_key="input")
        executor = classic(AgentExecutor, agent=agent, tools=[dog_register], memory=memory, max_iterations=1)
        assert (await invoke(how, executor, {"input": asked}))["output"].startswith("Agent stopped")
    assert remembered(bank) == [asked]

    with ScriptedServer([Answer(tool_calls=(ToolCall("dog_register", {"name": "Bello"}, id="call"),))]) as server:
        parts = {"model": HttpAgentModel(base_url=server.base_url), "tools": [dog_register]}
        graph = classic(chat_agent_executor.create_react_agent, **parts).with_config(recursion_limit=2)
        state = await invoke(how, graph, {"messages": [("user", asked)]})
    assert state["messages"][-1].text.startswith("Sorry, need more steps")
    assert [message.text for message in to_messages(state["messages"])] == [asked]


@pytest.mark.slow
@both_ways
async def test_an_agent_executor_with_a_memory_tool_needs_the_configuration_passed_on(
    bank: MemoryBank, how: str
) -> None:
    script = {
        "Observation: <memories>": "I now know the final answer\nFinal Answer: Bello.",
        "": "I should look it up\nAction: search_memory\nAction Input: dog",
    }
    template = (
        "Tools: {tools} named {tool_names}. Use Thought, Action, Action Input, Observation, Final Answer.\n"
        "Question: {input}\nThought:{agent_scratchpad}"
    )
    search = create_search_memory_tool(bank, scope_keys=("tenant_id", "user_id"))
    asked, as_ann = {"input": "My dog?"}, {"configurable": {"tenant_id": "acme", "user_id": "ann"}}
    with ScriptedServer(script) as server:
        model = HttpChatModel(base_url=server.base_url)
        agent = create_react_agent(model, [search], PromptTemplate.from_template(template))
        executor = classic(AgentExecutor, agent=agent, tools=[search])
        with pytest.raises(InvalidScope, match=r"call RunnableLambda\(wrapper\.invoke\) in its place") as refused:
            await invoke(how, executor.with_config(as_ann), asked)
        assert "scope=(" not in str(refused.value)  # a tool takes none
        around = RunnableLambda(executor.invoke, executor.ainvoke).with_config(as_ann)  # type: ignore[arg-type]
        assert (await invoke(how, around, asked))["output"] == "Bello."
        assert "My dog is called Bello." in server.requests[-1].text


@pytest.mark.slow
@both_ways
async def test_a_conversational_retrieval_chain_takes_both(bank: MemoryBank, server: ScriptedServer, how: str) -> None:
    chain = classic(
        ConversationalRetrievalChain.from_llm,
        llm=HttpChatModel(base_url=server.base_url),
        retriever=SecomRetriever(bank=bank, scope=SCOPE, k=1),
        memory=memory_of(bank, memory_key="chat_history", return_messages=True, token_budget=1),
        return_source_documents=True,
    )
    answer = await invoke(how, chain, {"question": "What is my dog called?"})
    assert answer["answer"] == "Your dog is called Bello."
    assert answer["source_documents"][0].metadata["session"] == "monday"
    assert remembered(bank) == ["What is my dog called?", "Your dog is called Bello."]


def rag(bank: MemoryBank, server: ScriptedServer) -> Any:
    retriever = SecomRetriever(bank=bank, scope=SCOPE, k=1)
    prompt = ChatPromptTemplate.from_template("Memories:\n{memories}\nQuestion: {question}")
    return (
        {
            "memories": retriever | (lambda documents: "\n".join(each.page_content for each in documents)),
            "question": RunnablePassthrough(),
        }
        | prompt
        | HttpChatModel(base_url=server.base_url)
        | StrOutputParser()
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream", "batch", "abatch"])
async def test_an_lcel_rag_chain(bank: MemoryBank, server: ScriptedServer, how: str) -> None:
    chain, question = rag(bank, server), "What is my dog called?"
    answers = {
        "invoke": lambda: chain.invoke(question),
        "stream": lambda: "".join(chain.stream(question)),
        "batch": lambda: chain.batch([question])[0],
    }
    if how in answers:
        answer = answers[how]()
    elif how == "astream":
        pieces = [piece async for piece in chain.astream(question)]
        assert len(pieces) > 2
        answer = "".join(pieces)
    else:
        answer = await chain.ainvoke(question) if how == "ainvoke" else (await chain.abatch([question]))[0]
    assert answer == "Your dog is called Bello."
    assert "Memories:\nuser: My dog is called Bello.\nassistant: A fine name." in server.requests[0].text
    assert "flour" not in server.requests[0].text
    assert bool(server.requests[0].body.get("stream")) == how.endswith("stream")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_a_streamed_answer_is_saved_whole(bank: MemoryBank, server: ScriptedServer, how: str) -> None:
    memory = memory_of(bank, return_messages=True)
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    history = RunnableLambda(memory.load_memory_variables, memory.aload_memory_variables) | itemgetter("history")
    chain = RunnablePassthrough.assign(history=history) | prompt | HttpChatModel(base_url=server.base_url)
    inputs = {"input": "What is my dog called?"}
    if how == "sync":
        pieces = list(chain.stream(inputs))
        memory.save_context(inputs, {"output": sum(pieces[1:], pieces[0])})
    else:
        pieces = [piece async for piece in chain.astream(inputs)]
        await memory.asave_context(inputs, {"output": sum(pieces[1:], pieces[0])})
    assert len(pieces) > 2
    assert remembered(bank) == ["What is my dog called?", "Your dog is called Bello."]
    assert "My dog is called Bello." in server.requests[0].prompt


class FirstWords:
    def denoise(self, texts: Any, statistics: Any = None) -> list[str]:
        return [" ".join(text.split()[:3]) for text in texts]


@both_ways
async def test_a_contextual_compression_retriever_takes_retriever_splitter_and_denoiser(
    bank: MemoryBank, how: str
) -> None:
    pipeline = DocumentCompressorPipeline(transformers=[SegmentTextSplitter(), LLMLinguaDenoiser(FirstWords())])
    retriever = ContextualCompressionRetriever(
        base_compressor=pipeline, base_retriever=SecomRetriever(bank=bank, scope=SCOPE)
    )
    documents = retriever.invoke("dog", k=1) if how == "sync" else await retriever.ainvoke("dog", k=1)
    assert [document.page_content for document in documents] == ["user: My dog"]
    assert documents[0].metadata["session"] == "monday"
    assert documents[0].metadata["secom_original_text"].endswith("A fine name.")


@both_ways
async def test_an_ensemble_takes_the_retriever(bank: MemoryBank, how: str) -> None:
    other = RunnableLambda(lambda _: [Document("From elsewhere.")])
    ensemble = EnsembleRetriever(retrievers=[SecomRetriever(bank=bank, scope=SCOPE, k=1), other])
    documents = await invoke(how, ensemble, "What is my dog called?")
    assert {document.page_content.splitlines()[0] for document in documents} == {
        "user: My dog is called Bello.",
        "From elsewhere.",
    }


# -- the event loop ---------------------------------------------------------------------------------------------------


async def everything_async(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    await memory.aload_memory_variables({"input": "What is my dog called?"})
    await memory.asave_context({"input": "Hi"}, {"response": "Hello"})
    await SecomRetriever(bank=bank, scope=SCOPE).ainvoke("dog")
    await SecomRetriever(bank=bank).ainvoke("dog", {"configurable": {"user_id": "ann"}})
    await SegmentTextSplitter(Blocking(), chunk_size=None).atransform_documents([Document("One. Two.")])
    await LLMLinguaDenoiser(Blocking()).atransform_documents([Document("One. Two.")])
    await memory.aclear()


class Blocking:
    """A segmenter and denoiser that waits, as one that asks a model does."""

    def denoise(self, texts: Any, statistics: Any = None) -> list[str]:
        threading.Event().wait(0.01)
        return list(texts)

    def segment(self, turns: Any) -> Any:
        from secom_core.segmenters.fixed import EachTurn

        threading.Event().wait(0.01)
        return EachTurn().segment(turns)


@pytest.mark.slow
async def test_no_async_hook_blocks_the_event_loop(tmp_path: Any) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        bank.remember(SCOPE, [Message("My dog is called Bello.")], session="monday", close=True)
        await everything_async(bank)  # what is imported on first use is imported now
        with MemoryBank.open() as control, blockbuster.blockbuster_ctx():
            with pytest.raises(blockbuster.BlockingError):
                memory_of(control).save_context({"input": "Hi"}, {"response": "Hello"})
            with pytest.raises(blockbuster.BlockingError):
                SegmentTextSplitter(Blocking(), chunk_size=None).split_text("One. Two.")
            await everything_async(bank)


async def test_offloaded_hooks_keep_context_variables(bank: MemoryBank) -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
    seen: list[tuple[str, bool]] = []

    class Watching:
        def denoise(self, texts: Any, statistics: Any = None) -> list[str]:
            seen.append((tenant.get(), threading.current_thread() is threading.main_thread()))
            return list(texts)

    with MemoryBank.open(denoiser=Watching()) as watched:
        tenant.set("acme")
        await memory_of(watched).asave_context({"input": "Hi"}, {"response": "Hello"})
        await SecomRetriever(bank=watched, scope=SCOPE).ainvoke("dog")
        await LLMLinguaDenoiser(Watching()).atransform_documents([Document("One.")])
    assert set(seen) == {("acme", False)}
