from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import chats
from benchmarks.evaluation.coverage import coverage, telling_words
from secom_core.bank import MemoryBank
from secom_core.errors import InvalidInput

PLAN = "Sure! Here is **the plan**:\n\n- Paint the shed on Friday.\n- Then call `Ines` about the 40 tiles."
SHED = ("What is next for the shed?", "Paint it on Friday, then call Ines about the tiles.")

CHAT = {
    "name": "tiny",
    "sessions": [
        {
            "session": "one",
            "date": "2024-03-15",
            "messages": [
                {"id": "0", "role": "user", "content": "How do I go on with the shed?"},
                {"id": "1", "role": "assistant", "content": PLAN},
            ],
        },
        {
            "session": "two",
            "date": "2024-03-16",
            "messages": [
                {"id": "2", "role": "user", "content": "My sister Vera moved to Bergen."},
                {"id": "3", "role": "assistant", "content": "How lovely! I hope she likes the rain."},
            ],
        },
    ],
    "questions": [
        {"ability": "plans", "question": SHED[0], "gold": SHED[1], "evidence": ["1"], "at": None, "context": []},
        {"kind": "family", "question": "Where does Vera live?", "gold": "In Bergen.", "evidence": ["2"], "context": []},
        {"kind": "abstention", "question": "Who is Olaf?", "gold": "The chat does not say.", "evidence": []},
    ],
}


def written(folder: Path) -> Path:
    file = folder / "tiny.json"
    file.write_text(json.dumps(CHAT), encoding="utf-8")
    return file


def test_telling_words_are_those_of_the_answer_that_the_message_holds_and_the_question_lacks() -> None:
    assert telling_words(*SHED, PLAN) == {"paint", "friday", "call", "ines", "tiles"}
    assert telling_words("Und wann?", "Das ist am Freitag.", "Das ist am Freitag im Hof.") == {"freitag"}
    assert telling_words("What next?", "Nothing of this.", "Ask Ines.") == {"ask", "ines"}, "none left: all of them"
    assert telling_words("Really?", "Yes.", "It is so.") == {"it", "is", "so"}, "only function words"


def test_a_sentence_is_shown_whatever_its_punctuation() -> None:
    assert coverage(PLAN, *SHED, [PLAN]) == (1.0, 1.0)
    assert coverage("[1] > paint the shed\n> on «Friday»", *SHED, [PLAN]) == (2 / 5, 0.0)
    assert coverage("repaint the shed on Fridays", *SHED, [PLAN]) == (0.0, 0.0), "parts of words are no words"
    assert coverage("", *SHED, [PLAN]) == (0.0, 0.0)


def test_a_cut_sentence_tells_nothing() -> None:
    assert coverage("Then call Ines about the 40", *SHED, [PLAN]) == (0.0, 0.0)
    assert coverage("Then call, as said, Ines about the 40 tiles.", *SHED, [PLAN]) == (0.0, 0.0)


def test_a_question_is_the_mean_of_its_messages() -> None:
    assert coverage("Ask Ines.\nThen call Ines about the 40 tiles", *SHED, [PLAN, "Ask Ines."]) == (0.8, 0.5)
    with pytest.raises(InvalidInput, match="evidence"):
        coverage("anything", *SHED, [])


def test_chinese_is_read_by_characters() -> None:
    message = "我在里斯本买了一条船。它是橙色的,很漂亮！"
    asked = ("船是什么颜色？", "橙色。")
    assert telling_words(*asked, message) == {"橙色"}
    assert coverage("> 「它是橙色的\n> 很漂亮」", *asked, [message]) == (1.0, 1.0)
    assert coverage("我在里斯本买了一条船。它是橙色的", *asked, [message]) == (0.0, 0.0)


@pytest.mark.slow
def test_a_chat_is_measured_in_a_bank(tmp_path) -> None:
    chat = chats.read_chat(written(tmp_path))
    asked, told = chats.run_ours([chat], lambda _: MemoryBank.open(), [5, 400])
    found = chats.summary(asked, [5, 400])
    assert found["questions"] == 2, "an abstention has nothing to cover"
    assert found["coverage"]["400"] == found["whole"]["400"] == 1.0
    assert found["empty"] == {"5": 2, "400": 0}
    assert found["by_ability"] == {"family": {"5": 0.0, "400": 1.0}, "plans": {"5": 0.0, "400": 1.0}}
    assert len(told) in (0, 3)


@pytest.mark.slow
def test_peers_pass_over_what_does_not_fit() -> None:
    question = chats.Question("plans", *SHED, (PLAN,), (), None)
    show = chats.shown(lambda query: [PLAN, "short", "short", "shorter"])
    assert show(question, 3) == "short\n\nshorter"


def test_the_area_counts_pairs_in_order() -> None:
    assert chats.area([(True, 0.9), (True, 0.4), (False, 0.4), (False, 0.1)]) == 0.875
    assert chats.area([(True, 0.9)]) is None


@pytest.mark.slow
def test_the_command_prints_and_writes(tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "out" / "result.json"
    out.parent.mkdir()
    monkeypatch.setattr(
        sys, "argv", ["chats", "--data", str(written(tmp_path)), "--budgets", "400", "--json", str(out)]
    )
    chats.main()
    assert "plans" in capsys.readouterr().out
    assert json.loads(out.read_text(encoding="utf-8"))["results"]["ours"]["coverage"] == {"400": 1.0}
