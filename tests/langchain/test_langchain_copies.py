"""Copies of what holds a bank: pages copy what they keep for a visitor (Gradio's ``gr.State`` does so deeply)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver

from langchain_secom import RecursiveSummaryMemory, SecomMemory, SecomMiddleware, SecomRetriever, SessionHistories
from secom_core import AsyncMemoryBank, MemoryBank
from secom_core.bank import BackgroundWriter

ANN = ("ann",)
LENA = "My sister Lena lives in Porto."
QUERY = "Where does my sister live?"


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "memory.db", summaries=True) as bank:
        bank.remember(ANN, [("user", LENA)], session="monday", close=True)
        yield bank


def ask(middleware: SecomMiddleware) -> str:
    model = FakeListChatModel(responses=["In Porto."])
    agent: Any = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    said: Any = {"messages": [("user", QUERY)]}
    answer = agent.invoke(said, {"configurable": {"user_id": "ann", "thread_id": "tuesday"}})["messages"][-1]
    assert answer.response_metadata["secom_memory"]["memories"]
    return LENA


def chat(memory: Any) -> str:
    memory.save_context({"input": "Hello. " * 200}, {"output": "Hi. " * 200})
    return str(memory.load_memory_variables({"input": QUERY})["history"])


HOLDERS: dict[str, tuple[Callable[[MemoryBank], Any], Callable[[Any], str]]] = {
    "SecomMiddleware": (SecomMiddleware, ask),
    "SecomMemory": (lambda bank: SecomMemory(bank=bank, scope=ANN), chat),
    "RecursiveSummaryMemory": (lambda bank: RecursiveSummaryMemory(bank=bank, scope=ANN, max_tokens=300), chat),
    "SecomRetriever": (
        lambda bank: SecomRetriever(bank=bank, scope=ANN),
        lambda retriever: str(retriever.invoke(QUERY)[0].page_content),
    ),
    "SessionHistories": (
        lambda bank: SessionHistories(bank, scope_keys=("user_id",), writer=BackgroundWriter(bank)),
        lambda histories: str(histories("ann", "monday").messages[0].text),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLDERS)
def test_a_deep_copy_works_on_the_same_bank(bank: MemoryBank, name: str) -> None:
    make, use = HOLDERS[name]
    part = make(bank)
    assert LENA in use(part)
    assert LENA in use(copy.deepcopy(part))


async def test_a_copied_asynchronous_bank_is_of_the_same_bank(bank: MemoryBank) -> None:
    copied = copy.deepcopy(AsyncMemoryBank(bank))
    assert copied.bank is bank
    assert LENA in (await copied.recall(ANN, QUERY)).text


def test_a_copied_writer_is_the_writer(bank: MemoryBank) -> None:
    with BackgroundWriter(bank) as writer:
        assert copy.copy(writer) is copy.deepcopy([writer])[0] is writer
