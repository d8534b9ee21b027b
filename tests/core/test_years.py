"""Accounts that live for years: what was said over a long time, and what somebody told years ago."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from secom_core.bank import MemoryBank

SCOPE = ("a", "b")
NOW = datetime(2026, 11, 28, 10)


@pytest.fixture(scope="module")
def diary() -> Iterator[MemoryBank]:
    """One session a day, each of some sentences and a long reply, for a year and a half."""
    with MemoryBank.open() as bank:
        first = datetime(2025, 6, 1, 9)
        for day in range(545):
            at = first + timedelta(day)
            told = f"On the {day}th day we walked to the harbour and I counted {day} boats, then it rained until noon."
            bank.remember(SCOPE, [("user", told), ("assistant", "How nice. " * 60)], session=f"{day:03d}", at=at)
        yield bank


def days(bank: MemoryBank, query: str, budget: int = 300) -> list[datetime]:
    hits = bank.recall(SCOPE, query, token_budget=budget, now=NOW).hits
    return sorted(turn.messages[0].at for hit in hits for turn in hit.turns if turn.messages[0].at)


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("What did I say in March?", datetime(2026, 3, 1), datetime(2026, 4, 1)),
        ("Worüber haben wir im Sommer 2025 gesprochen?", datetime(2025, 6, 1), datetime(2025, 9, 1)),
        ("What did we talk about in 2026?", datetime(2026, 1, 1), NOW),
        ("What have I been up to this month?", datetime(2026, 11, 1), NOW),
    ],
)
def test_a_small_block_is_from_all_over_a_long_time(
    diary: MemoryBank, query: str, first: datetime, last: datetime
) -> None:
    shown = [at for at in days(diary, query) if first <= at.replace(tzinfo=None) < last]
    assert len(shown) >= 4
    thirds = {int(3 * ((at.replace(tzinfo=None) - first) / (last - first))) for at in shown}
    assert thirds == {0, 1, 2}


@pytest.fixture(scope="module")
def old_friend() -> Iterator[MemoryBank]:
    """Who somebody is, told first, one instruction, and then years of preferences and of narrow instructions."""
    with MemoryBank.open() as bank:
        first = datetime(2023, 12, 1, 9)

        def tell(day: int, text: str) -> None:
            bank.remember(SCOPE, [("user", text)], session=f"{day:04d}", at=first + timedelta(day), close=True)

        tell(0, "Hi, my name is Jonas Wieland, and I work as a physiotherapist.")
        tell(1, "Please always answer me without emojis.")
        for day in range(2, 700):
            drink, food, place = (f"{name}{day % size}" for name, size in (("tea", 31), ("cake", 29), ("inn", 23)))
            tell(day, f"I prefer {drink} with {food} at the {place}.")
            if day % 20 == 0:
                tell(day, f"Always add the {food} price when I ask about the {place}.")
        tell(330, "We moved to Dresden.")
        tell(340, "We moved to Ghent, and I don't like meat any more.")
        yield bank


def test_who_somebody_is_comes_before_years_of_preferences(old_friend: MemoryBank) -> None:
    text = old_friend.recall(SCOPE, "What do you know about me?", token_budget=300, now=NOW).text
    assert "Jonas Wieland" in text
    assert "Ghent" in text
    assert "Dresden" not in text


def test_who_somebody_is_is_listed_after_years(old_friend: MemoryBank) -> None:
    told = [each.passage.text for each in old_friend.standing(SCOPE)]
    assert any("Jonas Wieland" in text for text in told)
    assert not any("Dresden" in text for text in told)


def test_an_instruction_for_every_answer_comes_before_newer_ones_for_some(old_friend: MemoryBank) -> None:
    assert "without emojis" in old_friend.recall(SCOPE, "Which ferry goes on Sunday?", token_budget=400, now=NOW).text
