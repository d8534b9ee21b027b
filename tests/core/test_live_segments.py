"""SeCom live: while a session is open it is cut at no cost; once it has ended, the paper's one call cuts it."""

from __future__ import annotations

import re
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
from dense_stores import DictionaryStore
from embedders import HashingEmbedder

from secom_core import presets
from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.denoisers.informativeness import Informativeness
from secom_core.errors import DegradedWarning, ModelUnavailable
from secom_core.memory import Segment, segments_from, segments_of
from secom_core.segmenters import LexicalSegmenter, ZeroShotSegmenter
from secom_core.segmenters.zero_shot_prompt import as_jsonl
from secom_core.testing import ScriptedModel, ScriptedRequest

ANN = ("acme", "ann")
SHOWN = re.compile(r"^\[Exchange (\d+)\]:", re.MULTILINE)


def in_threes(request: ScriptedRequest) -> str:
    """Every third exchange begins a segment: no local segmenter cuts so."""
    assert request.purpose == "segment"
    count = int(SHOWN.findall(request.text)[-1]) + 1
    return f"<segmentation>\n{as_jsonl(segments_from(range(2, count - 1, 3), count))}\n</segmentation>"


def exchange(number: int) -> list[dict[str, str]]:
    about = ("kiln", "canoe", "sourdough", "accordion")[number // 4 % 4]
    return [
        {"role": "user", "content": f"Question {number}: how is the {about}?", "id": f"u{number}"},
        {"role": "assistant", "content": f"The {about} is doing fine today, number {number}.", "id": f"a{number}"},
    ]


def opened(path: Path | str, model: Any, **more: Any) -> MemoryBank:
    return MemoryBank.open(path, preset=presets.secom(model, denoiser=Informativeness(), **more))


def cuts(bank: MemoryBank, session: str = "s") -> list[Segment]:
    return segments_of(bank.memories(ANN, session))


def of_threes(count: int) -> list[Segment]:
    return segments_from(range(2, count - 1, 3), count)


class Outage:
    """A model that gives no answer until it is back."""

    def __init__(self) -> None:
        self.model, self.is_back, self.asked = ScriptedModel(in_threes), False, 0

    def complete(self, prompt: Any) -> str:
        self.asked += 1
        if not self.is_back:
            raise ModelUnavailable("connection refused")
        return self.model.complete(prompt)


@pytest.mark.slow
def test_an_open_session_asks_the_model_nothing_and_its_end_asks_once(tmp_path: Path) -> None:
    model = ScriptedModel(in_threes)
    with opened(tmp_path / "bank.db", model) as bank:
        for number in range(21):
            bank.remember(ANN, exchange(number), session="s")
            assert f"number {number}." in bank.recall(ANN, f"number {number}", k=1).text
        assert not model.requests
        open_cuts = cuts(bank)
        bank.close_session(ANN, "s")
        assert [request.purpose for request in model.requests] == ["segment"]
        health = bank.health()
        assert (health.turns, health.cost.calls) == (21, 1)
        assert health.cost.tokens_in > health.cost.tokens_out > 0
        assert cuts(bank) == of_threes(21) != open_cuts
        keys = {memory.key for memory in bank.memories(ANN, "s")}
        assert {hit.memory.key for hit in bank.recall(ANN, "number 8", k=20).hits} <= keys
        assert {hit.memory.value for hit in bank.recall(ANN, "number 8", k=1).hits} == {
            memory.value for memory in bank.memories(ANN, "s") if "number 8." in memory.value
        }
        assert not bank.check(ANN)
    with opened(tmp_path / "bank.db", model) as again:
        assert cuts(again) == of_threes(21)
        assert "number 20." in again.recall(ANN, "number 20", k=1).text
    assert len(model.requests) == 1


@pytest.mark.slow
def test_local_cuts_are_those_of_the_local_segmenter_and_stay_cheap() -> None:
    measured: list[int] = []

    class Counted(LexicalSegmenter):
        def segment(self, turns: Any) -> list[Segment]:
            measured.append(len(turns))
            return super().segment(turns)

    segmenter = ZeroShotSegmenter(ScriptedModel(in_threes), fallback=Counted())
    with MemoryBank.open(segmenter=segmenter) as bank:
        for number in range(90):
            bank.remember(ANN, exchange(number), session="s")
        assert max(measured) < 60
        assert [turn.id for memory in bank.memories(ANN, "s") for turn in memory.turns] == [f"u{n}" for n in range(90)]
        bank.close_session(ANN, "s")
        assert cuts(bank) == of_threes(90)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["inline", "background"])
def test_what_comes_late_is_cut_with_the_next_end_and_nothing_is_asked_twice(how: str) -> None:
    model = ScriptedModel(in_threes)
    with opened(":memory:", model) as bank, BackgroundWriter(bank, debounce=0) as writer:
        target: Any = writer if how == "background" else bank
        for number in range(6):
            target.remember(ANN, exchange(number), session="s")
        target.close_session(ANN, "s")
        assert writer.flush(20)
        assert cuts(bank) == of_threes(6)
        for number in range(6, 11):
            target.remember(ANN, exchange(number), session="s")
        assert writer.flush(20)
        assert len(model.requests) == 1
        target.close_session(ANN, "s")
        assert writer.flush(20)
        # The second call is about what came since.
        assert [len(SHOWN.findall(request.text)) for request in model.requests] == [6, 5]
        assert cuts(bank) == [*of_threes(6), Segment(6, 9), Segment(9, 11)]


@pytest.mark.slow
def test_with_a_background_writer_who_remembers_does_not_wait_for_the_model() -> None:
    asked: list[str] = []

    def answer(request: ScriptedRequest) -> str:
        asked.append(threading.current_thread().name)
        return in_threes(request)

    with opened(":memory:", ScriptedModel(answer)) as bank, BackgroundWriter(bank, debounce=60) as writer:
        for number in range(6):
            writer.remember(ANN, exchange(number), session="s")
        writer.close_session(ANN, "s")
        assert "number 5." in bank.recall(ANN, "number 5", k=1).text
        assert not asked
        assert writer.flush(20)
        assert asked == ["secom-writer"]
        assert cuts(bank) == of_threes(6)


@pytest.mark.slow
def test_a_model_that_fails_leaves_the_local_cuts_with_one_warning_and_is_asked_at_the_next_end(tmp_path: Path) -> None:
    model = Outage()
    with opened(tmp_path / "bank.db", model) as bank:
        for name in ("one", "two"):
            for number in range(7):
                said = [{**each, "id": f"{name}-{each['id']}"} for each in exchange(number)]
                bank.remember(ANN, said, session=name, later=True)
        bank.recall(ANN, "kiln")
        local = cuts(bank, "one")
        with pytest.warns(DegradedWarning, match="connection refused") as seen:
            bank.close_session(ANN, "two")
        assert sum(each.category is DegradedWarning for each in seen) == 1
        assert model.asked <= 2  # no session is waited for after the first that had no answer
        assert cuts(bank, "one") == local != of_threes(7)
        assert bank.health().underived
    with warnings.catch_warnings():
        # Whoever has no such segmenter leaves them as they are.
        warnings.simplefilter("error")
        with MemoryBank.open(tmp_path / "bank.db") as plain:
            assert plain.recall(ANN, "kiln").hits
            assert cuts(plain, "one") == local
    model.is_back = True
    with opened(tmp_path / "bank.db", model) as bank:
        bank.recall(ANN, "kiln")
        assert cuts(bank, "one") == local
        bank.remember(ANN, exchange(0), session="three", close=True)
        assert cuts(bank, "one") == cuts(bank, "two") == of_threes(7)
        assert not bank.health().underived
        assert not bank.check(ANN)


def test_unusable_replies_are_paid_once_and_the_local_cuts_stand() -> None:
    model = ScriptedModel("I would rather talk.")
    with opened(":memory:", model) as bank:
        with pytest.warns(DegradedWarning, match="did not segment 4 turns"):
            bank.remember(ANN, [each for number in range(4) for each in exchange(number)], session="s", close=True)
        paid = len(model.requests)
        bank.remember(ANN, [{**exchange(0)[0], "id": "x"}], session="t", close=True)
        assert len(model.requests) == paid  # a session of one turn needs no call


@pytest.mark.slow
def test_who_cut_a_session_is_recorded_and_a_rebuild_asks_again(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "bank.db") as plain:
        for number in range(6):
            plain.remember(ANN, exchange(number), session="s")
        plain.close_session(ANN, "s")
        by_words = cuts(plain)
        assert plain._store.session_named(ANN, "s").cut_by == "LexicalSegmenter"
    model = ScriptedModel(in_threes)
    with opened(tmp_path / "bank.db", model) as bank:
        # A bill for the whole past is for `rebuild` to run up.
        bank.derive(ANN)
        assert cuts(bank) == by_words != of_threes(6)
        assert not model.requests
        bank.rebuild(ANN)
        assert cuts(bank) == of_threes(6)
        assert len(model.requests) == 1
        assert bank._store.session_named(ANN, "s").cut_by == "ZeroShotSegmenter"


@pytest.mark.slow
def test_forgetting_in_a_session_that_was_cut_asks_nothing() -> None:
    model = ScriptedModel(in_threes)
    with opened(":memory:", model) as bank:
        bank.remember(ANN, [each for number in range(9) for each in exchange(number)], session="s", close=True)
        bank.forget(ANN, turn_ids=["u4"])
        bank.derive(ANN)
        assert [len(memory.turns) for memory in bank.memories(ANN, "s")] == [3, 2, 3]
        assert len(model.requests) == 1


@pytest.mark.slow
def test_vectors_and_the_store_outside_follow_the_models_cuts(tmp_path: Path) -> None:
    model, outside = ScriptedModel(in_threes), DictionaryStore(HashingEmbedder())
    with MemoryBank.open(
        preset=presets.secom(model, denoiser=Informativeness()), vector_store=outside, weights={"segment_dense": 1.0}
    ) as bank:
        for number in range(7):
            bank.remember(ANN, exchange(number), session="s")
        bank.close_session(ANN, "s")
        keys = {memory.key for memory in bank.memories(ANN, "s")}
        assert {each.text for each in outside.documents.values() if each.place.kind == "key"} == keys
    with opened(tmp_path / "bank.db", model, embedder=HashingEmbedder()) as bank:
        for number in range(7):
            bank.remember(ANN, exchange(number), session="s")
            bank.recall(ANN, "kiln")
        bank.close_session(ANN, "s")
        found = bank.recall(ANN, "number 6", k=9).hits
        assert {hit.memory.key for hit in found} <= {memory.key for memory in bank.memories(ANN, "s")}
        assert bank.stats(ANN).vectors == 2 * 7 + len(of_threes(7))


@pytest.mark.slow
def test_an_export_and_a_move_keep_the_cuts_and_what_is_owed(tmp_path: Path) -> None:
    model = Outage()
    with opened(tmp_path / "bank.db", model) as bank, opened(tmp_path / "other.db", model) as other:
        for number in range(6):
            bank.remember(ANN, exchange(number), session="s")
        with pytest.warns(DegradedWarning, match="connection refused"):
            bank.close_session(ANN, "s")
        lines = list(bank.storage.export(ANN))
        bank.storage.move_to(other.storage)
        model.is_back = True
        other.derive(ANN)
        assert cuts(other) == of_threes(6)
        other.storage.import_(lines, scope=("acme", "bob"))
        other.derive(("acme", "bob"))
        assert segments_of(other.memories(("acme", "bob"), "s")) == of_threes(6)
