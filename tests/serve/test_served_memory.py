"""A server makes the scopes that it is for ready by itself, and waits for that neither in a call nor as it stops."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from secom_core import MemoryBank
from secom_core.bank.scope_cache import ScopeCache
from secom_core.serve.grants import Grant, Tokens
from secom_core.serve.memory import ServedMemory

ALICE, BOB = ("acme", "alice"), ("acme", "bob")


def filled(path: Path, sessions: int = 3) -> None:
    with MemoryBank.open(path) as bank:
        for scope in (ALICE, BOB):
            for number in range(sessions):
                bank.remember(scope, [("user", f"I saw heron {number}.")], session=f"s{number}", close=True)


def loaded(memory: ServedMemory) -> int:
    return len(memory.bank._inside.scopes)


async def test_scopes_are_ready_before_anybody_asks(tmp_path: Path) -> None:
    filled(tmp_path / "memory.db")
    memory = ServedMemory(MemoryBank.open(tmp_path / "memory.db"), [ALICE, BOB])
    memory.start()
    until = time.monotonic() + 60
    while loaded(memory) < 2 and time.monotonic() < until:
        await asyncio.sleep(0.02)
    assert loaded(memory) == 2
    await memory.close()


async def test_a_stop_does_not_wait_for_a_scope_that_is_made_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(tmp_path / "memory.db", sessions=40)
    begun, follow = threading.Event(), ScopeCache._follow_session

    def slow(cache: ScopeCache, *given: Any, **until: float) -> bool:
        begun.set()
        time.sleep(0.2)
        return follow(cache, *given, **until)

    memory = ServedMemory(MemoryBank.open(tmp_path / "memory.db"), [ALICE, BOB])
    with patch.object(ScopeCache, "_follow_session", slow), caplog.at_level(logging.WARNING):
        memory.start()
        assert await asyncio.to_thread(begun.wait, 20)
        before = time.monotonic()
        await memory.close()
        assert time.monotonic() - before < 4, "forty sessions take eight seconds"
        assert not memory._preparing.is_alive()
    assert caplog.records == []


def test_the_scopes_of_tokens_are_those_that_callers_reach() -> None:
    assert Tokens(open_to=Grant("local", ALICE)).scopes == (ALICE,)
    given = {"a" * 30: Grant("a", ALICE, (BOB,)), "b" * 30: Grant("b", BOB)}
    assert Tokens(given=given).scopes == (ALICE, BOB)
