"""A memory through a workflow's ``Context``: itself in the same process, in another one all that it was or a refusal.

The matrix is {in memory, file, PostgreSQL with a password, encrypted} x {plain, redact, learn, own token counter,
embedder} x {a context used again, restored in the same process, restored in another one} x {JSON, pickle}.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("sqlcipher3", reason="needs the extra 'encrypted'")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from saved_contexts import ANN, BANKS, PIN, SECOND_PIN, SERIALIZERS, agent, bank_at, masked, memory_on
from sqlalchemy import make_url

from llamaindex_secom import SecomMemory

ROOT = str(Path(__file__).resolve().parents[2])
ENDINGS = {"memory": "", "file": ".db", "encrypted": ".locked.db", "postgres": ""}
"""The kinds of places, and how their files end."""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, postgres: Any) -> Iterator[Callable[[str, str], str]]:
    """Gives the place of a bank for each kind of place and parts."""
    folder = tmp_path_factory.mktemp("contexts")
    with ExitStack() as stack:

        @cache
        def place(kind: str, parts: str) -> str:
            if kind == "postgres":
                url = make_url(stack.enter_context(postgres.bank())).set(password="s3cret")
                return url.render_as_string(hide_password=False)
            return ":memory:" if kind == "memory" else str(folder / f"{parts}{ENDINGS[kind]}")

        yield place


async def asked_twice(place: str, parts: str) -> tuple[SecomMemory, Context, FunctionAgent]:
    """A conversation of two runs, on a bank that stays open."""
    bank = bank_at(place, parts)
    bank.forget(ANN)
    memory, asked = memory_on(bank, parts), agent()
    context = Context(asked)
    for text in (f"My PIN is {PIN}.", "My cat is called Tuna."):
        await asked.run(text, ctx=context, memory=memory)
    return memory, context, asked


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("serializer", SERIALIZERS)
@pytest.mark.parametrize("parts", BANKS)
@pytest.mark.parametrize("kind", ENDINGS)
async def test_in_one_process_a_context_holds_the_memory_itself(
    places: Any, kind: str, parts: str, serializer: str
) -> None:
    memory, context, asked = await asked_twice(places(kind, parts), parts)
    with memory.bank as bank:
        assert await context.store.get("memory") is memory, "used again"
        assert memory.last_recall is not None
        assert memory.last_recall.query == "My cat is called Tuna."
        async with context.store.edit_state() as state:
            state["seen"] = True
        assert await context.store.get("memory") is memory, "edited by a tool"
        data = json.loads(json.dumps(context.to_dict(serializer=SERIALIZERS[serializer])))
        again = Context.from_dict(asked, data, serializer=SERIALIZERS[serializer])
        await asked.run("What is my cat called?", ctx=again)
        assert await again.store.get("memory") is memory, "restored"
        memory.reset()
        await asked.run("Bye.", ctx=again)
        assert bank.sessions(ANN) == ["now", "now~2"], "the caller's reset is that of the context"


REFUSALS = {
    "token counter": r"saved with token_counter= of its own.*make it again before it is restored",
    "memory": r"saved on a bank in memory, which is gone with its process",
    "postgres": r"on a bank opened with .*password=.*MemoryBank\.open.* with the password in the URL",
    "encrypted": r"on a bank opened with .*key=.*MemoryBank\.open",
    "redact": r"on a bank opened with redact=.*MemoryBank\.open",
    "learn": r"on a bank opened with embedder=, citations=.*MemoryBank\.open",
    "embedder": r"on a bank opened with embedder=.*MemoryBank\.open",
}


@pytest.mark.slow
async def test_another_process_has_all_that_the_memory_was_or_says_what_is_missing(places: Any) -> None:
    """Every cell in one other process, as one takes seconds to start: alone, then with what the application opens."""
    cells: list[dict[str, Any]] = []
    # What a server's password alone costs is the same with every part.
    kinds = [each for each in product(ENDINGS, BANKS) if each[0] != "postgres" or each[1] in ("plain", "redact")]
    for (kind, parts), name in zip(kinds, cycle(SERIALIZERS), strict=False):
        memory, context, _ = await asked_twice(places(kind, parts), parts)
        data = context.to_dict(serializer=SERIALIZERS[name])
        memory.bank.close()
        assert "s3cret" not in json.dumps(data)
        assert PIN not in data["state"]["state_data"]["_data"]["memory"], "its words are in the bank"
        cells.append({"kind": kind, "parts": parts, "place": places(kind, parts), "serializer": name, "data": data})
    lines = "\n".join(map(json.dumps, cells))
    command = [sys.executable, str(Path(__file__).with_name("saved_contexts.py"))]
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ROOT})
    outcomes = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(outcomes) == len(cells), ran.stderr
    for cell, (alone, with_bank) in zip(cells, outcomes, strict=True):
        kind, parts = cell["kind"], cell["parts"]
        wanted = next((text for name, text in REFUSALS.items() if name in (kind, parts)), None)
        kept = f"Tuna.*My other PIN is {masked(SECOND_PIN) if parts == 'redact' else SECOND_PIN}".replace("[", r"\[")
        assert re.search(wanted or kept, alone), (kind, parts, alone)
        refused = REFUSALS["token counter" if parts == "token counter" else "memory"] if kind == "memory" else None
        assert re.search(refused or kept, with_bank), (kind, parts, with_bank)
        assert parts != "redact" or not re.search("471[12]", alone + with_bank)
