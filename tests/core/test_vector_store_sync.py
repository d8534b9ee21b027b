"""A vector store outside the bank: what it holds, what it finds, and what happens when it, or the process, fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from dense_stores import DictionaryStore
from embedders import HashingEmbedder
from sqlalchemy import func, select

from secom_core.bank import MemoryBank, index_steps
from secom_core.citations import RerankerOptions
from secom_core.derived.segments import searched_texts
from secom_core.errors import DegradedWarning, InvalidInput, StoreError
from secom_core.indexes import rank_scores
from secom_core.llm import pauses
from secom_core.protocols import Vectors, VectorStore
from secom_core.segmenters.lexical import LexicalSegmenter
from secom_core.vector_stores import sync
from secom_core.vector_stores.ledger import Behind, VectorStoreLedger
from secom_core.vector_stores.sync import scope_label
from secom_core.vector_stores.tables import dense_documents, dense_sessions

pytestmark = pytest.mark.usefixtures("each_store")

ALICE, BOB = ("acme", "alice"), ("acme", "bob")
TOPICS = ("the green bicycle and its brakes", "a kitchen with oak shelves", "piano lessons on Tuesday", "the tax form")


@pytest.fixture
def dense() -> DictionaryStore:
    return DictionaryStore(HashingEmbedder())


@pytest.fixture
def bank(dense: DictionaryStore, tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "memory.db", vector_store=dense) as opened:
        yield opened


def talk(bank: MemoryBank, scope: tuple[str, ...] = ALICE, turns: int = 12, session: str = "s") -> list[str]:
    said = [f"{scope[-1]} says number{place} of {TOPICS[place // 6 % 4]}." for place in range(turns)]
    for text in said:
        bank.remember(scope, [{"role": "user", "content": text}], session=session)
    return said


def noted(bank: MemoryBank) -> int:
    with bank._store.transaction(write=False) as connection:
        counts = [
            connection.scalar(select(func.count()).select_from(each)) for each in (dense_documents, dense_sessions)
        ]
    return sum(count or 0 for count in counts)


def expected(bank: MemoryBank, scope: tuple[str, ...] = ALICE) -> list[str]:
    """The texts that belong into the vector store: every passage and every key."""
    sessions = bank.sessions(scope)
    passages = [text for name in sessions for text in searched_texts(bank.turns(scope, name))]
    return sorted(passages + [memory.key for name in sessions for memory in bank.memories(scope, name)])


def there(dense: DictionaryStore) -> list[str]:
    return sorted(each.text for each in dense.documents.values())


# -- what it holds -----------------------------------------------------------------------------------------------------


def test_it_is_a_dense_store(dense: DictionaryStore) -> None:
    assert isinstance(dense, VectorStore)


@pytest.mark.slow
def test_it_holds_every_turn_and_key_and_nothing_else(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank)
    assert there(dense) == expected(bank)
    bank.close_session(ALICE, "s")
    assert there(dense) == expected(bank)


def test_documents_say_whose_they_are_without_naming_anybody(bank: MemoryBank, dense: DictionaryStore) -> None:
    bank.remember(ALICE, [{"role": "user", "content": "Hello.", "id": "m1"}], session="monday")
    document = next(each for each in dense.documents.values() if each.place.kind == "turn")
    assert document.metadata == {
        "secom_scope": scope_label(ALICE),
        "secom_kind": "turn",
        "secom_session": "monday",
        "secom_turn": "m1",
    }
    assert scope_label(ALICE).isalnum()
    assert scope_label(ALICE)[0].isalpha(), "LlamaIndex's PGVectorStore compares what reads as a number as one"
    assert "alice" not in scope_label(ALICE)


def test_a_turn_that_grows_by_its_reply_is_replaced(bank: MemoryBank, dense: DictionaryStore) -> None:
    bank.remember(ALICE, [{"role": "user", "content": "Where is it?"}], session="s")
    bank.remember(ALICE, [{"role": "assistant", "content": "In the shed."}], session="s")
    assert there(dense) == expected(bank)
    assert sum("In the shed." in text for text in there(dense)) == 2, "the reply and the key"


def test_what_a_server_refuses_is_not_sent(bank: MemoryBank, dense: DictionaryStore) -> None:
    bank.remember(ALICE, [{"role": "user", "content": "a\0b\ud800c", "id": "m\0"}], session="s\ud800")
    assert all("\0" not in text and text.encode() for text in there(dense))
    assert bank.recall(ALICE, "a\0b\ud800c").turns
    assert all(
        value.encode() and "\0" not in value for each in dense.documents.values() for value in each.metadata.values()
    )


@pytest.mark.sqlite_only("what is sent is the same on both")
@pytest.mark.slow
def test_one_more_turn_sends_no_more_in_a_long_session_than_in_a_short_one(
    bank: MemoryBank, dense: DictionaryStore
) -> None:
    talk(bank, turns=60)
    before = dense.sent
    bank.remember(ALICE, [{"role": "user", "content": "One more about the tax form."}], session="s")
    assert dense.sent - before <= 4


@pytest.mark.slow
def test_the_bank_holds_no_vectors(bank: MemoryBank, tmp_path: Path) -> None:
    class Refusing(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            raise AssertionError("nothing is to be embedded here")

    dense = DictionaryStore(HashingEmbedder())
    with MemoryBank.open(
        tmp_path / "b.db", vector_store=dense, embedder=Refusing(), segmenter=LexicalSegmenter()
    ) as other:
        talk(other)
        assert other.recall(ALICE, "the green bicycle", k=2).hits
        assert other.stats(ALICE).vectors == 0
        loaded = other._inside.scopes._states.get(ALICE)
        assert loaded is not None
        assert len(loaded.index.indexes.passage_vectors) == len(loaded.index.indexes.key_vectors) == 0


# -- what it finds -----------------------------------------------------------------------------------------------------


class Untied(HashingEmbedder):
    """No two texts are equally near, and none is further than at a right angle."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        noise = [np.random.default_rng(zlib.crc32(text.encode())).random(self.dimensions) for text in texts]
        rows = super().embed(texts) + 0.3 * np.stack(noise)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.sqlite_only("the ranking is the same on both")
@pytest.mark.slow
@pytest.mark.parametrize("weights", [{"passage_dense": 1}, {"segment_dense": 1}])
def test_it_ranks_as_the_vectors_in_the_bank_do(weights: dict[str, float]) -> None:
    """As many are asked for as there are, so nothing is lost: by the dense signal alone the order is the same."""
    embedder = Untied()
    with (
        MemoryBank.open(embedder=embedder, weights=weights, segmenter=LexicalSegmenter()) as built_in,
        MemoryBank.open(vector_store=DictionaryStore(embedder), weights=weights) as outside,
    ):
        for bank in (built_in, outside):
            talk(bank, turns=24)
        for query in ("number7 of the green bicycle", "oak shelves number8", "number20 tax form"):
            ours, theirs = (
                [hit.memory.id for hit in bank.recall(ALICE, query, k=9).ranked] for bank in (outside, built_in)
            )
            assert ours == theirs
            assert len(ours) > 2


@pytest.mark.slow
def test_meaning_finds_what_words_do_not(tmp_path: Path) -> None:
    class Synonyms(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            return super().embed([text.replace("automobile", "car") for text in texts])

    with MemoryBank.open(vector_store=DictionaryStore(Synonyms())) as bank:
        for text in ("I bought a car.", "The cat sleeps.", "Rain is expected.", "My sister sings."):
            bank.remember(ALICE, [{"role": "user", "content": text}], session="s")
            bank.close_session(ALICE, "s")
        best = bank.recall(ALICE, "automobile", k=1)
        assert "car" in best.text


@pytest.mark.parametrize(("found", "total"), [(1, 1), (5, 5), (3, 10), (200, 50_000)])
def test_rank_scores_fall_and_stay_above_what_was_not_found(found: int, total: int) -> None:
    scores = rank_scores(found, total)
    assert len(scores) == found
    assert np.all(np.diff(scores) < 0)
    assert scores[-1] > 0
    assert np.isfinite(scores).all()


def test_rank_scores_of_nothing() -> None:
    assert not len(rank_scores(0, 10))


@pytest.mark.slow
def test_every_search_is_for_one_scope(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank, ALICE)
    talk(bank, BOB)
    bank.recall(ALICE, "the green bicycle")
    assert {scope for scope, _, _ in dense.asked} == {scope_label(ALICE)}


@pytest.mark.slow
def test_a_store_that_ignores_the_filter_is_refused(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank, ALICE)
    talk(bank, BOB)
    dense.filters = False
    with pytest.warns(DegradedWarning, match="ignores the filter"):
        recall = bank.recall(ALICE, "number3 of the green bicycle", k=2)
    assert "alice says" in recall.text
    assert "bob" not in recall.text


@pytest.mark.slow
def test_documents_that_the_bank_does_not_know_are_passed_over(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank)
    with MemoryBank.open(vector_store=dense) as stranger:
        talk(stranger, ALICE, session="another bank's")
        recall = bank.recall(ALICE, "number3 of the green bicycle")
    assert "another bank's" not in {turn.session for turn in recall.turns}


# -- forgetting --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_forgotten_scope_leaves_nothing(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank, ALICE)
    talk(bank, BOB)
    assert bank.forget(ALICE) == 12
    assert "alice" not in dense.texts()
    assert there(dense) == expected(bank, BOB)
    bank.forget(BOB)
    assert noted(bank) == 0


@pytest.mark.slow
def test_forgotten_turns_leave_neither_their_documents_nor_keys_that_held_them(
    bank: MemoryBank, dense: DictionaryStore
) -> None:
    talk(bank)
    gone = [turn.id for turn in bank.turns(ALICE, "s") if "number7 " in turn.text]
    assert bank.forget(ALICE, turn_ids=gone) == 1
    assert "number7 " not in dense.texts()
    assert there(dense) == expected(bank)


@pytest.mark.slow
def test_turns_forgotten_of_a_closed_session_are_gone_too(bank: MemoryBank, dense: DictionaryStore) -> None:
    """Nothing of it changes any more, and still all of it is looked at."""
    talk(bank)
    bank.close_session(ALICE, "s")
    bank.forget(ALICE, turn_ids=[turn.id for turn in bank.turns(ALICE, "s") if "number3 " in turn.text])
    assert "number3 " not in dense.texts()
    assert there(dense) == expected(bank)


@pytest.mark.slow
def test_a_forgotten_session_goes_and_the_others_stay(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank, session="one", turns=6)
    talk(bank, session="two", turns=12)
    bank.forget(ALICE, session="two")
    assert there(dense) == expected(bank)
    assert len(bank.turns(ALICE, "one")) == 6


@pytest.mark.slow
def test_a_deletion_that_fails_raises_and_can_be_done_again(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank)
    dense.failing = {"delete"}
    with pytest.raises(StoreError, match=r"gone from the bank, but the vector store 'dictionary' may still hold"):
        bank.forget(ALICE)
    assert bank.scopes() == []
    dense.failing = set()
    assert bank.forget(ALICE) == 0
    assert not dense.documents
    assert noted(bank) == 0


@pytest.mark.slow
def test_a_deletion_that_failed_is_ended_by_a_recall_of_the_forgotten_scope(
    bank: MemoryBank, dense: DictionaryStore
) -> None:
    talk(bank)
    dense.failing = {"delete"}
    with pytest.raises(StoreError):
        bank.forget(ALICE)
    dense.failing = set()
    assert not bank.recall(ALICE, "bicycle").hits
    assert not dense.documents


@pytest.mark.slow
def test_a_partial_deletion_that_fails_is_ended_by_the_next_recall(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank)
    gone = [turn.id for turn in bank.turns(ALICE, "s") if "number7 " in turn.text]
    dense.failing = {"delete"}
    with pytest.raises(StoreError):
        bank.forget(ALICE, turn_ids=gone)
    dense.failing = set()
    assert "number7 " not in bank.recall(ALICE, "number7").text
    assert "number7 " not in dense.texts()


@pytest.mark.slow
def test_a_scope_remembered_again_is_a_new_one(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank)
    dense.failing = {"delete"}
    with pytest.raises(StoreError):
        bank.forget(ALICE)
    dense.failing = set()
    talk(bank, turns=3)
    bank.recall(ALICE, "bicycle")
    assert there(dense) == expected(bank)


@pytest.mark.slow
def test_a_bank_opened_without_the_vector_store_says_what_may_be_left(tmp_path: Path, dense: DictionaryStore) -> None:
    with MemoryBank.open(tmp_path / "memory.db", vector_store=dense) as bank:
        talk(bank)
    with MemoryBank.open(tmp_path / "memory.db") as bank, pytest.warns(DegradedWarning, match="'dictionary'"):
        assert bank.forget(ALICE) == 12
    with MemoryBank.open(tmp_path / "memory.db", vector_store=dense):
        assert not dense.documents, "opening it with the vector store ends the deletion"


def test_a_late_write_does_not_bring_a_forgotten_scope_back(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank, turns=2)
    begun, go = threading.Event(), threading.Event()
    upsert = dense.upsert

    def slow(documents: object) -> None:
        begun.set()
        assert go.wait(120)
        upsert(documents)  # type: ignore[arg-type]

    dense.upsert = slow  # type: ignore[method-assign, assignment]
    late = threading.Thread(target=talk, args=(bank,), kwargs={"turns": 1})
    late.start()
    assert begun.wait(10)
    bank._store.forget_scope(ALICE)  # as another process does
    go.set()
    late.join(10)
    assert not dense.documents


# -- failures and crashes ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_search_that_fails_goes_on_by_words(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank)
    dense.failing = {"search"}
    with pytest.warns(DegradedWarning, match="by words only: search is broken"):
        assert "number3 " in bank.recall(ALICE, "number3", k=2).text


def test_a_store_that_takes_nothing_loses_nothing(bank: MemoryBank, dense: DictionaryStore) -> None:
    dense.failing = {"upsert"}
    with pytest.warns(DegradedWarning, match="until it answers again: upsert is broken"):
        talk(bank, turns=3)
    assert not dense.documents
    dense.failing = set()
    bank.recall(ALICE, "bicycle")
    assert there(dense) == expected(bank)


def test_a_store_that_lets_callers_wait_is_left_alone(
    bank: MemoryBank, dense: DictionaryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LangChain's stores embed by themselves, and no pause of an embedder reaches them."""
    monkeypatch.setattr(pauses, "_NOTICED_S", 0.0)
    monkeypatch.setattr(pauses, "_TIMES", 1e12)
    talk(bank, turns=3)
    dense.failing = {"search", "upsert"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegradedWarning)
        bank.recall(ALICE, "number1")
        bank.recall(ALICE, "number1")
    asked: list[str] = []
    monkeypatch.setattr(dense, "called", asked.append)
    with pytest.warns(DegradedWarning, match="the vector store is not asked before .* search is broken"):
        assert "number1 " in bank.recall(ALICE, "number1").text
    with pytest.warns(DegradedWarning, match="the vector store is not asked before"):
        bank.remember(ALICE, [{"role": "user", "content": "I have a boat."}], session="s")
    assert not asked
    assert bank.forget(ALICE, session="s") == 4
    assert set(asked) == {"delete"}
    assert not dense.documents


def test_a_recall_sends_some_of_what_a_store_lacks_and_the_next_one_more(
    bank: MemoryBank, dense: DictionaryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_AT_ONCE", 4)
    monkeypatch.setattr(index_steps, "_STEP_S", 0)
    dense.failing = {"upsert"}
    for session in ("first", "last"):
        with pytest.warns(DegradedWarning):
            talk(bank, session=session, turns=5)
    dense.failing = set()
    for sent in (4, 6):
        with pytest.warns(DegradedWarning, match="gets some of it in each recall"):
            bank.recall(ALICE, "number3")
        assert len(dense.documents) == sent
    assert {each.place.session for each in dense.documents.values()} == {"last"}
    bank.prepare(ALICE)
    assert there(dense) == expected(bank)


@pytest.mark.filterwarnings("ignore::secom_core.errors.DegradedWarning")
def test_a_step_does_not_look_again_at_the_sessions_that_earlier_ones_have_brought(
    bank: MemoryBank, dense: DictionaryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a scope of thousands of sessions would get one session a recall, once looking takes as long as a step."""
    monkeypatch.setattr(index_steps, "_STEP_S", 0)
    dense.failing = {"upsert"}
    for number in range(12):
        talk(bank, session=f"s{number}", turns=1)
    dense.failing = set()
    looked: list[int] = []
    behind = VectorStoreLedger.behind

    def look(ledger: VectorStoreLedger, session_id: int) -> Behind | None:
        looked.append(session_id)
        return behind(ledger, session_id)

    monkeypatch.setattr(VectorStoreLedger, "behind", look)
    for sent in range(2, 24, 2):
        looked.clear()
        bank.recall(ALICE, "number3")
        assert len(dense.documents) == sent
        assert len(looked) == 2
    assert bank.forget(ALICE, session="s5") == 1
    bank.recall(ALICE, "number3")
    assert there(dense) == expected(bank)


@pytest.mark.filterwarnings("ignore::secom_core.errors.DegradedWarning")
def test_a_message_does_not_wait_until_the_store_has_all_of_its_session(
    bank: MemoryBank, dense: DictionaryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_AT_ONCE", 4)
    monkeypatch.setattr(index_steps, "_STEP_S", 0)
    dense.failing = {"upsert"}
    talk(bank)
    dense.failing = set()
    bank.recall(ALICE, "number3")
    talk(bank, turns=1)
    assert len(dense.documents) == 8
    bank.prepare(ALICE)
    assert there(dense) == expected(bank)
    bank.remember(ALICE, [{"role": "user", "content": f"Line {number}."} for number in range(20)], session="s")
    assert there(dense) == expected(bank)


@pytest.mark.filterwarnings("ignore::secom_core.errors.DegradedWarning")
def test_a_recall_does_not_wait_until_all_is_sent_ahead(
    bank: MemoryBank, dense: DictionaryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_AT_ONCE", 1)
    monkeypatch.setattr(sync, "_LET_IN_S", 0.1)
    monkeypatch.setattr(index_steps, "_STEP_S", 0)
    dense.failing = {"upsert"}
    talk(bank)
    dense.failing = set()
    begun, is_recalled = threading.Event(), threading.Event()

    def called(what: str) -> None:
        if what == "upsert" and len(dense.documents) > 2:
            begun.set()
        if what == "upsert" and threading.current_thread() is ahead and len(dense.documents) > 20:
            assert is_recalled.wait(60)

    monkeypatch.setattr(dense, "called", called)
    ahead = threading.Thread(target=bank.prepare, args=[ALICE])
    ahead.start()
    assert begun.wait(60)
    began = time.monotonic()
    bank.recall(ALICE, "number3")
    assert time.monotonic() - began < 20
    is_recalled.set()
    ahead.join()
    assert there(dense) == expected(bank)


@pytest.mark.slow
def test_what_was_lost_from_the_store_is_sent_again(tmp_path: Path, dense: DictionaryStore) -> None:
    """A store in memory is empty in a new process; one on disk may be put back to an older state."""
    with MemoryBank.open(tmp_path / "memory.db", vector_store=dense) as bank:
        talk(bank)
    for lost in list(dense.documents)[::2]:
        dense.delete([lost])
    with MemoryBank.open(tmp_path / "memory.db", vector_store=dense) as bank:
        bank.recall(ALICE, "bicycle")
        assert there(dense) == expected(bank)


@pytest.mark.slow
def test_rebuild_and_import_bring_the_store_along(bank: MemoryBank, dense: DictionaryStore) -> None:
    talk(bank)
    bank.rebuild(ALICE)
    assert there(dense) == expected(bank)
    bank.storage.import_(list(bank.storage.export(ALICE)), scope=BOB)
    assert there(dense) == sorted(expected(bank, ALICE) + expected(bank, BOB))


@pytest.mark.slow
def test_another_name_is_another_collection(tmp_path: Path, dense: DictionaryStore) -> None:
    with MemoryBank.open(tmp_path / "memory.db", vector_store=dense) as bank:
        talk(bank)
    moved = DictionaryStore(HashingEmbedder(), name="moved")
    with MemoryBank.open(tmp_path / "memory.db", vector_store=moved) as bank:
        bank.recall(ALICE, "bicycle")
        assert there(moved) == expected(bank)


KILLED = """
import json, os, sys
from pathlib import Path
from dense_stores import DictionaryStore
from embedders import HashingEmbedder
from secom_core.bank.bank import MemoryBank

class Kept(DictionaryStore):
    def upsert(self, documents):
        if sys.argv[3] == "before":
            os.kill(os.getpid(), 9)
        super().upsert(documents)
        self.write()
        if sys.argv[3] == "after":
            os.kill(os.getpid(), 9)
    def delete(self, ids):
        if sys.argv[3] == "forget":
            os.kill(os.getpid(), 9)
    def write(self):
        Path(sys.argv[2]).write_text(json.dumps(list(self.documents)))

bank = MemoryBank.open(sys.argv[1], vector_store=Kept(HashingEmbedder()))
bank.remember(("acme", "alice"), [{"role": "user", "content": "The green bicycle."}], session="s")
bank.forget(("acme", "alice"))
"""


@pytest.mark.slow
@pytest.mark.sqlite_only("the process that is killed opens a file")
@pytest.mark.parametrize("when", ["before", "after", "forget"])
def test_a_killed_process_leaves_nothing_undone(when: str, tmp_path: Path) -> None:
    tests = Path(__file__).resolve().parents[1]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)])}
    file, listed = tmp_path / "memory.db", tmp_path / "ids.json"
    done = subprocess.run([sys.executable, "-c", KILLED, str(file), str(listed), when], env=env, timeout=60)
    assert done.returncode == -9
    ids = set(json.loads(listed.read_text())) if listed.exists() else set()
    dense = DictionaryStore(HashingEmbedder())
    deleted: set[str] = set()
    delete = dense.delete
    dense.delete = lambda given: (deleted.update(given), delete(given))[1]  # type: ignore[method-assign, assignment]
    with MemoryBank.open(file, vector_store=dense) as bank:
        if when == "forget":
            assert ids <= deleted
            assert bank.scopes() == []
            assert noted(bank) == 0
        else:
            assert bank.recall(ALICE, "bicycle").turns
            assert there(dense) == expected(bank)
            assert ids <= set(dense.documents), "the same turn has the same id again"


def test_what_was_on_its_way_when_it_was_forgotten_is_deleted_twice(bank: MemoryBank, dense: DictionaryStore) -> None:
    """A process that is killed while it sends may have sent after the deletion: the note stays for one more."""
    dense.failing = {"upsert"}
    with pytest.warns(DegradedWarning):
        talk(bank, turns=1)
    dense.failing = set()
    bank.forget(ALICE)
    assert noted(bank) > 0
    bank.forget(ALICE)
    assert noted(bank) == 0


@pytest.mark.slow
def test_many_threads_write_and_one_forgets(bank: MemoryBank, dense: DictionaryStore) -> None:
    users = [("acme", f"user{number}") for number in range(4)]
    threads = [threading.Thread(target=talk, args=(bank, user, 12)) for user in users]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    bank.forget(users[0])
    assert there(dense) == sorted(text for user in users[1:] for text in expected(bank, user))


def test_the_papers_reranker_needs_vectors_in_the_bank(dense: DictionaryStore) -> None:
    with pytest.raises(InvalidInput, match="open it with embedder="):
        MemoryBank.open(vector_store=dense, citations=RerankerOptions())


@pytest.mark.slow
def test_a_bank_that_takes_in_citations_scores_what_the_store_finds(dense: DictionaryStore) -> None:
    with MemoryBank.open(vector_store=dense, citations=True) as bank:
        talk(bank)
        recall = bank.recall(ALICE, "number3 of the green bicycle", k=3)
        assert recall.impression is not None
        assert "passage_dense" in dict(recall.hits[0].signals)
        assert bank.citations.reward(ALICE, recall.query, recall.impression, [1]).kind == "recorded"


def test_a_new_process_asks_what_is_there_in_few_calls_however_many_sessions(
    dense: DictionaryStore, bank: MemoryBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        talk(bank, turns=1, session=f"s{number}")
    bank.recall(ALICE, "bicycle")
    calls: list[str] = []
    monkeypatch.setattr(dense, "called", calls.append)
    lost = next(iter(dense.documents))
    del dense.documents[lost]
    with MemoryBank.open(tmp_path / "memory.db", vector_store=dense) as again:
        again.recall(ALICE, "bicycle")
    assert calls.count("held") == 1
    assert lost in dense.documents
