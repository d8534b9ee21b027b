"""One server for most tests, which is a process of its own; each test has a scope and a token of its own in it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

for _package in ("mcp", "prometheus_client", "starlette", "uvicorn"):
    pytest.importorskip(_package, reason="needs the extra 'serve'")

from callers import Caller, called  # noqa: E402

from benchmarks.served import Served, serving  # noqa: E402
from secom_core.conversation import Scope  # noqa: E402

_COUNT = itertools.count()
LIMITS = {"SECOM_SERVE_MAX_BODY_BYTES": "100000", "SECOM_SERVE_MAX_MESSAGES": "50", "SECOM_SERVE_TIMEOUT": "5"}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "tokens.jsonl").touch(mode=0o600)
    with serving(folder, "--tokens-file", "tokens.jsonl", environ=LIMITS) as served:
        yield served


@pytest.fixture
def scope(request: pytest.FixtureRequest) -> Scope:
    return ("acme", f"{request.node.name[:40]}-{next(_COUNT)}")


@pytest.fixture
def caller(server: Served, scope: Scope) -> Iterator[Caller]:
    with called(server, scope) as found:
        yield found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a file for tokens."""
    (tmp_path / "tokens.jsonl").touch(mode=0o600)
    return tmp_path
