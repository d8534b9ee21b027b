"""The site of docs/ builds, leads nowhere wrong, and loads nothing from elsewhere."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("mkdocs", reason="the site is built with mkdocs, which is in the dev extra")
pytest.importorskip("mkdocstrings", reason="the reference is made with mkdocstrings, which is in the dev extra")
pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"<(?:a|img|link|script)\b[^>]*?(?:href|src)=\"(?!\w+:|//|#)([^\"#?]+)", re.I)
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


def test_every_link_and_picture_leads_to_a_file_of_the_site(site: Path) -> None:
    """Those to files of the repository too, which `docs/hooks.py` puts into the site."""
    missing = set()
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # its links begin at the address where the site will stand
            continue
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            place = page.parent / unquote(html.unescape(link))
            if not (place / "index.html" if place.is_dir() else place).exists():
                missing.add((page.relative_to(site).as_posix(), link))
    assert missing == set()
    assert "<h1" in (site / "benchmarks" / "index.html").read_text(encoding="utf-8")
    assert (site / "examples" / "quickstart.py").read_bytes() == (ROOT / "examples" / "quickstart.py").read_bytes()


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert LOADED.findall(page.read_text(encoding="utf-8")) == [], page
