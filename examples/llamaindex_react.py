"""A ReAct agent that remembers, and looks things up. Needs the extra "llamaindex"."""

import asyncio
from typing import Any

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.llms import ChatMessage, ChatResponse, MockLLM

from llamaindex_secom import SecomMemory
from secom_core import MemoryBank

SCRIPT = iter(
    [
        "Thought: I can answer without using any more tools.\nAnswer: A fine choice.",
        'Thought: I need the opening hours.\nAction: opening_hours\nAction Input: {"day": "Saturday"}',
        "Thought: I can answer without using any more tools.\nAnswer: The green one, before 4.",
    ]
)


class ReActLLM(MockLLM):
    """Stands for your LLM: it follows the script, and prints what it is shown after the system prompt."""

    async def achat(self, messages: Any, **_: Any) -> ChatResponse:
        print(*(f"  [{message.role.value}] {message.content}" for message in messages[1:]), sep="\n")
        return ChatResponse(message=ChatMessage(role="assistant", content=next(SCRIPT)))


def opening_hours(day: str) -> str:
    """When the shop is open."""
    return f"On {day} from 10 to 4."


async def main() -> None:
    agent = ReActAgent(tools=[opening_hours], llm=ReActLLM(), streaming=False)
    bank = MemoryBank.open()
    for session, message in (
        ("monday", "I take the green bicycle."),
        ("friday", "Which bicycle on Saturday, until when?"),
    ):
        print(f"--- {session}")
        memory = SecomMemory(bank=bank, scope=("acme", "alice"), session=session)
        print(f"AI: {await agent.run(message, memory=memory)}\n")
    print("--- what is remembered: no thoughts, no actions")
    print(*(turn.text for turn in bank.turns(("acme", "alice"), "friday")), sep="\n")


asyncio.run(main())
