"""Sessions end by themselves: after a silence, or when the next one begins (RMM section 3)."""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from secom_core.bank import BackgroundWriter, MemoryBank, layers
from secom_core.companion import Companion
from secom_core.errors import InvalidInput
from secom_core.testing import ScriptedModel

ANN, BOB = ("acme", "ann"), ("acme", "bob")
NOON = datetime(2026, 3, 2, 12, tzinfo=timezone.utc)
LAYERS: dict[str, Any] = {"summaries": True, "timelines": True, "topics": True}


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def say(bank: Any, session: str, text: str, minutes: float, scope: tuple[str, ...] = ANN) -> tuple[str, ...]:
    return bank.remember(scope, [{"role": "user", "content": text}], session=session, at=after(minutes)).ended


def closed(bank: MemoryBank, scope: tuple[str, ...] = ANN) -> list[str]:
    return [row.name for row in bank._store.sessions_of(scope) if row.closed]


@pytest.fixture
def bank() -> Any:
    with MemoryBank.open(**LAYERS) as opened:
        yield opened


def test_sessions_are_sorted_by_their_last_message_where_that_is_asked_for(each_store: None) -> None:
    with MemoryBank.open() as bank:
        for session, minutes in (("new", 90), ("old", 0), ("resumed", 10), ("resumed", 120), ("as new", 90)):
            say(bank, session, "The kiln is cold.", minutes)
        assert bank.sessions(ANN) == ["new", "old", "resumed", "as new"]
        assert bank.sessions(ANN, latest_first=True) == ["resumed", "as new", "new", "old"]
        assert bank.sessions(BOB, latest_first=True) == []


@pytest.mark.parametrize("idle", [False, True])
def test_a_session_that_a_wrong_clock_has_dated_ends_too(each_store: None, idle: bool) -> None:
    ahead = datetime(2099, 1, 1, tzinfo=timezone.utc)
    with MemoryBank.open() as bank:
        bank.remember(ANN, [("user", "The shed has a red door.")], session="wrong", at=ahead)
        if idle:
            assert bank.end_idle_sessions(after(60)) == [(ANN, "wrong")]
        else:
            assert say(bank, "right", "I carved an owl.", 60) == ("wrong",)
        assert closed(bank) == ["wrong"]
        # Where all is dated so, the clock is that of a simulation.
        bank.remember(BOB, [("user", "It rains.")], session="a", at=ahead)
        assert bank.remember(BOB, [("user", "Still.")], session="a", at=ahead + timedelta(minutes=1)).ended == ()
        assert (BOB, "a") not in bank.end_idle_sessions(ahead + timedelta(minutes=2))


# -- when they end ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_session_that_begins_ends_the_one_before(each_store: None) -> None:
    with MemoryBank.open(**LAYERS) as bank:
        assert say(bank, "mon", "I moved to Ghent with my cat Mila.", 0) == ()
        assert bank.summaries.latest(ANN) is None
        assert say(bank, "tue", "The canoe has a leak near the bow.", 1) == ("mon",)
        assert closed(bank) == ["mon"]
        assert "Ghent" in bank.summaries.latest(ANN).text
        assert [event.session for event in bank.timelines.events(ANN)] == ["mon"]
        assert bank.topics.all(ANN)
        assert closed(bank, BOB) == []


@pytest.mark.slow
def test_a_silence_ends_every_session_of_the_scope_and_of_no_other(bank: MemoryBank) -> None:
    for scope in (ANN, BOB):
        say(bank, "a", "The kiln is cold.", 0, scope)
        say(bank, "b", "The canoe leaks.", 1, scope)
        say(bank, "a", "The kiln is warm.", 2, scope)
    assert closed(bank) == []
    assert sorted(say(bank, "c", "The accordion is out of tune.", 40)) == ["a", "b"]
    assert closed(bank) == ["a", "b"]
    assert closed(bank, BOB) == []


@pytest.mark.slow
def test_two_sessions_side_by_side_are_torn_apart_once_and_not_at_each_message(bank: MemoryBank) -> None:
    ended = [say(bank, "ab"[number % 2], f"Word {number} about the kiln.", number) for number in range(20)]
    assert ended == [(), ("a",), *[()] * 18]
    # A third one ends neither that another runs beside; a silence does.
    say(bank, "c", "The canoe leaks.", 20)
    assert closed(bank) == ["b"]
    assert say(bank, "b", "And the kiln?", 21) == ()
    assert sorted(say(bank, "d", "The accordion is new.", 22)) == ["c"]
    assert closed(bank) == ["c"]


@pytest.mark.slow
def test_many_at_once_in_one_scope_end_each_other_at_most_once(bank: MemoryBank) -> None:
    ended = [say(bank, f"s{number % 6}", f"Word {number} of the talk.", number) for number in range(36)]
    assert [name for each in ended for name in each] == [f"s{number}" for number in range(5)]


@pytest.mark.slow
def test_one_thread_for_life_ends_after_each_silence_and_goes_on(bank: MemoryBank) -> None:
    assert say(bank, "life", "I moved to Ghent.", 0) == ()
    assert say(bank, "life", "My cat is called Mila.", 5) == ()
    assert bank.summaries.latest(ANN) is None
    assert say(bank, "life", "I bought a canoe.", 400) == ("life",)
    assert closed(bank) == []
    assert "Mila" in bank.summaries.latest(ANN).text
    assert say(bank, "life", "It leaks at the bow.", 401) == ()
    assert "bow" not in bank.summaries.latest(ANN).text
    assert say(bank, "life", "A new day.", 900) == ("life",)
    assert "bow" in bank.summaries.latest(ANN).text
    assert len(bank.turns(ANN, "life")) == 5


@pytest.mark.slow
def test_a_late_message_opens_an_ended_session_and_layers_take_it_in_at_its_next_end(bank: MemoryBank) -> None:
    say(bank, "mon", "I moved to Ghent.", 0)
    say(bank, "tue", "The canoe leaks.", 5)
    assert closed(bank) == ["mon"]
    assert say(bank, "mon", "My cat Mila came along.", 10) == ()
    assert closed(bank) == []
    assert "Mila" not in bank.summaries.latest(ANN).text
    say(bank, "wed", "The accordion is new.", 60)
    assert closed(bank) == ["mon", "tue"]
    assert "Mila" in bank.summaries.latest(ANN).text
    assert [bank.layers.behind(ANN, name) for name in LAYERS] == [0, 0, 0]


@pytest.mark.slow
def test_what_is_imported_with_old_dates_ends_by_its_own_dates(bank: MemoryBank) -> None:
    """Not at once, for more of it may follow: when the next message comes, or the clock is looked at."""
    say(bank, "live", "I moved to Ghent.", 0)
    for day in range(3):
        for minute in range(4):
            ended = say(bank, f"day {day}", f"Old talk {minute} of day {day}.", day * 1440 + minute - 1_000_000)
            assert ended == ((f"day {day - 1}",) if day and not minute else ())
    # What was said before a session ended does not end it.
    assert closed(bank) == ["day 0", "day 1"]
    assert say(bank, "live", "My cat is called Mila.", 1) == ("day 2",)
    assert closed(bank) == ["day 0", "day 1", "day 2"]


@pytest.mark.slow
def test_idle_sessions_end_when_somebody_asks_for_it(each_store: None) -> None:
    with MemoryBank.open(**LAYERS, idle_after=timedelta(hours=2)) as bank:
        say(bank, "a", "I moved to Ghent.", 0)
        say(bank, "b", "The kiln is cold.", 90, BOB)
        assert bank.end_idle_sessions(after(119)) == []
        assert bank.end_idle_sessions(after(121)) == [(ANN, "a")]
        assert closed(bank) == ["a"]
        assert "Ghent" in bank.summaries.latest(ANN).text
        assert bank.summaries.latest(BOB) is None
        assert bank.end_idle_sessions() == [(BOB, "b")]
        assert bank.end_idle_sessions() == []


@pytest.mark.slow
def test_none_ends_where_that_is_not_wanted() -> None:
    with MemoryBank.open(**LAYERS, idle_after=False) as bank:
        for number in range(4):
            assert say(bank, f"s{number}", "The kiln is cold.", number * 1000) == ()
        assert bank.end_idle_sessions() == []
        assert closed(bank) == []


@pytest.mark.parametrize("value", [timedelta(0), timedelta(minutes=-1), 30, True])
def test_a_silence_is_a_length_of_time(value: Any) -> None:
    with pytest.raises(InvalidInput, match="idle_after is a timedelta above 0"):
        MemoryBank.open(idle_after=value)


# -- who does what is made of them ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("thread", ["life", "many"])
def test_a_background_writer_makes_what_is_made_of_ended_sessions(tmp_path: Path, thread: str) -> None:
    model = ScriptedModel("NO_TRAIT")
    with MemoryBank.open(tmp_path / "bank.db", topics=True, model=model) as bank, BackgroundWriter(bank) as writer:
        for day in range(4):
            asked = len(model.requests)
            say(writer, thread if thread == "life" else f"day {day}", f"I like kiln number {day}.", day * 1440)
            assert len(model.requests) == asked
            assert writer.flush(20)
        assert bank.layers.behind(ANN, "topics") == 0
        # What comes after a silence is taken in with what came before it.
        assert len(model.requests) == (2 if thread == "life" else 3)


@pytest.mark.slow
def test_the_loop_without_a_framework_has_topics_after_four_talks() -> None:
    model = ScriptedModel("I see.")
    with MemoryBank.open(**LAYERS) as bank:
        for number, about in enumerate(("kiln", "canoe", "cat", "accordion")):
            Companion(bank, ANN, model, session=f"talk {number}").reply(f"My {about} needs care, I think.")
        assert len(bank.summaries.versions(ANN)) == 3
        assert {event.session for event in bank.timelines.events(ANN)} == {"talk 0", "talk 1", "talk 2"}


@pytest.mark.slow
def test_with_a_background_writer_nobody_waits_for_the_end_of_the_talk_before(tmp_path: Path) -> None:
    model = ScriptedModel("NO_TRAIT")
    with MemoryBank.open(tmp_path / "bank.db", topics=True, model=model) as bank, BackgroundWriter(bank) as writer:
        for number in range(3):
            Companion(bank, ANN, ScriptedModel("I see."), session=f"talk {number}", writer=writer).reply(
                "I like kilns."
            )
        assert not model.requests
        assert writer.flush(20)
        assert len(model.requests) == 2


@pytest.mark.slow
def test_another_process_sees_who_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    with MemoryBank.open(path) as one:
        say(one, "a", "I moved to Ghent.", 0)
    with MemoryBank.open(path, **LAYERS) as two:
        assert say(two, "b", "The canoe leaks.", 1) == ("a",)
        assert "Ghent" in two.summaries.latest(ANN).text
    with MemoryBank.open(path, **LAYERS) as three:
        assert closed(three) == ["a"]
        assert three.end_idle_sessions() == [(ANN, "b")]


def test_what_another_writer_says_as_a_session_ends_is_no_damage(tmp_path, monkeypatch):
    known, left = layers.pending, ["My oven is blue."]
    with MemoryBank.open(tmp_path / "memory.db", summaries=True) as bank, MemoryBank.open(bank.storage.path) as other:

        def pending(*args, **options):
            if "session" in options and left:
                other.remember(ANN, [("user", left.pop())], session="s", later=True)
            return known(*args, **options)

        monkeypatch.setattr(layers, "pending", pending)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bank.remember(ANN, [("user", "My pump is red.")], session="s", close=True)
            bank.close_session(ANN, "s")
        assert not left
        assert "oven" in bank.summaries.latest(ANN).text
        assert bank.check() == ()
