"""What the checkpoints of a run's thread tell: its branches, and when its messages were said."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final, TypeVar

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig, ensure_config, run_in_executor

from secom_core.bank.answers import ANSWER_WAITS_S
from secom_core.errors import MissingExtra

from .identity import CHECKPOINTER, is_checkpointed

try:
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error


_Answer = TypeVar("_Answer")
_DURABILITY: Final = "__pregel_durability"
LOOKED_THROUGH: Final = 64
"""In how many checkpoints messages of other branches are looked for: the latest of a branch has all of its messages."""
_DATED_BY: Final = 512
"""In how many checkpoints it is looked up when messages were said that an earlier run has left."""
_AT_FIRST: Final = 8
"""In how many checkpoints something is looked for first, and in four times as many each time. All of a long thread take
seconds to read, and some checkpointers write none meanwhile."""
_PAUSE_S: Final = 0.01
"""How long the current checkpoint is waited for before it is looked for again, and twice as long each time."""


_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("loop", default=None)


async def off_loop(call: Callable[..., _Answer], *args: Any) -> _Answer:
    """Call something in a thread, from where it may ask a checkpointer that works in the event loop only."""
    token = _loop.set(asyncio.get_running_loop())
    try:
        return await run_in_executor(None, call, *args)
    finally:
        _loop.reset(token)


def latest_checkpoints(most: int = LOOKED_THROUGH) -> list[CheckpointTuple]:
    """The latest checkpoints of the current run's thread: the outermost graph's, if the agent is within another."""
    configurable = ensure_config()["configurable"]
    of_thread = {"thread_id": configurable.get("thread_id"), "checkpoint_ns": ""}
    of_thread_only = RunnableConfig(configurable=of_thread)
    with suppress(NotImplementedError):
        # An iterator of an asynchronous saver that is not read to its end cannot be closed here.
        return list(configurable[CHECKPOINTER].list(of_thread_only, limit=most))
    # LangGraph's server wraps a checkpointer that its developer has chosen, without the calls that wait.
    if (loop := _loop.get()) is None:
        return []
    return asyncio.run_coroutine_threadsafe(_listed(configurable[CHECKPOINTER], of_thread_only, most), loop).result()


async def _listed(saver: BaseCheckpointSaver[Any], of_thread: RunnableConfig, most: int) -> list[CheckpointTuple]:
    with suppress(NotImplementedError):  # by a checkpointer that lists nothing
        return [each async for each in saver.alist(of_thread, limit=most)]
    return []


def checkpoints_until(is_found: Callable[[list[CheckpointTuple]], bool], most: int) -> list[CheckpointTuple]:
    """As many of the latest checkpoints as it takes to find something."""
    number = _AT_FIRST
    while True:
        saved = latest_checkpoints(min(number, most))
        if number >= most or len(saved) < number or is_found(saved):
            return saved
        number *= 4


def said_at(ids: Collection[str]) -> dict[str, datetime]:
    """When messages of earlier runs were said, by their ids: when the first checkpoint was made that holds them."""
    said = dict[str, datetime]()

    def held(saved: CheckpointTuple) -> set[str]:
        return {str(each.id) for each in messages_in(saved) if each.id in ids}

    def began(saved: list[CheckpointTuple]) -> bool:
        """Whether all have come since the older half of them, and none was brought back from another branch."""
        by_id, half = {id_of_saved(each): held(each) for each in saved}, len(saved) // 2
        in_order = list(by_id.values())
        is_since = set(ids) == set().union(*in_order[:half]) and not any(in_order[half:])
        return is_since and not held_before(saved, by_id)

    for each in checkpoints_until(began, _DATED_BY) if is_checkpointed() else ():
        said |= dict.fromkeys(held(each), datetime.fromisoformat(each.checkpoint["ts"]))
    return said


def checkpoints_and_line() -> tuple[list[CheckpointTuple], list[CheckpointTuple]]:
    """The latest checkpoints, and of these the one from which the current step began, and those before it.

    A graph writes its checkpoints while its next step runs, so that the current one is waited for. Where all are
    written when the run ends, the line is that of the checkpoint from which the run began. There is none where the
    current one is in no checkpointer.
    """
    config, until, pause = ensure_config(), time.monotonic() + ANSWER_WAITS_S, _PAUSE_S
    if config["configurable"].get(_DURABILITY) == "exit":
        saved = latest_checkpoints()
        return saved, _line(saved, config["metadata"].get("checkpoint_id") or next(map(id_of_saved, saved), None))
    current = config["configurable"].get("checkpoint_map", {}).get("")
    while True:
        saved = latest_checkpoints()
        line = _line(saved, current)
        # The first checkpoint of a thread has no others beside it.
        if line or not saved or current is None or time.monotonic() > until:
            return saved, line
        time.sleep(pause)
        pause *= 2


def _line(saved: Sequence[CheckpointTuple], number: str | None) -> list[CheckpointTuple]:
    """A checkpoint and those before it, the latest first."""
    by_id, line = {id_of_saved(each): each for each in saved}, list[CheckpointTuple]()
    while number in by_id:
        line.append(by_id.pop(number))
        number = parent_of(line[-1])
    return line


def held_before(saved: Sequence[CheckpointTuple], held: Mapping[str | None, set[str]]) -> set[str]:
    """What the first of these checkpoints, the latest first, that holds it has from one that is not among them."""
    before, since = set[str](), set[str]()
    for each in reversed(saved):
        new = held[id_of_saved(each)] - since
        if parent_of(each) not in (None, *held):
            before |= new
        since |= new
    return before


def parent_of(saved: CheckpointTuple) -> str | None:
    """The id of the checkpoint before it."""
    return _id_of(saved.parent_config) if saved.parent_config else None


def id_of_saved(saved: CheckpointTuple) -> str | None:
    """The checkpoint's own id."""
    return _id_of(saved.config)


def _id_of(config: RunnableConfig) -> str | None:
    number: str | None = config.get("configurable", {}).get("checkpoint_id")
    return number


def messages_in(saved: CheckpointTuple) -> list[BaseMessage]:
    """The messages in a graph's state, whatever their key."""
    lists = (value for value in saved.checkpoint["channel_values"].values() if isinstance(value, list))
    return [each for value in lists for each in value if isinstance(each, BaseMessage)]
