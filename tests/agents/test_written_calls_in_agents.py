"""Agents of both frameworks whose model writes its calls of tools down, as small local models do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from secom_core.bank import MemoryBank
from secom_core.testing import ScriptedRequest, ScriptedServer

pytest.importorskip("openai", reason="needs the extra 'openai'")

ANN = ("ann",)
QUESTION = "Search your memory: which allergy do I have?"
WRITTEN = '```json\n{"name": "search_memory", "arguments": {"query": "allergy"}}\n```'


def answer(request: ScriptedRequest) -> str:
    """As a small model does: what it has been shown, it writes again."""
    return WRITTEN if '"arguments"' in request.prompt or request.body.get("tools") else "Peanuts."


def langchain_answer(bank: MemoryBank, server: ScriptedServer, session: str, *, tools: bool) -> str:
    pytest.importorskip("langchain", reason="needs the extra 'langchain'")
    sys.path.append(str(Path(__file__).parents[1] / "langchain"))
    from http_agent import HttpAgentModel
    from langchain.agents import create_agent

    from langchain_secom import SecomMiddleware

    memory = SecomMiddleware(bank, scope=ANN, write="inline", tools=tools)
    agent: Any = create_agent(HttpAgentModel(base_url=server.base_url), [], middleware=[memory])
    said = agent.invoke({"messages": [("user", QUESTION)]}, {"configurable": {"thread_id": session}})
    return str(said["messages"][-1].content)


async def llamaindex_answer(bank: MemoryBank, server: ScriptedServer, session: str, *, tools: bool) -> str:
    pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
    sys.path.append(str(Path(__file__).parents[1] / "llamaindex"))
    from http_models import HttpLLM
    from llama_index.core.agent.workflow import FunctionAgent

    from llamaindex_secom import SecomMemory, memory_tools

    memory = SecomMemory(bank=bank, scope=ANN, session=session)
    given: list[Any] = list(memory_tools(bank, scope=ANN)) if tools else []
    agent = FunctionAgent(llm=HttpLLM(base_url=server.base_url), tools=given, streaming=False)
    return str(await agent.run(QUESTION, memory=memory))


@pytest.mark.parametrize("framework", ["langchain", "llamaindex"])
async def test_a_call_that_was_written_down_is_not_written_again(framework: str) -> None:
    with MemoryBank.open() as bank, ScriptedServer(answer) as server:
        said = []
        for session, tools in (("monday", True), ("tuesday", False)):
            if framework == "langchain":
                said.append(langchain_answer(bank, server, session, tools=tools))
            else:
                said.append(await llamaindex_answer(bank, server, session, tools=tools))
        assert said == [WRITTEN, "Peanuts."]
        monday, tuesday = bank.turns(ANN)
        assert [monday.messages[-1].text, tuesday.messages[-1].text] == said, "both are kept word for word"
        assert QUESTION in json.dumps(server.requests[-1].body), "what the user said is shown"
