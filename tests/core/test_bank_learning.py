"""The bank learns from what answers cite: once an answer, a scope at a time, and nothing outlives what it names."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedders import HashingEmbedder
from hypothesis import given
from hypothesis import strategies as st

from secom_core.bank import MemoryBank
from secom_core.citations import CitationOptions, Impression, PolicySettings, RerankerOptions, read_citations
from secom_core.citations import learner as learning
from secom_core.context.block import render
from secom_core.errors import InvalidInput, InvalidScope
from secom_core.memory import Hit, Memory, Recall
from secom_core.ranking import LEXICAL

ANN = ("acme", "ann")
BOB = ("acme", "bob")
pytestmark = pytest.mark.usefixtures("each_store")
TOWNS = ("Porto", "Lyon", "Graz", "Turin", "Basel", "Ghent")
EAGER = CitationOptions(PolicySettings(prior=0.5, full_trust=0.55))
"""Learns fast enough to be seen in a few answers."""


def fill(bank: MemoryBank, scope: tuple[str, ...] = ANN, sessions: int = 24) -> None:
    for number in range(sessions):
        said = f"My friend {number} moved to {TOWNS[number % len(TOWNS)]} and likes it {'very ' * (number % 5)}much."
        bank.remember(scope, [{"role": "user", "content": said}], session=f"s{number}", close=True)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "memory.db", citations=EAGER) as opened:
        fill(opened)
        yield opened


def asked(
    bank: MemoryBank, query: str = "Who moved to Graz?", scope: tuple[str, ...] = ANN
) -> tuple[Recall, Impression]:
    recall = bank.recall(scope, query, token_budget=400)
    assert recall.impression is not None
    return recall, recall.impression


def teach(bank: MemoryBank, answers: int, scope: tuple[str, ...] = ANN, *, longest: bool = True) -> list[str]:
    """Answers that cite the longest of the memories that name the town, or the shortest; what came of each."""
    kinds = []
    for number in range(answers):
        recall, shown = asked(bank, f"Who moved to {TOWNS[number % len(TOWNS)]}?", scope)
        order = sorted(recall.ranked[:4], key=lambda hit: len(hit.text))
        kinds.append(bank.citations.reward(scope, recall.query, shown, [order[-1 if longest else 0].number]).kind)
    return kinds


# -- what is shown ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_bank_that_does_not_learn_says_so_and_notes_nothing() -> None:
    with MemoryBank.open() as bank:
        fill(bank)
        assert bank.recall(ANN, "Who moved to Graz?").impression is None
        assert "citations" not in bank.layers
        for ask in (
            lambda: bank.citations.weights_of(ANN),
            lambda: bank.citations.freeze(ANN),
            lambda: bank.citations.reset(ANN),
            lambda: bank.citations.log(ANN),
            lambda: bank.recall(ANN, "Who moved to Graz?", layers=["citations"]),
        ):
            with pytest.raises(InvalidInput, match="citations=True"):
                ask()


@pytest.mark.slow
def test_before_anything_is_learned_the_ranking_is_that_of_a_bank_that_does_not_learn(bank: MemoryBank) -> None:
    with MemoryBank.open() as other:
        fill(other)
        for query in ("Who moved to Graz?", "friend 7", "very much", "zzz"):
            expected = other.recall(ANN, query, token_budget=300)
            assert bank.recall(ANN, query, token_budget=300).text == expected.text


@pytest.mark.slow
def test_the_impression_holds_what_the_block_shows(bank: MemoryBank) -> None:
    recall, shown = asked(bank)
    assert shown.numbers == tuple(hit.number for hit in recall.hits) == recall.numbers
    assert shown.memory_ids == tuple(hit.memory.id for hit in recall.hits)
    assert shown.turn_ids == tuple(hit.turn_ids for hit in recall.hits)
    assert all(set(turn) == {*LEXICAL, "recency"} for memory in shown.signals for turn in memory)
    assert Impression.from_json(json.loads(json.dumps(shown.as_json()))) == shown


@pytest.mark.slow
def test_what_a_framework_reordered_is_noted_as_it_shows_it(bank: MemoryBank) -> None:
    recall, shown = asked(bank)
    turned = [replace(hit, number=number) for number, hit in enumerate(reversed(recall.hits), start=1)]
    again = bank.citations.impression(ANN, recall.query, turned[:4])
    assert again.numbers == (1, 2, 3, 4)
    assert again.memory_ids == tuple(reversed(shown.memory_ids))[:4]
    assert again.scores == tuple(reversed(shown.scores))[:4]
    assert again.id != shown.id
    assert bank.citations.log(ANN) == []


# -- once an answer ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_answer_counts_once_however_often_it_is_taken_in(bank: MemoryBank) -> None:
    recall, shown = asked(bank)
    answer = "In Graz there is one [2], and another [2][3]. [99] `[4]`"
    citations = read_citations(answer, recall.numbers)
    assert bank.citations.reward(ANN, recall.query, shown, citations).kind == "taught"
    assert bank.citations.reward(ANN, recall.query, shown, citations).kind == "known"
    assert bank.citations.weights_of(ANN).answers == 1
    (entry,) = bank.citations.log(ANN)
    assert (entry.query, entry.cited, entry.numbers) == ("Who moved to Graz?", (2, 3), shown.numbers)
    assert entry.reward == 2 / len(shown.numbers)


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["Nobody knows.", "There is none [77]."])
def test_an_answer_without_a_tell_is_not_even_logged(bank: MemoryBank, answer: str) -> None:
    recall, shown = asked(bank)
    assert bank.citations.reward(ANN, recall.query, shown, read_citations(answer, recall.numbers)).kind == "nothing"
    assert bank.citations.log(ANN) == []


@pytest.mark.slow
def test_what_cites_only_a_timeline_says_nothing_about_the_memories(bank: MemoryBank) -> None:
    recall, shown = asked(bank)
    numbers = (*recall.numbers, 77)  # a timeline's
    assert (
        bank.citations.reward(ANN, recall.query, shown, read_citations("So it came about [77].", numbers)).kind
        == "nothing"
    )
    assert bank.citations.reward(ANN, recall.query, shown, [77]).kind == "nothing"
    assert bank.citations.log(ANN) == []


@pytest.mark.slow
def test_that_nothing_helped_is_logged(bank: MemoryBank) -> None:
    recall, shown = asked(bank)
    bank.citations.reward(ANN, recall.query, shown, read_citations("I do not know. [NO_CITE]", recall.numbers))
    assert [entry.cited for entry in bank.citations.log(ANN)] == [()]
    assert bank.citations.weights_of(ANN).answers == 0
    useful = [
        part.value
        for _, parts in bank.citations.explain(ANN, recall.query)
        for part in parts
        if "useful" in part.signal
    ]
    assert any(value < 0 for value in useful)


@pytest.mark.slow
def test_threads_and_banks_lose_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryBank.open(path, citations=True) as one, MemoryBank.open(path, citations=True) as two:
        fill(one)
        threads = [threading.Thread(target=teach, args=(bank, 10)) for bank in (one, two, one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.citations.weights_of(ANN) == two.citations.weights_of(ANN)
        assert one.citations.weights_of(ANN).answers == 40 == len(one.citations.log(ANN))


@pytest.mark.slow
def test_weights_learned_again_take_the_place_of_no_newer_ones(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "memory.db"
    with MemoryBank.open(path, citations=True) as one, MemoryBank.open(path, citations=True) as two:
        fill(one)
        teach(two, 3)
        store = two.citations.context.store
        # The log is whole, and the weights are to be learned again.
        store.drop_part_state(store.scope(ANN).id, one.citations.ranker._main)
        read, late = learning.rows, [two]

        def rows_while_another_answers(*args: Any, **named: Any) -> Any:
            found = read(*args, **named)
            if late:
                teach(late.pop(), 2)
            return found

        monkeypatch.setattr(learning, "rows", rows_while_another_answers)
        one.citations.weights_of(ANN)
        assert (
            one.citations.weights_of(ANN).answers
            == two.citations.weights_of(ANN).answers
            == 5
            == len(one.citations.log(ANN))
        )


@pytest.mark.slow
def test_another_bank_sees_what_was_learned_at_its_next_recall(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryBank.open(path, citations=EAGER) as one, MemoryBank.open(path, citations=EAGER) as two:
        fill(one)
        before = asked(two)[0]
        teach(one, 60)
        weights = one.citations.weights_of(ANN).weights
        assert weights["length"] > LEXICAL["length"]
        assert two.citations.weights_of(ANN).weights == weights
        assert [hit.score for hit in asked(two)[0].ranked] == [hit.score for hit in asked(one)[0].ranked]
        assert [hit.score for hit in asked(two)[0].ranked] != [hit.score for hit in before.ranked]


@pytest.mark.slow
def test_a_scope_is_a_wall(bank: MemoryBank) -> None:
    fill(bank, BOB)
    before = bank.citations.weights_of(BOB)
    teach(bank, 20)
    assert bank.citations.weights_of(BOB) == before
    assert bank.citations.log(BOB) == []
    recall, shown = asked(bank)
    assert bank.citations.reward(BOB, recall.query, shown, [1]).kind == "known"  # Ann's turns are not Bob's
    assert bank.citations.log(BOB) == []
    with pytest.raises(InvalidScope):
        bank.citations.reward((), recall.query, shown, [1])


# -- a user's hand on it ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_frozen_weights_stay_and_answers_are_logged_all_the_same(bank: MemoryBank) -> None:
    teach(bank, 8)
    bank.citations.freeze(ANN)
    before = bank.citations.weights_of(ANN)
    assert set(teach(bank, 3)) == {"nothing"}
    assert bank.citations.weights_of(ANN) == before
    assert before.frozen
    assert len(bank.citations.log(ANN)) == 11
    bank.citations.freeze(ANN, False)
    assert teach(bank, 1) == ["taught"]


@pytest.mark.slow
def test_a_reset_brings_the_first_weights_back_for_good(bank: MemoryBank) -> None:
    teach(bank, 30)
    assert bank.citations.weights_of(ANN).weights != bank.citations.weights_of(ANN).base
    bank.citations.reset(ANN)
    assert bank.citations.weights_of(ANN).weights == bank.citations.weights_of(ANN).base
    assert bank.citations.log(ANN) == []
    bank.forget(ANN, session="s1")
    assert bank.citations.weights_of(ANN).answers == 0


@pytest.mark.slow
def test_explanations_add_up_to_the_scores(bank: MemoryBank) -> None:
    teach(bank, 12)
    explained = bank.citations.explain(ANN, "Who moved to Graz?", k=3)
    assert len(explained) == 3
    for hit, rows in explained:
        assert sum(row.part for row in rows) == pytest.approx(hit.score, abs=1e-5)
        assert {row.signal: row.base for row in rows if row.base} == LEXICAL


@pytest.mark.slow
def test_new_scopes_begin_with_what_others_agree_to_share(bank: MemoryBank, tmp_path: Path) -> None:
    teach(bank, 40)
    prior = bank.citations.shared_prior([ANN])
    with MemoryBank.open(tmp_path / "other.db", citations=replace(EAGER, prior=prior)) as other:
        fill(other, BOB)
        weights = other.citations.weights_of(BOB).weights
        assert weights["length"] > LEXICAL["length"]


# -- usefulness -------------------------------------------------------------------------------------------------------


def usefulness_of(bank: MemoryBank, turn_id: str) -> float | None:
    _, shown = asked(bank)
    held = zip(shown.turn_ids, shown.signals, strict=True)
    return next(signals[turns.index(turn_id)].get("usefulness") for turns, signals in held if turn_id in turns)


@pytest.mark.slow
def test_what_was_cited_more_than_usual_is_useful_and_what_never_was_is_not(bank: MemoryBank) -> None:
    recall, _ = asked(bank)
    best, other = recall.hits[0].turn_ids[0], recall.hits[1].turn_ids[0]
    assert usefulness_of(bank, best) is usefulness_of(bank, other) is None
    for _ in range(5):
        _, shown = asked(bank)
        number = next(n for n, turns in zip(shown.numbers, shown.turn_ids, strict=True) if best in turns)
        bank.citations.reward(ANN, "Who moved to Graz?", shown, [number])
    assert (usefulness_of(bank, best) or 0) > 0.5
    assert (usefulness_of(bank, other) or 0) < 0


# -- nothing outlives what it names -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_forgetting_a_turn_takes_the_answers_that_were_shown_it_and_all_questions(bank: MemoryBank) -> None:
    recall, shown = asked(bank)
    bank.citations.reward(ANN, recall.query, shown, [1])
    recall, _ = asked(bank, "friend 17")
    only = bank.citations.impression(ANN, "friend 17", [replace(hit, number=1) for hit in recall.ranked[:1]])
    bank.citations.reward(ANN, "friend 17", only, [])
    two = bank.citations.impression(
        ANN, "friend 17", [replace(h, number=n) for n, h in enumerate(recall.ranked[:2], start=1)]
    )
    bank.citations.reward(ANN, "friend 17", two, [1])
    doomed = next(turns[0] for turns in shown.turn_ids if turns[0] not in {t for ts in two.turn_ids for t in ts})
    assert len(bank.citations.log(ANN)) == 3
    assert {entry.id for entry in bank.citations.log(ANN, turn_id=doomed)} == {shown.id}
    bank.forget(ANN, turn_ids=[doomed])
    assert [(entry.id, entry.query) for entry in bank.citations.log(ANN)] == [(only.id, None), (two.id, None)]
    assert bank.citations.weights_of(ANN).answers == 1  # learned again from what is left


@pytest.mark.slow
def test_what_is_learned_again_is_what_would_have_been_learned(tmp_path: Path) -> None:
    """Without the answers that were shown a forgotten turn, as though they had never come."""
    with MemoryBank.open(tmp_path / "one.db", citations=EAGER) as bank:
        fill(bank)
        teach(bank, 30)
        bank.remember(ANN, [{"role": "user", "content": "My parrot speaks Greek."}], session="parrot", close=True)
        expected = bank.citations.weights_of(ANN)
        recall = bank.recall(ANN, "parrot Greek friend", token_budget=2000)
        assert recall.impression is not None
        [parrot] = [hit.number for hit in recall.hits if "parrot" in hit.text]
        bank.citations.reward(ANN, recall.query, recall.impression, [parrot])
        assert bank.citations.weights_of(ANN) != expected
        bank.forget(ANN, session="parrot")
        assert bank.citations.weights_of(ANN).weights == pytest.approx(expected.weights)
        assert bank.citations.weights_of(ANN).answers == expected.answers


@pytest.mark.slow
@pytest.mark.parametrize("occasion", ["derive", "close", "reward"])
def test_a_recall_after_forgetting_waits_for_no_learning(tmp_path: Path, occasion: str) -> None:
    """It goes by the weights that ship until the bank derives, a session closes, or an answer is taken in."""
    with MemoryBank.open(tmp_path / "one.db", citations=EAGER) as bank:
        fill(bank)
        teach(bank, 30)
        bank.remember(ANN, [{"role": "user", "content": "My parrot speaks Greek."}], session="parrot", close=True)
        bank.forget(ANN, session="parrot")
        recall, shown = asked(bank)
        assert bank.citations.stored_weights(ANN) == []
        assert all(part.weight == part.base for _, parts in bank.citations.explain(ANN, recall.query) for part in parts)
        assert bank.citations.stored_weights(ANN) == []
        if occasion == "derive":
            bank.derive(ANN)
        elif occasion == "close":
            bank.remember(ANN, [{"role": "user", "content": "It rains."}], session="late", close=True)
        else:
            bank.citations.reward(ANN, recall.query, shown, [1])
        learned = bank.citations.stored_weights(ANN)[0]
        assert learned.answers == len(bank.citations.log(ANN)) > 0
        assert learned.weights != learned.base


@pytest.mark.slow
def test_an_answer_that_comes_after_its_turn_was_forgotten_leaves_nothing(bank: MemoryBank) -> None:
    recall, shown = asked(bank)
    bank.forget(ANN, turn_ids=[shown.turn_ids[0][0]])
    assert bank.citations.reward(ANN, recall.query, shown, [2]).kind == "known"
    assert bank.citations.log(ANN) == []


@pytest.mark.slow
def test_a_question_asked_before_a_deletion_does_not_bring_its_words_back(bank: MemoryBank) -> None:
    recall, shown = asked(bank)
    held = {turn for turns in shown.turn_ids for turn in turns}
    other = next(turn for number in range(24) for turn in bank.turns(ANN, f"s{number}") if turn.id not in held)
    bank.forget(ANN, turn_ids=[other.id])
    assert bank.citations.reward(ANN, recall.query, shown, [1]).kind == "taught"
    assert [entry.query for entry in bank.citations.log(ANN)] == [None]


@pytest.mark.slow
@pytest.mark.sqlite_only("it reads the file")
def test_nothing_of_a_forgotten_scope_is_left_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryBank.open(path, citations=True) as bank:
        fill(bank)
        teach(bank, 5)
        bank.citations.freeze(ANN)
        bank.forget(ANN)
    with closing(sqlite3.connect(path)) as file:
        for table in ("citations", "citation_turns", "part_states"):
            assert file.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


@pytest.mark.slow
def test_other_weights_learn_anew_from_the_log(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryBank.open(path, citations=EAGER) as bank:
        fill(bank)
        teach(bank, 20)
    halved = {name: weight / 2 for name, weight in LEXICAL.items()}
    with MemoryBank.open(path, citations=EAGER, weights=halved) as bank:
        learned = bank.citations.weights_of(ANN)
        assert {name: weight for name, weight in learned.base.items() if weight} == halved
        assert learned.answers == 20


@pytest.mark.slow
def test_what_was_learned_moves_with_an_export(bank: MemoryBank, tmp_path: Path) -> None:
    teach(bank, 25)
    lines = list(bank.storage.export(ANN))
    with MemoryBank.open(tmp_path / "other.db", citations=EAGER) as other:
        assert other.storage.import_(lines) == 24
        assert other.citations.log(ANN) == bank.citations.log(ANN)
        assert other.citations.weights_of(ANN).weights == pytest.approx(bank.citations.weights_of(ANN).weights)
        other.storage.import_(lines)
        assert len(other.citations.log(ANN)) == 25
        assert list(other.storage.export(ANN)) == lines


def _shown_with(**harm: object) -> dict[str, object]:
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    shown = Impression("d", (1,), ("m",), (("t",),), (({"length": 1.0},),), (0.5,), 0, at)
    return {"shown": {**shown.as_json(), **harm}}


@pytest.mark.sqlite_only("a line is refused before any store sees it")
@pytest.mark.slow
@pytest.mark.parametrize(
    "harm",
    [
        {"cited": [-1]},
        {"cited": "1"},
        {"shown": {}},
        {"query": 3},
        {"at": "noon"},
        {"lesson": "known"},
        _shown_with(numbers=["1"]),
        _shown_with(numbers=[1, 2]),
        _shown_with(turn_ids=[[7]]),
        _shown_with(memory_ids=[None]),
        _shown_with(scores=["high"]),
        _shown_with(signals=[[{"length": "long"}]]),
        _shown_with(signals=[["length"]]),
        _shown_with(signals=[[{"length": 1e999}]]),
        _shown_with(version="new"),
    ],
)
def test_a_citation_that_export_did_not_write_is_refused_by_its_line(
    bank: MemoryBank, harm: dict[str, object], tmp_path: Path
) -> None:
    teach(bank, 1)
    lines = list(bank.storage.export(ANN))
    lines[-1] = json.dumps({**json.loads(lines[-1]), **harm})
    with (
        MemoryBank.open(tmp_path / "other.db", citations=EAGER) as other,
        pytest.raises(InvalidInput, match=f"line {len(lines)} "),
    ):
        other.storage.import_(lines)


# -- the paper's reranker ---------------------------------------------------------------------------------------------


PAPER = CitationOptions(reranker=RerankerOptions(candidates=8, top=3, explore=False, learning_rate=0.5))


@pytest.mark.slow
def test_the_papers_reranker_chooses_m_of_k_and_learns_by_batches(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryBank.open(path, citations=PAPER, embedder=HashingEmbedder()) as bank:
        fill(bank)
        first, shown = asked(bank)
        assert len(first.hits) == 3
        for _ in range(3):
            bank.citations.reward(ANN, first.query, shown, [1])
            _, shown = asked(bank)
        assert bank.citations.weights_of(ANN).updates == 0
    # The draws that wait for their batch survive a restart.
    with MemoryBank.open(path, citations=PAPER, embedder=HashingEmbedder()) as bank:
        _, shown = asked(bank)
        assert bank.citations.reward(ANN, first.query, shown, [1]).kind == "taught"
        assert bank.citations.weights_of(ANN).updates == 1
        after, _ = asked(bank)
        assert [hit.score for hit in after.ranked] != [hit.score for hit in first.ranked]


@pytest.mark.slow
def test_that_nothing_helped_is_a_negative_reward_for_all_that_was_shown(tmp_path: Path) -> None:
    """RMM, section 6.2: -1 for each memory that is not cited; equation 3 takes it from each."""
    with MemoryBank.open(tmp_path / "memory.db", citations=PAPER, embedder=HashingEmbedder()) as bank:
        fill(bank)
        first, _ = asked(bank)
        for _ in range(4):
            recall, shown = asked(bank)
            none = read_citations("I do not know. NO_CITE", recall.numbers)
            assert bank.citations.reward(ANN, recall.query, shown, none).kind == "taught"
        assert (bank.citations.weights_of(ANN).updates, bank.citations.log(ANN)[0].reward) == (1, 0.0)
        after, _ = asked(bank)
        assert [hit.score for hit in after.ranked] != [hit.score for hit in first.ranked]


@pytest.mark.slow
def test_noise_only_where_asked_for_and_only_while_learning(tmp_path: Path) -> None:
    settled = CitationOptions(reranker=RerankerOptions(candidates=20, top=5))
    with MemoryBank.open(tmp_path / "memory.db", citations=settled, embedder=HashingEmbedder()) as bank:
        fill(bank)
        assert len({tuple(hit.memory.id for hit in asked(bank)[0].ranked) for _ in range(6)}) == 1
    options = CitationOptions(reranker=RerankerOptions(candidates=20, top=5, explore=True))
    with MemoryBank.open(tmp_path / "memory.db", citations=options, embedder=HashingEmbedder()) as bank:
        drawn = {tuple(hit.memory.id for hit in asked(bank)[0].ranked) for _ in range(6)}
        assert len(drawn) > 1
        bank.citations.freeze(ANN)
        assert len({tuple(hit.memory.id for hit in asked(bank)[0].ranked) for _ in range(6)}) == 1


@pytest.mark.slow
def test_the_reranker_learns_from_what_a_framework_shows(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db", citations=PAPER, embedder=HashingEmbedder()) as bank:
        fill(bank)
        recall, _ = asked(bank)
        turned = [replace(hit, number=number) for number, hit in enumerate(reversed(recall.hits), start=1)]
        again = bank.citations.impression(ANN, recall.query, turned)
        assert bank.citations.reward(ANN, recall.query, again, [1]).kind == "taught"


@pytest.mark.slow
def test_what_the_reranker_did_not_look_at_stands_behind_what_it_did(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db", embedder=HashingEmbedder()) as plain:
        fill(plain)
        hits = plain.recall(ANN, "Who moved to Graz?", k=20).ranked
    with MemoryBank.open(tmp_path / "memory.db", citations=PAPER, embedder=HashingEmbedder()) as bank:
        noted = bank.citations.impression(
            ANN, "Who moved to Graz?", [replace(hit, number=n) for n, hit in enumerate(hits, start=1)]
        )
        assert noted.draw is None
        assert len(set(noted.scores[:8])) > 1
        assert min(sorted(noted.scores, reverse=True)[:8]) - 1 >= max(sorted(noted.scores, reverse=True)[8:])
        assert bank.citations.reward(ANN, "Who moved to Graz?", noted, [1]).kind == "nothing"


@pytest.mark.slow
def test_without_vectors_the_reranker_has_nothing_to_learn_from_and_the_ranking_is_the_usual_one(
    tmp_path: Path,
) -> None:
    with MemoryBank.open(tmp_path / "memory.db", citations=PAPER) as bank, MemoryBank.open() as plain:
        fill(bank)
        fill(plain)
        recall, shown = asked(bank)
        assert recall.text == plain.recall(ANN, recall.query, token_budget=400).text
        assert bank.citations.reward(ANN, recall.query, shown, [1]).kind == "nothing"
        assert len(bank.citations.log(ANN)) == 1


# -- memory cannot cite itself ----------------------------------------------------------------------------------------


@given(st.text(alphabet="[]()mM12 ,;NO_CITEnocite\n", max_size=60))
def test_no_quoted_text_holds_a_marker(text: str) -> None:
    from secom_core.conversation import as_turns

    turns = as_turns([f"x {text}"], "s")
    hit = Hit(Memory("s#0-1", "x", turns), turns, 1.0, 7)
    block = render([hit])
    found = read_citations(block.replace("`", ""), numbers=range(100))
    assert set(found.numbers) <= {7}
    assert not found.none_used


@pytest.mark.slow
def test_scores_are_numbers(bank: MemoryBank) -> None:
    teach(bank, 30)
    assert np.isfinite([hit.score for hit in asked(bank)[0].hits]).all()
