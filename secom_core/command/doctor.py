"""What is installed, configured, stored, slow and missing: a look that changes nothing."""

from __future__ import annotations

import os
import platform
import sqlite3
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, Final, Literal

from .. import __version__
from ..bank import MemoryBank
from ..configuration import Settings, bank_arguments
from ..conversation import Scope
from ..errors import SecomError, too_old_for
from ..pictures.report.html import counted
from ..stores.places import file_at, is_postgres
from ..text.visible import inline
from .opening import as_options, opened
from .terminal import Refused, show, styled

EXTRAS: Final[Mapping[str, Mapping[str, str]]] = {
    "langchain": {"langchain": "langchain", "langchain-core": "langchain_core"},
    "llamaindex": {"llama-index-core": "llama_index.core"},
    "openai-agents": {"openai-agents": "agents"},
    "pydantic-ai": {"pydantic-ai-slim": "pydantic_ai"},
    "serve": {"mcp": "mcp", "starlette": "starlette", "uvicorn": "uvicorn", "prometheus-client": "prometheus_client"},
    "openai": {"openai": "openai"},
    "dense": {"sentence-transformers": "sentence_transformers"},
    "fastembed": {"fastembed": "fastembed"},
    "static": {"wordllama": "wordllama", "tokenizers": "tokenizers", "safetensors": "safetensors"},
    "llmlingua": {"llmlingua": "llmlingua", "transformers": "transformers"},
    "postgres": {"psycopg": "psycopg", "pgvector": "pgvector"},
    "encrypted": {"sqlcipher3": "sqlcipher3"},
    "salvage": {"dissect.database": "dissect.database"},
    "parquet": {"pyarrow": "pyarrow"},
    "eval": {"sacrebleu": "sacrebleu", "rouge-score": "rouge_score", "nltk": "nltk"},
}
"""What each extra brings that is looked for: its distributions, each with the module by which it is imported."""
_BASE: Final = ("numpy", "SQLAlchemy", "PyStemmer")
_SLOW_MS: Final = 500.0
Kind = Literal["good", "warning", "error", "faint"]
_MARKS: Final[Mapping[Kind, str]] = {"good": "ok", "warning": "!", "error": "!!", "faint": "-"}


@dataclass(frozen=True)
class Row:
    """A line of the report.

    Args:
        about: the part of the report: installed, extras, configuration, store, speed.
        name: what it is about.
        says: what was found.
        kind: whether that is good, to be known, wrong, or only missing.
    """

    about: str
    name: str
    says: str
    kind: Kind = "good"


def doctor_(args: Namespace) -> None:
    """Print the report; what is wrong makes the exit code 1."""
    rows = [*_installed(), *_extras(), *_configured(args), *_of_store(args)]
    show(args, [vars(row) for row in rows], _text(rows, lambda kind, mark: mark), lambda _: _text(rows, _coloured))
    wrong = [row for row in rows if row.kind == "error"]
    if wrong:
        raise Refused(f"{counted(len(wrong), 'thing')} wrong: {'; '.join(f'{row.name}: {row.says}' for row in wrong)}")


def _text(rows: list[Row], mark: Any) -> str:
    lines: list[str] = []
    for about in dict.fromkeys(row.about for row in rows):
        mine = [row for row in rows if row.about == about]
        wide = max(len(row.name) for row in mine)
        lines += ["", about, *(f"  {mark(r.kind, f'{_MARKS[r.kind]:<2}')} {r.name:<{wide}}  {r.says}" for r in mine)]
    return "\n".join(lines[1:])


def _coloured(kind: Kind, mark: str) -> str:
    return styled(mark, kind)


# -- what is installed -------------------------------------------------------------------------------------------------


def _installed() -> Iterator[Row]:
    yield Row("installed", "secom-memory", __version__)
    yield Row("installed", "Python", f"{platform.python_version()} on {platform.uname().system}")
    yield Row("installed", "SQLite", sqlite3.sqlite_version)
    for name in _BASE:
        yield Row("installed", name, _version(name) or "of unknown version")


def _extras() -> Iterator[Row]:
    for extra, wanted in EXTRAS.items():
        lacking, unfit = [name for name, module in wanted.items() if not _is_there(module)], too_old_for(extra)
        if not lacking and unfit:
            yield Row("extras", extra, unfit, "warning")
        elif not lacking:
            yield Row("extras", extra, ", ".join(f"{name} {_version(name) or ''}".rstrip() for name in wanted))
        else:
            remedy = unfit or f'pip install "secom-memory[{extra}]"'
            yield Row("extras", extra, f"not installed; {remedy}", "faint")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        # The package above a dotted name is missing or broken.
        return False


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


# -- what is configured ------------------------------------------------------------------------------------------------


def _configured(args: Namespace) -> Iterator[Row]:
    settings: Settings = args.settings
    given = [row for row in settings.rows() if settings.origins.get(row.key)]
    for row in given:
        yield Row("configuration", row.key, f"{inline(row.value)}  (from {inline(row.origin)})")
    if not given:
        yield Row("configuration", "settings", "none given; every one has its default", "faint")
    if settings.model is not None:
        key = "set" if os.environ.get(settings.api_key_variable) else "not set"
        yield Row("configuration", settings.api_key_variable, f"{key}; it holds the key of the model's endpoint")
    try:
        bank_arguments(settings)
    except SecomError as error:
        yield Row("configuration", "models", inline(str(error)), "error")


# -- what is stored ----------------------------------------------------------------------------------------------------


def _of_store(args: Namespace) -> Iterator[Row]:
    named: str = args.settings.store
    if not is_postgres(named) and not file_at(named).exists():
        yield Row("store", inline(named), "not there yet; `secom remember FILE` makes it", "faint")
        return
    began = time.perf_counter()
    # A look asks no embedder, which may be a service that costs money.
    without_models = Namespace(**{name: value for name, value in vars(args).items() if name != "embedder"})
    try:
        with opened(without_models) as there:
            yield from _held(there.bank, named, _ms_since(began))
    except SecomError as error:
        yield Row("store", "cannot be opened", inline(str(error)), "error")


def _held(bank: MemoryBank, named: str, opening: float) -> Iterator[Row]:
    size = "" if is_postgres(named) else f", {file_at(named).stat().st_size / 1e6:,.1f} MB"
    health, scopes = bank.health(), {scope: bank.stats(scope) for scope in bank.scopes()}
    yield Row("store", "place", f"{inline(bank.storage.path or named)}{size}, tables of version {health.schema}")
    turns, vectors = sum(each.turns for each in scopes.values()), sum(each.vectors for each in scopes.values())
    sessions = sum(each.sessions for each in scopes.values())
    held = f"{counted(len(scopes), 'scope')}, {counted(sessions, 'session')}, {counted(turns, 'turn')}"
    yield Row("store", "holds", f"{held}, {counted(vectors, 'vector')}")
    if not health.writable:
        yield Row(
            "store", "writing", f"not possible: {inline(health.last_error or 'another program holds it')}", "error"
        )
    if health.underived:
        left = counted(health.underived, "session")
        yield Row("store", "not indexed yet", f"{left}; the next recall of their scope does it", "warning")
    if health.forgotten_in_log:
        yield Row("store", "forgotten words", "still in the store's log until the next write", "warning")
    began = time.perf_counter()
    findings = bank.check()
    checking = _ms_since(began)
    for finding in findings:
        yield Row("store", "error found", f"{inline(str(finding))}; see `secom check`", "error")
    if not findings:
        yield Row("store", "integrity", "no errors were found")
    yield _timed("opening", opening)
    yield Row("speed", "checking", f"{checking:,.0f} ms")
    if scopes and not health.underived:
        yield from _recalled(bank, max(scopes, key=lambda scope: scopes[scope].turns))


def _recalled(bank: MemoryBank, scope: Scope) -> Iterator[Row]:
    """How long the largest scope takes: the first time, and once its index is in memory. Words are searched for."""
    session = bank.sessions(scope)[-1]
    words = bank.turns(scope, session, last=1)[0].content[:200] or "hello"
    for name in ("first recall", "second recall"):
        began = time.perf_counter()
        bank.recall(scope, words)
        yield _timed(name, _ms_since(began), f" in {inline(as_options(scope))}, the largest scope")


def _timed(name: str, spent: float, where: str = "") -> Row:
    return Row("speed", name, f"{spent:,.0f} ms{where}", "good" if spent < _SLOW_MS else "warning")


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
