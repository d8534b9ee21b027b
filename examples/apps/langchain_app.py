"""The assistant of a bicycle rental as a complete application: users, threads, tools, streams, approval, all on disk.

In a clone of the repository:

    pip install ".[langchain]" langchain-openai langgraph-checkpoint-sqlite aiosqlite
    python examples/apps/langchain_app.py [FOLDER]

It plays a scene with two users on two days and prints it. Unless OPENAI_API_KEY is set, a script answers in the place
of OpenAI, over HTTP. The checkpoints and the memory are in FOLDER, so that the second day can run in another process.

A web server would hold one `Assistant`, with one agent for all users. Long-term memory is one line in it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from pydantic import SecretStr

from langchain_secom import SecomMiddleware
from secom_core import MemoryBank
from secom_core.testing import Answer, ScriptedRequest, ScriptedServer, ToolCall


@tool
def free_bicycles(day: str) -> str:
    """Which bicycles are free on a day."""
    return f"on {day}: the green one and the blue one"


@tool
def book(bicycle: str, day: str) -> str:
    """Book a bicycle."""
    return f"booked: the {bicycle} one, {day}"


class Assistant:
    """One agent for all users and their threads.

    Args:
        model: a chat model that calls tools.
        folder: where checkpoints and memory lie.
    """

    def __init__(self, model: BaseChatModel, folder: Path) -> None:
        self.bank = MemoryBank.open(folder / "memory.db")
        self._memory = SecomMiddleware(self.bank, scope_keys=("user_id",))
        self._model, self._folder, self._open = model, folder, AsyncExitStack()

    async def __aenter__(self) -> Assistant:
        saver = AsyncSqliteSaver.from_conn_string(str(self._folder / "threads.db"))
        approval = HumanInTheLoopMiddleware(interrupt_on={"book": {"allowed_decisions": ["approve", "reject"]}})
        self._agent: Any = create_agent(
            self._model,
            [free_bicycles, book],
            system_prompt="You rent out bicycles. Say little.",
            middleware=[self._memory, approval],
            checkpointer=await self._open.enter_async_context(saver),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._memory.close()
        self.bank.close()
        await self._open.aclose()

    async def say(self, user: str, thread: str, text: str) -> AsyncIterator[str]:
        """The answer, piece by piece; it ends early where a tool waits for approval."""
        async for piece in self._stream({"messages": [("user", text)]}, self._config(user, thread)):
            yield piece

    async def waiting(self, user: str, thread: str) -> list[str]:
        """What waits for approval in a thread."""
        state = await self._agent.aget_state(self._config(user, thread))
        requests = [each for stop in state.interrupts for each in stop.value["action_requests"]]
        return [f"{each['name']}({each['args']})" for each in requests]

    async def decide(self, user: str, thread: str, *, approve: bool) -> AsyncIterator[str]:
        """Go on with what waits, or without it."""
        decisions = [{"type": "approve" if approve else "reject"} for _ in await self.waiting(user, thread)]
        async for piece in self._stream(Command(resume={"decisions": decisions}), self._config(user, thread)):
            yield piece

    async def again(self, user: str, thread: str) -> AsyncIterator[str]:
        """Another answer in the place of the last one; memory forgets the first."""
        config = self._config(user, thread)
        history = [each async for each in self._agent.aget_state_history(config)]
        before = next(each for each in history if each.next == ("model",))
        config["configurable"].update(before.config["configurable"])
        async for piece in self._stream(None, config):
            yield piece

    async def delete_user(self, user: str, threads: list[str]) -> None:
        """Forget a user, for good."""
        for thread in threads:
            await self._agent.checkpointer.adelete_thread(f"{user}/{thread}")
        await asyncio.to_thread(self.bank.forget, (user,))

    @staticmethod
    def _config(user: str, thread: str) -> dict[str, Any]:
        # The thread's name holds the user's: a thread is nobody else's, whatever a browser sends.
        return {"configurable": {"user_id": user, "thread_id": f"{user}/{thread}"}}

    async def _stream(self, given: Any, config: dict[str, Any]) -> AsyncIterator[str]:
        async for message, about in self._agent.astream(given, config, stream_mode="messages"):
            if about["langgraph_node"] == "model" and message.text:
                yield message.text


ENTRIES = count(1)
ASKED = {
    "The blue bicycle is too tall for me.",
    "I like the blue one.",
    "Which are free on Saturday?",
    "Which bicycle was wrong for me?",
    "Then book the green one for Saturday.",
}


def scripted(request: ScriptedRequest) -> str | Answer:
    """Answers as a model would that reads what it is shown."""
    # The user's words may stand above or below what memory brings, in lines of their own.
    lines = [line for role, text in request.messages if role == "user" for line in text.splitlines()]
    said = next(line for line in reversed(lines) if line in ASKED)
    results = [text for role, text in request.messages[-1:] if role == "tool"]
    if results:
        return f"Here you are: {results[0]}."
    if said.startswith("Then book"):
        return Answer(None, (ToolCall("book", {"bicycle": "green", "day": "Saturday"}),))
    if said.startswith("Which are free"):
        return Answer(None, (ToolCall("free_bicycles", {"day": "Saturday"}),))
    if said.startswith("Which bicycle was wrong"):
        return "The blue one, it was too tall." if "too tall" in request.prompt else "I do not know."
    return f"Noted, entry {next(ENTRIES)}."


async def printed(who: str, pieces: AsyncIterator[str]) -> None:
    """Print an answer with the number of pieces that it came in."""
    read = [piece async for piece in pieces]
    print(f"{who}: {''.join(read)} ({len(read)} pieces)")


async def monday(assistant: Assistant) -> None:
    """Alice and Bob talk at once, each in a thread of their own."""
    await asyncio.gather(
        *(
            printed(f"to {user}", assistant.say(user, "monday", text))
            for user, text in {"alice": "The blue bicycle is too tall for me.", "bob": "I like the blue one."}.items()
        )
    )
    await printed("to bob, again", assistant.again("bob", "monday"))
    [turn] = assistant.bank.turns(("bob",), "bob/monday")
    print("kept:", *(message.text for message in turn.messages))
    await printed("to alice", assistant.say("alice", "monday", "Which are free on Saturday?"))


async def friday(assistant: Assistant) -> None:
    """Another process, other threads: what was said on Monday is there."""
    await printed("to alice", assistant.say("alice", "friday", "Which bicycle was wrong for me?"))
    await printed("to alice", assistant.say("alice", "friday", "Then book the green one for Saturday."))
    print("waits for approval:", *await assistant.waiting("alice", "friday"))
    await printed("to alice", assistant.decide("alice", "friday", approve=True))
    await assistant.delete_user("bob", ["monday"])
    print("of bob:", assistant.bank.recall(("bob",), "Which bicycle?").text or "nothing")


async def main(folder: Path) -> None:
    """Play the scene."""
    with ScriptedServer(scripted) as server:
        scripted_model = ChatOpenAI(model="script", base_url=server.base_url, api_key=SecretStr("none"))
        model = ChatOpenAI(model="gpt-5-mini") if "OPENAI_API_KEY" in os.environ else scripted_model
        for day in (monday, friday):
            print(f"--- {day.__name__}")
            async with Assistant(model, folder) as assistant:
                await day(assistant)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        asyncio.run(main(Path(sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as made:
            asyncio.run(main(Path(made)))
