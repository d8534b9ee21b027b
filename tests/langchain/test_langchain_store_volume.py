"""The store of LangGraph with thousands of items: what it asks the database for, and what it gives."""

from __future__ import annotations

import gc
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.store.memory", reason="needs the extra 'langchain'")

from embedders import HashingEmbedder
from langgraph.store.base import Op, PutOp
from sql_log import statements

from langchain_secom import SecomStore
from secom_core.bank import MemoryBank
from secom_core.conversation import ITEMS, Message
from secom_core.errors import DegradedWarning, StoreError

USERS = 40
WEEKS = ("docs", "weeks")


def user(number: int) -> tuple[str, ...]:
    return "memories", f"user{number:02}"


def two_for_each(users: int) -> list[Op]:
    return [
        PutOp(user(number), key, {"content": content.format(number), "kind": key})
        for number in range(users)
        for key, content in (("pet", "Guest {} has a dog."), ("tone", "Short answers to {}, please."))
    ]


@pytest.fixture
def store(bank: MemoryBank) -> SecomStore:
    store = SecomStore(bank)
    store.batch(two_for_each(USERS))
    return store


def found_by(store: SecomStore, query: str, **how: Any) -> list[tuple[str, str]]:
    return [
        (item.namespace[-1], item.key)
        for item in store.search(("memories",), query=query, limit=200, **how)
        if item.score is not None
    ]


# -- many namespaces --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"filter": {"kind": "pet"}}])
def test_a_search_of_many_namespaces_does_not_ask_for_each(store: SecomStore, how: Any) -> None:
    store.put(user(17), "lessons", {"content": "Marta teaches her the violin on Mondays.", "kind": "pet"})
    for _ in range(2):
        with statements(store.bank) as asked:
            [first, *_] = store.search(("memories",), query="Who teaches the violin?", limit=1, **how)
        assert (first.namespace, first.key) == (user(17), "lessons")
        assert first.score
    assert len(asked) < USERS


def test_the_best_of_many_namespaces_come_first_and_each_item_once(store: SecomStore) -> None:
    store.put(user(31), "walks", {"content": "Her dog needs a long walk in the Azores each morning."})
    every = store.search(("memories",), query="dog in the Azores", limit=200)
    assert every[0].key == "walks"
    assert len({(item.namespace, item.key) for item in every}) == len(every) == 2 * USERS + 1
    assert {item.key for item in every if item.score is not None} == {"walks", "pet"}
    pages = [store.search(("memories",), query="dog in the Azores", limit=7, offset=at) for at in range(0, 84, 7)]
    assert [item for page in pages for item in page] == every


def test_a_search_of_many_namespaces_follows_what_any_process_writes(place: Path | str) -> None:
    with MemoryBank.open(place) as here, MemoryBank.open(place) as there:
        ours, theirs = SecomStore(here), SecomStore(there)
        ours.batch(two_for_each(12))
        assert found_by(ours, "violin") == []
        theirs.put(user(3), "lessons", {"content": "She learns the violin."})
        theirs.put(user(77), "lessons", {"content": "He sold his violin."})
        assert sorted(found_by(ours, "violin")) == [("user03", "lessons"), ("user77", "lessons")]
        theirs.put(user(3), "lessons", {"content": "She learns the harp."})
        assert found_by(ours, "violin") == [("user77", "lessons")]
        assert found_by(ours, "harp") == [("user03", "lessons")]
        theirs.delete(user(77), "lessons")
        theirs.delete(user(3), "lessons")
        assert found_by(ours, "violin") == found_by(ours, "harp") == []
        there.forget((ITEMS, *user(5)))
        assert len(found_by(ours, "dog")) == 11


def test_a_large_namespace_among_many_is_searched_too(store: SecomStore) -> None:
    store.batch([PutOp(user(99), f"note {number}", {"text": f"Note {number} on the harp."}) for number in range(50)])
    store.put(user(2), "lessons", {"content": "She learns the harp."})
    found = found_by(store, "harp")
    assert len(found) == 51
    assert ("user02", "lessons") in found
    store.batch([PutOp(user(2), f"day {number}", {"text": f"Day {number} of her course."}) for number in range(50)])
    assert sorted(found_by(store, "harp")) == sorted(found)


def test_many_namespaces_are_searched_by_vector_and_while_the_embedder_fails_by_words() -> None:
    class Embedder(HashingEmbedder):
        fails = False

        def embed(self, texts: Any) -> Any:
            if self.fails:
                raise ConnectionError("the service is down")
            return super().embed(texts)

    embedder = Embedder()
    with MemoryBank.open(embedder=embedder) as bank:
        store = SecomStore(bank)
        store.batch(two_for_each(12))
        store.put(user(3), "lessons", {"content": "She learns the violin."})
        assert found_by(store, "violin")[0] == ("user03", "lessons")
        calls = embedder.calls
        found_by(store, "harp")
        assert embedder.calls == calls + 1
        embedder.fails = True
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            store.put(user(4), "lessons", {"content": "She learns the harp."})
            assert found_by(store, "harp") == [("user04", "lessons")]
        assert {each.category for each in said} == {DegradedWarning}


def test_an_embedder_that_fails_is_not_asked_for_each_of_many_namespaces() -> None:
    class Failing(HashingEmbedder):
        def embed(self, texts: Any) -> Any:
            self.calls += 1
            raise ConnectionError("the service is down")

    embedder = Failing()
    with MemoryBank.open(embedder=embedder) as bank, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = SecomStore(bank)
        store.batch(two_for_each(USERS))
        calls = embedder.calls
        assert len(found_by(store, "dog")) == USERS
        assert embedder.calls - calls < 5


def test_what_is_deleted_of_many_namespaces_is_held_nowhere(store: SecomStore) -> None:
    words = "Her secret recipe has saffron."
    store.put(user(3), "recipe", {"content": words})
    assert found_by(store, "saffron") == [("user03", "recipe")]
    store.delete(user(3), "recipe")
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, Message) and each.text == words]
    assert found_by(store, "saffron") == []


def test_forgetting_a_conversation_does_not_wait_for_a_search_of_many_namespaces(tmp_path: Path) -> None:
    """That makes the vectors of all items that lack them, which takes minutes where a server embeds."""
    asked, goes_on = threading.Event(), threading.Event()

    class Slow(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            if len(texts) > 1:
                asked.set()
                goes_on.wait(40)
                goes_on.set()
            return super().embed(texts)

    with MemoryBank.open(tmp_path / "m.db") as bank:
        SecomStore(bank).batch(two_for_each(USERS))
        bank.remember(("acme", "ann"), [Message("I like tea.")], session="s")
    with MemoryBank.open(tmp_path / "m.db", embedder=Slow()) as bank, ThreadPoolExecutor(1) as pool:
        searching = pool.submit(found_by, SecomStore(bank), "Who has a dog?")
        assert asked.wait(60)
        began = time.monotonic()
        assert bank.forget(("acme", "ann")) == 1
        assert time.monotonic() - began < 20
        goes_on.set()
        assert len(searching.result(60)) == USERS


def test_what_has_expired_is_not_found_in_many_namespaces(store: SecomStore, clock: Any) -> None:
    for number in range(3):
        store.put(user(number), "lessons", {"content": f"Lesson {number} of the violin."}, ttl=10 if number else None)
    assert len(found_by(store, "violin", refresh_ttl=False)) == 3
    clock.pass_minutes(11)
    assert found_by(store, "violin") == [("user00", "lessons")]


# -- many items -------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    class Clock:
        now = datetime(2024, 5, 1, tzinfo=timezone.utc)

        def pass_minutes(self, minutes: float) -> None:
            self.now += timedelta(minutes=minutes)

    clock = Clock()
    monkeypatch.setattr("langchain_secom.store._now", lambda: clock.now)
    return clock


@pytest.mark.parametrize("how", [{}, {"filter": {"kind": "week"}}, {"query": "week of the year"}])
def test_a_page_of_many_items_reads_them_together(bank: MemoryBank, how: Any) -> None:
    store = SecomStore(bank)
    puts = [PutOp(WEEKS, str(number), {"text": f"Week {number} of the year", "kind": "week"}) for number in range(200)]
    store.batch(puts)
    store.search(WEEKS, **how)
    pages = []
    for offset in range(0, 210, 30):
        with statements(bank) as asked:
            pages.append(store.search(WEEKS, limit=30, offset=offset, **how))
        assert len(asked) < 30
    assert [len(page) for page in pages] == [30] * 6 + [20]
    assert {item.key for page in pages for item in page} == {str(number) for number in range(200)}


def test_pages_go_on_behind_what_is_put_anew_deleted_and_expired(bank: MemoryBank, clock: Any) -> None:
    store = SecomStore(bank, ttl={"refresh_on_read": False})
    lives = [None, 5, 5]
    store.batch([PutOp(WEEKS, f"{number:03}", {"week": number}, ttl=lives[number % 3]) for number in range(300)])
    assert [item.key for item in store.search(WEEKS, limit=2, offset=150)] == ["150", "151"]
    clock.pass_minutes(6)
    assert [item.key for item in store.search(WEEKS, limit=2, offset=50)] == ["150", "153"]
    assert store.sweep_ttl() == 98
    store.put(WEEKS, "000", {"week": "first"})
    store.delete(WEEKS, "003")
    pages = [store.search(WEEKS, limit=10, offset=at) for at in range(0, 100, 10)]
    assert [item.key for page in pages for item in page] == ["000", *(f"{number:03}" for number in range(6, 300, 3))]
    assert pages[0][0].value == {"week": "first"}


def test_an_item_of_any_characters_is_listed_with_the_others(place: Path | str) -> None:
    texts = ["one", "page\x00two", "a literal \\u0000 and \\\\u12", "half \ud83d", "\\", '"}', "Zoë \x07 😀"]
    with MemoryBank.open(place) as bank:
        store = SecomStore(bank)
        store.batch([PutOp(WEEKS, str(number), {"text": text}, ttl=5) for number, text in enumerate(texts)])
        assert [item.value["text"] for item in store.search(WEEKS)] == texts
        assert store.sweep_ttl() == 0


def test_a_damaged_item_is_told_of_where_it_is_read(tmp_path: Path, clock: Any) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        SecomStore(bank).batch([PutOp(WEEKS, str(number), {"week": number}, ttl=number or None) for number in range(3)])
    with closing(sqlite3.connect(tmp_path / "memory.db")) as file, file:
        file.execute("UPDATE messages SET metadata = substr(metadata, 1, 20) WHERE id = 1")
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        store = SecomStore(bank)
        with pytest.raises(StoreError, match="message 1 of the store is damaged"):
            store.search(WEEKS)
        clock.pass_minutes(1.5)
        assert store.sweep_ttl() == 1
        assert [item.key for item in store.search(WEEKS, limit=1, offset=1)] == ["2"]


def test_reading_an_item_lets_it_stay_in_listings(bank: MemoryBank, clock: Any) -> None:
    store = SecomStore(bank)
    store.batch([PutOp(WEEKS, str(number), {"week": number}, ttl=10) for number in range(5)])
    for _ in range(3):
        clock.pass_minutes(6)
        store.get(WEEKS, "3")
    assert [item.key for item in store.search(WEEKS)] == ["3"]
    assert [item.key for item in store.search(WEEKS, filter={"week": 3})] == ["3"]


@pytest.mark.parametrize("how", ["swept", "come across"])
def test_many_items_that_have_expired_are_deleted_together(bank: MemoryBank, clock: Any, how: str) -> None:
    store = SecomStore(bank)
    store.batch([PutOp(WEEKS, str(number), {"week": number}, ttl=5 if number else None) for number in range(51)])
    clock.pass_minutes(6)
    with statements(bank) as asked:
        if how == "swept":
            assert store.sweep_ttl() == 50
        else:
            assert [item.key for item in store.search(WEEKS, query="7 weeks")] == ["0"]
    assert sum(each.startswith("BEGIN IMMEDIATE") for each in asked) < 10
    # A layer that holds nothing of anybody is not asked for each of them.
    assert sum("turn_marks" in each for each in asked) < 10
    assert [turn.session for turn in bank.turns((ITEMS, *WEEKS))] == ["item 0"]
