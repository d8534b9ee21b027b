"""Vectors at the door: what an embedder gives is checked before it is stored, and what was stored when it is loaded."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update

from secom_core.bank import MemoryBank, kept_index
from secom_core.citations import RerankerOptions
from secom_core.errors import DegradedWarning
from secom_core.segmenters import LexicalSegmenter
from secom_core.stores.schema import index_blocks, vectors
from secom_core.testing import ScriptedEmbedder
from secom_core.timelines import TimelineOptions
from secom_core.topics import TopicOptions

ANN = ("acme", "ann")
QUERY = "When did I move?"
Spoilt = Callable[[Any], Any]


def talk(city: str) -> list[dict[str, str]]:
    said = (f"I moved to {city} in May.", "How do you like it?", "My cat Mila hates the stairs.")
    return [{"role": role, "content": text} for role, text in zip(("user", "assistant", "user"), said, strict=True)]


class Model:
    """An embedder of any width under one name, whose answers can be spoilt."""

    name = "model"

    def __init__(self, dimensions: int = 64) -> None:
        self._inner = ScriptedEmbedder(dimensions)
        self.of_texts: Spoilt | None = None
        self.of_queries: Spoilt | None = None
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        rows = np.array(self._inner.embed(texts))
        return rows if self.of_texts is None else self.of_texts(rows)

    def embed_queries(self, texts: Sequence[str]) -> Any:
        rows = np.array(self._inner.embed(texts))
        return rows if self.of_queries is None else self.of_queries(rows)


def with_number(number: float) -> Spoilt:
    def spoil(rows: Any) -> Any:
        rows[-1, 3] = number
        return rows

    return spoil


def fails(rows: Any) -> Any:
    raise RuntimeError("503")


BAD: dict[str, tuple[Spoilt, str]] = {
    "one too many": (lambda rows: np.vstack([rows, rows[:1]]), r"expected \d+ vectors .* shape \(\d+, 64\)"),
    "one too few": (lambda rows: rows[:-1], r"expected \d+ vectors .* shape \(\d+, 64\)"),
    "one flat row": (lambda rows: rows.ravel(), r"expected \d+ vectors .* shape \(\d+,\)"),
    "no numbers": (lambda rows: rows[:, :0], "empty vectors for"),
    "what is no number": (with_number(float("nan")), r"number 3 of vector \d+ is not finite: nan"),
    "what is infinite": (with_number(float("inf")), r"number 3 of vector \d+ is not finite: inf"),
    "another width": (lambda rows: rows[:, :32], "gave vectors of 32 dimensions, where its others have 64"),
}


def opened(place: Path | str, embedder: Any, **parts: Any) -> MemoryBank:
    return MemoryBank.open(place, embedder=embedder, segmenter=LexicalSegmenter(), **parts)


def widths(bank: MemoryBank) -> set[int]:
    with bank._store.transaction(write=False) as connection:
        return {len(data) // 4 for data in connection.scalars(select(vectors.c.data))}


def silently(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize("side", ["texts", "queries"])
@pytest.mark.parametrize("what", BAD)
def test_a_bad_batch_is_an_embedder_that_failed(what: str, side: str, tmp_path: Path) -> None:
    embedder, (spoil, cause) = Model(), BAD[what]
    with opened(tmp_path / "bank.db", embedder) as bank:
        bank.remember(ANN, talk("Ghent"), session="monday")
        silently(lambda: bank.recall(ANN, QUERY))
    embedder = Model()
    with opened(tmp_path / "bank.db", embedder) as bank:
        {"texts": spoilt_texts, "queries": spoilt_queries}[side](bank, embedder, spoil, cause)


def spoilt_texts(bank: MemoryBank, embedder: Model, spoil: Spoilt, cause: str) -> None:
    """What is remembered is found by words, until the embedder answers rightly again."""
    silently(lambda: bank.recall(ANN, QUERY))
    before = bank.stats(ANN).vectors
    embedder.of_texts = spoil
    with pytest.warns(DegradedWarning, match=f"the embedder failed.*{cause}") as raised:
        assert bank.remember(ANN, talk("Oslo"), session="tuesday").new == 3
    assert sum(each.category is DegradedWarning for each in raised) == 1
    assert bank.stats(ANN).vectors == before
    with pytest.warns(DegradedWarning, match=f"found by words.*{cause}") as raised:
        assert "Oslo" in bank.recall(ANN, QUERY).text
    assert sum(each.category is DegradedWarning for each in raised) == 1
    embedder.of_texts = None
    assert "Oslo" in silently(lambda: bank.recall(ANN, QUERY)).text
    assert bank.stats(ANN).vectors > before
    assert widths(bank) == {64}
    silently(lambda: bank.rebuild(ANN))


def spoilt_queries(bank: MemoryBank, embedder: Model, spoil: Spoilt, cause: str) -> None:
    """A search goes by words, and what is stored stays as it is."""
    embedder.of_queries = spoil
    for _ in range(2):
        with pytest.warns(DegradedWarning, match=f"this search is by words only.*{cause}") as raised:
            assert "Ghent" in bank.recall(ANN, QUERY).text
        assert sum(each.category is DegradedWarning for each in raised) == 1
    embedder.of_queries = None
    assert "Ghent" in silently(lambda: bank.recall(ANN, QUERY)).text
    assert set(embedder.asked) <= {QUERY}


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_a_first_query_of_another_width_does_not_say_what_fits(tmp_path: Path) -> None:
    embedder = Model()
    with opened(tmp_path / "bank.db", embedder) as bank:
        embedder.of_queries = lambda rows: rows[:, :32]
        bank.remember(ANN, talk("Ghent"), session="monday", later=True)
        with pytest.warns(DegradedWarning, match="gave vectors of 32 dimensions, where its others have 64"):
            assert "Ghent" in bank.recall(ANN, QUERY).text
        assert widths(bank) == {64}


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize("layers", [(), ("timelines", "topics")], ids=["alone", "with layers"])
def test_a_model_of_another_width_under_the_same_name_makes_its_vectors_anew(
    layers: tuple[str, ...], tmp_path: Path
) -> None:
    parts: dict[str, Any] = {}
    if layers:
        parts = {
            "timelines": TimelineOptions(recall_without_model=True),
            "topics": TopicOptions(recall_without_model=True),
        }
    with opened(tmp_path / "bank.db", Model(64), **parts) as old:
        old.remember(ANN, talk("Ghent"), session="monday", close=True)
        silently(lambda: old.recall(ANN, QUERY, layers=layers))
        with opened(tmp_path / "bank.db", Model(32), **parts) as new:
            new.remember(ANN, talk("Oslo"), session="tuesday", later=True)
            with pytest.warns(DegradedWarning, match="have 64 dimensions, and it now gives 32") as raised:
                found = new.recall(ANN, QUERY, layers=layers)
            assert sum(each.category is DegradedWarning for each in raised) == 1
            assert {"Ghent", "Oslo"} <= set(found.text.replace(".", " ").split())
            assert widths(new) == {32, 64}
            for bank in (old, new, old):
                assert "Oslo" in silently(lambda bank=bank: bank.recall(ANN, QUERY, layers=layers)).text
                silently(lambda bank=bank: bank.remember(ANN, talk("Rome"), session="friday", close=True))
                assert "Rome" in silently(lambda bank=bank: bank.recall(ANN, "Rome", layers=layers)).text
                silently(lambda bank=bank: bank.rebuild(ANN))


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_two_widths_under_one_name_do_not_replace_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_index, "_WORTH", 1)
    asked: list[int] = []
    for turn, dimensions in enumerate((64, 32, 64, 32)):
        embedder = Model(dimensions)
        with opened(tmp_path / "bank.db", embedder) as bank:
            if turn == 0:
                bank.remember(ANN, talk("Ghent"), session="monday")
            with warnings.catch_warnings(record=True) as raised:
                warnings.simplefilter("always")
                found = bank.recall(ANN, QUERY)
            assert "Ghent" in found.text
            assert "passage_dense" in found.hits[0].signals
            assert sum(each.category is DegradedWarning for each in raised) == (1 if turn == 1 else 0)
            assert not [finding for finding in bank.check(ANN) if finding.table == "vectors"]
        asked.append(len(embedder.asked))
    # In turn one text is told apart, and all is made; then each finds its own, in the index that it has kept too.
    assert asked == [asked[0], asked[0] + 1, 0, 0]
    with opened(tmp_path / "bank.db", Model(32)) as bank:
        with bank._store.transaction(write=False) as connection:
            assert set(connection.scalars(select(index_blocks.c.space))) == {"model [32]", "model [64]"}
        bank.forget(ANN, session="monday")
        assert widths(bank) == set()


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize(
    "data",
    [np.full(64, np.nan, "<f4").tobytes(), np.ones(7, "<f4").tobytes(), b"\x00" * 255, b""],
    ids=["no numbers", "another width", "cut off", "empty"],
)
def test_a_stored_vector_that_does_not_fit_is_set_aside_and_made_again(data: bytes, tmp_path: Path) -> None:
    with opened(tmp_path / "bank.db", Model()) as bank:
        bank.remember(ANN, talk("Ghent"), session="monday")
        bank.remember(ANN, talk("Oslo"), session="tuesday")
        with bank._store.transaction() as connection:
            one = connection.execute(select(vectors.c.session_id, vectors.c.digest).limit(1)).one()
            damaged = (vectors.c.session_id == one.session_id, vectors.c.digest == one.digest)
            connection.execute(update(vectors).where(*damaged).values(data=data))
    embedder = Model()
    with opened(tmp_path / "bank.db", embedder) as bank:
        embedder.of_texts = fails
        with pytest.warns(DegradedWarning) as raised:
            assert "Ghent" in bank.recall(ANN, QUERY).text
        assert sum("are set aside" in str(each.message) for each in raised) == 1
        embedder.of_texts, embedder.asked = None, []
        assert "Ghent" in silently(lambda: bank.recall(ANN, QUERY)).text
        assert len(embedder.asked) == 1
        assert widths(bank) == {64}


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_where_the_width_is_the_same_nothing_is_made_again(tmp_path: Path) -> None:
    with opened(tmp_path / "bank.db", Model()) as bank:
        bank.remember(ANN, talk("Ghent"), session="monday")
    embedder = Model()
    with opened(tmp_path / "bank.db", embedder) as bank:
        silently(lambda: bank.recall(ANN, QUERY))
        bank.close_session(ANN, "monday")
        assert embedder.asked == []


@pytest.mark.slow
def test_an_embedder_that_is_down_when_the_bank_is_opened_is_asked_once(tmp_path: Path) -> None:
    with opened(tmp_path / "bank.db", Model()) as bank:
        for day in range(5):
            bank.remember(ANN, talk("Ghent"), session=f"day {day}")
    embedder = Model()
    embedder.of_texts = embedder.of_queries = fails
    with opened(tmp_path / "bank.db", embedder) as bank:
        with pytest.warns(DegradedWarning, match="503") as raised:
            assert "Ghent" in bank.recall(ANN, QUERY).text
        assert (len(raised), embedder.asked) == (1, [])
        embedder.of_texts = embedder.of_queries = None
        found = silently(lambda: bank.recall(ANN, QUERY))
        assert embedder.asked == []
        assert "passage_dense" in found.hits[0].signals


def test_a_wrong_answer_that_comes_first_is_not_taken_for_another_model(tmp_path: Path) -> None:
    with opened(tmp_path / "bank.db", Model()) as bank:
        bank.remember(ANN, talk("Ghent"), session="monday")
    embedder = Model()
    answers = iter([lambda rows: rows[:, :8]])
    embedder.of_texts = lambda rows: next(answers, lambda rows: rows)(rows)
    with opened(tmp_path / "bank.db", embedder) as bank:
        with pytest.warns(DegradedWarning, match="gave vectors of 8 dimensions, where its others have 64"):
            bank.remember(ANN, talk("Oslo"), session="tuesday")
        assert "Oslo" in silently(lambda: bank.recall(ANN, QUERY)).text
        assert widths(bank) == {64}


@pytest.mark.slow
def test_the_papers_reranker_begins_again_with_vectors_of_another_width(tmp_path: Path) -> None:
    learns = RerankerOptions(batch=1)
    for dimensions, expected in ((64, 0), (32, 1)):
        with opened(tmp_path / "bank.db", Model(dimensions), citations=learns) as bank:
            with warnings.catch_warnings(record=True) as raised:
                warnings.simplefilter("always")
                bank.remember(ANN, talk("Ghent"), session=f"of {dimensions}")
                found = bank.recall(ANN, QUERY)
                assert found.impression is not None
                bank.citations.reward(ANN, QUERY, found.impression, [found.hits[0].number])
                silent = sum(each.category is DegradedWarning for each in raised)
                bank.recall(ANN, QUERY)
            assert sum(each.category is DegradedWarning for each in raised) == silent
            begins = [each for each in raised if "learned from vectors of 64 dimensions" in str(each.message)]
            assert bool(begins) == bool(expected)


def test_what_was_half_followed_is_loaded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(":memory:", Model()) as bank:
        bank.remember(ANN, talk("Ghent"), session="monday")
        bank.recall(ANN, QUERY)
        loaded = bank._inside.scopes._states.get(ANN)
        assert loaded is not None
        bank.remember(ANN, talk("Oslo"), session="tuesday")

        def full(*args: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr(loaded.index, "_add_passages", full)
            with pytest.raises(OSError, match="No space"):
                bank.recall(ANN, QUERY)
        assert "Oslo" in bank.recall(ANN, QUERY).text
