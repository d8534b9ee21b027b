"""The assistant of a bicycle rental as a complete application: users, sessions, tools, streams, approval, all on disk.

In a clone of the repository:

    pip install ".[llamaindex]"
    python examples/apps/llamaindex_app.py [FOLDER]

It plays a scene with two users on two days and prints it. A script answers in the place of your LLM. Bookings that wait
for approval and the memory are in FOLDER, so that the second day can run in another process.

A web server would hold one `Assistant`, with one agent for all users. Its long-term memory is `memory_of`.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from llamaindex_secom import SecomMemory
from secom_core import MemoryBank


def free_bicycles(day: str) -> str:
    """Which bicycles are free on a day."""
    return f"on {day}: the green one and the blue one"


async def book(ctx: Context, bicycle: str, day: str) -> str:
    """Book a bicycle, once somebody has approved it."""
    asked = f"book the {bicycle} one, {day}"
    said = await ctx.wait_for_event(HumanResponseEvent, waiter_id=asked, waiter_event=InputRequiredEvent(prefix=asked))
    return f"booked: the {bicycle} one, {day}" if said.response == "yes" else "not booked"


class Assistant:
    """One agent for all users and their sessions.

    Args:
        llm: a model that calls tools.
        folder: where memory lies, and what waits for approval.
    """

    def __init__(self, llm: FunctionCallingLLM, folder: Path) -> None:
        self.bank = MemoryBank.open(folder / "memory.db")
        self._folder, self._contexts = folder, dict[tuple[str, str], Context]()
        tools = [FunctionTool.from_defaults(free_bicycles), FunctionTool.from_defaults(async_fn=book)]
        self._agent = FunctionAgent(llm=llm, tools=tools, system_prompt="You rent out bicycles. Say little.")

    def memory_of(self, user: str, session: str) -> SecomMemory:
        """A user's memory, in one of their sessions."""
        return SecomMemory(bank=self.bank, scope=(user,), session=session, write="background")

    async def say(self, user: str, session: str, text: str) -> AsyncIterator[str]:
        """The answer, piece by piece; it ends early where a tool waits for approval."""
        handler = self._agent.run(text, memory=self.memory_of(user, session))
        async for piece in self._pieces(handler, user, session):
            yield piece

    def waiting(self, user: str, session: str) -> str | None:
        """What waits for approval in a session."""
        saved = self._saved(user, session)
        return str(json.loads(saved.read_text())["asked"]) if saved.exists() else None

    async def decide(self, user: str, session: str, *, approve: bool) -> AsyncIterator[str]:
        """Go on with what waits, or without it, in this process or another one."""
        saved = self._saved(user, session)
        context = Context.from_dict(self._agent, json.loads(saved.read_text())["context"])
        saved.unlink()
        handler = self._agent.run(ctx=context, memory=self.memory_of(user, session))
        context.send_event(HumanResponseEvent(response="yes" if approve else "no"))
        async for piece in self._pieces(handler, user, session):
            yield piece

    async def again(self, user: str, session: str) -> AsyncIterator[str]:
        """Another answer in the place of the last one; memory forgets the first."""
        memory = self.memory_of(user, session)
        history = await memory.aget_all()
        last = max(place for place, message in enumerate(history) if message.role == "user")
        handler = self._agent.run(chat_history=history[: last + 1], memory=memory)
        async for piece in self._pieces(handler, user, session):
            yield piece

    async def delete_user(self, user: str, sessions: list[str]) -> None:
        """Forget a user, for good."""
        for session in sessions:
            self._saved(user, session).unlink(missing_ok=True)
        await asyncio.to_thread(self.bank.forget, (user,))

    def _saved(self, user: str, session: str) -> Path:
        return self._folder / f"{user}-{session}.json"

    async def _pieces(self, handler: Any, user: str, session: str) -> AsyncIterator[str]:
        async for event in handler.stream_events():
            if isinstance(event, AgentStream) and event.delta:
                yield event.delta
            if isinstance(event, InputRequiredEvent):
                saved = {"asked": event.prefix, "context": handler.ctx.to_dict()}
                self._saved(user, session).write_text(json.dumps(saved))
                await handler.cancel_run()
                return
        await handler


ENTRIES = count(1)
ASKED = {
    "The blue bicycle is too tall for me.",
    "I like the blue one.",
    "Which are free on Saturday?",
    "Which bicycle was wrong for me?",
    "Then book the green one for Saturday.",
}


def scripted(messages: list[ChatMessage], **_: Any) -> ChatMessage:
    """Answers as a model would that reads what it is shown."""
    prompt = "\n".join(str(message.content) for message in messages)
    said = next(line for line in reversed(prompt.splitlines()) if line in ASKED)
    if messages[-1].role == "tool":
        return ChatMessage(role="assistant", content=f"Here you are: {messages[-1].content}.")
    if said.startswith("Then book"):
        return call("book", bicycle="green", day="Saturday")
    if said.startswith("Which are free"):
        return call("free_bicycles", day="Saturday")
    if said.startswith("Which bicycle was wrong"):
        known = "too tall" in prompt
        return ChatMessage(role="assistant", content="The blue one, it was too tall." if known else "I do not know.")
    return ChatMessage(role="assistant", content=f"Noted, entry {next(ENTRIES)}.")


def call(name: str, **arguments: str) -> ChatMessage:
    """A message that calls a tool."""
    return ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id="1", tool_name=name, tool_kwargs=arguments)]
    )


async def printed(who: str, pieces: AsyncIterator[str]) -> None:
    """Print an answer."""
    print(f"{who}: {''.join([piece async for piece in pieces])}")


async def monday(assistant: Assistant) -> None:
    """Alice and Bob talk at once, each in a session of their own."""
    await asyncio.gather(
        *(
            printed(f"to {user}", assistant.say(user, "monday", text))
            for user, text in {"alice": "The blue bicycle is too tall for me.", "bob": "I like the blue one."}.items()
        )
    )
    await printed("to bob, again", assistant.again("bob", "monday"))
    [turn] = assistant.bank.turns(("bob",), "monday")
    print("kept:", *(message.text for message in turn.messages))
    await printed("to alice", assistant.say("alice", "monday", "Which are free on Saturday?"))
    await printed("to alice", assistant.say("alice", "tuesday", "Then book the green one for Saturday."))


async def friday(assistant: Assistant) -> None:
    """Another process: what waits can be approved, and what was said on Monday is there."""
    print("waits for approval:", assistant.waiting("alice", "tuesday"))
    await printed("to alice", assistant.decide("alice", "tuesday", approve=True))
    await printed("to alice", assistant.say("alice", "friday", "Which bicycle was wrong for me?"))
    await assistant.delete_user("bob", ["monday"])
    print("of bob:", assistant.bank.recall(("bob",), "Which bicycle?").text or "nothing")


async def main(folder: Path) -> None:
    """Play the scene."""
    for day in (monday, friday):
        print(f"--- {day.__name__}")
        assistant = Assistant(MockFunctionCallingLLM(response_generator=scripted), folder)
        await day(assistant)
        assistant.bank.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        asyncio.run(main(Path(sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as made:
            asyncio.run(main(Path(made)))
