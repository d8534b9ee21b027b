"""A text that is refused keeps no other from its vector; an embedder that keeps callers waiting is left alone."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secom_core.bank import MemoryBank
from secom_core.errors import DegradedWarning, ModelPaused, ModelUnavailable
from secom_core.llm import pauses
from secom_core.models import CachedEmbedder, OpenAIEmbedder
from secom_core.models.refusals import vectors_of
from secom_core.protocols import Embedder, Vectors
from secom_core.segmenters import LexicalSegmenter
from secom_core.testing import Fault, ScriptedEmbedder, ScriptedServer
from secom_core.text.terms import count_tokens

ANN = ("acme", "ann")
LONG = "他们在码头上谈论明年的预算和新的仓库。" * 200
QUERY = "When did I move to Ghent?"


class Choosy(ScriptedEmbedder):
    """Refuses requests with a long text, with a certain word, or with many texts."""

    def __init__(self, *, most: int = 1_000_000, word: str = "\0", batch: int = 1_000) -> None:
        super().__init__(32, name="choosy")
        self.most, self.word, self.batch = most, word, batch
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        longest = max(map(count_tokens, texts))
        if longest > self.most:
            raise ValueError(f"maximum context length is {self.most} tokens, however you requested {longest} tokens")
        if any(self.word in text for text in texts):
            raise ValueError("the text is not allowed")
        if len(texts) > self.batch:
            raise ValueError("batch size exceeds the limit")
        return super().embed(texts)


def opened(embedder: Embedder, place: Path | str = ":memory:") -> MemoryBank:
    return MemoryBank.open(place, embedder=embedder, segmenter=LexicalSegmenter())


def said(*texts: str) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": text} for text in ("I moved to Ghent in May.", "The cat is called Mila.", *texts)
    ]


@pytest.mark.parametrize(
    ("embedder", "odd", "says"),
    [
        (Choosy(most=300), LONG, "gets no more than the beginning of long texts: maximum context length is 300"),
        (Choosy(word="forbidden"), "This is forbidden.", "refuses .* found by words alone .* the text is not allowed"),
    ],
    ids=["too long", "not allowed"],
)
def test_a_text_that_is_refused_keeps_no_other_from_its_vector(
    embedder: Choosy, odd: str, says: str, tmp_path: Path
) -> None:
    with opened(embedder, tmp_path / "bank.db") as bank:
        with pytest.warns(DegradedWarning, match=says):
            bank.remember(ANN, said(odd), session="monday", close=True)
        stats = bank.stats(ANN)
        assert stats.vectors > stats.turns
        embedder.asked.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert "Ghent" in bank.recall(ANN, QUERY).text
            bank.remember(ANN, said("Nothing special."), session="tuesday")
        assert [QUERY] in embedder.asked
    embedder.asked.clear()
    with opened(embedder, tmp_path / "bank.db") as bank:
        bank.recall(ANN, QUERY)
    assert embedder.asked == [[QUERY]]


def test_how_long_a_text_may_be_is_found_out_once() -> None:
    embedder = Choosy(most=300)
    with pytest.warns(DegradedWarning, match="beginning"):
        rows = vectors_of(embedder, embedder.embed, [*map(str, range(60)), LONG])
    assert len(embedder.asked) < 24
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(61))
    embedder.asked.clear()
    vectors_of(embedder, embedder.embed, ["a", f"{LONG} again"])
    assert len(embedder.asked) == 1


def test_a_request_of_too_many_texts_is_divided() -> None:
    embedder, texts = Choosy(batch=32), [f"word{number}" for number in range(100)]
    rows = vectors_of(embedder, embedder.embed, texts)
    assert np.array_equal(rows, ScriptedEmbedder(32).embed(texts))


def test_a_query_that_is_too_long_is_searched_by_its_beginning() -> None:
    with opened(Choosy(most=300)) as bank:
        bank.remember(ANN, said(), session="monday")
        with pytest.warns(DegradedWarning, match="beginning"):
            assert "Ghent" in bank.recall(ANN, f"{QUERY} {LONG}").text


def test_many_texts_that_are_refused_keep_no_other_from_its_vector() -> None:
    embedder = Choosy(word="forbidden")
    texts = [f"text {number}" + " forbidden" * (number % 3 == 0) for number in range(90)]
    with pytest.warns(DegradedWarning, match="refuses 30 of 90 texts"):
        rows = vectors_of(embedder, embedder.embed, texts)
    assert [number for number in range(90) if not rows[number].any()] == list(range(0, 90, 3))


def test_an_embedder_that_takes_nothing_is_asked_for_no_parts() -> None:
    embedder = Choosy(word="")
    with pytest.raises(ValueError, match="not allowed"):
        vectors_of(embedder, embedder.embed, [f"text {number}" for number in range(50)])
    assert list(map(len, embedder.asked)) == [50, 1]


@pytest.mark.parametrize(("status", "requests"), [(400, 4), (413, 4), (500, 4), (429, 1), (401, 1), (503, 1)])
def test_only_some_statuses_are_due_to_the_texts(status: int, requests: int) -> None:
    with ScriptedServer(embedding_faults=[Fault(status=status)]) as server:
        embedder = OpenAIEmbedder("tiny", base_url=server.base_url, max_retries=0)
        if requests > 1:
            assert len(vectors_of(embedder, embedder.embed, ["one", "two"])) == 2
        else:
            with pytest.raises(ModelUnavailable, match=str(status)):
                vectors_of(embedder, embedder.embed, ["one", "two"])
        assert len(server.embedding_requests) == requests


@pytest.mark.parametrize(
    "carried",
    [
        {"http_status": 429},
        {"code": 429},
        {"response": {"ResponseMetadata": {"HTTPStatusCode": 429}}},
        {"args": ("Rate limit reached",)},
    ],
)
def test_a_service_that_takes_only_small_requests_for_now_is_asked_for_no_parts(carried: dict[str, Any]) -> None:
    asked: list[int] = []

    def embed(texts: Sequence[str]) -> Vectors:
        asked.append(len(texts))
        if len("".join(texts)) > 20:
            error = RuntimeError("too many tokens, please wait")
            for name, value in carried.items():
                setattr(error, name, value)
            raise error
        return ScriptedEmbedder(32).embed(texts)

    with pytest.raises(RuntimeError):
        vectors_of(ScriptedEmbedder(32), embed, ["a first text", "a second text"])
    assert asked == [2]


@pytest.mark.parametrize("text", ["short", "long " * 100])
def test_a_service_that_fails_after_it_was_tried_has_refused_no_text(text: str) -> None:
    answers = iter([False, True, False, False, text != "short", False])

    def embed(texts: Sequence[str]) -> Vectors:
        if not next(answers):
            raise RuntimeError("internal error")
        return ScriptedEmbedder(32).embed(texts)

    with pytest.raises(RuntimeError):
        vectors_of(ScriptedEmbedder(32), embed, [text])


def test_a_cache_asks_again_for_what_was_refused() -> None:
    embedder = Choosy(word="forbidden")
    cached = CachedEmbedder(embedder)
    with pytest.warns(DegradedWarning, match="refuses"):
        assert not cached.embed(["forbidden", "allowed"])[0].any()
    embedder.word = "\0"
    assert cached.embed(["forbidden", "allowed"]).any(axis=1).all()


def test_a_text_that_failed_by_chance_has_its_vector() -> None:
    with ScriptedServer(embedding_faults=[Fault(status=500)]) as server:
        embedder = OpenAIEmbedder("tiny", base_url=server.base_url, max_retries=0)
        assert vectors_of(embedder, embedder.embed, ["one"]).any()


def test_an_embedder_that_lets_callers_wait_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "_NOTICED_S", 0.05)
    monkeypatch.setattr(pauses, "_TIMES", 10_000)

    class Hanging(ScriptedEmbedder):
        asked = 0

        def embed(self, texts: Sequence[str]) -> Vectors:
            self.asked += 1
            time.sleep(0.1)
            raise TimeoutError("timed out")

    embedder = Hanging(name="hanging")
    with opened(embedder) as bank:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegradedWarning)
            bank.remember(ANN, said(), session="monday")
            bank.recall(ANN, QUERY)
        with pytest.warns(DegradedWarning, match="the embedder is not asked before .* timed out"):
            assert "Ghent" in bank.recall(ANN, "Ghent").text
        assert embedder.asked == 2
        with pytest.raises(ModelPaused):
            CachedEmbedder(embedder).embed(["a"])


def test_what_is_cached_is_served_while_its_embedder_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "_NOTICED_S", 0.05)
    monkeypatch.setattr(pauses, "_TIMES", 10_000)

    class Failing(ScriptedEmbedder):
        asked, fails = 0, False

        def embed(self, texts: Sequence[str]) -> Vectors:
            self.asked += 1
            if self.fails:
                time.sleep(0.1)
                raise RuntimeError("internal error")
            return super().embed(texts)

    embedder = Failing(32)
    cached = CachedEmbedder(embedder)
    known = vectors_of(cached, cached.embed, ["a", "known"])
    embedder.asked, embedder.fails = 0, True
    for texts in (["one", "two", "three"], ["four", "five"]):
        with pytest.raises(RuntimeError):
            vectors_of(cached, cached.embed, texts)
    assert embedder.asked == 4, "each request, and whether it is at fault"
    with pytest.raises(ModelPaused):
        vectors_of(cached, cached.embed, ["six"])
    assert (vectors_of(cached, cached.embed, ["a", "known"]) == known).all()


def test_of_a_text_whose_end_is_refused_it_is_told_that_only_its_beginning_is_embedded() -> None:
    embedder = Choosy(word="forbidden")
    with pytest.warns(DegradedWarning, match="no more than the beginning of long texts: the text is not allowed"):
        assert vectors_of(embedder, embedder.embed, ["word " * 100 + "forbidden"]).any()
