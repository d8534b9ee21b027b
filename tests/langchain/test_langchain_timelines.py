"""Timelines as a retriever: the conformance suite, provenance, refinement over HTTP, chains, tools, the event loop."""

from __future__ import annotations

import contextvars
import json
import shutil
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")
pytest.importorskip("langchain_tests.integration_tests", reason="needs langchain-tests")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from asking import each_way, found
from http_chat import HttpChatModel
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from openai import AsyncOpenAI, OpenAI
from pydantic import ValidationError

from langchain_secom import LangChainChatModel, SecomRetriever, TimelineRetriever, open_bank
from langchain_secom.timelines import timeline_document
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, InvalidScope
from secom_core.testing import Answer, Fault, ScriptedModel, ScriptedRequest, ScriptedServer, ToolCall
from secom_core.text.terms import count_tokens
from secom_core.timelines import Event, Relation, Timeline, TimelineOptions, response_instructions

ANN, BOB = ("acme", "ann"), ("acme", "bob")
FACTS = [
    ("monday", 1, "My dog Bello has a sore paw."),
    ("tuesday", 5, "The vet bandaged Bello's sore paw."),
    ("friday", 9, "Bread dough needs rye flour."),
    ("sunday", 14, "Bello's paw has healed, the vet says, and he runs again."),
]
QUERY = "How is Bello's paw?"
LINES = (
    "2024-05-01: Ann: My dog Bello has a sore paw.\n"
    "→ (SameTopic) 2024-05-05: Ann: The vet bandaged Bello's sore paw.\n"
    "→ (SameTopic) 2024-05-14: Ann: Bello's paw has healed, the vet says, and he runs again."
)
NOTES = "Bello's paw was sore, was bandaged, and has healed."
SCRIPT = {"<notes>": f"<notes>{NOTES}</notes>", "": "It has healed."}


def fill(bank: MemoryBank) -> MemoryBank:
    for session, day, text in FACTS:
        at = datetime(2024, 5, day, tzinfo=timezone.utc)
        bank.remember(ANN, [Message(text, "user", "Ann", f"{session}-1", at)], session=session, close=True)
    bank.remember(BOB, [Message("My dog Rex has a sore paw.")], session="monday", close=True)
    return bank


def filled(path: str | Path = ":memory:", **parts: Any) -> MemoryBank:
    return fill(MemoryBank.open(path, **{"timelines": True, **parts}))


@pytest.fixture(scope="module")
def bank() -> Iterator[MemoryBank]:
    with filled() as bank:
        yield bank


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bank") / "memory.db"
    filled(path).close()
    return path


@pytest.fixture
def path(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(template, tmp_path))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


@pytest.fixture
def asking(path: Path, server: ScriptedServer) -> Iterator[MemoryBank]:
    """The same events, in a bank that has a language model now."""
    model = LangChainChatModel(HttpChatModel(base_url=server.base_url))
    with MemoryBank.open(path, model=model, timelines=True) as bank:
        yield bank


def strangers() -> MemoryBank:
    """Events that have nothing to do with each other, so that k events are k timelines, as the suite wants them."""
    bank = MemoryBank.open(timelines=True)
    for text in ("Bello barks.", "Minka sleeps.", "Polly talks.", "Rex digs."):
        bank.remember(ANN, [Message(text, role="")], session=text, close=True)
    return bank


class TestConformance(RetrieversIntegrationTests):
    bank = strangers()

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return TimelineRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"bank": self.bank, "scope": ANN}

    @property
    def retriever_query_example(self) -> str:
        return "Who barks, who sleeps, who talks and who digs?"


async def invoke(how: str, chain: Any, inputs: Any, *args: Any) -> Any:
    return chain.invoke(inputs, *args) if how == "sync" else await chain.ainvoke(inputs, *args)


both_ways = pytest.mark.parametrize("how", ["sync", "async"])


# -- documents --------------------------------------------------------------------------------------------------------


@each_way
async def test_every_way_of_asking_gives_the_timeline_with_its_relations(bank: MemoryBank, how: str) -> None:
    [document] = await found(how, TimelineRetriever(bank=bank, scope=ANN), QUERY)
    assert document.page_content == LINES
    assert document.metadata["relations"] == ["SameTopic", "SameTopic"]
    assert document.metadata["refined"] is False


def test_the_metadata_is_json_and_leads_back_to_events_links_and_turns(bank: MemoryBank) -> None:
    [document] = TimelineRetriever(bank=bank, scope=ANN).invoke(QUERY)
    about = json.loads(json.dumps(document.metadata))
    assert about == document.metadata
    events = {event.id: event for event in bank.timelines.events(ANN)}
    links = {(link.earlier, link.later): link.relation.value for link in bank.timelines.links(ANN)}
    for fields in about["events"]:
        event = events[fields["id"]]
        assert (fields["text"], fields["session"], fields["turn_ids"]) == (event.text, event.session, [*event.turn_ids])
        assert datetime.fromisoformat(fields["at"]) == event.at
        assert [turn.id for turn in bank.turns(ANN, fields["session"])] == fields["turn_ids"]
    steps = [(earlier["id"], later["id"]) for earlier, later in pairwise(about["events"])]
    assert [links[step] for step in steps] == about["relations"]
    assert about["turn_ids"] == ["monday-1", "tuesday-1", "sunday-1"]
    assert about["sessions"] == ["monday", "tuesday", "sunday"]
    assert (about["begin"][:10], about["end"][:10]) == ("2024-05-01", "2024-05-14")
    assert (about["scope"], about["rank"]) == (["acme", "ann"], 1)


def test_metadata_says_which_events_the_query_found(bank: MemoryBank) -> None:
    [document] = TimelineRetriever(bank=bank, scope=ANN, k=1).invoke("bandaged")
    assert [event["session"] for event in document.metadata["events"] if event["found"]] == ["tuesday"]


def test_the_id_stays_and_is_that_of_these_events_in_this_scope() -> None:
    at = datetime(2024, 5, 1, tzinfo=timezone.utc)
    one, two = (Event(number, "x", at, "s", ("t",)) for number in (1, 2))
    pair = Timeline((one, two), (Relation.CAUSE,))
    written = Timeline((one, two), (Relation.CAUSE,), text="x, and then x")
    assert timeline_document(pair, ANN).id == timeline_document(written, ANN).id
    others = [timeline_document(Timeline((one,), ()), ANN), timeline_document(pair, BOB)]
    assert len({timeline_document(pair, ANN).id, *(each.id for each in others)}) == 3


@pytest.mark.parametrize("scope", ["ann", (), ("",)])
def test_a_document_needs_a_scope(scope: Any) -> None:
    alone = Timeline((Event(1, "x", datetime(2024, 5, 1), "s", ("t",)),), ())
    with pytest.raises(InvalidScope):
        timeline_document(alone, scope)


# -- arguments --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forked() -> Iterator[MemoryBank]:
    """One beginning with four ends: as many timelines go through it."""
    with MemoryBank.open(timelines=TimelineOptions(associates=1)) as bank:
        texts = ["Bello Bello Bello is my dog.", *(f"Bello {end}." for end in ("barks", "digs", "sleeps", "swims"))]
        for day, text in enumerate(texts, start=1):
            at = datetime(2024, 5, day, tzinfo=timezone.utc)
            bank.remember(ANN, [Message(text, "user", "Ann", f"t{day}", at)], session=f"s{day}", close=True)
        yield bank


@each_way
async def test_both_the_sync_and_the_async_method_accept_k_and_n(forked: MemoryBank, how: str) -> None:
    retriever = TimelineRetriever(bank=forked, scope=ANN, k=1, n=1)
    assert len(forked.timelines.find(ANN, "my dog", k=1, n=9)) > 1, "the graph has to branch for this test"
    assert len(await found(how, retriever, "my dog")) == 1
    assert len(await found(how, retriever, "my dog", n=2)) == 2
    assert len(await found(how, retriever, "my dog", k=None, n=None)) == 1
    every = await found(how, retriever, "my dog", k=5, n=9)
    assert len(every) == len({document.id for document in every}) > 2
    for name in ("k", "n", "token_budget"):
        with pytest.raises(InvalidInput, match="got 0"):
            await found(how, retriever, "my dog", **{name: 0})


def test_the_same_seed_draws_the_same_timelines(forked: MemoryBank) -> None:
    def drawn(seed: int) -> str:
        return TimelineRetriever(bank=forked, scope=ANN, k=1, seed=seed).invoke("my dog")[0].page_content

    assert drawn(7) == drawn(7)
    assert len({drawn(seed) for seed in range(20)}) > 1


def test_best_first_or_oldest_first(bank: MemoryBank) -> None:
    query = "How much rye flour does bread dough need, and how is the paw?"
    best = TimelineRetriever(bank=bank, scope=ANN).invoke(query)
    assert [(each.metadata["begin"][:10], each.metadata["rank"]) for each in best] == [
        ("2024-05-09", 1),
        ("2024-05-01", 2),
    ]
    oldest = TimelineRetriever(bank=bank, scope=ANN, order="time").invoke(query)
    assert [each.metadata["rank"] for each in oldest] == [2, 1]


@pytest.mark.parametrize("budget", [1, 20, 40, 60, 80, 2000])
def test_a_budget_is_kept_and_what_was_found_stays(bank: MemoryBank, budget: int) -> None:
    query = "Who bandaged the paw?"
    documents = TimelineRetriever(bank=bank, scope=ANN, k=1, token_budget=budget).invoke(query)
    assert sum(count_tokens(each.page_content) for each in documents) <= budget
    assert all("bandaged" in each.page_content for each in documents)
    assert all(len(each.metadata["events"]) == len(each.page_content.splitlines()) for each in documents)
    assert len(documents) == (1 if budget >= 40 else 0)
    assert ("healed" in "".join(each.page_content for each in documents)) == (budget >= 80)


def test_a_follow_up_is_understood_by_the_messages_before_it(bank: MemoryBank) -> None:
    retriever = TimelineRetriever(bank=bank, scope=ANN)
    before = [HumanMessage("Does Bello still have a sore paw?"), AIMessage("It was bandaged.")]
    assert retriever.invoke("And now?") == []
    assert [document.page_content for document in retriever.invoke("And now?", context=before, k=1)] == [LINES]
    with pytest.raises(InvalidInput, match="context is a list of messages"):
        retriever.invoke("And now?", context=7)


def test_an_empty_scope_or_query_gives_no_documents(bank: MemoryBank) -> None:
    assert TimelineRetriever(bank=bank, scope=("nobody",)).invoke(QUERY) == []
    assert TimelineRetriever(bank=bank, scope=ANN).invoke(" ") == []


def test_a_bank_that_keeps_no_timelines_is_refused_at_construction() -> None:
    with MemoryBank.open() as plain:
        with pytest.raises(ValidationError, match=r"without 'timelines'.*open it with timelines=True"):
            TimelineRetriever(bank=plain, scope=ANN)
        with pytest.raises(ValidationError, match="without 'timelines'"):
            TimelineRetriever(bank=plain)


async def test_a_misspelt_argument_does_not_pass_silently(bank: MemoryBank) -> None:
    with pytest.raises(ValidationError, match="refine"):
        TimelineRetriever(bank=bank, scope=ANN, refine=True)  # type: ignore[call-arg]
    retriever = TimelineRetriever(bank=bank, scope=ANN)
    with pytest.raises(TypeError, match="refine"):
        retriever.invoke(QUERY, refine=True)
    with pytest.raises(TypeError, match="refine"):
        await retriever.ainvoke(QUERY, refine=True)


# -- scopes -----------------------------------------------------------------------------------------------------------


@each_way
async def test_configurable_is_seen_in_a_direct_call(bank: MemoryBank, how: str) -> None:
    retriever = TimelineRetriever(bank=bank, scope_keys=("tenant", "user_id"))
    config = {"configurable": {"tenant": "acme", "user_id": "bob"}}
    [document] = await found(how, retriever, QUERY, config)
    assert document.metadata["scope"] == ["acme", "bob"]
    assert "Rex" in document.page_content
    assert "Bello" not in document.page_content


@each_way
@pytest.mark.parametrize("configurable", [{}, {"tenant": "acme"}, {"tenant": "acme", "user_id": ""}])
async def test_it_fails_closed_without_a_scope(bank: MemoryBank, how: str, configurable: dict[str, Any]) -> None:
    retriever = TimelineRetriever(bank=bank, scope_keys=("tenant", "user_id"))
    with pytest.raises(InvalidScope):
        await found(how, retriever, QUERY, {"configurable": configurable})


@both_ways
async def test_a_bound_retriever_gives_no_other_scope(bank: MemoryBank, how: str) -> None:
    retriever = TimelineRetriever(bank=bank, scope=ANN)
    with pytest.raises(InvalidScope, match="bound to"):
        await invoke(how, retriever, QUERY, {"configurable": {"scope": BOB}})
    with pytest.raises(InvalidScope, match="Give TimelineRetriever a scope"):
        await invoke(how, TimelineRetriever(bank=bank), QUERY)


@pytest.mark.slow
def test_a_forgotten_turn_is_in_no_timeline(path: Path) -> None:
    with MemoryBank.open(path, timelines=True) as bank:
        retriever = TimelineRetriever(bank=bank, scope=ANN)
        assert "bandaged" in retriever.invoke(QUERY)[0].page_content
        bank.forget(ANN, turn_ids=["tuesday-1"])
        documents = retriever.invoke(QUERY)
    assert documents
    assert "bandaged" not in json.dumps([document.model_dump() for document in documents])


# -- refinement, over HTTP --------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_way
async def test_a_model_rewrites_the_timeline_and_provenance_stays(
    bank: MemoryBank, asking: MemoryBank, server: ScriptedServer, how: str
) -> None:
    [document] = await found(how, TimelineRetriever(bank=asking, scope=ANN), QUERY)
    [plain] = TimelineRetriever(bank=bank, scope=ANN).invoke(QUERY)
    assert document.page_content == NOTES
    assert document.metadata == {**plain.metadata, "refined": True}
    assert document.id == plain.id
    assert len(server.requests) == 1
    assert QUERY in server.requests[0].text
    assert "(SameTopic) 2024-05-05" in server.requests[0].text.replace("→ ", "")


@pytest.mark.slow
@each_way
async def test_refinement_can_be_left_out_of_a_call(asking: MemoryBank, server: ScriptedServer, how: str) -> None:
    [document] = await found(how, TimelineRetriever(bank=asking, scope=ANN), QUERY, refined=False)
    assert document.page_content == LINES
    retriever = TimelineRetriever(bank=asking, scope=ANN, refined=False)
    assert (await found(how, retriever, QUERY))[0].page_content == LINES
    assert server.requests == ()
    assert (await found(how, retriever, QUERY, refined=True))[0].page_content == NOTES


@pytest.mark.slow
@both_ways
@pytest.mark.parametrize("fault", [Fault(status=500), Fault(), Fault(body="no JSON"), "<notes></notes>"])
async def test_a_model_that_fails_leaves_the_timeline_as_it_is(path: Path, how: str, fault: Any) -> None:
    with ScriptedServer(fault) as server:
        model = LangChainChatModel(HttpChatModel(base_url=server.base_url))
        with (
            MemoryBank.open(path, model=model, timelines=True) as bank,
            pytest.warns(DegradedWarning, match="did not rewrite 1 of 1 timelines"),
        ):
            [document] = await invoke(how, TimelineRetriever(bank=bank, scope=ANN), QUERY)
    assert document.page_content == LINES
    assert document.metadata["refined"] is False


def test_open_bank_gives_its_model_to_the_timelines() -> None:
    with (
        ScriptedServer({"<notes>": f"<notes>{NOTES}</notes>", "": Fault(500)}) as server,
        open_bank(model=HttpChatModel(base_url=server.base_url), timelines=True) as bank,
    ):
        with pytest.warns(DegradedWarning, match="found no events"):
            bank.remember(ANN, [Message("Bello's paw is sore.")], session="monday", close=True)
        [document] = TimelineRetriever(bank=bank, scope=ANN).invoke(QUERY)
    assert document.page_content == NOTES


# -- chains, tools, ensembles -----------------------------------------------------------------------------------------


def rag(bank: MemoryBank, server: ScriptedServer) -> Any:
    prompt = ChatPromptTemplate.from_template("Timelines:\n{timelines}\nQuestion: {question}")
    return (
        {
            "timelines": TimelineRetriever(bank=bank, scope=ANN)
            | (lambda documents: "\n".join(each.page_content for each in documents)),
            "question": RunnablePassthrough(),
        }
        | prompt
        | HttpChatModel(base_url=server.base_url)
        | StrOutputParser()
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream", "batch", "abatch"])
async def test_an_lcel_chain(asking: MemoryBank, server: ScriptedServer, how: str) -> None:
    chain = rag(asking, server)
    if how.endswith("stream"):
        pieces = list(chain.stream(QUERY)) if how == "stream" else [piece async for piece in chain.astream(QUERY)]
        assert len(pieces) > 2
        answer = "".join(pieces)
    elif how.endswith("batch"):
        answer = chain.batch([QUERY])[0] if how == "batch" else (await chain.abatch([QUERY]))[0]
    else:
        answer = await invoke("sync" if how == "invoke" else "async", chain, QUERY)
    assert answer == "It has healed."
    assert [f"Timelines:\n{NOTES}\n" in request.prompt for request in server.requests] == [False, True]


async def test_what_the_model_is_asked_for_a_timeline_does_not_leak_into_the_stream(
    asking: MemoryBank, server: ScriptedServer
) -> None:
    tokens = [
        str(event["data"]["chunk"].text)
        async for event in rag(asking, server).astream_events(QUERY, version="v2")
        if event["event"] == "on_chat_model_stream"
    ]
    assert "".join(tokens) == "It has healed."
    assert len(server.requests) == 2


@both_ways
async def test_an_ensemble_takes_it_beside_the_other_retriever(bank: MemoryBank, how: str) -> None:
    ensemble = EnsembleRetriever(
        retrievers=[SecomRetriever(bank=bank, scope=ANN, k=1), TimelineRetriever(bank=bank, scope=ANN)]
    )
    documents = await invoke(how, ensemble, "The vet bandaged the sore paw of Bello")
    assert {document.page_content for document in documents} == {"Ann: The vet bandaged Bello's sore paw.", LINES}


@both_ways
async def test_a_retriever_tool_takes_the_scope_from_the_configuration_around_it(bank: MemoryBank, how: str) -> None:
    retriever = TimelineRetriever(bank=bank, scope_keys=("tenant", "user_id"))
    tool = create_retriever_tool(
        retriever, "timelines", "How things came about.", response_format="content_and_artifact"
    )
    call = {"name": "timelines", "args": {"query": QUERY}, "id": "1", "type": "tool_call"}
    agent = RunnableLambda(lambda each: tool.invoke(each), lambda each: tool.ainvoke(each))
    config = {"configurable": {"tenant": "acme", "user_id": "ann"}}
    message = await invoke(how, agent, call, config)
    assert message.content == LINES
    assert message.artifact[0].metadata["relations"] == ["SameTopic", "SameTopic"]
    with pytest.raises(InvalidScope):
        await invoke(how, tool, {"query": QUERY})


class ToolChatModel(HttpChatModel):
    """One that passes tools on, and the model's calls back."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools])

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        with OpenAI(base_url=self.base_url, api_key="none", max_retries=0) as client:
            return called(client.chat.completions.create(**self._body(messages, stop, **kwargs)))

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        async with AsyncOpenAI(base_url=self.base_url, api_key="none", max_retries=0) as client:
            return called(await client.chat.completions.create(**self._body(messages, stop, **kwargs)))

    def _should_stream(self, **kwargs: Any) -> bool:
        return False  # the calls are read from whole answers only


def called(completion: Any) -> ChatResult:
    message = completion.choices[0].message
    calls = [
        {"name": each.function.name, "args": json.loads(each.function.arguments), "id": each.id}
        for each in message.tool_calls or ()
    ]
    return ChatResult(generations=[ChatGeneration(message=AIMessage(message.content or "", tool_calls=calls))])


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
async def test_an_agent_takes_it_as_a_tool_and_its_user_sees_no_inner_call(path: Path, how: str) -> None:
    agents = pytest.importorskip("langchain.agents", reason="needs the extra 'langchain'")

    def play(request: ScriptedRequest) -> Any:
        if "<notes>" in request.prompt:
            return f"<notes>{NOTES}</notes>"
        answered = request.messages[-1][0] == "tool"
        return "It has healed." if answered else Answer(None, (ToolCall("timelines", {"query": QUERY}, "call-1"),))

    with ScriptedServer(play) as server:
        llm = ToolChatModel(base_url=server.base_url)
        with MemoryBank.open(path, model=LangChainChatModel(llm), timelines=True) as bank:
            retriever = TimelineRetriever(bank=bank, scope_keys=("tenant", "user_id"))
            tool = create_retriever_tool(retriever, "timelines", "How things came about.")
            agent = agents.create_agent(llm, [tool], system_prompt=response_instructions())
            inputs: Any = {"messages": [HumanMessage(QUERY)]}
            config: Any = {"configurable": {"tenant": "acme", "user_id": "ann"}}
            if how.endswith("invoke"):
                messages = (await invoke("sync" if how == "invoke" else "async", agent, inputs, config))["messages"]
                assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
                texts = [message.text for message in messages[1:]]
            elif how == "stream":
                texts = [message.text for message, _ in agent.stream(inputs, config, stream_mode="messages")]
            else:
                texts = [message.text async for message, _ in agent.astream(inputs, config, stream_mode="messages")]
    assert texts == ["", NOTES, "It has healed."]
    assert ["<notes>" in request.prompt for request in server.requests] == [False, True, False]
    assert [request.messages[0] == ("system", response_instructions()) for request in server.requests] == [
        True,
        False,
        True,
    ]


# -- traces, serialisation, the event loop ----------------------------------------------------------------------------


class Recorder(BaseCallbackHandler):
    def __init__(self) -> None:
        self.metadata: list[dict[str, Any]] = []

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self.metadata.append(kwargs["metadata"])


def test_traces_name_the_retriever(bank: MemoryBank) -> None:
    recorder = Recorder()
    TimelineRetriever(bank=bank, scope=ANN).invoke(QUERY, {"callbacks": [recorder]})
    assert recorder.metadata[0]["ls_retriever_name"] == "secom_timelines"


def test_pitfall_14_is_lc_serializable_stays_false() -> None:
    assert TimelineRetriever.is_lc_serializable() is False


async def test_no_async_call_blocks_the_event_loop(asking: MemoryBank) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    config: Any = {"configurable": {"user_id": "ann"}}
    await TimelineRetriever(bank=asking, scope=ANN).ainvoke(QUERY)  # what is imported on first use is imported now
    with blockbuster.blockbuster_ctx():
        with pytest.raises(blockbuster.BlockingError):
            TimelineRetriever(bank=asking, scope=ANN).invoke(QUERY)
        [document] = await TimelineRetriever(bank=asking, scope=ANN).ainvoke(QUERY)
        assert await TimelineRetriever(bank=asking).ainvoke(QUERY, config) == []
    assert document.page_content == NOTES


async def test_the_worker_thread_keeps_context_variables(path: Path) -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
    seen: list[tuple[str, bool]] = []

    def answer(request: Any) -> str:
        seen.append((tenant.get(), threading.current_thread() is threading.main_thread()))
        return f"<notes>{NOTES} The bread has rye flour.</notes>"

    with MemoryBank.open(path, model=ScriptedModel(answer), timelines=True) as bank:
        tenant.set("acme")
        query = "How much rye flour does bread dough need, and how is the paw?"
        assert len(await TimelineRetriever(bank=bank, scope=ANN).ainvoke(query)) == 2
    assert seen == [("acme", False)] * 2
