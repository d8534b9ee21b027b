"""SeCom as published, with a scripted model: its segments, its keys, whole segments in time order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from secom_core import presets
from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Session, group_messages
from secom_core.denoisers.informativeness import Informativeness
from secom_core.errors import DegradedWarning
from secom_core.models.scripted import ScriptedModel

ANN = ("acme", "ann")
SAID = [
    "The kiln needs a new thermocouple.",
    "I ordered one from the pottery shop.",
    "My cousin Ilse is learning the accordion.",
    "She practises every evening in the garage.",
]
REPLY = """<segmentation>
{"segment_id": 0, "start_exchange_number": 0, "end_exchange_number": 1, "num_exchanges": 2}
{"segment_id": 1, "start_exchange_number": 2, "end_exchange_number": 3, "num_exchanges": 2}
</segmentation>"""


def session() -> Session:
    return Session("s", group_messages([Message(text, "", "Ann", f"t{n}") for n, text in enumerate(SAID)], "s"))


def test_secom_takes_the_models_segments_and_gives_them_back_whole():
    model = ScriptedModel(REPLY)
    with MemoryBank.open(preset=presets.secom(model, denoiser=Informativeness())) as bank:
        bank.remember(ANN, session(), close=True)
        assert [(segment.start, segment.stop) for segment in bank.segments(ANN, "s")] == [(0, 2), (2, 4)]
        [hit] = bank.recall(ANN, "Who plays the accordion?", k=1).hits
    assert hit.turn_ids == ("t2", "t3")
    assert list(hit.signals) == ["segment_lexical"]
    assert len(hit.memory.key.split()) < len(hit.memory.value.split())
    assert len(model.requests) == 1


def test_secom_with_a_model_that_rambles_still_keeps_every_turn():
    with MemoryBank.open(
        preset=presets.secom(ScriptedModel("I would rather talk."), denoiser=Informativeness())
    ) as bank:
        with pytest.warns(DegradedWarning, match="segment"):
            bank.remember(ANN, session(), close=True)
        assert [turn.content for turn in bank.turns(ANN, "s")] == SAID
        assert sum(len(segment) for segment in bank.segments(ANN, "s")) == 4


def test_a_later_turn_asks_the_model_yes_or_no():
    asked: list[str] = []

    def answer(request) -> str:
        asked.append(request.text)
        return REPLY if len(asked) == 1 else "no"

    with MemoryBank.open(preset=presets.secom(ScriptedModel(answer), denoiser=Informativeness())) as bank:
        bank.remember(ANN, session())
        bank.remember(ANN, [Message("What is the capital of Peru?", "", "Ann", "t4")], session="s")
        lengths: Sequence[int] = [len(segment) for segment in bank.segments(ANN, "s")]
    assert lengths == [2, 2, 1]
    assert len(asked) == 2
