"""LoCoMo files, the authors' and cut down ones."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from benchmarks.locomo import read_locomo, read_locomo_questions
from secom_core.errors import InvalidTranscript

pytestmark = pytest.mark.slow

LOCOMO = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "locomo"
SAMPLE = {
    "speaker_a": "Ann",
    "session_10_date_time": "12:05 am on 1 March, 2024",
    "session_10": [{"speaker": "Bob", "dia_id": "D10:1", "text": "Back."}],
    "session_2_date_time": "1:56 pm on 8 May, 2023",
    "session_2": [
        {"speaker": "Ann", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a red bicycle"},
        {"speaker": "Bob", "dia_id": "D2:2", "text": "Nice."},
    ],
    "session_3_date_time": "1:00 pm on 9 May, 2023",
}
ASKED = [
    {"question": "Which?", "answer": 2022, "evidence": ["D2:1; D10:01", "D2:1", "D:3:4"], "category": 1},
    {"question": "Who?", "adversarial_answer": "Bob", "evidence": [], "category": 5},
]


def written(tmp_path: Path, data: object) -> Path:
    path = tmp_path / "sample.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["flat", "nested", "list"])
def test_locomo_forms(tmp_path: Path, form: str) -> None:
    flat = {**SAMPLE, "qa": ASKED}
    nested = {"sample_id": "conv-1", "conversation": SAMPLE, "qa": ASKED}
    path = written(tmp_path, {"flat": flat, "nested": nested, "list": [nested]}[form])
    first, second = read_locomo(path)
    assert (first.name, first.at, second.name, second.at) == (
        "session_2",
        datetime(2023, 5, 8, 13, 56, tzinfo=timezone.utc),
        "session_10",
        datetime(2024, 3, 1, 0, 5, tzinfo=timezone.utc),
    )
    assert [turn.id for turn in first.turns] == ["D2:1", "D2:2"]
    assert first.turns[0].text == "Ann: Look! [shares a photo: a red bicycle]"
    assert dict(first.messages[0].metadata) == {"blip_caption": "a red bicycle"}
    which, who = read_locomo_questions(path)
    assert (which.answer, which.evidence, which.category) == ("2022", ("D2:1", "D10:1"), 1)
    assert (who.answer, who.evidence) == (None, ())


def test_several_samples_need_a_choice(tmp_path: Path) -> None:
    path = written(tmp_path, [{"sample_id": name, "conversation": SAMPLE, "qa": []} for name in ("a", "b")])
    assert len(read_locomo(path, sample="b")) == 2
    with pytest.raises(InvalidTranscript, match=r"\['a', 'b'\], got sample=None"):
        read_locomo(path)


@pytest.mark.parametrize(
    ("data", "carried"),
    [
        ({"hello": 1}, "session_1.*hello"),
        ([], "expected a LoCoMo sample"),
        ({**SAMPLE, "session_2_date_time": "once"}, "session_2_date_time is no date: 'once'"),
        ({**SAMPLE, "session_2": [{"text": "x"}]}, "a turn of session_2.*"),
    ],
)
def test_other_json_is_refused(tmp_path: Path, data: object, carried: str) -> None:
    with pytest.raises(InvalidTranscript, match=carried):
        read_locomo(written(tmp_path, data))


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("Ann: hi")
    with pytest.raises(InvalidTranscript, match="not JSON"):
        read_locomo(path)


def test_the_real_files() -> None:
    if not LOCOMO.is_dir():
        pytest.skip("the LoCoMo files are not here")
    for path in sorted(LOCOMO.glob("*.json")):
        sessions, questions = read_locomo(path), read_locomo_questions(path)
        ids = {turn.id for session in sessions for turn in session.turns}
        named = [each for question in questions for each in question.evidence]
        assert len(ids) == sum(len(session.turns) for session in sessions) > 300
        assert sum(each in ids for each in named) >= 0.99 * len(named)
        assert all(session.at is not None for session in sessions)
        times = [session.at for session in sessions if session.at]
        assert times == sorted(times)
