"""A cache in front of an embedder changes the cost and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secom_core.bank import MemoryBank
from secom_core.errors import BadReply, InvalidInput, ModelUnavailable
from secom_core.models import CachedEmbedder
from secom_core.protocols import Embedder, Vectors
from secom_core.testing import ScriptedEmbedder


class Counting(ScriptedEmbedder):
    """Remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(16, name="counted")
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.extend(texts)
        return super().embed(texts)


def test_it_is_an_embedder_of_the_same_name():
    cached = CachedEmbedder(Counting())
    assert isinstance(cached, Embedder)
    assert cached.name == "counted"


def test_a_text_is_asked_for_once_even_in_one_call():
    inner = Counting()
    cached = CachedEmbedder(inner)
    first = cached.embed(["a b", "c", "a b"])
    assert np.array_equal(cached.embed(["c", "a b", "d"])[:2], first[[1, 0]])
    assert inner.asked == ["a b", "c", "d"]


def test_the_least_recently_used_goes_first():
    inner = Counting()
    cached = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed([text])
    assert inner.asked == ["a", "b", "c", "b"]


@pytest.mark.slow
@given(st.lists(st.lists(st.text(max_size=3), max_size=5), max_size=12), st.integers(1, 6))
def test_the_vectors_are_the_embedders_own(calls, size):
    cached, plain = CachedEmbedder(ScriptedEmbedder(8), size=size), ScriptedEmbedder(8)
    for texts in calls:
        rows = cached.embed(texts)
        assert np.array_equal(rows, plain.embed(texts))
        assert rows.dtype == np.float32
        assert len(cached._rows) <= size


def test_what_a_caller_does_to_the_vectors_stays_with_the_caller():
    cached = CachedEmbedder(ScriptedEmbedder(8))
    cached.embed(["a"])[:] = 9
    cached.embed(["a"])[:] = 9
    assert np.array_equal(cached.embed(["a"]), ScriptedEmbedder(8).embed(["a"]))


def test_a_failure_is_passed_on_and_not_kept():
    class Flaky(Counting):
        def embed(self, texts: Sequence[str]) -> Vectors:
            rows = super().embed(texts)
            if len(self.asked) == 1:
                raise ModelUnavailable("not yet")
            return rows

    cached = CachedEmbedder(Flaky())
    with pytest.raises(ModelUnavailable):
        cached.embed(["a"])
    assert cached.embed(["a"]).shape == (1, 16)


def test_known_texts_are_served_while_others_are_made():
    begun, go_on = threading.Event(), threading.Event()

    class Slow(ScriptedEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            if "slow" in texts:
                begun.set()
                assert go_on.wait(120)
            return super().embed(texts)

    cached = CachedEmbedder(Slow(8))
    cached.embed(["known"])
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(cached.embed, ["slow"])
        assert begun.wait(5)
        assert pool.submit(cached.embed, ["known"]).result(timeout=2).shape == (1, 8)
        go_on.set()
        assert slow.result(timeout=5).shape == (1, 8)


def test_many_threads_get_right_vectors():
    cached, plain = CachedEmbedder(ScriptedEmbedder(32), size=5), ScriptedEmbedder(32)
    with ThreadPoolExecutor(8) as pool:
        batches = [[f"t{(start + step) % 11}" for step in range(4)] for start in range(200)]
        for texts, rows in zip(batches, pool.map(cached.embed, batches), strict=True):
            assert np.array_equal(rows, plain.embed(texts))


def test_a_size_below_one_is_refused():
    with pytest.raises(InvalidInput, match="size=0"):
        CachedEmbedder(Counting(), size=0)


class TwoSided(Counting):
    """Reads queries otherwise than texts."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed([f"query: {text}" for text in texts])


def test_queries_go_to_the_embedder_as_queries_and_are_cached_apart():
    inner = TwoSided()
    cached = CachedEmbedder(inner)
    for _ in range(2):
        np.testing.assert_allclose(cached.embed_queries(["tea"]), inner.embed_queries(["tea"]))
        np.testing.assert_allclose(cached.embed(["tea"]), TwoSided().embed(["tea"]))
    assert inner.asked.count("tea") == 1


def test_without_a_query_side_queries_are_texts():
    cached = CachedEmbedder(Counting())
    np.testing.assert_array_equal(cached.embed_queries(["tea"]), cached.embed(["tea"]))


def test_the_bank_embeds_what_is_asked_as_a_query_and_what_was_said_as_text():
    inner = TwoSided()
    with MemoryBank.open(embedder=inner) as bank:
        bank.remember(("a",), [{"role": "user", "content": "green tea"}], session="s")
        inner.asked.clear()
        bank.recall(("a",), "which tea?")
    assert inner.asked == ["query: which tea?"]


class Changing(ScriptedEmbedder):
    """Gives what it is told to."""

    rows: Vectors | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        return super().embed(texts) if self.rows is None else self.rows


def test_a_bad_batch_is_not_kept():
    inner = Changing(16)
    cached = CachedEmbedder(inner)
    inner.rows = np.full((1, 16), np.nan, np.float32)
    with pytest.raises(BadReply, match="number 0 of vector 0 is not finite: nan"):
        cached.embed(["a"])
    inner.rows = None
    assert np.array_equal(cached.embed(["a"]), inner.embed(["a"]))


def test_vectors_of_two_widths_are_not_mixed():
    inner = Changing(16)
    cached = CachedEmbedder(inner)
    cached.embed(["a"])
    cached.embedder = other = Changing(8)
    assert np.array_equal(cached.embed(["a", "b"]), other.embed(["a", "b"]))
