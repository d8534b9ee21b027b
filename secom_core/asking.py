"""Ask a model, and once more with what was wrong where its reply cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from .errors import BadReply, ModelError
from .flow import Procedure, Prompt

__all__ = ["Ask", "all_asked_twice", "asked_twice", "unless_failed"]

T = TypeVar("T")


class Ask(Protocol):
    """Writes a prompt, with what was wrong with an earlier reply."""

    def __call__(self, *, complaint: str | None) -> Prompt:
        """The prompt."""
        ...


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
        complaint = error.reason
    return read((yield ask(complaint=complaint)))


def all_asked_twice(asks: Sequence[Ask], reads: Sequence[Callable[[str], T]]) -> Procedure[list[T | ModelError]]:
    """Ask all at once, then at once more those whose reply could not be read.

    Args:
        asks: the questions.
        reads: what reads the reply to each, or raises `BadReply`.

    Returns:
        For each question what was read, or the error that is left; a model that gives no answer is not asked again.
    """
    if not asks:
        return []
    replies = yield [ask(complaint=None) for ask in asks]
    found: list[T | ModelError] = [_read(read, reply) for read, reply in zip(reads, replies, strict=True)]
    bad = [(place, each) for place, each in enumerate(found) if isinstance(each, BadReply)]
    if bad:
        again = yield [asks[place](complaint=error.reason) for place, error in bad]
        for (place, _), reply in zip(bad, again, strict=True):
            found[place] = _read(reads[place], reply)
    return found


def unless_failed(found: Sequence[T | ModelError]) -> list[T]:
    """What was found, if all of it was.

    Raises:
        ModelError: the first of those that are left.
    """
    for each in found:
        if isinstance(each, ModelError):
            raise each
    return [each for each in found if not isinstance(each, ModelError)]


def _read(read: Callable[[str], T], reply: str | ModelError) -> T | ModelError:
    if isinstance(reply, ModelError):
        return reply
    try:
        return read(reply)
    except BadReply as error:
        return error
