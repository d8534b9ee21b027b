"""An agent that remembers, looks things up and corrects what it remembers. Needs the extra "llamaindex"."""

import asyncio
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from llamaindex_secom import SecomMemory, memory_tools
from secom_core import MemoryBank


def replies(messages: list[ChatMessage], **_: Any) -> ChatMessage:
    """Stands for your LLM: it prints what it is shown, and corrects a memory where the user says so."""
    last = messages[-1]
    text = str(last.content)
    print(f"[{last.role.value}] {text}")
    if last.role == "user" and text.endswith("it is Lea."):
        return call("search_memory", query="violin teacher")
    if last.role == "tool" and "memory_id:" in text:
        turn_id = text.rpartition("memory_id: ")[2].split()[1].rstrip(";")
        return call("correct_memory", memory_id=turn_id, text="Her violin teacher is Lea; it used to be Marta.")
    return ChatMessage(role="assistant", content="I see.")


def call(name: str, **arguments: str) -> ChatMessage:
    """A message that calls a tool."""
    return ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id="1", tool_name=name, tool_kwargs=arguments)]
    )


async def main() -> None:
    """Three sessions of Alice's with one agent, which could serve any number of users."""
    bank = MemoryBank.open()
    agent = FunctionAgent(tools=memory_tools(), llm=MockFunctionCallingLLM(response_generator=replies))
    for session, message in {
        "monday": "My violin teacher is called Marta.",
        "tuesday": "My violin teacher is not Marta any more, it is Lea.",
        "friday": "Who teaches me the violin?",
    }.items():
        print(f"--- {session}")
        memory = SecomMemory(bank=bank, scope=("acme", "alice"), session=session, write="background")
        print(f"AI: {await agent.run(message, memory=memory)} ({memory.injected_tokens} tokens of memory)\n")
        await memory.aflush()
    bank.close()


asyncio.run(main())
