"""One set of recall options: whatever recalls takes them all, checks them when it is made, and passes them on."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import datetime, timezone
from typing import Any

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")
pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from pydantic import BaseModel

import langchain_secom
from langchain_secom import (
    RecursiveSummaryMemory,
    SecomChatMessageHistory,
    SecomMemory,
    SecomMiddleware,
    SecomRetriever,
    TimelineRetriever,
    create_search_memory_tool,
    recalled_memories,
    with_citation_feedback,
)
from langchain_secom.convert import to_hits
from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput
from secom_core.memory import RecallOptions
from secom_core.timelines import TimelineOptions
from secom_core.topics import TopicOptions

ANN = ("acme", "ann")
QUESTION = "How is Bello's sore paw?"
FACTS = [
    (1, "My dog Bello has a sore paw."),
    (5, "The vet bandaged Bello's sore paw."),
    (9, "Bread dough needs rye flour."),
    (14, "Bello's sore paw has healed, the vet says."),
]
SUMMARY, TIMELINES = "# Summary of the earlier sessions:\n", "# How things came about, oldest first:\n"
OPTIONS = {field.name for field in fields(RecallOptions)}

Recalling = Callable[..., str]
"""Recalls for the question, with options, and gives the recalled text."""


class Capturing(FakeListChatModel):
    """Keeps the prompts that it gets."""

    prompts: list[str] = []  # noqa: RUF012 - pydantic copies it

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        self.prompts.append("\n".join(message.text for message in messages))
        return super()._call(messages, *args, **kwargs)


def middleware(bank: MemoryBank, **options: Any) -> str:
    memory = SecomMiddleware(bank, scope=ANN, write="off", **options)
    model = Capturing(responses=["Fine."])
    create_agent(model, middleware=[memory]).invoke({"messages": [("user", QUESTION)]})
    return model.prompts[0].removeprefix(QUESTION)


def memory(bank: MemoryBank, **options: Any) -> str:
    return str(SecomMemory(bank=bank, scope=ANN, **options).load_memory_variables({"input": QUESTION})["history"])


def summary_memory(bank: MemoryBank, **options: Any) -> str:
    running = RecursiveSummaryMemory(bank=bank, scope=ANN, retrieve=True, **options)
    return str(running.load_memory_variables({"input": QUESTION})["history"])


def retriever(bank: MemoryBank, **options: Any) -> str:
    return as_block(SecomRetriever(bank=bank, scope=ANN, **options).invoke(QUESTION))


def retriever_call(bank: MemoryBank, **options: Any) -> str:
    return as_block(SecomRetriever(bank=bank, scope=ANN, k=9, token_budget=9000).invoke(QUESTION, **options))


def as_block(documents: Any) -> str:
    """The documents as a block shows them: with their numbers, and under the heading of their layer."""
    lines: list[str] = []
    for document in documents:
        metadata = document.metadata
        heading = f"# {metadata['heading']}\n" if "layer" in metadata and "number" in metadata else ""
        number = f"[{1 + sum('[' in line for line in lines)}] " if "number" in metadata else ""
        lines.append(f"{heading}{number}{document.page_content}")
    return "\n".join(lines)


def history(bank: MemoryBank, **options: Any) -> str:
    return SecomChatMessageHistory(bank, scope=ANN, session="today").recall(QUESTION, **options)


def history_async(bank: MemoryBank, **options: Any) -> str:
    return asyncio.run(SecomChatMessageHistory(bank, scope=ANN, session="today").arecall(QUESTION, **options))


def step(bank: MemoryBank, **options: Any) -> str:
    config: Any = {
        "configurable": {"message_history": SecomChatMessageHistory(bank, scope=ANN, session="today")},
    }
    return recalled_memories(**options).invoke(QUESTION, config)


def tool(bank: MemoryBank, **options: Any) -> str:
    found = str(create_search_memory_tool(bank, scope=ANN, **options).invoke({"query": QUESTION}))
    return found.partition("\n\nmemory_id")[0]


def feedback(bank: MemoryBank, **options: Any) -> str:
    prompts: list[str] = []

    def answer(inputs: dict[str, Any]) -> str:
        prompts.append(inputs["context"])
        return "Fine."

    with_citation_feedback(RunnableLambda(answer), bank, scope=ANN, instruction="", **options).invoke(QUESTION)
    return prompts[0]


RECALLING: dict[str, tuple[Any, Recalling]] = {
    "SecomMiddleware": (SecomMiddleware, middleware),
    "SecomMemory": (SecomMemory, memory),
    "RecursiveSummaryMemory": (RecursiveSummaryMemory, summary_memory),
    "SecomRetriever": (SecomRetriever, retriever),
    "SecomRetriever.invoke": (SecomRetriever._search, retriever_call),
    "SecomChatMessageHistory": (SecomChatMessageHistory.recall, history),
    "SecomChatMessageHistory.arecall": (SecomChatMessageHistory.arecall, history_async),
    "recalled_memories": (recalled_memories, step),
    "create_search_memory_tool": (create_search_memory_tool, tool),
    "with_citation_feedback": (with_citation_feedback, feedback),
}
NOT_RECALLING = {
    "CitationReranker",
    "LLMLinguaDenoiser",
    "LangChainChatModel",
    "LangChainEmbedder",
    "LangChainReranker",
    "LangChainVectorStore",
    "LangSmithFeedback",
    "SecomStore",  # finds items by key and by words, as LangGraph has it
    "SecomSummarizer",
    "SegmentTextSplitter",
    "SessionHistories",
    "TimelineRetriever",  # finds timelines alone, with options of its own
    "create_manage_memory_tool",
    "create_mark_memory_tool",
    "create_read_memory_tool",
    "open_bank",
    "rewritten_query",
}
each = pytest.mark.parametrize("name", RECALLING)


def parameters(part: Any) -> set[str]:
    if isinstance(part, type) and issubclass(part, BaseModel):
        return set(part.model_fields)
    return set(inspect.signature(part).parameters)


def recalled(name: str, bank: MemoryBank, **options: Any) -> str:
    return RECALLING[name][1](bank, **options)


def opened(**parts: Any) -> MemoryBank:
    bank = MemoryBank.open(**parts)
    for day, text in FACTS:
        at = datetime(2024, 5, day, tzinfo=timezone.utc)
        bank.remember(ANN, [Message(text, "user", "Ann", f"day-{day}", at)], session=f"day {day}", close=True)
    return bank


@pytest.fixture(scope="module")
def bank() -> Iterator[MemoryBank]:
    timelines = TimelineOptions(recall_without_model=True)
    with opened(summaries=True, timelines=timelines, citations=True) as bank:
        yield bank


@pytest.fixture(scope="module")
def unasked() -> Iterator[MemoryBank]:
    """Timelines and topics without a language model, and without the options that let them recall so."""
    with opened(summaries=True, timelines=True, topics=True, citations=True) as bank:
        yield bank


@pytest.fixture(scope="module")
def plain() -> Iterator[MemoryBank]:
    with opened(summaries=True, citations=True) as bank:
        yield bank


# -- every caller takes every option ----------------------------------------------------------------------------------


@each
def test_every_caller_takes_every_option_under_its_name(name: str) -> None:
    assert parameters(RECALLING[name][0]) >= OPTIONS
    assert not parameters(RECALLING[name][0]) & {
        "summary",
        "summaries",
        "timelines",
        "topics",
        "budget",
        "max_memories",
    }


def test_every_public_name_is_known_to_recall_or_not_to() -> None:
    callers = {name.partition(".")[0] for name in RECALLING}
    assert callers | NOT_RECALLING == set(langchain_secom.__all__)
    assert not callers & NOT_RECALLING
    for name in NOT_RECALLING - {"TimelineRetriever"}:
        assert not parameters(getattr(langchain_secom, name)) & OPTIONS, f"{name} takes some of the options"
    assert parameters(TimelineRetriever) >= {"k", "n", "seed", "refined", "token_budget", "order"}
    assert "layers" not in parameters(TimelineRetriever)


# -- and passes them on -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@each
def test_layers_take_part(bank: MemoryBank, name: str) -> None:
    without = recalled(name, bank)
    assert "[1] " in without
    assert (SUMMARY in without) == (name == "RecursiveSummaryMemory"), "that one always has the summary"
    assert TIMELINES not in without
    both = recalled(name, bank, layers=["summaries", "timelines"])
    assert f"{SUMMARY}- 2024-05-01 Ann: My dog Bello has a sore paw.\n" in both
    assert re.search(rf"{TIMELINES}\[\d+\] 2024-05-01 \w+ Ann: My dog Bello has a sore paw\.\n  → \(SameTopic\)", both)
    assert both.index(SUMMARY) < both.index("[1] ") < both.index(TIMELINES)
    summary = recalled(name, bank, layers=("summaries",))
    assert SUMMARY in summary
    assert TIMELINES not in summary


@pytest.mark.slow
@each
def test_the_number_of_memories_is_kept_to(bank: MemoryBank, name: str) -> None:
    for k in (1, 3):
        assert re.findall(r"^\[(\d+)\]", recalled(name, bank, k=k), re.M) == [str(n) for n in range(1, k + 1)]


@pytest.mark.slow
@each
@pytest.mark.parametrize("budget", [60, 70])
def test_the_budget_is_kept_to(bank: MemoryBank, name: str, budget: int) -> None:
    text = recalled(name, bank, token_budget=budget)
    assert "Ann: " in text
    assert bank.token_counter(text.partition("</memories>")[0]) <= budget
    assert len(text) < len(recalled(name, bank, token_budget=4000))


@pytest.mark.slow
@each
def test_no_budget_is_that_of_the_bank(bank: MemoryBank, name: str) -> None:
    assert recalled(name, bank, token_budget=None) == recalled(name, bank, token_budget=2000)
    assert recalled(name, bank, token_budget=None, k=2) == recalled(name, bank, token_budget=9000, k=2)


# -- or refuses them --------------------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize(
    "wrong",
    [{"k": 0}, {"k": -1}, {"k": 1.5}, {"k": True}, {"token_budget": 0}, {"token_budget": "1000"}],
    ids=str,
)
def test_what_is_no_whole_number_from_one_on_is_refused(bank: MemoryBank, name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        recalled(name, bank, **wrong)


@each
def test_layers_that_are_no_names_are_refused(bank: MemoryBank, name: str) -> None:
    for wrong in ("summaries", [1], [None]):
        with pytest.raises(ValueError, match="layers"):
            recalled(name, bank, layers=wrong)


@each
def test_a_layer_that_the_bank_was_opened_without_is_refused(plain: MemoryBank, name: str) -> None:
    for layer, message in (("timelines", "this bank was opened without"), ("dreams", "no layer is called")):
        with pytest.raises(ValueError, match=f"{message} '{layer}'"):
            recalled(name, plain, layers=[layer])


@pytest.mark.slow
@each
@pytest.mark.parametrize("layer", ["timelines", "topics"])
def test_a_layer_that_needs_a_language_model_is_refused_without_one(unasked: MemoryBank, name: str, layer: str) -> None:
    with pytest.raises(ValueError, match=f"without a language model the layer '{layer}' makes a recall worse"):
        recalled(name, unasked, layers=[layer])


@pytest.mark.parametrize(
    "make",
    [
        lambda bank, **options: SecomMiddleware(bank, scope=ANN, **options),
        lambda bank, **options: SecomMemory(bank=bank, scope=ANN, **options),
        lambda bank, **options: RecursiveSummaryMemory(bank=bank, scope=ANN, retrieve=True, **options),
        lambda bank, **options: SecomRetriever(bank=bank, scope=ANN, **options),
        lambda bank, **options: create_search_memory_tool(bank, scope=ANN, **options),
        lambda bank, **options: with_citation_feedback(RunnableLambda(str), bank, **options),
    ],
    ids=["middleware", "memory", "summary memory", "retriever", "tool", "feedback"],
)
def test_it_is_refused_when_the_part_is_made(plain: MemoryBank, make: Any) -> None:
    assert make(plain, layers=["summaries"], k=1, token_budget=1) is not None
    for wrong in ({"layers": ["timelines"]}, {"k": 0}, {"token_budget": 0}, {"layers": "summaries"}):
        with pytest.raises(ValueError, match=next(iter(wrong)) if "k" in wrong else "layers|token_budget|timelines"):
            make(plain, **wrong)


def test_a_step_refuses_numbers_and_names_when_it_is_made() -> None:
    for wrong in ({"k": 0}, {"token_budget": 0}, {"layers": "summaries"}):
        with pytest.raises(InvalidInput):
            recalled_memories(**wrong)  # type: ignore[arg-type]


def test_layers_of_a_summary_memory_need_its_recall(bank: MemoryBank) -> None:
    with pytest.raises(ValueError, match="give retrieve=True"):
        RecursiveSummaryMemory(bank=bank, scope=ANN, layers=("timelines",))
    alone = RecursiveSummaryMemory(bank=bank, scope=ANN, layers=("summaries",)).load_memory_variables({"input": "paw"})
    assert SUMMARY in alone["history"]
    assert "[1]" not in alone["history"]


# -- what layers give a retriever -------------------------------------------------------------------------------------


def test_the_documents_of_layers_say_where_they_are_from(bank: MemoryBank) -> None:
    recall = bank.recall(ANN, QUESTION, layers=["summaries", "timelines"])
    summary, timeline = recall.sections
    documents = SecomRetriever(bank=bank, scope=ANN, layers=("timelines", "summaries")).invoke(QUESTION)
    first, *memories, last = documents
    assert first.page_content == summary.text.rstrip("\n")
    assert first.metadata == {"layer": "summaries", "heading": summary.heading, "scope": list(ANN)}
    assert f"[{timeline.numbers[0]}] {last.page_content}\n" in recall.text
    assert last.metadata == {
        "layer": "timelines",
        "heading": timeline.heading,
        "scope": list(ANN),
        "number": timeline.numbers[0],
        "turn_ids": list(timeline.turn_ids[0]),
    }
    assert sorted(document.metadata["number"] for document in memories) == [hit.number for hit in recall.hits]
    assert memories[0].metadata["number"] == recall.ranked[0].number
    again = SecomRetriever(bank=bank, scope=ANN, layers=("timelines", "summaries"), order="time").invoke(QUESTION)
    assert (again[0].id, again[-1].id) == (first.id, last.id)
    assert len({document.id for document in documents}) == len(documents)
    with pytest.raises(InvalidInput, match="what the layer 'summaries' adds is no memory and cannot become a hit"):
        to_hits(documents, bank)
    with pytest.raises(InvalidInput, match="only a document of SecomRetriever can become a hit"):
        to_hits([Document("Opening hours", metadata={"source": "handbook"})], bank)


def test_a_topic_is_a_document_with_its_summary_and_leads_back_to_all_its_turns() -> None:
    with opened(topics=TopicOptions(recall_without_model=True), citations=True) as bank:
        hits = bank.recall(ANN, QUESTION, layers=["topics"]).ranked
        topics = [hit for hit in hits if len({turn.session for turn in hit.turns}) > 1]
        assert topics, "a topic of several sessions is wanted for this test"
        documents = SecomRetriever(bank=bank, scope=ANN, layers=("topics",)).invoke(QUESTION)
        by_id = {document.metadata["secom_memory_id"]: document for document in documents}
        for hit in topics:
            document = by_id[hit.memory.id]
            lines = document.page_content.splitlines()
            days = [line for line in lines if re.fullmatch(r"\d{4}-\d\d-\d\d \w{3}", line)]
            # No model has written the summary: it is of lines of the turns, which stand there once.
            assert [line for line in lines if line not in days] == hit.text.splitlines()
            assert len(days) == len({turn.at.date() for turn in hit.turns if turn.at}) - 1
            assert document.metadata["summary"] == hit.memory.summary
            assert document.metadata["sessions"] == list(dict.fromkeys(turn.session for turn in hit.turns))
            [again] = to_hits([document], bank)
            assert (again.turns, again.memory.summary) == (hit.turns, hit.memory.summary)
        bank.forget(ANN, turn_ids=[topics[0].turn_ids[0]])
        [left] = to_hits([by_id[topics[0].memory.id]], bank)
        assert left.turn_ids == topics[0].turn_ids[1:]
        assert left.memory.summary == "", "it may hold words of the turn that is gone"


@pytest.mark.parametrize(
    "make",
    [
        lambda bank: langchain_secom.SecomMiddleware(bank, scope=ANN),
        lambda bank: langchain_secom.SecomRetriever(bank=bank, scope=ANN),
        lambda bank: langchain_secom.SecomMemory(bank=bank, scope=ANN, session="s"),
        lambda bank: langchain_secom.SecomChatMessageHistory(bank, scope=ANN, session="s"),
        lambda bank: langchain_secom.SessionHistories(bank, scope=ANN),
        lambda bank: langchain_secom.create_search_memory_tool(bank, scope=ANN),
        lambda bank: langchain_secom.create_manage_memory_tool(bank, scope=ANN),
    ],
)
def test_what_is_no_bank_is_refused_where_it_is_given(make: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"(needs a (MemoryBank|bank)|instance of MemoryBank).*'memory.db'"):
        make("memory.db")


def test_a_writer_of_another_bank_is_refused() -> None:
    with MemoryBank.open() as bank, MemoryBank.open() as other, BackgroundWriter(other) as writer:
        for make in (
            lambda given: langchain_secom.SecomMiddleware(bank, scope=ANN, writer=given),
            lambda given: langchain_secom.SecomChatMessageHistory(bank, scope=ANN, session="s", writer=given),
            lambda given: langchain_secom.SessionHistories(bank, scope=ANN, writer=given),
        ):
            for wrong in (writer, "background"):
                with pytest.raises(
                    InvalidInput, match=r"needs a writer of its own bank, BackgroundWriter\(bank\), got"
                ):
                    make(wrong)


def test_numbers_and_choices_are_checked_where_they_are_given() -> None:
    with MemoryBank.open(citations=True) as bank:
        for make, message in (
            (lambda: langchain_secom.SessionHistories(bank, scope=ANN, window="3"), "window is a whole number from 1"),
            (lambda: langchain_secom.SecomChatMessageHistory(bank, scope=ANN, session="s", window=0), "got 0"),
            (lambda: langchain_secom.create_manage_memory_tool(bank, actions="forget"), "got 'forget'"),
            (
                lambda: with_citation_feedback(lambda given: "", bank, scope=ANN, markers="hide"),
                "markers is one of 'keep', 'strip', got 'hide'",
            ),
        ):
            with pytest.raises(InvalidInput, match=message):
                make()


class Failing:
    """An embedder that is never there."""

    name = "failing"

    def embed(self, texts: Any) -> Any:
        raise OSError("no route to host")


def test_a_warning_points_past_the_framework_at_who_asked() -> None:
    with MemoryBank.open(embedder=Failing()) as bank:
        with pytest.warns(DegradedWarning):
            bank.remember(ANN, [Message(FACTS[0][1])], session="s")
        memory = SecomMiddleware(bank, scope=ANN, write="off")
        agent: Any = create_agent(Capturing(responses=["It healed."]), [], middleware=[memory])
        with pytest.warns(DegradedWarning) as raised:
            SecomRetriever(bank=bank, scope=ANN).invoke(QUESTION)
        assert {each.filename for each in raised} == {__file__}
        with pytest.warns(DegradedWarning) as raised:
            agent.invoke({"messages": [HumanMessage(QUESTION)]})
        assert {each.filename for each in raised if each.category is DegradedWarning} == {__file__}
