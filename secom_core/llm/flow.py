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
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Final, Protocol, TypeVar, cast, runtime_checkable

from ..errors import BadReply, ContextTooLong, InvalidInput, ModelError
from ..processes import ForkLock, interpreter
from ..telemetry import count_model_call, staged
from ..text.terms import count_tokens
from .limits import note_too_long
from .pauses import check_pause, is_paused, note_answer, note_wait

T = TypeVar("T")
_COUNTED: Final = 200_000  # characters of a reply whose tokens are counted; the rest is estimated by them


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a language model.

    Args:
        text: the user's message.
        system: the system message, where there is one.
        purpose: what it is asked for, such as ``"segment"``; for logs, tracing and scripted models.
        max_tokens: the longest reply that is of use, in the model's tokens.
        temperature: 0 unless the procedure wants variety.
        schema: the JSON schema of a reply, for models that can be held to one; the prompt asks for the same in words,
            in a form that those who cannot keep to more easily.
    """

    text: str
    system: str | None = None
    purpose: str = ""
    max_tokens: int | None = None
    temperature: float = 0.0
    schema: Mapping[str, Any] | None = field(default=None, hash=False)


Outcome = str | ModelError
"""A reply, or why there is none."""
Work = Callable[[], Any]
"""Work of the procedure's own that would hold up an event loop."""
Procedure = Generator[Prompt | list[Prompt] | Work, Any, T]
"""Yields prompts or work, receives replies or its result, returns ``T``."""


@runtime_checkable
class ChatModel(Protocol):
    """A language model. One required method."""

    def complete(self, prompt: Prompt) -> str:
        """Answer the prompt, or raise `ModelError`; a `Reply` says too whether it was cut off."""


@runtime_checkable
class AsyncChatModel(Protocol):
    """A language model for async callers. One required method."""

    async def acomplete(self, prompt: Prompt) -> str:
        """Answer the prompt, or raise `ModelError`; a `Reply` says too whether it was cut off."""


@runtime_checkable
class StreamingModel(Protocol):
    """A language model that answers piece by piece."""

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """The answer's pieces, or raise `ModelError`, also in the middle."""


@runtime_checkable
class AsyncStreamingModel(Protocol):
    """A language model that answers async callers piece by piece."""

    def astream(self, prompt: Prompt) -> AsyncIterator[str]:
        """The answer's pieces, or raise `ModelError`, also in the middle."""


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
    """A chat model that counts in ``cost`` what it is asked; calls may overlap.

    A model that keeps two callers in a row waiting for nothing, for a second or more, is not asked again for ten times
    as long as the last of them waited, and for ten minutes at most; whoever wraps the same one knows.

    Args:
        model: who answers.
        counter: counts tokens.
        pauses: not ask a model that keeps callers waiting; else it is asked each time.
    """

    def __init__(self, model: ChatModel, counter: Callable[[str], int] = count_tokens, *, pauses: bool = True) -> None:
        self._model = model
        self._counter = counter
        self._pauses = pauses
        self.cost = Cost()
        self._lock = ForkLock()

    @property
    def is_paused(self) -> bool:
        """Whether the model is not asked now."""
        return self._pauses and is_paused(self._model)

    @staged("model")
    def complete(self, prompt: Prompt) -> str:
        """Answer the prompt, or raise what the model raises; counted either way.

        Raises:
            ModelPaused: it was not asked.
        """
        if self._pauses:
            check_pause(self._model)
        reply = ""
        try:
            with interpreter.put_down():
                reply = self._asked(prompt)
            return reply
        finally:
            tokens_in = self._counter(prompt.text) + self._counter(prompt.system or "")
            # Of an endless reply the beginning is counted, as nobody reads more of it.
            counted = reply[:_COUNTED]
            tokens_out = self._counter(counted) * len(reply) // max(len(counted), 1)
            with self._lock:
                self.cost += Cost(1, tokens_in, tokens_out)
            count_model_call(tokens_in, tokens_out)

    def _asked(self, prompt: Prompt) -> str:
        began = time.monotonic()
        try:
            reply = self._model.complete(prompt)
        except (BadReply, ContextTooLong):
            note_answer(self._model)
            raise
        except Exception as error:
            note_wait(self._model, time.monotonic() - began, error)
            raise
        note_answer(self._model)
        return reply


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
    _check(limit)

    def ask(prompt: Prompt) -> Outcome:
        try:
            return model.complete(prompt)
        except ModelError as error:
            return _noted(model, prompt, error)

    result: Any = None
    with closing(procedure):
        while True:
            try:
                step = _resumed(procedure, result)
            except StopIteration as done:
                return cast("T", done.value)
            if isinstance(step, Prompt):
                result = ask(step)
            else:
                result = _in_threads(ask, step, limit) if isinstance(step, list) else step()


def _noted(model: object, prompt: Prompt, error: ModelError) -> ModelError:
    """The error; of a prompt that was too long for the model, its length is remembered."""
    if isinstance(error, ContextTooLong):
        note_too_long(model, count_tokens(prompt.text))
    return error


def _check(limit: int) -> None:
    if limit < 1:
        raise InvalidInput(f"limit is how many prompts are asked at once, 1 or more, got {limit}")


def _resumed(procedure: Procedure[T], result: Any) -> Prompt | list[Prompt] | Work:
    """The next step of a procedure that gets the result of its last one; an error is raised at its ``yield``."""
    return procedure.throw(result) if isinstance(result, ModelError) else procedure.send(result)


def _in_threads(ask: Callable[[Prompt], Outcome], prompts: Sequence[Prompt], limit: int) -> list[Outcome]:
    """The replies in order, ``limit`` threads asking at once; the first exception cancels what has not begun."""
    if limit == 1 or len(prompts) < 2:
        return list(map(ask, prompts))
    # A context cannot be entered twice at once, so each call has a copy of the caller's.
    contexts = [copy_context() for _ in prompts]
    pool = ThreadPoolExecutor(min(limit, len(prompts)), thread_name_prefix="secom-ask")
    with interpreter.put_down(), pool:
        return list(pool.map(Context.run, contexts, repeat(ask), prompts))


async def arun(procedure: Procedure[T], model: AsyncChatModel | ChatModel, *, limit: int = 8) -> T:
    """Drive ``procedure`` to its result, asking a list of prompts together and doing its work in a thread.

    Whatever else the model raises, a cancellation included, ends the prompts in flight and closes the procedure.

    Args:
        procedure: the procedure.
        model: the model; one without an async side is asked in a thread, one prompt after the other.
        limit: how many prompts are in flight at once, at most.

    Raises:
        InvalidInput: for a limit below 1.
    """
    _check(limit)
    if not isinstance(model, AsyncChatModel):
        return await asyncio.to_thread(run, procedure, model)
    slots = asyncio.Semaphore(limit)

    async def ask(prompt: Prompt) -> Outcome:
        async with slots:
            try:
                return await model.acomplete(prompt)
            except ModelError as error:
                return _noted(model, prompt, error)

    result: Any = None
    with closing(procedure):
        while True:
            try:
                step = _resumed(procedure, result)
            except StopIteration as done:
                return cast("T", done.value)
            if isinstance(step, Prompt):
                result = await ask(step)
            elif isinstance(step, list):
                result = await _together([ask(prompt) for prompt in step])
            else:
                # The thread sees the caller's context variables.
                result = await asyncio.to_thread(step)


async def _together(replies: Sequence[Coroutine[Any, Any, Outcome]]) -> list[Outcome]:
    tasks = [asyncio.ensure_future(each) for each in replies]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
