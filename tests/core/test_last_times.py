"""Months that are named without a year: the last in which anything was said."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from secom_core.bank import MemoryBank
from secom_core.memory import Recall

SCOPE = ("acme", "alice")
NOW = datetime(2026, 5, 20, 12, tzinfo=timezone.utc)

SAID = {
    "2024-03-09": "Planted a cherry tree today.",
    "2024-10-12": "My bike needs a new chain.",
    "2025-03-08": "Planted a fig tree today.",
    "2025-07-05": "We painted the fence blue.",
    "2026-03-14": "Planted a plum tree today.",
    "2026-04-18": "The kitchen tap drips.",
}
TREES = "cherry", "fig", "plum"


@pytest.fixture
def bank():
    with MemoryBank.open() as opened:
        for day, text in SAID.items():
            at = datetime.fromisoformat(f"{day}T10:00:00+00:00")
            opened.remember(SCOPE, [{"role": "user", "content": text, "at": at}], session=day, close=True)
        yield opened


def first_tree(recall: Recall) -> str:
    best = max(
        (hit for hit in recall.hits if any(tree in hit.turns[0].text for tree in TREES)), key=lambda hit: hit.score
    )
    return next(tree for tree in TREES if tree in best.turns[0].text)


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ("Which tree did I plant in March?", "plum"),
        ("Which tree did I plant in March 2024?", "cherry"),
        ("Which tree did I plant in March last year?", "fig"),
        ("Which tree did I plant last March?", "plum"),
        ("Which tree was planted in mid-March?", "plum"),
        ("Which tree was planted between February and April?", "plum"),
        ("Was haben wir im März planted?", "plum"),
        ("3月にplantedのは？", "plum"),
    ],
)
def test_a_month_without_a_year_is_the_last_one(bank: MemoryBank, query: str, tree: str) -> None:
    assert first_tree(bank.recall(SCOPE, query, token_budget=500, now=NOW)) == tree


def test_what_was_said_then_is_of_the_last_such_month_alone(bank: MemoryBank) -> None:
    found = bank.recall(SCOPE, "What did we talk about in March?", token_budget=500, now=NOW, only_relevant=True).hits
    assert [str(hit.turns[0].at)[:7] for hit in found if hit.relevance > 0.5] == ["2026-03"]


def test_every_such_month_where_the_question_says_so(bank: MemoryBank) -> None:
    def on_days(query: str) -> int:
        hits = bank.recall(SCOPE, query, token_budget=500, now=NOW).hits
        trees = [hit.signals["date"] for hit in hits if "tree" in hit.turns[0].text]
        return sum(each == max(trees) for each in trees)

    assert on_days("Which tree did I plant in March?") == 1
    assert on_days("Which tree do I plant every year in March?") == 3


def test_it_is_the_last_in_which_anything_was_said(bank: MemoryBank) -> None:
    # In July 2026 nothing was said yet, and in October 2025 nothing either.
    july = bank.recall(SCOPE, "What did we talk about in July?", now=datetime(2026, 7, 20, tzinfo=timezone.utc))
    october = bank.recall(SCOPE, "What did we talk about in October?", now=NOW)
    assert max(july.hits, key=lambda hit: hit.relevance).turns[0].text.endswith(SAID["2025-07-05"])
    assert max(october.hits, key=lambda hit: hit.relevance).turns[0].text.endswith(SAID["2024-10-12"])
