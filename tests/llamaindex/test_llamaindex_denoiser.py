"""Denoised nodes, after retrieval and during ingestion."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    Document,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
    TransformComponent,
)

from llamaindex_secom import LLMLinguaDenoiser, SecomRetriever, SegmentNodeParser
from llamaindex_secom.denoiser import ORIGINAL_TEXT
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.denoisers.informativeness import Informativeness
from secom_core.errors import InvalidInput
from secom_core.protocols import Statistics
from secom_core.segmenters.fixed import FixedSize


@dataclass(frozen=True)
class EveryOther:
    """Drops every other word."""

    first: int = 0

    def denoise(self, texts: Sequence[str], statistics: Statistics | None = None) -> list[str]:
        return [" ".join(text.split()[self.first :: 2]) for text in texts]


def scored() -> list[NodeWithScore]:
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d")}
    first = TextNode(id_="a", text="one two three", metadata={"k": 1}, embedding=[1.0], relationships=source)
    return [NodeWithScore(node=first, score=0.5), NodeWithScore(node=TextNode(id_="b", text="  "), score=None)]


def test_smoke() -> None:
    names = {each.__name__ for each in LLMLinguaDenoiser.__mro__}
    assert {"BaseNodePostprocessor", "TransformComponent", "BaseComponent"} <= names
    assert LLMLinguaDenoiser.class_name() == "LLMLinguaDenoiser"
    denoiser = LLMLinguaDenoiser(EveryOther())
    assert isinstance(denoiser, BaseNodePostprocessor)
    assert isinstance(denoiser, TransformComponent)
    data = json.loads(denoiser.to_json())
    assert data["class_name"] == "LLMLinguaDenoiser"
    assert LLMLinguaDenoiser.from_dict(data, denoiser=EveryOther()).to_dict() == data


def test_pitfall_16_one_node_in_one_out_and_none_is_changed() -> None:
    nodes = scored()
    before = [each.model_dump() for each in nodes]
    done = LLMLinguaDenoiser(EveryOther()).postprocess_nodes(nodes, query_str="?")
    assert [each.node.get_content() for each in done] == ["one three", "  "]
    assert [(each.node_id, each.score) for each in done] == [("a", 0.5), ("b", None)]
    assert [each.model_dump() for each in nodes] == before
    assert done[0].node.ref_doc_id == "d"
    assert done[0].node.embedding is None, "the vector was of the words before"
    assert done[0].metadata == {"k": 1, ORIGINAL_TEXT: "one two three"}
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert ORIGINAL_TEXT not in done[0].node.get_content(mode)
    done[0].node.metadata["k"] = 2
    done[0].node.relationships.clear()
    assert nodes[0].metadata == {"k": 1}
    assert nodes[0].node.ref_doc_id == "d"


async def test_async_gives_the_same() -> None:
    denoiser = LLMLinguaDenoiser(EveryOther())
    assert await denoiser.apostprocess_nodes(scored()) == denoiser.postprocess_nodes(scored())
    nodes = [each.node for each in scored()]
    assert await denoiser.acall(nodes) == denoiser(nodes)


class Waiting(EveryOther):
    """Waits, as a denoiser that asks a model does."""

    def denoise(self, texts: Sequence[str], statistics: Statistics | None = None) -> list[str]:
        time.sleep(0.001)
        return super().denoise(texts, statistics)


async def test_async_calls_do_not_block_the_event_loop() -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    denoiser = LLMLinguaDenoiser(Waiting())
    with blockbuster.blockbuster_ctx():
        with pytest.raises(blockbuster.BlockingError):
            denoiser.postprocess_nodes(scored())
        assert await denoiser.apostprocess_nodes(scored())
        assert await denoiser.acall([each.node for each in scored()])


def test_pitfall_14_the_original_text_is_kept_apart_and_comes_back() -> None:
    pipeline = IngestionPipeline(transformations=[LLMLinguaDenoiser(EveryOther())])
    nodes = pipeline.run(documents=[Document(text="one two three", id_="d")])
    assert [(node.node_id, node.get_content()) for node in nodes] == [("d", "one three")]
    back = MetadataReplacementPostProcessor(target_metadata_key=ORIGINAL_TEXT)
    restored = back.postprocess_nodes([NodeWithScore(node=node) for node in nodes])
    assert restored[0].node.get_content() == "one two three"


def test_a_denoised_node_is_denoised_from_its_words_not_twice() -> None:
    first = LLMLinguaDenoiser(EveryOther())([TextNode(id_="a", text="one two three four")])
    second = LLMLinguaDenoiser(EveryOther(first=1))(first)
    assert second[0].get_content() == "two four"
    assert second[0].metadata[ORIGINAL_TEXT] == "one two three four"


def test_an_original_text_that_is_none_is_not_one() -> None:
    # As of a store that has a column for it.
    (done,) = LLMLinguaDenoiser(EveryOther())([TextNode(text="one two three", metadata={ORIGINAL_TEXT: None})])
    assert (done.get_content(), done.metadata[ORIGINAL_TEXT]) == ("one three", "one two three")


def test_what_a_node_points_to_is_not_copied() -> None:
    target = object()
    node = IndexNode(text="one two three", index_id="i", obj=target)
    done = LLMLinguaDenoiser(EveryOther())([node])[0]
    assert isinstance(done, IndexNode)
    assert done.obj is target


def test_pitfall_15_the_cache_tells_denoisers_apart() -> None:
    cache = IngestionCache()

    def ingest(first: int) -> str:
        pipeline = IngestionPipeline(transformations=[LLMLinguaDenoiser(EveryOther(first))], cache=cache)
        return pipeline.run(documents=[Document(text="one two three", id_="d")])[0].get_content()

    assert [ingest(0), ingest(1), ingest(0)] == ["one three", "two", "one three"]


def test_pitfall_15_workers_get_it_by_pickle() -> None:
    denoiser = pickle.loads(pickle.dumps(LLMLinguaDenoiser(EveryOther(1))))
    assert denoiser.postprocess_nodes(scored())[0].node.get_content() == "two"


@pytest.mark.slow
def test_pitfall_15_worker_processes_do_what_one_does() -> None:
    talk = "Ann: I planted 12 tomatoes in Ghent.\nBob: Oh well, you know, fine!\n"
    documents = [Document(text=talk * 3, id_=f"d{n}") for n in range(2)]
    steps = [SegmentNodeParser(FixedSize(2)), LLMLinguaDenoiser(Informativeness())]
    pipeline = IngestionPipeline(transformations=steps)
    apart = pipeline.run(documents=documents, num_workers=2)
    together = pipeline.run(documents=documents)
    assert [(node.node_id, node.get_content()) for node in apart] == [
        (node.node_id, node.get_content()) for node in together
    ]
    assert len(apart) == 6


@pytest.mark.models
def test_json_cannot_hold_a_denoiser_so_it_is_asked_for_again() -> None:
    pytest.importorskip("torch", reason="needs the extra 'llmlingua'")
    with pytest.raises(InvalidInput, match=r"EveryOther\(first=1\).*pass denoiser= again"):
        LLMLinguaDenoiser.from_dict(LLMLinguaDenoiser(EveryOther(1)).to_dict())


@pytest.mark.models
def test_the_default_is_llmlingua_2_and_loads_nothing_yet() -> None:
    pytest.importorskip("torch", reason="needs the extra 'llmlingua'")
    denoiser = LLMLinguaDenoiser()
    assert type(denoiser.denoiser).__name__ == "LLMLingua2"
    assert LLMLinguaDenoiser.from_dict(denoiser.to_dict()).to_dict() == denoiser.to_dict()
    assert denoiser([]) == []


def test_what_is_no_denoiser_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a denoiser has a denoise method.*got 3"):
        LLMLinguaDenoiser(3)  # type: ignore[arg-type]


def test_the_denoiser_without_a_model_keeps_what_matters() -> None:
    text = "Well, you know, I really think that we moved to Ghent in 2019 and it was not cheap."
    done = LLMLinguaDenoiser(Informativeness())([TextNode(text=text)])[0].get_content()
    assert {"Ghent", "2019"} <= set(done.replace(".", "").split())
    assert len(done) < len(text)


def test_what_is_said_to_hold_no_more_stays_so() -> None:
    with MemoryBank.open() as bank:
        bank.remember(("ann",), [Message("Our car is a red Golf.", id="car")], session="two", close=True)
        bank.corrections.retract(("ann",), "car", at=datetime(2026, 6, 2, tzinfo=timezone.utc))
        [found] = SecomRetriever(bank, ("ann",)).retrieve("What is our car?")
    [shorter] = LLMLinguaDenoiser(EveryOther())([found.node])
    assert shorter.get_content() == "user: car a Golf.\n→ (retracted on 2026-06-02)"
    [same] = LLMLinguaDenoiser(Informativeness(rate=1))([found.node])
    assert same.get_content() == found.node.get_content()


def test_a_misspelt_argument_is_an_error() -> None:
    with pytest.raises(ValueError, match="model_versoin"):
        LLMLinguaDenoiser(EveryOther(), model_versoin="2")
