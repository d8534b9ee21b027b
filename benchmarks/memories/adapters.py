"""Any memory of `benchmarks.memories.registry` as the memory of a LangChain or a LlamaIndex app, to compare with.

    chain = ConversationChain(llm=llm, memory=langchain_memory(make("memorybank-turns", Means())))
    agent_memory = Memory.from_defaults(memory_blocks=[llamaindex_block(make("last", Means()))])

The papers' memories take in sessions that have ended. In LangChain a session goes on until ``end_session`` is called,
and its messages are shown after the memories; in LlamaIndex what leaves the window of ``Memory`` at once is a session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from secom_core.conversation import Message, Session, group_messages
from secom_core.llm.flow import ChatModel, run
from secom_core.testing import ScriptedModel

from .memory import Memory

if TYPE_CHECKING:
    from langchain_classic.base_memory import BaseMemory
    from llama_index.core.memory import BaseMemoryBlock


class Conversed:
    """A memory between an app and its model.

    Args:
        memory: from `benchmarks.memories.registry.make`.
        model: what it asks; one that knows no answer unless given.
        budget: the length of a block, in tokens.
    """

    def __init__(self, memory: Memory, model: ChatModel | None = None, budget: int = 2000) -> None:
        self.memory, self.model, self.budget = memory, model or ScriptedModel({}), budget
        self.sessions = 0

    def add(self, said: Iterable[tuple[str, str]]) -> None:
        """Take in a session that has ended; nothing where nobody said anything.

        Args:
            said: role and words of each message.

        Raises:
            ModelError: the memory's model gave no answer.
        """
        messages = [Message(text, role) for role, text in said if text.strip()]
        if messages:
            self.sessions += 1
            name = f"session {self.sessions}"
            run(self.memory.add(Session(name, group_messages(messages, name))), self.model)

    def text(self, query: str) -> str:
        """What the memory shows for a query; empty where it has nothing to say.

        Raises:
            ModelError: the memory's model gave no answer.
        """
        return run(self.memory.block(query, self.budget), self.model).text


def langchain_memory(
    memory: Memory, model: ChatModel | None = None, *, budget: int = 2000, memory_key: str = "history"
) -> BaseMemory:
    """A memory for LangChain's classic chains, with ``end_session()``; `clear` ends a session too.

    Args:
        memory: from `benchmarks.memories.registry.make`.
        model: what it asks.
        budget: the length of a block, in tokens.
        memory_key: the variable that it fills.

    Raises:
        ImportError: without langchain-classic.
    """
    from langchain_classic.base_memory import BaseMemory
    from pydantic import PrivateAttr

    class Baseline(BaseMemory):
        _conversed: Conversed = PrivateAttr()
        _said: list[tuple[str, str]] = PrivateAttr(default_factory=list)

        @property
        def memory_variables(self) -> list[str]:
            return [memory_key]

        def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
            query = next((str(each) for name, each in inputs.items() if name != memory_key), "")
            names = {"user": "Human", "assistant": "AI"}
            window = [f"{names[role]}: {text}" for role, text in self._said]
            return {memory_key: "\n".join(filter(None, [self._conversed.text(query), *window]))}

        def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
            asked = next((str(each) for name, each in inputs.items() if name != memory_key), "")
            self._said += [("user", asked), ("assistant", str(next(iter(outputs.values()), "")))]

        def end_session(self) -> None:
            said, self._said = self._said, []
            self._conversed.add(said)

        def clear(self) -> None:
            self.end_session()

    made = Baseline()
    made._conversed = Conversed(memory, model, budget)
    return made


def llamaindex_block(
    memory: Memory, model: ChatModel | None = None, *, budget: int = 2000, name: str = "baseline"
) -> BaseMemoryBlock[str]:
    """A block for LlamaIndex's ``Memory``, which hands over what no longer fits its window.

    Args:
        memory: from `benchmarks.memories.registry.make`.
        model: what it asks.
        budget: the length of a block, in tokens.
        name: what the block is called.

    Raises:
        ImportError: without llama-index-core.
    """
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock

    class Baseline(BaseMemoryBlock[str]):
        _conversed: Conversed = PrivateAttr()

        async def _aget(self, messages: Sequence[ChatMessage] | None = None, **block_kwargs: Any) -> str:
            asked = [each.content or "" for each in messages or () if each.role.value == "user"]
            return self._conversed.text(asked[-1] if asked else "")

        async def _aput(self, messages: list[ChatMessage]) -> None:
            self._conversed.add((each.role.value, each.content or "") for each in messages)

    made = Baseline(name=name)
    made._conversed = Conversed(memory, model, budget)
    return made
