"""Filters: what does not pass is neither found nor shown, and a recall is that of a bank which holds only the rest."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from secom_core import MemoryBank, Message, Recall
from secom_core.ranking.weights import DENSE, LEXICAL
from tests.embedders import HashingEmbedder

SCOPE = ("acme", "ann")
START = datetime(2025, 1, 1, tzinfo=timezone.utc)
WORDS = (
    "harbour mill rent kayak flat garden bike train coffee doctor piano guitar swim run bread cheese wine tea".split()
)
QUERIES = (
    "Where is the harbour?",
    "rent of the flat",
    "Ann kayak garden",
    "What did we talk about last time?",
    "zebra",
)

Said = tuple[Message, str]
Passes = Callable[[Message, str], bool]


def people(turns: int, seed: int = 3) -> list[Said]:
    """Utterances of two people, some of them said again."""
    draw, at, said = random.Random(seed), START, []
    for number in range(turns):
        at += timedelta(minutes=draw.choice([1, 5, 600]))
        text = " ".join(draw.choices(WORDS, k=draw.randint(3, 9))) + draw.choice([".", "?", " now."])
        about = {"project": draw.choice("abc"), "number": number, "by": {"team": draw.choice(["x", "y"])}}
        message = Message(text, role="", speaker=draw.choice(["Ann", "Bob"]), id=f"m{number}", at=at, metadata=about)
        said.append((message, f"s{number // 12}"))
    return said


def chats(turns: int, seed: int = 3) -> list[Said]:
    """A user who asks and states, sometimes in the same words, and an assistant that answers."""
    said = [(replace(each, speaker=None), session) for each, session in people(turns, seed)]
    roles = [replace(each, role="assistant" if place % 2 else "user") for place, (each, _) in enumerate(said)]
    again = {place: roles[place - 6].text for place in range(6, turns, 10)}
    return [(replace(each, text=again.get(place, each.text)), said[place][1]) for place, each in enumerate(roles)]


def remembered(bank: MemoryBank, said: Iterable[Said]) -> MemoryBank:
    for message, session in said:
        bank.remember(SCOPE, [message], session=session, later=True)
    bank.derive(SCOPE)
    return bank


def shown(recall: Recall) -> list[Any]:
    """What was found and shown, with its score; names of memories say where in a session it stands, and may differ."""
    return [
        (hit.turn_ids, round(hit.score, 4), round(hit.relevance, 4), hit.kind, hit.text, hit.repeats)
        for hit in recall.hits
    ]


FILTERS: list[Any] = [
    pytest.param(people, {"metadata.project": "a"}, lambda m, s: m.metadata["project"] == "a", id="equal"),
    pytest.param(people, {"metadata.by.team": "x"}, lambda m, s: m.metadata["by"]["team"] == "x", id="path"),
    pytest.param(people, {"session": {"in": ["s1", "s4"]}}, lambda m, s: s in ("s1", "s4"), id="one of"),
    pytest.param(
        people,
        {"speaker": "Ann", "metadata.number": {"ge": 20, "lt": 90}},
        lambda m, s: m.speaker == "Ann" and 20 <= m.metadata["number"] < 90,
        id="range",
    ),
    pytest.param(people, {"at": {"gt": "2025-01-02", "le": "2025-01-09"}}, lambda m, s: 3 <= m.at.day <= 9, id="time"),
    pytest.param(
        people,
        {"or": [{"metadata.project": "b"}, {"not": {"speaker": "Bob"}, "metadata.number": {"lt": 40}}]},
        lambda m, s: m.metadata["project"] == "b" or (m.speaker != "Bob" and m.metadata["number"] < 40),
        id="joined",
    ),
    pytest.param(chats, {"role": "user"}, lambda m, s: m.role == "user", id="users"),
]


@pytest.mark.slow
@pytest.mark.parametrize("dense", [False, True], ids=["words", "vectors"])
@pytest.mark.parametrize(("talk", "where", "passes"), FILTERS)
def test_a_filtered_recall_is_that_of_a_bank_which_holds_only_what_passes(
    talk: Callable[[int], list[Said]], where: Mapping[str, Any], passes: Passes, dense: bool, place: Path | str
) -> None:
    parts: dict[str, Any] = {"granularity": "turn", "embedder": HashingEmbedder(64) if dense else None}
    if talk is chats:
        # A key says who speaks, and what is left of a turn that is cut does not.
        fitted = DENSE if dense else LEXICAL
        parts["weights"] = {name: weight for name, weight in fitted.items() if "segment" not in name}
    said = talk(120)
    with MemoryBank.open(place, **parts) as bank, MemoryBank.open(**parts) as alone:
        remembered(bank, said)
        remembered(alone, [each for each in said if passes(*each)])
        for query in QUERIES:
            for options in ({"token_budget": 150}, {"token_budget": 1500}, {"k": 5}, {"only_relevant": True}):
                now = START + timedelta(days=40)
                filtered = bank.recall(SCOPE, query, where=where, now=now, **options)
                expected = alone.recall(SCOPE, query, now=now, **options)
                assert shown(filtered) == shown(expected)
                assert (filtered.text, filtered.confidence) == (expected.text, expected.confidence)
