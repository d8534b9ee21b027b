"""Every Python block of the README and of docs/ runs; every command in them names something that exists.

The blocks of one page run in order in one namespace, in an empty folder. ``<!-- not run: reason -->`` on the line
before a block leaves it out. A block that needs an extra that is not installed is left out, and so is what builds on
it.
"""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import runpy
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from inspect import CO_COROUTINE
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from secom_core.filters import FIELDS, OPERATORS
from secom_core.readers import read_messages

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<kind>\w+)\n(?P<code>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    line: int
    kind: str
    code: str
    why: str | None

    @property
    def missing(self) -> list[str]:
        """The packages that it imports and that are not installed."""
        tree = ast.walk(ast.parse(self.code))
        named = {alias.name for node in tree if isinstance(node, ast.Import) for alias in node.names}
        tree = ast.walk(ast.parse(self.code))
        named |= {str(node.module) for node in tree if isinstance(node, ast.ImportFrom)}
        needed = {
            "langchain_secom": "langchain_core",
            "llamaindex_secom": "llama_index",
            "openai_agents_secom": "agents",
            "pydantic_ai_secom": "pydantic_ai",
        }
        tops = {name.split(".")[0] for name in named}
        tops |= {"openai"} if "OpenAIModel" in self.imported else set()
        tops |= {"sqlcipher3"} if re.search(r"\.open\([^()]*\bkey=", self.code) else set()
        tops |= {"wordllama"} if "StaticEmbedder" in self.imported else set()
        return sorted(top for top in tops | {needed[top] for top in tops & set(needed)} if find_spec(top) is None)

    @property
    def imported(self) -> set[str]:
        """The names that it imports from modules."""
        nodes = ast.walk(ast.parse(self.code))
        return {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, found.start("code")) + 1, found["kind"], found["code"], found["why"])
        for found in BLOCK.finditer(text)
    ]


def runnable(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.kind == "python" and block.why is None]


def run(block: Block, page: Path, names: dict[str, Any]) -> None:
    # Blank lines in front make the page's line numbers those of the traceback.
    source = "\n" * (block.line - 1) + block.code
    compiled = compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    outcome = eval(compiled, names)
    if compiled.co_flags & CO_COROUTINE:
        asyncio.run(outcome)


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": f"page_{page.stem}"}
    left_out: list[str] = []
    for block in runnable(page):
        if block.missing:
            left_out.append(f"line {block.line} needs {', '.join(block.missing)}")
            continue
        try:
            run(block, page, names)
        except NameError as error:
            if not left_out:
                raise
            left_out.append(f"line {block.line} builds on one that is left out: {error}")
    if left_out:
        pytest.skip(f"{page.name}: {'; '.join(left_out)}")


def test_the_options_of_a_recall_name_every_field_and_operator_of_a_filter() -> None:
    _, mark, filters = (ROOT / "docs/recall.md").read_text(encoding="utf-8").partition("\n## Filters\n")
    assert mark
    assert {*FIELDS, *OPERATORS, "and", "or", "not"} <= set(re.findall(r"`(\w+)`", filters.partition("\n## ")[0]))


def test_the_pages_have_blocks() -> None:
    assert sum(len(runnable(page)) for page in PAGES) >= 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_name_modules_and_targets_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    modules = set(re.findall(r"python3? -m (benchmarks(?:\.\w+)+)", text))
    places = {name: ROOT / name.replace(".", "/") for name in modules}
    assert not {
        name
        for name, place in places.items()
        if not place.with_suffix(".py").exists() and not (place / "__main__.py").exists()
    }
    targets = set(re.findall(r"`make (\w+)|^make (\w+)", text, re.M))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert not {name for pair in targets if (name := "".join(pair)) and f"\n{name}:" not in makefile}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]


# -- the examples -----------------------------------------------------------------------------------------------------

DATA = ROOT / "examples" / "data"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def topic_runs(name: str) -> Iterator[list[str]]:
    for _, group in groupby(rows(name), key=lambda row: str(row["session"])):
        yield [topic for topic, _ in groupby(str(row["topic"]) for row in group)]


def test_the_conversation_is_long_dated_and_returns_to_its_topics() -> None:
    messages = read_messages(rows("mara"))
    sessions = {row["session"] for row in rows("mara")}
    assert sum(message.role == "user" for message in messages) >= 140
    assert len(sessions) >= 6
    times = [message.at for message in messages if message.at]
    assert len(times) == len(messages)
    assert times == sorted(times)
    runs = list(topic_runs("mara"))
    assert all(len(run) >= 3 for run in runs)
    assert sum("kitchen" in run for run in runs) >= 4


@pytest.mark.parametrize("name", ["mara", "lin"])
def test_questions_point_at_turns_that_exist(name: str) -> None:
    asked = json.loads((DATA / "questions.json").read_text(encoding="utf-8"))[name]
    ids = {row["id"] for row in rows(name) if row["role"] == "user"}
    assert all(question["evidence"] and set(question["evidence"]) <= ids for question in asked)
    assert len({row["id"] for row in rows(name)}) == len(rows(name))


# What a reader is to see, for the examples that claim more than that something is recalled.
SHOWN = {
    "chinese": ["小满被分到了另一所，叫浣花小学", "答：在浣花小学。\n", "\n  2 轮  我们下个月要搬家"],
    "langchain_agent_executor": ["Tool: On Saturday from 10 to 4.", "[to the user] The green one, before 4."],
    "langchain_history": ["human: Hello, it is me, Alice.\nai: Hello again.\nhuman: Which bicycle do I fetch?\nai: "],
    "langchain_lcel_rag": ["[1] user: I will take the red bicycle", "--- nobody\nwhose memories?"],
    "langgraph_memory": ["User: On Saturday?\n(nothing to recall)\n", "[2] user: On Saturday?\n"],
    "langchain_vector_store": ["4 documents for 2 users", "left in Qdrant:\n  I take the blue bicycle on"],
    "llamaindex_vector_store": ["4 nodes\n<memories>", "</memories>\n4 nodes\n0 nodes"],
    "llamaindex_ingestion": ["Warm, bit rustic", "Warm, a bit rustic"],
    "llamaindex_query_engine": ["→ (SameTopic) 2025-03-19", "cited: (1, 3)", "the paw has healed.\n"],
    "llamaindex_react": [
        "what is remembered: no thoughts, no actions\nuser: Which bicycle on Saturday, until when?\nassistant: The"
    ],
    "local_model": ["- Alice takes the green bicycle.", "AI: The green one, on Saturday.\n"],
    "many_users": ["1000 turns of 20 users", "50 turns of their own, and 0 of anybody else's", "user-18 has 50 still"],
}
SHORT = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem != "quickstart"]


@pytest.mark.parametrize("path", SHORT, ids=lambda path: path.stem)
def test_the_short_examples_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here and not each in a process of its own, which would spend its time on importing the frameworks."""
    code = path.read_text(encoding="utf-8")
    missing = Block(1, "python", code, None).missing
    if missing:
        pytest.skip(f"{path.name} needs {', '.join(missing)}")
    assert len(code.splitlines()) <= 50, "a short example has one idea"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("default")
        for unseen in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):  # as Python itself has it
            warnings.simplefilter("ignore", unseen)
        runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr()
    missed = [line for line in ("<memories>", *SHOWN.get(path.stem, ())) if line not in printed.out]
    assert not missed, printed.out
    assert printed.err == ""
    assert [str(complaint.message) for complaint in complaints] == []


def ran(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The script run as a user does, from another folder; it prints, and does not complain."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    command = [sys.executable, str(path)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done


def test_every_example_is_in_the_list() -> None:
    folder = ROOT / "examples"
    listed = re.findall(r"\]\(([^)\s]+)\)", (folder / "README.md").read_text(encoding="utf-8"))
    there = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".py", ".ipynb"))
    assert sorted(name for name in listed if (folder / name).suffix) == there


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    held = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in held if cell["cell_type"] == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_explain_themselves_and_were_run_from_top_to_bottom(path: Path) -> None:
    code = cells(path, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert len(cells(path, "markdown")) >= 3


def shown(notebook: Any) -> list[str]:
    """What each code cell prints, with other dates and other ids taken for the same."""
    outputs = ["".join(map(printed, cell["outputs"])) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    days = [re.sub(r"\d{4}-\d\d-\d\d( \w{3})?", "DAY", text) for text in outputs]
    return [re.sub(r"~?\b[0-9a-f]{16,32}\b", "ID", text) for text in days]


def printed(output: Any) -> str:
    return "".join(output["text"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    """In a kernel of their own, as Jupyter runs them, they print what is stored in them."""
    pytest.importorskip("ipykernel", reason="notebooks need a kernel")
    nbclient = pytest.importorskip("nbclient", reason="notebooks are run by nbclient")
    imports = next("".join(cell["source"]) for cell in cells(path, "code"))
    if missing := Block(1, "python", imports, None).missing:
        pytest.skip(f"{path.name} needs {', '.join(missing)}")
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    stored = shown(notebook)
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources)
    client.execute(env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert {output.get("name") for output in outputs} == {"stdout"}, "a notebook prints, and does not complain"
    assert "<memories>" in "".join(stored)
    assert shown(notebook) == stored


def test_there_are_two_notebooks() -> None:
    assert len(NOTEBOOKS) >= 2


def test_the_quickstart_runs_and_shows_what_it_found(tmp_path: Path) -> None:
    for extra in ("langchain_classic", "llama_index"):
        if find_spec(extra) is None:
            pytest.skip(f"the quickstart needs {extra}")
    began = time.perf_counter()
    done = ran(ROOT / "examples" / "quickstart.py", tmp_path)
    asked = len(json.loads((DATA / "questions.json").read_text(encoding="utf-8"))["mara"])
    counted = re.search(r"Of all (\d+) questions, .* for (\d+)\. .* the same turns for (\d+)\.", done.stdout)
    assert counted is not None
    of, found, alike = map(int, counted.groups())
    assert of == alike == asked
    assert found >= 0.5 * asked
    assert time.perf_counter() - began < 60  # 3 s where nothing else runs
