"""Ask a model, and once more with what was wrong where its reply cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from ..errors import BadReply, ModelError
from .flow import Procedure, Prompt

T = TypeVar("T")


class Ask(Protocol):
    """Writes a prompt, with what was wrong with an earlier reply."""

    def __call__(self, *, complaint: str | None) -> Prompt:
        """The prompt."""


def asked_twice(ask: Ask, read: Callable[[str], T]) -> Procedure[T]:
    """What ``read`` makes of the reply to ``ask``, or of a second one.

    Args:
        ask: the question.
        read: reads a reply, or raises `BadReply`.

    Raises:
        ModelError: where the model gave no answer, or two that cannot be used.
    """
    try:
        return read((yield ask(complaint=None)))
    except BadReply as error:
        return read((yield ask(complaint=error.reason)))


def all_asked_twice(asks: Sequence[Ask], reads: Sequence[Callable[[str], T]]) -> Procedure[list[T | ModelError]]:
    """Ask all at once, then at once more those whose reply could not be read.

    Args:
        asks: the questions.
        reads: what reads the reply to each, or raises `BadReply`.

    Returns:
        For each question what was read, or the error that is left; a model that gives no answer is not asked again.
    """
    replies = yield [ask(complaint=None) for ask in asks]
    found: list[T | ModelError] = [_read(read, reply) for read, reply in zip(reads, replies, strict=True)]
    complaints = {place: each.reason for place, each in enumerate(found) if isinstance(each, BadReply)}
    if complaints:
        again = yield [asks[place](complaint=complaint) for place, complaint in complaints.items()]
        for place, reply in zip(complaints, again, strict=True):
            found[place] = _read(reads[place], reply)
    return found


def _read(read: Callable[[str], T], reply: str | ModelError) -> T | ModelError:
    if isinstance(reply, ModelError):
        return reply
    try:
        return read(reply)
    except BadReply as error:
        return error
