"""What memory adds to a turn of an agent, recall and write apart: ours and each framework's own, in one run.

``python -m benchmarks.agents [--turns 500 50000] [--measured 60] [--patience 900] [--json OUT]``

Needs the extras ``langchain``, ``llamaindex`` and ``openai``. Agents answer over HTTP from a scripted server. Each is
asked in conversations of thirty turns, and before each of its turns the same agent without memory is asked the same:
*added* is the difference of such two. *recall* is the time inside memory before the model is called, *write* that of
taking in what was said; *added* also has what a longer prompt costs and what the framework does around its hooks.

Ours keeps everything in a file, synced; what comes with the frameworks is in memory, as it is there by default:

- LangChain: ``create_agent`` with LangGraph's ``InMemoryStore`` and its vector index, which is the long-term memory
  that the framework documents for it. It is no memory by itself, so a middleware searches before the model is called
  and puts what was said afterwards. The same with ``InMemoryVectorStore``, as retriever memories have it.
- LlamaIndex: ``FunctionAgent`` with ``Memory`` and a ``VectorMemoryBlock`` on its ``SimpleVectorStore``. Its window is
  full from the beginning, so that it hands messages to the block as it goes. And with no block: its own window alone.

Agents without memory keep the conversation at hand: a checkpointer in memory, and the ``ChatMemoryBuffer`` that agents
make themselves. Vectors come from hashed words of 384 dimensions, the same for all, so that no embedding model drowns
the rest. *cached* is what share of the prompts, by characters, begins as the prompt before it in the same conversation
did, which is what providers charge less for; *tokens* is the length of a prompt. The frameworks' own search as many
turns as ours shows in its 1,000 tokens, about. Turns are made of seeded words; *background* has a
user who pauses until the writer is done, *no pause* one who never does.

Last, ``--users 40`` talk to one agent at once, each in a scope of its own (`benchmarks.agent_crowd`): how many times as
long as without memory they take, with models that answer at once, after half a second and after two.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adding import sessions, utterances
from benchmarks.agent_crowd import crowds, llamaindex_functions, scripted_models
from benchmarks.latency import HashedWords
from benchmarks.peers import langchain_embeddings, llamaindex_embedding, llamaindex_vectors
from benchmarks.retrieval import versions
from secom_core.bank import MemoryBank
from secom_core.testing import ScriptedServer
from secom_core.text.terms import count_tokens

SCOPE = ("benchmark", "agents")
BUDGET = 1000
WINDOW = 4000
SHOWN = 35
"""How many turns of this length ours shows in its budget."""

FLUSHED = 7
"""How many messages `Memory` hands to its blocks at a time, with this window; a block makes one text of them."""

WARM_UP = 5
CONVERSATION = 30
CHUNK = 500
PACKAGES = ("langchain", "langchain-core", "langgraph", "llama-index-core", "openai")
PARTS = ("turn", "added", "recall", "write")
PROMPTS = ("cached", "tokens")

Ask = Callable[[str, str], object]


class TooSlow(Exception):
    """A peer takes longer than anyone waits."""


class Clock:
    """Adds up the time spent inside memory in one turn; calls inside calls count once."""

    def __init__(self) -> None:
        self.seconds = {"recall": 0.0, "write": 0.0}
        self._inside = False

    def reset(self) -> None:
        self.seconds = dict.fromkeys(self.seconds, 0.0)

    def add(self, part: str, begin: float) -> None:
        self.seconds[part] += time.perf_counter() - begin

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        if self._inside:
            yield
            return
        begin, self._inside = time.perf_counter(), True
        try:
            yield
        finally:
            self._inside = False
            self.add(part, begin)


@dataclass
class Setting:
    """What is remembered, and whom to ask."""

    base_url: str
    texts: list[str]
    folder: Path
    patience: float
    loop: asyncio.AbstractEventLoop
    embedder: HashedWords = field(default_factory=HashedWords)
    clock: Clock = field(default_factory=Clock)
    banks: dict[bool, Path] = field(default_factory=dict)

    def bank(self, embedded: bool) -> MemoryBank:
        """A bank of its own that holds all turns; they are taken in once."""
        used = self.embedder if embedded else None
        if embedded not in self.banks:
            self.banks[embedded] = self.folder / f"filled-{embedded}.db"
            with MemoryBank.open(self.banks[embedded], embedder=used) as bank:
                for session in sessions(self.texts):
                    bank.remember(SCOPE, session, close=True)
        own = self.folder / f"{len(list(self.folder.iterdir()))}.db"
        shutil.copy(self.banks[embedded], own)
        return MemoryBank.open(own, embedder=used)

    def fill(self, add: Callable[[list[str]], object]) -> None:
        begin = time.monotonic()
        for first in range(0, len(self.texts), CHUNK):
            add(self.texts[first : first + CHUNK])
            self.check(begin, f"to take in {len(self.texts)} turns")

    def check(self, begin: float, what: str) -> None:
        if time.monotonic() - begin > self.patience:
            raise TooSlow(f"takes longer than {self.patience:g} s {what}")

    def wait(self, coroutine: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(coroutine)


@dataclass(frozen=True)
class Agent:
    ask: Ask
    plain: Ask
    pause: Callable[[], object] = lambda: None


# -- LangChain ---------------------------------------------------------------------------------------------------------


def create_langchain(setting: Setting, middleware: Sequence[Any] = (), store: Any = None) -> Ask:
    from http_agent import HttpAgentModel
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    model = HttpAgentModel(base_url=setting.base_url)
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver(), store=store)

    def ask(text: str, conversation: str) -> object:
        return agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": conversation}})

    return ask


def timed_hooks(middleware: type, clock: Clock) -> type:
    """The middleware, with the time before the model called recall and that behind it write."""

    class Timed(middleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            begin = time.perf_counter()

            def model(shown: Any) -> Any:
                nonlocal begin
                clock.add("recall", begin)
                try:
                    return handler(shown)
                finally:
                    begin = time.perf_counter()

            try:
                return super().wrap_model_call(request, model)
            finally:
                clock.add("write", begin)

        def after_agent(self, state: Any, runtime: Any) -> Any:
            with clock.timing("write"):
                return super().after_agent(state, runtime)

    return Timed


def langchain_ours(setting: Setting, stack: ExitStack, *, embedded: bool, write: str, pause: bool = True) -> Agent:
    from langchain_secom import SecomMiddleware

    bank = stack.enter_context(setting.bank(embedded))
    made: Any = timed_hooks(SecomMiddleware, setting.clock)
    memory = made(bank, scope=SCOPE, token_budget=BUDGET, write=write)
    stack.callback(memory.close)
    return Agent(
        create_langchain(setting, [memory]), create_langchain(setting), memory.flush if pause else lambda: None
    )


def searching(search: Callable[[str], list[str]], put: Callable[[list[str]], object]) -> type:
    """What a user of a store writes: search for the question before the model, put what was said behind it."""
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import SystemMessage

    class StoreMemory(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            found = "\n".join(search(request.messages[-1].text))
            return handler(request.override(system_message=SystemMessage(f"What is remembered:\n{found}")))

        def after_agent(self, state: Any, runtime: Any) -> None:
            put([message.text for message in state["messages"][-2:]])

    return StoreMemory


def langgraph_store(setting: Setting, stack: ExitStack) -> Agent:
    from langgraph.store.base import PutOp
    from langgraph.store.memory import InMemoryStore

    embeddings = langchain_embeddings(setting.embedder)
    store = InMemoryStore(index={"dims": 384, "embed": embeddings, "fields": ["text"]})
    keys = map(str, range(10**9))

    def put(texts: list[str]) -> object:
        return store.batch([PutOp(SCOPE, next(keys), {"text": text}) for text in texts])

    def search(query: str) -> list[str]:
        return [item.value["text"] for item in store.search(SCOPE, query=query, limit=SHOWN)]

    setting.fill(put)
    memory = timed_hooks(searching(search, put), setting.clock)()
    return Agent(create_langchain(setting, [memory], store), create_langchain(setting))


def langchain_vectors(setting: Setting, stack: ExitStack) -> Agent:
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(langchain_embeddings(setting.embedder))
    retriever = store.as_retriever(search_kwargs={"k": SHOWN})
    setting.fill(store.add_texts)
    made = searching(lambda query: [each.page_content for each in retriever.invoke(query)], store.add_texts)
    return Agent(create_langchain(setting, [timed_hooks(made, setting.clock)()]), create_langchain(setting))


# -- LlamaIndex --------------------------------------------------------------------------------------------------------


def create_llamaindex(setting: Setting, memory_of: Callable[[str], Any]) -> Ask:
    agent = llamaindex_functions(setting.base_url)
    memories: dict[str, Any] = {}

    async def run(text: str, memory: Any) -> object:
        return await agent.run(text, memory=memory)

    def ask(text: str, conversation: str) -> object:
        if conversation not in memories:
            memories[conversation] = memory_of(conversation)
        return setting.wait(run(text, memories[conversation]))

    return ask


def plain_llamaindex(setting: Setting) -> Ask:
    from llama_index.core.memory import ChatMemoryBuffer

    return create_llamaindex(setting, lambda _: ChatMemoryBuffer.from_defaults(token_limit=WINDOW))


def timed_memory(memory: type, clock: Clock) -> type:
    class Timed(memory):
        async def aget(self, *args: Any, **kwargs: Any) -> Any:
            with clock.timing("recall"):
                return await super().aget(*args, **kwargs)

        async def aput(self, message: Any) -> None:
            with clock.timing("write"):
                await super().aput(message)

        async def aput_messages(self, messages: Any) -> None:
            with clock.timing("write"):
                await super().aput_messages(messages)

    return Timed


def llamaindex_ours(setting: Setting, stack: ExitStack, *, embedded: bool, write: str, pause: bool = True) -> Agent:
    from llamaindex_secom import SecomMemory

    bank = stack.enter_context(setting.bank(embedded))
    made: Any = timed_memory(SecomMemory, setting.clock)
    kept: list[Any] = []

    def memory_of(conversation: str) -> Any:
        limits = {"token_limit": WINDOW, "token_budget": BUDGET}
        kept[:] = [made(bank=bank, scope=SCOPE, session=conversation, write=write, **limits)]
        return kept[0]

    stack.callback(lambda: [memory.flush() for memory in kept])
    return Agent(
        create_llamaindex(setting, memory_of),
        plain_llamaindex(setting),
        (lambda: kept[0].flush()) if pause else lambda: None,
    )


def llamaindex_stock(setting: Setting, stack: ExitStack, *, block: bool) -> Agent:
    from llama_index.core.memory import Memory

    blocks = [vector_block(setting)] if block else []
    made: Any = timed_memory(Memory, setting.clock)
    # One for all conversations: the block finds only what was said under the session's id.
    memory = made.from_defaults(
        session_id="agents", token_limit=WINDOW, token_flush_size=WINDOW // 10, memory_blocks=blocks
    )
    setting.wait(memory.aput_messages(chats(setting.texts[-100:])))
    return Agent(create_llamaindex(setting, lambda _: memory), plain_llamaindex(setting))


def vector_block(setting: Setting) -> Any:
    from llama_index.core.memory import VectorMemoryBlock

    model = llamaindex_embedding(setting.embedder)
    block = VectorMemoryBlock(vector_store=llamaindex_vectors()(), embed_model=model, similarity_top_k=SHOWN // FLUSHED)

    def add(texts: list[str]) -> None:
        for first in range(0, len(texts), FLUSHED):
            setting.wait(block.aput(chats(texts[first : first + FLUSHED]), session_id="agents"))

    setting.fill(add)
    return block


def chats(texts: Sequence[str]) -> list[Any]:
    from llama_index.core.base.llms.types import ChatMessage

    return [ChatMessage(text, role=("user", "assistant")[place % 2]) for place, text in enumerate(texts)]


# -- measuring ---------------------------------------------------------------------------------------------------------

Build = Callable[[Setting, ExitStack], Agent]


def ours(make: Callable[..., Agent]) -> dict[str, Build]:
    return {
        f"ours, {title}{'' if embedded else ', no embedder'}": lambda setting, stack, e=embedded, how=how: make(
            setting, stack, embedded=e, **how
        )
        for embedded in (False, True)
        for title, how in {
            "inline": {"write": "inline"},
            "background": {"write": "background"},
            "background, no pause": {"write": "background", "pause": False},
        }.items()
    }


AGENTS: dict[str, dict[str, Build]] = {
    "LangChain create_agent": {
        **ours(langchain_ours),
        "LangGraph InMemoryStore": langgraph_store,
        "InMemoryVectorStore": langchain_vectors,
    },
    "LlamaIndex FunctionAgent": {
        **ours(llamaindex_ours),
        "Memory, VectorMemoryBlock": lambda setting, stack: llamaindex_stock(setting, stack, block=True),
        "Memory, no block": lambda setting, stack: llamaindex_stock(setting, stack, block=False),
    },
}
OURS = "ours, background"
"""What the others are set beside where ratios are told."""


def took(ask: Ask, text: str, conversation: str) -> float:
    begin = time.perf_counter()
    ask(text, conversation)
    return time.perf_counter() - begin


@dataclass
class Prompts:
    """What the model is sent in one conversation after the other."""

    sent: list[tuple[str, str]] = field(default_factory=list)

    def add(self, conversation: str, prompt: str) -> None:
        self.sent.append((conversation, prompt))

    @property
    def shares(self) -> dict[str, float]:
        """How much of them was sent before, and how long they are on average."""
        pairs = [(before, after) for (one, before), (other, after) in pairwise(self.sent) if one == other]
        same = sum(len(os.path.commonprefix(pair)) for pair in pairs)  # noqa: RUF071
        whole = sum(len(after) for _, after in pairs)
        tokens = [count_tokens(prompt) for _, prompt in self.sent]
        return {"cached": same / whole if whole else 0.0, "tokens": sum(tokens) / len(tokens)}


def turns(
    agent: Agent, setting: Setting, server: ScriptedServer, texts: Sequence[str]
) -> tuple[list[dict[str, float]], Prompts, Prompts]:
    """Seconds of each turn by part, the first ones left out; the prompts without memory, and with it."""
    rows, begin = [], time.monotonic()
    without, with_memory = Prompts(), Prompts()
    for number, text in enumerate(texts):
        conversation = f"conversation-{number // CONVERSATION}"
        plain = took(agent.plain, text, conversation)
        without.add(conversation, server.requests[-1].prompt)
        setting.clock.reset()
        turn = took(agent.ask, text, conversation)
        with_memory.add(conversation, server.requests[-1].prompt)
        rows.append({"plain": plain, "turn": turn, "added": turn - plain, **setting.clock.seconds})
        agent.pause()
        setting.check(begin, f"for {number + 1} of {len(texts)} turns")
    return rows[WARM_UP:], without, with_memory


def percentiles(rows: Sequence[dict[str, float]], part: str) -> dict[str, float]:
    milliseconds = [row[part] * 1000 for row in rows]
    return {f"p{at}": float(np.percentile(milliseconds, at)) for at in (50, 95)}


def measure_agent(build: Build, setting: Setting, server: ScriptedServer, texts: Sequence[str]) -> dict[str, Any]:
    with ExitStack() as stack:
        try:
            agent = build(setting, stack)
            gc.collect()
            rows, without, with_memory = turns(agent, setting, server, texts)
        except TooSlow as slow:
            return {"left_out": str(slow)}
        prompt = server.requests[-1].prompt
    shown = {"turns_shown": sum(text in prompt for text in setting.texts), "characters": len(prompt)}
    times = {part: percentiles(rows, part) for part in ("plain", *PARTS)}
    return {**times, "plain_prompts": without.shares, **with_memory.shares, **shown}


def measure(size: int, measured: int, patience: float, seed: int, only: str = "") -> dict[str, dict[str, Any]]:
    """Milliseconds by framework and memory."""
    scripted_models()
    said = utterances(size + WARM_UP + measured, seed)
    answers = cycle(utterances(WARM_UP + measured, seed + 1))
    found: dict[str, dict[str, Any]] = {}
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(lambda request: next(answers)) as server:
        setting = Setting(server.base_url, said[:size], Path(folder), patience, loop)
        for framework, agents in AGENTS.items():
            chosen = {name: build for name, build in agents.items() if only in f"{framework}: {name}"}
            found[framework] = {}
            for name, build in chosen.items():
                found[framework][name] = measure_agent(build, setting, server, said[size:])
                print(f"{size} turns, {framework}: {name}", file=sys.stderr)
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    return {framework: with_plain(rows) for framework, rows in found.items()}


def with_plain(rows: dict[str, Any]) -> dict[str, Any]:
    """The agent without memory first: the medians of all the times that it was asked."""
    asked = [row.pop("plain") for row in rows.values() if "plain" in row]
    prompts = [row.pop("plain_prompts") for row in rows.values() if "plain_prompts" in row]
    if not asked:
        return rows
    middle = {at: float(np.median([each[at] for each in asked])) for at in ("p50", "p95")}
    return {
        "no memory": {"turn": middle, **{part: float(np.mean([each[part] for each in prompts])) for part in PROMPTS}},
        **rows,
    }


def inside(row: dict[str, Any]) -> float:
    """Milliseconds inside memory a turn."""
    return float(row["recall"]["p50"] + row["write"]["p50"])


def ratio(name: str, rows: dict[str, Any]) -> float | None:
    """How many times as long as ours it takes, recall and write together, as far as both were measured."""
    measured = all("recall" in rows.get(each, {}) for each in (name, OURS))
    return inside(rows[name]) / inside(rows[OURS]) if measured else None


def table(results: dict[int, dict[str, dict[str, Any]]]) -> str:
    lines = []
    for size, frameworks in results.items():
        for framework, rows in frameworks.items():
            heads = "".join(f"{part + ' p50':>13}{'p95':>9}" for part in PARTS)
            heads += "".join(f"{part:>9}" for part in PROMPTS)
            lines.append(f"{f'{framework}, {size} turns (ms)':<46}{heads}{'x ours':>10}")
            lines += [line(name, rows) for name in rows]
    return "\n".join(lines)


def line(name: str, rows: dict[str, Any]) -> str:
    row = rows[name]
    if "left_out" in row:
        return f"  {name:<44} left out: it {row['left_out']}"
    cells = "".join(f"{row[part]['p50']:>13.2f}{row[part]['p95']:>9.2f}" if part in row else " " * 22 for part in PARTS)
    cells += f"{row['cached']:>9.1%}{row['tokens']:>9.0f}"
    times = ratio(name, rows)
    return f"  {name:<44}{cells}{f'{times:>9.2f}x' if times is not None else ''}"


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, nargs="+", default=[500, 50_000])
    parser.add_argument("--measured", type=int, default=60, help="turns of each agent that count")
    parser.add_argument("--patience", type=float, default=900, help="seconds after which an agent is left out")
    parser.add_argument("--users", type=int, default=40, help="users at once; 0 leaves this out")
    parser.add_argument("--only", default="", help="agents with this in their name")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    results = {
        size: measure(size, options.measured, options.patience, options.seed, options.only) for size in options.turns
    }
    print(table(results))
    users = crowds(options.users) if options.users else {}
    if options.json:
        about = {"seed": options.seed, "measured": options.measured, "budget": BUDGET}
        about |= {"load": {"before": load, "after": os.getloadavg()[0]}, "processors": os.cpu_count()}
        kept = {**about, "milliseconds": results, "users": users, "versions": versions(*PACKAGES)}
        options.json.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
