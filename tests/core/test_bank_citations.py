"""What answers cite is taken in: once an answer, a scope at a time, and nothing outlives what it names."""

from __future__ import annotations

import gc
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from embedders import HashingEmbedder
from hypothesis import given
from hypothesis import strategies as st

from secom_core.bank import MemoryBank
from secom_core.citations import Impression, Reranker, RerankerOptions, read_citations
from secom_core.context.block import citable, render
from secom_core.errors import DegradedWarning, InvalidInput, InvalidScope
from secom_core.memory import Hit, Memory, Recall
from secom_core.testing import ScriptedEmbedder

ANN = ("acme", "ann")
BOB = ("acme", "bob")
pytestmark = pytest.mark.usefixtures("each_store")
TOWNS = ("Porto", "Lyon", "Graz", "Turin", "Basel", "Ghent")
PAPER = RerankerOptions(candidates=8, top=3, learning_rate=0.5)
"""Learns fast enough to be seen in a few answers."""


def fill(bank: MemoryBank, scope: tuple[str, ...] = ANN, sessions: int = 24) -> None:
    for number in range(sessions):
        said = f"My friend {number} moved to {TOWNS[number % len(TOWNS)]} and likes it {'very ' * (number % 5)}much."
        bank.remember(scope, [{"role": "user", "content": said}], session=f"s{number}", close=True)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "memory.db", citations=True) as opened:
        fill(opened)
        yield opened


def asked(
    bank: MemoryBank, query: str = "Who moved to Graz?", scope: tuple[str, ...] = ANN
) -> tuple[Recall, Impression]:
    recall = bank.recall(scope, query, token_budget=400)
    assert recall.impression is not None
    return recall, recall.impression


def answer(bank: MemoryBank, answers: int, scope: tuple[str, ...] = ANN) -> list[str]:
    """Answers that cite the longest of the memories that name the town; what came of each."""
    kinds = []
    for number in range(answers):
        recall, shown = asked(bank, f"Who moved to {TOWNS[number % len(TOWNS)]}?", scope)
        longest = max(recall.ranked[:4], key=lambda hit: len(hit.text))
        kinds.append(bank.citations.reward(scope, recall.query, shown, [longest.number]).kind)
    return kinds


# -- what is shown ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_bank_without_citations_says_so_and_notes_nothing() -> None:
    with MemoryBank.open() as bank:
        fill(bank)
        assert bank.recall(ANN, "Who moved to Graz?").impression is None
        assert "citations" not in bank.layers
        for ask in (
            lambda: bank.citations.updates(ANN),
            lambda: bank.citations.reset(ANN),
            lambda: bank.citations.log(ANN),
            lambda: bank.recall(ANN, "Who moved to Graz?", layers=["citations"]),
        ):
            with pytest.raises(InvalidInput, match="citations=True"):
                ask()


@pytest.mark.slow
def test_a_bank_that_records_ranks_as_any_other_whatever_was_cited(bank: MemoryBank) -> None:
    with MemoryBank.open() as other:
        fill(other)
        assert set(answer(bank, 40)) == {"recorded"}
        for query in ("Who moved to Graz?", "friend 7", "very much", "zzz"):
            expected = other.recall(ANN, query, token_budget=300)
            assert bank.recall(ANN, query, token_budget=300).text == expected.text


@pytest.mark.slow
def test_the_impression_holds_what_the_block_shows(bank: MemoryBank) -> None:
    recall, shown = asked(bank)
    assert shown.numbers == tuple(hit.number for hit in recall.hits) == recall.numbers
    assert shown.memory_ids == tuple(hit.memory.id for hit in recall.hits)
    assert shown.turn_ids == tuple(hit.turn_ids for hit in recall.hits)
    assert shown.scores == tuple(hit.score for hit in recall.hits)
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
    said = "In Graz there is one [2], and another [2][3]. [99] `[4]`"
    citations = read_citations(said, recall.numbers)
    assert bank.citations.reward(ANN, recall.query, shown, citations).kind == "recorded"
    assert bank.citations.reward(ANN, recall.query, shown, citations).kind == "known"
    (entry,) = bank.citations.log(ANN)
    assert (entry.query, entry.cited, entry.numbers) == ("Who moved to Graz?", (2, 3), shown.numbers)
    assert entry.reward == 2 / len(shown.numbers)


@pytest.mark.slow
@pytest.mark.parametrize("said", ["Nobody knows.", "There is none [77]."])
def test_an_answer_without_a_tell_is_not_even_logged(bank: MemoryBank, said: str) -> None:
    recall, shown = asked(bank)
    assert bank.citations.reward(ANN, recall.query, shown, read_citations(said, recall.numbers)).kind == "nothing"
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


@pytest.mark.slow
def test_threads_and_banks_lose_no_answer(tmp_path: Path) -> None:
    path, embedder = tmp_path / "memory.db", HashingEmbedder()
    with (
        MemoryBank.open(path, citations=PAPER, embedder=embedder) as one,
        MemoryBank.open(path, citations=PAPER, embedder=embedder) as two,
    ):
        fill(one, sessions=8)
        threads = [threading.Thread(target=answer, args=(bank, 5)) for bank in (one, two, one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.citations.updates(ANN) == two.citations.updates(ANN) == 5
        assert len(one.citations.log(ANN)) == 20
        assert [hit.score for hit in asked(two)[0].ranked] == [hit.score for hit in asked(one)[0].ranked]


@pytest.mark.slow
def test_a_scope_is_a_wall(bank: MemoryBank) -> None:
    fill(bank, BOB)
    answer(bank, 4)
    assert bank.citations.log(BOB) == []
    recall, shown = asked(bank)
    assert bank.citations.reward(BOB, recall.query, shown, [1]).kind == "known"  # Ann's turns are not Bob's
    assert bank.citations.log(BOB) == []
    with pytest.raises(InvalidScope):
        bank.citations.reward((), recall.query, shown, [1])


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
    assert bank.citations.reward(ANN, recall.query, shown, [1]).kind == "recorded"
    assert [entry.query for entry in bank.citations.log(ANN)] == [None]


@pytest.mark.slow
@pytest.mark.sqlite_only("it reads the file")
def test_nothing_of_a_forgotten_scope_is_left_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryBank.open(path, citations=PAPER, embedder=HashingEmbedder()) as bank:
        fill(bank)
        assert answer(bank, 5) == ["taught"] * 5
        bank.forget(ANN)
    with closing(sqlite3.connect(path)) as file:
        for table in ("citations", "citation_turns", "part_states"):
            assert file.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


@pytest.mark.slow
def test_the_log_moves_with_an_export(bank: MemoryBank, tmp_path: Path) -> None:
    answer(bank, 5)
    lines = list(bank.storage.export(ANN))
    with MemoryBank.open(tmp_path / "other.db", citations=True) as other:
        assert other.storage.import_(lines) == 24
        assert other.citations.log(ANN) == bank.citations.log(ANN)
        other.storage.import_(lines)
        assert len(other.citations.log(ANN)) == 5
        assert list(other.storage.export(ANN)) == lines


def _shown_with(**harm: object) -> dict[str, object]:
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    shown = Impression("d", (1,), ("m",), (("t",),), (0.5,), at)
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
        _shown_with(numbers=["1"]),
        _shown_with(numbers=[1, 2]),
        _shown_with(turn_ids=[[7]]),
        _shown_with(memory_ids=[None]),
        _shown_with(scores=["high"]),
        _shown_with(scores=[1e999]),
        _shown_with(epoch="new"),
    ],
)
def test_a_citation_that_export_did_not_write_is_refused_by_its_line(
    bank: MemoryBank, harm: dict[str, object], tmp_path: Path
) -> None:
    answer(bank, 1)
    lines = list(bank.storage.export(ANN))
    lines[-1] = json.dumps({**json.loads(lines[-1]), **harm})
    with (
        MemoryBank.open(tmp_path / "other.db", citations=True) as other,
        pytest.raises(InvalidInput, match=f"line {len(lines)} "),
    ):
        other.storage.import_(lines)


# -- the paper's reranker ---------------------------------------------------------------------------------------------


def test_what_was_learned_of_one_embedder_is_not_used_with_another_of_as_many_dimensions(tmp_path: Path) -> None:
    path, eager = tmp_path / "memory.db", replace(PAPER, batch=1)

    def opened(name: str) -> MemoryBank:
        return MemoryBank.open(path, citations=eager, embedder=ScriptedEmbedder(name=name))

    with opened("one") as bank:
        fill(bank)
        first, shown = asked(bank)
        bank.citations.reward(ANN, first.query, shown, [1])
        learned, _ = asked(bank)
    with opened("one") as bank:
        again, _ = asked(bank)
        assert [hit.score for hit in again.ranked] == [hit.score for hit in learned.ranked]
    with opened("two") as bank:
        with pytest.warns(DegradedWarning, match="of the embedder 'one', and now there are .* 'two'; it starts again"):
            other, shown = asked(bank)
        assert (
            [hit.score for hit in other.ranked]
            == [hit.score for hit in first.ranked]
            != [hit.score for hit in learned.ranked]
        )
        bank.citations.reward(ANN, other.query, shown, [1])
    with opened("two") as bank:
        asked(bank)
        assert bank.citations.updates(ANN) == 1


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
        assert bank.citations.updates(ANN) == 0
    # The draws that wait for their batch survive a restart.
    with MemoryBank.open(path, citations=PAPER, embedder=HashingEmbedder()) as bank:
        _, shown = asked(bank)
        assert bank.citations.reward(ANN, first.query, shown, [1]).kind == "taught"
        assert bank.citations.updates(ANN) == 1
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
        assert (bank.citations.updates(ANN), bank.citations.log(ANN)[0].reward) == (1, 0.0)
        after, _ = asked(bank)
        assert [hit.score for hit in after.ranked] != [hit.score for hit in first.ranked]


@pytest.mark.slow
def test_noise_only_where_asked_for(tmp_path: Path) -> None:
    settled = RerankerOptions(candidates=20, top=5)
    with MemoryBank.open(tmp_path / "memory.db", citations=settled, embedder=HashingEmbedder()) as bank:
        fill(bank)
        assert len({tuple(hit.memory.id for hit in asked(bank)[0].ranked) for _ in range(6)}) == 1
    options = RerankerOptions(candidates=20, top=5, explore=True)
    with MemoryBank.open(tmp_path / "memory.db", citations=options, embedder=HashingEmbedder()) as bank:
        drawn = {tuple(hit.memory.id for hit in asked(bank)[0].ranked) for _ in range(6)}
        assert len(drawn) > 1


@pytest.mark.slow
def test_another_bank_sees_what_was_learned_until_it_is_reset(tmp_path: Path) -> None:
    path, embedder = tmp_path / "memory.db", HashingEmbedder()
    with (
        MemoryBank.open(path, citations=PAPER, embedder=embedder) as one,
        MemoryBank.open(path, citations=PAPER, embedder=embedder) as two,
    ):
        fill(one)
        before = [hit.score for hit in asked(two)[0].ranked]
        answer(one, 8)
        learned = [hit.score for hit in asked(one)[0].ranked]
        assert [hit.score for hit in asked(two)[0].ranked] == learned != before
        one.citations.reset(ANN)
        assert [hit.score for hit in asked(two)[0].ranked] == before
        assert (two.citations.updates(ANN), two.citations.log(ANN)) == (0, [])


def test_one_reranker_a_scope_is_held_however_many_answers_it_learned_from() -> None:
    with MemoryBank.open(citations=PAPER, embedder=HashingEmbedder()) as bank:
        fill(bank, sessions=6)
        fill(bank, BOB, sessions=6)
        before = rerankers()
        assert set(answer(bank, 9)) == set(answer(bank, 3, BOB)) == {"taught"}
        assert rerankers() - before == 2


def rerankers() -> int:
    gc.collect()
    return sum(type(each) is Reranker for each in gc.get_objects())


def test_what_was_learned_is_read_from_the_store_only_where_another_bank_taught_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, embedder, read = tmp_path / "memory.db", HashingEmbedder(), list[str]()
    load = json.loads
    with (
        MemoryBank.open(path, citations=PAPER, embedder=embedder) as one,
        MemoryBank.open(path, citations=PAPER, embedder=embedder) as two,
    ):
        fill(one, sessions=6)
        monkeypatch.setattr("secom_core.citations.learner.json.loads", lambda text: read.append(text) or load(text))
        assert set(answer(one, 5)) == {"taught"}
        assert [text for text in read if '"waiting"' in text] == []
        answer(two, 1)
        asked(one)
        assert [text for text in read if '"waiting"' in text] != []


def test_what_could_not_be_written_is_not_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, embedder, eager = tmp_path / "memory.db", HashingEmbedder(), replace(PAPER, batch=1)
    with MemoryBank.open(path, citations=eager, embedder=embedder) as bank:
        fill(bank, sessions=6)
        answer(bank, 2)
        before, shown = asked(bank)
        with monkeypatch.context() as patch:
            patch.setattr(Reranker, "state", interrupted)
            with pytest.raises(InterruptedError):
                bank.citations.reward(ANN, before.query, shown, [1])
        again, shown = asked(bank)
        assert [hit.score for hit in again.ranked] == [hit.score for hit in before.ranked]
        assert bank.citations.reward(ANN, before.query, shown, [2]).kind == "taught"
        learned, _ = asked(bank)
    with MemoryBank.open(path, citations=eager, embedder=embedder) as bank:
        assert [hit.score for hit in asked(bank)[0].ranked] == [hit.score for hit in learned.ranked]


def interrupted(reranker: Reranker) -> str:
    raise InterruptedError("the process was told to stop")


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
        assert bank.citations.reward(ANN, "Who moved to Graz?", noted, [1]).kind == "recorded"


@pytest.mark.slow
def test_without_vectors_the_reranker_has_nothing_to_learn_from_and_the_ranking_is_the_usual_one(
    tmp_path: Path,
) -> None:
    with MemoryBank.open(tmp_path / "memory.db", citations=PAPER) as bank, MemoryBank.open() as plain:
        fill(bank)
        fill(plain)
        recall, shown = asked(bank)
        assert recall.text == plain.recall(ANN, recall.query, token_budget=400).text
        assert bank.citations.reward(ANN, recall.query, shown, [1]).kind == "recorded"
        assert len(bank.citations.log(ANN)) == 1


# -- memory cannot cite itself ----------------------------------------------------------------------------------------


@given(st.text(alphabet="[]()mM12 ,;NO_CITEnocite\n", max_size=60))
def test_no_quoted_text_holds_a_marker(text: str) -> None:
    from secom_core.conversation import as_turns

    turns = as_turns([f"x {text}"], "s")
    hit = Hit(Memory("s#0-1", "x", turns), turns, 1.0, 7)
    block = citable(render([hit]))
    found = read_citations(block.replace("`", ""), numbers=range(100))
    assert set(found.numbers) <= {7}
    assert not found.none_used
