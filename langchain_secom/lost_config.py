"""The configuration of an asynchronous run on Python 3.10, which cannot hand a context on to a task.

There LangGraph's `get_config` finds nothing, and what wraps a model call is handed no configuration either. But all
that is awaited runs within the node's ``ainvoke``, which has it.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

C = TypeVar("C", bound="type[Any]")
Hook = Callable[..., Awaitable[Any]]

IS_LOST: Final = sys.version_info < (3, 11)


def keeping_config(middleware: C) -> C:
    """A `SecomMiddleware` whose asynchronous hooks see the run's configuration; as it is where none is lost."""
    if IS_LOST:
        kept: Any = middleware
        kept.abefore_agent, kept.aafter_agent = _seeing(kept.abefore_agent), _seeing(kept.aafter_agent)
        kept.awrap_model_call = _seeing_around(kept.awrap_model_call)
    return middleware


def _seeing(hook: Hook) -> Hook:
    @wraps(hook)
    async def seeing(self: Any, state: Any, runtime: Any) -> Any:
        with _set(_of_node()):
            return await hook(self, state, runtime)

    return seeing


def _seeing_around(hook: Hook) -> Hook:
    @wraps(hook)
    async def seeing(self: Any, request: Any, handler: Hook) -> Any:
        async def as_before(request: Any) -> Any:
            # The model, and other middleware, see what they would without this one.
            with _set(before):
                return await handler(request)

        before = var_child_runnable_config.get()
        with _set(_of_node()):
            return await hook(self, request, as_before)

    return seeing


@contextmanager
def _set(config: RunnableConfig | None) -> Iterator[None]:
    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _of_node() -> RunnableConfig | None:
    """What the nearest ``ainvoke`` that awaits this was given; nothing where other middleware has made a task of it."""
    frame = sys._getframe(1).f_back
    while frame is not None:
        if frame.f_code.co_name == "ainvoke" and isinstance(frame.f_locals.get("self"), Runnable):
            return frame.f_locals.get("config")
        frame = frame.f_back
    return var_child_runnable_config.get()
