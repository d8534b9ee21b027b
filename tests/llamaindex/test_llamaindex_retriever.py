"""A scope's memories as a retriever."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_models import HttpLLM
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, QueryBundle

from llamaindex_secom import LLMLinguaDenoiser, SecomRetriever, SegmentTextSplitter, memory_tools
from llamaindex_secom.convert import excerpts_of, turn_ids_of
from llamaindex_secom.denoiser import ORIGINAL_TEXT
from llamaindex_secom.node_origins import locate
from secom_core import InvalidInput, InvalidScope, MemoryBank, Message
from secom_core.denoisers.informativeness import Informativeness
from secom_core.testing import ScriptedServer

ANN, BOB = ("acme", "ann"), ("acme", "bob")


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        monday = [
            ("user", "I moved to Ghent last spring and I love the canals."),
            ("assistant", "The canals of Ghent are lovely."),
        ]
        friday = [
            ("user", "My violin teacher is called Marta."),
            ("assistant", "How nice that Marta teaches you the violin."),
        ]
        sunday = [("user", "It rained all day."), ("assistant", "Then the soup was welcome.")]
        for name, talk in (("monday", monday), ("friday", friday), ("sunday", sunday)):
            bank.remember(ANN, [{"role": r, "content": c} for r, c in talk], session=name, close=True)
        bank.remember(BOB, [{"role": "user", "content": "I keep bees in Ghent."}], session="s")
        yield bank


def test_smoke(bank: MemoryBank) -> None:
    retriever = SecomRetriever(bank, ANN, verbose=True)
    assert isinstance(retriever, BaseRetriever)
    assert {"BaseRetriever", "PromptMixin"} <= {each.__name__ for each in type(retriever).__mro__}
    assert retriever.scope == ANN
    assert retriever.get_prompts() == {}


def test_fusion_takes_what_two_queries_find_for_the_same(bank: MemoryBank) -> None:
    with ScriptedServer("the violin teacher\nMarta who teaches the violin") as server:
        fusion = QueryFusionRetriever(
            [SecomRetriever(bank, ANN, k=1)],
            llm=HttpLLM(base_url=server.base_url),
            mode="reciprocal_rerank",  # type: ignore[arg-type]
            num_queries=3,
            use_async=False,
        )
        found = fusion.retrieve("Who teaches me the violin?")
    assert [node.metadata["session"] for node in found] == ["friday"]
    assert found[0].score == pytest.approx(3 / 60)


async def test_it_finds_the_right_turns_sync_and_async(bank: MemoryBank) -> None:
    retriever = SecomRetriever(bank, ANN, k=1)
    found = retriever.retrieve("Who teaches me the violin?")
    assert [node.metadata["session"] for node in found] == ["friday"]
    assert found[0].node.get_content().startswith("user: My violin teacher is called Marta.")
    turn = bank.turns(ANN, "friday")[0]
    assert turn_ids_of(found[0]) == (turn.id,)
    assert await retriever.aretrieve("Who teaches me the violin?") == found
    assert retriever._retrieve(query_bundle=QueryBundle("Who teaches me the violin?")) == found
    assert await retriever._aretrieve(query_bundle=QueryBundle("Who teaches me the violin?")) == found


def test_order_and_budget(bank: MemoryBank) -> None:
    best = SecomRetriever(bank, ANN, k=2).retrieve("violin teacher Marta, and Ghent")
    in_time = SecomRetriever(bank, ANN, k=2, order="time").retrieve("violin teacher Marta, and Ghent")
    assert [node.score for node in best] == sorted((node.score or 0 for node in best), reverse=True)
    assert [node.metadata["session"] for node in in_time] == ["monday", "friday"]
    assert len(SecomRetriever(bank, ANN, token_budget=60).retrieve("violin teacher Marta, and Ghent")) < 2 <= len(best)
    with pytest.raises(InvalidInput, match="'rank'"):
        SecomRetriever(bank, ANN, order="rank")  # type: ignore[arg-type]


FACTS = (
    "My violin teacher is called Marta and the lessons are on Fridays.",
    "The violin hangs in the hall next to the coats.",
    "I bought new strings for the violin.",
    "My German teacher at school was strict.",
    "My sister Ines lives in Porto with two cats.",
    "It rained all day.",
    "My dog is called Bello.",
    "I called the plumber about the sink.",
    "The bakery is closed on Mondays.",
    "Lessons in cooking are fun.",
    "I moved to Ghent last spring.",
    "On Fridays I cook soup.",
)
CUTOFF = SimilarityPostprocessor(similarity_cutoff=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("Who is my violin teacher?", [FACTS[0]]),
        ("Where does my sister live?", [FACTS[4]]),
        ("What is my dog called?", [FACTS[6]]),
        ("How old is my car?", []),
    ],
)
def test_a_score_is_a_chance_so_that_a_cutoff_keeps_what_answers_and_nothing_else(
    tmp_path: Path, query: str, wanted: list[str]
) -> None:
    with MemoryBank.open(tmp_path / "f.db") as bank:
        for number, text in enumerate(FACTS):
            talk = [("user", text), ("assistant", "I see, thanks for telling me.")]
            bank.remember(ANN, talk, session=f"s{number}", close=True)
        nodes = SecomRetriever(bank, ANN, token_budget=500).retrieve(query)
        kept = CUTOFF.postprocess_nodes(nodes)
        relevant = SecomRetriever(bank, ANN, only_relevant=True).retrieve(query)
    scores = [node.score or 0.0 for node in nodes]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len(nodes) > len(kept)
    assert [node.node.get_content().split("\n")[0] for node in kept] == [f"user: {text}" for text in wanted]
    assert {node.metadata["kind"] for node in nodes} >= {"recent"}
    assert "recent" not in {node.metadata["kind"] for node in relevant}


LONG = " ".join(f"Step {n}: lay the stones of row {n} and check them with the level." for n in range(60))


@pytest.fixture
def long_turn(bank: MemoryBank) -> str:
    middle = LONG.index("Step 30")
    reply = f"{LONG[:middle]}The mortar of the arch is Heron lime. {LONG[middle:]}"
    talk = [("user", "How do I build a garden wall?"), ("assistant", reply)]
    (turn,) = bank.remember(ANN, talk, session="wall", close=True).turn_ids
    return turn


@pytest.mark.slow
def test_a_long_turn_is_shown_in_excerpts_and_the_metadata_say_which(bank: MemoryBank, long_turn: str) -> None:
    found, *_ = SecomRetriever(bank, ANN, token_budget=300).retrieve("Which mortar is for the arch?")
    text = found.node.get_content()
    assert "Heron lime" in text
    assert "[…]" in text
    assert turn_ids_of(found) == (long_turn,)
    excerpts = excerpts_of(found)
    (turn,) = bank.turns(ANN, turn_ids=[long_turn])
    by_id = {message.id: message for message in turn.messages}
    for each in excerpts:
        assert set(each) == {"turn_id", "message_id", "role", "start", "stop"}
        assert each["turn_id"] == long_turn
        assert by_id[each["message_id"]].role == each["role"]
        assert by_id[each["message_id"]].text[each["start"] : each["stop"]].strip() in text
    assert "excerpts" not in found.node.get_content(MetadataMode.LLM)
    assert all(isinstance(value, str) for value in found.metadata.values())


@pytest.mark.slow
def test_what_is_left_of_a_memory_after_forgetting_is_shown_in_the_same_part(tmp_path: Path) -> None:
    talk = [("user", "I want a garden wall."), ("assistant", "Good."), ("user", "With stones?"), ("assistant", LONG)]
    with MemoryBank.open(tmp_path / "s.db", granularity="session") as bank:
        first, second = bank.remember(ANN, talk, session="wall", close=True).turn_ids
        (node,) = SecomRetriever(bank, ANN, token_budget=300).retrieve("How do I build the stones of a garden wall?")
        assert turn_ids_of(node) == (first, second)
        bank.forget(ANN, turn_ids=[first])
        (kept,) = locate(bank, [node])
    assert turn_ids_of(kept.node) == (second,)
    text = kept.node.node.get_content()
    assert "[…]" in text
    assert "I want a garden wall." not in text
    assert node.node.get_content().endswith(text)
    assert excerpts_of(kept.node) == [each for each in excerpts_of(node) if each["turn_id"] == second] != []


@pytest.mark.slow
@pytest.mark.parametrize("scope", [None, (), ("acme", ""), "acme"])
def test_without_a_scope_it_fails_closed(bank: MemoryBank, scope: object) -> None:
    with pytest.raises(InvalidScope):
        SecomRetriever(bank, scope)  # type: ignore[arg-type]


def test_scopes_never_meet(bank: MemoryBank) -> None:
    found = SecomRetriever(bank, BOB, k=10).retrieve("Ghent canals violin Marta")
    assert [node.node.get_content() for node in found] == ["user: I keep bees in Ghent."]


async def test_it_does_not_block_the_event_loop(bank: MemoryBank) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    retriever = SecomRetriever(bank, ANN, k=1)
    with blockbuster.blockbuster_ctx():
        assert await retriever.aretrieve("Ghent")
        with pytest.raises(blockbuster.BlockingError):
            time.sleep(0.001)  # the probe works


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
def test_a_query_engine_with_the_denoiser_over_http(bank: MemoryBank, streaming: bool) -> None:
    with ScriptedServer({"violin": "Marta teaches you."}) as server:
        engine = RetrieverQueryEngine.from_args(
            SecomRetriever(bank, ANN, k=1),
            llm=HttpLLM(base_url=server.base_url),
            node_postprocessors=[LLMLinguaDenoiser(Informativeness())],
            streaming=streaming,
        )
        response = engine.query("Who teaches me the violin?")
        answer = "".join(response.response_gen) if streaming else str(response)
        prompt = server.requests[0].text
    assert answer.strip() == "Marta teaches you."
    assert "Marta" in prompt
    assert "secom" not in prompt, "bookkeeping does not reach the model"
    node = response.source_nodes[0]
    assert node.node_id == SecomRetriever(bank, ANN, k=1).retrieve("Who teaches me the violin?")[0].node_id
    assert node.metadata[ORIGINAL_TEXT].startswith("user: My violin teacher is called Marta.")
    assert node.score is not None


@pytest.mark.slow
async def test_an_async_query_engine_over_http(bank: MemoryBank) -> None:
    with ScriptedServer("Marta.") as server:
        engine = RetrieverQueryEngine.from_args(
            SecomRetriever(bank, ANN, k=1),
            llm=HttpLLM(base_url=server.base_url),
            node_postprocessors=[LLMLinguaDenoiser(Informativeness())],
        )
        assert str(await engine.aquery("Who teaches me the violin?")) == "Marta."


def test_citations_lead_back_to_memories(bank: MemoryBank) -> None:
    """CitationQueryEngine gives every chunk a new node id; the metadata leads back."""
    with ScriptedServer("Marta [1].") as server:
        engine = CitationQueryEngine(
            SecomRetriever(bank, ANN, k=1),
            llm=HttpLLM(base_url=server.base_url),
            text_splitter=SegmentTextSplitter(),
        )
        response = engine.query("Who teaches me the violin?")
        assert "Source 1:" in server.requests[0].text
    assert [node.metadata["session"] for node in response.source_nodes] == ["friday"]
    assert response.source_nodes[0].metadata["secom_memory_id"].startswith("friday#")


def test_pitfall_13_nothing_found_can_still_ask_the_model(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "empty.db") as bank, ScriptedServer("I do not know.") as server:
        llm = HttpLLM(base_url=server.base_url)
        synthesizer = get_response_synthesizer(llm=llm)
        silent = RetrieverQueryEngine(SecomRetriever(bank, ANN), response_synthesizer=synthesizer)
        assert str(silent.query("Who?")) == "Empty Response"
        assert server.requests == ()
        neutral = SecomRetriever(bank, ANN, empty="Nothing is remembered about this.")
        assert [(n.score, n.node_id) for n in neutral.retrieve("Who?")] == [(0.0, "secom-nothing-found")]
        spoken = RetrieverQueryEngine(neutral, response_synthesizer=synthesizer)
        assert str(spoken.query("Who?")) == "I do not know."
        assert "Nothing is remembered about this." in server.requests[0].text


def test_a_node_says_what_holds_no_more() -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message("Our rent is 1,450 euros.", id="rent")], session="one", close=True)
        bank.remember(ANN, [Message("Our car is a red Golf.", id="car")], session="two", close=True)
        newer = bank.correct(ANN, "rent", "Our rent is 1,700 euros.", at=datetime(2025, 6, 1, tzinfo=timezone.utc))
        bank.corrections.retract(ANN, "car", at=datetime(2025, 6, 2, tzinfo=timezone.utc))
        nodes = SecomRetriever(bank, ANN, k=5).retrieve("What are our rent and our car?")
        found = {json.loads(node.metadata["turn_ids"])[0]: node for node in nodes}
        assert found["rent"].text == "user: Our rent is 1,450 euros.\n→ (replaced on 2025-06-01)"
        assert found["car"].text == "user: Our car is a red Golf.\n→ (retracted on 2025-06-02)"
        [known] = json.loads(found["rent"].metadata["replaced"])
        assert (known["kind"], known["newer"]) == ("corrected", newer)
        assert "newer" not in found["rent"].node.get_content(MetadataMode.LLM)
        assert found[newer].text == "user: Our rent is 1,700 euros."
        assert "replaced" not in found[newer].metadata


def test_the_model_sees_whose_memory_a_node_is_where_several_were_asked(bank: MemoryBank) -> None:
    nodes = SecomRetriever(bank, ANN, also=[BOB], k=10).retrieve("Who keeps bees in Ghent?")
    shown = [node.node.get_content(MetadataMode.LLM) for node in nodes]
    assert [text for text in shown if "bees" in text and 'scope: ["acme", "bob"]' in text]
    assert [text for text in shown if "Marta" in text and 'scope: ["acme", "ann"]' in text]
    (own, *_) = SecomRetriever(bank, BOB).retrieve("Who keeps bees in Ghent?")
    assert "scope" not in own.node.get_content(MetadataMode.LLM)


def test_what_is_left_after_forgetting_has_its_own_day_and_its_own_marks() -> None:
    days = [datetime(2025, 3, day, 9, tzinfo=timezone.utc) for day in (1, 9)]
    with MemoryBank.open(granularity="session") as bank:
        bank.remember(ANN, [Message("My rent is 900 euros.", "user", "Ann", "rent", days[0])], session="s")
        bank.remember(ANN, [Message("The rent is due today.", "user", "Flo", "due", days[1])], session="s", close=True)
        for turn, day in (("rent", 10), ("due", 11)):
            bank.corrections.retract(ANN, turn, at=datetime(2025, 3, day, tzinfo=timezone.utc))
        (node,) = SecomRetriever(bank, ANN).retrieve("What is the rent?")
        assert node.text == (
            "Ann: My rent is 900 euros.\n→ (retracted on 2025-03-10)\n"
            "2025-03-09 Sun\nFlo: The rent is due today.\n→ (retracted on 2025-03-11)"
        )
        bank.forget(ANN, turn_ids=["rent"])
        (kept,) = locate(bank, [node])
    assert kept.node.text == "Flo: The rent is due today.\n→ (retracted on 2025-03-11)"
    assert kept.node.metadata["begin"] == kept.node.metadata["end"] == days[1].isoformat()
    assert json.loads(kept.node.metadata["speakers"]) == ["Flo"]
    assert [each["turn_id"] for each in json.loads(kept.node.metadata["replaced"])] == ["due"]


def test_the_question_that_is_being_asked_is_no_find() -> None:
    question = "Where does my dog Bello swim?"
    with MemoryBank.open() as bank:
        bank.remember(ANN, [("user", "My dog Bello swims in the Leie.")], session="monday", close=True)
        bank.remember(ANN, [("user", question)], session="friday", later=True)
        assert [node.text for node in SecomRetriever(bank, ANN, k=3).retrieve(question)] == [
            "user: My dog Bello swims in the Leie."
        ]
        [search] = memory_tools(bank, scope=ANN, actions=["search"])
        assert question not in str(search.call(query=question))
