"""The page on LangChain type-checks as strictly as the packages do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="needs mypy")
pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")

from test_docs import ROOT, runnable

pytestmark = [pytest.mark.docs, pytest.mark.slow]

FLAGS = ["--strict", "--allow-redefinition-new", "--local-partial-types", "--hide-error-context"]
"""A page is read from its top to its end, and gives a name anew where another subject begins."""


def test_the_blocks_of_the_page_type_check(tmp_path: Path) -> None:
    lines: list[str] = []
    for block in runnable(ROOT / "docs" / "langchain.md"):
        # Blank lines in front make the page's line numbers those of the messages.
        lines += [""] * (block.line - 1 - len(lines)) + block.code.splitlines()
    page = tmp_path / "page_on_langchain.py"
    page.write_text("\n".join([*lines, ""]), encoding="utf-8")
    # What the libraries have in common with the page before is kept: the first time takes a minute.
    kept = ["--cache-dir", str(ROOT / ".mypy_cache" / "docs"), "--config-file", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "mypy", *FLAGS, *kept, str(page)]
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
