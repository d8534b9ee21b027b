"""Messages that the store refused: they are kept, and stored together with the next ones."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from llama_index.core.bridge.pydantic import BaseModel, Field, PrivateAttr

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.bank.answers import shared_writer
from secom_core.chats import ChatRecord
from secom_core.conversation import Message, Scope
from secom_core.errors import InvalidInput, ModelError, StoreError, StoreUnwritable, warn_degraded

FAILURES: Final = (StoreError, ModelError)
"""Errors that may pass by themselves; any other is the caller's to fix."""


class Unstored(BaseModel):
    """Messages of one session that the store refused, each with an id and its time, and the turn that they answer."""

    session: str
    messages: list[Message] = Field(default_factory=list)
    answers: str | None = None
    _is_kept: bool = PrivateAttr(default=False)


def store_all(target: MemoryBank | BackgroundWriter, scope: Scope, waiting: list[Unstored]) -> dict[str, str]:
    """Store the messages that wait, in order, and take them off the list.

    Args:
        target: the bank, or its background writer.
        scope: whose memory it is.
        waiting: the messages that wait; changed in place.

    Returns:
        For the id of each message, the id of its turn.

    Raises:
        StoreError: the store failed again; what it refused still waits.
    """
    turns: dict[str, str] = {}
    while waiting:
        messages, store = waiting[0].messages, partial(target.remember, scope, session=waiting[0].session)
        try:
            result = store(messages, answers=waiting[0].answers)
        except InvalidInput:
            # Another message has one of the ids by now: the words are worth more than the ids.
            messages = [replace(message, id=uuid.uuid4().hex) for message in messages]
            result = store(messages, answers=waiting[0].answers)
        stored = result.turns_of(messages)
        turns |= {str(message.id): turn for message, turn in zip(waiting[0].messages, stored, strict=True)}
        waiting.pop(0)
    return turns


def remember_with_chat(
    target: MemoryBank | BackgroundWriter,
    scope: Scope,
    session: str,
    messages: Sequence[Message],
    chat: Sequence[ChatRecord],
    answers: str | None,
) -> tuple[list[str], bool]:
    """Store messages, and in the same transaction what is kept beside them; without it where that alone fails.

    Args:
        target: the bank, or its background writer.
        scope: whose memory it is.
        session: the session they belong to.
        messages: what is remembered.
        chat: what is kept beside it.
        answers: the turn that answers join which come before any question; another memory may have begun one since.

    Returns:
        For each message its turn, and whether the chat is kept.

    Raises:
        StoreError: the store failed; nothing was written.
    """
    try:
        done, is_kept = target.remember(scope, messages, session=session, chat=chat, answers=answers), bool(chat)
    except StoreError as error:
        if not chat or isinstance(error, StoreUnwritable):
            raise
        done, is_kept = target.remember(scope, messages, session=session, answers=answers), False
    return done.turns_of(messages), is_kept


def turn_of(last: str | None, waiting: Sequence[Unstored]) -> str | None:
    """The turn that goes on, where the last message waits, and only its id stands for its turn.

    Args:
        last: the turn of the last message, or its id.
        waiting: what waits.
    """
    for each in reversed(waiting):
        ids = [message.id for message in each.messages]
        if last in ids:
            asked = [message.id for message in each.messages[: ids.index(last) + 1] if message.role == "user"]
            last = asked[-1] if asked else each.answers
    return last


def keep_meanwhile(bank: MemoryBank, scope: Scope, waiting: Sequence[Unstored]) -> None:
    """Have the background writer write messages as soon as it can, whether they are asked for or not.

    They stay on their list: stored again, they are known, and their turns with them.
    """
    for each in waiting:
        if not each._is_kept:
            shared_writer(bank).keep(scope, each.messages, session=each.session, answers=each.answers)
            each._is_kept = True


def still_waiting(bank: MemoryBank, scope: Scope, waiting: Sequence[Unstored]) -> list[Unstored]:
    """Those that the background writer was not given, or keeps: it has written the others, or they were forgotten."""
    is_kept = bool(shared_writer(bank).keeps(scope))
    return [each for each in waiting if is_kept or not each._is_kept]


def warn_store_failed(consequence: str, error: Exception) -> None:
    """Warn that the store failed.

    Args:
        consequence: what follows from it, such as ``"nothing is recalled"``.
        error: what the store raised.
    """
    warn_degraded(f"the store failed; {consequence}", error)
