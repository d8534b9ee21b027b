"""The benchmark of rerankers runs, with a real cross-encoder in the place, and counts what it asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cross_encoders import cross_encoder, with_cross_encoders

from benchmarks import reranking

pytestmark = pytest.mark.slow

LINES = ["I bought a kayak in Lisbon.", "What colour is the kayak?", "The kayak is bright orange.", "I mend violins."]


def _locomo(file: Path) -> Path:
    said = [{"speaker": "AB"[n % 2], "dia_id": f"D1:{n + 1}", "text": text} for n, text in enumerate(LINES)]
    asked = [
        {"question": "Where was the kayak bought?", "answer": "Lisbon", "evidence": ["D1:1"], "category": 4},
        {"question": "Which colour has the kayak?", "answer": "orange", "evidence": ["D1:3"], "category": 4},
    ]
    file.write_text(
        json.dumps({"session_1": said, "session_1_date_time": "1:00 pm on 8 May, 2023", "qa": asked}), encoding="utf-8"
    )
    return file


def _chat(file: Path) -> Path:
    messages = [{"id": str(n), "role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(LINES)]
    asked = {"ability": "facts", "question": "Where was the kayak bought?", "gold": "Lisbon", "evidence": ["0"]}
    sessions = [{"session": "s1", "date": "2023-05-08", "messages": messages}]
    file.write_text(json.dumps({"name": "kayak", "sessions": sessions, "questions": [asked]}), encoding="utf-8")
    return file


@with_cross_encoders
def test_it_measures_both_shapes_with_a_reranker_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, judge = tmp_path / "out.txt", cross_encoder(tmp_path / "judge", LINES)
    talk, chat = _locomo(tmp_path / "talk.json"), _chat(tmp_path / "chat.json")
    arguments = ["--locomo", talk, "--chats", chat, "--cross-encoder", judge, "--first", 2, "--budgets", 200]
    monkeypatch.setattr(sys, "argv", ["reranking", *map(str, [*arguments, "--json", out])])
    reranking.main()

    found = json.loads(out.read_text(encoding="utf-8"))
    assert "versions" in found
    for title, questions in (("LoCoMo", 2), ("chats", 1)):
        off, on = found["results"][title]["rerankers"].values()
        assert off["questions"] == on["questions"] == questions
        assert off["evidence"] == on["evidence"] == {"200": 1.0}, "there is room for all of it"
        assert (off["rerank_texts"], on["rerank_texts"]) == (0, 2)
        assert on["milliseconds_rerank"] > 0
    assert "first 2, weight 0.5" in capsys.readouterr().out


def test_questions_are_spread_evenly() -> None:
    assert reranking.spread(range(10), 4) == [0, 2, 5, 7]
    assert list(reranking.spread(range(3), 4)) == [0, 1, 2]
    assert list(reranking.spread(range(3), None)) == [0, 1, 2]
