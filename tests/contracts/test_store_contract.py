"""What any store of LangGraph does: one suite for the framework's `InMemoryStore` and for ours, and both must agree.

Where they cannot: `InMemoryStore` lists namespaces that were only read or are empty again, and raises where a filter
compares what is no number. Ours lists what holds something, and such an item does not match.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.store.memory", reason="needs the extra 'langchain'")

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from langchain_secom import SecomStore
from secom_core.bank import MemoryBank

ALL = 10_000
DOCS = ("docs", "ann")
ROOTS = count()
NO_NUMBER = object()
FOUND = [Phase.explicit, Phase.reuse, Phase.generate]


@pytest.fixture(params=["in memory", "sqlite", "postgres"])
def store(request: Any, tmp_path: Path) -> Iterator[BaseStore]:
    if request.param == "in memory":
        yield InMemoryStore()
        return
    place = tmp_path / "bank.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    with MemoryBank.open(place) as bank:
        yield SecomStore(bank)


def content(items: Any) -> list[tuple[Any, ...]]:
    return [(item.namespace, item.key, item.value) for item in items]


# -- one after the other ----------------------------------------------------------------------------------------------


def test_what_is_put_is_got_changed_and_deleted(store: BaseStore) -> None:
    assert store.get(DOCS, "a") is None
    value = {"text": "Hello", "n": 1, "deep": {"list": [1, "two", None, True, {"x": 0.5}]}, "": "żółw 狗 \0"}
    store.put(DOCS, "a", value)
    first = store.get(DOCS, "a")
    assert first is not None
    assert (first.namespace, first.key, first.value) == (DOCS, "a", value)
    assert first.created_at.tzinfo is not None
    assert first.created_at <= first.updated_at
    store.put(DOCS, "a", {"text": "Good bye"})
    changed = store.get(DOCS, "a")
    assert changed is not None
    assert changed.value == {"text": "Good bye"}
    assert changed.updated_at > first.updated_at
    assert content(store.search(DOCS)) == [(DOCS, "a", {"text": "Good bye"})]
    store.delete(DOCS, "a")
    store.delete(DOCS, "a")
    assert store.get(DOCS, "a") is None
    assert store.search(()) == []


def test_an_empty_key_and_long_ones_are_keys(store: BaseStore) -> None:
    keys = ["", " ", "/notes/a.md", "ä" * 3000]
    for key in keys:
        store.put(DOCS, key, {"key": key})
    assert [item.key for item in store.search(DOCS)] == keys
    assert all(store.get(DOCS, key).value == {"key": key} for key in keys)  # type: ignore[union-attr]


@pytest.mark.parametrize("namespace", [(), ("a.b",), ("",), ("langgraph", "a"), (1,)])
def test_what_is_no_namespace_is_refused(store: BaseStore, namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "a", {"n": 1})
    assert store.search(()) == []


def test_unknown_operators_and_operations_are_refused(store: BaseStore) -> None:
    store.put(DOCS, "a", {"n": 1})
    with pytest.raises(ValueError, match="like"):
        store.search(DOCS, filter={"n": {"$like": 1}})
    with pytest.raises(ValueError, match=r"[Uu]nknown operation|a store does"):
        store.batch(["get"])  # type: ignore[list-item]


def test_a_batch_reads_what_was_before_it_and_keeps_the_last_put(store: BaseStore) -> None:
    store.put(DOCS, "a", {"n": 1})
    puts = [PutOp(DOCS, "a", {"n": 2}), PutOp(DOCS, "b", {"n": 3}), PutOp(DOCS, "a", {"n": 4}), PutOp(DOCS, "b", None)]
    got, *_, found, listed = store.batch([GetOp(DOCS, "a"), *puts, SearchOp(DOCS), ListNamespacesOp()])
    assert content([got]) == content(found) == [(DOCS, "a", {"n": 1})]  # type: ignore[attr-defined]
    assert listed == [DOCS]
    assert content(store.search(DOCS)) == [(DOCS, "a", {"n": 4})]


async def test_async_methods_do_the_same(store: BaseStore) -> None:
    await store.aput(DOCS, "a", {"text": "Hello"})
    assert (await store.aget(DOCS, "a")).value == {"text": "Hello"}  # type: ignore[union-attr]
    assert content(await store.asearch(("docs",), filter={"text": "Hello"})) == [(DOCS, "a", {"text": "Hello"})]
    assert await store.alist_namespaces(suffix=("ann",)) == [DOCS]
    await store.adelete(DOCS, "a")
    assert await store.aget(DOCS, "a") is None


# -- both at once -----------------------------------------------------------------------------------------------------

labels = st.sampled_from("abc")
namespaces = st.lists(labels, max_size=3).map(tuple)
keys = st.sampled_from(["k1", "k2", "k3"]) | st.text(max_size=5)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9)
)
small = st.integers(0, 3) | st.sampled_from(["", "1", "red", "blue", None, True])
fields = st.dictionaries(st.sampled_from(["n", "color"]), small, max_size=2)
values = st.fixed_dictionaries(
    {}, optional={"n": small, "color": small, "tags": st.lists(small, max_size=2), "about": fields, "other": scalars}
)
operators = st.dictionaries(st.sampled_from(["$eq", "$ne"]), small, min_size=1) | st.dictionaries(
    st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.integers(-1, 4) | st.just("2"), min_size=1
)
conditions = (
    small
    | operators
    | st.lists(small, max_size=2)
    | st.dictionaries(st.sampled_from(["n", "color"]), small | operators, max_size=2)
)
filters = st.none() | st.dictionaries(st.sampled_from(["n", "color", "tags", "about"]), conditions, max_size=2)
paths = st.lists(labels | st.just("*"), max_size=2).map(tuple)

# Optional fields of a named tuple would be filled with whatever their types allow.
puts = st.builds(lambda *given: PutOp(*given), namespaces, keys, values)
deletions = st.builds(lambda *given: PutOp(*given, None), namespaces, keys)
gets = st.builds(lambda *given: GetOp(*given), namespaces, keys)
searches = st.builds(
    lambda *given: SearchOp(*given), namespaces, filters, st.sampled_from([ALL, 1, 2]), st.integers(0, 2)
)
matching = st.lists(
    st.builds(lambda *given: MatchCondition(*given), st.sampled_from(["prefix", "suffix"]), paths), max_size=2
).map(tuple)
listings = st.builds(
    lambda *given: ListNamespacesOp(*given),
    matching,
    st.none() | st.integers(1, 4),
    st.sampled_from([ALL, 2]),
    st.integers(0, 1),
)
operations = puts | puts | puts | deletions | gets | searches | listings


def under(root: str, op: Any) -> Any:
    """The operation in namespaces of its own."""
    if isinstance(op, ListNamespacesOp):
        mine = MatchCondition("prefix", (root,))
        return op._replace(match_conditions=(mine, *(op.match_conditions or ())), max_depth=op.max_depth)
    if isinstance(op, SearchOp):
        return op._replace(namespace_prefix=(root, *op.namespace_prefix))
    return op._replace(namespace=(root, *op.namespace))


def shown(result: Any) -> Any:
    if isinstance(result, list):
        return [shown(each) for each in result]
    return (result.namespace, result.key, result.value) if hasattr(result, "key") else result


def only_what_is_there(store: InMemoryStore) -> InMemoryStore:
    """A copy without the namespaces that hold nothing."""
    copy = InMemoryStore()
    for item in store.search((), limit=ALL):
        copy.put(item.namespace, item.key, item.value)
    return copy


def asked(store: InMemoryStore, op: Any) -> Any:
    try:
        return store.batch([op])[0]
    except (TypeError, ValueError):
        return NO_NUMBER


@pytest.mark.slow
def test_both_stores_answer_the_same(place: Path | str) -> None:
    with MemoryBank.open(place) as bank:
        ours = SecomStore(bank)

        @given(st.lists(st.lists(operations, min_size=1, max_size=3), min_size=3, max_size=7), st.booleans())
        @example([[PutOp(("b",), "k1", None), PutOp(("a",), "k1", {}), PutOp(("b",), "k1", {})]], False)
        @settings(max_examples=10, deadline=None, phases=FOUND, suppress_health_check=list(HealthCheck))
        def agree(batches: list[list[Any]], asynchronous: bool) -> None:
            root, theirs = f"r{next(ROOTS)}", InMemoryStore()
            for batch in batches:
                ops = [under(root, op) for op in batch]
                found = asyncio.run(ours.abatch(ops)) if asynchronous else ours.batch(ops)
                for op, answer in zip(ops, found, strict=True):
                    if not isinstance(op, PutOp) and (wanted := asked(theirs, op)) is not NO_NUMBER:
                        assert shown(answer) == shown(wanted)
                    theirs = only_what_is_there(theirs)
                # Of two for one key the last counts, in the place of the first, as their batch has it.
                for op in {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}.values():
                    # Together, one that deletes what is not there would give its namespace a place in the order.
                    theirs.batch([op])
                    theirs = only_what_is_there(theirs)
            left = ours.search((root,), limit=ALL)
            assert shown(left) == shown(theirs.search((root,), limit=ALL))
            ranked = ours.search((root,), limit=ALL, query="red 1 blue")
            assert sorted(shown(ranked), key=repr) == sorted(shown(left), key=repr)
            scores = [item.score if item.score is not None else 0.0 for item in ranked]
            assert scores == sorted(scores, reverse=True)
            pages = [ours.search((root,), limit=2, offset=at, query="red 1 blue") for at in range(0, len(left), 2)]
            assert shown([item for page in pages for item in page]) == shown(ranked)
            ours.batch([PutOp(item.namespace, item.key, None) for item in left])

        agree()
        assert bank.scopes() == []
