"""An empty bank in memory, and a server with twenty answers, for the tests that need no others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from secom_core import MemoryBank
from secom_core.testing import ScriptedServer


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open() as opened:
        yield opened


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer([f"Answer {number}." for number in range(20)]) as running:
        yield running
