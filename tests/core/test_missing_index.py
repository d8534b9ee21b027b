"""An index that is missing, or has no vectors of the embedder: made in steps, that each call takes, and searched
meanwhile."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from embedders import HashingEmbedder
from test_growing_index import AT, SCOPE, told
from test_kept_index import answers, exchange, kept

from secom_core.bank import MemoryBank, index_steps, kept_index
from secom_core.bank.loaded_scope import LoadedScope
from secom_core.bank.scope_cache import ScopeCache
from secom_core.errors import DegradedWarning

SESSIONS, TURNS = 6, 31
STEPS_AT_MOST = 4 * SESSIONS


class Counting(HashingEmbedder):
    """Counts the texts that it is given, and fails when it is told to."""

    def __init__(self, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        self.texts: list[str] = []
        self.fails = False

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if self.fails:
            raise ConnectionError("no embedder there")
        self.texts += texts
        return super().embed(texts)


@pytest.fixture(autouse=True)
def _small_blocks_and_steps() -> Iterator[None]:
    with (
        patch.object(kept_index, "_WORTH", 1),
        patch.object(index_steps, "_STEP_S", 0),
        patch.object(index_steps, "_SMALL", 0),
        patch.object(index_steps, "_TOGETHER", 1),
    ):
        yield


def fill(place: Path | str, embedder: Any = None) -> list[object]:
    """Make a bank with an index; what is found in it."""
    rng = random.Random(7)
    with MemoryBank.open(place, embedder=embedder) as bank:
        for number in range(SESSIONS * 5):
            bank.remember(SCOPE, exchange(number, rng), session=f"s{number // 5}", at=AT + timedelta(hours=number))
        bank.remember(SCOPE, [{"role": "user", "content": "The zeppelin is on Monday."}], session="s0", at=AT)
        bank.prepare(SCOPE)
        return answers(bank)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def state(bank: MemoryBank) -> LoadedScope:
    loaded = bank._inside.scopes._states.get(SCOPE)
    assert loaded is not None
    return loaded


def left(bank: MemoryBank) -> tuple[int, int]:
    """How many sessions are awaited, and how many vectors at least."""
    loaded = state(bank)
    return len(loaded.awaited), loaded.lacking + (loaded.awaits_vectors and not loaded.lacking)


def drop_index(bank: MemoryBank) -> None:
    row = bank._store.scope(SCOPE)
    assert row is not None
    bank._store.drop_index(row.id)
    bank._inside.scopes.drop(SCOPE)


def at_once(bank: MemoryBank) -> list[object]:
    """What is found where the index is made whole."""
    drop_index(bank)
    with patch.object(index_steps, "_SMALL", 1000):
        return answers(bank)


def recalled(bank: MemoryBank, query: str = "bardan kello") -> list[str]:
    """The warnings of a recall."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert bank.recall(SCOPE, query, k=3).hits
    return messages_of(warned)


def messages_of(warned: Sequence[warnings.WarningMessage]) -> list[str]:
    """What was warned of, without what other tests leave to the garbage collector."""
    return [str(each.message) for each in warned if each.category is DegradedWarning]


# -- an embedder is switched on, or is another -------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, HashingEmbedder(48)], ids=["words", "another embedder"])
def test_with_another_embedder_all_is_found_by_words_until_the_vectors_are_there(before: Any, path: Path) -> None:
    fill(path, before)
    queries = ["bardan kello", "monrik and visdan on day 7", "What do you know about me?", "When is the zeppelin?"]
    with MemoryBank.open(path) as by_words:
        right = [told(by_words.recall(SCOPE, query, token_budget=400)) for query in queries]
    with MemoryBank.open(path, embedder=Counting()) as bank:
        counts: list[int] = []
        while not counts or counts[-1]:
            number = len(counts) % len(queries)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                found = told(bank.recall(SCOPE, queries[number], token_budget=400))
            awaited, lacking = left(bank)
            counts.append(lacking)
            assert awaited == 0
            assert len(counts) < STEPS_AT_MOST
            if lacking:
                assert found == right[number]
                [message] = messages_of(warned)
                assert "has not all vectors of this embedder" in message
                assert "it is searched by words alone" in message
                assert "bank.prepare(scope)" in message
            assert bank.check() == ()
        assert len(counts) >= SESSIONS
        assert counts == sorted(set(counts), reverse=True)
        assert not messages_of(warned)
        assert found != right[number], "vectors count"
        assert answers(bank) == at_once(bank)


@pytest.mark.filterwarnings("ignore:the search index of the scope")
def test_vectors_are_kept_where_processes_end_and_nothing_is_analysed_or_embedded_twice(path: Path) -> None:
    fill(path)
    embedder, counts = Counting(), list[int]()
    with patch.object(ScopeCache, "_follow_session", side_effect=AssertionError("a session was analysed again")):
        while not counts or counts[-1]:
            with MemoryBank.open(path, embedder=embedder) as bank:
                bank.recall(SCOPE, "bardan kello", k=3)
                counts.append(left(bank)[1])
                assert bank.check() == ()
            assert len(counts) < STEPS_AT_MOST
    assert len(counts) > SESSIONS / 2
    assert counts == sorted(set(counts), reverse=True)
    asked = {"bardan kello", embedder.name}
    once = [text for text in embedder.texts if text not in asked]
    assert len(once) == len(set(once))
    with MemoryBank.open(path, embedder=embedder) as bank:
        assert answers(bank) == at_once(bank)


@pytest.mark.filterwarnings("ignore:the search index of the scope")
def test_two_processes_make_the_vectors_together(path: Path) -> None:
    fill(path)
    with MemoryBank.open(path, embedder=Counting()) as one, MemoryBank.open(path, embedder=Counting()) as two:
        for _ in range(STEPS_AT_MOST):
            for bank in (one, two):
                bank.recall(SCOPE, "bardan kello", k=3)
        assert left(one) == left(two) == (0, 0)
        assert answers(one) == answers(two) == at_once(two)


@pytest.mark.filterwarnings("ignore:the search index of the scope")
@pytest.mark.parametrize("steps", [0, 1, 3, STEPS_AT_MOST])
@pytest.mark.parametrize("is_missing", [False, True], ids=["switched on", "missing"])
def test_nothing_of_what_is_forgotten_meanwhile_stays(is_missing: bool, steps: int, path: Path) -> None:
    fill(path)
    with MemoryBank.open(path, embedder=Counting()) as bank:
        if is_missing:
            drop_index(bank)
        for _ in range(steps):
            bank.recall(SCOPE, "bardan kello", k=3)
        [doomed] = [turn for turn in bank.turns(SCOPE, "s0") if "zeppelin" in turn.text]
        bank.forget(SCOPE, turn_ids=[doomed.id])
        bank.forget(SCOPE, session=f"s{SESSIONS - 1}")
        data = kept(bank)
        assert b"zeppelin" not in data
        assert f'"s{SESSIONS - 1}"'.encode() not in data
        assert data, "what is left of it is still there"
        assert bank.check() == ()
        bank.recall(SCOPE, "bardan kello", k=3)
        assert bank.check() == ()
    with MemoryBank.open(path, embedder=Counting()) as bank:
        bank.recall(SCOPE, "bardan kello", k=3)
        bank.prepare(SCOPE)
        assert answers(bank) == at_once(bank)


@pytest.mark.filterwarnings("ignore:the search index of the scope")
def test_what_is_said_meanwhile_is_found_at_once(path: Path) -> None:
    fill(path)
    with MemoryBank.open(path, embedder=Counting()) as bank:
        bank.recall(SCOPE, "bardan kello", k=3)
        for session in ("s1", "new"):
            bank.remember(SCOPE, [{"role": "user", "content": f"The {session} airship is late."}], session=session)
            assert f"{session} airship" in bank.recall(SCOPE, f"Is the {session} airship late?", k=1).text
        bank.prepare(SCOPE)
        assert answers(bank) == at_once(bank)


def test_what_another_process_forgets_without_an_embedder_costs_no_new_analysis(path: Path) -> None:
    embedder = Counting()
    fill(path, embedder)
    with MemoryBank.open(path) as by_words:
        by_words.forget(SCOPE, session="s0")
    embedder.texts.clear()
    with MemoryBank.open(path, embedder=embedder) as bank:
        with patch.object(ScopeCache, "_follow_session", side_effect=AssertionError("a session was analysed again")):
            bank.prepare(SCOPE)
        assert len(set(embedder.texts)) <= 2, "their vectors are stored"
        assert answers(bank) == at_once(bank)


@pytest.mark.filterwarnings("ignore:the search index of the scope")
def test_while_the_embedder_fails_words_find_all_of_it(path: Path) -> None:
    right = fill(path)
    embedder = Counting()
    with MemoryBank.open(path, embedder=embedder) as bank:
        embedder.fails = True
        with pytest.warns(DegradedWarning, match="the embedder"):
            assert answers(bank) == right
        embedder.fails = False
        bank.recall(SCOPE, "bardan kello", k=3)
        embedder.fails = True
        with pytest.warns(DegradedWarning, match="the embedder"):
            bank.prepare(SCOPE)
        with pytest.warns(DegradedWarning, match="the embedder"):
            assert answers(bank) == right
        embedder.fails = False
        bank.prepare(SCOPE)
        assert recalled(bank) == []
        assert answers(bank) == at_once(bank)


# -- nothing is kept ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", [None, Counting()], ids=["words", "vectors"])
def test_what_is_missing_is_made_from_the_last_session_on(embedder: Any, path: Path) -> None:
    right = fill(path, embedder)
    with MemoryBank.open(path, embedder=embedder) as bank:
        drop_index(bank)
    seen: list[tuple[int, int]] = []
    while not seen or seen[-1] != (0, 0):
        with MemoryBank.open(path, embedder=embedder) as bank:
            warned = recalled(bank)
            seen.append(left(bank))
            if seen[-1] != (0, 0):
                [message] = warned
                assert ("is missing, or was damaged" if seen[-1][0] else "not all vectors") in message
                assert "bank.prepare(scope)" in message
            assert bank.check() == ()
        assert len(seen) < STEPS_AT_MOST
    assert [awaited for awaited, _ in seen[:SESSIONS]] == [*range(SESSIONS - 1, -1, -1)]
    with MemoryBank.open(path, embedder=embedder) as bank:
        assert recalled(bank) == []
        assert answers(bank) == right == at_once(bank)


def test_vectors_are_made_in_steps_also_where_one_recall_reads_all_of_what_is_missing(path: Path) -> None:
    rng, embedder = random.Random(7), Counting()
    with MemoryBank.open(path) as bank:
        for number in range(20):
            bank.remember(SCOPE, exchange(number, rng), session="s", at=AT + timedelta(hours=number))
    with MemoryBank.open(path, embedder=embedder) as bank, patch.object(index_steps, "_EMBEDDED", 4):
        assert recalled(bank) != []
        awaited, lacking = left(bank)
        assert awaited == 0 < lacking
        assert len(embedder.texts) < 20


@pytest.mark.filterwarnings("ignore:the search index of the scope")
def test_on_each_store_processes_go_on_until_it_is_whole(place: Path | str) -> None:
    fill(place)
    embedder = Counting()
    for begin_without in (False, True):
        with MemoryBank.open(place, embedder=embedder) as bank:
            if begin_without:
                drop_index(bank)
        seen: list[tuple[int, int]] = []
        while not seen or seen[-1] != (0, 0):
            with MemoryBank.open(place, embedder=embedder) as bank:
                bank.recall(SCOPE, "When is the zeppelin?", k=1)
                seen.append(left(bank))
                assert bank.check() == ()
            assert len(seen) < STEPS_AT_MOST
        assert len(seen) > SESSIONS / 2
    with MemoryBank.open(place, embedder=embedder) as bank:
        assert answers(bank) == at_once(bank)


@pytest.mark.parametrize("is_missing", [False, True], ids=["switched on", "missing"])
def test_all_of_it_is_made_ahead_with_a_bar_and_no_warning(is_missing: bool, path: Path) -> None:
    fill(path)
    bars: list[tuple[str, int]] = []

    def bar(items: Any, what: str, *, unit: str, total: int) -> Any:
        bars.append((what, total))
        made = list(items)
        assert len(made) == total
        return made

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with MemoryBank.open(path, embedder=Counting()) as bank:
            if is_missing:
                drop_index(bank)
            bank._inside.scopes._bar = bar
            bank.prepare(SCOPE)
            assert left(bank) == (0, 0)
            assert [what for what, _ in bars] == ["making the search index"] * is_missing + ["making its vectors"]
            with MemoryBank.open(path, embedder=Counting()) as process:
                assert answers(process) == answers(bank) == at_once(bank)


@pytest.mark.parametrize("is_missing", [False, True], ids=["switched on", "missing"])
def test_a_small_one_is_made_at_once(is_missing: bool, path: Path) -> None:
    fill(path)
    with MemoryBank.open(path, embedder=Counting()) as bank, patch.object(index_steps, "_SMALL", TURNS):
        if is_missing:
            drop_index(bank)
        assert recalled(bank) == []
        assert left(bank) == (0, 0)
        assert answers(bank) == at_once(bank)


def test_what_an_outage_has_left_without_vectors_gets_them_in_steps(path: Path) -> None:
    """Also where this process has filled the scope, and whoever asks first was not there in the outage."""
    embedder, others = Counting(), Counting()
    with MemoryBank.open(path, embedder=embedder) as bank, MemoryBank.open(path, embedder=others) as other:
        rng = random.Random(7)
        for number in range(SESSIONS * 5):
            if number == 5:
                other.prepare(SCOPE)
                embedder.fails = True
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DegradedWarning)
                bank.remember(SCOPE, exchange(number, rng), session=f"s{number // 5}", at=AT + timedelta(hours=number))
        embedder.fails = False
        for each, asked in ((other, others), (bank, embedder)):
            made: list[int] = []
            while not made or left(each)[1]:
                asked.texts.clear()
                warned = recalled(each)
                made.append(len(asked.texts))
                assert [what for what in warned if "it is searched by words alone" in what] == warned
                assert bool(warned) == bool(left(each)[1])
            assert max(made) < 20
            assert (len(made) > 3) == (each is other)
        assert answers(other) == answers(bank) == at_once(bank)


def test_who_has_filled_a_scope_finds_all_of_it_at_once(path: Path) -> None:
    with MemoryBank.open(path) as bank:
        for number in range(3):
            bank.remember(SCOPE, exchange(number, random.Random(number)), session=f"s{number}", at=AT)
        assert recalled(bank) == []
        assert len(state(bank).index) == 3


def test_who_forgets_by_words_waits_for_no_vectors(path: Path) -> None:
    fill(path)
    embedder = Counting()
    with MemoryBank.open(path, embedder=embedder) as bank:
        drop_index(bank)
        bank._inside.recalling.saying(SCOPE, [1])
        awaited, lacking = left(bank)
        assert awaited == 0
        assert lacking
