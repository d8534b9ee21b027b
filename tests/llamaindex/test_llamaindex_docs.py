"""The page on LlamaIndex is executed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

PAGE = Path(__file__).parents[2] / "docs" / "llamaindex.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    assert len(blocks) == 11
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert (tmp_path / "memory.db").exists()


def test_an_agent_gets_memory_by_five_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's diff: the program before it and the program after it both run, and only one of them knows."""
    monkeypatch.chdir(tmp_path)
    (diff,) = re.findall(r"^```diff\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    lines = diff.splitlines()
    assert sum(line[:1] in "+-" and bool(line[1:].strip()) for line in lines if line) <= 5
    for leave, knows in (("+", False), ("-", True)):
        program = "\n".join(line[1:] for line in lines if line[:1] != leave)
        exec(compile(program, str(PAGE), "exec"), {})
        assert ("Marta" in capsys.readouterr().out) is knows
