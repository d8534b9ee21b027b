"""The page on LangChain runs as it is written."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")

PAGE = Path(__file__).parents[2] / "docs" / "langchain.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"(?<! -->\n)^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    assert len(blocks) >= 5
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        for place, block in enumerate(blocks):
            exec(compile(block, f"{PAGE.name}, block {place}", "exec"), names)
