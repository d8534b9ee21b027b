"""What one more exchange costs: only what is new of it is read, cut and written; and the memories are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sql_log import statements

from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Turn
from secom_core.memory import Memory, Segment, segments_from
from secom_core.segmenters import LexicalSegmenter, cohesion
from secom_core.stores import driver, messages
from secom_core.text.kept import Kept, forget_kept

ANN = ("acme", "ann")
MAY = datetime(2024, 5, 3, tzinfo=timezone.utc)
SUBJECTS = ("boats and harbours", "tax forms and receipts", "violin lessons")


def exchange(number: int) -> list[Message]:
    subject = SUBJECTS[number // 5 % 3]
    asked = Message(f"Question {number} about {subject}?", "user", at=MAY)
    return [asked, Message(f"Answer {number}: {subject} again.", "assistant", at=MAY)]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> Iterator[list[int]]:
    calls, real = [0], getattr(where, name)

    def counting(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        return real(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(where, name, counting)
        yield calls


def test_the_turns_before_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryBank.open() as bank:
        for number in range(20):
            bank.remember(ANN, exchange(number), session="s")
        with counted(monkeypatch, cohesion, "terms") as analysed, counted(monkeypatch, messages, "_message") as read:
            for number in range(20, 24):
                bank.remember(ANN, exchange(number), session="s")
    assert analysed == [8]
    assert read == [4 * 4]  # the last turn that was known may have grown


class Fifths(LexicalSegmenter):
    """Cuts after each fifth turn, and says how many it was given."""

    asked: ClassVar[list[int]] = []

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        self.asked.append(len(turns))
        first = turns[0].index if turns else 0
        return segments_from([place for place in range(len(turns) - 1) if (first + place) % 5 == 4], len(turns))


@pytest.mark.parametrize("every", [1, 4])
def test_a_long_open_session_is_cut_at_each_fourth_turn_and_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    monkeypatch.setattr(Fifths, "cut_every", every)
    monkeypatch.setattr(Fifths, "asked", [])
    with MemoryBank.open(tmp_path / "m.db", segmenter=Fifths()) as bank, MemoryBank.open(tmp_path / "m.db") as reader:
        for number in range(71):
            bank.remember(ANN, exchange(number), session="s")
            spans = [(each.turns[0].index, each.turns[-1].index) for each in bank.memories(ANN, "s")]
            assert [before[1] + 1 for before in spans] == [*(first for first, _ in spans[1:]), number + 1]
            # Only what came since the last cut may stand in the segment before.
            cut_at = number + 1 if every == 1 or number < 16 else (number + 1) // 4 * 4
            assert [first for first, _ in spans] == list(range(0, cut_at, 5))
            read, known = (each.recall(ANN, f"Question {number}?", k=3) for each in (reader, bank))
            assert read.text == known.text
        assert len(Fifths.asked) == {1: 71, 4: 16 + 13}[every]
        bank.close_session(ANN, "s")
        assert [each.turns[0].index for each in bank.memories(ANN, "s")] == list(range(0, 71, 5))
        assert bank.check(ANN) == ()


def test_statements_and_rows_are_few() -> None:
    asked: list[str] = []
    with MemoryBank.open() as bank:
        for number in range(20):
            bank.remember(ANN, exchange(number), session="s")
        connection: Any = bank.storage._store.engine.raw_connection().driver_connection
        connection.set_trace_callback(asked.append)
        bank.remember(ANN, exchange(20), session="s")
    # One of them asks whether anything of the scope has ended; two tell the connection how to sync.
    assert len(asked) <= 23, asked
    assert sum(each.startswith("BEGIN IMMEDIATE") for each in asked) == 2
    assert sum(each.startswith("INSERT INTO memories") for each in asked) <= 2  # of the last segment or two


def test_a_late_exchange_takes_as_many_as_an_early_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    took, read = list[int](), list[int]()
    with MemoryBank.open(tmp_path / "m.db") as bank:
        for number in range(208):
            with statements(bank) as asked, counted(monkeypatch, messages, "_message") as rows:
                bank.remember(ANN, exchange(number), session="s")
                bank.recall(ANN, f"Question {number}?", token_budget=500)
            took.append(len(asked))
            read.append(rows[0])
    # Now and then a block of the index is written too.
    assert min(took[200:]) <= min(took[20:28]) + 1
    # When the oldest segment settles, what has not is not read again either.
    assert set(read[20:]) == {4}


def test_what_is_known_is_found_without_a_look_at_all_messages(tmp_path: Path) -> None:
    talk = [Message(f"{place}", "user", None, f"m{place}", MAY) for place in range(12)]
    with MemoryBank.open(tmp_path / "m.db") as bank:
        bank.remember(("acme", "bob"), [Message("Hello")], session="s")
        bank.remember(ANN, talk[:9], session="s")
        with statements(bank) as asked:
            done = bank.remember(ANN, talk, session="s")
        with bank.storage._store.transaction(write=False) as connection:
            plans = {
                each: [step[3] for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {each}")]
                for each in asked
                if each.startswith("SELECT") and "FROM messages" in each
            }
    assert done.turn_ids == tuple(each.id for each in talk)
    assert plans
    scans = {each: plan for each, plan in plans.items() if any(step.startswith("SCAN messages") for step in plan)}
    assert not scans, scans


def test_two_writes_before_one_derivation_read_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[int]()
    with MemoryBank.open(tmp_path / "m.db") as bank:
        for number in range(120):
            asked, answered = exchange(number)
            bank.remember(ANN, [asked], session="s", later=True)
            bank.remember(ANN, [answered], session="s", later=True)
            with counted(monkeypatch, messages, "_message") as rows:
                bank.recall(ANN, f"Question {number}?", token_budget=500)
            read.append(rows[0])
    assert set(read[20:]) == {4}


def test_what_another_process_wrote_between_is_read(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "m.db") as bank, MemoryBank.open(tmp_path / "m.db") as other:
        for number in range(12):
            bank.remember(ANN, exchange(number), session="s")
        bank.remember(ANN, [exchange(12)[0]], session="s", later=True)
        other.forget(ANN, turn_ids=[other.turns(ANN, "s")[-4].id])
        other.remember(ANN, exchange(99), session="s", later=True)
        bank.remember(ANN, exchange(13), session="s", later=True)
        bank.recall(ANN, "Question 13?", token_budget=500)
        remembered = [turn for memory in bank.memories(ANN, "s") for turn in memory.turns]
        assert remembered == bank.turns(ANN, "s")
        assert len(remembered) == 14


def test_a_second_bank_compiles_no_statement_of_the_driver_again(tmp_path: Path) -> None:
    missed = []
    for name in ("a.db", "b.db"):
        with MemoryBank.open(tmp_path / name) as bank:
            bank.remember(ANN, exchange(0), session="s")
        missed.append(driver._compiled.cache_info().misses)
    assert 0 < missed[0] == missed[1]


def each_by_each(path: Path, act: Callable[[MemoryBank, int], object], *, anew: bool) -> list[Memory]:
    bank = MemoryBank.open(path)
    for number in range(70):
        if anew:
            bank.close()
            forget_kept()
            bank = MemoryBank.open(path)
        act(bank, number)
    with bank:
        return bank.memories(ANN, "s")


def remember_all_kinds(bank: MemoryBank, number: int) -> None:
    """Exchanges whole and in two calls, some forgotten, some by another hand."""
    asked, answered = exchange(number)
    if number % 7 == 3:
        bank.remember(ANN, [asked], session="s")
        bank.remember(ANN, [answered], session="s", later=number % 2 == 0)
    else:
        bank.remember(ANN, [asked, answered], session="s", close=number == 31)
    if number % 11 == 10:
        for each in exchange(number + 2000):
            bank.remember(ANN, [each], session="s", later=True)
        bank.recall(ANN, "Question?")
    if number % 23 == 22:
        bank.forget(ANN, turn_ids=[bank.turns(ANN, "s")[-3].id])
    if number % 17 == 16:
        with MemoryBank.open(bank.storage.path or "") as other:
            other.remember(ANN, exchange(number + 1000), session="s")


@pytest.mark.slow
def test_memories_are_those_of_a_process_that_knew_nothing(tmp_path: Path) -> None:
    known, unknown = (each_by_each(tmp_path / f"{anew}.db", remember_all_kinds, anew=anew) for anew in (False, True))
    assert [(each.id, each.key) for each in known] == [(each.id, each.key) for each in unknown]
    assert [[message.text for message in turn.messages] for each in known for turn in each.turns] == [
        [message.text for message in turn.messages] for each in unknown for turn in each.turns
    ]


def test_what_is_kept_is_bounded_and_let_go() -> None:
    made: list[str] = []

    def make(text: str) -> str:
        made.append(text)
        return text.upper()

    kept = Kept(make, characters=10)
    assert [kept("abcd"), kept("efgh"), kept("abcd"), kept("ijkl"), kept("abcd")] == "ABCD EFGH ABCD IJKL ABCD".split()
    assert made == ["abcd", "efgh", "ijkl"]
    kept("efgh")
    # Of a long message, a recall asks again with each of its passages.
    for _ in range(2):
        kept("longer than all the room")
    assert made[3:] == ["efgh", "longer than all the room"]
    forget_kept()
    kept("efgh")
    assert made[5:] == ["efgh"]


def test_forgotten_words_are_not_held() -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, exchange(0), session="s")
        bank.remember(ANN, exchange(1), session="s")
        bank.forget(ANN)
        assert not bank._inside.derivation._store.recent._known
        assert not cohesion._bag._made
