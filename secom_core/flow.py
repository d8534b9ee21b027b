"""Procedures that ask a language model, written once and driven sync or async.

A procedure is a generator. It yields a `Prompt`, or a list of independent prompts to be asked together, receives
the reply (or the list of replies), and returns its result. `run` drives it over a sync model, `arun` over an async
one; neither starts an event loop, nor a thread unless `run` is told to ask a list together::

    def capital(country):
        reply = yield Prompt(f"The capital of {country}?")
        return reply.strip()

    run(capital("France"), model)

A procedure that has heavy work of its own to do yields it as a function without arguments and receives its result:
`run` calls it, `arun` has a worker thread call it, so that the event loop stays free.

A `ModelError` on a single prompt is raised at the ``yield``; in a list, the failed place holds the error itself, so
that one failure does not lose the other answers.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from .analysis import count_tokens
from .errors import InvalidInput, ModelError

__all__ = [
    "AsyncChatModel",
    "AsyncStreamingModel",
    "ChatModel",
    "Cost",
    "Metered",
    "Procedure",
    "Prompt",
    "Reply",
    "StreamingModel",
    "Work",
    "arun",
    "run",
]

T = TypeVar("T")
_COUNTED = 200_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a language model.

    Args:
        text: the user's message.
        system: the system message, where there is one.
        purpose: what it is asked for, such as ``"segment"``; for logs, tracing and scripted models.
        max_tokens: the longest reply that is of use, in the model's tokens.
        temperature: 0 unless the procedure wants variety.
    """

    text: str
    system: str | None = None
    purpose: str = ""
    max_tokens: int | None = None
    temperature: float = 0.0


Reply = str | ModelError
Work = Callable[[], Any]
"""Work of the procedure's own that would hold up an event loop."""
Procedure = Generator[Prompt | list[Prompt] | Work, Any, T]
"""Yields prompts or work, receives replies or its result, returns ``T``."""


@runtime_checkable
class ChatModel(Protocol):
    """A language model. One required method."""

    def complete(self, prompt: Prompt) -> str:
        """Answer the prompt, or raise `ModelError`."""
        ...


@runtime_checkable
class AsyncChatModel(Protocol):
    """A language model for async callers. One required method."""

    async def acomplete(self, prompt: Prompt) -> str:
        """Answer the prompt, or raise `ModelError`."""
        ...


@runtime_checkable
class StreamingModel(Protocol):
    """A language model that answers piece by piece."""

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """The answer's pieces, or raise `ModelError`, also in the middle."""
        ...


@runtime_checkable
class AsyncStreamingModel(Protocol):
    """A language model that answers async callers piece by piece."""

    def astream(self, prompt: Prompt) -> AsyncIterator[str]:
        """The answer's pieces, or raise `ModelError`, also in the middle."""
        ...


@dataclass(frozen=True, slots=True)
class Cost:
    """What asking a model came to.

    Args:
        calls: how many prompts were asked, those that failed included.
        tokens_in: how many tokens the prompts had, estimated.
        tokens_out: how many tokens the replies had, estimated.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.calls - other.calls, self.tokens_in - other.tokens_in, self.tokens_out - other.tokens_out)


class Metered:
    """A chat model that counts what it is asked; calls may overlap.

    Args:
        model: who answers.
        counter: counts tokens.
    """

    def __init__(self, model: ChatModel, counter: Callable[[str], int] = count_tokens) -> None:
        self._model = model
        self._counter = counter
        self._cost = Cost()
        self._lock = threading.Lock()

    @property
    def cost(self) -> Cost:
        """What was asked so far."""
        return self._cost

    def complete(self, prompt: Prompt) -> str:
        """Answer the prompt, or raise what the model raises; counted either way."""
        reply = ""
        try:
            reply = self._model.complete(prompt)
            return reply
        finally:
            asked = self._counter(prompt.text) + self._counter(prompt.system or "")
            spent = Cost(1, asked, self._estimated(reply))
            with self._lock:
                self._cost += spent

    def _estimated(self, reply: str) -> int:
        """The tokens of a reply; those of an endless one by its beginning, which is all that anybody reads of it."""
        begun = reply[:_COUNTED]
        return self._counter(begun) * len(reply) // max(len(begun), 1)


def run(procedure: Procedure[T], model: ChatModel, *, limit: int = 1) -> T:
    """Drive ``procedure`` to its result, asking one prompt after the other, or a list together.

    Whatever else the model raises closes the procedure and goes to the caller.

    Args:
        procedure: the procedure.
        model: the model; where ``limit`` is above 1, one that may be called from several threads at once.
        limit: how many prompts of a list are in flight at once, at most; each in a thread of its own, with the
            caller's context variables.

    Raises:
        InvalidInput: for a limit below 1.
    """
    if limit < 1:
        raise InvalidInput(f"at least one prompt is in flight, got limit={limit}")

    def ask(prompt: Prompt) -> Reply:
        try:
            return model.complete(prompt)
        except ModelError as error:
            return error

    steps = _Steps(procedure)
    with closing(procedure):
        while not steps.finished:
            if steps.work is not None:
                steps.done(steps.work())
            else:
                steps.answer(_in_threads(ask, steps.prompts, limit))
    return steps.result


def _in_threads(ask: Callable[[Prompt], Reply], prompts: Sequence[Prompt], limit: int) -> list[Reply]:
    if limit == 1 or len(prompts) < 2:
        return [ask(prompt) for prompt in prompts]
    with ThreadPoolExecutor(min(limit, len(prompts)), thread_name_prefix="secom-ask") as pool:
        # A context cannot be entered twice at once, so each prompt has a copy.
        asked = [pool.submit(contextvars.copy_context().run, ask, prompt) for prompt in prompts]
        try:
            return [each.result() for each in asked]
        finally:
            for each in asked:
                each.cancel()


async def arun(procedure: Procedure[T], model: AsyncChatModel, *, limit: int = 8) -> T:
    """Drive ``procedure`` to its result, asking a list of prompts together and doing its work in a thread.

    Whatever else the model raises, a cancellation included, ends the prompts in flight and closes the procedure.

    Args:
        procedure: the procedure.
        model: the model.
        limit: how many prompts are in flight at once, at most.

    Raises:
        InvalidInput: for a limit below 1.
    """
    if limit < 1:
        raise InvalidInput(f"at least one prompt is in flight, got limit={limit}")
    slots = asyncio.Semaphore(limit)

    async def ask(prompt: Prompt) -> Reply:
        async with slots:
            try:
                return await model.acomplete(prompt)
            except ModelError as error:
                return error

    steps = _Steps(procedure)
    with closing(procedure):
        while not steps.finished:
            if steps.work is not None:
                # The thread sees the caller's context variables.
                steps.done(await asyncio.to_thread(steps.work))
            else:
                steps.answer(await _together([ask(prompt) for prompt in steps.prompts]))
    return steps.result


async def _together(asked: Sequence[Coroutine[Any, Any, Reply]]) -> list[Reply]:
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Steps(Generic[T]):
    """A procedure, from one question to the next."""

    result: T

    def __init__(self, procedure: Procedure[T]) -> None:
        self._procedure = procedure
        self._asked: Prompt | list[Prompt] | Work = []
        self.finished = False
        self._advance(partial(next, procedure))

    @property
    def prompts(self) -> list[Prompt]:
        """What is asked now."""
        if isinstance(self._asked, Prompt):
            return [self._asked]
        return self._asked if isinstance(self._asked, list) else []

    @property
    def work(self) -> Work | None:
        """The work to be done now, where nothing is asked."""
        return None if isinstance(self._asked, (Prompt, list)) else self._asked

    def done(self, result: Any) -> None:
        """Hand over the result of the work."""
        self._advance(partial(self._procedure.send, result))

    def answer(self, replies: list[Reply]) -> None:
        """Hand over the replies to what is asked now."""
        if not isinstance(self._asked, Prompt):
            self._advance(partial(self._procedure.send, replies))
        elif isinstance(replies[0], ModelError):
            self._advance(partial(self._procedure.throw, replies[0]))
        else:
            self._advance(partial(self._procedure.send, replies[0]))

    def _advance(self, step: Callable[[], Prompt | list[Prompt] | Work]) -> None:
        try:
            self._asked = step()
        except StopIteration as done:
            self.result, self.finished = done.value, True
