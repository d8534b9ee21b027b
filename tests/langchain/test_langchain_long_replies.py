"""Chats with assistants: replies of any length, and questions asked again and again, through memory and retriever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")

from langchain_core.documents import Document

from langchain_secom import CitationReranker, SecomMemory, SecomRetriever, with_citation_feedback
from langchain_secom.convert import to_document, to_hits
from langchain_secom.hits import numbered
from secom_core.bank import MemoryBank
from secom_core.context import render
from secom_core.conversation import Message

ANN = ("acme", "ann")
FILLER = (
    "The mill by the river turns slowly while the baker counts his loaves.",
    "A ferry waits for its captain, who reads the paper on the pier.",
    "Nobody on the square remembers when the clock struck last.",
)
NEEDLE = "Sourdough bread with whole rye wants a hydration of eighty percent."
ASKED = "How much hydration does sourdough bread with whole rye want?"
FACT, ECHO = "I'm allergic to peanuts.", "What am I allergic to?"
ANSWERS = {
    "no answers": "",
    "answers that know nothing": "I don't know what you are allergic to.",
    "other answers that know nothing": "Sorry, I have no information about your allergies.",
}


def reply(characters: int, needle: str = "") -> str:
    """A reply of about so many characters, the needle in the middle of it."""
    lines = [FILLER[place % 3].replace("The", f"{place}. The") for place in range(characters // 60 + 1)]
    lines.insert(len(lines) // 2, needle)
    return " ".join(filter(None, lines))[: max(characters, 200)]


def chat(bank: MemoryBank, characters: int, session: str = "old") -> SecomMemory:
    memory = SecomMemory(bank=bank, scope=ANN, session=session)
    for place in range(5):
        answer = reply(characters, NEEDLE if place == 2 else "")
        memory.save_context({"input": f"Tell me of subject number {place}, please."}, {"output": answer})
    return memory


# -- long replies -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("characters", [500, 2_000, 8_000, 20_000])
def test_a_memory_is_never_empty_however_long_the_replies(characters: int) -> None:
    with MemoryBank.open() as bank:
        before = chat(bank, characters)
        for budget in (1_500, 2_000):
            for query in (ASKED, "Tell me more.", "Quux frobnicates?", "What did we talk about last time?"):
                memory = SecomMemory(bank=bank, scope=ANN, session="new", token_budget=budget)
                block = memory.load_memory_variables({"input": query})["history"]
                assert "[1] " in block, (budget, query)
                assert bank.token_counter(block) <= budget
            again = before.model_copy(update={"token_budget": budget, "window": 2})
            block = again.load_memory_variables({"input": ASKED})["history"].partition("</memories>")[0]
            for found in (block, memory.load_memory_variables({"input": ASKED})["history"]):
                assert NEEDLE in found


@pytest.mark.parametrize("budget", range(150, 600, 50))
def test_what_the_user_said_is_shown_before_long_replies(budget: int) -> None:
    with MemoryBank.open() as bank:
        chat(bank, 4_000)
        memory = SecomMemory(bank=bank, scope=ANN, session="new", token_budget=budget)
        block = memory.load_memory_variables({"input": "Quux frobnicates?"})["history"]
        assert [n for n in range(5) if f"Tell me of subject number {n}, please." not in block] == []
        assert bank.token_counter(block) <= budget


@pytest.mark.slow
def test_without_a_budget_k_long_memories_are_short_enough() -> None:
    with MemoryBank.open() as bank:
        chat(bank, 20_000)
        memory = SecomMemory(bank=bank, scope=ANN, session="new", token_budget=None, k=3)
        block = memory.load_memory_variables({"input": ASKED})["history"]
        assert NEEDLE in block
        assert bank.token_counter(block) <= 4_000


# -- excerpts and scores of documents ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryBank]:
    path: Path = tmp_path_factory.mktemp("long") / "long.db"
    with MemoryBank.open(path, citations=True) as bank:
        chat(bank, 6_000)
        bank.remember(ANN, [Message("My dog Bello swims in the Leie.", id="dog")], session="dog", close=True)
        yield bank


def in_part(bank: MemoryBank, budget: int) -> Document:
    """The document that shows the needle's turn in part."""
    found = SecomRetriever(bank=bank, scope=ANN, token_budget=budget).invoke(ASKED)
    return next(document for document in found if NEEDLE in document.page_content)


def relevant(retriever: SecomRetriever, question: str) -> list[Document]:
    return retriever.invoke(question, only_relevant=True)


@pytest.mark.slow
def test_a_document_says_which_parts_of_a_turn_it_shows(long: MemoryBank) -> None:
    document = in_part(long, 300)
    excerpts = document.metadata["excerpts"]
    assert NEEDLE in document.page_content
    assert "[…]" in document.page_content
    shown = []
    for each in excerpts:
        assert set(each) == {"turn_id", "message_id", "role", "start", "stop"}
        [turn] = long.turns(ANN, turn_ids=[each["turn_id"]])
        message = next(message for message in turn.messages if message.id == each["message_id"])
        assert message.role == each["role"]
        shown.append(message.text[each["start"] : each["stop"]])
        assert shown[-1].strip() in document.page_content
    assert any(NEEDLE in words for words in shown)
    whole = SecomRetriever(bank=long, scope=ANN, k=1).invoke("Where does my dog Bello swim?")[0]
    assert (whole.metadata["excerpts"], whole.metadata["turn_ids"]) == ([], ["dog"])


@pytest.mark.slow
def test_scores_are_chances_and_say_what_a_document_is_shown_for(long: MemoryBank) -> None:
    retriever = SecomRetriever(bank=long, scope=ANN)
    question = "Where does my dog Bello swim?"
    recall = long.recall(ANN, question)
    documents = retriever.invoke(question)
    relevance = {hit.memory.id: hit.relevance for hit in recall.hits}
    kinds = {hit.memory.id: hit.kind for hit in recall.hits}
    for document in documents:
        assert document.metadata["score"] == relevance[document.metadata["secom_memory_id"]]
        assert document.metadata["kind"] == kinds[document.metadata["secom_memory_id"]]
        assert 0 <= document.metadata["score"] <= 1
        assert document.metadata["confidence"] == recall.confidence
    assert documents[0].metadata["turn_ids"] == ["dog"]
    best = documents[0].metadata["score"]
    assert best > retriever.invoke("How much does a zeppelin weigh?")[0].metadata["score"], "comparable between queries"
    assert {"surrounding", "recent"} & {each.metadata["kind"] for each in documents}
    for only in (retriever.model_copy(update={"only_relevant": True}).invoke(question), relevant(retriever, question)):
        assert not {"surrounding", "recent"} & {each.metadata["kind"] for each in only}
        assert 0 < len(only) < len(documents)


@pytest.mark.slow
def test_excerpts_stay_excerpts_on_the_way_through_rerankers_and_prompts(long: MemoryBank) -> None:
    retriever = SecomRetriever(bank=long, scope=ANN, token_budget=600)
    documents = retriever.invoke(ASKED)
    hits = to_hits(documents, long)
    assert [hit.text for hit in hits] == [document.page_content for document in documents]
    assert [to_document(hit, ANN).metadata["excerpts"] for hit in hits] == [
        document.metadata["excerpts"] for document in documents
    ]
    assert long.token_counter(render(numbered(hits))) <= 600
    reranked = CitationReranker(bank=long).compress_documents(documents, ASKED)
    assert {document.page_content for document in reranked} == {document.page_content for document in documents}
    prompts: list[Any] = []
    chain = with_citation_feedback(
        lambda inputs: prompts.append(inputs["context"]) or "Eighty.", long, retriever=retriever
    )
    chain.invoke(ASKED)
    assert NEEDLE in prompts[0]
    assert "[…]" in prompts[0]


@pytest.mark.slow
def test_parts_of_one_memory_are_joined_and_a_whole_turn_stays_whole(long: MemoryBank) -> None:
    short, longer = in_part(long, 250), in_part(long, 600)
    assert short.metadata["excerpts"] != longer.metadata["excerpts"]
    [joined] = to_hits([short, longer], long)
    parts = [each for document in (short, longer) for hit in to_hits([document], long) for each in hit.excerpts]
    characters = [(each.turn.id, each.place, char) for each in joined.excerpts for char in range(each.start, each.stop)]
    assert len(set(characters)) == len(characters)
    assert set(characters) == {
        (each.turn.id, each.place, char) for each in parts for char in range(each.start, each.stop)
    }
    [hit] = to_hits([longer], long)
    whole = to_document(hit, ANN)
    whole.metadata["excerpts"] = []
    [joined] = to_hits([to_document(hit, ANN), whole], long)
    assert joined.excerpts == ()


def test_an_excerpt_of_a_message_that_is_gone_is_passed_over() -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message("My dog is called Bello.", id="dog")], session="dog", close=True)
        [document] = SecomRetriever(bank=bank, scope=ANN).invoke("dog")
        for message_id, stop, shown in (("gone", 3, 0), ("dog", 999, 1)):
            excerpt = {"turn_id": "dog", "message_id": message_id, "role": "user", "start": 0, "stop": stop}
            changed = Document(document.page_content, metadata={**document.metadata, "excerpts": [excerpt]})
            [hit] = to_hits([changed], bank)
            assert hit.text == "user: My dog is called Bello."
            assert len(hit.excerpts) == shown


# -- asked again and again --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("times", [31, 300])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_fact_outlives_its_own_question(times: int, answer: str) -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message(FACT), Message("Noted.", "assistant")], session="monday", close=True)
        if times < 100 and answer:
            chatting = SecomMemory(bank=bank, scope=ANN, session="tuesday", token_budget=200)
            for _ in range(times):
                assert FACT in chatting.load_memory_variables({"input": ECHO})["history"]
                chatting.save_context({"input": ECHO}, {"output": answer})
        else:
            said = [Message(ECHO), *([Message(answer, "assistant")] if answer else [])]
            bank.remember(ANN, said * times, session="tuesday")
        for budget in (200, 1_000):
            for session in ("tuesday", "wednesday"):
                memory = SecomMemory(bank=bank, scope=ANN, session=session, token_budget=budget)
                block = memory.load_memory_variables({"input": ECHO})["history"].partition("</memories>")[0]
                assert FACT in block, (budget, session)
            documents = SecomRetriever(bank=bank, scope=ANN, token_budget=budget).invoke(ECHO)
            assert any(FACT in document.page_content for document in documents)


@pytest.mark.slow
@pytest.mark.parametrize("times", [31, 300])
def test_a_fact_in_the_same_session_outlives_its_own_question(times: int) -> None:
    with MemoryBank.open() as bank:
        echoes = [Message(ECHO), Message(ANSWERS["answers that know nothing"], "assistant")] * times
        bank.remember(ANN, [Message(FACT), Message("Noted.", "assistant"), *echoes], session="monday")
        for budget in (200, 1_000):
            memory = SecomMemory(bank=bank, scope=ANN, session="monday", token_budget=budget)
            assert FACT in memory.load_memory_variables({"input": ECHO})["history"].partition("</memories>")[0]
