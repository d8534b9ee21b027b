"""An agent of Pydantic AI that recalls other sessions. Needs "pydantic-ai" and "openai"."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from pydantic_ai_secom import SecomSession, memory_toolset
from secom_core import MemoryBank
from secom_core.testing import ScriptedServer

bank = MemoryBank.open()
# Any model of Pydantic AI's; this server stands for one.
server = ScriptedServer(["A fine choice.", "Hello again.", "The green one."]).start()
model = OpenAIChatModel("any-name", provider=OpenAIProvider(base_url=server.base_url, api_key="none"))
# The scope of the tools comes from the run's deps, that of a session from you; a model names neither.
tools = memory_toolset(bank, scope=lambda user: (user,))
agent = Agent(model, instructions="You rent out bicycles.", deps_type=str, toolsets=[tools])


async def talk() -> None:
    for name, question in (
        ("monday", "I will take the green bicycle, the blue one is too tall."),
        ("friday", "Hello, it is me, Alice."),
        ("friday", "Which bicycle do I fetch?"),
    ):
        session = SecomSession(bank, scope=("alice",), session=name, token_budget=300)
        history = await session.messages()
        result = await agent.run(question, deps="alice", message_history=history, capabilities=[session.memories])
        await session.add(result.new_messages())
        print(f"--- {name}")
        print(*(f"{role}: {text}" for role, text in server.requests[-1].messages), sep="\n")
        print(f"AI: {result.output}\n")


asyncio.run(talk())
print("--- what is remembered of friday: nothing that was recalled is among it")
for turn in bank.turns(("alice",), "friday"):
    print(*(message.line for message in turn.messages), sep="\n")
server.close()
bank.close()
