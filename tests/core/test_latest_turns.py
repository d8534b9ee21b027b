"""The turns of a session, which a process keeps, are those that the bank holds, whoever has changed it since."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from secom_core import MemoryBank
from secom_core.conversation import Message, Turn
from secom_core.errors import InvalidInput

SCOPE = ("acme", "alice")


def _question(number: int) -> Message:
    return Message(f"Question {number}, and what comes with it?", id=f"q{number}")


def _answer(number: int) -> Message:
    return Message(f"Answer {number}.", role="assistant", id=f"a{number}")


def _stored(bank: MemoryBank) -> list[Turn]:
    """The turns of the session as the store has them; nothing that is kept helps."""
    row = bank._store.session_named(SCOPE, "s1")
    return bank._store.turns(row) if row is not None else []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_latest_turns_are_those_of_the_bank_whatever_two_processes_do(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    path = tmp_path / "memory.db"
    with MemoryBank.open(path) as ours, MemoryBank.open(path) as other:
        for number in range(60):
            bank = draw.choice((ours, other))
            match draw.choice(("ask", "ask", "answer", "answer", "close", "forget", "forget all", "derive")):
                case "ask":
                    bank.remember(SCOPE, [_question(number)], session="s1")
                case "answer":
                    bank.remember(SCOPE, [_answer(number)], session="s1")
                case "close":
                    bank.close_session(SCOPE, "s1")
                case "derive":
                    bank.derive(SCOPE)
                case "forget all":
                    if draw.random() < 0.3:
                        bank.forget(SCOPE)
                case "forget":
                    turns = bank.turns(SCOPE, "s1")
                    bank.forget(SCOPE, turn_ids=[draw.choice(turns).id] if turns else ["q0"])
            held = _stored(ours)
            for last in draw.sample((1, 2, 5, 64, None), 2):
                assert ours.turns(SCOPE, "s1", last=last) == held[-(last or 0) :]
                assert other.turns(SCOPE, "s1", last=last) == held[-(last or 0) :]


def test_an_imported_answer_is_seen(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank, MemoryBank.open() as source:
        source.remember(SCOPE, [_question(1), _answer(1), _question(2), _answer(2)], session="s1")
        lines = list(source.storage.export(SCOPE))
        bank.remember(SCOPE, [_question(1), _question(2), _answer(2)], session="s1")
        before = bank.turns(SCOPE, "s1", last=5)

        bank.storage.import_(lines)

        after = bank.turns(SCOPE, "s1", last=5)
        assert after == bank.turns(SCOPE, "s1") == _stored(bank)
        assert sum(len(turn.messages) for turn in before) + 1 == sum(len(turn.messages) for turn in after)


@pytest.mark.parametrize("last", [3, None])
def test_what_has_not_changed_is_not_read_again(last: int | None) -> None:
    with MemoryBank.open() as bank:
        bank.remember(SCOPE, [_question(number) for number in range(20)], session="s1")
        bank.turns(SCOPE, "s1")
        statements: list[str] = []
        connection: Any = bank._store.engine.raw_connection().driver_connection
        connection.set_trace_callback(statements.append)

        assert [turn.id for turn in bank.turns(SCOPE, "s1", last=last)][-3:] == ["q17", "q18", "q19"]

        # Whether anything has ended and whether the session has changed are one question.
        assert len(statements) == 1
        assert "FROM messages" not in statements[0]


def test_of_a_whole_session_only_what_is_new_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryBank.open() as bank:
        bank.remember(SCOPE, [_question(number) for number in range(20)], session="s1")
        before = bank.turns(SCOPE, "s1")
        bank.remember(SCOPE, [_question(20)], session="s1")
        monkeypatch.setattr("secom_core.stores.latest.turns_from", None)

        after = bank.turns(SCOPE, "s1")

        assert after == _stored(bank)
        assert [each is known for each, known in zip(after, before, strict=False)] == [True] * 19 + [False]


def test_forgotten_words_leave_the_memory_of_the_process() -> None:
    with MemoryBank.open() as bank:
        bank.remember(SCOPE, [_question(1)], session="s1")
        bank.turns(SCOPE, "s1", last=10)
        assert "Question 1" in repr(bank._inside.latest._known)

        bank.forget(SCOPE, turn_ids=["q1"])

        assert "Question 1" not in repr(bank._inside.latest._known)


@pytest.mark.parametrize("last", [-1, 1.0, True, "3"])
def test_a_number_of_turns_that_is_none_is_refused(last: object) -> None:
    with MemoryBank.open() as bank:
        bank.remember(SCOPE, [_question(1), _question(2)], session="s1")

        assert bank.turns(SCOPE, "s1", last=0) == []
        with pytest.raises(InvalidInput, match="last is a whole number"):
            bank.turns(SCOPE, "s1", last=last)  # type: ignore[arg-type]
