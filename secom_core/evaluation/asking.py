"""Ask a model, and once more with what was wrong where its reply cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import BadReply, ModelError
from ..flow import Procedure, Prompt, Reply

__all__ = ["asked_twice", "read_or_again"]

T = TypeVar("T")
Ask = Callable[[str | None], Prompt]


def asked_twice(ask: Ask, read: Callable[[str], T]) -> Procedure[T]:
    """What ``read`` makes of the reply to ``ask``.

    Args:
        ask: makes the prompt; it is given nothing, and then what was wrong with the first reply.
        read: reads a reply, or raises `BadReply`.

    Raises:
        ModelError: where the model gave no answer, or two that cannot be used.
    """
    reply: Reply
    try:
        reply = yield ask(None)
    except BadReply as error:
        reply = error
    return (yield from read_or_again(reply, ask, read))


def read_or_again(reply: Reply, ask: Ask, read: Callable[[str], T]) -> Procedure[T]:
    """What ``read`` makes of a reply that is there, as one of a list, or else of a second one.

    Raises:
        ModelError: where the model gave no answer, or two that cannot be used.
    """
    try:
        if isinstance(reply, ModelError):
            raise reply
        return read(reply)
    except BadReply as error:
        complaint = error.reason
    return read((yield ask(complaint)))
