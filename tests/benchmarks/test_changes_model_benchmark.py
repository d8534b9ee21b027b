"""What a model adds to the rules on our own chats, measured with a scripted one; and what is kept of its replies."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from benchmarks import changes_model
from secom_core.testing import ScriptedModel

SET = Path(changes_model.__file__).parent / "changes"


def test_chats_are_of_every_language_and_of_the_half_that_counts():
    chats = changes_model.chosen(SET, 1)
    assert sorted(chat["language"] for chat in chats) == ["de", "en", "es", "fr", "ja", "ko", "zh"]
    assert {chat["part"] for chat in chats} == {"test"}
    first = {chat["language"]: chat["name"] for chat in reversed(changes_model.chosen(SET, 2))}
    assert {chat["language"]: chat["name"] for chat in chats} == first


def test_a_model_that_says_nothing_leaves_what_the_rules_found():
    found = changes_model.own(Namespace(set=SET, most=1), ScriptedModel("<changes></changes>"))
    assert found["rules"] == found["with the model"]
    assert found["rules"]["wanted"] > found["rules"]["right"] > 0


def test_replies_about_data_that_is_not_ours_are_left_out(tmp_path):
    path = tmp_path / "recorded.jsonl"
    path.write_text("".join(json.dumps({"part": part, "reply": "words"}) + "\n" for part in ("own", "locomo")))
    for _ in range(2):
        changes_model.leave_out(path)
        kept = [json.loads(line) for line in path.read_text().splitlines()]
        assert kept == [{"part": "own", "reply": "words"}, {"part": "locomo", "reply": "", "left_out": 5}]
