"""The search index that is kept with the bank: a process that starts finds what one that grew with the scope finds."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from embedders import HashingEmbedder
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Dialect, delete, func, select, update
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement
from test_growing_index import AT, FACT, LONG, QUERIES, QUESTION, SCOPE, STEPS, Step, take, told

from secom_core.bank import MemoryBank, kept_index
from secom_core.bank.scope_cache import ScopeCache
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidScope, StaleIndex, StoreError
from secom_core.indexes import bm25
from secom_core.indexes.packed import packed, unpacked
from secom_core.indexes.postings import digest_of
from secom_core.ranking import columns
from secom_core.ranking.block import Block
from secom_core.ranking.blocks import APART
from secom_core.ranking.merged_columns import Merged
from secom_core.stores import driver
from secom_core.stores.schema import index_blocks
from secom_core.stores.sql import SqlStore
from secom_core.text.terms import terms

WORDS = [f"{first}{second}" for first in ("bar", "kel", "mon", "tur", "vis") for second in ("dan", "lo", "rik", "sem")]


@pytest.fixture(autouse=True)
def _small_blocks() -> Iterator[None]:
    with small_blocks():
        yield


@contextmanager
def small_blocks() -> Iterator[None]:
    """Blocks of a few turns, whose columns are read as those of a million rows are: a few rows at a time at first."""
    with (
        patch.object(kept_index, "_WORTH", 20),
        patch.object(kept_index, "_LARGE", 60),
        patch.object(columns, "_MANY", 0),
        patch.object(columns, "_FEW", 0),
    ):
        yield


def exchange(number: int, rng: random.Random) -> list[dict[str, str]]:
    question, answer = (" ".join(rng.choices(WORDS, k=size)) for size in (8, rng.choice((6, 20, 300))))
    said = f"On day {number} I saw {question}."
    return [{"role": "user", "content": said}, {"role": "assistant", "content": f"You told of {answer}."}]


def filled(bank: MemoryBank, turns: int, *, scope: tuple[str, ...] = SCOPE, seed: int = 5) -> None:
    """Remember exchanges in several sessions, with recalls between them, so that many blocks are written."""
    rng = random.Random(seed)
    for number in range(turns):
        session = f"s{number % 3 if number > turns // 2 else number // 7}"
        bank.remember(scope, exchange(number, rng), session=session, at=AT + timedelta(hours=number))
        if number % 3 == 0:
            bank.recall(scope, rng.choice(WORDS))


def answers(bank: MemoryBank, scope: tuple[str, ...] = SCOPE) -> list[object]:
    queries = ["bardan kello", "monrik and visdan on day 7", "What do you know about me?", "turlo", "zzz"]
    found = [told(bank.recall(scope, query, token_budget=400)) for query in queries]
    return [*found, *(told(bank.recall(scope, query, k=3)) for query in queries)]


def blocks(bank: MemoryBank) -> int:
    with bank._store.transaction(write=False) as connection:
        return int(connection.scalar(select(func.count(index_blocks.c.block.distinct()))) or 0)


def anew(bank: MemoryBank) -> list[object]:
    """What is found where nothing of the index is kept."""
    row = bank._store.scope(SCOPE)
    assert row is not None
    bank._store.drop_index(row.id)
    bank._inside.scopes.drop(SCOPE)
    return answers(bank)


@pytest.mark.long
@pytest.mark.slow
@given(STEPS, st.booleans(), st.sets(st.integers(0, 13)))
@example([Step("one", "user", FACT), Step("one", "assistant", LONG), Step("two", "assistant", LONG)], True, {0, 1})
@example(
    [Step("one", "user", QUESTION), Step("two", "user", QUESTION), Step("one", "assistant", LONG),
     Step("one", "forget", "first"), Step("one", "user", QUESTION)], False, {1, 2, 3}
)  # fmt: skip
@example(
    [Step("two", "user", QUESTION), Step("one", "user", QUESTION), Step("one", "user", LONG[:900]),
     Step("two", "assistant", LONG)], False, set()
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_a_start_at_any_moment_changes_nothing(steps: list[Step], dense: bool, starts: set[int]) -> None:
    with (
        MemoryBank.open(embedder=HashingEmbedder(64) if dense else None) as bank,
        patch.object(kept_index, "_WORTH", 1),
    ):
        for number, step in enumerate(steps):
            take(bank, step, number)
            bank.recall(SCOPE, QUERIES[number % len(QUERIES)])
            if number in starts:
                bank._inside.scopes.drop(SCOPE)
        grown = [told(bank.recall(SCOPE, query, token_budget=300)) for query in QUERIES]
        bank._inside.scopes.drop(SCOPE)
        cold = [told(bank.recall(SCOPE, query, token_budget=300)) for query in QUERIES]
        row = bank._store.scope(SCOPE)
        if row is not None:
            bank._store.drop_index(row.id)
        bank._inside.scopes.drop(SCOPE)
        made_anew = [told(bank.recall(SCOPE, query, token_budget=300)) for query in QUERIES]
    assert grown == cold == made_anew


@pytest.mark.slow
@pytest.mark.parametrize("embedder", [None, HashingEmbedder(64)], ids=["words", "vectors"])
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_another_process_reads_the_index_and_analyses_nothing(
    kind: str, embedder: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with_server = kind == "postgres"
    place = request.getfixturevalue("postgres").database() if with_server else None
    where = place.__enter__() if place is not None else tmp_path / "memory.db"
    with MemoryBank.open(where, embedder=embedder) as bank:
        filled(bank, 40)
        warm = answers(bank)
        assert blocks(bank) > 1, "what is new goes into a block of its own"
    with MemoryBank.open(where, embedder=embedder) as bank:
        with patch.object(bm25, "terms", side_effect=AssertionError("a text was analysed again")):
            bank._inside.scopes.caught_up(SCOPE)
        assert answers(bank) == warm
        # And it goes on from there.
        filled(bank, 12, seed=6)
        grown = answers(bank)
    with MemoryBank.open(where, embedder=embedder) as bank:
        assert answers(bank) == grown
        assert anew(bank) == grown
    if place is not None:
        place.__exit__(None, None, None)


@pytest.mark.slow
def test_two_processes_that_both_write_find_the_same(tmp_path: Path) -> None:
    rng = random.Random(7)
    with MemoryBank.open(tmp_path / "memory.db") as one, MemoryBank.open(tmp_path / "memory.db") as two:
        for number in range(40):
            writer, reader = (one, two) if rng.random() < 0.5 else (two, one)
            writer.remember(SCOPE, exchange(number, rng), session=f"s{number % 4}", at=AT + timedelta(hours=number))
            asked = rng.choice(WORDS)
            assert told(reader.recall(SCOPE, asked)) == told(writer.recall(SCOPE, asked))
        assert answers(one) == answers(two) == anew(one)


def test_what_another_process_has_written_anew_meanwhile_is_read_from_there(tmp_path: Path) -> None:
    stale = StaleIndex("as though another process had written a newer one", damaged=False)
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        filled(bank, 10)
        with patch.object(kept_index, "block_of", side_effect=stale) as asked, warnings.catch_warnings():
            warnings.simplefilter("error", DegradedWarning)
            filled(bank, 20, seed=6)
        assert asked.called
        filled(bank, 20, seed=7)
        assert blocks(bank)
        assert answers(bank) == anew(bank)


def test_how_common_terms_are_is_told_where_another_process_writes_the_index_anew_meanwhile(tmp_path: Path) -> None:
    path, known = tmp_path / "memory.db", [*terms(" ".join(WORDS))]
    with MemoryBank.open(path) as bank:
        filled(bank, 30)
    with MemoryBank.open(path) as one, MemoryBank.open(path) as two, warnings.catch_warnings():
        warnings.simplefilter("error", DegradedWarning)
        asked, right = (each._inside.statistics(SCOPE) for each in (one, two))
        assert asked is not None
        assert right is not None
        counts = [right.frequency(term) for term in known]
        assert min(counts) > 0
        [(scope_id,)] = two._store.glance("SELECT id FROM scopes")
        two._store.drop_index(scope_id)
        assert [asked.frequency(term) for term in known] == counts
        two.forget(SCOPE)
        assert one._inside.statistics(SCOPE) is None


DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "cut off": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "a bit turned": lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    "other bytes": lambda data: bytes(len(data)),
    "away": lambda data: None,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[object]]:
    """A bank with several blocks, and what it answers."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    with small_blocks(), MemoryBank.open(path) as bank:
        filled(bank, 25)
        right = answers(bank)
        assert blocks(bank)
    return path, right


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("part", ["opened", "words", "keys"])
def test_what_is_damaged_is_made_again_with_a_warning(
    damage: str, part: str, tmp_path: Path, whole: tuple[Path, list[object]]
) -> None:
    path, right = whole
    shutil.copy(path, tmp_path / "memory.db")
    with closing(sqlite3.connect(tmp_path / "memory.db")) as raw:
        rows = raw.execute(
            "SELECT block, piece, data FROM index_blocks WHERE part = ? ORDER BY block", [part]
        ).fetchall()
        block, piece, data = rows[len(rows) // 2]
        made, at = DAMAGE[damage](data), (block, part, piece)
        if made is None:
            raw.execute("DELETE FROM index_blocks WHERE block = ? AND part = ? AND piece = ?", at)
        else:
            raw.execute("UPDATE index_blocks SET data = ? WHERE block = ? AND part = ? AND piece = ?", [made, *at])
        raw.commit()
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        with pytest.warns(DegradedWarning, match="the stored search index cannot be used and is built again"):
            assert answers(bank) == right
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert answers(bank) == right
        assert blocks(bank) == 1
    with MemoryBank.open(tmp_path / "memory.db") as bank, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answers(bank) == right


@pytest.mark.parametrize("broken", ["index_blocks", "sqlite_autoindex_index_blocks_1", "words", "keys"])
def test_a_page_that_sqlite_cannot_read_is_answered_without(
    broken: str, tmp_path: Path, whole: tuple[Path, list[object]]
) -> None:
    path, right = whole
    data, place = bytearray(path.read_bytes()), tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as raw:
        pages = dict(raw.execute("SELECT name, rootpage FROM sqlite_master WHERE tbl_name = 'index_blocks'"))
        for part, piece in raw.execute("SELECT part, data FROM index_blocks WHERE part IN ('words', 'keys')"):
            pages[part] = data.index(piece[-64:]) // 4096 + 1
    data[(pages[broken] - 1) * 4096 : pages[broken] * 4096] = b"\xa5" * 4096
    place.write_bytes(data)
    with MemoryBank.open(place) as bank:
        with (
            pytest.warns(DegradedWarning, match="the stored search index cannot be used and is built again"),
            pytest.warns(DegradedWarning, match="stays, and each process makes the index for itself: .* is damaged"),
        ):
            assert answers(bank) == right
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert answers(bank) == right
            bank.remember(SCOPE, [Message("A zebra in the garden.")], session="new", close=True)
            assert "zebra" in bank.recall(SCOPE, "zebra").text


def test_another_scopes_blocks_are_no_ones(tmp_path: Path) -> None:
    other = ("acme", "bob")
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        filled(bank, 8)
        filled(bank, 12, scope=other, seed=9)
        right, ids = answers(bank), [bank._store.scope(each).id for each in (SCOPE, other)]  # type: ignore[union-attr]
        with bank._store.transaction() as connection:
            connection.execute(delete(index_blocks).where(index_blocks.c.scope_id == ids[0]))
            connection.execute(update(index_blocks).values(scope_id=ids[0]))
    with MemoryBank.open(tmp_path / "memory.db") as bank, pytest.warns(DegradedWarning, match="built again"):
        assert answers(bank) == right


def test_nothing_of_the_index_outlives_its_scope(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        filled(bank, 12)
        assert blocks(bank)
        bank.forget(SCOPE)
        assert not blocks(bank)


def kept(bank: MemoryBank) -> bytes:
    with bank._store.transaction(write=False) as connection:
        return b"".join(connection.scalars(select(index_blocks.c.data).order_by(index_blocks.c.piece)))


@pytest.mark.slow
@pytest.mark.parametrize("embedder", [None, HashingEmbedder(64)], ids=["words", "vectors"])
@pytest.mark.parametrize("started", [False, True], ids=["warm", "in a process that starts"])
@pytest.mark.parametrize("of", ["one turn", "a session", "several sessions"])
def test_the_index_that_stays_on_disk_holds_nothing_of_what_is_forgotten(
    of: str, started: bool, embedder: Any, tmp_path: Path
) -> None:
    digest = digest_of("zyzzyva").to_bytes(8, "little", signed=True)
    with MemoryBank.open(tmp_path / "memory.db", embedder=embedder) as bank:
        filled(bank, 9)
        said = [{"role": "user", "name": "Xavier Quux", "content": "The zyzzyva came."}]
        name = "a secret affair" if of != "one turn" else "s0"
        bank.remember(SCOPE, said, session=name, at=AT + timedelta(hours=9))
        filled(bank, 30, seed=8)
        bank.recall(SCOPE, "bardan")
        traces = [digest, b"Xavier Quux", *([b"secret affair"] if of != "one turn" else [])]
        assert all(each in kept(bank) for each in traces)
        turns = [turn for turn in bank.turns(SCOPE, name) if "zyzzyva" in turn.text]
    with MemoryBank.open(tmp_path / "memory.db", embedder=embedder) as bank:
        if not started:
            bank.recall(SCOPE, "bardan")
        ids = [turn.id for turn in turns]
        if of == "several sessions":
            ids += [turn.id for session in ("s0", "s1", "s2") for turn in bank.turns(SCOPE, session)[:2]]
        bank.forget(SCOPE, turn_ids=ids)
        assert not any(each in kept(bank) for each in traces)
        assert blocks(bank)
        analysed: list[str] = []
        terms = bm25.terms
        with patch.object(bm25, "terms", side_effect=lambda text, **how: analysed.append(text) or terms(text, **how)):
            warm = answers(bank)
        # The keys of memories that have lost a turn.
        assert len([text for text in analysed if len(text) > 60]) <= 3
        bank._inside.scopes.drop(SCOPE)
        assert answers(bank) == warm == anew(bank)


@pytest.mark.parametrize("started", [False, True], ids=["warm", "in a process that starts"])
def test_keys_that_were_cut_anew_leave_nothing_of_what_is_forgotten(started: bool, tmp_path: Path) -> None:
    digest = digest_of("zyzzyva").to_bytes(8, "little", signed=True)
    rng = random.Random(3)
    with MemoryBank.open(tmp_path / "memory.db") as bank, patch.object(kept_index, "_LARGE", 1):
        for number in range(8):
            said = exchange(number, rng)
            said[0]["content"] += " The zyzzyva came." if number == 1 else " Boats again."
            bank.remember(SCOPE, said, session="one", at=AT + timedelta(minutes=number))
            bank.recall(SCOPE, "bardan")
        assert blocks(bank) > 3
        if started:
            bank._inside.scopes.drop(SCOPE)
        for turn in bank.turns(SCOPE, "one")[:2]:
            bank.forget(SCOPE, turn_ids=[turn.id])
        assert blocks(bank)
        assert digest not in kept(bank)
        assert answers(bank) == anew(bank)


def test_a_first_reading_that_breaks_off_goes_on_where_it_was(tmp_path: Path) -> None:
    counted, breaks_at = 0, 150

    def counter(text: str) -> int:
        nonlocal counted
        counted += 1
        if counted == breaks_at:
            raise KeyboardInterrupt
        return len(text.split())

    with MemoryBank.open(tmp_path / "memory.db", token_counter=counter) as bank:
        rng = random.Random(7)
        for number in range(80):
            bank.remember(SCOPE, exchange(number, rng), session=f"s{number // 10}", at=AT + timedelta(hours=number))
        with pytest.raises(KeyboardInterrupt):
            bank.recall(SCOPE, "bardan")
        assert blocks(bank)
        counted, breaks_at = 0, -1
        found = answers(bank)
        again, counted = counted, 0
        assert blocks(bank) > 2
        assert anew(bank) == found
        assert again < counted - 40


def test_a_start_looks_at_no_session_again_where_the_first_reading_ended_with_a_full_block(tmp_path: Path) -> None:
    words = "bardan kello monrik"
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        for number in range(6):
            said = [{"role": role, "content": f"{words} {number}."} for role in ("user", "assistant") * 10]
            bank.remember(SCOPE, said, session=f"s{number}", at=AT + timedelta(hours=number), close=True)
        with patch.object(kept_index, "_FAR", 5):
            found = bank.recall(SCOPE, words).text
        assert blocks(bank) == 3, "two that are full, and one that says how far they go"
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        followed = bank._inside.scopes._derivation
        with patch.object(followed, "derive", side_effect=AssertionError("a session was looked at again")):
            assert bank.recall(SCOPE, words).text == found
        bank.remember(SCOPE, [{"role": "user", "content": "And turlo."}], session="s6", at=AT + timedelta(days=1))
        assert answers(bank) == anew(bank)


_WHOLE = st.sampled_from(["|i1", "<i2", "<i4", "<i8"])


@pytest.mark.parametrize("started", [False, True], ids=["warm", "after a start"])
def test_what_stands_beside_rows_is_what_their_columns_say(started: bool, tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        filled(bank, 40)
        bank.remember(SCOPE, [{"role": "user", "content": "Only this."}], session="alone", at=AT + timedelta(days=9))
        bank.forget(SCOPE, session="s1")
        bank.recall(SCOPE, "bardan")
        if started:
            bank._inside.scopes.drop(SCOPE)
        loaded = bank._inside.scopes.caught_up(SCOPE)
        assert loaded is not None
        table, rows = loaded.index.indexes.table, np.arange(len(loaded.index.indexes.table))
        neighbours, odd = table.neighbours, (table.odd_before, table.odd_after)
        beside = table.before_odd, table.after_odd
        every = {name: getattr(table.at(rows[::-1]), name) for name in columns._KINDS}
        table.hold()
        assert neighbours.tolist() == ((table.before >= 0).astype(float) + (table.after >= 0)).tolist()
        for found, there, column, step in zip(odd, beside, (table.before, table.after), (-1, 1), strict=True):
            assert found.tolist() == np.flatnonzero(column != rows + step).tolist()
            assert there.tolist() == column[found].tolist()
        assert all(every[name].tolist() == getattr(table, name)[::-1].tolist() for name in every)
        assert all(every[name].dtype == getattr(table, name).dtype for name in every)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_arrays_are_read_as_they_were_kept(data: st.DataObject) -> None:
    kind = data.draw(_WHOLE)
    most = data.draw(st.sampled_from([3, 100, 200, 40_000, 2**31, 2**63 - 1]))
    limits = np.iinfo(kind)
    start = data.draw(st.integers(int(limits.min), int(limits.max)))
    near = st.integers(max(int(limits.min), start - most), min(int(limits.max), start + most))
    values = data.draw(st.lists(near, max_size=30))
    rising = sorted(values) if data.draw(st.booleans()) else values
    arrays = {"whole": np.array(rising, dtype=kind), "real": np.array([0.1, -2.5]), "table": np.arange(6).reshape(2, 3)}
    about, read = unpacked(bytearray(packed({"of": "it"}, arrays)))
    assert about == {"of": "it"}
    for name, array in arrays.items():
        assert (read[name].dtype, read[name].tolist()) == (array.dtype, array.tolist())
    wider = np.empty(len(values), dtype=np.int64)
    read.copy_to(wider, "whole")
    assert wider.tolist() == rising
    places = np.array(data.draw(st.lists(st.integers(0, len(values) - 1))) if values else [], dtype=np.int64)
    assert read.at("whole", places).tolist() == wider[places].tolist()
    with pytest.raises(IndexError, match="none at 31"):
        read.at("whole", np.array([0, 31]))


@given(st.lists(st.tuples(st.integers(0, 199), st.integers(-(2**63), 2**63 - 1)), max_size=9), st.data())
@settings(max_examples=60, deadline=None)
def test_rows_beside_their_own_and_numbers_that_are_mostly_one_are_read_as_they_were_kept(
    odd: list[tuple[int, int]], data: st.DataObject
) -> None:
    rising = np.arange(200, dtype=np.int64)
    kinds = [rising[::-1], rising - 1, rising + (2**63 - 300), np.full(200, -1), np.zeros(200)]
    usual = data.draw(st.sampled_from(kinds))
    array = usual.astype(np.int64)
    array[data.draw(st.lists(st.integers(0, 199), max_size=3))] = -1
    for place, number in odd:
        array[place] = number
    _, read = unpacked(bytearray(packed({}, {"it": array, "after": np.array([7, 9])})))
    assert (read["it"].tolist(), read["after"].tolist()) == (array.tolist(), [7, 9])
    assert read.at("it", rising[::-3]).tolist() == array[::-3].tolist()
    first = data.draw(st.sampled_from([-1, 0, 1, 127, 128, -127, -128, 2**40]))
    assert read.may_differ("it", first, 200)[array != rising + first].all(), "what differs is looked at"


@pytest.mark.parametrize("shape", [[1], [], [10, 10], [2**62], [-1], ["100"]])
def test_a_column_of_another_length_than_its_block_says_is_damaged(shape: list[object]) -> None:
    rows = np.arange(-1, 99)
    rows[::50] = -1
    data = packed({}, {"row before": rows, "changed rows": np.zeros(0, dtype=np.int64)})
    size = int.from_bytes(data[:8], "little")
    told = data[8 : 8 + size].replace(b"[100]", json.dumps(shape).encode())
    head = len(told).to_bytes(8, "little") + told + bytes(-len(told) % 8)
    mark = {"start": [0] * 6, "stop": [100, 0, 0, 0, 0, 0]}

    def read() -> Merged:
        _, arrays = unpacked(bytearray(head + data[8 + size + -size % 8 :]))
        return Merged([Block(mark, arrays)], "passages")

    with pytest.raises(StaleIndex):
        read().copy_to(np.empty(100, dtype=np.int64), "before")
    with pytest.raises(StaleIndex):
        read().apart("before", -1)


def test_small_numbers_by_their_places_stay_within_their_bounds() -> None:
    rising = np.arange(-130, -2)
    rising[:2] = 5
    array = rising.astype(np.int8)
    assert unpacked(bytearray(packed({}, {"it": array})))[1]["it"].tolist() == array.tolist()


def test_numbers_that_rise_by_little_take_a_byte_each_and_those_that_are_mostly_one_hardly_any() -> None:
    rows = np.arange(10_000, dtype=np.int64) + 2**40
    assert len(packed({}, {"rows": rows})) < 10_200
    before = np.arange(10_000, dtype=np.int64) - 1
    before[::3], before[2000:2010] = -1, 9
    assert len(packed({}, {"before": before})) < 10_400
    mostly = np.arange(10_000, dtype=np.int64) - 1
    mostly[::50] = -1
    assert len(packed({}, {"mostly": mostly})) < 3_500
    once = np.ones(10_000, dtype=np.int64)
    once[::1000] = 400
    assert len(packed({}, {"once": once})) < 400


def test_a_start_reads_what_hardly_a_query_asks_for_only_before_rows_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        filled(bank, 300)
        bank.recall(SCOPE, "bardan kello")
    parts: list[str] = []
    pieces = SqlStore.index_pieces

    def read(store: SqlStore, scope_id: int, space: str, block: int, part: str, numbers: Sequence[int]) -> object:
        parts.append(part)
        return pieces(store, scope_id, space, block, part, numbers)

    monkeypatch.setattr(SqlStore, "index_pieces", read)
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        bank.recall(SCOPE, "bardan kello monrik")
        assert parts
        assert {*parts} <= {"words", "keys"}
        bank.remember(SCOPE, [Message("Monrik sold the loom.", "user")], session="new")
        bank.recall(SCOPE, "Who sold the loom?")
        assert {*parts} == {"words", "keys", *APART}
        assert answers(bank) == anew(bank)


def test_what_could_not_be_forgotten_is_still_found(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        filled(bank, 30)
        doomed = bank.turns(SCOPE, "s1")
    for fails in (True, False):
        with MemoryBank.open(tmp_path / "memory.db") as bank:
            for turn in doomed:
                found = bank.recall(SCOPE, turn.messages[0].text, token_budget=600)
                assert turn.id in [each.id for each in found.turns]
            if fails:
                with (
                    patch.object(type(bank._store), "forget_turns", side_effect=StoreError("the power went")),
                    pytest.raises(StoreError),
                ):
                    bank.forget(SCOPE, turn_ids=[turn.id for turn in doomed])
                found = bank.recall(SCOPE, doomed[0].messages[0].text, token_budget=600)
                assert doomed[0].id in [each.id for each in found.turns]


@pytest.mark.parametrize("started", [False, True], ids=["warm", "after a start"])
def test_what_is_forgotten_costs_no_other_session_a_look(started: bool, tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        filled(bank, 40)
        if started:
            bank._inside.scopes.drop(SCOPE)
        bank.recall(SCOPE, "bardan")
        first = bank.turns(SCOPE, "s2")[1].id
        analysed: list[str] = []
        terms = bm25.terms
        with patch.object(bm25, "terms", side_effect=lambda text, **how: analysed.append(text) or terms(text, **how)):
            bank.forget(SCOPE, turn_ids=[first])
            bank.recall(SCOPE, "bardan")
        # The key of the memory that has lost a turn, and the query.
        assert len([text for text in analysed if text != "bardan"]) == 1
        assert answers(bank) == anew(bank)


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("started", [False, True], ids=["warm", "after a start"])
def test_an_answer_that_comes_late_costs_no_other_turn_a_look(started: bool, settled: bool, tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank, MemoryBank.open(tmp_path / "memory.db") as other:
        filled(bank, 40)
        for name in ("first", "second"):
            bank.remember(SCOPE, [Message(f"The {name} question.", id=name)], session="late", at=AT)
        if settled:
            bank.close_session(SCOPE, "late")
        for each in (bank, other):
            each.recall(SCOPE, "bardan")
        if started:
            bank._inside.scopes.drop(SCOPE)
        analysed: list[str] = []
        terms = bm25.terms
        with patch.object(bm25, "terms", side_effect=lambda text, **how: analysed.append(text) or terms(text, **how)):
            late = Message("Kapibara, of course.", "assistant")
            bank.remember(SCOPE, [late], session="late", at=AT + timedelta(minutes=1), answers="first")
            for each in (bank, other):
                assert late.text in each.recall(SCOPE, "kapibara", token_budget=400).text
        assert {text for text in analysed if "question" not in text} <= {"kapibara", late.text}
        assert not bank.check(SCOPE)
        assert answers(other) == answers(bank) == anew(bank)


@pytest.mark.parametrize("late", [["one"], ["one", "two"], ["two", "one"]])
def test_a_session_that_an_answer_comes_to_late_keeps_its_place_in_the_day(tmp_path: Path, late: list[str]) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        for name in ("one", "two", "three"):
            bank.remember(SCOPE, [Message(f"The {name} question.", id=name)], session=name, at=AT, close=True)
            bank.recall(SCOPE, "zzz")
        for name in late:
            bank.remember(SCOPE, [Message("Of course.", "assistant")], session=name, at=AT, answers=name, later=True)
        shown = [told(bank.recall(SCOPE, "zzz", token_budget=budget)) for budget in (30, 40, 50, 60)]
        anew(bank)
        assert shown == [told(bank.recall(SCOPE, "zzz", token_budget=budget)) for budget in (30, 40, 50, 60)]


def test_a_session_that_goes_on_keeps_its_place_in_the_day_though_all_that_was_read_of_it_is_forgotten(
    tmp_path: Path,
) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        for name in ("one", "two", "three"):
            bank.remember(SCOPE, [Message(f"The {name} question.", id=name)], session=name, at=AT)
            bank.recall(SCOPE, "zzz")
        bank.remember(SCOPE, [Message("The next question.")], session="one", at=AT, later=True)
        bank.forget(SCOPE, turn_ids=["one"])
        shown = [told(bank.recall(SCOPE, "zzz", token_budget=budget)) for budget in (30, 40, 50, 60)]
        anew(bank)
        assert shown == [told(bank.recall(SCOPE, "zzz", token_budget=budget)) for budget in (30, 40, 50, 60)]


@pytest.mark.slow
def test_what_is_forgotten_elsewhere_meanwhile_is_not_shown(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        filled(bank, 25)
    with MemoryBank.open(tmp_path / "memory.db") as one, MemoryBank.open(tmp_path / "memory.db") as two:
        one._inside.scopes.caught_up(SCOPE)
        # Between the look at the revision and the reading of a turn.
        caught_up = one._inside.scopes.caught_up

        def then_forgotten(*args: Any, **options: Any) -> Any:
            loaded = caught_up(*args, **options)
            two.forget(SCOPE, session="s0")
            return loaded

        with patch.object(type(one._inside.scopes), "caught_up", side_effect=then_forgotten, autospec=False):
            found = one.recall(SCOPE, "day 1 day 2 day 3 bardan", token_budget=2000)
        assert found.hits
        assert all(turn.session != "s0" for turn in found.turns)
        assert answers(one) == anew(two)


def test_an_index_of_a_later_version_is_made_again_without_a_warning(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        filled(bank, 12)
        found, row = answers(bank), bank._store.scope(SCOPE)
        assert row is not None
        before = list(bank._store.index_blocks(row.id, ""))
        parts = bank._store.index_parts(row.id, "", before[-1])
        size = int.from_bytes(parts["opened"][:8], "little")
        head = json.loads(bytes(parts["opened"][8 : 8 + size]))
        head["about"]["stamp"][0] += 1
        head["arrays"]["row head"][4] = 99  # a way to keep numbers that this version does not know
        told = json.dumps(head).encode()
        later = {**parts, "opened": len(told).to_bytes(8, "little") + told + parts["opened"][8 + size :]}
        bank._store.save_index_blocks(row.id, "", row.epoch, [later], staying=before[:-1], going=before[-1:])
    with MemoryBank.open(tmp_path / "memory.db") as bank, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answers(bank) == found
        assert set(bank._store.index_blocks(row.id, "")).isdisjoint(before), "it is kept anew"


@pytest.mark.slow
@pytest.mark.parametrize("other", ["dimensions", "model", "counter", "no embedder"])
def test_an_index_made_in_another_way_is_made_again(other: str, tmp_path: Path) -> None:
    def opened(changed: bool) -> MemoryBank:
        embedder: Any = HashingEmbedder(32 if changed and other == "dimensions" else 64)
        if changed and other == "model":
            embedder.name = "another"
        counter: Any = {"token_counter": len} if changed and other == "counter" else {}
        embedder = None if changed and other == "no embedder" else embedder
        return MemoryBank.open(tmp_path / "memory.db", embedder=embedder, **counter)

    with opened(False) as bank:
        filled(bank, 12)
        bank.recall(SCOPE, "bardan")
        before = answers(bank)
    with opened(True) as bank, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "stored vectors of the embedder")
        found = answers(bank)
        assert found == anew(bank)
    with opened(True) as bank:
        assert answers(bank) == found
    if other in ("model", "no embedder"):
        with opened(False) as bank:
            assert answers(bank) == before


def test_a_scope_that_was_prepared_is_analysed_by_nobody_again(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    with MemoryBank.open(tmp_path / "memory.db", embedder=embedder) as bank:
        for number in range(12):
            bank.remember(SCOPE, exchange(number, random.Random(number)), session=f"s{number // 4}", close=True)
        assert blocks(bank) == 0
        bank.prepare(SCOPE)
        assert blocks(bank) > 0
    with (
        MemoryBank.open(tmp_path / "memory.db", embedder=embedder) as later,
        patch.object(ScopeCache, "_follow_session", side_effect=AssertionError("a session is analysed again")),
    ):
        calls = embedder.calls
        later.prepare(SCOPE)
        assert embedder.calls == calls + 1, "the embedder is asked once, so that it loads its model"
        assert later.recall(SCOPE, "bardan kello").hits


def test_nothing_is_prepared_where_nothing_is_remembered(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        bank.prepare(SCOPE)
        assert bank.scopes() == []
        with pytest.raises(InvalidScope):
            bank.prepare("alice")


def test_a_first_recall_compiles_no_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryBank.open(tmp_path / "a.db") as bank:
        filled(bank, 60)
        bank.recall(SCOPE, "bardan")
    compiled: list[str] = []
    begin = SQLCompiler.__init__

    def note(compiler: SQLCompiler, dialect: Dialect, statement: ClauseElement, *given: Any, **named: Any) -> None:
        compiled.append(type(statement).__name__)
        begin(compiler, dialect, statement, *given, **named)

    with MemoryBank.open(tmp_path / "a.db") as bank:
        driver._compiled.cache_clear()
        monkeypatch.setattr(SQLCompiler, "__init__", note)
        assert bank.recall(SCOPE, "bardan kello", token_budget=400).hits
        assert not compiled
        bank.forget(SCOPE, session="s0")
    # The notice notices.
    assert compiled
