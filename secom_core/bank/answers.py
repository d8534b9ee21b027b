"""Remembering a finished answer, which waits for no lock."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final
from weakref import WeakValueDictionary

from ..conversation import Message, Scope, Turn, check_scope, group_messages
from ..errors import StoreLocked, StoreUnwritable, warn_degraded
from ..stores.database import waiting_at_most
from ..stores.reasons import ConnectionLost
from .background import BackgroundWriter
from .bank import MemoryBank
from .records import Remembered
from .unwritten import with_id_and_time

ANSWER_WAITS_S: Final = 1.0
"""How many seconds a recall for an answer, or a finished answer, waits for a locked store."""
_LOOK_S: Final = 0.05
_END_WAITS_S: Final = 60.0  # How long the end of a session waits for a store that has no busy_timeout.
_LOG: Final = logging.getLogger(__name__)

_shared: WeakValueDictionary[int, BackgroundWriter] = WeakValueDictionary()
"""By the id of the bank. A writer refers to its bank, so no id is used again."""


def shared_writer(bank: MemoryBank) -> BackgroundWriter:
    """The background writer that everybody shares who has none of their own."""
    return _shared.get(id(bank)) or _shared.setdefault(id(bank), BackgroundWriter(bank))


def keeper_of(bank: MemoryBank, scope: Scope, writer: BackgroundWriter | None = None) -> BackgroundWriter:
    """In whose memory messages of a scope wait: another writer of the bank may keep some, and those come first.

    Args:
        bank: where they will be.
        scope: whose they are.
        writer: who keeps them where nobody does yet; the shared one unless given.
    """
    own = writer or shared_writer(bank)
    others = (each for each in bank.writers if isinstance(each, BackgroundWriter) and each.keeps(scope))
    return own if own.keeps(scope) else next(others, own)


@contextmanager
def waiting_for_a_lock(keeper: BackgroundWriter, scope: Scope, within: float = ANSWER_WAITS_S) -> Iterator[None]:
    """In this block a locked store is waited for so many seconds, and not at all where messages of the scope wait.

    Args:
        keeper: in whose memory they wait.
        scope: whose memory is written to.
        within: how many seconds.

    Raises:
        StoreLocked: the store is locked for longer, or messages wait that what is said now must not overtake.
    """
    if keeper.keeps(scope):
        raise StoreLocked(keeper.last_error or "what was said before is not written yet, because the store is locked")
    with waiting_at_most(within):
        yield


def wait_until_written(keeper: BackgroundWriter, scope: Scope) -> None:
    """Wait for what waits in memory of a scope, as long as the bank waits for a lock, or else a minute.

    Args:
        keeper: in whose memory it waits.
        scope: whose memory is written to.

    Raises:
        StoreLocked: it still waits, and what comes now must not overtake it.
    """
    patience = keeper.bank.storage.busy_timeout
    until = time.monotonic() + (_END_WAITS_S if patience is None else max(patience, ANSWER_WAITS_S))
    while keeper.keeps(scope) and time.monotonic() < until:
        time.sleep(_LOOK_S)
    with waiting_for_a_lock(keeper, scope):
        pass


def epoch_soon(bank: MemoryBank, scope: Scope) -> tuple[int, int] | None:
    """As `Storage.epoch`, for an answer: it waits for a locked store no longer than a recall does.

    Raises:
        StoreError: the store failed, or is locked for longer.
    """
    with waiting_at_most(ANSWER_WAITS_S):
        return bank.storage.epoch(scope)


def turns_of_session(
    bank: MemoryBank, scope: Scope, session: str, *, last: int | None = None, writer: BackgroundWriter | None = None
) -> list[Turn]:
    """The latest turns of a session, with what waits in memory for a locked store, as they are once it is written.

    Args:
        bank: where they are.
        scope: whose they are.
        session: its name.
        last: how many of them; all unless given.
        writer: in whose memory they wait, as for `remember_soon`.
    """
    # What waits is read first: what is written meanwhile is then among the stored ones.
    batches = [each.messages for each in keeper_of(bank, scope, writer).keeps(scope) if each.session == session]
    waiting = bank.storage.as_kept([message for batch in batches for message in batch])
    turns = bank.turns(scope, session, last=None if last is None else last + len(waiting))
    known = {(each.id, each.role, each.text) for turn in turns for each in turn.messages} if waiting else set()
    # One that is given again is stored once.
    left = list({key: each for each in waiting if (key := (each.id, each.role, each.text)) not in known}.values())
    if turns and left:
        *before, end = turns[-1].messages
        joined, *others = group_messages([end, *left], session)
        turns = [*turns[:-1], replace(turns[-1], messages=(*before, *joined.messages)), *others]
    elif left:
        turns = list(group_messages(left, session))
    return turns if last is None else turns[-last:]


def remember_soon(
    bank: MemoryBank,
    writer: BackgroundWriter | None,
    scope: Sequence[str],
    messages: Iterable[Message],
    *,
    session: str,
    within: float = ANSWER_WAITS_S,
) -> Remembered | None:
    """Remember messages, or leave them to a background writer where the store cannot be written now, or is away.

    For a finished answer, which nobody is to wait for because another program writes. The writer writes them as soon
    as the lock goes, the disk has room, or the server is back (`BackgroundWriter.keep`).

    Args:
        bank: where they are remembered.
        writer: remembers them where it is given, the bank itself unless given. They wait in its memory, or behind what
            another writer keeps of the scope.
        scope: whose memory it is.
        messages: the messages.
        session: the session they belong to.
        within: how many seconds to wait for the lock.

    Returns:
        What was taken in; nothing where the messages wait in memory.

    Raises:
        StoreError: the store failed in another way; nothing was stored.

    Warns:
        DegradedWarning: they wait until there is room on the disk, or the right to write there.
    """
    scope, named = check_scope(scope), [with_id_and_time(bank, message) for message in messages]
    unwritable: StoreUnwritable | None = None
    keeper = keeper_of(bank, scope, writer)
    try:
        with waiting_for_a_lock(keeper, scope, within):
            return (writer or bank).remember(scope, named, session=session)
    except StoreLocked as error:
        _LOG.warning("what was said waits in memory, and is written as soon as it can be: %s", error)
    except StoreUnwritable as error:
        unwritable = error
    except ConnectionLost:
        _LOG.warning("the store's server cannot be reached; what was said is written as soon as it is back")
    keeper.keep(scope, named, session=session)
    if unwritable is not None:
        warn_degraded("what was said waits in memory, and is written as soon as it can be", unwritable)
    return None
