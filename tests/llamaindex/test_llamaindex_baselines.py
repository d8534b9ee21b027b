"""The memories that the papers compare with, as a block of LlamaIndex's memory."""

from __future__ import annotations

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.sql import MessageStatus

from benchmarks.memories.adapters import llamaindex_block
from benchmarks.memories.registry import Means, make
from secom_core.testing import ScriptedModel


def said(role: str, text: str) -> ChatMessage:
    return ChatMessage(role=role, content=text)


async def test_what_leaves_the_window_comes_back_by_the_baseline() -> None:
    block = llamaindex_block(make("turn", Means()), budget=100)
    memory = Memory.from_defaults(
        session_id="one", token_limit=160, token_flush_size=20, chat_history_token_ratio=0.3, memory_blocks=[block]
    )
    await memory.aput(said("user", "My boat Petrel lies in Cork harbour."))
    await memory.aput(said("assistant", "A fine place for a boat."))
    for place in range(6):
        await memory.aput(said("user", f"And the weather was fine on day number {place} of it."))
        await memory.aput(said("assistant", "So it was, all along the coast."))
    window = "\n".join(message.content or "" for message in await memory.aget_all(MessageStatus.ACTIVE))
    assert "Cork" not in window, "the beginning has left the window"
    await memory.aput(said("user", "Where does the Petrel lie?"))
    found = await memory.aget()
    assert "Cork harbour" in "\n".join(message.content or "" for message in found)


async def test_a_baseline_that_asks_a_model_is_given_one() -> None:
    model = ScriptedModel("<summary>The boat lies in Cork.</summary>")
    block = llamaindex_block(make("summem", Means(model=model)), model, name="summem")
    await block.aput([said("user", "My boat lies in Cork."), said("assistant", "Nice.")])
    await block.aput([said("user", "  ")])
    assert await block.aget([said("user", "Where is the boat?"), said("assistant", "Hm.")]) == "The boat lies in Cork."
    assert len(model.requests) == 1, "one session, and one of blanks is none"
    assert await block.aget() == "The boat lies in Cork."
