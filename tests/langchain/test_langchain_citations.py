"""The whole loop: memories go into the prompt, an answer comes back over HTTP, and what it cites is learned, once."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_chat import HttpChatModel
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableGenerator, RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from langchain_secom import CitationReranker, SecomRetriever, SessionHistories, with_citation_feedback
from langchain_secom.answers import CITED
from secom_core.bank import MemoryBank
from secom_core.citations.prompt import CITE_INSTRUCTION
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, InvalidScope
from secom_core.testing import Answer, Fault, ScriptedRequest, ScriptedServer, ToolCall
from secom_core.timelines import TimelineOptions
from secom_core.topics import TopicOptions

ANN, BOB = ("ann",), ("bob",)
QUESTION = "Where do I live, and what does my dog Bello do in Ghent?"
# The messages hold markers themselves, so that an answer that repeats them seems to cite.
FACTS = [
    ("monday", 1, "I live in Ghent, as [2] says, and [m2], [1, 2] and [NO_CITE] too."),
    ("tuesday", 2, "My dog Bello barks at the trams in Ghent."),
    ("friday", 3, "Bello, my dog, swims in the river Leie in Ghent."),
]
PROMPT = ChatPromptTemplate.from_messages([("system", "{context}"), ("human", "{question}")])
WAYS = ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"]
each_way = pytest.mark.parametrize("how", WAYS)
as_ann: Any = {"configurable": {"user_id": "ann"}}


def filled(path: str = ":memory:") -> MemoryBank:
    bank = MemoryBank.open(path, citations=True)
    for session, day, text in FACTS:
        at = datetime(2024, 5, day, tzinfo=timezone.utc)
        bank.remember(ANN, [Message(text, id=f"ann-{session}", at=at)], session=session, close=True)
    return bank


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with filled() as bank:
        yield bank


async def ask(how: str, chain: Any, given: Any, config: Any = as_ann) -> Any:
    if how == "invoke":
        return chain.invoke(given, config)
    if how == "ainvoke":
        return await chain.ainvoke(given, config)
    if how == "batch":
        return chain.batch([given], config)[0]
    if how == "abatch":
        return (await chain.abatch([given], config))[0]
    pieces = list(chain.stream(given, config)) if how == "stream" else [p async for p in chain.astream(given, config)]
    assert len(pieces) > 1
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    return whole


def cited_in(bank: MemoryBank, scope: Any = ANN) -> list[tuple[int, ...]]:
    return [entry.cited for entry in bank.citations.log(scope)]


def text_of(answer: Any) -> str:
    return str(answer if isinstance(answer, str) else answer.text)


# -- the whole loop ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.pairwise
@each_way
@pytest.mark.parametrize("markers", ["keep", "strip"])
@pytest.mark.parametrize("parsed", [False, True], ids=["message", "text"])
async def test_an_answer_is_shown_and_learned_from_once(bank: MemoryBank, how: str, markers: Any, parsed: bool) -> None:
    with ScriptedServer("You live in Ghent [1]. Bello swims there [3].") as server:
        chain = PROMPT | HttpChatModel(base_url=server.base_url)
        chain = with_citation_feedback(chain | StrOutputParser() if parsed else chain, bank, markers=markers)
        answer = await ask(how, chain, {"question": QUESTION})

        [request] = server.requests
        [(role, system), (_, question)] = request.messages
        assert (role, question) == ("system", QUESTION)
        assert [line[:4] for line in system.splitlines() if line.startswith("[")] == ["[1] ", "[2] ", "[3] "]
        assert system.endswith(CITE_INSTRUCTION)
        assert system.count(CITE_INSTRUCTION) == 1

    expected = (
        "You live in Ghent [1]. Bello swims there [3]."
        if markers == "keep"
        else "You live in Ghent. Bello swims there."
    )
    assert text_of(answer) == expected
    [entry] = bank.citations.log(ANN)
    assert (entry.numbers, entry.cited, entry.query) == ((1, 2, 3), (1, 3), QUESTION)
    assert len(cited_in(bank)) == 1
    if not parsed:
        assert isinstance(answer, AIMessage)
        assert answer.response_metadata["finish_reason"] == "stop"
        assert answer.response_metadata["secom_citations"] == [
            {"number": 1, "memory_id": entry.impression.memory_ids[0], "turn_ids": ["ann-monday"]},
            {"number": 3, "memory_id": entry.impression.memory_ids[2], "turn_ids": ["ann-friday"]},
        ]


FAULTY = {
    "out of range": ("You live in Ghent [9].", None),
    "in part out of range": ("You live in Ghent [1][9].", (1,)),
    "zero": ("You live in Ghent [0].", None),
    "repeated": ("Ghent [1]. Ghent [1][1]. Ghent, [1, 1].", (1,)),
    "many at once": ("Ghent [2, 1].", (2, 1)),
    "with a letter": ("Ghent [m2].", (2,)),
    "in code": ("Write `x[1]`.", None),
    "behind a fence": ("Write\n```\nx = [1]\n```\nto see.", None),
    "a link": ("See [1](https://example.org).", None),
    "a score": ("They won [1-3].", None),
    "a range": ("You live in Ghent [1-2].", (1, 2)),
    "a list": ("xs = [1, 2, 3]", None),
    "none used": ("I cannot say. [NO_CITE]", ()),
    "none used, and one": ("Ghent [1]. [NO_CITE]", (1,)),
    "no marker": ("You live in Ghent.", None),
    "nothing": ("", None),
}


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
@pytest.mark.parametrize(("text", "cited"), FAULTY.values(), ids=FAULTY)
@pytest.mark.parametrize("markers", ["keep", "strip"])
async def test_faulty_citations(bank: MemoryBank, how: str, text: str, cited: Any, markers: Any) -> None:
    with ScriptedServer(text) as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, markers=markers)
        answer = await ask(how, chain, QUESTION)
    if markers == "keep":
        assert answer.text == text
    elif cited:
        assert not re.search(r"\[m?[12]", answer.text)
        assert ("[9]" in answer.text) == ("[9]" in text)
    assert cited_in(bank) == ([] if cited is None else [cited])
    assert [each["number"] for each in answer.response_metadata["secom_citations"]] == list(cited or ())


def repeat(request: ScriptedRequest) -> str:
    """What a model says that repeats the words of its memories."""
    block = request.messages[0][1].split("</memories>")[0]
    return "You said: " + " ".join(re.findall(r"^\[\d+\] (.*)$", block, re.M))


@pytest.mark.slow
@each_way
async def test_memory_cannot_cite_itself(bank: MemoryBank, how: str) -> None:
    with ScriptedServer(repeat) as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank)
        answer = await ask(how, chain, QUESTION)
    assert "as (2) says, and (m2), (1, 2) and (NO CITE) too" in answer.text
    assert cited_in(bank) == []
    assert cited_in(bank) == []


@pytest.mark.slow
@each_way
async def test_documents_for_a_provider_cannot_cite_either(bank: MemoryBank, how: str) -> None:
    given: list[Any] = []

    def keep(inputs: dict[str, Any]) -> str:
        given.append(inputs["documents"])
        return " ".join(document.page_content for document in inputs["documents"])

    chain = with_citation_feedback(RunnableLambda(keep) | split, bank, documents_key="documents", markers="strip")
    answer = await ask(how, chain, QUESTION)
    assert [document.metadata["number"] for document in given[0]] == [1, 2, 3]
    assert "as (2) says, and (m2), (1, 2) and (NO CITE) too" in answer
    assert cited_in(bank) == []


def cut(words: Iterator[str]) -> Iterator[str]:
    for text in words:
        yield from re.findall(r"\S+\s*", text)


async def acut(words: Any) -> Any:
    async for text in words:
        for piece in re.findall(r"\S+\s*", text):
            yield piece


split: Any = RunnableGenerator(cut, acut)


@pytest.mark.slow
@each_way
async def test_where_nothing_is_remembered_nothing_is_shown_or_learned(bank: MemoryBank, how: str) -> None:
    with ScriptedServer("I cannot know [1]. [NO_CITE]") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, markers="strip")
        answer = await ask(how, chain, QUESTION, {"configurable": {"user_id": "eve"}})
        assert server.requests[0].messages[0] == ("system", "")
    assert answer.text == "I cannot know [1]. [NO_CITE]"
    assert answer.response_metadata["secom_citations"] == []
    assert bank.citations.log(("eve",)) == []


# -- answers that never come ------------------------------------------------------------------------------------------


def streamed(*texts: str) -> str:
    """The body of a stream, up to where it breaks."""
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
    choices = ([{"index": 0, "delta": {"content": text}, "finish_reason": None}] for text in texts)
    return "".join(f"data: {json.dumps({**chunk, 'choices': each})}\n\n" for each in choices)


BROKEN = {
    "in the middle": Fault(body=streamed("You live in Ghent [1]. ", "Bello swims ") + 'data: {"id": "1", "cho\n\n'),
    "inside a marker": Fault(body=streamed("You live in Ghent [1") + 'data: {"id": "1", "cho\n\n'),
    "at once": Fault(status=500),
    "without a word": Fault(),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stream", "astream"])
@pytest.mark.parametrize("fault", BROKEN.values(), ids=BROKEN)
async def test_a_stream_that_breaks_teaches_nothing(bank: MemoryBank, how: str, fault: Fault) -> None:
    with ScriptedServer([fault, "You live in Ghent [1]."]) as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, markers="strip")
        with pytest.raises(Exception, match=r"Expecting|Unterminated|500|[Cc]onnection"):
            await ask(how, chain, QUESTION)
        assert cited_in(bank) == []
        await ask(how, chain, QUESTION)
    assert cited_in(bank) == [(1,)]
    assert len(cited_in(bank)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("parsed", [False, True], ids=["message", "text"])
async def test_a_stream_that_is_left_teaches_nothing(bank: MemoryBank, parsed: bool) -> None:
    with ScriptedServer("You live in Ghent [1]. Bello swims there [3].") as server:
        chain: Any = PROMPT | HttpChatModel(base_url=server.base_url)
        chain = with_citation_feedback(chain | StrOutputParser() if parsed else chain, bank)
        seen = ""
        for piece in chain.stream(QUESTION, as_ann):
            seen += text_of(piece)
            if "[1]" in seen:
                break
        async for piece in chain.astream(QUESTION, as_ann):
            if "[1]" in text_of(piece):
                break
        assert "[3]" not in seen
    assert cited_in(bank) == []
    assert cited_in(bank) == []


@pytest.mark.slow
async def test_a_call_that_is_cancelled_teaches_nothing(bank: MemoryBank) -> None:
    with ScriptedServer(Answer("You live in Ghent [1].", delay=30)) as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank)
        for how in ("ainvoke", "astream"):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(ask(how, chain, QUESTION), 0.3)
    assert cited_in(bank) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_who_has_the_last_piece_may_stop(bank: MemoryBank, how: str) -> None:
    with ScriptedServer("You live in Ghent [1].") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, markers="strip")
        if how == "stream":
            for piece in chain.stream(QUESTION, as_ann):
                if getattr(piece, "chunk_position", None) == "last":
                    break
        else:
            async for piece in chain.astream(QUESTION, as_ann):
                if getattr(piece, "chunk_position", None) == "last":
                    break
    assert cited_in(bank) == [(1,)]


@pytest.mark.slow
@each_way
async def test_an_answer_that_is_cut_short_or_calls_a_tool_teaches_nothing(bank: MemoryBank, how: str) -> None:
    call = Answer("I look it up [1].", (ToolCall("look", {"what": "Ghent"}, id="call-1"),))
    with ScriptedServer([Answer("You live in Ghent [1] and", finish_reason="length"), call]) as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, markers="strip")
        assert (await ask(how, chain, QUESTION)).text == "You live in Ghent and"
        answer = await ask(how, chain, QUESTION)
    assert answer.text == "I look it up."
    assert [(each["name"], each["args"], each["id"]) for each in answer.tool_calls] == [
        ("look", {"what": "Ghent"}, "call-1")
    ]
    assert cited_in(bank) == []


# -- once -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch", "abatch"])
async def test_retries_inside_the_chain_count_once(bank: MemoryBank, how: str) -> None:
    with ScriptedServer([Fault(status=500), Fault(), "You live in Ghent [1]."]) as server:
        chain = (PROMPT | HttpChatModel(base_url=server.base_url)).with_retry(wait_exponential_jitter=False)
        await ask(how, with_citation_feedback(chain, bank), QUESTION)
        assert len(server.requests) == 3
    assert cited_in(bank) == [(1,)]


@pytest.mark.slow
@each_way
async def test_fallbacks_inside_the_chain_count_once(bank: MemoryBank, how: str) -> None:
    with ScriptedServer(Fault(status=500)) as broken, ScriptedServer("You live in Ghent [1].") as server:
        model = HttpChatModel(base_url=broken.base_url).with_fallbacks([HttpChatModel(base_url=server.base_url)])
        await ask(how, with_citation_feedback(PROMPT | model, bank), QUESTION)
        assert (len(broken.requests), len(server.requests)) == (1, 1)
    assert cited_in(bank) == [(1,)]


@pytest.mark.slow
@each_way
async def test_the_same_question_again_is_another_answer(bank: MemoryBank, how: str) -> None:
    with ScriptedServer(["Ghent [1].", "Ghent [1].", "Swims [3]."]) as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank)
        for _ in range(3):
            await ask(how, chain, QUESTION)
    assert cited_in(bank) == [(1,), (1,), (3,)]
    assert len(cited_in(bank)) == 3
    assert len({entry.id for entry in bank.citations.log(ANN)}) == 3


def own_number(request: ScriptedRequest) -> str:
    [number] = re.findall(r"^\[(\d+)\].*secret", request.messages[0][1], re.M)
    return f"That is your secret [{number}]."


@pytest.mark.slow
@pytest.mark.parametrize("how", ["batch", "abatch", "gather"])
async def test_many_users_at_once_never_mix(how: str, tmp_path: Any) -> None:
    names = [f"user{place}" for place in range(12)]
    with MemoryBank.open(tmp_path / "bank.db", citations=True) as bank, ScriptedServer(own_number) as server:
        for place, name in enumerate(names):
            # The secret has another number for the one user than for the next.
            texts = ["The tram is late.", "The tram is full.", "The tram is red."]
            texts.insert(place % 4, f"My secret of the tram is {name}.")
            for day, text in enumerate(texts):
                at = datetime(2024, 5, day + 1, tzinfo=timezone.utc)
                bank.remember((name,), [Message(text, id=f"{name}-{day}", at=at)], session=str(day), close=True)
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank)
        given = [f"What is my secret of the tram, I being {name}?" for name in names] * 2
        configs: list[Any] = [{"configurable": {"user_id": name}} for name in names] * 2
        if how == "batch":
            found = chain.batch(given, configs)
        elif how == "abatch":
            found = await chain.abatch(given, configs)
        else:
            calls = (ask("astream", chain, *each) for each in zip(given, configs, strict=True))
            found = await asyncio.gather(*calls)
        for place, name in enumerate(names):
            own = f"{name}-{place % 4}"
            for answer in (found[place], found[place + len(names)]):
                assert [each["turn_ids"] for each in answer.response_metadata["secom_citations"]] == [[own]]
            for entry in bank.citations.log((name,)):
                assert [entry.impression.turn_ids[entry.numbers.index(number)] for number in entry.cited] == [(own,)]
            assert len(bank.citations.log((name,))) == 2
            assert len(cited_in(bank, (name,))) == 2
        for request in server.requests:
            [asker] = re.findall(r"being (user\d+)", request.text)
            assert set(re.findall(r"user\d+", request.messages[0][1])) == {asker}


@pytest.mark.slow
@each_way
async def test_what_is_forgotten_while_the_model_answers_is_not_logged(bank: MemoryBank, how: str) -> None:
    def forget(request: ScriptedRequest) -> str:
        bank.forget(ANN, session="monday")
        return "You live in Ghent [1]."

    with ScriptedServer(forget) as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank)
        assert (await ask(how, chain, QUESTION)).text == "You live in Ghent [1]."
    assert not [entry for entry in bank.citations.log(ANN) if ("ann-monday",) in entry.impression.turn_ids]


# -- whose ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_way
@pytest.mark.parametrize("configurable", [{}, {"user_id": None}, {"user_id": ""}, {"user_id": 7.5}])
async def test_it_fails_closed_without_a_scope(bank: MemoryBank, how: str, configurable: Any) -> None:
    with ScriptedServer("Ghent [1].") as server:
        chain = PROMPT | HttpChatModel(base_url=server.base_url)
        config = {"configurable": configurable}
        with pytest.raises(InvalidScope):
            await ask(how, with_citation_feedback(chain, bank), QUESTION, config)
        retriever = SecomRetriever(bank=bank)
        with pytest.raises(InvalidScope):
            await ask(how, with_citation_feedback(chain, bank, retriever=retriever), QUESTION, config)
        assert server.requests == ()
    assert cited_in(bank) == []


async def test_a_bound_chain_answers_nobody_else(bank: MemoryBank) -> None:
    with ScriptedServer("Ghent [1].") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, scope=ANN)
        await ask("invoke", chain, QUESTION, None)
        with pytest.raises(InvalidScope, match="bound to"):
            await ask("ainvoke", chain, QUESTION, {"configurable": {"scope": BOB}})
        assert len(server.requests) == 1
    assert cited_in(bank) == [(1,)]


# -- retrievers -------------------------------------------------------------------------------------------------------


def compressed(bank: MemoryBank, top_n: int | None = None, **kwargs: Any) -> Any:
    module = pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")
    base = SecomRetriever(bank=bank, **kwargs)
    return module.ContextualCompressionRetriever(
        base_retriever=base, base_compressor=CitationReranker(bank=bank, top_n=top_n)
    )


@pytest.mark.slow
@each_way
@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "compressed"])
async def test_a_retrievers_documents_are_numbered_as_they_come(bank: MemoryBank, how: str, wrapped: bool) -> None:
    retriever = compressed(bank) if wrapped else SecomRetriever(bank=bank)
    order = [document.metadata["turn_ids"][0] for document in await retriever.ainvoke(QUESTION, scope=ANN)]
    assert order != sorted(order)
    with ScriptedServer("So it is [2].") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, retriever=retriever)
        answer = await ask(how, chain, QUESTION)
        system = server.requests[0].messages[0][1]
    assert [line[:3] for line in system.splitlines() if line.startswith("[")] == ["[1]", "[2]", "[3]"]
    [entry] = bank.citations.log(ANN)
    assert entry.cited == (2,)
    assert [turn_id for (turn_id,) in entry.impression.turn_ids] == order
    assert [each["turn_ids"] for each in answer.response_metadata["secom_citations"]] == [[order[1]]]
    assert len(cited_in(bank)) == 1


@pytest.mark.slow
async def test_a_retrievers_limit_holds(bank: MemoryBank) -> None:
    with ScriptedServer("So it is [2]. And [3].") as server:
        chain: Any = PROMPT | HttpChatModel(base_url=server.base_url)
        chain = with_citation_feedback(chain, bank, retriever=compressed(bank, top_n=2))
        await ask("ainvoke", chain, QUESTION)
    [entry] = bank.citations.log(ANN)
    assert (entry.numbers, entry.cited) == ((1, 2), (2,))


def test_a_prompt_without_a_place_for_the_memories_is_refused(bank: MemoryBank) -> None:
    blind = ChatPromptTemplate.from_messages([("system", "{memories}"), ("human", "{question}")])
    model = FakeListChatModel(responses=["Ghent [1]."])
    says = r"no variable 'context' for the memories, only \['memories', 'question'\]; add it, or give its name as cont"
    for chain in (blind | model, blind):
        with pytest.raises(InvalidInput, match=says):
            with_citation_feedback(chain, bank)
    seeing = with_citation_feedback(blind | model, bank, scope=ANN, context_key="memories")
    assert seeing.invoke(QUESTION).text == "Ghent [1]."
    assert with_citation_feedback(blind | model, bank, documents_key="memories")


async def test_documents_of_others_are_refused(bank: MemoryBank) -> None:
    bank.remember(BOB, [Message("My dog Rex lives in Ghent.")], session="s", close=True)
    documents = [
        *SecomRetriever(bank=bank, scope=ANN).invoke(QUESTION),
        *SecomRetriever(bank=bank, scope=BOB).invoke("Rex"),
    ]
    with ScriptedServer("Ghent [1].") as server:
        chain = PROMPT | HttpChatModel(base_url=server.base_url)
        both = with_citation_feedback(chain, bank, retriever=RunnableLambda(lambda _: documents))
        with pytest.raises(InvalidScope, match="several scopes"):
            both.invoke(QUESTION)
        bobs = with_citation_feedback(chain, bank, retriever=RunnableLambda(lambda _: documents[-1:]), scope=ANN)
        with pytest.raises(InvalidScope, match="bound to"):
            await bobs.ainvoke(QUESTION)
        foreign = documents[0].model_copy(update={"metadata": {"source": "web"}})
        other = with_citation_feedback(chain, bank, retriever=RunnableLambda(lambda _: [foreign]))
        with pytest.raises(InvalidInput, match="web"):
            other.invoke(QUESTION)
        assert server.requests == ()


# -- messages ---------------------------------------------------------------------------------------------------------


def location(place: int, words: str, **more: Any) -> dict[str, Any]:
    """A citation block as Anthropic sends it."""
    return {
        "type": "char_location",
        "document_index": place,
        "document_title": None,
        "cited_text": words,
        "start_char_index": 0,
        "end_char_index": len(words),
        **more,
    }


NATIVE = {
    "by place": ([location(1, "My dog Bello barks")], (2,)),
    "by place, over lines": ([location(2, "Bello, my dog,\n  swims")], (3,)),
    "the same twice": ([location(1, "Bello barks"), location(1, "the trams")], (2,)),
    "words of another document": ([location(1, "swims in the river")], None),
    "out of range": ([location(7, "My dog Bello barks")], None),
    "by title": ([location(9, "x", document_title="friday#0-1")], (3,)),
    "of a search result": (
        [{"type": "search_result_location", "source": "monday#0-1", "search_result_index": 0, "cited_text": "Ghent"}],
        (1,),
    ),
    "of the web": ([{"type": "web_search_result_location", "url": "https://example.org", "cited_text": "Ghent"}], None),
    "by Bedrock": (
        [{"title": "T", "source_content": [{"text": "swims"}], "location": {"document_char": {"document_index": 2}}}],
        (3,),
    ),
    "of no known kind": ([{"type": "crystal_ball", "document_index": 0}], (1,)),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
@pytest.mark.parametrize(("notes", "cited"), NATIVE.values(), ids=NATIVE)
async def test_providers_own_citations_count_like_markers(bank: MemoryBank, how: str, notes: Any, cited: Any) -> None:
    parts = [
        {"type": "text", "text": "You know, ", "index": 0},
        {"type": "text", "text": "it is so.", "citations": notes, "index": 1},
    ]
    chain = with_citation_feedback(PROMPT | Spoken(messages=iter([message(parts)])), bank, markers="strip")
    answer = await ask(how, chain, QUESTION)
    assert answer.text == "You know, it is so."
    assert answer.content[1]["citations"] == notes
    assert cited_in(bank) == ([] if cited is None else [cited])


async def test_markers_and_blocks_are_one_citation(bank: MemoryBank) -> None:
    note = {"type": "citation", "cited_text": "barks", "extras": {"document_index": 1}}
    other = {"type": "non_standard_annotation", "value": {"document_id": "friday#0-1"}}
    parts = [{"type": "text", "text": "He barks [2] [9]. [NO_CITE]", "annotations": [note, other]}]
    chain = with_citation_feedback(PROMPT | Spoken(messages=iter([message(parts)])), bank)
    answer = await chain.ainvoke(QUESTION, as_ann)
    assert cited_in(bank) == [(2, 3)]
    assert [each["number"] for each in answer.response_metadata["secom_citations"]] == [2, 3]


async def test_a_block_that_cites_goes_before_the_words_that_nothing_helped(bank: MemoryBank) -> None:
    note = {"type": "citation", "cited_text": "barks", "extras": {"document_index": 1}}
    parts = [{"type": "text", "text": "He barks. [NO_CITE]", "annotations": [note]}]
    runs = Runs()
    chain = with_citation_feedback(PROMPT | Spoken(messages=iter([message(parts)])), bank)
    await chain.ainvoke(QUESTION, {**as_ann, "callbacks": [runs]})
    [(_, data, _)] = runs.events
    assert (data["cited"], data["none_used"]) == ([2], False)
    assert cited_in(bank) == [(2,)]


def message(parts: Any, **about: Any) -> AIMessage:
    return AIMessage(parts, response_metadata={"model_provider": "anthropic"}, **about)


class Spoken(GenericFakeChatModel):
    """Streams a message of content blocks, a block a chunk, as the providers' integrations do."""

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        from langchain_core.outputs import ChatGenerationChunk

        message: Any = next(self.messages)
        for block in message.content:
            chunk = AIMessageChunk(content=[block], response_metadata=dict(message.response_metadata))
            yield ChatGenerationChunk(message=chunk)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_blocks_keep_their_places_and_reasoning_is_not_read(bank: MemoryBank, how: str) -> None:
    parts = [
        {"type": "thinking", "thinking": "Is it [2]?", "index": 0},
        {"type": "text", "text": "He barks [", "index": 1},
        {"type": "text", "text": "3]", "index": 1},
        {"type": "text", "text": " [", "index": 1},
    ]
    chain = with_citation_feedback(PROMPT | Spoken(messages=iter([message(parts)])), bank, markers="strip")
    answer = await ask(how, chain, QUESTION)
    assert [block["type"] for block in answer.content] == ["thinking", "text"]
    assert answer.content[0]["thinking"] == "Is it [2]?"
    assert answer.text == "He barks ["
    assert cited_in(bank) == [(3,)]


@pytest.mark.parametrize("markers", ["keep", "strip"])
async def test_chunks_pass_as_they_come(bank: MemoryBank, markers: Any) -> None:
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    call = {"name": "look", "args": "{}", "id": "1", "index": 0, "type": "tool_call_chunk"}
    pieces = [
        AIMessageChunk(content="He ", id="m"),
        AIMessageChunk(content="barks [", id="m"),
        AIMessageChunk(content="", id="m", tool_call_chunks=[call]),
        AIMessageChunk(content="2]!", id="m"),
        AIMessageChunk(content="", id="m", usage_metadata=usage),
        AIMessageChunk(content="", id="m", chunk_position="last"),
    ]
    chain = with_citation_feedback(chunks(pieces), bank, markers=markers)
    got = list(chain.stream(QUESTION, as_ann))
    assert [piece.text for piece in got if piece.text] == (
        ["He ", "barks [", "2]!"] if markers == "keep" else ["He", " barks", "!"]
    )
    assert [piece for piece in got if piece.tool_call_chunks or piece.usage_metadata] == [pieces[2], pieces[4]]
    assert got[-1].chunk_position == "last"
    assert all(piece.id == "m" for piece in got)
    if markers == "keep":
        assert got[:-1] == pieces[:-1]


def test_two_messages_in_one_stream_are_one_answer(bank: MemoryBank) -> None:
    pieces = [
        AIMessageChunk(content="He barks [2", id="m"),
        AIMessageChunk(content="].", id="m", chunk_position="last"),
        AIMessageChunk(content=" He swims [3].", id="n"),
        AIMessageChunk(content="", id="n", chunk_position="last"),
    ]
    chain = with_citation_feedback(chunks(pieces), bank, markers="strip")
    got = list(chain.stream(QUESTION, as_ann))
    assert [(piece.id, piece.text) for piece in got] == [("m", "He barks"), ("m", "."), ("n", " He swims."), ("n", "")]
    assert [CITED in piece.response_metadata for piece in got] == [False, False, False, True]
    assert cited_in(bank) == [(2, 3)]


def chunks(pieces: Any) -> Any:
    def speak(given: Iterator[Any]) -> Iterator[Any]:
        for _ in given:
            pass
        yield from pieces

    return RunnableGenerator(speak)


async def test_text_reaches_the_user_before_the_answer_ends(bank: MemoryBank) -> None:
    with ScriptedServer("You live in Ghent [1] and so on.") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, markers="strip")
        first = next(piece.text for piece in chain.stream(QUESTION, as_ann) if piece.text)
    assert first == "You"


# -- in the framework -------------------------------------------------------------------------------------------------


class Runs(BaseCallbackHandler):
    def __init__(self) -> None:
        self.started: dict[str, dict[str, Any]] = {}
        self.ended: dict[Any, Any] = {}
        self.events: list[tuple[str, Any, Any]] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **kwargs: Any) -> None:
        self.started[kwargs["name"]] = {"run_id": run_id, "inputs": inputs, **kwargs}

    def on_chain_end(self, outputs: Any, *, run_id: Any, **kwargs: Any) -> None:
        self.ended[run_id] = outputs

    def on_custom_event(self, name: str, data: Any, *, run_id: Any, **kwargs: Any) -> None:
        self.events.append((name, data, run_id))


@pytest.mark.slow
@each_way
async def test_runs_can_be_read_in_traces(bank: MemoryBank, how: str) -> None:
    runs = Runs()
    with ScriptedServer("You live in Ghent [1] [9].") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank)
        await ask(how, chain, QUESTION, {**as_ann, "callbacks": [runs], "tags": ["mine"]})
    top, recall, reward = (runs.started[name] for name in ("citation_feedback", "secom_recall", "secom_reward"))
    assert recall["parent_run_id"] == reward["parent_run_id"] == top["run_id"]
    assert {"mine", "secom"} <= set(recall["tags"]) & set(reward["tags"])
    counts = {"numbers": [1, 2, 3], "cited": [1], "unknown": [9], "none_used": False, "reward": pytest.approx(1 / 3)}
    metadata = {key: value for key, value in reward["metadata"].items() if key.startswith("secom_")}
    assert metadata == {f"secom_{key}": value for key, value in counts.items()}
    assert reward["inputs"] == counts
    assert runs.ended[reward["run_id"]] == {"lesson": "recorded"}
    assert [document.metadata["number"] for document in runs.ended[recall["run_id"]]] == [1, 2, 3]
    assert runs.events == [("secom_citations", {**counts, "lesson": "recorded"}, top["run_id"])]
    kept = json.dumps([each["metadata"] for each in runs.started.values()], default=str)
    assert not [word for word in ("Ghent", "monday", "ann-") if word in kept]


async def test_event_streams_hold_the_text_without_markers_and_the_citations(bank: MemoryBank) -> None:
    with ScriptedServer("You live in Ghent [1].") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, markers="strip")
        events = [event async for event in chain.astream_events(QUESTION, as_ann, version="v2")]
    own = [event for event in events if event["name"] == "citation_feedback"]
    texts = [event["data"]["chunk"].text for event in own if event["event"] == "on_chain_stream"]
    assert "".join(texts) == "You live in Ghent."
    [custom] = [event for event in events if event["event"] == "on_custom_event"]
    assert (custom["name"], custom["data"]["cited"]) == ("secom_citations", [1])
    # What the model streams by itself keeps its markers, so that a user's stream is the runnable's own.
    raw = [event["data"]["chunk"].text for event in events if event["event"] == "on_chat_model_stream"]
    assert "".join(raw) == "You live in Ghent [1]."
    assert cited_in(bank) == [(1,)]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_a_stream_goes_through_the_steps_around_it(bank: MemoryBank, how: str) -> None:
    with ScriptedServer("You live in Ghent [1]. Yes.") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, markers="strip")
        for around in ({"question": RunnablePassthrough()} | chain | StrOutputParser(), chain | StrOutputParser()):
            if how == "stream":
                got = list(around.stream(QUESTION, as_ann))
            else:
                got = [piece async for piece in around.astream(QUESTION, as_ann)]
            assert [piece for piece in got if piece] == ["You", " live", " in", " Ghent", ".", " Yes."]
    assert cited_in(bank) == [(1,), (1,)]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("answer", ["Ghent [1].", AIMessage("Ghent [1].", id="m")], ids=["text", "message"])
async def test_a_chain_that_does_not_stream(bank: MemoryBank, how: str, answer: Any) -> None:
    chain = with_citation_feedback(RunnableLambda(lambda _: answer), bank, markers="strip")
    whole = await ask(how, chain, QUESTION)
    [piece] = chain.stream(QUESTION, as_ann) if how == "invoke" else [p async for p in chain.astream(QUESTION, as_ann)]
    assert type(piece) is type(whole) is type(answer)
    assert text_of(piece) == text_of(whole) == "Ghent."
    assert cited_in(bank) == [(1,), (1,)]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_in_a_graph_that_streams_messages(bank: MemoryBank, how: str) -> None:
    graphs = pytest.importorskip("langgraph.graph", reason="needs langgraph")
    with ScriptedServer("You live in Ghent [1]. Yes.") as server:
        # The graph streams the model's own tokens unless the model keeps quiet.
        model = HttpChatModel(base_url=server.base_url).with_config(tags=["nostream"])
        chain = with_citation_feedback(PROMPT | model, bank, markers="strip")

        def node(state: Any) -> Any:
            return {"messages": [chain.invoke({"question": state["messages"]})]}

        async def anode(state: Any) -> Any:
            return {"messages": [await chain.ainvoke({"question": state["messages"]})]}

        graph = graphs.StateGraph(graphs.MessagesState)
        graph.add_node("answer", RunnableLambda(node, anode))
        graph.add_edge(graphs.START, "answer")
        app, given = graph.compile(), {"messages": [("user", QUESTION)]}
        if how == "stream":
            got = [message for message, _ in app.stream(given, as_ann, stream_mode="messages")]
        else:
            got = [message async for message, _ in app.astream(given, as_ann, stream_mode="messages")]
    assert [message.text for message in got] == ["You live in Ghent. Yes."]
    assert cited_in(bank) == [(1,)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
async def test_a_history_around_it(bank: MemoryBank, how: str) -> None:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "{context}"), MessagesPlaceholder("history"), ("human", "{question}")]
    )
    history = InMemoryChatMessageHistory()
    with ScriptedServer(["Ghent [1].", "Swims [1]."]) as server:
        chain = with_citation_feedback(prompt | HttpChatModel(base_url=server.base_url), bank, markers="strip")
        around: Any = RunnableWithMessageHistory(
            chain, lambda session_id: history, input_messages_key="question", history_messages_key="history"
        )
        config = {"configurable": {"user_id": "ann", "session_id": "s"}}
        for question in ("Where do I live in Ghent?", "And what does Bello do in the river?"):
            await ask(how, around, {"question": question}, config)
        assert "Ghent." in [text for _, text in server.requests[1].messages]
    assert [message.text for message in history.messages][1::2] == ["Ghent.", "Swims."]
    assert cited_in(bank) == [(1,), (1,)]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "astream"])
async def test_an_answer_with_citations_waits_seconds_at_most_for_a_locked_file(tmp_path: Path, how: str) -> None:
    path = tmp_path / "m.db"
    with filled(str(path)) as bank, closing(sqlite3.connect(path, isolation_level=None)) as other:
        bank.remember(ANN, [("user", "Bello sleeps in Ghent too.")], session="sunday", later=True)
        prompted = PROMPT | GenericFakeChatModel(messages=iter([AIMessage("In Ghent [1].")] * 2))
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        for retriever in (None, SecomRetriever(bank=bank, scope=ANN)):
            chain = with_citation_feedback(prompted, bank, retriever=retriever)
            with pytest.warns(DegradedWarning, match="not taken in"):
                assert (await ask(how, chain, QUESTION)).text == "In Ghent [1]."
        assert time.monotonic() - began < 20
        other.execute("COMMIT")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("how", ["invoke", "astream"])
@pytest.mark.parametrize("by_key", [True, False])
async def test_what_the_history_around_it_shows_is_not_recalled_and_was_said_before(
    bank: MemoryBank, how: str, by_key: bool
) -> None:
    parts = [MessagesPlaceholder("history"), ("human", "{question}")] if by_key else [MessagesPlaceholder("question")]
    prompt, histories = ChatPromptTemplate.from_messages([("system", "{context}"), *parts]), SessionHistories(bank)
    first, then = "I have a new dog, called Bello.", "And what does he do?"
    with ScriptedServer(["How nice [1].", "Swims [1]."]) as server:
        around: Any = RunnableWithMessageHistory(
            with_citation_feedback(prompt | HttpChatModel(base_url=server.base_url), bank, markers="strip", k=1),
            histories,
            input_messages_key="question",
            history_messages_key="history" if by_key else None,
            history_factory_config=histories.specs,
        )
        config = {"configurable": {"user_id": "ann", "session_id": "today"}}
        for question in (first, then):
            await ask(how, around, {"question": question if by_key else [HumanMessage(question)]}, config)
        block = server.requests[1].messages[0][1]
        assert (first, "How nice.", then) == tuple(text for _, text in server.requests[1].messages[1:])
    assert "new dog" not in block
    assert "How nice" not in block
    assert "Bello" in block, "he is the dog that the history is about"
    assert [message.text for message in histories("ann", "today").messages] == [first, "How nice.", then, "Swims."]


@pytest.mark.slow
def test_a_question_may_be_messages(bank: MemoryBank) -> None:
    with ScriptedServer("Ghent [1].") as server:
        prompt = ChatPromptTemplate.from_messages([("system", "{context}"), MessagesPlaceholder("question")])
        chain = with_citation_feedback(prompt | HttpChatModel(base_url=server.base_url), bank)
        messages = [HumanMessage("Hello."), AIMessage("Hello!"), HumanMessage([{"type": "text", "text": QUESTION}])]
        chain.invoke({"question": messages}, as_ann)
        chain.invoke({"question": [messages[2]]}, as_ann)
        chain.invoke({"question": [("human", "Hello."), ("ai", "Hello!"), ("human", QUESTION)]}, as_ann)
        chain.invoke({"question": [{"role": "user", "content": QUESTION}]}, as_ann)
        with pytest.raises(InvalidInput, match="human"):
            chain.invoke({"question": [messages[1]]}, as_ann)
        with pytest.raises(InvalidInput, match="human"):
            chain.invoke({"question": [{"content": "?"}]}, as_ann)
    assert [entry.query for entry in bank.citations.log(ANN)] == [QUESTION] * 4


@pytest.mark.slow
@pytest.mark.parametrize("how", ["ainvoke", "astream"])
async def test_the_event_loop_is_not_blocked(how: str, tmp_path: Any) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    with filled(str(tmp_path / "bank.db")) as bank, ScriptedServer("You live in Ghent [1].") as server:
        model = HttpChatModel(base_url=server.base_url)
        chain = with_citation_feedback(PROMPT | model, bank)
        other = with_citation_feedback(PROMPT | model, bank, retriever=compressed(bank))
        await ask(how, PROMPT | model, {"question": QUESTION, "context": ""})  # what is loaded once
        with MemoryBank.open() as control, blockbuster.blockbuster_ctx():
            with pytest.raises(blockbuster.BlockingError):
                control.scopes()
            await ask(how, chain, QUESTION)
            await ask(how, other, QUESTION)
        assert cited_in(bank) == [(1,), (1,)]


# -- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_way
async def test_an_answer_is_given_even_where_it_cannot_be_learned_from(tmp_path: Any, how: str) -> None:
    bank = filled(str(tmp_path / "bank.db"))

    def spoil(request: ScriptedRequest) -> str:
        bank.close()
        (tmp_path / "bank.db").write_bytes(b"no bank any more" * 1000)
        return "You live in Ghent [1]."

    runs = Runs()
    with ScriptedServer(spoil) as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank, markers="strip")
        with pytest.warns(DegradedWarning, match="were not taken in"):
            answer = await ask(how, chain, QUESTION, {**as_ann, "callbacks": [runs]})
    assert answer.text == "You live in Ghent."
    assert [data["lesson"] for _, data, _ in runs.events] == ["failed"]


@pytest.mark.slow
@each_way
async def test_topics_and_timelines_can_be_cited(how: str) -> None:
    topics, timelines = TopicOptions(recall_without_model=True), TimelineOptions(recall_without_model=True)
    layers = ("topics", "timelines")
    with MemoryBank.open(citations=True, topics=topics, timelines=timelines) as bank:
        for session, day, text in FACTS:
            at = datetime(2024, 5, day, tzinfo=timezone.utc)
            bank.remember(ANN, [Message(text, id=f"ann-{session}", at=at)], session=session, close=True)
        recall = bank.recall(ANN, QUESTION, layers=layers)
        drawn = recall.items("timelines")
        assert drawn
        every = "".join(f"[{number}]" for number in recall.numbers)
        with ScriptedServer(f"So it is {every}.") as server:
            chain = PROMPT | HttpChatModel(base_url=server.base_url)
            chain = with_citation_feedback(chain, bank, layers=layers)
            answer = await ask(how, chain, QUESTION)
        rows = answer.response_metadata["secom_citations"]
        assert [row["number"] for row in rows] == list(recall.numbers)
        turns = [each.turn_ids for each in (*recall.hits, *drawn)]
        assert [tuple(row["turn_ids"]) for row in rows] == turns
        assert ["memory_id" in row for row in rows] == [True] * len(recall.hits) + [False] * len(drawn)
        assert cited_in(bank) == [tuple(hit.number for hit in recall.hits)]


def test_what_cannot_work_is_said(bank: MemoryBank) -> None:
    with MemoryBank.open() as other, pytest.raises(InvalidInput, match="citations=True"):
        with_citation_feedback(PROMPT, other)
    with pytest.raises(InvalidInput, match="'k': 3"):
        with_citation_feedback(PROMPT, bank, retriever=SecomRetriever(bank=bank), k=3)
    with pytest.raises(InvalidScope):
        with_citation_feedback(PROMPT, bank, scope="ann")
    chain = with_citation_feedback(RunnableLambda(lambda _: {"answer": "Ghent [1]."}), bank)
    with pytest.raises(InvalidInput, match="'answer'"):
        chain.invoke(QUESTION, as_ann)
    with pytest.raises(InvalidInput, match="'input'"):
        chain.invoke({"input": QUESTION}, as_ann)
    with pytest.raises(InvalidInput, match="the memories go into 'context'"):
        chain.invoke({"question": QUESTION, "context": "mine"}, as_ann)
    assert cited_in(bank) == []


@pytest.mark.slow
def test_the_names_of_the_inputs_and_the_instruction_are_yours(bank: MemoryBank) -> None:
    with ScriptedServer("Ghent [1].") as server:
        prompt = ChatPromptTemplate.from_template("{tone}\n{memories}\nEND\n{q}")
        chain = with_citation_feedback(
            prompt | HttpChatModel(base_url=server.base_url),
            bank,
            question_key="q",
            context_key="memories",
            instruction="",
            k=1,
        )
        chain.invoke({"q": QUESTION, "tone": "Be brief."}, as_ann)
        assert server.requests[0].text.startswith("Be brief.\n<memories>\n")
        assert f"</memories>\nEND\n{QUESTION}" in server.requests[0].text
    assert [entry.numbers for entry in bank.citations.log(ANN)] == [(1,)]
