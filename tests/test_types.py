"""What types say: the page on LangChain checks as strictly as the packages do, a misspelt argument is found.

One run of mypy for all: its time goes into the libraries, which it reads again for each.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="needs mypy")
pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")
pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from test_docs import ROOT, runnable

from secom_core import models

pytestmark = [pytest.mark.docs, pytest.mark.slow]

ALLOWED = "# mypy: allow-redefinition"
"""A page is read from its top to its end, and gives a name anew where another subject begins."""

MISSPELT = """
from llamaindex_secom import *
from secom_core import MemoryBank
bank = MemoryBank.open()
SecomMemory(scope=("a",), bank=bank, session="s", token_limit=100, write="background", trace_contents=False)
SecomMemory(scope=("a",), bank=bank, sesion="s")
SecomMemory(scope=("a",), bank=bank, write="later")
SecomMemory.from_defaults(scope=("a",), bank=bank, session="s", insert_method="off")
SecomMemory.from_defaults(scope=("a",), bank=bank, session_id="s")
SecomMemoryBlock(scope=("a",), bank=bank, prioritie=1)
RecursiveSummaryMemoryBlock(scope=("a",), bank=bank, remember_tool=True)
SecomRetriever(bank, ("a",), similarity_top_k=3)
TimelineRetriever(bank, ("a",), verbos=True)
TimelinePostprocessor(bank, ("a",), keep_node=True)
CitationNumberer(bank, frist=2)
CitationReranker(bank, topn=2)
LLMLinguaDenoiser(model_versio="1")
SegmentNodeParser(chunksize=3)
SegmentTextSplitter.from_defaults(chunksize=3)
memory_tools(bank, scope=("a",), tokens=3)
"""

BY_PLACE = """from llamaindex_secom import LLMLinguaDenoiser, SegmentNodeParser, SegmentTextSplitter
from secom_core.denoisers.informativeness import Informativeness
from secom_core.segmenters import LexicalSegmenter

SegmentTextSplitter(LexicalSegmenter(), chunk_size=200, include_metadata=False)
SegmentNodeParser(LexicalSegmenter(), chunk_size=200, include_metadata=False)
LLMLinguaDenoiser(Informativeness())
"""


@pytest.mark.long
def test_the_page_checks_and_a_misspelt_argument_does_not(tmp_path: Path) -> None:
    files = {"page_on_langchain.py": page_on_langchain(), "misspelt.py": MISSPELT, "by_place.py": BY_PLACE}
    for name, code in files.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    # With the project's own settings, so that what `make check` has found about the libraries is read again.
    command = [sys.executable, "-m", "mypy", "--hide-error-context", *(str(tmp_path / name) for name in files)]
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8", timeout=600)
    said = done.stdout + done.stderr
    found = {(Path(file).name, int(line)) for file, line in re.findall(r"^(.+\.py):(\d+): error", said, re.M)}
    lines = list(enumerate(MISSPELT.splitlines(), 1))
    right = {number for number, line in lines if "trace_contents" in line or "off" in line}
    calls = {number for number, line in lines if "(" in line and "open()" not in line}
    assert found == {("misspelt.py", number) for number in calls - right}, said


def page_on_langchain() -> str:
    lines: list[str] = []
    for block in runnable(ROOT / "docs" / "langchain.md"):
        # Blank lines in front make the page's line numbers those of the messages.
        lines += [""] * (block.line - 1 - len(lines)) + block.code.splitlines()
    assert lines[0] == ""
    lines[0] = ALLOWED
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("embedder", ["FastEmbedEmbedder", "SentenceTransformerEmbedder", "StaticEmbedder"])
def test_the_name_of_an_embedder_is_a_property(embedder: str) -> None:
    # Pyright lets no cached_property stand for a property of a protocol, and then refuses `embedder=StaticEmbedder()`.
    assert isinstance(getattr(models, embedder).__dict__["name"], property)
