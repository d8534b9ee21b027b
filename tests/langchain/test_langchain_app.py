"""The application of `examples/apps/langchain_app.py`, played as its users would."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")
pytest.importorskip("langchain_openai", reason="the application needs langchain-openai")
pytest.importorskip("langgraph.checkpoint.sqlite.aio", reason="the application needs langgraph-checkpoint-sqlite")

from http_agent import skip_if_config_is_lost

from secom_core import MemoryBank

APP = Path(__file__).parents[2] / "examples" / "apps" / "langchain_app.py"


@pytest.mark.slow
def test_the_application_plays_its_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    skip_if_config_is_lost()
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(sys, "argv", [str(APP), str(tmp_path)])
    runpy.run_path(str(APP), run_name="__main__")
    printed = capsys.readouterr().out
    for line in (
        "to bob, again: Noted, entry 3. (3 pieces)",
        "kept: I like the blue one. Noted, entry 3.",
        "to alice: Here you are: on Saturday: the green one and the blue one. (12 pieces)",
        "to alice: The blue one, it was too tall. (7 pieces)",
        "waits for approval: book({'bicycle': 'green', 'day': 'Saturday'})",
        "to alice: Here you are: booked: the green one, Saturday. (8 pieces)",
        "of bob: nothing",
    ):
        assert f"{line}\n" in printed
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        sessions = {name: bank.turns(("alice",), name) for name in bank.sessions(("alice",))}
        assert {name: len(turns) for name, turns in sessions.items()} == {"alice/monday": 2, "alice/friday": 2}
        booked = [message.text for message in sessions["alice/friday"][-1].messages]
        assert booked[0] == "Then book the green one for Saturday."
        assert booked[-1] == "Here you are: booked: the green one, Saturday."
        assert not bank.sessions(("bob",))
