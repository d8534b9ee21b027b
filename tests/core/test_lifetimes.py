"""What has an end, or is more than a scope may hold, is gone when it has come: from every answer and from the files."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from dense_stores import DictionaryStore
from embedders import HashingEmbedder

from secom_core import MemoryBank, Message
from secom_core.errors import DegradedWarning, InvalidInput
from secom_core.lifetimes import Cap, Lifetime

ANN, BOB = ("acme", "ann"), ("acme", "bob")
WORKER = Path(__file__).with_name("lifetime_worker.py")
SECRET = "Zyzzogeton"


def now() -> datetime:
    return datetime.now(timezone.utc)


def ago(**time: float) -> datetime:
    return now() - timedelta(**time)


def later(**time: float) -> datetime:
    return now() + timedelta(**time)


def said(*texts: str, at: datetime | None = None) -> list[Message]:
    return [Message(text, at=at) for text in texts]


def words(bank: MemoryBank, scope: tuple[str, ...] = ANN) -> list[str]:
    return [turn.content for turn in bank.turns(scope)]


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open() as opened:
        opened.remember(ANN, said("The rent is due.", at=ago(days=2)), session="old")
        yield opened


def test_a_recall_of_what_has_not_changed_asks_once(bank) -> None:
    bank.recall(ANN, "rent")
    statements: list[str] = []
    bank._store.engine.raw_connection().driver_connection.set_trace_callback(statements.append)
    assert "rent" in bank.recall(ANN, "What of the rent?").text
    assert len(statements) == 1, "the scope, what has ended of it, its cap and its marks are one question"


def test_a_cap_takes_what_corrects_a_pinned_turn_last(bank) -> None:
    [turn] = bank.remember(ANN, said("I must not have penicillin."), session="ill", at=ago(days=9)).turn_ids
    bank.corrections.pin(ANN, turn)
    first = bank.correct(ANN, turn, "I must not have amoxicillin.", at=ago(days=8))
    bank.correct(ANN, first, "I must not have ampicillin.", at=ago(days=7))
    bank.remember(ANN, said("The walk was nice.", at=ago(days=1)), session="walk")
    bank.lifetimes.cap(ANN, turns=3)
    assert words(bank) == ["I must not have penicillin.", "I must not have amoxicillin.", "I must not have ampicillin."]
    bank.lifetimes.cap(ANN, turns=1)
    assert words(bank) == ["I must not have ampicillin."]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_an_end_without_an_offset_is_of_the_time_zone_of_the_bank(zone: str) -> None:
    by_the_clock = datetime.now(ZoneInfo(zone)).replace(tzinfo=None) + timedelta(hours=1)
    with MemoryBank.open(timezone=zone) as bank:
        bank.remember(ANN, said("one"), session="turn", expires=by_the_clock)
        bank.remember(ANN, said("two"), session="all")
        bank.lifetimes.set(ANN, by_the_clock, session="all")
        ends, _ = bank.lifetimes.of(ANN)
        assert {each.expires for each in ends} == {by_the_clock.replace(tzinfo=ZoneInfo(zone))}
        assert bank.lifetimes.end_expired(by_the_clock - timedelta(minutes=1)) == 0
        assert bank.lifetimes.end_expired(by_the_clock) == 2


@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize("part", ["turn", "session", "session, later"])
def test_what_corrects_a_turn_ends_with_it(tmp_path, part: str) -> None:
    with MemoryBank.open(tmp_path / "a.db", summaries=True) as bank:
        end = later(hours=1)
        [turn] = bank.remember(ANN, said("The door code is 4711."), session="door", close=True).turn_ids
        if part == "session":
            bank.lifetimes.set(ANN, end, session="door")
        first = bank.correct(ANN, turn, f"The door code is {SECRET}.")
        assert bank.correct(ANN, turn, f"The door code is {SECRET}, and the gate is open.") != first
        if part != "session":
            named = {"turn_ids": [turn]} if part == "turn" else {"session": "door"}
            bank.lifetimes.set(ANN, end, **named)
        assert SECRET in bank.recall(ANN, "What is the door code?").text
        assert bank.lifetimes.end_expired(end) == 3
        assert words(bank) == []
        assert SECRET not in bank.recall(ANN, "What is the door code?", layers=["summaries"]).text


def test_a_correction_with_an_end_of_its_own_keeps_it(bank) -> None:
    end = later(hours=1)
    [turn] = bank.remember(ANN, said("The door code is 4711."), session="door", expires=end).turn_ids
    newer = bank.correct(ANN, turn, "The door code is 9932.")
    bank.lifetimes.set(ANN, end + timedelta(hours=1), turn_ids=[newer])
    assert bank.lifetimes.end_expired(end) == 1
    assert words(bank) == ["The rent is due.", "The door code is 9932."]


# -- ends -------------------------------------------------------------------------------------------------------------


def test_a_turn_goes_with_its_end_before_anything_is_read(bank) -> None:
    expires = later(hours=1)
    [turn] = bank.remember(ANN, said(f"The word is {SECRET}."), session="brief", expires=expires).turn_ids
    assert SECRET in bank.recall(ANN, "What is the word?", token_budget=200).text
    assert bank.lifetimes.of(ANN) == ([Lifetime(expires, "brief", turn)], None)
    bank.lifetimes.set(ANN, ago(seconds=1), turn_ids=[turn])
    with bank._store.transaction(write=False) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM messages").scalar() == 2
    # Each is the first to read.
    readers = [
        lambda: bank.recall(ANN, "What is the word?", token_budget=200).text,
        lambda: words(bank),
        lambda: bank.sessions(ANN),
        lambda: bank.memories(ANN, "brief"),
        lambda: list(bank.storage.export(ANN)),
        lambda: bank.chats.read(ANN, "brief"),
        lambda: bank.stats(ANN),
    ]
    for read in readers:
        found = repr(read())
        assert SECRET not in found
        assert "brief" not in found
        bank.remember(ANN, said(f"The word is {SECRET}."), session="brief", expires=ago(seconds=1))
        bank._store.append(ANN, "brief", said(f"{SECRET}!", at=now()), also=bank.lifetimes.ending(ago(seconds=1)))


def test_what_has_ended_in_the_past_is_never_seen(bank) -> None:
    bank.remember(ANN, said(SECRET), session="brief", expires=ago(days=1))
    assert words(bank) == ["The rent is due."]


def test_a_reply_goes_with_its_turn_and_an_end_can_be_taken_away(bank) -> None:
    [turn] = bank.remember(ANN, said("What is it?"), session="s", expires=later(hours=1)).turn_ids
    bank.remember(ANN, [("assistant", SECRET)], session="s")
    bank.lifetimes.set(ANN, None, turn_ids=[turn])
    assert bank.lifetimes.of(ANN) == ([], None)
    assert len(words(bank)) == 2
    bank.lifetimes.set(ANN, ago(seconds=1), turn_ids=[turn])
    assert words(bank) == ["The rent is due."]


@pytest.mark.usefixtures("each_store")
def test_sessions_and_scopes_end_and_begin_anew(tmp_path) -> None:
    with MemoryBank.open(tmp_path / "a.db") as bank:
        for scope in (ANN, BOB):
            bank.remember(scope, said("one", "two"), session="brief")
            bank.remember(scope, said("three"), session="long")
        bank.lifetimes.set(ANN, ago(seconds=1), session="brief")
        bank.remember(ANN, said("again"), session="brief")
        assert words(bank) == ["three", "again"]
        assert bank.lifetimes.of(ANN) == ([], None)
        bank.lifetimes.set(ANN, ago(seconds=1))
        bank.remember(ANN, said("anew"), session="s")
        assert words(bank) == ["anew"]
        bank.lifetimes.set(ANN, ago(seconds=1))
        assert bank.lifetimes.end_expired() == 1
        assert bank.scopes() == [BOB]
        assert words(bank, BOB) == ["one", "two", "three"]


def test_an_end_is_set_before_anything_is_remembered_and_others_are_left_alone(bank) -> None:
    bank.lifetimes.set(BOB, later(hours=1))
    bank.remember(BOB, said("brief"), session="s")
    assert bank.lifetimes.end_expired(later(minutes=59)) == 0
    assert bank.lifetimes.end_expired(later(minutes=61)) == 1
    assert (words(bank, BOB), words(bank)) == ([], ["The rent is due."])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"session": "none"}, "no session 'none'"),
        ({"turn_ids": ["none"]}, "no turn of this scope has the id 'none'"),
        ({"turn_ids": "none"}, "a sequence of turn_ids"),
        ({"session": "old", "turn_ids": []}, "give a session, or"),
        ({"expires": "tomorrow"}, "expires is a datetime"),
    ],
)
def test_what_cannot_end_is_refused(bank, given, says) -> None:
    with pytest.raises(InvalidInput, match=says):
        bank.lifetimes.set(ANN, given.pop("expires", later(hours=1)), **given)
    with pytest.raises(InvalidInput, match="expires is a datetime"):
        bank.remember(ANN, said("never"), session="s", expires=3)  # type: ignore[arg-type]
    assert bank.lifetimes.of(ANN) == ([], None)
    assert words(bank) == ["The rent is due."]


# -- caps -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_store")
def test_the_oldest_goes_first_and_what_is_pinned_last(tmp_path) -> None:
    with MemoryBank.open(tmp_path / "a.db") as bank:
        bank.lifetimes.cap(ANN, turns=3)
        for day in (3, 9, 5, 7):
            [turn] = bank.remember(ANN, said(f"day {day}", at=ago(days=day)), session=f"s{day % 2}").turn_ids
            if day == 9:
                bank.corrections.pin(ANN, turn)
        assert sorted(words(bank)) == ["day 3", "day 5", "day 9"]
        bank.lifetimes.cap(ANN, turns=1)
        assert words(bank) == ["day 9"]
        bank.lifetimes.cap(ANN)
        bank.remember(ANN, said(*"abcde"), session="more")
        assert len(words(bank)) == 6


@pytest.mark.usefixtures("each_store")
def test_bytes_are_counted_as_they_are_written(tmp_path) -> None:
    with MemoryBank.open(tmp_path / "a.db") as bank:
        bank.lifetimes.cap(ANN, bytes=10)
        bank.remember(ANN, said("äöü", at=ago(days=2)), session="s")
        bank.remember(ANN, said("abcd", at=ago(days=1)), session="s")
        assert words(bank) == ["äöü", "abcd"]
        bank.remember(ANN, said("x"), session="s")
        assert words(bank) == ["abcd", "x"]
        bank.remember(ANN, said("more than ten bytes"), session="s")
        assert words(bank) == []


def test_what_is_too_old_goes_without_a_write(bank) -> None:
    bank.remember(ANN, said("new"), session="s")
    bank.lifetimes.cap(ANN, age=timedelta(days=3))
    assert len(words(bank)) == 2
    with bank._store.transaction(write=False) as connection:
        checked = connection.exec_driver_sql("SELECT checked, next_us FROM scope_caps").one()
    assert abs(checked.next_us / 1e6 - later(days=1).timestamp()) < 60
    assert bank.lifetimes.end_expired(later(hours=25)) == 1
    assert words(bank) == ["new"]


@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize("capped", ["before", "after", "shorter"])
def test_what_is_dated_far_ahead_counts_from_when_it_was_found(tmp_path, capped: str) -> None:
    with MemoryBank.open(tmp_path / "a.db") as bank:
        if capped != "after":
            bank.lifetimes.cap(ANN, age=timedelta(days=3 if capped == "before" else 300))
        ahead = said("wrong clock", at=datetime(2099, 1, 1, tzinfo=timezone.utc))
        [wrong] = bank.remember(ANN, ahead, session="a").turn_ids
        own = bank.remember(ANN, ahead, session="a", expires=later(days=1)).turn_ids
        bank.remember(ANN, said("another zone", at=later(hours=20)), session="b")
        bank.lifetimes.cap(ANN, age=timedelta(days=3))
        ends, _ = bank.lifetimes.of(ANN)
        assert [each.turn_id for each in ends] == [*own, wrong]
        assert abs(ends[-1].expires - later(days=3)) < timedelta(minutes=5)
        assert bank.lifetimes.end_expired(later(days=2)) == 1
        assert words(bank) == ["wrong clock", "another zone"]
        assert bank.lifetimes.end_expired(later(days=3, hours=1)) == 1
        assert words(bank) == ["another zone"]


@pytest.mark.parametrize("cap", [{"turns": 0}, {"bytes": True}, {"age": timedelta()}, {"age": 3}, {"turns": 2**80}])
def test_a_cap_that_is_none_is_refused(bank, cap) -> None:
    with pytest.raises(InvalidInput, match="a cap of"):
        bank.lifetimes.cap(ANN, **cap)


# -- gone is gone -----------------------------------------------------------------------------------------------------


def full(path: Path, outside: DictionaryStore) -> MemoryBank:
    layers = {"summaries": True, "timelines": True, "topics": True, "citations": True}
    return MemoryBank.open(path, vector_store=outside, embedder=HashingEmbedder(16), **layers)


def test_what_has_ended_is_gone_from_files_layers_and_stores_outside(tmp_path) -> None:
    outside = DictionaryStore(HashingEmbedder(16))
    with full(tmp_path / "a.db", outside) as bank:
        for day in range(4):
            secret = said(f"My doctor said {SECRET} to me in week {day}, and I fear it.", at=ago(days=9 - day))
            bank.remember(ANN, secret, session=f"s{day}", close=True, expires=later(hours=1))
            bank.remember(ANN, said("The garden blooms.", at=ago(days=9 - day)), session=f"s{day}", close=True)
        bank.recall(ANN, SECRET, token_budget=500)
        assert SECRET in outside.texts()
        assert bank.lifetimes.end_expired(later(hours=2)) == 4
        assert SECRET not in outside.texts()
        shown = bank.recall(ANN, f"the doctor and {SECRET}", token_budget=500, layers=["summaries"]).text
        assert "garden" in shown
        assert SECRET not in shown
    raw = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert SECRET.encode() not in raw
    assert SECRET.lower().encode() not in raw


@pytest.mark.parametrize(
    "call",
    [
        lambda bank: bank.summaries.latest(ANN),
        lambda bank: bank.topics.all(ANN),
        lambda bank: bank.timelines.events(ANN),
        lambda bank: bank.timelines.find(ANN, "violin"),
        lambda bank: bank.would_forget(ANN, session="s"),
        lambda bank: bank.changes(ANN),
        lambda bank: bank.citations.log(ANN),
        lambda bank: bank.derive(ANN),
        lambda bank: bank.rebuild(ANN),
        lambda bank: bank.close_session(ANN, "open"),
        lambda bank: bank.end_idle_sessions(later(days=1)),
    ],
    ids=range(11),
)
def test_what_has_ended_goes_before_any_call_that_reads_its_scope(
    tmp_path, call: Callable[[MemoryBank], object]
) -> None:
    layers = {"summaries": True, "timelines": True, "topics": True, "citations": True, "changes": True}
    with MemoryBank.open(tmp_path / "bank.db", **layers) as bank:
        bank.remember(ANN, said("I bought a violin at the harbour.", at=ago(days=2)), session="s", close=True)
        bank.remember(ANN, said("The violin is in the attic.", at=now()), session="open")
        bank.lifetimes.set(ANN, later(seconds=0.05))
        time.sleep(0.1)
        assert "violin" not in str(call(bank))
        assert b"violin" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_ends_move_and_leave_with_their_scope(tmp_path) -> None:
    with MemoryBank.open(tmp_path / "a.db") as bank, MemoryBank.open(tmp_path / "b.db") as other:
        bank.remember(ANN, said("one", "two"), session="s", expires=later(days=1))
        bank.lifetimes.set(ANN, later(days=2), session="s")
        bank.lifetimes.set(ANN, later(days=3))
        bank.lifetimes.cap(ANN, turns=7, bytes=900, age=timedelta(days=4))
        kept = bank.lifetimes.of(ANN)
        assert len(kept[0]) == 4
        bank.rebuild(ANN)
        assert bank.check(ANN, repair=True) == ()
        lines = list(bank.storage.export(ANN))
        other.storage.import_(lines, scope=BOB)
        other.storage.import_(lines, scope=BOB)
        bank.storage.move_to(other.storage)
        assert bank.lifetimes.of(ANN) == other.lifetimes.of(ANN) == other.lifetimes.of(BOB) == kept
        assert kept[1] == Cap(7, 900, timedelta(days=4))
        assert other.lifetimes.end_expired(later(days=1, hours=1)) == 4
        broken = [line.replace('"cap": {"turns": 7', '"cap": {"turns": -7') for line in lines]
        with pytest.raises(InvalidInput, match="line"):
            other.storage.import_(broken, scope=("x",))


def test_a_vector_store_that_fails_hides_nothing_and_brings_nothing_back(tmp_path) -> None:
    outside = DictionaryStore(HashingEmbedder(16))
    with MemoryBank.open(tmp_path / "a.db", vector_store=outside) as bank:
        bank.remember(ANN, said("The garden blooms."), session="s")
        [turn] = bank.remember(ANN, said(SECRET), session="s", expires=later(hours=1)).turn_ids
        bank.lifetimes.set(ANN, ago(seconds=1), turn_ids=[turn])
        outside.failing = {"delete"}
        with pytest.warns(DegradedWarning, match="gone from the bank"):
            assert words(bank) == ["The garden blooms."]
        outside.failing = set()
        assert SECRET not in bank.recall(ANN, SECRET, token_budget=200).text
        assert SECRET not in outside.texts()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::secom_core.errors.DegradedWarning")
def test_kill_9_at_any_moment_shows_nothing_that_has_ended(tmp_path) -> None:
    path, moments, promised = tmp_path / "bank.db", random.Random(7), []
    for run in range(4):
        command = [sys.executable, str(WORKER), str(path), f"w{run}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        promised.append(process.stdout.readline().strip())
        time.sleep(moments.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        promised += [line.strip() for line in process.communicate()[0].splitlines(keepends=True) if line[-1] == "\n"]
        time.sleep(0.01)
        with MemoryBank.open(path) as bank:
            assert "zyzzogeton" not in bank.recall(ANN, "zyzzogeton brief parcel", token_budget=500).text
            ids = {turn.id for turn in bank.turns(ANN)}
            assert ids >= set(promised)
            assert not any("zyzzogeton" in text for text in words(bank))
            assert bank.lifetimes.of(ANN) == ([], None)
        raw = b"".join(each.read_bytes() for each in tmp_path.iterdir())
        assert b"zyzzogeton" not in raw
    assert len(promised) >= 4


@pytest.mark.slow
def test_ten_thousand_ends_cost_no_more_than_what_has_ended(tmp_path) -> None:
    with MemoryBank.open(tmp_path / "a.db") as bank:
        moment = now()
        for session in range(20):
            texts = [f"The {SECRET.lower()}{session}x{place} of hill {place % 97}." for place in range(500)]
            expires = moment + timedelta(hours=1 + session % 2)
            bank.remember(ANN, said(*texts), session=f"s{session}", expires=expires, later=True)
        bank.remember(BOB, said("The garden blooms."), session="s")
        seen: list[str] = []

        def look(connection: sqlite3.Connection, *rest: object) -> None:
            connection.set_trace_callback(seen.append)

        sa.event.listen(bank._store.engine, "checkout", look)
        words(bank, BOB)
        state = next(each for each in seen if "lifetimes" in each)
        sa.event.remove(bank._store.engine, "checkout", look)
        with bank._store.transaction(write=False) as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {state}").all()
        assert not [step for step in plan if step[3].startswith("SCAN")], plan
        assert bank.lifetimes.end_expired(moment + timedelta(minutes=90)) == 5000
        assert bank.stats(ANN).turns == 5000
        assert bank.lifetimes.end_expired(moment + timedelta(hours=3)) == 5000
        assert words(bank) == []
        assert words(bank, BOB) == ["The garden blooms."]
    raw = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert SECRET.lower().encode() not in raw


def statements(bank: MemoryBank, act: Callable[[], object]) -> list[str]:
    """What the database is asked meanwhile."""
    asked: list[str] = []
    connection = bank._store.engine.raw_connection().driver_connection
    connection.set_trace_callback(asked.append)
    act()
    connection.set_trace_callback(None)
    return asked


@pytest.mark.parametrize("cap", [{"turns": 1_000}, {"age": timedelta(days=100)}], ids=["turns", "age"])
def test_a_turn_within_the_cap_does_not_have_every_other_turn_read(bank, cap) -> None:
    bank.lifetimes.cap(ANN, **cap)
    bank.remember(ANN, said("It is 900 now."), session="new")
    asked = statements(bank, lambda: bank.remember(ANN, said("And the lift is broken."), session="new"))
    assert not [each for each in asked if "ORDER BY messages_1.at_us" in each]


def test_of_a_large_cap_a_few_more_go_at_once(tmp_path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        for at in range(20):
            bank.remember(ANN, said(*(f"Note {at}-{turn}." for turn in range(60))), session=f"{at:02d}", close=True)
        bank.lifetimes.cap(ANN, turns=1_000)
        counts = []
        for turn in range(12):
            bank.remember(ANN, said(f"Today {turn}."), session="today")
            counts.append(len(words(bank)))
        assert counts == [996, 997, 998, 999, 1000, 995, 996, 997, 998, 999, 1000, 995]


def test_what_the_oldest_turn_that_is_left_becomes_too_old_is_known_after_it_was_forgotten(bank) -> None:
    bank.lifetimes.cap(ANN, age=timedelta(days=2, seconds=1))
    bank.remember(ANN, said("It is 900 now.", at=ago(hours=1)), session="new")
    bank.forget(ANN, session="old")
    time.sleep(1.1)
    assert words(bank) == ["It is 900 now."]
    asked = statements(bank, lambda: bank.recall(ANN, "rent"))
    assert len(asked) < 12
