"""LangChain's rerankers where a bank takes one."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")

from langchain_core.callbacks import BaseCallbackHandler, Callbacks
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda

from langchain_secom import LangChainReranker, SecomRetriever
from secom_core.bank import MemoryBank
from secom_core.context.packing import PackTurns
from secom_core.errors import BadReply, DegradedWarning, InvalidInput, ModelUnavailable
from secom_core.ranking.reranking import Reranking

SCOPE = ("acme", "alice")
QUERY = "What does the garden at home need?"
PLANTS = ("roses", "lilies", "tulips", "peonies", "poppies")
WANTED = "poppies"


class Wants(BaseDocumentCompressor):
    """Gives the documents with a word first, as many as it is told, in one of the ways that compressors do."""

    top_n: int = 30
    way: str = "scored"

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        assert query == QUERY
        best = sorted(documents, key=lambda each: WANTED not in each.page_content)[: self.top_n]
        if self.way == "scored":
            scores = [float(WANTED in each.page_content) for each in best]
            pairs = zip(best, scores, strict=True)
            return [Document(each.page_content, metadata={**each.metadata, "relevance_score": s}) for each, s in pairs]
        return [Document(page_content=each.page_content) for each in best] if self.way == "anew" else best


class Asks(BaseDocumentCompressor):
    """Has a language model say which comes first."""

    model: Any

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        word = self.model.invoke(query, config={"callbacks": callbacks}).content
        return sorted(documents, key=lambda each: word not in each.page_content)


class CountsWords(BaseCrossEncoder):
    """A cross-encoder by rule."""

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        return [float(WANTED in text) for _, text in text_pairs]


def opened(compressor: Any) -> MemoryBank:
    bank = MemoryBank.open(reranker=Reranking(LangChainReranker(compressor), weight=1), packer=PackTurns(thrift=0.0))
    for number, plant in enumerate(PLANTS):
        said = f"The garden at home needs {plant}{' and time' * number}."
        bank.remember(SCOPE, [("user", said)], session=f"s{number}", close=True)
    return bank


@pytest.mark.parametrize(
    "compressor",
    [Wants(), Wants(way="as they are"), Wants(way="anew"), Wants(top_n=1), Wants(top_n=2, way="anew"), CountsWords()],
    ids=["scored", "by order", "made anew", "one alone", "two made anew", "cross-encoder"],
)
def test_what_a_reranker_of_langchain_wants_comes_first(compressor: Any) -> None:
    with opened(compressor) as bank, warnings.catch_warnings():
        warnings.simplefilter("error", DegradedWarning)
        recall = bank.recall(SCOPE, QUERY)
        [document, *_] = SecomRetriever(bank=bank, scope=SCOPE, k=1).invoke(QUERY)

    assert WANTED in recall.ranked[0].text
    assert recall.work.rerank_calls == 1
    assert len(recall.hits) == len(PLANTS), "what it leaves out stays behind"
    assert WANTED in document.page_content


def test_langchains_own_cross_encoder_reranker_judges() -> None:
    module = pytest.importorskip(
        "langchain_classic.retrievers.document_compressors", reason="needs the package langchain-classic"
    )
    with opened(module.CrossEncoderReranker(model=CountsWords(), top_n=30)) as bank:
        assert WANTED in bank.recall(SCOPE, QUERY).ranked[0].text


def test_one_that_fails_is_gone_without_and_named() -> None:
    class Broken(Wants):
        def compress_documents(self, *_: Any, **__: Any) -> list[Document]:
            raise ConnectionError("refused")

    class Invents(Wants):
        def compress_documents(self, *_: Any, **__: Any) -> list[Document]:
            return [Document("never said")]

    with opened(Broken()) as bank, pytest.warns(DegradedWarning, match="without it: Broken: ConnectionError: refused"):
        assert len(bank.recall(SCOPE, QUERY).hits) == len(PLANTS)
    with opened(Invents()) as bank, pytest.warns(DegradedWarning, match="a document that it was not given"):
        assert len(bank.recall(SCOPE, QUERY).hits) == len(PLANTS)
    with pytest.raises(ModelUnavailable):
        LangChainReranker(Broken())(QUERY, ["a"])
    with pytest.raises(BadReply):
        LangChainReranker(Invents())(QUERY, ["a"])
    assert LangChainReranker(Broken())(QUERY, []) == []


def test_the_event_loop_goes_on_while_it_judges() -> None:
    class Slow(Wants):
        def compress_documents(self, documents: Sequence[Document], *_: Any, **__: Any) -> list[Document]:
            time.sleep(0.4)
            return list(documents)

    async def beats(retriever: SecomRetriever) -> int:
        found, count = asyncio.ensure_future(retriever.ainvoke(QUERY)), 0
        while not found.done():
            await asyncio.sleep(0.01)
            count += 1
        await found
        return count

    with opened(Slow()) as bank:
        assert asyncio.run(beats(SecomRetriever(bank=bank, scope=SCOPE, k=3))) > 15


def test_what_its_language_model_says_reaches_no_stream_of_the_user_and_tracers_hear_of_it() -> None:
    class Hears(BaseCallbackHandler):
        def __init__(self) -> None:
            self.metadata: list[dict[str, Any]] = []

        def on_chat_model_start(self, *_: Any, metadata: dict[str, Any] | None = None, **__: Any) -> None:
            self.metadata.append(metadata or {})

    hears = Hears()
    with opened(Asks(model=FakeListChatModel(responses=[WANTED]))) as bank:
        retriever = SecomRetriever(bank=bank, scope=SCOPE, k=1)

        async def events() -> list[str]:
            chain = RunnableLambda(retriever.invoke)
            return [each["event"] async for each in chain.astream_events(QUERY, {"callbacks": [hears]}, version="v2")]

        named = asyncio.run(events())
        assert WANTED in bank.recall(SCOPE, QUERY).ranked[0].text

    assert "on_retriever_end" in named, "else nothing of the run was heard"
    assert not [each for each in named if "chat_model" in each]
    assert [each.get("secom_purpose") for each in hears.metadata] == ["rerank"]


def test_what_is_no_reranker_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected a LangChain document compressor or cross-encoder, got 'bge'"):
        LangChainReranker("bge")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"make one with langchain_secom\.LangChainReranker\(compressor\)"):
        MemoryBank.open(reranker=Wants())  # type: ignore[arg-type]
