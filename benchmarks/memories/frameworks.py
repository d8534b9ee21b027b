"""Memories of other packages, each used as its documentation has it, behind the seam of `benchmarks.memories.memory`.

None but LangChain's summary memory asks a language model: what the others do with one is not used.
"""

from __future__ import annotations

import asyncio
import warnings
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from benchmarks import chats, peers
from benchmarks.chats import Chat
from benchmarks.peers import DEEP
from secom_core.conversation import Message, Session
from secom_core.llm.flow import ChatModel, Procedure, Prompt

from .memory import Block, Entry, Tools, filled, settled


def without_deprecations() -> None:
    """Say nothing of the memories that LangChain no longer recommends: they are what is compared with."""
    with suppress(ImportError):
        import langchain_classic  # noqa: F401 -- its warnings are filtered when it is imported

    warnings.filterwarnings("ignore", message="The class .* was deprecated in LangChain")


class Ranked:
    """A peer of `benchmarks.chats`, which is built from a whole chat when the first question comes.

    Args:
        peer: makes the ranking.
        tools: what it is built with.
    """

    def __init__(self, peer: chats.Peer, tools: Tools) -> None:
        self._peer, self._tools = peer, tools
        self._sessions: list[Session] = []
        self._rank: chats.Rank | None = None

    def add(self, session: Session) -> Procedure[None]:
        self._sessions.append(session)
        self._rank = None
        return settled(None)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        if self._rank is None:
            chat = Chat("", tuple(map(with_roles, self._sessions)), ())
            self._rank = self._peer(chat, self._tools.embedder)
        return settled(filled(map(Entry, self._rank(query)), budget, self._tools.counter))


def with_roles(session: Session) -> Session:
    """People's messages as a user's: frameworks know a user and an assistant."""
    turns = [replace(turn, messages=tuple(map(_with_role, turn.messages))) for turn in session.turns]
    return replace(session, turns=tuple(turns))


def _with_role(message: Message) -> Message:
    return message if message.role == "assistant" else replace(message, role="user")


class LangChainMemory:
    """A memory of LangChain that gives one text, whatever is asked and however long the budget is.

    Args:
        memory: such as `ConversationBufferMemory`.
    """

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def add(self, session: Session) -> Procedure[None]:
        for turn in session.turns:
            first, *others = turn.messages
            outputs = "\n".join(message.line for message in others)
            self._memory.save_context({"input": first.line}, {"output": outputs})
        return settled(None)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        return settled(Block(self._memory.load_memory_variables({})["history"]))


def langchain_buffer() -> LangChainMemory:
    """All that was said."""
    from langchain_classic.memory import ConversationBufferMemory

    return LangChainMemory(ConversationBufferMemory())


def langchain_window() -> LangChainMemory:
    """The last five exchanges."""
    from langchain_classic.memory import ConversationBufferWindowMemory

    return LangChainMemory(ConversationBufferWindowMemory())


def langchain_summary(model: ChatModel) -> LangChainMemory:
    """A summary that a model brings up to date with each exchange, by LangChain's own prompt."""
    from langchain_classic.memory import ConversationSummaryMemory
    from langchain_core.language_models.llms import LLM

    class Asked(LLM):
        @property
        def _llm_type(self) -> str:
            return "asked"

        def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **_: Any) -> str:
            return model.complete(Prompt(prompt, purpose="langchain-summary"))

    return LangChainMemory(ConversationSummaryMemory(llm=Asked()))


class LlamaIndexMemory:
    """LlamaIndex's `Memory` with a `VectorMemoryBlock`, which gets what no longer fits its short-term memory.

    Its token limit is the budget; seven tenths of it are for the latest messages, its default. It is filled once for
    each budget, as its limit cannot be changed.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._sessions: list[Session] = []
        self._filled: dict[int, Any] = {}

    def add(self, session: Session) -> Procedure[None]:
        self._sessions.append(session)
        self._filled.clear()
        return settled(None)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        if budget not in self._filled:
            self._filled[budget] = asyncio.run(self._fill(budget))
        return settled(Block(asyncio.run(_told(self._filled[budget], query))))

    async def _fill(self, budget: int) -> Any:
        from llama_index.core.memory import Memory, VectorMemoryBlock

        vectors = peers.llamaindex_embedding(self._tools.embedder)  # type: ignore[arg-type]
        block = VectorMemoryBlock(vector_store=peers.llamaindex_vectors()(), embed_model=vectors)
        counter = self._tools.counter
        memory: Any = Memory.from_defaults(
            token_limit=budget, tokenizer_fn=lambda text: [0] * counter(text), memory_blocks=[block]
        )
        for session in self._sessions:
            await memory.aput_messages([_chat_message(each) for turn in session.turns for each in turn.messages])
        return memory


async def _told(memory: Any, query: str) -> str:
    from llama_index.core.llms import ChatMessage

    found = await memory.aget(input=ChatMessage(query, role="user"))
    return "\n".join(message.content or "" for message in found)


def _chat_message(message: Message) -> Any:
    from llama_index.core.llms import ChatMessage

    return ChatMessage(message.line, role=_with_role(message).role)


class LangMem:
    """langmem's tools over a store of LangGraph: each turn is saved, and a question searched for."""

    def __init__(self, tools: Tools) -> None:
        from langgraph.store.memory import InMemoryStore
        from langmem import create_manage_memory_tool, create_search_memory_tool

        dimensions = int(tools.embedder.embed(["size"]).shape[1])  # type: ignore[union-attr]
        embeddings = peers.langchain_embeddings(tools.embedder)  # type: ignore[arg-type]
        store = InMemoryStore(index={"dims": dimensions, "embed": embeddings})
        namespace = ("memories",)
        self._save: Any = create_manage_memory_tool(namespace, store=store)
        self._search: Any = create_search_memory_tool(namespace, store=store, response_format="content_and_artifact")
        self._tools = tools

    def add(self, session: Session) -> Procedure[None]:
        for turn in session.turns:
            self._save.invoke({"content": turn.text, "action": "create"})
        return settled(None)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        call = {"type": "tool_call", "id": "1", "name": "search_memory", "args": {"query": query, "limit": DEEP}}
        found = self._search.invoke(call).artifact
        return settled(filled([Entry(item.value["content"]) for item in found], budget, self._tools.counter))
