"""Procedures that ask a language model, written once and driven sync or async.

A procedure is a generator. It yields a `Prompt`, or a list of independent prompts to be asked together, receives
the reply (or the list of replies), and returns its result. `run` drives it over a sync model, `arun` over an async
one; neither starts an event loop or a thread of its own accord::

    def capital(country):
        reply = yield Prompt(f"The capital of {country}?")
        return reply.strip()

    run(capital("France"), model)

A `ModelError` on a single prompt is raised at the ``yield``; in a list, the failed place holds the error itself, so
that one failure does not lose the other answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from .errors import InvalidInput, ModelError

__all__ = ["AsyncChatModel", "ChatModel", "Procedure", "Prompt", "Reply", "arun", "run"]

T = TypeVar("T")


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
Procedure = Generator[Prompt | list[Prompt], Any, T]
"""Yields prompts, receives replies, returns ``T``."""


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


def run(procedure: Procedure[T], model: ChatModel) -> T:
    """Drive ``procedure`` to its result, asking ``model`` one prompt after the other.

    Whatever else the model raises closes the procedure and goes to the caller.
    """

    def ask(prompt: Prompt) -> Reply:
        try:
            return model.complete(prompt)
        except ModelError as error:
            return error

    steps = _Steps(procedure)
    with closing(procedure):
        while not steps.finished:
            steps.answer([ask(prompt) for prompt in steps.prompts])
    return steps.result


async def arun(procedure: Procedure[T], model: AsyncChatModel, *, limit: int = 8) -> T:
    """Drive ``procedure`` to its result, asking a list of prompts together.

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
        self._asked: Prompt | list[Prompt] = []
        self.finished = False
        self._advance(partial(next, procedure))

    @property
    def prompts(self) -> list[Prompt]:
        """What is asked now."""
        return [self._asked] if isinstance(self._asked, Prompt) else self._asked

    def answer(self, replies: list[Reply]) -> None:
        """Hand over the replies to what is asked now."""
        if not isinstance(self._asked, Prompt):
            self._advance(partial(self._procedure.send, replies))
        elif isinstance(replies[0], ModelError):
            self._advance(partial(self._procedure.throw, replies[0]))
        else:
            self._advance(partial(self._procedure.send, replies[0]))

    def _advance(self, step: Callable[[], Prompt | list[Prompt]]) -> None:
        try:
            self._asked = step()
        except StopIteration as done:
            self.result, self.finished = done.value, True
