"""The registry of open banks: a file is opened once in a process, and shared as long as somebody uses its bank."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
from llama_index.core.llms import ChatMessage

from llamaindex_secom import (
    CitationNumberer,
    CitationReranker,
    CitationReward,
    LlamaIndexChatModel,
    LlamaIndexEmbedder,
    RecursiveSummaryMemoryBlock,
    SecomMemory,
    SecomMemoryBlock,
    SecomRetriever,
    TimelinePostprocessor,
    TimelineRetriever,
    memory_tools,
)
from llamaindex_secom.banks import bank_of, new_bank
from secom_core import InvalidInput, MemoryBank
from secom_core.bank.known import open_banks
from secom_core.citations import RerankerOptions
from secom_core.context.packing import PackTurns
from secom_core.layers import Layer, register, unregister
from secom_core.segmenters.fixed import EachTurn
from secom_core.testing import ScriptedEmbedder

ANN = ("acme", "ann")

PARTS: dict[str, Any] = {
    "SecomMemory": lambda path: SecomMemory(scope=ANN, store_path=path).bank,
    "SecomMemoryBlock": lambda path: SecomMemoryBlock(scope=ANN, store_path=path).bank,
    "CitationNumberer": lambda path: CitationNumberer(store_path=path)._bank,
    "CitationReranker": lambda path: CitationReranker(store_path=path)._bank,
}


@pytest.mark.slow
@pytest.mark.parametrize("first", PARTS)
@pytest.mark.parametrize("second", PARTS)
def test_a_file_is_opened_once_in_a_process(tmp_path: Path, first: str, second: str) -> None:
    path = str(tmp_path / "m.db")
    opened = PARTS[first](path)
    assert list(opened.layers) == (["citations"] if first.startswith("Citation") else [])
    if second == "CitationReranker" and first.startswith("Secom"):
        with pytest.raises(InvalidInput, match="opened without 'citations'"):
            PARTS[second](path)
    else:
        assert PARTS[second](path) is opened
    opened.close()


@pytest.mark.parametrize("name", PARTS)
def test_without_a_bank_or_a_path_the_error_names_who_needs_it(name: str) -> None:
    message = f"{name} needs a bank, or a store_path to open one; a bank in memory cannot be reopened"
    with pytest.raises(InvalidInput, match=message):
        PARTS[name](None)


@pytest.mark.parametrize(
    "make",
    [
        lambda bank: SecomMemory(scope=ANN, bank=bank),
        lambda bank: SecomMemoryBlock(scope=ANN, bank=bank),
        lambda bank: SecomRetriever(bank, ANN),
        lambda bank: TimelineRetriever(bank, ANN),
        lambda bank: TimelinePostprocessor(bank, ANN),
        lambda bank: CitationNumberer(bank),
        lambda bank: CitationReranker(bank),
        lambda bank: CitationReward(bank),
        lambda bank: memory_tools(bank, scope=ANN),
    ],
)
def test_what_is_no_bank_is_refused_with_the_way_to_make_one(make: Callable[[Any], Any]) -> None:
    with pytest.raises(
        InvalidInput, match=r"needs a MemoryBank, got 'memory.db'; make one with MemoryBank.open\(path\)"
    ):
        make("memory.db")


def test_what_is_no_model_is_refused_by_the_wrapper() -> None:
    with pytest.raises(InvalidInput, match="expected a LlamaIndex LLM, got 'gpt-4o'"):
        LlamaIndexChatModel("gpt-4o")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="expected a LlamaIndex embedding model, got 'all-MiniLM'"):
        LlamaIndexEmbedder("all-MiniLM")  # type: ignore[arg-type]


def test_numbers_choices_and_counters_are_checked_where_they_are_given() -> None:
    with MemoryBank.open() as bank:
        with pytest.raises(InvalidInput, match="first is a whole number from 1 on, got -1"):
            memory_tools(bank, scope=ANN, first=-1)
        with pytest.raises(InvalidInput, match="on_error is one of 'warn', 'raise', got 'quiet'"):
            memory_tools(bank, scope=ANN, on_error="quiet")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=r"token_counter is a function that takes a text .* got 'gpt-4'"):
            SecomMemory(scope=ANN, bank=bank, token_counter="gpt-4")  # type: ignore[arg-type]


def test_no_counter_of_its_own_is_the_estimate() -> None:
    with MemoryBank.open() as bank:
        memory = SecomMemory(scope=ANN, bank=bank, token_counter=None)
        memory.put(ChatMessage(role="user", content="I keep a tortoise."))
        assert [message.content for message in memory.get("hello")] == ["I keep a tortoise."]
        assert memory.given == ()


def test_an_empty_session_is_no_name() -> None:
    with (
        MemoryBank.open() as bank,
        pytest.raises(InvalidInput, match=r"session is the name of the session, .* got ''; leave it out"),
    ):
        SecomMemory(scope=ANN, bank=bank, session="")


def test_the_same_file_by_another_path_is_the_same_bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    bank = bank_of(None, str(tmp_path / "m.db"), needed_by="a test")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("m.db", "folder/../m.db", "~/m.db"):
        assert bank_of(None, path, needed_by="a test") is bank
    bank.close()


@pytest.mark.slow
def test_a_bank_that_nobody_uses_is_let_go(tmp_path: Path) -> None:
    path = os.path.realpath(tmp_path / "m.db")
    bank = bank_of(None, path, needed_by="a test")
    assert open_banks(path) == [bank]
    del bank
    gc.collect()
    assert open_banks(path) == []


def test_a_bank_is_known_from_open_on_under_an_id_of_its_own(tmp_path: Path) -> None:
    with MemoryBank.open() as one, MemoryBank.open() as other, MemoryBank.open(tmp_path / "m.db") as stored:
        assert one.storage.id != other.storage.id
        assert stored.storage.id == stored.storage.path
        for bank in (one, other, stored):
            assert open_banks(bank.storage.id) == [bank]
    assert open_banks(one.storage.id) == [], "a closed bank is nobody's any more"


def masked(text: str) -> str:
    return text.replace("4711K", "[PIN]")


@pytest.mark.parametrize("bare_first", [True, False])
def test_the_order_in_which_banks_are_opened_decides_nothing(tmp_path: Path, bare_first: bool) -> None:
    path = str(tmp_path / "m.db")
    with MemoryBank.open(path, redact=masked) as own:
        assert bank_of(None, path, needed_by="a test") is own, "the application's own, though no part has it yet"
        alike = MemoryBank.open(path, redact=masked)
        assert bank_of(None, path, needed_by="a test") is own
        alike.close()
    first, second = ({}, {"redact": masked}) if bare_first else ({"redact": masked}, {})
    wanted = r"2 banks are open .*one with redact=.*give the one that is meant as bank="
    with MemoryBank.open(path, **first) as one, MemoryBank.open(path, **second) as other:  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=wanted):
            SecomMemory(scope=ANN, store_path=path)
        assert {one.storage.needs, other.storage.needs} == {(), ("redact",)}


@pytest.mark.parametrize(
    ("parts", "needs"),
    [
        ({}, ()),
        ({"summaries": True, "citations": True, "max_memory": 10**6, "progress": True}, ()),
        ({"redact": masked, "segmenter": EachTurn()}, ("segmenter", "redact")),
        (
            {"idle_after": False, "granularity": "turn", "token_counter": len},
            ("granularity", "token_counter", "idle_after"),
        ),
        ({"embedder": ScriptedEmbedder(), "citations": RerankerOptions()}, ("embedder", "citations")),
        ({"packer": PackTurns()}, ()),
        ({"weights": {"turn_lexical": 1.0}}, ("weights",)),
    ],
)
def test_a_bank_says_what_its_place_alone_would_not_give(parts: dict[str, Any], needs: tuple[str, ...]) -> None:
    with MemoryBank.open(**parts) as bank:
        assert bank.storage.needs == needs


def test_threads_open_a_file_once(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    found: list[MemoryBank] = []
    gate = threading.Barrier(8)

    def opens() -> None:
        gate.wait()
        found.append(bank_of(None, path, needed_by="a test"))

    threads = [threading.Thread(target=opens) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
    found[0].close()


def test_a_new_bank_has_the_layers_of_these_names(tmp_path: Path) -> None:
    class Weather(Layer):
        name = "weather"
        takes_in_sessions = False

    register(Weather)
    try:
        with new_bank(str(tmp_path / "m.db"), ["summaries", "weather", "unknown"], max_scopes=3) as bank:
            assert set(bank.layers) == {"summaries", "weather"}
    finally:
        unregister("weather")


def test_a_postgresql_database_is_known_by_its_url(postgres_url: str) -> None:
    bank = bank_of(None, postgres_url, needed_by="a test")
    assert bank.storage.path is not None
    assert bank.storage.path.startswith("postgresql")
    assert bank_of(None, bank.storage.path, needed_by="a test") is bank
    assert bank_of(None, postgres_url, needed_by="a test") is bank, "with the password too"
    numberer = CitationNumberer(store_path=bank.storage.path)
    assert numberer._bank is bank
    bank.close()


def test_a_bank_that_is_opened_by_path_waits_as_long_as_is_said(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    makers = (
        partial(SecomMemory, scope=ANN, session="s"),
        partial(SecomMemory.from_defaults, scope=ANN, session="s", segmenter=EachTurn()),
        partial(SecomMemoryBlock, scope=ANN),
        partial(RecursiveSummaryMemoryBlock, scope=ANN),
    )
    for make in makers:
        part = make(store_path=path, busy_timeout=0.5)
        assert part.bank.storage.busy_timeout == 0.5
        part.bank.close()
