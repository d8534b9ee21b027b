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
    assert len(blocks) == 9
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert (tmp_path / "memory.db").exists()
