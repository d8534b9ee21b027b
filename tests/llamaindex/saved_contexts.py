"""Cells of the matrix of saved contexts, for the tests and, run as a program, for the process that restores them.

The program reads a cell a line, restores the context, asks on, and writes what came of it, a line each.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import ExitStack, suppress
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.workflow import Context, JsonPickleSerializer, JsonSerializer

from llamaindex_secom import SecomMemory
from secom_core import MemoryBank
from secom_core.citations import RerankerOptions
from secom_core.testing import ScriptedEmbedder
from secom_core.text.terms import count_tokens

ANN = ("acme", "ann")
PIN, SECOND_PIN = "4711K", "4712K"
KEY = "a passphrase 5a5a"
SERIALIZERS: dict[str, Any] = {"json": JsonSerializer(), "pickle": JsonPickleSerializer()}


def masked(text: str) -> str:
    return text.replace(PIN, "[PIN]").replace(SECOND_PIN, "[PIN]")


def twice(text: str) -> int:
    return 2 * count_tokens(text)


BANKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "redact": {"redact": masked},
    "learn": {"citations": RerankerOptions(), "embedder": ScriptedEmbedder()},
    "token counter": {},
    "embedder": {"embedder": ScriptedEmbedder()},
}
MEMORIES: dict[str, dict[str, Any]] = {"learn": {"citations": True}, "token counter": {"token_counter": twice}}


def bank_at(place: str, parts: str) -> MemoryBank:
    """The bank of a cell, as its application opens it; an encrypted file by its name."""
    key = {"key": KEY} if place.endswith(".locked.db") else {}
    return MemoryBank.open(place, **BANKS[parts], **key)


def memory_on(bank: MemoryBank, parts: str) -> SecomMemory:
    return SecomMemory(bank=bank, scope=ANN, session="now", **MEMORIES.get(parts, {}))


def agent() -> FunctionAgent:
    return FunctionAgent(llm=MockFunctionCallingLLM(), streaming=False)


async def restored(data: Any, serializer: str) -> SecomMemory:
    """The memory of a restored context after one more turn."""
    going_on = agent()
    context = Context.from_dict(going_on, data, serializer=SERIALIZERS[serializer])
    await going_on.run(f"My other PIN is {SECOND_PIN}.", ctx=context)
    memory = await context.store.get("memory")
    assert isinstance(memory, SecomMemory)
    return memory


def outcome(cell: dict[str, Any], *, with_bank: bool) -> str:
    """What the user finds: what was said, if all is kept as it was, or the error."""
    with ExitStack() as stack:
        if with_bank:
            bank = stack.enter_context(bank_at(cell["place"], cell["parts"]))
            kept = memory_on(bank, cell["parts"])
        try:
            memory = asyncio.run(restored(cell["data"], cell["serializer"]))
        except Exception as error:  # noqa: BLE001  # whatever the user sees
            return str(error)
        if with_bank:
            assert memory is kept
        said = [message.text for turn in memory.bank.turns(ANN, "now") for message in turn.messages]
        with suppress(AttributeError):
            memory.bank.close()
    return " ".join(said[::2])


if __name__ == "__main__":
    for line in sys.stdin:
        cell = json.loads(line)
        print(json.dumps([outcome(cell, with_bank=with_bank) for with_bank in (False, True)]), flush=True)
