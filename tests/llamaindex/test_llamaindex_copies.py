"""Deep copies and pickles of what holds a bank: they share it, find it again, or say why they cannot."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.schema import NodeWithScore, QueryBundle

from llamaindex_secom import (
    CitationNumberer,
    CitationReranker,
    CitationReward,
    LLMLinguaDenoiser,
    RecursiveSummaryMemoryBlock,
    SecomMemory,
    SecomMemoryBlock,
    SecomRetriever,
    SegmentNodeParser,
    SegmentTextSplitter,
    TimelinePostprocessor,
    TimelineRetriever,
)
from secom_core import InvalidInput, MemoryBank
from secom_core.conversation import Turn
from secom_core.denoisers.informativeness import Informativeness
from secom_core.denoisers.llmlingua import LLMLingua2
from secom_core.memory import Segment
from secom_core.models import CachedEmbedder, StaticEmbedder
from secom_core.segmenters.embedding import EmbeddingSegmenter
from secom_core.segmenters.fixed import EachTurn
from secom_core.timelines import TimelineOptions

ANN = ("acme", "ann")
QUERY = "Who is my violin teacher?"

HOLDERS: dict[str, Callable[[MemoryBank], Any]] = {
    "SecomMemory": lambda bank: SecomMemory(scope=ANN, session="now", bank=bank),
    "SecomMemoryBlock": lambda bank: SecomMemoryBlock(scope=ANN, bank=bank, priority=1),
    "RecursiveSummaryMemoryBlock": lambda bank: RecursiveSummaryMemoryBlock(scope=ANN, bank=bank),
    "SecomRetriever": lambda bank: SecomRetriever(bank, ANN, k=1),
    "TimelineRetriever": lambda bank: TimelineRetriever(bank, ANN, k=1),
    "TimelinePostprocessor": lambda bank: TimelinePostprocessor(bank, ANN),
    "CitationNumberer": lambda bank: CitationNumberer(bank, first=7),
    "CitationReranker": lambda bank: CitationReranker(bank, top_n=1),
    "CitationReward": lambda bank: CitationReward(bank),
    "MemoryBank": lambda bank: bank,
}
PICKLED = ["SecomMemory", "CitationNumberer", "CitationReranker"]


def opened(path: str | Path) -> MemoryBank:
    timelines = TimelineOptions(recall_without_model=True)
    bank = MemoryBank.open(path, summaries=True, timelines=timelines, citations=True)
    bank.remember(ANN, [("user", "My violin teacher is Marta.")], session="day-0", close=True)
    return bank


@pytest.fixture(params=["file", "memory"])
def bank(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryBank]:
    with opened(tmp_path / "m.db" if request.param == "file" else ":memory:") as bank:
        yield bank


def used(part: Any, bank: MemoryBank) -> Any:
    """What comes of using the part, so that a copy which lacks something is found out."""
    node = NodeWithScore(node=SecomRetriever(bank, ANN).retrieve(QUERY)[0].node, score=0.5)
    if isinstance(part, SecomRetriever):
        return [each.node.node_id for each in part.retrieve(QUERY)]
    if isinstance(part, CitationReward):
        return part.take_in("[1]", CitationNumberer(bank).postprocess_nodes([node], QueryBundle(QUERY)))[0].kind
    if isinstance(part, SecomMemory):
        return [each.content for each in part.get(QUERY)]
    if isinstance(part, (SecomMemoryBlock, RecursiveSummaryMemoryBlock)):
        memory = Memory.from_defaults(session_id="now", memory_blocks=[part])
        memory.put(ChatMessage(role="user", content=QUERY))
        return [each.content for each in memory.get()], part.priority
    return [each.node.get_content() for each in part.postprocess_nodes([node], QueryBundle(QUERY))]


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLDERS)
def test_a_deep_copy_works_on_the_same_bank(bank: MemoryBank, name: str) -> None:
    part = HOLDERS[name](bank)
    again = copy.deepcopy(part)
    if name == "MemoryBank":
        assert again is copy.copy(part) is bank
        return
    assert used(again, bank) == used(part, bank)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLDERS)
def test_a_pickle_comes_back_whole_or_is_refused(bank: MemoryBank, name: str) -> None:
    part = HOLDERS[name](bank)
    if name in PICKLED and bank.storage.path is not None:
        again = pickle.loads(pickle.dumps(part))
        assert again._bank is bank
        assert used(again, bank) == used(part, bank)
    elif name != "SecomMemory":
        with pytest.raises(InvalidInput, match=r"cannot be pickled.*in the other process"):
            pickle.dumps(part)


def test_what_holds_no_bank_is_pickled() -> None:
    for part in (SegmentNodeParser(chunk_size=9), SegmentTextSplitter(), LLMLinguaDenoiser(Informativeness())):
        again = pickle.loads(pickle.dumps(part))
        assert again.to_dict() == part.to_dict()
        assert copy.deepcopy(part).to_dict() == part.to_dict()


def test_models_that_are_loaded_again_are_pickled() -> None:
    pytest.importorskip("torch", reason="needs the extra 'llmlingua'")
    pytest.importorskip("wordllama", reason="needs the extra 'static'")
    denoiser = pickle.loads(pickle.dumps(LLMLinguaDenoiser(LLMLingua2("folder", rate=0.5, token_count=len))))
    assert (denoiser.denoiser.model, denoiser.denoiser.rate) == ("folder", 0.5)
    embedder = StaticEmbedder()
    vectors = embedder.embed(["A heron."])
    for copied in (pickle.loads(pickle.dumps(embedder)), copy.deepcopy(embedder)):
        assert copied.embed(["A heron."]).tolist() == vectors.tolist()
    parser = SegmentNodeParser(EmbeddingSegmenter(CachedEmbedder(embedder)))
    assert isinstance(pickle.loads(pickle.dumps(parser)).segmenter, EmbeddingSegmenter)
    assert len(pickle.dumps(parser)) < 10_000, "not the table"


class _Locked:
    """Cuts and denoises, and cannot be pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        return EachTurn().segment(turns)

    def denoise(self, texts: Sequence[str], statistics: Any = None) -> list[str]:
        return list(texts)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SegmentNodeParser(_Locked()),
        lambda: SegmentTextSplitter(_Locked()),
        lambda: SegmentTextSplitter(id_func=lambda i, doc: str(i)),
        lambda: LLMLinguaDenoiser(_Locked()),
    ],
)
def test_no_worker_gets_another_part_than_was_given(make: Callable[[], Any]) -> None:
    part = make()
    with pytest.raises(InvalidInput, match=r"cannot be pickled, as worker processes need: its .* Leave out num"):
        pickle.dumps(part)


@pytest.mark.parametrize("update", [{"scope": ("acme", "bob")}, {"session": "then"}])
def test_a_copy_is_of_no_other_scope_or_session(bank: MemoryBank, update: dict[str, Any]) -> None:
    memory = SecomMemory(scope=ANN, session="now", bank=bank)
    with pytest.raises(
        InvalidInput, match=rf"keeps its {next(iter(update))}: .* make another memory, SecomMemory\(bank="
    ):
        memory.model_copy(update=update)


def test_a_copy_with_other_options_is_saved_as_itself(bank: MemoryBank) -> None:
    memory = SecomMemory(scope=ANN, session="now", bank=bank)
    other = memory.model_copy(update={"k": 1})
    other.put(ChatMessage("My cat is called Tuna."))
    assert memory.window == []
    assert pickle.loads(pickle.dumps(other)) is other
    assert pickle.loads(pickle.dumps(memory)) is memory
    memory.scope = ("acme", "bob")
    assert SecomMemory.from_dict({**memory.to_dict(), "scope": ["acme", "ann"]}) is not memory
