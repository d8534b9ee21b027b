"""An index that another version has made: made again in steps, that each call takes, and searched meanwhile."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from embedders import HashingEmbedder
from test_growing_index import AT, SCOPE
from test_kept_index import anew, answers, blocks, exchange, kept

from secom_core.bank import MemoryBank, index_steps, kept_index
from secom_core.bank.scope_cache import ScopeCache
from secom_core.errors import DegradedWarning

SESSIONS = 8


@pytest.fixture(autouse=True)
def _small_blocks_and_steps() -> Iterator[None]:
    with patch.object(kept_index, "_WORTH", 1), patch.object(index_steps, "_STEP_S", 0):
        yield


@pytest.fixture(params=[None, HashingEmbedder(64)], ids=["words", "vectors"])
def upgraded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryBank]:
    """A bank whose index the version before has made, opened by one that keeps it in another form."""
    path, rng = tmp_path / "memory.db", random.Random(7)
    with MemoryBank.open(path, embedder=request.param) as bank:
        for number in range(SESSIONS * 5):
            at = AT + timedelta(hours=number)
            bank.remember(SCOPE, exchange(number, rng), session=f"s{number // 5}", at=at)
        bank.remember(SCOPE, [{"role": "user", "content": "The zeppelin is on Monday."}], session="s0", at=AT)
        bank.prepare(SCOPE)
        assert blocks(bank)
    with (
        patch.object(kept_index, "FORM", kept_index.FORM + 1),
        MemoryBank.open(path, embedder=request.param) as later,
    ):
        yield later


def another(bank: MemoryBank) -> MemoryBank:
    """The same bank in another process."""
    assert bank.storage.path is not None
    return MemoryBank.open(bank.storage.path, embedder=bank._parts.embedder)


def awaited(bank: MemoryBank) -> int:
    loaded = bank._inside.scopes._states.get(SCOPE)
    return len(loaded.awaited) if loaded is not None else 0


def test_each_recall_makes_some_of_it_and_says_that_it_searches_a_part(upgraded: MemoryBank) -> None:
    left: list[int] = []
    for _ in range(SESSIONS - 1):
        with pytest.warns(DegradedWarning, match=r"only the sessions that came last .* bank\.prepare\(scope\)"):
            found = upgraded.recall(SCOPE, "bardan kello", k=3)
        assert found.hits
        assert {turn.session for turn in found.turns} <= {f"s{each}" for each in range(awaited(upgraded), SESSIONS)}
        left.append(awaited(upgraded))
    assert left == [*range(SESSIONS - 1, 0, -1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "zeppelin" in upgraded.recall(SCOPE, "When is the zeppelin?", k=1).text
        found_then = answers(upgraded)
    assert found_then == anew(upgraded)


@pytest.mark.filterwarnings("ignore:the search index of the scope")
def test_what_was_made_is_kept_where_a_process_ends(upgraded: MemoryBank) -> None:
    follow = ScopeCache._follow_session
    with patch.object(ScopeCache, "_follow_session", autospec=True, side_effect=follow) as followed:
        for number in range(SESSIONS):
            with another(upgraded) as process:
                process.recall(SCOPE, "bardan kello", k=3)
                assert awaited(process) == SESSIONS - 1 - number
                assert process.check() == ()
        with another(upgraded) as process:
            found = answers(process)
            assert followed.call_count == SESSIONS, "no session was analysed twice"
            assert found == anew(process)


@pytest.mark.filterwarnings("ignore:the search index of the scope")
def test_two_processes_make_it_together(upgraded: MemoryBank) -> None:
    with another(upgraded) as other:
        for _ in range(2 * SESSIONS):
            for bank in (upgraded, other):
                bank.recall(SCOPE, "bardan kello", k=3)
        assert awaited(upgraded) == awaited(other) == 0
        assert answers(upgraded) == answers(other) == anew(other)


@pytest.mark.filterwarnings("ignore:the search index of the scope")
@pytest.mark.parametrize("steps", [0, 1, 3, SESSIONS])
def test_nothing_of_what_is_forgotten_meanwhile_stays(steps: int, upgraded: MemoryBank) -> None:
    for _ in range(steps):
        upgraded.recall(SCOPE, "bardan kello", k=3)
    # In quotes, as vectors may hold any two bytes.
    assert b'"s7"' in kept(upgraded) or steps < SESSIONS
    [doomed] = [turn for turn in upgraded.turns(SCOPE, "s0") if "zeppelin" in turn.text]
    upgraded.forget(SCOPE, turn_ids=[doomed.id])
    upgraded.forget(SCOPE, session="s7")
    assert blocks(upgraded), "what is left of it is still made in steps"
    told = kept(upgraded)
    assert b"zeppelin" not in told
    assert b'"s7"' not in told
    assert upgraded.check() == ()
    with another(upgraded) as process:
        process.recall(SCOPE, "bardan kello", k=3)
        process.prepare(SCOPE)
        assert answers(process) == anew(process)


@pytest.mark.filterwarnings("ignore:the search index of the scope")
def test_a_session_that_goes_on_comes_first(upgraded: MemoryBank) -> None:
    upgraded.recall(SCOPE, "bardan kello", k=3)
    upgraded.remember(SCOPE, [{"role": "user", "content": "The zeppelin is late."}], session="s1", at=AT)
    assert "late" in upgraded.recall(SCOPE, "Is the zeppelin late?", k=1).text
    upgraded.prepare(SCOPE)
    assert answers(upgraded) == anew(upgraded)


def test_all_of_it_is_made_ahead_without_a_warning(upgraded: MemoryBank) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        upgraded.prepare(SCOPE)
        assert awaited(upgraded) == 0
        with another(upgraded) as process:
            assert answers(process) == answers(upgraded) == anew(process)


def test_a_long_session_is_taken_in_in_parts(tmp_path: Path) -> None:
    path, rng = tmp_path / "memory.db", random.Random(7)
    with MemoryBank.open(path) as bank:
        for number in range(150):
            bank.remember(SCOPE, exchange(number, rng), session="s0", at=AT + timedelta(hours=number))
        bank.prepare(SCOPE)
    with patch.object(kept_index, "FORM", kept_index.FORM + 1), patch.object(index_steps, "_RUN", 8):
        found: list[int] = []
        while not found or found[-1] < 150:
            with MemoryBank.open(path) as bank, warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                bank.recall(SCOPE, "bardan kello", k=3)
                loaded = bank._inside.scopes._states.get(SCOPE)
                assert loaded is not None
                found.append(len(loaded.index))
                assert any(each.category is DegradedWarning for each in warned) == (found[-1] < 150)
        assert len(found) > 2
        assert found == sorted(set(found))
        with MemoryBank.open(path) as bank:
            assert answers(bank) == anew(bank)


@pytest.mark.filterwarnings("ignore:the search index of the scope")
def test_on_each_store_processes_go_on_with_it_until_it_is_whole(place: Path | str) -> None:
    rng = random.Random(7)
    with MemoryBank.open(place) as bank:
        bank.remember(SCOPE, [{"role": "user", "content": "The zeppelin is on Monday."}], session="first", at=AT)
        for number in range(10):
            bank.remember(SCOPE, exchange(number, rng), session=f"s{number // 5}", at=AT + timedelta(hours=number))
        bank.prepare(SCOPE)
    with patch.object(kept_index, "FORM", kept_index.FORM + 1):
        seen = []
        for _ in range(4):
            with MemoryBank.open(place) as process:
                found = process.recall(SCOPE, "When is the zeppelin?", k=1).text
                seen.append((awaited(process), "zeppelin" in found))
                assert process.check() == ()
    assert seen == [(2, False), (1, False), (0, True), (0, True)]


def test_sessions_of_few_texts_are_embedded_together(tmp_path: Path) -> None:
    path, embedder = tmp_path / "memory.db", HashingEmbedder(64)
    with MemoryBank.open(path) as bank:
        for number in range(200):
            said = [{"role": "user", "content": f"Note {number}: the boat was painted {number} times."}]
            bank.remember(SCOPE, said, session=f"s{number}", close=True)
        bank.prepare(SCOPE)
    with MemoryBank.open(path, embedder=embedder) as bank:
        bank.prepare(SCOPE)
        assert embedder.calls < 20
        assert bank.stats(SCOPE).vectors == 2 * 200
        assert not bank.check()


def test_what_was_left_to_later_is_embedded_together() -> None:
    embedder = HashingEmbedder(64)
    with MemoryBank.open(embedder=embedder) as bank:
        for number in range(100):
            said = [{"role": "user", "content": f"Note {number}: the boat was painted {number} times."}]
            bank.remember(SCOPE, said, session=f"s{number}", close=True, later=True)
        bank.derive(SCOPE)
        assert embedder.calls < 5
        assert bank.stats(SCOPE).vectors == 2 * 100
