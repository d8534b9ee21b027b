"""What a model copies from a prompt: an example of the prompt's own stays out, though the talk has a word of it, and
what was said is kept as it was said."""

from __future__ import annotations

import json
import re

import pytest

from secom_core import MemoryBank
from secom_core.changes.asking import read_records
from secom_core.errors import DegradedWarning
from secom_core.llm.rewriting import read_question
from secom_core.testing import ScriptedModel, ScriptedRequest
from secom_core.timelines import TimelineOptions

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


def test_signs_that_a_prompt_writes_as_entities_are_kept_as_they_were_said() -> None:
    said = {
        "monday": "Ann leads R&D at Smith & Sons, where p < 0.05.",
        "friday": "Ann of R&D at Smith & Sons has a dog, and p < 0.05.",
    }

    def copied(request: ScriptedRequest) -> str:
        """What stands in the prompt, as it stands there."""
        line = re.findall(r"Ann .*R&amp;D.* 0\.05\.", request.text)[-1]
        return {
            "events": json.dumps({"event": line, "exchanges": [0]}),
            "topics": json.dumps({"extracted_memories": [{"summary": line, "reference": [0]}]}),
            "topic-update": f"Merge(0, Ann leads R&amp;D. {line})",
            "relation": "Relation: SameTopic",
            "refine": f"<notes>{line}</notes>",
        }[request.purpose]

    options = TimelineOptions(refined=True)
    with MemoryBank.open(model=ScriptedModel(copied), topics=True, timelines=options) as bank:
        for session, text in said.items():
            bank.remember(ANN, [{"role": "user", "content": text}], session=session, close=True)
        assert [each.text for each in bank.timelines.events(ANN)] == list(said.values())
        assert [each.summary for each in bank.topics.all(ANN)] == [f"Ann leads R&D. {said['friday']}"]
        blocks = [bank.recall(ANN, "R&D", token_budget=500, layers=[each]) for each in ("timelines", "topics")]
        assert blocks[0].items("timelines")[0].text in said.values()
        assert not any("&amp;" in block.text or "&lt;" in block.text for block in blocks)
    [told] = read_records('{"new": 2, "old": 1, "old_value": "R&amp;D", "new_value": "Smith &amp; Sons"}')
    assert (told.old_value, told.new_value) == ("R&D", "Smith & Sons")
    assert read_question("<question>Who leads R&amp;D?</question>") == "Who leads R&D?"
