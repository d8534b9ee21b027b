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

ALLOWED = "# mypy: allow-redefinition"
"""A page is read from its top to its end, and gives a name anew where another subject begins."""


def test_the_blocks_of_the_page_type_check(tmp_path: Path) -> None:
    lines: list[str] = []
    for block in runnable(ROOT / "docs" / "langchain.md"):
        # Blank lines in front make the page's line numbers those of the messages.
        lines += [""] * (block.line - 1 - len(lines)) + block.code.splitlines()
    assert lines[0] == ""
    lines[0] = ALLOWED
    page = tmp_path / "page_on_langchain.py"
    page.write_text("\n".join([*lines, ""]), encoding="utf-8")
    # With the project's own settings, so that what `make check` has found about the libraries is read again.
    command = [sys.executable, "-m", "mypy", "--hide-error-context", str(page)]
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
