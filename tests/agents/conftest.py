"""A bank for each test, and the frameworks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from frameworks import Framework, OpenAIAgents, PydanticAI

from secom_core import MemoryBank


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(str(tmp_path / "memory.db")) as opened:
        yield opened


@pytest.fixture(params=[OpenAIAgents, PydanticAI])
def framework(request: pytest.FixtureRequest) -> Framework:
    made: Framework = request.param()
    return made
