"""Questions asked together, each once more where its reply cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from ..errors import BadReply, ModelError
from ..flow import Procedure, Prompt

__all__ = ["Ask", "asked_twice"]

T = TypeVar("T")


class Ask(Protocol):
    """Writes a prompt, with what was wrong with an earlier reply."""

    def __call__(self, *, complaint: str | None) -> Prompt:
        """The prompt."""
        ...


def asked_twice(asks: Sequence[Ask], reads: Sequence[Callable[[str], T]]) -> Procedure[list[T | ModelError]]:
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


def _read(read: Callable[[str], T], reply: str | ModelError) -> T | ModelError:
    if isinstance(reply, ModelError):
        return reply
    try:
        return read(reply)
    except BadReply as error:
        return error
