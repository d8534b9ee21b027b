"""Users who talk to one agent at once, each with a memory of their own: how much longer than without memory.

    python -m benchmarks.agent_crowd [--users 40] [--rounds 5]

Part of `benchmarks.agents` too. Every user has 200 turns in memory and says ten more, one after the other, in an
asynchronous agent; all users at once, in one process, with one bank on disk. The model is a scripted server in the same
process that answers at once, where nothing but the framework and memory takes time, after half a second, as quick
models do, or after two.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.adding import sessions, utterances
from secom_core.bank import MemoryBank
from secom_core.testing import Answer, ScriptedServer

KNOWN = 200
SAID = 10
BUDGET = 1000
DELAYS = (0.0, 0.5, 2.0)

Turn = Callable[[str, str], Awaitable[object]]
Build = Callable[[str, MemoryBank, ExitStack], Turn]


def scripted_models() -> None:
    """The models over HTTP are those of the tests."""
    tests = Path(__file__).parents[1] / "tests"
    for folder in (tests / "langchain", tests / "llamaindex"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))


def filled(bank: MemoryBank, users: int) -> None:
    """Give every user a memory of their own, with its index."""
    for user in range(users):
        for session in sessions(utterances(KNOWN, user)):
            bank.remember((f"user-{user}",), session, close=True)
        bank.recall((f"user-{user}",), "ready", token_budget=BUDGET)


def langchain_agent(base_url: str, middleware: list[Any]) -> Turn:
    from http_agent import HttpAgentModel
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    agent: Any = create_agent(HttpAgentModel(base_url=base_url), middleware=middleware, checkpointer=InMemorySaver())

    def turn(user: str, text: str) -> Awaitable[object]:
        given = {"configurable": {"thread_id": user, "user_id": user}}
        return agent.ainvoke({"messages": [("user", text)]}, given)

    return turn


def langchain_plain(base_url: str, bank: MemoryBank, stack: ExitStack) -> Turn:
    return langchain_agent(base_url, [])


def langchain_ours(base_url: str, bank: MemoryBank, stack: ExitStack) -> Turn:
    from langchain_secom import SecomMiddleware

    memory = SecomMiddleware(bank, scope_keys=("user_id",), token_budget=BUDGET)
    stack.callback(memory.close)
    return langchain_agent(base_url, [memory])


def llamaindex_functions(base_url: str) -> Any:
    """An agent of LlamaIndex; its model has one client, as to make one takes longer than everything else in a turn."""
    from http_models import HttpLLM, _whole
    from llama_index.core.agent.workflow import FunctionAgent
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)

    class KeptHttpLLM(HttpLLM):
        async def achat(self, messages: Any, **kwargs: Any) -> Any:
            return _whole(await client.chat.completions.create(**self._body(messages, **kwargs)))

    return FunctionAgent(llm=KeptHttpLLM(base_url=base_url), streaming=False)


def llamaindex_agent(base_url: str, memory_of: Callable[[str], Any]) -> Turn:
    agent = llamaindex_functions(base_url)
    memories: dict[str, Any] = {}

    async def turn(user: str, text: str) -> object:
        if user not in memories:
            memories[user] = memory_of(user)
        return await agent.run(text, memory=memories[user])

    return turn


def llamaindex_plain(base_url: str, bank: MemoryBank, stack: ExitStack) -> Turn:
    from llama_index.core.memory import ChatMemoryBuffer

    return llamaindex_agent(base_url, lambda user: ChatMemoryBuffer.from_defaults(token_limit=4000))


def llamaindex_ours(base_url: str, bank: MemoryBank, stack: ExitStack) -> Turn:
    from llamaindex_secom import SecomMemory

    def memory_of(user: str) -> Any:
        memory = SecomMemory(
            bank=bank, scope=(user,), session="now", write="background", token_limit=4000, token_budget=BUDGET
        )
        stack.callback(memory.flush)
        return memory

    return llamaindex_agent(base_url, memory_of)


AGENTS: dict[str, dict[str, Build]] = {
    "LangChain create_agent": {"no memory": langchain_plain, "ours": langchain_ours},
    "LlamaIndex FunctionAgent": {"no memory": llamaindex_plain, "ours": llamaindex_ours},
}


def seconds(turn: Turn, users: int, texts: list[str]) -> float:
    """How long all users take for all that they say."""

    async def of_one(user: str) -> None:
        for text in texts:
            await turn(user, text)

    async def of_all(texts_of: Callable[[str], Awaitable[None]]) -> float:
        begin = time.perf_counter()
        await asyncio.gather(*(texts_of(f"user-{user}") for user in range(users)))
        return time.perf_counter() - begin

    async def whole() -> float:
        # What the first turn makes once, such as clients, is no turn's.
        await turn("user-0", "Hello there.")
        return await of_all(of_one)

    return asyncio.run(whole())


def crowds(users: int, rounds: int = 1) -> dict[str, Any]:
    """By framework, memory and delay of the model: seconds, and how many times as long as without memory.

    Args:
        users: how many there are at once.
        rounds: how often each is timed, without memory and with ours in turn; the middle of the rounds counts.
    """
    found: dict[str, Any] = {"users": users, "turns": SAID, "rounds": rounds}
    for framework, agents in AGENTS.items():
        found[framework] = {}
        for delay in DELAYS:
            took = [
                {name: timed(build, users, delay, knows=name != "no memory") for name, build in agents.items()}
                for _ in range(rounds)
            ]
            times = [each["ours"] / each["no memory"] for each in took]
            row = {name: median(each[name] for each in took) for name in agents}
            found[framework][str(delay)] = {**row, "times": median(times), "every": times}
            every = f", the middle of {' '.join(f'{each:.2f}' for each in times)}" if rounds > 1 else ""
            print(
                f"{users} users at once, {framework}, a model of {delay:g} s: {row['no memory']:.2f} s without "
                f"memory, {row['ours']:.2f} s with ours, {median(times):.2f} times{every}",
                file=sys.stdout,
                flush=True,
            )
    return found


def timed(build: Build, users: int, delay: float, *, knows: bool) -> float:
    """How long all users take, on a new bank; ``knows`` where every user has a memory of their own in it."""
    answers = cycle(utterances(50, 10_001))
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedServer(lambda request: Answer(next(answers), delay=delay)) as server,
        MemoryBank.open(Path(folder) / "memory.db") as bank,
        ExitStack() as stack,
    ):
        if knows:
            filled(bank, users)
        return seconds(build(server.base_url, bank, stack), users, utterances(SAID, 10_002))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5, help="how often each is timed; the middle counts")
    options = parser.parse_args()
    scripted_models()
    crowds(options.users, options.rounds)


if __name__ == "__main__":
    main()
