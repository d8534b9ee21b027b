"""SECURITY.md names a test for every promise, and each of these is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_test_that_the_page_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len([test for _, test in named if test]) >= 30
    for file, test in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
        assert not test or test in functions, f"{file} has no {test}"


def test_every_promise_has_a_test() -> None:
    promised = PAGE.split("## What is promised")[1].split("## What is not promised")[0]
    for part in promised.split("\n### ")[1:]:
        rows = [row for row in part.splitlines() if row.startswith("| ") and not row.startswith("| promise")]
        assert rows, part.splitlines()[0]
        assert all("::test_" in row for row in rows), part.splitlines()[0]


def test_the_readme_leads_to_it() -> None:
    assert "SECURITY.md" in (ROOT / "README.md").read_text(encoding="utf-8")
