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
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from .errors import ModelError

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
    """Drive ``procedure`` to its result, asking ``model`` one prompt after the other."""

    def ask(prompt: Prompt) -> Reply:
        try:
            return model.complete(prompt)
        except ModelError as error:
            return error

    try:
        asked = next(procedure)
        while True:
            if isinstance(asked, Prompt):
                asked = _answer(procedure, ask(asked))
            else:
                asked = procedure.send([ask(prompt) for prompt in asked])
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


async def arun(procedure: Procedure[T], model: AsyncChatModel, *, limit: int = 8) -> T:
    """Drive ``procedure`` to its result, asking a list of prompts together.

    Args:
        procedure: the procedure.
        model: the model.
        limit: how many prompts are in flight at once, at most.
    """
    slots = asyncio.Semaphore(limit)

    async def ask(prompt: Prompt) -> Reply:
        async with slots:
            try:
                return await model.acomplete(prompt)
            except ModelError as error:
                return error

    try:
        asked = next(procedure)
        while True:
            if isinstance(asked, Prompt):
                asked = _answer(procedure, await ask(asked))
            else:
                asked = procedure.send(await asyncio.gather(*(ask(prompt) for prompt in asked)))
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


def _answer(procedure: Procedure[T], reply: Reply) -> Prompt | list[Prompt]:
    return procedure.throw(reply) if isinstance(reply, ModelError) else procedure.send(reply)
