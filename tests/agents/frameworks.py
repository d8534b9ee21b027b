"""The frameworks of agents, each behind the same few calls, for what has to hold in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pytest

from secom_core import MemoryBank
from secom_core.errors import StoreError
from secom_core.testing import ScriptedServer

ALICE, BOB = ("acme", "alice"), ("acme", "bob")
LONG = "Sourdough wants patience: fold it, rest it, fold it again. " * 400


def everything_said(bank: MemoryBank, scope: Any = ALICE) -> str:
    return "\n".join(message.text for turn in bank.turns(scope) for message in turn.messages)


def broken(*_: Any, **__: Any) -> Any:
    raise StoreError("the disk is full")


class Framework(Protocol):
    """One framework, with a bank."""

    session: type[Any]

    def tools(self, bank: MemoryBank, **options: Any) -> Any:
        """What its adapter calls the tools of a memory."""

    async def turn(
        self, server: ScriptedServer, asked: str, session: Any = None, tools: Any = None, who: Any = None
    ) -> str:
        """Have an agent answer in a session; the answer."""

    async def kept(self, session: Any) -> list[tuple[str, str]]:
        """What the session keeps, as role and text."""

    async def take_back(self, session: Any) -> None:
        """Remove from the session what a run that failed has left there."""


class OpenAIAgents:
    """The OpenAI Agents SDK."""

    def __init__(self) -> None:
        pytest.importorskip("agents", reason="needs the extra openai-agents")
        from openai_agents_secom import SecomSession, memory_tools

        self.session: type[Any] = SecomSession
        self.tools = memory_tools

    async def turn(
        self, server: ScriptedServer, asked: str, session: Any = None, tools: Any = (), who: Any = None
    ) -> str:
        from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner
        from openai import AsyncOpenAI

        client = AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)
        agent = Agent("helper", instructions="Help.", model=OpenAIChatCompletionsModel("any", client), tools=[*tools])
        recalled = session.with_memories if session is not None else None
        config = RunConfig(tracing_disabled=True, call_model_input_filter=recalled)
        done = await Runner.run(agent, asked, session=session, run_config=config, context=who)
        return str(done.final_output)

    async def kept(self, session: Any) -> list[tuple[str, str]]:
        def text(content: Any) -> str:
            return content if isinstance(content, str) else "".join(part["text"] for part in content)

        return [(item["role"], text(item["content"])) for item in await session.get_items()]

    async def take_back(self, session: Any) -> None:
        await session.pop_item()


class PydanticAI:
    """Pydantic AI."""

    def __init__(self) -> None:
        pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")
        from pydantic_ai_secom import SecomSession, memory_toolset

        self.session: type[Any] = SecomSession
        self.tools = memory_toolset

    async def turn(
        self, server: ScriptedServer, asked: str, session: Any = None, tools: Any = None, who: Any = None
    ) -> str:
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        model = OpenAIChatModel("any", provider=OpenAIProvider(base_url=server.base_url, api_key="none"))
        toolsets: Sequence[Any] = [tools] if tools is not None else []
        agent = Agent(model, instructions="Help.", deps_type=object, toolsets=toolsets)
        capabilities = [session.conversation] if session is not None else []
        return str((await agent.run(asked, deps=who, capabilities=capabilities)).output)

    async def kept(self, session: Any) -> list[tuple[str, str]]:
        messages = await session.messages()
        roles = {"request": "user", "response": "assistant"}
        return [(roles[each.kind], "".join(str(part.content) for part in each.parts)) for each in messages]

    async def take_back(self, session: Any) -> None:
        """A run that fails leaves nothing."""
