"""The store of LangGraph over a bank: what only ours promises, and what others build on it.

`tests/contracts/test_store_contract.py` is what any store does.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="the client speaks HTTP")

from embedders import HashingEmbedder
from http_agent import HttpAgentModel
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.tools import tool
from langgraph.store.base import GetOp, PutOp
from sqlalchemy import text

from langchain_secom import SecomStore
from langchain_secom.items import Items, StoredItem
from secom_core.bank import MemoryBank
from secom_core.conversation import ITEMS
from secom_core.errors import DegradedWarning, InvalidInput, StoreError
from secom_core.segmenters.lexical import LexicalSegmenter
from secom_core.segmenters.zero_shot import ZeroShotSegmenter
from secom_core.stores.database import waiting_at_most
from secom_core.testing import Answer, ScriptedModel, ScriptedServer, ToolCall

ANN, BOB = ("memories", "ann"), ("memories", "bob")


def filled(store: SecomStore) -> SecomStore:
    store.put(ANN, "pet", {"content": "Her dog Bello swims in the river Leie.", "kind": "fact"})
    store.put(ANN, "work", {"content": "She teaches physics at a school in Ghent.", "kind": "fact"})
    store.put(ANN, "tone", {"content": "Answer in short sentences.", "kind": "wish"})
    store.put(BOB, "pet", {"content": "His cat sleeps all day.", "kind": "fact"})
    return store


def test_a_query_finds_by_words_and_says_how_relevant_each_item_is(bank: MemoryBank) -> None:
    store = filled(SecomStore(bank))
    found = store.search(ANN, query="Where does the dog swim?")
    assert [item.key for item in found] == ["pet", "work", "tone"]
    assert 0 < (found[0].score or 0) <= 1
    assert found[1].score is None
    assert [item.key for item in store.search(ANN, query="Where does the dog swim?", filter={"kind": "wish"})] == [
        "tone"
    ]
    of_all = store.search(("memories",), query="Which cat sleeps?", limit=1)
    assert [(item.namespace, item.key) for item in of_all] == [(BOB, "pet")]


def test_a_query_finds_by_vector_where_the_bank_has_an_embedder() -> None:
    with MemoryBank.open(embedder=HashingEmbedder()) as bank:
        store = filled(SecomStore(bank))
        assert store.search(ANN, query="dogs and rivers", limit=1)[0].key == "pet"
        assert bank.stats((ITEMS, *ANN)).vectors > 0


def test_a_batch_of_puts_asks_an_embedder_once_for_each_namespace() -> None:
    embedder = HashingEmbedder()
    with MemoryBank.open(embedder=embedder) as bank:
        store = SecomStore(bank)
        store.put(ANN, "first", {"content": "It settles the space of the vectors."})
        embedder.calls = 0
        store.batch([PutOp(ANN if number % 2 else BOB, str(number), {"n": f"note {number}"}) for number in range(40)])
        assert embedder.calls == 2
        assert store.search(ANN, query="note 13", limit=1)[0].key == "13"
        assert store.search(BOB, query="note 14", limit=1)[0].key == "14"
        assert not bank.check()


def test_what_a_batch_has_put_before_it_failed_is_searched() -> None:
    def redact(words: str) -> str:
        if "note 2" in words:
            raise OSError("the redaction's server is gone")
        return words

    with MemoryBank.open(embedder=HashingEmbedder(), redact=redact) as bank:
        store = SecomStore(bank)
        with pytest.raises(OSError, match="server is gone"):
            store.batch([PutOp(ANN, str(number), {"n": f"note {number}"}) for number in range(4)])
        assert bank.stats((ITEMS, *ANN)).vectors > 0
        assert [item.key for item in store.search(ANN, query="note 1")] == ["1", "0"]


def test_items_that_say_the_same_are_all_found(bank: MemoryBank) -> None:
    store = filled(SecomStore(bank))
    store.put(ANN, "pet again", {"content": "Her dog Bello swims in the river Leie.", "kind": "fact"})
    scores = {item.key: item.score for item in store.search(ANN, query="dog in the river")}
    assert scores["pet"] is not None
    assert scores["pet again"] is not None


@pytest.mark.parametrize("filtered", [False, True])
def test_items_that_match_weakly_come_before_those_that_do_not_match(bank: MemoryBank, filtered: bool) -> None:
    store = SecomStore(bank)
    texts = [*["Bello sleeps all day."] * 5, *(f"Guest {number} likes tea." for number in range(200))]
    store.batch([PutOp(ANN, str(place), {"text": text, "kind": "fact"}) for place, text in enumerate(texts)])
    found = store.search(ANN, query="Which guest likes tea?", limit=202, filter={"kind": "fact"} if filtered else None)
    assert all("tea" in item.value["text"] for item in found[:200])
    assert [item.score is not None for item in found] == [True] * 200 + [False] * 2


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("embedder", [None, HashingEmbedder()])
def test_a_greeting_is_searched_for_as_any_word_and_what_is_not_indexed_has_no_score(
    filtered: bool, embedder: HashingEmbedder | None
) -> None:
    with MemoryBank.open(embedder=embedder) as bank:
        store = SecomStore(bank)
        for key, text in (("a", "hello world"), ("b", "I like cats")):
            store.put(ANN, key, {"text": text, "kind": "fact"})
        store.put(ANN, "c", {"text": "hello hello", "kind": "fact"}, index=False)
        for query in ("hello", "Hello!", "hello world"):
            found = store.search(ANN, query=query, filter={"kind": "fact"} if filtered else None)
            scores = {item.key: item.score for item in found}
            assert found[0].key == "a"
            assert scores["a"] is not None
            assert scores["c"] is None


def test_only_the_fields_that_are_indexed_are_searched(bank: MemoryBank) -> None:
    store = SecomStore(bank, fields=["title", "pages[*].text"])
    store.put(ANN, "a", {"title": "Rivers", "pages": [{"text": "The Leie."}], "note": "zebra"})
    store.put(ANN, "b", {"title": "Seas", "note": "zebra"}, index=["note"])
    store.put(ANN, "c", {"title": "Lakes", "note": "zebra"}, index=False)

    def found(query: str) -> list[str]:
        return [item.key for item in store.search(ANN, query=query) if item.score is not None]

    assert (found("Leie"), found("zebra"), found("seas"), found("lakes")) == (["a"], ["b"], [], [])
    with pytest.raises(InvalidInput, match="'title'"):
        SecomStore(bank, fields="title")
    with pytest.raises(InvalidInput, match="needs a MemoryBank"):
        SecomStore("memory.db")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [{"x": {1, 2}}, {"x": float("nan")}, {1: "x"}])
def test_a_value_that_json_cannot_hold_is_refused_and_nothing_of_its_batch_is_written(
    bank: MemoryBank, value: Any
) -> None:
    with pytest.raises(InvalidInput, match="JSON"):
        SecomStore(bank).batch([PutOp(ANN, "a", {"n": 1}), PutOp(ANN, "b", value)])
    assert bank.scopes() == []


@pytest.mark.parametrize("wrong", [["fact"], "fact", 5])
def test_a_value_or_a_filter_that_is_no_dictionary_is_refused(bank: MemoryBank, wrong: Any) -> None:
    store = SecomStore(bank)
    with pytest.raises(InvalidInput, match="filter is a dictionary"):
        store.search(ANN, filter=wrong)
    with pytest.raises(InvalidInput, match="the value of 'a' must be a dictionary"):
        store.batch([PutOp(ANN, "b", {"n": 1}), PutOp(ANN, "a", wrong)])
    assert store.search(ANN) == []


def test_what_is_no_number_meets_no_comparison(bank: MemoryBank) -> None:
    store = SecomStore(bank)
    store.put(ANN, "a", {"n": "many"})
    store.put(ANN, "b", {"n": "7"})
    assert [item.key for item in store.search(ANN, filter={"n": {"$gt": 5}})] == ["b"]
    with pytest.raises(InvalidInput, match=r"\$gt.*'five'"):
        store.search(ANN, filter={"n": {"$gt": "five"}})


# -- what is kept, and what is gone -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_items_are_there_in_another_process_and_beside_conversations(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryBank.open(path) as bank:
        bank.remember(("ann",), [("user", "My dog is called Bello.")], session="s1")
        filled(SecomStore(bank))
    code = (
        "from langchain_secom import SecomStore\nfrom secom_core import MemoryBank\n"
        f"bank = MemoryBank.open({str(path)!r})\nstore = SecomStore(bank)\n"
        "print(store.search(('memories', 'ann'), query='dog', limit=1)[0].key, store.list_namespaces())\n"
        "print([hit.turn_ids for hit in bank.recall(('ann',), 'school dog').hits].__len__())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.splitlines() == [f"pet {[ANN, BOB]}", "1"]


@pytest.mark.slow
def test_nothing_is_left_of_what_is_deleted_or_put_anew(place: Path | str) -> None:
    store_names = ("Xanthippe", "Quetzalcoatl", "zylophone")
    with MemoryBank.open(place, embedder=HashingEmbedder()) as bank:
        store, secret = SecomStore(bank), ("memories", "Xanthippe")
        store.put(secret, "Quetzalcoatl", {"content": "zylophone lessons"})
        store.put(ANN, "pet", {"content": "zylophone dreams"})
        assert store.search((), query="zylophone")[0].score is not None
        store.put(ANN, "pet", {"content": "a dog"})
        store.delete(secret, "Quetzalcoatl")
        assert store.list_namespaces() == [ANN]
        with bank._store.transaction(write=False) as connection:
            dumped = str(
                [
                    list(map(tuple, connection.execute(text(f"SELECT * FROM {name}")).all()))
                    for name in ("scopes", "sessions", "messages", "memories", "vectors")
                ]
            )
        assert not [name for name in store_names if name in dumped]
        assert bank.stats((ITEMS, *ANN)).vectors == 1
    if isinstance(place, Path):
        kept = b"".join(file.read_bytes() for file in place.parent.iterdir())
        assert not [name for name in store_names if name.encode() in kept]


def test_a_put_that_is_cut_short_leaves_the_new_value(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(SecomStore(bank))

    def cut_short(*_: Any, **__: Any) -> int:
        raise StoreError("the power is off")

    with monkeypatch.context() as during:
        during.setattr(bank, "forget", cut_short)
        with pytest.raises(StoreError):
            store.put(ANN, "pet", {"content": "Her dog Bello has died."})
    assert store.get(ANN, "pet").value == {"content": "Her dog Bello has died."}  # type: ignore[union-attr]
    assert [item.key for item in store.search(ANN)] == ["pet", "work", "tone"]
    assert [item.value for item in store.search(ANN, query="Bello swims", limit=1)] == [
        {"content": "Her dog Bello has died."}
    ]
    store.put(ANN, "pet", {"content": "A cat."})
    assert len(bank.turns((ITEMS, *ANN))) == 3


def test_a_namespace_that_was_emptied_is_searched_anew(bank: MemoryBank) -> None:
    store = SecomStore(bank)
    for words in ("a dog swims", "a cat swims"):
        store.put(ANN, "pet", {"content": words})
        [found] = store.search(ANN, query="Who swims?")
        assert (found.value, found.score is not None) == ({"content": words}, True)
        store.delete(ANN, "pet")
        assert store.search(ANN, query="Who swims?") == []
    assert bank.scopes() == []


@pytest.mark.slow
def test_many_threads_put_one_key_and_one_value_is_left(place: Path | str) -> None:
    with MemoryBank.open(place) as bank, warnings.catch_warnings(), ThreadPoolExecutor(4) as threads:
        # One thread alone empties the log of what was forgotten, and no other program reads the file.
        warnings.simplefilter("error", DegradedWarning)
        store = SecomStore(bank)

        def work(number: int) -> None:
            for _ in range(3):
                store.put(ANN, "pet", {"content": f"pet {number}"})
                store.search(ANN, query="pet")
                store.delete(BOB, "pet")
                store.put(BOB, "pet", {"content": f"pet {number}"})

        list(threads.map(work, range(4)))
        assert [(item.namespace, item.key) for item in store.search(())] == [(ANN, "pet"), (BOB, "pet")]
        assert [len(bank.turns((ITEMS, *namespace))) for namespace in (ANN, BOB)] == [1, 1]


def test_the_bank_redacts_items_and_forgets_a_namespace() -> None:
    with MemoryBank.open(redact=lambda words: words.replace("4111", "[card]")) as bank:
        store = SecomStore(bank)
        store.put(ANN, "4111", {"content": "Her card is 4111.", "deep": [{"n": "4111"}]})
        item = store.get(ANN, "4111")
        assert item is not None
        assert item.value == {"content": "Her card is [card].", "deep": [{"n": "[card]"}]}
        bank.forget((ITEMS, *ANN))
        assert store.list_namespaces() == []


def test_items_move_with_the_bank(bank: MemoryBank) -> None:
    store = filled(SecomStore(bank))
    store.put(ANN, "pet", {"content": "A cat."})
    with MemoryBank.open() as other, MemoryBank.open() as third:
        bank.storage.move_to(other.storage)
        for scope in other.scopes():
            third.storage.import_(other.storage.export(scope))
        for moved in (SecomStore(other), SecomStore(third)):
            assert moved.list_namespaces() == [ANN, BOB]
            assert [item.dict() for item in moved.search(ANN)] == [item.dict() for item in store.search(ANN)]
            assert moved.search(ANN, query="school physics", limit=1)[0].key == "work"


def test_no_layer_and_no_model_takes_items_in() -> None:
    model = ScriptedModel([])
    with MemoryBank.open(
        model=model,
        segmenter=ZeroShotSegmenter(model, fallback=LexicalSegmenter()),
        summaries=True,
        timelines=True,
        topics=True,
    ) as bank:
        store = filled(SecomStore(bank))
        store.put(ANN, "pet", {"content": "Her dog Bello likes trams."})
        store.search(ANN, query="dog")
        bank.derive((ITEMS, *ANN))
        bank.rebuild((ITEMS, *ANN))
        assert bank.layers.behind((ITEMS, *ANN), "topics") == 0
        assert bank.end_idle_sessions(datetime(2999, 1, 1, tzinfo=timezone.utc)) == []
        assert bank.check() == ()
    assert model.requests == ()


# -- how long items live ----------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    class Clock:
        now = datetime(2024, 5, 1, tzinfo=timezone.utc)

        def pass_minutes(self, minutes: float) -> None:
            self.now += timedelta(minutes=minutes)

    clock = Clock()
    monkeypatch.setattr("langchain_secom.store._now", lambda: clock.now)
    return clock


def test_an_item_lives_as_long_as_it_is_said_to_and_anew_when_it_is_read(bank: MemoryBank, clock: Any) -> None:
    store = SecomStore(bank)
    store.put(ANN, "a", {"text": "an apple"}, ttl=10)
    store.put(ANN, "b", {"text": "a pear"}, ttl=10)
    store.put(ANN, "c", {"text": "a plum"})
    first = store.get(ANN, "a", refresh_ttl=False)
    clock.pass_minutes(9)
    assert store.get(ANN, "a") == first
    clock.pass_minutes(2)
    assert [item.key for item in store.search(ANN, query="apple or pear", refresh_ttl=False)] == ["a", "c"]
    clock.pass_minutes(100)
    assert store.get(ANN, "a") is None
    assert len(bank.turns((ITEMS, *ANN))) == 1


def test_what_has_expired_takes_no_place_in_a_search(bank: MemoryBank, clock: Any) -> None:
    store = SecomStore(bank)
    for number in range(4):
        store.put(ANN, f"old{number}", {"text": f"Marta teaches the violin, lesson {number}"}, ttl=10)
    store.put(ANN, "tone", {"text": "Short answers, please."})
    store.put(ANN, "lesson", {"text": "Lena has violin lessons in Ghent on many Mondays of the year."})
    clock.pass_minutes(11)
    [found] = store.search(ANN, query="violin", limit=1)
    assert found.key == "lesson"
    assert found.score is not None


@pytest.mark.slow
def test_pages_of_a_search_hold_each_item_once_though_reading_writes_them_anew(bank: MemoryBank) -> None:
    store = SecomStore(bank, ttl={"default_ttl": 60})
    for number in range(12):
        store.put(ANN, f"order-{number:02}", {"status": "open", "number": number})
    pages = [item.key for offset in range(0, 12, 3) for item in store.search(ANN, query="open", limit=3, offset=offset)]
    assert len(set(pages)) == 12
    again = [[item.key for item in store.search(ANN, query="open", limit=3)] for _ in range(2)]
    assert again == [pages[:3]] * 2


def test_what_has_expired_is_swept_and_begins_again_when_it_is_put(bank: MemoryBank, clock: Any) -> None:
    store = SecomStore(bank, ttl={"default_ttl": 5, "refresh_on_read": False})
    store.put(ANN, "a", {"n": 1})
    store.put(BOB, "a", {"n": 1}, ttl=None)
    clock.pass_minutes(4)
    assert store.get(ANN, "a") is not None
    clock.pass_minutes(2)
    assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)
    assert store.list_namespaces() == [BOB]
    store.put(ANN, "a", {"n": 2}, ttl=1)
    clock.pass_minutes(3)
    store.put(ANN, "a", {"n": 3})
    assert store.get(ANN, "a").created_at == clock.now  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [{"text": "a pear"}, None], ids=["put", "deleted"])
@pytest.mark.parametrize("minutes", [9, 11], ids=["living", "expired"])
@pytest.mark.parametrize("how", ["get", "search", "query"])
def test_a_read_takes_back_nothing_that_is_put_or_deleted_meanwhile(
    bank: MemoryBank, clock: Any, monkeypatch: pytest.MonkeyPatch, how: str, minutes: int, value: dict[str, Any] | None
) -> None:
    store, other = SecomStore(bank), SecomStore(bank)
    other.put(ANN, "a", {"text": "an apple"}, ttl=10)
    read, changes = Items.lives, [PutOp(ANN, "a", value, ttl=10)]

    def lives(items: Items, item: StoredItem, now: datetime) -> bool:
        found = read(items, item, now)
        while changes:
            other.batch([changes.pop()])
        return found

    monkeypatch.setattr(Items, "lives", lives)
    clock.pass_minutes(minutes)
    if how == "get":
        store.get(ANN, "a")
    else:
        store.search(ANN, query="apple" if how == "query" else None)
    found = other.get(ANN, "a", refresh_ttl=False)
    assert (found and found.value) == value
    assert len(bank.turns((ITEMS, *ANN))) == (value is not None)


@pytest.mark.parametrize("how", ["get", "search", "query", "filter"])
def test_what_is_read_is_given_though_nothing_can_be_written(tmp_path: Path, clock: Any, how: str) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        store = SecomStore(bank)
        store.put(ANN, "old", {"text": "an apple"}, ttl=10)
        store.put(ANN, "a", {"text": "an apple tree"}, ttl=20)
        clock.pass_minutes(11)
        ways: dict[str, Any] = {"search": {"limit": 1}, "query": {"query": "apple"}, "filter": {"filter": {"n": None}}}
        with closing(sqlite3.connect(tmp_path / "memory.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.warns(DegradedWarning, match="locked") as warned:
                found = [store.get(ANN, "a")] if how == "get" else store.search(ANN, **ways[how])
        assert [item.key for item in found if item is not None] == ["a"]
        assert len(warned) == 1
        with closing(sqlite3.connect(tmp_path / "memory.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            with waiting_at_most(0.1), pytest.raises(StoreError, match="locked"):
                store.sweep_ttl()
        assert (store.sweep_ttl(), len(bank.turns((ITEMS, *ANN)))) == (1, 1)


def test_a_search_gives_what_is_put_anew_meanwhile_once(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    store, other = filled(SecomStore(bank)), SecomStore(bank)
    best = Items.best

    def found(*given: Any) -> list[tuple[StoredItem, float]]:
        items = best(*given)
        other.put(ANN, "pet", {"content": "Her dog Bello swims in the sea."})
        return items

    monkeypatch.setattr(Items, "best", found)
    assert [item.key for item in store.search(ANN, query="Where does the dog swim?")] == ["pet", "work", "tone"]


def test_reading_an_item_writes_its_time_alone_which_moves_with_it(bank: MemoryBank, clock: Any) -> None:
    store, scope = SecomStore(bank), (ITEMS, *ANN)
    store.put(ANN, "a", {"text": "an apple"}, ttl=10)
    before = bank.turns(scope)
    clock.pass_minutes(9)
    assert store.get(ANN, "a") is not None
    assert bank.turns(scope) == before
    with MemoryBank.open() as moved:
        moved.storage.import_(bank.storage.export(scope))
        clock.pass_minutes(9)
        assert SecomStore(moved).get(ANN, "a", refresh_ttl=False) == store.get(ANN, "a", refresh_ttl=False) is not None
        clock.pass_minutes(2)
        assert SecomStore(moved).get(ANN, "a") is None


@pytest.mark.parametrize("ttl", [{"sweep_interval_minutes": 5}, {"omit_expired": False}, {"default_ttl": -1}])
def test_a_time_to_live_that_cannot_be_kept_is_refused(bank: MemoryBank, ttl: Any) -> None:
    with pytest.raises(InvalidInput, match=str(next(iter(ttl.values())))):
        SecomStore(bank, ttl=ttl)
    with pytest.raises(InvalidInput, match="minutes above 0"):
        SecomStore(bank).put(ANN, "a", {"n": 1}, ttl=0)


# -- what others build on it ------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_tool_of_an_agent_reads_and_writes_the_store(bank: MemoryBank) -> None:
    @tool
    async def note(words: str, runtime: ToolRuntime) -> str:
        """Keep a note."""
        assert runtime.store is not None
        await runtime.store.aput(ANN, "note", {"words": words})
        return f"{len(await runtime.store.asearch(ANN))} notes"

    calls = Answer(tool_calls=(ToolCall("note", {"words": "Bello swims"}, "call-1"),))
    with ScriptedServer([calls, "Done."]) as server:
        agent = create_agent(HttpAgentModel(base_url=server.base_url), [note], store=SecomStore(bank))
        state = await agent.ainvoke({"messages": [("user", "Keep that Bello swims.")]})
    assert [message.text for message in state["messages"]][-2:] == ["1 notes", "Done."]
    assert SecomStore(bank).get(ANN, "note").value == {"words": "Bello swims"}  # type: ignore[union-attr]


@pytest.mark.slow
async def test_no_call_blocks_the_event_loop(tmp_path: Path) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        store = SecomStore(bank)
        with blockbuster.blockbuster_ctx():
            await store.aput(ANN, "a", {"text": "a dog"})
            assert (await store.abatch([GetOp(ANN, "a")]))[0] is not None
            assert await store.asearch(ANN, query="dog")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_the_memory_tools_of_langmem_keep_and_find_memories_in_it(bank: MemoryBank, how: str) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("langmem cannot be imported on Python 3.10")
    langmem = pytest.importorskip("langmem", reason="langmem is not installed")
    namespace = ("memories", "{user}")
    tools = [langmem.create_manage_memory_tool(namespace), langmem.create_search_memory_tool(namespace)]
    calls = [
        Answer(tool_calls=(ToolCall("manage_memory", {"content": "Bello the dog swims in the Leie."}, "call-1"),)),
        Answer(tool_calls=(ToolCall("manage_memory", {"content": "Ann teaches physics."}, "call-2"),)),
        Answer(tool_calls=(ToolCall("search_memory", {"query": "Where does the dog swim?", "limit": 1}, "call-3"),)),
        "In the Leie.",
    ]
    store = SecomStore(bank)
    with ScriptedServer(calls) as server:
        agent = create_agent(HttpAgentModel(base_url=server.base_url), tools, store=store)
        given: Any = {"messages": [("user", "Where does Bello swim?")]}
        config: Any = {"configurable": {"user": "ann"}}
        state = agent.invoke(given, config) if how == "invoke" else await agent.ainvoke(given, config)
    found = state["messages"][-2].text
    assert "Leie" in found
    assert "physics" not in found
    manage = langmem.create_manage_memory_tool(ANN, store=store)
    key = store.search(ANN, query="dog", limit=1)[0].key
    manage.invoke({"action": "update", "id": key, "content": "Bello the dog swims in the sea."})
    assert store.get(ANN, key).value == {"content": "Bello the dog swims in the sea."}  # type: ignore[union-attr]
    manage.invoke({"action": "delete", "id": key})
    assert [item.value for item in store.search(ANN)] == [{"content": "Ann teaches physics."}]


@pytest.mark.slow
async def test_the_files_of_deepagents_live_in_it(bank: MemoryBank) -> None:
    backends = pytest.importorskip("deepagents.backends", reason="deepagents is not installed")
    store = SecomStore(bank)
    files = backends.StoreBackend(store=store, namespace=lambda _: ("files", "ann@home"))
    files.write("/notes/dog.md", "# Bello\n\nHe swims.\n")
    await files.awrite("/notes/deep/cat.md", "# Tom\n")
    assert files.edit("/notes/dog.md", "swims", "swims in the Leie").error is None
    assert "Leie" in str((await files.aread("/notes/dog.md")).file_data)
    assert [each["path"] for each in files.ls("/notes").entries] == ["/notes/deep/", "/notes/dog.md"]
    assert [match["path"] for match in files.grep("Leie").matches] == ["/notes/dog.md"]
    [(name, content)] = [(each.path, each.content) for each in files.download_files(["/notes/deep/cat.md"])]
    assert (name, content) == ("/notes/deep/cat.md", b"# Tom\n")
    assert store.search(("files",), query="Who swims in the Leie?", limit=1)[0].key == "/notes/dog.md"
    assert files.delete("/notes").error is None
    assert bank.scopes() == []
