"""Filters: what does not pass is neither found nor shown, and a recall is that of a bank which holds only the rest."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from functools import reduce
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secom_core import MemoryBank, Message, Recall
from secom_core.errors import InvalidInput
from secom_core.filters import MISSING, Condition, Joined, checked_filter, read_filter
from secom_core.ranking.weights import DENSE, LEXICAL
from secom_core.stores.database import Database
from secom_core.stores.glances import TURNS_AT
from secom_core.times import zone_of
from tests.dense_stores import DictionaryStore
from tests.embedders import HashingEmbedder

SCOPE = ("acme", "ann")
START = datetime(2025, 1, 1, tzinfo=timezone.utc)
WORDS = (
    "harbour mill rent kayak flat garden bike train coffee doctor piano guitar swim run bread cheese wine tea".split()
)
LARGE = 1000
"""So many turns that a scope's index is kept with the bank."""

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
    for session, group in groupby(said, key=itemgetter(1)):
        bank.remember(SCOPE, [message for message, _ in group], session=session, later=True)
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
    pytest.param(chats, {"speaker": "user"}, lambda m, s: m.role == "user", id="users by name"),
]


@pytest.mark.slow
@pytest.mark.parametrize("dense", [False, True], ids=["words", "vectors"])
@pytest.mark.parametrize(("talk", "where", "passes"), FILTERS)
def test_a_filtered_recall_is_that_of_a_bank_which_holds_only_what_passes(
    talk: Callable[[int], list[Said]], where: Mapping[str, Any], passes: Passes, dense: bool
) -> None:
    parts: dict[str, Any] = {"granularity": "turn", "embedder": HashingEmbedder(64) if dense else None}
    if talk is chats:
        # A key says who speaks, and what is left of a turn that is cut does not.
        fitted = DENSE if dense else LEXICAL
        parts["weights"] = {name: weight for name, weight in fitted.items() if "segment" not in name}
    said = talk(96)
    with MemoryBank.open(**parts) as bank, MemoryBank.open(**parts) as alone:
        remembered(bank, said)
        remembered(alone, [each for each in said if passes(*each)])
        for query in QUERIES:
            for options in ({"token_budget": 150}, {"token_budget": 1500}, {"k": 5}, {"only_relevant": True}):
                now = START + timedelta(days=40)
                filtered = bank.recall(SCOPE, query, where=where, now=now, **options)
                expected = alone.recall(SCOPE, query, now=now, **options)
                assert shown(filtered) == shown(expected)
                assert (filtered.text, filtered.confidence) == (expected.text, expected.confidence)


@pytest.mark.slow
def test_a_filter_holds_in_an_index_that_is_read_from_disk(place: Path | str) -> None:
    """Metadata are not in the index that is kept: they are read from the messages, once, and not with each recall."""
    said, where = people(LARGE), {"metadata.project": "a"}
    with MemoryBank.open(place) as bank:
        remembered(bank, said)
        expected = [bank.recall(SCOPE, query, where=where) for query in QUERIES]
    with MemoryBank.open(place) as bank:
        for query, recall in zip(QUERIES, expected, strict=True):
            assert shown(bank.recall(SCOPE, query, where=where)) == shown(recall)
            assert {message.metadata["project"] for turn in recall.turns for message in turn.messages} <= {"a"}
        new = Message("The kayak is new.", role="", id="new", metadata={"project": "a"})
        bank.remember(SCOPE, [new], session="new")
        assert "new" in [each.id for each in bank.recall(SCOPE, "new kayak", where=where).turns]
        bank.forget(SCOPE, turn_ids=["new"])
        assert "new" not in [each.id for each in bank.recall(SCOPE, "new kayak", where=where).turns]


@pytest.mark.slow
def test_a_first_filter_after_a_start_reads_no_words_but_those_it_shows(
    place: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, read = people(LARGE), [0]
    glance = Database.glance
    with MemoryBank.open(place) as bank:
        remembered(bank, said).recall(SCOPE, "kayak")

    def note(store: Database, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        if statement in TURNS_AT.values():
            read[0] += len(json.loads(values["pairs"]))
        return glance(store, statement, **values)

    with MemoryBank.open(place) as bank:
        monkeypatch.setattr(Database, "glance", note)
        found = bank.recall(SCOPE, "kayak", where={"metadata.number": {"lt": 20}}, token_budget=100)
        assert 0 < len(found.turns) <= read[0] <= 20
        # The notice notices: without a filter, more is read than these twenty.
        bank.recall(SCOPE, "kayak mill rent", token_budget=4000)
        assert read[0] > 40


@pytest.mark.slow
@pytest.mark.parametrize("where", [{"role": "user"}, {"role": "assistant"}, {"metadata.by.team": "x"}], ids=str)
def test_what_does_not_pass_is_never_shown(where: Mapping[str, Any]) -> None:
    """Neither beside a find, nor as the latest turn, nor in the memory or the turn that a hit is of."""
    said = chats(60)
    passing = read_filter(where)

    def passes(message: Message) -> bool:
        known = {"role": message.role, "metadata": message.metadata}
        return bool(passing.mask(lambda each: np.array([each.holds(known[each.field])]), 1)[0])

    with remembered(MemoryBank.open(), said) as bank:
        for query, options in product(
            (*QUERIES, "Who am I?"), ({"token_budget": 4000}, {"k": 9}, {"token_budget": 60})
        ):
            recall = bank.recall(SCOPE, query, where=where, **options)
            held = [turn for hit in recall.hits for turn in (*hit.turns, *hit.memory.turns)]
            assert all(passes(message) for turn in held for message in turn.messages)
            words = [hit.text for hit in recall.hits] + [hit.memory.key for hit in recall.hits]
            outside = {message.text for message, _ in said if not passes(message)}
            outside -= {message.text for message, _ in said if passes(message)}
            assert not [text for text in outside if any(text in each for each in words)]


def test_a_filter_that_nothing_passes_finds_nothing() -> None:
    with remembered(MemoryBank.open(), people(20)) as bank:
        recall = bank.recall(SCOPE, "harbour", where={"metadata.project": "nobody's"})
        assert (recall.hits, recall.text, recall.tokens) == ((), "", 0)
        assert bank.recall(SCOPE, "harbour", where={}).hits == bank.recall(SCOPE, "harbour").hits


@pytest.mark.slow
@pytest.mark.parametrize("share", [100, 4])
def test_a_vector_store_outside_is_asked_until_enough_passes(share: int) -> None:
    """No cut after the search: of 2,000 documents that are nearer, none takes the place of what passes."""
    near = [Message(f"harbour harbour number {number}", role="", id=f"n{number}") for number in range(1000)]
    far = [Message(f"a boat at the harbour in spring {number}", role="", id=f"f{number}") for number in range(share)]
    marked = [replace(each, metadata={"kind": "far"}) for each in far]
    parts: dict[str, Any] = {"granularity": "turn", "weights": {"passage_dense": 1.0}}
    bank, alone = (MemoryBank.open(vector_store=DictionaryStore(HashingEmbedder(64)), **parts) for _ in range(2))
    remembered(bank, [(each, "s") for each in [*near, *marked]])
    remembered(alone, [(each, "s") for each in marked])
    filtered = bank.recall(SCOPE, "harbour harbour", where={"metadata.kind": "far"}, token_budget=4000)
    assert {turn.id for turn in filtered.turns} <= {each.id for each in far}
    assert shown(filtered) == shown(alone.recall(SCOPE, "harbour harbour", token_budget=4000))


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("role", "a filter is a mapping such as"),
        ({"rol": "user"}, "the fields role, speaker, session, at and metadata.KEY"),
        ({"metadata.": 1}, "metadata.KEY"),
        ({"role": 5}, "'role' compares by 'eq' with a text"),
        ({"role": {"like": "%"}}, "compares by eq, in, lt"),
        ({"role": {"has": "u"}}, "'has' is for lists in metadata"),
        ({"metadata.a": {"lt": True}}, "a text of at most 2000 characters or a number, got True"),
        ({"metadata.a": float("nan")}, "a finite number"),
        ({"metadata.a": float("inf")}, "'metadata.a' compares by 'eq'"),
        ({"metadata.a": 10**5000}, "a finite number"),
        ({"metadata.a": [1]}, "got [1]; for any of several values use 'in', for a list that holds a value 'has'"),
        ({"role": ["user"]}, "got ['user']; for any of several values use 'in'"),
        ({"metadata.a": {"exists": 1}}, "'exists' is True or False"),
        ({"metadata.a": {"in": "abc"}}, "'in' takes a list"),
        ({"metadata.a": {"in": list(range(1001))}}, "at most 1000 conditions and values"),
        ({"metadata.a": "x" * 2001}, "at most 2000 characters"),
        ({"at": "soon"}, "'2025-06-01T14:05Z', got 'soon'"),
        ({"and": {}}, "'and' in a filter takes a list"),
        ({"not": [{}]}, "a filter is a mapping"),
        (reduce(lambda inner, _: {"not": inner}, range(5000), {}), "nested at most 16 levels deep"),
        ({"or": [{}] * 5000}, "at most 1000 conditions and values"),
    ],
    ids=range(21),
)
def test_a_filter_that_is_none_is_refused_at_the_door(where: Any, told: str) -> None:
    with MemoryBank.open() as bank, pytest.raises(InvalidInput, match=re.escape(told)):
        bank.recall(SCOPE, "harbour", where=where)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"role": "human"}, ["I love kiwis.", "Kiwis grow here."]),
        ({"role": "user"}, ["I love kiwis.", "Kiwis grow here."]),
        ({"role": "ai"}, ["Kiwis noted."]),
        ({"role": {"in": ["assistant"]}}, ["Kiwis noted."]),
        ({"role": {"in": ["human", "ai"]}}, ["I love kiwis.", "Kiwis grow here.", "Kiwis noted."]),
        ({"not": {"role": "human"}}, ["Kiwis noted."]),
        ({"role": "bot"}, ["Kiwis noted."]),
        ({"role": "robot"}, []),
    ],
)
def test_the_names_of_a_role_mean_the_same(where: dict[str, Any], found: list[str]) -> None:
    with MemoryBank.open() as bank:
        bank.remember(SCOPE, [("human", "I love kiwis."), ("ai", "Kiwis noted.")], session="s")
        bank.remember(SCOPE, [Message("Kiwis grow here.", role="human")], session="t")
        shown = bank.recall(SCOPE, "kiwis", where=where)
        said = [each.message.text for hit in shown.hits for each in hit.excerpts]
        said += [each.text for hit in shown.hits if not hit.excerpts for turn in hit.turns for each in turn.messages]
        assert sorted(said) == found


def test_a_filter_goes_with_no_layer() -> None:
    with MemoryBank.open(summaries=True) as bank:
        for options in ({"where": {"role": "user"}}, {"also": [("acme", "team")]}):
            with pytest.raises(InvalidInput, match="made of one whole scope"):
                bank.recall(SCOPE, "harbour", layers=["summaries"], **options)


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ({"eq": 1}, 1.0, True),
        ({"eq": 1}, True, False),
        ({"eq": "1"}, 1, False),
        ({"eq": None}, None, True),
        ({"eq": None}, MISSING, False),
        ({"in": []}, 1, False),
        ({"in": ["a", 2]}, 2, True),
        ({"lt": 3}, "2", False),
        ({"ge": "2025-01"}, "2025-02-03", True),
        ({"has": "a"}, ["b", "a"], True),
        ({"has": "a"}, "a", False),
        ({"exists": True}, None, True),
        ({"exists": False}, MISSING, True),
    ],
    ids=lambda value: "missing" if value is MISSING else str(value),
)
def test_values_compare_with_their_own_kind(condition: Mapping[str, Any], value: Any, holds: bool) -> None:
    about = {} if value is MISSING else {"key": value}
    message = Message("The harbour is old.", id="m", metadata=about)
    with remembered(MemoryBank.open(), [(message, "s")]) as bank:
        for where, passes in (({"metadata.key": condition}, holds), ({"not": {"metadata.key": condition}}, not holds)):
            assert bool(bank.recall(SCOPE, "harbour", where=where).hits) is passes


@pytest.mark.parametrize(
    ("zone", "where", "found"),
    [
        ("Europe/Brussels", "2025-06-01", ["early", "noon"]),
        ("Europe/Brussels", date(2025, 6, 2), ["late"]),
        ("Europe/Brussels", {"lt": "2025-06-02"}, ["early", "noon"]),
        ("Europe/Brussels", {"gt": "2025-06-01"}, ["late"]),
        ("Europe/Brussels", "2025-06-01T12:00", ["noon"]),
        ("Europe/Brussels", datetime(2025, 6, 1, 12), ["noon"]),
        ("Europe/Brussels", {"in": ["2025-06-01T10:00Z"]}, ["noon"]),
        (None, "2025-06-01", ["noon", "late"]),
        (None, {"lt": "2025-06-01"}, ["early"]),
    ],
)
def test_days_and_times_without_an_offset_are_of_the_time_zone_of_the_bank(
    zone: str | None, where: Any, found: list[str]
) -> None:
    hours = {"early": (5, 31, 22), "noon": (6, 1, 10), "late": (6, 1, 22)}
    with MemoryBank.open(timezone=zone) as bank:
        for name, day in hours.items():
            at = datetime(2025, *day, tzinfo=timezone.utc)
            bank.remember(SCOPE, [Message(f"The kayak is {name}.", id=name, at=at)], session=name)
        recall = bank.recall(SCOPE, "kayak", where={"at": where})
        assert [turn.id for turn in recall.turns] == found
        also = bank.recall(("acme", "team"), "kayak", also=[SCOPE], where={"not": {"at": where}})
        assert sorted(turn.id for turn in also.turns) == sorted(set(hours).difference(found))


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Brussels", date(2025, 3, 30), 23),
        ("Europe/Brussels", date(2025, 10, 26), 25),
        ("America/Sao_Paulo", date(2018, 2, 17), 25),  # its last hour comes twice
        ("America/Sao_Paulo", date(2018, 11, 4), 23),  # its first hour is passed over
        ("America/New_York", date.max, 24),
        ("Asia/Tokyo", date.min, 24),
    ],
)
def test_a_day_lasts_as_long_as_the_clocks_say(zone: str, day: date, hours: int) -> None:
    [tests] = read_filter({"at": day}, zone_of(zone)).parts
    assert isinstance(tests, Joined)
    [condition] = tests.parts
    assert isinstance(condition, Condition)
    [(start, stop)] = condition.values
    assert stop - start == hours * 3_600_000_000


def test_a_filter_is_kept_as_json_has_it() -> None:
    given = {"at": {"ge": START, "lt": START.date()}, "session": {"in": ("a", "b")}}
    plain = {"at": {"ge": "2025-01-01T00:00:00+00:00", "lt": "2025-01-01"}, "session": {"in": ["a", "b"]}}
    assert checked_filter(given) == json.loads(json.dumps(plain))
    assert read_filter(given) == read_filter(plain)
    assert checked_filter({}) is checked_filter(None) is None
