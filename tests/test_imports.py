"""Which module may know which; what importing the core costs; what is public, and that it says what it is.

The arrows are those of docs/architecture.md. Imports inside functions count like any other.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from secom_core.errors import MissingExtra

ROOT = Path(__file__).resolve().parents[1]
CORE, ADAPTERS = "secom_core", ("langchain_secom", "llamaindex_secom")
OURS = (CORE, *ADAPTERS)
FRAMEWORKS = {"langchain_secom": "langchain", "llamaindex_secom": "llama"}

# Each may import those before it.
FOUNDATION = (
    "errors",
    "stopwords",
    "analysis",
    "conversation",
    "memory",
    "agreement",
    "flow",
    "asking",
    "protocols",
    "prompts",
    "coverage",
    "informative",
    "windows",
)
# Each may import the foundation and nothing else; whoever stands above may import them.
STAGES = (
    "denoisers",
    "evaluation",
    "indexes",
    "models",
    "passages",
    "pictures",
    "readers",
    "reflection",
    "segmenters",
    "stores",
    "timeline",
)
HEAVY = (
    "faiss",
    "langchain",
    "langchain_core",
    "llama_index",
    "llmlingua",
    "matplotlib",
    "nltk",
    "openai",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "torch",
    "transformers",
)


# -- the walk ---------------------------------------------------------------------------------------------------------


def modules(package: str) -> list[tuple[str, Path]]:
    """Every module of a package by its dotted name."""
    files = sorted((ROOT / package).rglob("*.py"))
    return [
        (re.sub(r"\.__init__$", "", ".".join(file.relative_to(ROOT).with_suffix("").parts)), file) for file in files
    ]


def imported(name: str, file: Path) -> Iterator[str]:
    """The absolute names that a module imports, anywhere in it."""
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join(filter(None, [*base, node.module]))
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def unit(name: str) -> str:
    """``secom_core.indexes.bm25`` belongs to ``indexes``; the package itself to ``""``."""
    return ".".join(name.split(".")[1:2])


@cache
def arrows() -> dict[str, set[str]]:
    """For each module or subpackage of the core, which others of it are imported."""
    found: dict[str, set[str]] = {}
    known = {unit(name) for name, _ in modules(CORE)}
    for name, file in modules(CORE):
        targets = {unit(each) for each in imported(name, file) if each.split(".")[0] == CORE}
        found.setdefault(unit(name), set()).update(targets & known - {unit(name), ""})
    return found


def test_the_walk_sees_what_is_there() -> None:
    assert {"errors", "conversation", "bank", *STAGES} <= set(arrows())
    assert "stores" in arrows()["bank"]


def test_foundation_points_down() -> None:
    for place, name in enumerate(FOUNDATION):
        assert arrows()[name] <= set(FOUNDATION[:place]), f"{name} imports upwards"


@pytest.mark.parametrize("stage", STAGES)
def test_stages_know_the_foundation_only(stage: str) -> None:
    assert arrows()[stage] <= set(FOUNDATION), f"{stage} imports {arrows()[stage] - set(FOUNDATION)}"


def test_only_the_front_door_knows_the_bank() -> None:
    assert {name for name, targets in arrows().items() if "bank" in targets} <= {"", "command", "companion", "writer"}


def test_no_circles() -> None:
    left = {name: set(targets) for name, targets in arrows().items()}
    while free := {name for name, targets in left.items() if not targets & set(left)}:
        left = {name: targets for name, targets in left.items() if name not in free}
    assert not left, f"these import each other in a circle: {left}"


def test_the_core_knows_no_framework() -> None:
    for name, file in modules(CORE):
        wrong = {
            each for each in imported(name, file) if each.startswith(("langchain", "llama", "benchmarks", "tests"))
        }
        assert not wrong, f"{name} imports {wrong}"


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_adapters_know_the_core_and_their_framework(adapter: str) -> None:
    other = next(each for each in ADAPTERS if each != adapter)
    for name, file in modules(adapter):
        tops = {each.split(".")[0] for each in imported(name, file)}
        foreign = {top for top in tops if top == other or top.startswith(FRAMEWORKS[other])}
        assert not foreign, f"{name} imports {foreign}"


def test_every_package_carries_its_types() -> None:
    assert all((ROOT / package / "py.typed").exists() for package in OURS)


# -- what an import costs ---------------------------------------------------------------------------------------------


def loaded_by(statement: str) -> tuple[set[str], float]:
    """The modules that a fresh interpreter loads for ``statement``, and the seconds that its last import took."""
    command = [sys.executable, "-X", "importtime", "-c", statement]
    timed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stderr
    rows = re.findall(r"^import time:\s+\d+ \|\s+(\d+) \|\s*(\S+)$", timed, re.M)
    return {name for _, name in rows}, max(int(spent) for spent, name in rows if name.startswith(CORE)) / 1e6


@pytest.mark.parametrize("statement", ["import secom_core", "from secom_core import MemoryBank"])
def test_importing_the_core_loads_nothing_heavy(statement: str) -> None:
    names, _ = loaded_by(statement)
    assert not {name.split(".")[0] for name in names} & set(HEAVY)
    assert not {name for name in names if name.startswith(("sqlalchemy.orm", "sqlalchemy.ext", "sqlalchemy.testing"))}
    assert not {name for name in names if re.match(r"sqlalchemy\.dialects\.(?!sqlite|_typing)\w", name)}


def test_importing_the_core_is_quick() -> None:
    # The best of a few: what else the machine does is not ours.
    assert min(loaded_by("import secom_core")[1] for _ in range(3)) < 0.3


# -- what is public ---------------------------------------------------------------------------------------------------


def loaded(name: str) -> ModuleType:
    try:
        return import_module(name)
    except MissingExtra as error:
        pytest.skip(str(error))


PUBLIC = [name for package in OURS for name, _ in modules(package) if not name.rpartition(".")[2].startswith("_")]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_sorted_exist_and_say_what_they_are(name: str) -> None:
    module = loaded(name)
    assert module.__doc__ or name.endswith("prompts"), f"{name} has no docstring"
    names = getattr(module, "__all__", [])
    assert list(names) in (sorted(names), sorted(names, key=_kind)), f"{name}.__all__ is not sorted"
    for each in names:
        try:
            value = getattr(module, each)
        except MissingExtra as error:
            pytest.skip(str(error))
        if inspect.isclass(value) or inspect.isroutine(value):
            assert inspect.getdoc(value), f"{name}.{each} has no docstring"
        if inspect.isclass(value) and value.__module__.split(".")[0] in OURS:
            own = {attr: member for attr, member in vars(value).items() if not attr.startswith("_")}
            bare = [
                attr for attr, member in own.items() if _is_code(member) and not inspect.getdoc(getattr(value, attr))
            ]
            assert not bare, f"{name}.{each}: no docstring on {bare}"


def _kind(name: str) -> tuple[int, str]:
    """The linter's order: constants, classes, the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _is_code(member: object) -> bool:
    return inspect.isroutine(member) or isinstance(member, (property, classmethod, staticmethod))


def test_modules_with_names_say_which_are_public() -> None:
    silent = []
    for package in OURS:
        for name, file in modules(package):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            defined = any(
                isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_" for node in tree.body
            )
            if defined and "__all__" not in file.read_text(encoding="utf-8"):
                silent.append(name)
    assert not silent


def test_no_module_hides_behind_a_vague_name() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "base", "factory", "common", "misc"}
    assert not [name for package in OURS for name, _ in modules(package) if name.rpartition(".")[2] in vague]
