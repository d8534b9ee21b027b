"""A chat model over HTTP that can be given tools, and every way to run an agent."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from http_chat import HttpChatModel, _whole
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai import AsyncOpenAI, OpenAI
from pydantic import PrivateAttr

WAYS = ["invoke", "ainvoke", "stream", "astream", "values", "avalues", "messages", "amessages", "events"]
SAVERS = ["none", "memory", "sqlite"]


class HttpAgentModel(HttpChatModel):
    _client: AsyncOpenAI | None = PrivateAttr(None)
    _sync_client: OpenAI | None = PrivateAttr(None)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self._sync_client = self._sync_client or OpenAI(base_url=self.base_url, api_key="none", max_retries=0)
        kwargs.pop("run_manager", None)
        stop = kwargs.pop("stop", args[0] if args else None)
        return _whole(self._sync_client.chat.completions.create(**self._body(messages, stop, **kwargs)))

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        # One client for all calls: to make one takes longer than everything else in a turn.
        self._client = self._client or AsyncOpenAI(base_url=self.base_url, api_key="none", max_retries=0)
        kwargs.pop("run_manager", None)
        stop = kwargs.pop("stop", args[0] if args else None)
        return _whole(await self._client.chat.completions.create(**self._body(messages, stop, **kwargs)))

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])


def skip_if_config_is_lost(how: str = "ainvoke") -> None:
    """Skips what LangChain cannot do: until Python 3.11, it loses the configuration in asynchronous runs."""
    if sys.version_info < (3, 11) and (how.startswith("a") or how == "events"):
        pytest.skip("needs Python 3.11: before, LangChain hands no configuration on to models and interrupts")


async def run_agent(how: str, agent: Any, given: Any, config: Any = None, **kwargs: Any) -> list[Any]:
    """What the caller sees: the final state, or every chunk."""
    if how == "invoke":
        return [agent.invoke(given, config, **kwargs)]
    if how == "ainvoke":
        return [await agent.ainvoke(given, config, **kwargs)]
    if how == "events":
        return [event async for event in agent.astream_events(given, config, version="v2", **kwargs)]
    mode = how.removeprefix("a") if how not in ("stream", "astream") else "updates"
    if how.startswith("a"):
        return [chunk async for chunk in agent.astream(given, config, stream_mode=mode, **kwargs)]
    return list(agent.stream(given, config, stream_mode=mode, **kwargs))


@asynccontextmanager
async def saver_of(kind: str, how: str, folder: Path) -> AsyncIterator[Any]:
    """A checkpointer, or none; that of SQLite is another one for asynchronous runs."""
    if kind == "sqlite":
        pytest.importorskip("langgraph.checkpoint.sqlite", reason="needs langgraph-checkpoint-sqlite")
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        path = str(folder / "checkpoints.db")
        if how.startswith("a") or how == "events":
            async with AsyncSqliteSaver.from_conn_string(path) as asynchronous:
                yield asynchronous
        else:
            with SqliteSaver.from_conn_string(path) as keeper:
                yield keeper
    else:
        from langgraph.checkpoint.memory import InMemorySaver

        yield InMemorySaver() if kind == "memory" else None
