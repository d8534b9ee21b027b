"""How the package is laid out: what may know what, how long a module may be, what an import costs, what is public.

The arrows are those of docs/architecture.md. Imports inside functions, and those for type checkers, count like any
other. A folder of the core is one unit, and so is a module beside the folders.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import ModuleType

import pytest

from secom_core import MemoryBank
from secom_core.errors import MissingExtra

ROOT = Path(__file__).resolve().parents[1]
CORE, ADAPTERS = "secom_core", ("langchain_secom", "llamaindex_secom", "openai_agents_secom", "pydantic_ai_secom")
OURS = (CORE, *ADAPTERS)
FRAMEWORKS = {
    "langchain_secom": ("langchain", "langgraph", "langsmith"),
    "llamaindex_secom": ("llama",),
    "openai_agents_secom": ("agents",),
    "pydantic_ai_secom": ("pydantic_ai", "pydantic_graph"),
}

# Each may import those before it.
FOUNDATION = (
    "processes",
    "errors",
    "times",
    "text",
    "telemetry",
    "conversation",
    "vectors",
    "filters",
    "memory",
    "llm",
    "protocols",
)
# Each may import the foundation and nothing else; whoever stands above may import them.
STAGES = ("denoisers", "indexes", "models", "pictures", "readers", "segmenters", "stores", "testing")
# Folders of what is made beside the turns: none knows another, and of the core's folders none but the bank's and the
# presets know them.
CAPABILITIES = ("changes", "chats", "citations", "corrections", "lifetimes", "summaries", "timelines", "topics")
# What stands over the bank: the package itself is "".
OVER_THE_BANK = ("", "__main__", "agents", "command", "companion", "serve")
HEAVY = (
    "agents",
    "faiss",
    "langchain",
    "langchain_core",
    "llama_index",
    "llmlingua",
    "matplotlib",
    "mcp",
    "nltk",
    "openai",
    "opentelemetry",
    "prometheus_client",
    "pydantic",
    "pydantic_ai",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "starlette",
    "torch",
    "transformers",
    "uvicorn",
)


# -- the walk ---------------------------------------------------------------------------------------------------------


@cache
def modules(package: str) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    files = sorted((ROOT / package).rglob("*.py"))
    return {re.sub(r"\.__init__$", "", ".".join(file.relative_to(ROOT).with_suffix("").parts)): file for file in files}


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imported(name: str, file: Path) -> Iterator[str]:
    """The absolute names that a module imports, anywhere in it."""
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join(filter(None, [*base, node.module]))
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def unit(name: str) -> str:
    """``secom_core.indexes.bm25`` belongs to ``indexes``; the package itself, and what it names, to ``""``."""
    part = ".".join(name.split(".")[1:2])
    return part if (ROOT / CORE / part).is_dir() or (ROOT / CORE / f"{part}.py").is_file() else ""


@cache
def arrows() -> dict[str, set[str]]:
    """For each unit of the core, which others of it are imported."""
    found: dict[str, set[str]] = {}
    for name, file in modules(CORE).items():
        targets = {unit(each) for each in imported(name, file) if each.split(".")[0] == CORE}
        found.setdefault(unit(name), set()).update(targets - {unit(name)})
    return found


# -- what may know what -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_walk_sees_what_is_there() -> None:
    wanted = {*FOUNDATION, *STAGES, *CAPABILITIES, *OVER_THE_BANK}
    rest = {
        "archive",
        "bank",
        "configuration",
        "context",
        "derived",
        "drafts",
        "layers",
        "presets",
        "ranking",
        "vector_stores",
    }
    assert set(arrows()) == wanted | rest
    assert {"citations", "layers", "stores"} <= arrows()["bank"]


def test_foundation_points_down() -> None:
    for place, name in enumerate(FOUNDATION):
        assert arrows()[name] <= set(FOUNDATION[:place]), f"{name} imports upwards"


@pytest.mark.parametrize("stage", STAGES)
def test_stages_know_the_foundation_only(stage: str) -> None:
    assert arrows()[stage] <= set(FOUNDATION), f"{stage} imports {arrows()[stage] - set(FOUNDATION)}"


def test_stores_know_no_layer() -> None:
    assert not arrows()["stores"] & {*CAPABILITIES, "vector_stores", "layers", "bank", "archive"}


def test_no_capability_knows_another_or_who_joins_them() -> None:
    knowing = {name for name, targets in arrows().items() if targets & set(CAPABILITIES)}
    assert knowing <= {"bank", "presets", *OVER_THE_BANK}
    for name in CAPABILITIES:
        assert not arrows()[name] & {"archive", "bank", "presets", "vector_stores"}


def test_the_seam_and_the_archive_name_no_layer() -> None:
    for name in ("layers", "archive"):
        assert not arrows()[name] & {*CAPABILITIES, "bank"}


def test_only_the_front_door_knows_the_bank() -> None:
    assert {name for name, targets in arrows().items() if "bank" in targets} <= set(OVER_THE_BANK)


def test_no_circles() -> None:
    left = {name: set(targets) for name, targets in arrows().items()}
    while free := {name for name, targets in left.items() if not targets & set(left)}:
        left = {name: targets for name, targets in left.items() if name not in free}
    assert not left, f"these import each other in a circle: {left}"


def test_the_core_knows_no_framework() -> None:
    for name, file in modules(CORE).items():
        wrong = {
            each
            for each in imported(name, file)
            if each.startswith(("agents", "langchain", "llama", "openai_agents", "pydantic_ai", "benchmarks", "tests"))
        }
        # LLMLingua is a denoiser's, and no framework.
        wrong -= {each for each in wrong if each.split(".")[0] == "llmlingua"}
        assert not wrong, f"{name} imports {wrong}"


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_adapters_know_the_core_and_their_framework(adapter: str) -> None:
    others = [each for each in ADAPTERS if each != adapter]
    foreign = (*others, "benchmarks", "tests", *(root for each in others for root in FRAMEWORKS[each]))
    for name, file in modules(adapter).items():
        tops = {each.split(".")[0] for each in imported(name, file)}
        assert not {top for top in tops if top.startswith(foreign)}, f"{name} imports {tops}"


def test_what_is_given_on_demand_is_what_a_package_says_it_gives() -> None:
    packages = [name for name in PACKAGES if "on_demand(" in file_of(name).read_text(encoding="utf-8")]
    assert {CORE, f"{CORE}.bank", f"{CORE}.segmenters"} <= set(packages)
    for name in packages:
        module = import_module(name)
        assert dir(module) == sorted(names_of(name) or ())
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = module.nothing


def test_every_package_carries_its_types() -> None:
    assert all((ROOT / package / "py.typed").exists() for package in OURS)


# -- how it is cut ----------------------------------------------------------------------------------------------------


def test_few_modules_stand_beside_the_folders() -> None:
    assert len(list((ROOT / CORE).glob("*.py"))) <= 10


def test_no_module_is_long() -> None:
    files = [file for package in OURS for file in modules(package).values()]
    lengths = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


@pytest.mark.parametrize("folder", ["text", "ranking"])
def test_the_map_names_every_module_of_the_folders_that_have_most_rules(folder: str) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    part = text.partition(f"### The modules of {folder}\n")[2].partition("\n#")[0]
    names = {name.stem for name in (ROOT / CORE / folder).glob("*.py")} - {"__init__"}
    assert names <= (named := set(re.findall(r"`([a-z_]+)`", part)))
    assert not {name for name in named - names if "_" in name}


def test_most_functions_are_short() -> None:
    """Lines of the body, from its first statement to the end of its last, the docstring apart."""
    lengths = [
        _body_lines(node)
        for file in modules(CORE).values()
        for node in ast.walk(parsed(file))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    assert len(lengths) > 1000
    assert median(lengths) <= 5


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_no_module_hides_behind_a_vague_name() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "base", "factory", "common", "misc"}
    assert not [name for package in OURS for name in modules(package) if name.rpartition(".")[2] in vague]


# -- what an import costs ---------------------------------------------------------------------------------------------


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter loads for ``statement``."""
    command = [sys.executable, "-X", "importtime", "-c", statement]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stderr
    return set(re.findall(r"^import time:\s+\d+ \|\s+\d+ \|\s*(\S+)$", said, re.M))


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "import secom_core",
        "from secom_core import MemoryBank",
        "import secom_core.denoisers, secom_core.models, secom_core.segmenters, secom_core.testing",
    ],
)
def test_importing_the_core_loads_nothing_heavy(statement: str) -> None:
    names = loaded_by(statement)
    assert not {name.split(".")[0] for name in names} & set(HEAVY)
    assert not {name for name in names if name.startswith(("sqlalchemy.orm", "sqlalchemy.ext", "sqlalchemy.testing"))}
    assert not {name for name in names if re.match(r"sqlalchemy\.dialects\.(?!sqlite|_typing)\w", name)}


# What a bank without layers does not need to remember, to cut by words and to recall.
UNUSED = tuple(
    f"{CORE}.{each}"
    for each in (
        "archive",
        "chats",
        "citations",
        "drafts",
        "models.openai",
        "pictures",
        "readers.captions",
        "readers.transcript",
        "segmenters.adaptive",
        "segmenters.rubric",
        "segmenters.zero_shot",
        "summaries",
        "testing",
        "timelines",
        "topics",
        "vector_stores",
    )
)
OTHER_COMMANDS = (
    *(f"{CORE}.command.{each}" for each in ("changes", "files", "inspecting", "reporting")),
    f"{CORE}.readers.files",
)


@pytest.mark.slow
@pytest.mark.parametrize("then", ["", "MemoryBank.open({place!r}).recall(('a',), 'What about bread?')"])
def test_a_bank_loads_only_what_it_uses(then: str, tmp_path: Path) -> None:
    place = str(tmp_path / "memory.db")
    with MemoryBank.open(place) as bank:
        bank.remember(("a",), [("user", "I bake bread. " * 20)] * 20, session="monday", close=True)
    names = loaded_by(f"from secom_core import MemoryBank; {then.format(place=place)}")
    assert not [name for name in names if name.startswith(UNUSED)]
    assert not {"tqdm", "statistics", "xml.sax.saxutils"} & names


@pytest.mark.slow
def test_the_command_loads_only_what_it_is_asked_for(tmp_path: Path) -> None:
    store = str(tmp_path / "memory.db")
    with MemoryBank.open(store) as bank:
        bank.remember(("a",), [("user", "I bake bread.")], session="monday", close=True)
    words = ["recall", "bread", "--scope", "a", "--store", store]
    names = loaded_by(f"from secom_core.command import main; main({words!r})")
    assert not [name for name in names if name.startswith((*UNUSED, *OTHER_COMMANDS))]


@pytest.mark.slow
def test_importing_the_core_is_quick() -> None:
    # They take a third of a second, and are imported with the bank.
    assert not {name.split(".")[0] for name in loaded_by("import secom_core")} & {"numpy", "sqlalchemy"}


# -- what is public ---------------------------------------------------------------------------------------------------


MODULES = [name for package in OURS for name in modules(package)]
PACKAGES = [name for name in MODULES if (ROOT / name.replace(".", "/")).is_dir()]


def file_of(name: str) -> Path:
    return modules(name.split(".")[0])[name]


def names_of(name: str) -> list[str] | None:
    """What the module's ``__all__`` holds; nothing where there is none."""
    for node in parsed(file_of(name)).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))
    return None


def test_only_packages_say_what_they_give() -> None:
    listing = {name for name in MODULES if names_of(name) is not None}
    assert listing <= {*PACKAGES, f"{CORE}.protocols"}
    assert {CORE, f"{CORE}.bank", f"{CORE}.protocols", *ADAPTERS} <= listing


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODULES if names_of(name) is not None])
def test_what_a_package_gives_is_sorted_and_there_and_says_what_it_is(name: str) -> None:
    module, names = loaded(name), names_of(name) or []
    assert len(names) == len(set(names))
    assert names in (sorted(names), sorted(names, key=_kind)), f"{name}.__all__ is not sorted"
    for each in names:
        assert documented(module, each), f"{name}.{each} has no docstring"


def loaded(name: str) -> ModuleType:
    try:
        return import_module(name)
    except MissingExtra as error:
        pytest.skip(str(error))


def documented(module: ModuleType, name: str) -> bool:
    """Whether the name is there, and what it stands for says what it is: by itself, or where it is assigned."""
    try:
        value = getattr(module, name)
    except MissingExtra as error:
        pytest.skip(str(error))
    if isinstance(value, (type, ModuleType)) or callable(value):
        home = getattr(value, "__module__", "")
        if isinstance(value, ModuleType) or home.split(".")[0] in OURS:
            return bool(value.__doc__)
    return any(name in described(file_of(each)) for each in MODULES)


@cache
def described(file: Path) -> set[str]:
    """The names that a module assigns with a docstring after them."""
    body = parsed(file).body
    return {
        ast.unparse(target)
        for node, after in pairwise(body)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _is_text(after)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _kind(name: str) -> tuple[int, str]:
    """The linter's order: constants, classes, the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("name", MODULES)
def test_what_is_public_says_what_it_is(name: str) -> None:
    tree = parsed(file_of(name))
    assert ast.get_docstring(tree), f"{name} has no docstring"
    assert list(undocumented(tree)) == []


def undocumented(parent: ast.Module | ast.ClassDef) -> Iterator[str]:
    """The classes, functions and methods without an underscore and without a docstring."""
    for node in parent.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.name[0] != "_":
            if not ast.get_docstring(node) and not _is_variant(node):
                yield node.name
            if isinstance(node, ast.ClassDef):
                yield from (f"{node.name}.{each}" for each in undocumented(node))


def _is_variant(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """An overload or a setter: what it is stands with the other."""
    return any(ast.unparse(each).endswith(("overload", ".setter")) for each in node.decorator_list)
