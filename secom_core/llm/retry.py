"""Ask a model, and once more with what was wrong where its reply cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar, cast

from ..errors import BadReply, CutOff, ModelError, warn_degraded
from .flow import Procedure, Prompt

T = TypeVar("T")


class Ask(Protocol):
    """Writes a prompt, with what was wrong with an earlier reply."""

    def __call__(self, *, complaint: str | None) -> Prompt:
        """The prompt."""


def asked_twice(ask: Ask, read: Callable[[str], T], *, in_pieces: bool = False) -> Procedure[T]:
    """What ``read`` makes of the reply to ``ask``, or of a second one.

    Where neither reply is right, what could be kept of one (`BadReply.kept`) is used, and a `DegradedWarning` says so.

    Args:
        ask: the question.
        read: reads a reply, or raises `BadReply`.
        in_pieces: whether the caller asks for less where a reply was cut off: it is then told at once.

    Raises:
        ModelError: where the model gave no answer, or two that cannot be used.
    """
    try:
        return read((yield ask(complaint=None)))
    except BadReply as error:
        if not _is_asked_again(error, in_pieces):
            raise
        first = error
    found = _better(first, (yield from _once(ask, read, first.reason)), in_pieces)
    if isinstance(found, ModelError):
        raise found
    return found


def _once(ask: Ask, read: Callable[[str], T], complaint: str) -> Procedure[T | ModelError]:
    try:
        return read((yield _again(ask, complaint)))
    except ModelError as error:
        return error


def _again(ask: Ask, complaint: str) -> Prompt:
    # Not held to the form of the first reply: small models go astray inside a form that they would not have chosen.
    return replace(ask(complaint=complaint), schema=None)


def all_asked_twice(
    asks: Sequence[Ask], reads: Sequence[Callable[[str], T]], *, in_pieces: bool = False
) -> Procedure[list[T | ModelError]]:
    """Ask all at once, then at once more those whose reply could not be read.

    Args:
        asks: the questions.
        reads: what reads the reply to each, or raises `BadReply`.
        in_pieces: as for `asked_twice`.

    Returns:
        For each question what was read, or the error that is left; a model that gives no answer is not asked again.
        Where neither reply is right, what could be kept of one, and a `DegradedWarning` says so.
    """
    replies = yield [ask(complaint=None) for ask in asks]
    found: list[T | ModelError] = [_read(read, reply) for read, reply in zip(reads, replies, strict=True)]
    bad = {place: each for place, each in enumerate(found) if _is_asked_again(each, in_pieces)}
    if bad:
        again = yield [_again(asks[place], cast("BadReply", error).reason) for place, error in bad.items()]
        for (place, error), reply in zip(bad.items(), again, strict=True):
            found[place] = _better(cast("BadReply", error), _read(reads[place], reply), in_pieces)
    return found


def _read(read: Callable[[str], T], reply: str | ModelError) -> T | ModelError:
    if isinstance(reply, ModelError):
        return reply
    try:
        return read(reply)
    except BadReply as error:
        return error


def _is_asked_again(found: object, in_pieces: bool) -> bool:
    return isinstance(found, BadReply) and not (in_pieces and isinstance(found, CutOff))


def _better(first: BadReply, second: T | ModelError, in_pieces: bool) -> T | ModelError:
    """What a second reply gave, or else what can be kept of either; of two the larger."""
    if second == [] and isinstance(first.kept, list):
        # A small model that is asked again says that there is nothing: that takes nothing back of what was good.
        second = first
    if not isinstance(second, ModelError) or (in_pieces and isinstance(second, CutOff)):
        return second
    kept = [each.kept for each in (first, second) if isinstance(each, BadReply) and each.kept]
    if not kept:
        return second
    warn_degraded("a reply of the language model was used as far as it could be read", second)
    return cast("T", max(kept, key=_size))


def _size(kept: object) -> int:
    return len(kept) if isinstance(kept, list | dict | str) else 1
