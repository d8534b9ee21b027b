"""The site of docs/ builds, leads nowhere wrong, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the site is built with mkdocs, which is in the dev extra")
pytest.importorskip("mkdocstrings", reason="the reference is made with mkdocstrings, which is in the dev extra")
pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[1]
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?(https?://[^\s\">]+)", re.I)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_every_page_of_the_docs_is_in_the_site(site: Path) -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert {path.parent.name for path in site.glob("*/index.html")} >= pages
    assert "<h1" in (site / "index.html").read_text(encoding="utf-8")
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert {page for page in pages if f"{page}.md" not in navigation} == set()


def test_the_reference_is_made_from_the_docstrings(site: Path) -> None:
    text = (site / "reference" / "index.html").read_text(encoding="utf-8")
    for name in ("secom_core.bank.bank.MemoryBank.remember", "langchain_secom.middleware.SecomMiddleware"):
        assert f'id="{name}"' in text
    assert "inside the budget" in text


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert LOADED.findall(page.read_text(encoding="utf-8")) == [], page
