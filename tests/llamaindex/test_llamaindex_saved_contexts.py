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
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, step
from pydantic import BaseModel
from saved_contexts import ANN, BANKS, PIN, SECOND_PIN, SERIALIZERS, agent, bank_at, masked, memory_on
from sqlalchemy import make_url

from llamaindex_secom import SecomMemory, said_by_user
from secom_core import MemoryBank

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
        assert parts != "redact" or not re.search("471[12]K", alone + with_bank)


class ChatState(BaseModel):
    memory: SecomMemory | None = None


class Ask(StartEvent):
    text: str


class Put(Event):
    memory: SecomMemory


class Chat(Workflow):
    """Has the memory in its typed state, and hands it on in an event."""

    memory: SecomMemory | None = None

    @step
    async def put(self, ctx: Context[ChatState], event: Ask) -> Put:
        async with ctx.store.edit_state() as state:
            state.memory = state.memory or self.memory
            memory = state.memory
        assert memory is not None
        tick = ChatMessage(role="user", content="tick", additional_kwargs={"automatic": True})
        await memory.aput_messages([ChatMessage(role="user", content=event.text), tick])
        return Put(memory=memory)

    @step
    async def answer(self, event: Put) -> StopEvent:
        await event.memory.aput(ChatMessage(role="assistant", content="Noted."))
        return StopEvent()


def by_person(message: ChatMessage) -> bool:
    return said_by_user(message) and "automatic" not in message.additional_kwargs


async def told(data: Any, *texts: str, memory: SecomMemory | None = None) -> Context[ChatState]:
    """The context after these runs of the workflow."""
    chat = Chat()
    chat.memory = memory
    context: Context[ChatState] = Context.from_dict(chat, data) if data is not None else Context(chat)
    for text in texts:
        await chat.run(start_event=Ask(text=text), ctx=context)
    return context


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "file"])
async def test_a_memory_in_a_typed_state_and_in_an_event_is_the_memory_itself(places: Any, kind: str) -> None:
    with bank_at(places(kind, "redact"), "redact") as bank:
        memory = SecomMemory(bank=bank, scope=ANN, session="typed", by_user=by_person)
        context = await told(None, f"My PIN is {PIN}.", "My cat is called Tuna.", memory=memory)
        context = await told(json.loads(json.dumps(context.to_dict())), "Bye.")
        state = await context.store.get_state()
        assert state.memory is memory
        assert ChatState.model_validate(state.model_dump()).memory is memory
        for serializer in SERIALIZERS.values():
            assert serializer.deserialize(serializer.serialize(Put(memory=memory))).memory is memory
        said = [message.text for turn in bank.turns(ANN, "typed") for message in turn.messages]
    assert said == ["My PIN is [PIN].", "Noted.", "My cat is called Tuna.", "Noted.", "Bye.", "Noted."]


@pytest.mark.slow
async def test_a_typed_state_is_restored_on_a_bank_that_redacts_or_not_at_all(tmp_path: Path) -> None:
    with bank_at(str(tmp_path / "typed.db"), "redact") as bank:
        memory = SecomMemory(bank=bank, scope=ANN, session="typed")
        context = await told(None, f"My PIN is {PIN}.", memory=memory)
        data = context.to_dict()
    with pytest.raises(ValueError, match=REFUSALS["redact"]):
        await told(data, f"My other PIN is {SECOND_PIN}.")
    with MemoryBank.open(tmp_path / "typed.db") as bare:
        with pytest.raises(ValueError, match="the one that is open in this process has none"):
            await told(data, f"My other PIN is {SECOND_PIN}.")
        assert SECOND_PIN not in str(bare.turns(ANN, "typed"))
    with bank_at(str(tmp_path / "typed.db"), "redact") as bank:
        await told(data, f"My other PIN is {SECOND_PIN}.")
        said = [message.text for turn in bank.turns(ANN, "typed") for message in turn.messages]
    assert said[::3] == ["My PIN is [PIN].", "My other PIN is [PIN]."]
