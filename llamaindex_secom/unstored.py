"""Messages that the store refused: they are kept, and stored together with the next ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from llama_index.core.bridge.pydantic import BaseModel, Field, PrivateAttr

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.bank.answers import keeper_of
from secom_core.bank.unwritten import renamed
from secom_core.chats import ChatRecord
from secom_core.conversation import Message, Scope
from secom_core.errors import InvalidInput, ModelError, StoreError, StoreUnwritable, warn_degraded
from secom_core.stores.reasons import ConnectionLost

FAILURES: Final = (StoreError, ModelError)
"""Errors that may pass by themselves; any other is the caller's to fix."""
WAIT_FOR: Final = (StoreUnwritable, ConnectionLost)
"""Those that the background writer waits out."""


class Unstored(BaseModel):
    """Messages of one session that the store refused, each with an id and its time, and the turn that they answer.

    What is kept beside them, such as calls of tools, waits with them where the background writer was given both.
    """

    session: str
    messages: list[Message] = Field(default_factory=list)
    answers: str | None = None
    chat: list[ChatRecord] = Field(default_factory=list)
    _is_kept: bool = PrivateAttr(default=False)

    @property
    def is_kept(self) -> bool:
        """Whether the background writer was given them."""
        return self._is_kept


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
        session, messages, chat = waiting[0].session, waiting[0].messages, waiting[0].chat
        store = partial(remember_with_chat, target, scope, session, answers=waiting[0].answers)
        try:
            stored, _ = store(messages, chat)
        except InvalidInput:
            # Another message has one of the ids by now: the words are worth more than the ids.
            stored, _ = store(*renamed(messages, chat))
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
            keeper = keeper_of(bank, scope)
            keeper.keep(scope, each.messages, session=each.session, answers=each.answers, chat=each.chat)
            each._is_kept = True


def ids_that_wait(bank: MemoryBank, scope: Scope) -> set[str | None]:
    """The ids of a scope's messages that the background writer keeps, whoever gave it them."""
    return {message.id for each in keeper_of(bank, scope).keeps(scope) for message in each.messages}


def still_waiting(bank: MemoryBank, scope: Scope, waiting: Sequence[Unstored]) -> list[Unstored]:
    """Those that the background writer was not given, or keeps: it has written the others, or they were forgotten."""
    is_kept = bool(keeper_of(bank, scope).keeps(scope))
    return [each for each in waiting if is_kept or not each.is_kept]


def warn_store_failed(consequence: str, error: Exception) -> None:
    """Warn that the store failed.

    Args:
        consequence: what follows from it, such as ``"nothing is recalled"``.
        error: what the store raised.
    """
    warn_degraded(f"the store failed; {consequence}", error)
