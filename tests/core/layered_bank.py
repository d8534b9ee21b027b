"""A bank with every layer in it: segments, vectors, events and links, summaries, topics, answers, a taught reranker,
marks by hand and lifetimes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from embedders import HashingEmbedder

from secom_core.bank import MemoryBank
from secom_core.chats import ChatRecord
from secom_core.citations import RerankerOptions
from secom_core.conversation import Message
from secom_core.topics import SimilarityRule, TopicOptions

ANN, BOB = ("acme", "ann"), ("acme", 'b"o/b\0😀')
MAY = datetime(2024, 5, 3, 12, tzinfo=timezone.utc)
TALK = {
    "s1": [
        ("Ann", "My parcel with the red bicycle helmet has not arrived."),
        ("Bo", "The courier left the helmet with your neighbour Quentin."),
        ("Ann", "By the way, the oven thermostat broke again. \0 \ud800 ‮"),
        ("Bo", "A technician can come on Thursday for the thermostat."),
    ],
    "s2": [
        ("Ann", "Quentin had the red bicycle helmet, thank you!"),
        ("Bo", "Lovely. How is the sourdough starter?"),
        ("Ann", "The sourdough starter died while we hiked in the Dolomites."),
    ],
    "s3'; --": [
        ("Ann", "The technician repaired the oven thermostat on Thursday."),
        ("Ann", "I bake sourdough bread in the oven again."),
    ],
}
QUERIES = ("Who had the helmet?", "What happened to the thermostat?", "sourdough starter")


def layered(where: str | Path, **parts: Any) -> MemoryBank:
    """The bank, opened with every layer."""
    return MemoryBank.open(
        where,
        embedder=HashingEmbedder(),
        timelines=True,
        changes=True,
        summaries=True,
        topics=TopicOptions(rule=SimilarityRule(least=0.1), recall_without_model=True),
        citations=RerankerOptions(),
        **parts,
    )


def filled(where: str | Path, **parts: Any) -> MemoryBank:
    """The bank with two scopes."""
    bank = layered(where, **parts)
    for scope in (ANN, BOB):
        for day, (name, lines) in enumerate(TALK.items()):
            said = [
                Message(
                    text, "", who, f"{name}-{place}", MAY + timedelta(days=day, minutes=place), {"n": [place, None]}
                )
                for place, (who, text) in enumerate(lines)
            ]
            bank.remember(scope, said, session=name, close=True)
        bank.chats.write(scope, "s1", [ChatRecord("s1-0", "s1-0", None), ChatRecord("s1-0", None, {"role": "tool"})])
        for query in QUERIES * 2:
            impression = bank.recall(scope, query, k=3, now=MAY).impression
            assert impression is not None
            bank.citations.reward(scope, query, impression, [1])
        bank.corrections.pin(scope, "s1-0")
        bank.lifetimes.set(scope, MAY + timedelta(days=36_500), turn_ids=["s1-1"])
        bank.lifetimes.cap(scope, turns=1000)
    bank.forget(BOB, turn_ids=["s2-1"])
    return bank


def told(bank: MemoryBank, scope: tuple[str, ...]) -> dict[str, Any]:
    """Everything that can be asked of a scope, without the numbers that a database gives."""
    events = bank.timelines.events(scope)
    number = {event.id: place for place, event in enumerate(events)}
    return {
        "turns": [turn for name in bank.sessions(scope) for turn in bank.turns(scope, name)],
        "memories": [bank.memories(scope, name) for name in bank.sessions(scope)],
        "events": [(event.text, event.at, event.turn_ids) for event in events],
        "links": [(number[link.earlier], number[link.later], link.relation) for link in bank.timelines.links(scope)],
        "summaries": [(each.text, each.session, each.session_turn_ids) for each in bank.summaries.versions(scope)],
        "topics": [
            (each.speaker, each.turn_ids, [one.text for one in each.versions]) for each in bank.topics.all(scope)
        ],
        "log": bank.citations.log(scope),
        "learned": bank.citations.updates(scope),
        "recall": [
            bank.recall(scope, q, token_budget=200, now=MAY, layers=["summaries", "topics"]).text for q in QUERIES
        ],
        "timelines": [
            [[event.text for event in timeline.events] for timeline in bank.timelines.find(scope, q)] for q in QUERIES
        ],
    }
