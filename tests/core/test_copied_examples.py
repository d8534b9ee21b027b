"""An example of a prompt that a small model sent as what it was told stays out, though the talk has a word of it."""

from __future__ import annotations

import json

import pytest

from secom_core import MemoryBank
from secom_core.errors import DegradedWarning
from secom_core.testing import ScriptedModel, ScriptedRequest

ANN = ("acme", "ann")
SESSION = [
    {"role": "user", "content": "The rocket has come up! But something eats holes in it, tiny ones."},
    {"role": "assistant", "content": "Those are flea beetles. Cover the box with a fine net of one by two metres."},
    {"role": "user", "content": "My sister Greet is a nurse in Bruges and says she will water when I'm away."},
    {"role": "assistant", "content": "That is kind of her."},
]
# What SmolLM2-135M-Instruct replied about a talk in which a sister was named, word for word.
COPIED = "Ines has rented a stall at the fish market and will sell smoked eel there. My sister Rosa helps."
RIGHT = "Ann's sister Greet is a nurse in Bruges."


@pytest.mark.parametrize("invented", [COPIED, "The user has two sons, Tom and Emil, and a dog."])
def test_one_word_of_many_does_not_bear_out_a_topic_or_an_event(invented: str) -> None:
    def reply(request: ScriptedRequest) -> str:
        if request.purpose == "topics":
            rows = [{"summary": RIGHT, "reference": [1]}, {"summary": invented, "reference": [0, 1]}]
            return json.dumps({"extracted_memories": rows})
        rows = [{"event": RIGHT, "exchanges": [1]}, {"event": invented, "exchanges": [0, 1]}]
        return "<events>\n" + "\n".join(map(json.dumps, rows)) + "\n</events>"

    model = ScriptedModel(reply)
    with MemoryBank.open(model=model, topics=True, timelines=True) as bank:
        with pytest.warns(DegradedWarning, match="the conversation does not say") as said:
            bank.remember(ANN, SESSION, session="monday", close=True)
        assert sum(each.category is DegradedWarning for each in said) == 2, "one for topics, one for events"
        assert [each.summary for each in bank.topics.all(ANN)] == [RIGHT]
        assert [each.text for each in bank.timelines.events(ANN)] == [RIGHT]
    assert len(model.requests) == 4
