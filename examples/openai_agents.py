"""An agent of the OpenAI Agents SDK that recalls other sessions. Needs "openai-agents"."""

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner
from openai import AsyncOpenAI

from openai_agents_secom import SecomSession, memory_tools
from secom_core import MemoryBank
from secom_core.testing import ScriptedServer

bank = MemoryBank.open()
# Any model of the SDK's; this server stands for one.
server = ScriptedServer(["A fine choice.", "Hello again.", "The green one."]).start()
model = OpenAIChatCompletionsModel("any-name", AsyncOpenAI(base_url=server.base_url, api_key="none"))
# The scope of the tools comes from the run's context, that of a session from you; a model names neither.
tools = memory_tools(bank, scope=lambda user: (user,))
agent = Agent("Rental", instructions="You rent out bicycles.", model=model, tools=tools)

for name, question in (
    ("monday", "I will take the green bicycle, the blue one is too tall."),
    ("friday", "Hello, it is me, Alice."),
    ("friday", "Which bicycle do I fetch?"),
):
    session = SecomSession(bank, scope=("alice",), session=name, token_budget=300)
    config = RunConfig(call_model_input_filter=session.with_memories, tracing_disabled=True)
    result = Runner.run_sync(agent, question, session=session, run_config=config, context="alice")
    print(f"--- {name}")
    print(*(f"{role}: {text}" for role, text in server.requests[-1].messages), sep="\n")
    print(f"AI: {result.final_output}\n")

print("--- what is remembered of friday: nothing that was recalled is among it")
for turn in bank.turns(("alice",), "friday"):
    print(*(message.line for message in turn.messages), sep="\n")
server.close()
bank.close()
