"""Asynchronous hooks see the run's configuration where the context does not carry it, as on Python 3.10.

There the other tests of the middleware hold it as a whole; these hold on any Python that it is found.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")

from langchain_core.runnables import Runnable, RunnableConfig, ensure_config

from langchain_secom import lost_config

GIVEN: RunnableConfig = {"configurable": {"user_id": "ann"}}


class Middleware:
    """The hooks of one, each of which tells whose run it sees."""

    async def abefore_agent(self, state: Any, runtime: Any) -> Any:
        return whose()

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return [whose(), await handler(request), whose()]

    async def aafter_agent(self, state: Any, runtime: Any) -> Any:
        return whose()


class Node(Runnable[Any, Any]):
    """Hands on its configuration to nobody, as a node of LangGraph does on Python 3.10."""

    def __init__(self, call: Any) -> None:
        self.call = call

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return await self.call()


def whose() -> Any:
    return ensure_config().get("configurable", {}).get("user_id")


async def model(request: Any) -> Any:
    return whose()


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(lost_config, "IS_LOST", True)
    return lost_config.keeping_config(type("Kept", (Middleware,), {}))()


async def test_every_hook_sees_it_and_the_model_what_it_saw_before(kept: Any) -> None:
    assert await Node(lambda: kept.abefore_agent({}, None)).ainvoke(None, GIVEN) == "ann"
    assert await Node(lambda: kept.aafter_agent({}, None)).ainvoke(None, GIVEN) == "ann"
    seen = await Node(lambda: kept.awrap_model_call(None, model)).ainvoke(None, GIVEN)
    assert seen == ["ann", None, "ann"]
    assert whose() is None


async def test_each_of_many_runs_at_once_sees_its_own(kept: Any) -> None:
    node = Node(lambda: kept.awrap_model_call(None, model))
    users = [f"user {number}" for number in range(20)]
    seen = await asyncio.gather(*(node.ainvoke(None, {"configurable": {"user_id": each}}) for each in users))
    assert seen == [[each, None, each] for each in users]


async def test_in_a_task_of_its_own_it_sees_what_the_task_sees(kept: Any) -> None:
    async def apart() -> Any:
        return await asyncio.create_task(kept.abefore_agent({}, None))

    assert await Node(apart).ainvoke(None, GIVEN) is None


def test_where_nothing_is_lost_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost_config, "IS_LOST", False)
    hooks = Middleware.abefore_agent, Middleware.awrap_model_call
    assert lost_config.keeping_config(Middleware) is Middleware
    assert (Middleware.abefore_agent, Middleware.awrap_model_call) == hooks
