"""The package: its names, what it imports, what it says where LangChain is absent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def run(code: str, absent: tuple[str, ...] = ()) -> str:
    code = (BLOCK.format(absent=absent) if absent else "") + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    return done.stdout + done.stderr


def test_public_names_are_sorted_and_there() -> None:
    pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")
    import langchain_secom

    assert langchain_secom.__all__ == sorted(langchain_secom.__all__)
    assert all(getattr(langchain_secom, name).__name__ == name for name in langchain_secom.__all__)
    with pytest.raises(AttributeError, match="SecomMemori"):
        langchain_secom.SecomMemori  # noqa: B018


@pytest.mark.slow
def test_every_module_is_without_the_other_framework_and_heavy_libraries() -> None:
    pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")
    heavy = ["llama_index", "llamaindex_secom", "torch", "transformers", "sentence_transformers", "faiss", "openai"]
    modules = ["convert", "models", "memory", "text_splitter", "denoiser", "retriever", "timelines", "summary"]
    modules += ["reranker", "citations", "langsmith_feedback"]
    code = "import sys\n" + "\n".join(f"import langchain_secom.{name}" for name in modules)
    # langchain_text_splitters imports some of these itself where they are installed.
    allowed = "import sys, langchain_text_splitters, langchain_classic.base_memory\nbefore = set(sys.modules)\n"
    code = allowed + code + f"\nprint([name for name in {heavy!r} if name in sys.modules and name not in before])"
    assert run(code).strip() == "[]"


@pytest.mark.slow
def test_an_import_of_the_package_alone_is_light() -> None:
    pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
    assert run("import sys, langchain_secom\nprint('langchain_classic' in sys.modules)").strip() == "False"


def test_its_names_are_completed_before_they_are_used() -> None:
    pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
    assert run("import langchain_secom\nprint(dir(langchain_secom) == langchain_secom.__all__)").strip() == "True"


def test_missing_extra_is_raised_where_langchain_is_absent() -> None:
    output = run("import langchain_secom", absent=("langchain_core",))
    assert "secom_core.errors.MissingExtra" in output
    assert 'pip install "secom-memory[langchain]"' in output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "absent"), [("SecomMemory", "langchain_classic"), ("SegmentTextSplitter", "langchain_text_splitters")]
)
def test_missing_extra_is_raised_for_the_class_that_needs_it(name: str, absent: str) -> None:
    pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
    output = run(f"import langchain_secom\nlangchain_secom.{name}", absent=(absent,))
    assert f"MissingExtra: {name} needs an optional dependency" in output


@pytest.mark.slow
def test_missing_extra_is_raised_at_construction_of_the_default_denoiser() -> None:
    pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
    code = "from langchain_secom import LLMLinguaDenoiser\nLLMLinguaDenoiser()"
    # LLMLingua2 looks for its libraries without importing them, so that they are hidden rather than blocked.
    hide = "import importlib.util\nfind = importlib.util.find_spec\n"
    hide += "importlib.util.find_spec = lambda name, *a: None if name in ('torch', 'llmlingua') else find(name, *a)\n"
    output = run(hide + code)
    assert (
        'MissingExtra: LLMLingua2 needs an optional dependency. Install it with: pip install "secom-memory[' in output
    )
