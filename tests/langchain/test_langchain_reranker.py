"""The reranker: the bank's order, whose documents, and what stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")

from embedders import HashingEmbedder
from langchain_core.documents import Document
from pydantic import ValidationError

from langchain_secom import CitationReranker, SecomRetriever, SegmentTextSplitter
from secom_core.bank import MemoryBank
from secom_core.citations import RerankerOptions
from secom_core.conversation import Message
from secom_core.errors import InvalidInput, InvalidScope

ANN, BOB = ("acme", "ann"), ("acme", "bob")


def remember(bank: MemoryBank) -> None:
    for day, thing in enumerate(("cat", "dog", "owl", "fox"), start=1):
        at = datetime(2024, 5, day, tzinfo=timezone.utc)
        show = Message(f"The {thing} went to the {thing} show.", id=f"{thing}-1", at=at)
        bank.remember(ANN, [show], session=f"{thing} show", close=True)
        at = datetime(2025, 5, day, tzinfo=timezone.utc)
        messages = [Message(f"I read a book on the {thing} in May, June and July.", id=f"{thing}-2", at=at)]
        bank.remember(ANN, messages, session=f"{thing} book", close=True)
    bank.remember(BOB, [Message("The cat went home.", id="bob-1")], session="s", close=True)


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open(citations=True) as bank:
        remember(bank)
        yield bank


def ids(documents: Any) -> list[str]:
    return [document.metadata.get("turn_ids", [document.page_content])[0] for document in documents]


def numbers(documents: Any) -> list[int]:
    return [document.metadata["number"] for document in documents]


async def ranked(how: str, reranker: CitationReranker, documents: Any, query: str) -> list[Document]:
    if how == "sync":
        return reranker.compress_documents(documents, query)
    return await reranker.acompress_documents(documents, query)


both_ways = pytest.mark.parametrize("how", ["sync", "async"])


def test_scores_are_from_0_to_1(bank: MemoryBank) -> None:
    question = "Where did the owl go in May 2024 and in May 2025?"
    found = SecomRetriever(bank=bank, scope=ANN, k=6).invoke(question)
    assert max(hit.score for hit in bank.recall(ANN, question, k=1).hits) > 1
    scores = [each.metadata["score"] for each in CitationReranker(bank=bank).compress_documents(found, question)]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] < scores[0] <= 1


@pytest.mark.slow
@both_ways
async def test_the_order_is_that_of_the_papers_reranker_as_it_has_learned(how: str) -> None:
    learns = RerankerOptions(top=3, learning_rate=0.5)
    with MemoryBank.open(embedder=HashingEmbedder(), citations=learns) as bank:
        remember(bank)
        question = "Where did the owl go in May 2024 and in May 2025?"
        kept = SecomRetriever(bank=bank, scope=ANN, k=3).invoke(question)
        before = await ranked(how, CitationReranker(bank=bank), kept, question)
        last = ids(before)[-1]
        for _ in range(8):
            recall = bank.recall(ANN, question, k=3)
            assert recall.impression is not None
            cited = [hit.number for hit in recall.hits if hit.turn_ids[0] == last]
            assert bank.citations.reward(ANN, question, recall.impression, cited).kind == "taught"
        after = await ranked(how, CitationReranker(bank=bank), kept, question)
    # The documents were retrieved before anything was learned; the order is of now.
    assert ids(after)[0] == last
    assert sorted(ids(after)) == sorted(ids(before)) == sorted(ids(kept))
    scores = [document.metadata["score"] for document in after]
    assert scores == sorted(scores, reverse=True)
    assert numbers(after) == list(range(1, len(kept) + 1))


@pytest.mark.slow
@both_ways
async def test_a_bank_that_records_orders_by_its_own_scores_whatever_was_cited(bank: MemoryBank, how: str) -> None:
    question = "Where did the owl go in May 2024 and in May 2025?"
    recall = bank.recall(ANN, question, k=8)
    assert recall.impression is not None
    bank.citations.reward(ANN, question, recall.impression, [8])
    kept = SecomRetriever(bank=bank, scope=ANN, k=8, order="time").invoke(question)
    after = await ranked(how, CitationReranker(bank=bank), kept, question)
    assert ids(after) == [hit.turn_ids[0] for hit in recall.ranked]


@pytest.mark.slow
@both_ways
async def test_the_given_documents_stay_as_they_are(bank: MemoryBank, how: str) -> None:
    kept = SecomRetriever(bank=bank, scope=ANN, k=4, order="time").invoke("owl show")
    kept[0].metadata["relevance"] = 0.5
    copies = [document.model_copy(deep=True) for document in kept]
    found = await ranked(how, CitationReranker(bank=bank), kept[::-1], "owl show")
    assert kept == copies
    assert not {id(document) for document in found} & {id(document) for document in kept}
    by_id = {document.id: document for document in kept}
    for document in found:
        given = by_id[document.id]
        assert document.page_content == given.page_content
        assert {**document.metadata, "score": 0, "number": 0} == {**given.metadata, "score": 0, "number": 0}


@pytest.mark.slow
@both_ways
async def test_documents_of_another_origin_come_after_ours(bank: MemoryBank, how: str) -> None:
    kept = SecomRetriever(bank=bank, scope=ANN, k=2).invoke("owl show")
    web = [Document("a page", metadata={"source": "web"}), Document("a leaf", id="7")]
    found = await ranked(how, CitationReranker(bank=bank), [web[0], *kept, web[1]], "owl show")
    assert ids(found) == [*ids(kept), "a page", "a leaf"]
    assert numbers(found) == [1, 2, 3, 4]
    assert found[2].metadata == {"source": "web", "number": 3}
    assert web[0].metadata == {"source": "web"}
    cut = await ranked(how, CitationReranker(bank=bank, top_n=3), [web[0], *kept, web[1]], "owl show")
    assert ids(cut) == [*ids(kept), "a page"]
    assert await ranked(how, CitationReranker(bank=bank), web, "owl show") == [
        Document("a page", metadata={"source": "web", "number": 1}),
        Document("a leaf", id="7", metadata={"number": 2}),
    ]
    assert await ranked(how, CitationReranker(bank=bank), [], "owl show") == []


@pytest.mark.slow
@both_ways
async def test_documents_of_several_scopes_are_refused(bank: MemoryBank, how: str) -> None:
    mixed = [SecomRetriever(bank=bank, scope=scope, k=1).invoke("cat")[0] for scope in (ANN, BOB)]
    with pytest.raises(InvalidScope, match=r"'ann'.*'bob'"):
        await ranked(how, CitationReranker(bank=bank), mixed, "cat")
    assert ids(await ranked(how, CitationReranker(bank=bank), mixed[1:], "cat")) == ["bob-1"]


@pytest.mark.slow
@both_ways
async def test_what_was_forgotten_is_left_out_and_what_came_twice_is_one(bank: MemoryBank, how: str) -> None:
    messages = [Message("My boat is blue.", id="boat-1"), Message("My boat is old, and leaks.", id="boat-2")]
    bank.remember(ANN, messages, session="boat", close=True)
    kept = SecomRetriever(bank=bank, scope=ANN, k=9).invoke("boat")
    [boat] = [document for document in kept if document.metadata["session"] == "boat"]
    halves = [
        boat.model_copy(
            update={"page_content": messages[place].text, "metadata": {**boat.metadata, "turn_ids": [turn_id]}}
        )
        for place, turn_id in enumerate(boat.metadata["turn_ids"])
    ]
    assert len(halves) == 2
    [both] = await ranked(how, CitationReranker(bank=bank), halves[::-1], "boat")
    assert (both.page_content, both.metadata["turn_ids"]) == (boat.page_content, ["boat-1", "boat-2"])
    bank.forget(ANN, turn_ids=["boat-1"])
    [left] = await ranked(how, CitationReranker(bank=bank), [boat], "boat")
    assert (left.page_content, left.metadata["turn_ids"]) == ("user: My boat is old, and leaks.", ["boat-2"])
    bank.forget(ANN, session="boat")
    assert await ranked(how, CitationReranker(bank=bank), [boat], "boat") == []


@pytest.mark.slow
@both_ways
async def test_the_pieces_of_a_splitter_are_one_document_with_all_their_words(bank: MemoryBank, how: str) -> None:
    kept = SecomRetriever(bank=bank, scope=ANN, k=2).invoke("owl show")
    pieces = SegmentTextSplitter(chunk_size=20).split_documents(kept)
    assert len(pieces) > 2
    found = await ranked(how, CitationReranker(bank=bank), pieces, "owl show")
    assert [each.page_content.split() for each in found] == [each.page_content.split() for each in kept]


@pytest.mark.slow
@both_ways
async def test_a_memory_that_comes_with_other_excerpts_shows_them_all(bank: MemoryBank, how: str) -> None:
    words = "The heron stands in the river. " + "Nothing happens on the bank of it. " * 30 + "The tern dives for fish."
    bank.remember(ANN, [Message(words, id="birds")], session="birds", close=True)
    kept = []
    for query in ("heron in the river", "tern diving for fish"):
        kept += SecomRetriever(bank=bank, scope=ANN, token_budget=60, only_relevant=True).invoke(query)
    assert [each.metadata["excerpts"] != [] for each in kept] == [True, True]
    [both] = await ranked(how, CitationReranker(bank=bank), kept, "birds")
    assert "heron" in both.page_content
    assert "tern" in both.page_content
    assert len(both.metadata["excerpts"]) >= 2


@pytest.mark.slow
@both_ways
async def test_it_learns_nothing_by_itself(bank: MemoryBank, how: str) -> None:
    kept = SecomRetriever(bank=bank, scope=ANN, k=4).invoke("owl show")
    await ranked(how, CitationReranker(bank=bank), kept, "owl show")
    assert bank.citations.log(ANN) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch", "abatch"])
async def test_it_works_in_a_compression_retriever(bank: MemoryBank, how: str) -> None:
    retrievers = pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")
    retriever = retrievers.ContextualCompressionRetriever(
        base_retriever=SecomRetriever(bank=bank, scope=ANN, k=8, order="time"),
        base_compressor=CitationReranker(bank=bank, top_n=2),
    )
    question = "Where did the owl go in May 2024 and in May 2025?"
    if "batch" in how:
        call = getattr(retriever, how)([question, question])
        found = (await call if how == "abatch" else call)[1]
    else:
        call = getattr(retriever, how)(question)
        found = await call if how == "ainvoke" else call
    assert ids(found) == ["owl-2", "owl-1"]
    assert numbers(found) == [1, 2]


async def test_it_does_not_block_the_event_loop(bank: MemoryBank) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    kept = SecomRetriever(bank=bank, scope=ANN, k=4).invoke("owl show")
    reranker = CitationReranker(bank=bank)
    with MemoryBank.open() as control, blockbuster.blockbuster_ctx():
        with pytest.raises(blockbuster.BlockingError):
            control.scopes()
        await reranker.acompress_documents(kept, "owl show")


def test_what_cannot_work_is_said_at_construction(bank: MemoryBank) -> None:
    with MemoryBank.open() as other, pytest.raises(ValidationError, match="citations=True"):
        CitationReranker(bank=other)
    with pytest.raises(ValidationError, match="top_k"):
        CitationReranker(bank=bank, top_k=3)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        CitationReranker(bank=bank, top_n=0)
    assert CitationReranker(bank=bank, top_n=3).model_dump() == {"top_n": 3}


def test_a_timeline_is_a_document_of_another_origin() -> None:
    from langchain_secom import TimelineRetriever

    with MemoryBank.open(citations=True, timelines=True) as bank:
        bank.remember(ANN, [Message("My dog Bello has a sore paw.")], session="s", close=True)
        found = TimelineRetriever(bank=bank, scope=ANN).invoke("Bello's paw")
        found += SecomRetriever(bank=bank, scope=ANN).invoke("Bello's paw")
        ordered = CitationReranker(bank=bank).compress_documents(found, "Bello's paw")
    assert ["secom_memory_id" in document.metadata for document in ordered] == [True, False]
    assert numbers(ordered) == [1, 2]


def test_a_query_that_is_none(bank: MemoryBank) -> None:
    kept = SecomRetriever(bank=bank, scope=ANN, k=4).invoke("owl show")
    with pytest.raises(InvalidInput, match="query"):
        CitationReranker(bank=bank).compress_documents(kept, 7)  # type: ignore[arg-type]
