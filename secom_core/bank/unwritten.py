"""Messages that the store has not taken yet, and how they are written later, once and in no forgotten scope."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from ..conversation import Message, Scope
from ..errors import DuplicateId, StoreError, StoreLocked, StoreUnwritable
from ..stores.database import waiting_at_most
from ..times import present
from .bank import MemoryBank

if TYPE_CHECKING:
    from ..chats import ChatRecord

_LOOK_S: Final = 0.2


@dataclass(frozen=True, eq=False)
class Unwritten:
    """Messages that wait in memory.

    Args:
        scope: whose they are.
        session: the session that they belong to.
        messages: each with an id and a time, so that they are the same whoever writes them, and how often.
        epoch: the scope's epoch when they came, as far as it could be read.
        answers: the turn that replies at their beginning join; another process may have begun one since.
        chat: what is kept beside them, such as calls of tools; also by itself, without any messages.
    """

    scope: Scope
    session: str
    messages: list[Message]
    epoch: tuple[int, int] | None
    answers: str | None = None
    chat: Sequence[ChatRecord] = ()

    @property
    def count(self) -> int:
        """How many messages wait: those that are remembered, or else what is kept beside others."""
        return len(self.messages or self.chat)


def epoch_of(bank: MemoryBank, scope: Scope) -> tuple[int, int] | None:
    """The scope's epoch; nothing where it has none, or cannot be read soon: somebody waits for the answer."""
    try:
        with waiting_at_most(_LOOK_S):
            return bank.storage.epoch(scope)
    except StoreError:
        return None


def written(bank: MemoryBank, waiting: Unwritten) -> int:
    """Write them, unless the whole scope was forgotten since; of how many turns they are.

    Raises:
        StoreError: the store failed again; nothing was written.
    """
    only_in, chat = waiting.epoch[0] if waiting.epoch is not None else None, waiting.chat
    if not waiting.messages:
        bank.chats.write(waiting.scope, waiting.session, chat, once=True)
        return 0
    write = partial(bank.storage.write, waiting.scope, waiting.session, only_in=only_in, answers=waiting.answers)
    try:
        return write(waiting.messages, also=bank.chats.beside(chat) if chat else ())
    except DuplicateId:
        # Another message has one of the ids by now: the words are worth more than the ids.
        messages, chat = renamed(waiting.messages, chat)
        return write(messages, also=bank.chats.beside(chat) if chat else ())


def renamed(messages: Sequence[Message], chat: Sequence[ChatRecord]) -> tuple[list[Message], list[ChatRecord]]:
    """The messages with other ids, and what is kept beside them."""
    new = [replace(message, id=uuid.uuid4().hex) for message in messages]
    ids: dict[str | None, str | None] = {old.id: each.id for old, each in zip(messages, new, strict=True)}
    beside = [
        replace(each, turn_id=ids.get(each.turn_id, each.turn_id), name=ids.get(each.name, each.name)) for each in chat
    ]
    return new, beside


def with_id_and_time(bank: MemoryBank, message: Message) -> Message:
    """The message with an id and a time, so that it is recognised as the same when it is stored later."""
    return replace(message, id=message.id or uuid.uuid4().hex, at=message.at or present(bank.timezone))


def is_forgotten(before: tuple[int, int] | None, now: tuple[int, int] | None) -> bool:
    """Whether the whole scope was forgotten between two of its epochs; then no earlier message is stored again."""
    return before is not None and (now is None or now[0] != before[0])


def cause_of(error: Exception) -> str:
    """What failed, without anybody's words: that nothing can be written, and why; else the kind of the error."""
    is_told = isinstance(error, StoreUnwritable) and not isinstance(error, StoreLocked)
    return str(error) if is_told else type(error).__name__
