"""The application of `examples/apps/llamaindex_app.py`, played as its users would."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from secom_core import MemoryBank

APP = Path(__file__).parents[2] / "examples" / "apps" / "llamaindex_app.py"


@pytest.mark.slow
def test_the_application_plays_its_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(APP), str(tmp_path)])
    runpy.run_path(str(APP), run_name="__main__")
    printed = capsys.readouterr().out
    for line in (
        "to bob, again: Noted, entry 3.",
        "kept: I like the blue one. Noted, entry 3.",
        "to alice: Here you are: on Saturday: the green one and the blue one.",
        "waits for approval: book the green one, Saturday",
        "to alice: Here you are: booked: the green one, Saturday.",
        "to alice: The blue one, it was too tall.",
        "of bob: nothing",
    ):
        assert f"{line}\n" in printed
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        sessions = {name: bank.turns(("alice",), name) for name in bank.sessions(("alice",))}
        assert {name: len(turns) for name, turns in sessions.items()} == {"monday": 2, "tuesday": 1, "friday": 1}
        [booked] = sessions["tuesday"]
        assert booked.messages[0].text == "Then book the green one for Saturday."
        assert booked.messages[-1].text == "Here you are: booked: the green one, Saturday."
        assert not bank.sessions(("bob",))
