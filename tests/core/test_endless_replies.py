"""A model that repeats itself up to its limit is asked a few times a session, and warned of once, not for each turn."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest

from secom_core import MemoryBank
from secom_core.conversation import Message, group_messages
from secom_core.errors import DegradedWarning
from secom_core.segmenters import LexicalSegmenter, ZeroShotSegmenter
from secom_core.testing import Answer, ScriptedModel, ScriptedRequest

ANN = ("acme", "ann")
SESSION = [
    message
    for number in range(40)
    for message in (
        Message(f"In bed {number} I planted rocket of the kind Zeta{number}."),
        Message("Water it well and cover it with a net.", role="assistant"),
    )
]
TURNS = group_messages(SESSION)
# What SmolLM2-135M-Instruct replied about the first of three turns of a gardener, and went on with up to its limit.
TURTLE = (
    '{\n"extracted_memories": [{"summary": "The rocket has come up! But something eats holes in it, tiny ones. But '
)
TURTLE += "it's not a flea, it's a sea turtle." + " It's a sea turtle." * 40
BAKERY = "\n\n".join(f"Merge({n}, Ines runs a bakery in Faro and since May bakes rye bread as well)" for n in range(8))


def endless(request: ScriptedRequest) -> Answer:
    return Answer(BAKERY if request.purpose == "topic-update" else TURTLE, finish_reason="length")


def warned_of(layer: str, model: ScriptedModel) -> list[str]:
    with warnings.catch_warnings(record=True) as said, MemoryBank.open(model=model, **{layer: True}) as bank:
        warnings.simplefilter("always")
        bank.remember(ANN, SESSION, session="monday", close=True)
        assert bank.layers.behind(ANN, layer) == 0
        made = bank.topics.all(ANN) if layer == "topics" else bank.timelines.events(ANN)
        assert {each for one in made for each in one.turn_ids} == {turn.id for turn in bank.turns(ANN, "monday")}
    return [str(each.message) for each in said if each.category is DegradedWarning]


@pytest.mark.parametrize(
    ("layer", "calls", "causes"),
    [
        ("timelines", {"events": 3}, ["found no events in 40 turns"]),
        ("topics", {"topics": 3, "topic-update": 6}, ["found no topics of user in 40 turns", "where "]),
    ],
)
def test_a_layer_asks_about_halves_once_and_warns_once(layer: str, calls: dict[str, int], causes: list[str]) -> None:
    model = ScriptedModel(endless)
    found = warned_of(layer, model)
    asked = Counter(request.purpose for request in model.requests)
    assert {purpose: asked[purpose] <= most for purpose, most in calls.items()} == dict.fromkeys(calls, True)
    assert len(found) == len(causes)
    assert all(cause in text for cause, text in zip(causes, found, strict=True))


def test_a_reply_of_which_something_is_whole_is_asked_for_in_smaller_pieces() -> None:
    def reply(request: ScriptedRequest) -> Answer:
        numbers = range(request.text.rpartition("<conversation>")[2].count("[Exchange "))
        rows = [f'{{"event": "The user planted rocket in a bed.", "exchanges": [{number}]}}' for number in numbers]
        cut_off = len(rows) > 10
        return Answer("<events>\n" + "\n".join(rows[:10]), finish_reason="length" if cut_off else "stop")

    model = ScriptedModel(reply)
    assert warned_of("timelines", model) == []
    assert len(model.requests) == 7, "40 turns, then halves of 20, then of 10"


def test_a_segmenter_asks_about_a_quarter_and_then_no_more() -> None:
    model = ScriptedModel(Answer("[Exchange 0]: " * 200, finish_reason="length"))
    with pytest.warns(DegradedWarning, match="did not segment 40 turns, LexicalSegmenter did instead") as said:
        found = ZeroShotSegmenter(model, fallback=LexicalSegmenter()).segment(TURNS)
    assert (found[0].start, found[-1].stop) == (0, 40)
    assert sum(each.category is DegradedWarning for each in said) == 1
    assert len(model.requests) == 3
