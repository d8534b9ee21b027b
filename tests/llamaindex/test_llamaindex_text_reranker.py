"""LlamaIndex' rerankers where a bank takes one."""

from __future__ import annotations

import asyncio
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from cross_encoders import cross_encoder, with_cross_encoders
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llamaindex_secom import LlamaIndexReranker, SecomRetriever
from secom_core.bank import MemoryBank
from secom_core.context.packing import PackTurns
from secom_core.errors import BadReply, DegradedWarning, InvalidInput, ModelUnavailable
from secom_core.ranking.reranking import Reranking

SCOPE = ("acme", "alice")
QUERY = "What does the garden at home need?"
PLANTS = ("roses", "lilies", "tulips", "peonies", "poppies")
WANTED = "poppies"


class Wants(BaseNodePostprocessor):
    """Gives the nodes with a word first, as many as it is told, with scores or without."""

    top_n: int = 30
    scored: bool = True

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        assert query_bundle.query_str == QUERY
        best = sorted(nodes, key=lambda each: WANTED not in each.node.get_content())[: self.top_n]
        for each in best if self.scored else ():
            each.score = float(WANTED in each.node.get_content())
        return best


def opened(postprocessor: Any) -> MemoryBank:
    bank = MemoryBank.open(
        reranker=Reranking(LlamaIndexReranker(postprocessor), weight=1), packer=PackTurns(thrift=0.0)
    )
    for number, plant in enumerate(PLANTS):
        said = f"The garden at home needs {plant}{' and time' * number}."
        bank.remember(SCOPE, [("user", said)], session=f"s{number}", close=True)
    return bank


@pytest.mark.parametrize("scored", [True, False])
@pytest.mark.parametrize("top_n", [1, 2, 30])
def test_what_a_reranker_of_llamaindex_wants_comes_first(scored: bool, top_n: int) -> None:
    with opened(Wants(top_n=top_n, scored=scored)) as bank, warnings.catch_warnings():
        warnings.simplefilter("error", DegradedWarning)
        recall = bank.recall(SCOPE, QUERY)
        [node, *_] = SecomRetriever(bank, SCOPE, k=1).retrieve(QUERY)

    assert WANTED in recall.ranked[0].text
    assert recall.work.rerank_calls == 1
    assert len(recall.hits) == len(PLANTS), "what it leaves out stays behind"
    assert WANTED in node.node.get_content()


@with_cross_encoders
def test_llamaindexs_own_sentence_transformer_reranker_judges(tmp_path: Path) -> None:
    from llama_index.core.postprocessor import SentenceTransformerRerank
    from sentence_transformers import CrossEncoder

    folder = str(cross_encoder(tmp_path / "model", [QUERY, *PLANTS]))
    with (
        opened(SentenceTransformerRerank(model=folder, top_n=30, device="cpu")) as bank,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error", DegradedWarning)
        hits = bank.recall(SCOPE, QUERY).ranked

    pairs = [(QUERY, hit.turns[0].text) for hit in hits]
    expected = CrossEncoder(folder, device="cpu").predict(pairs).tolist()
    assert [hit.signals["reranker"] for hit in hits] == pytest.approx(expected, abs=1e-5)
    assert expected == sorted(expected, reverse=True)
    assert len({round(score, 5) for score in expected}) == len(PLANTS)


def test_one_that_fails_is_gone_without_and_named() -> None:
    class Broken(Wants):
        def _postprocess_nodes(self, *_: Any, **__: Any) -> list[NodeWithScore]:
            raise ConnectionError("refused")

    class Invents(Wants):
        def _postprocess_nodes(self, *_: Any, **__: Any) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(text="never said"), score=1.0)]

    with opened(Broken()) as bank, pytest.warns(DegradedWarning, match="without it: Broken: ConnectionError: refused"):
        assert len(bank.recall(SCOPE, QUERY).hits) == len(PLANTS)
    with opened(Invents()) as bank, pytest.warns(DegradedWarning, match="nodes that it was not given"):
        assert len(bank.recall(SCOPE, QUERY).hits) == len(PLANTS)
    with pytest.raises(ModelUnavailable):
        LlamaIndexReranker(Broken())(QUERY, ["a"])
    with pytest.raises(BadReply):
        LlamaIndexReranker(Invents())(QUERY, ["a"])
    assert LlamaIndexReranker(Broken())(QUERY, []) == []


def test_one_that_only_filters_changes_nothing() -> None:
    with MemoryBank.open(packer=PackTurns(thrift=0.0)) as plain, opened(SimilarityPostprocessor()) as bank:
        for session in bank.sessions(SCOPE):
            plain.remember(SCOPE, bank.turns(SCOPE, session)[0].messages, session=session, close=True)
        assert bank.recall(SCOPE, QUERY).text == plain.recall(SCOPE, QUERY).text


def test_the_event_loop_goes_on_while_it_judges() -> None:
    class Slow(Wants):
        def _postprocess_nodes(self, nodes: list[NodeWithScore], *_: Any, **__: Any) -> list[NodeWithScore]:
            time.sleep(0.4)
            return nodes

    async def beats(retriever: SecomRetriever) -> int:
        found, count = asyncio.ensure_future(retriever.aretrieve(QUERY)), 0
        while not found.done():
            await asyncio.sleep(0.01)
            count += 1
        await found
        return count

    with opened(Slow()) as bank:
        assert asyncio.run(beats(SecomRetriever(bank, SCOPE, k=3))) > 15


def test_what_is_no_reranker_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected a LlamaIndex node postprocessor, got 'bge'"):
        LlamaIndexReranker("bge")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"make one with llamaindex_secom\.LlamaIndexReranker\(postprocessor\)"):
        MemoryBank.open(reranker=Wants())  # type: ignore[arg-type]
