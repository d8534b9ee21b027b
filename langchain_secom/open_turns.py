"""Turns whose run has not ended: nobody may read it to its end, and what the user said in it must not get lost.

A page is closed or runs its program again, a stream is stopped: then the framework drops the run and calls no hook any
more. It cannot be told from a run whose model takes long, so that what the user said in it is remembered when the same
user says something elsewhere, or when the bank is closed. If the run goes on, its answer joins it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope
from secom_core.errors import SecomError, attempted
from secom_core.processes import AtEnd, ForkLock, in_child

_MOST: Final = 1000
"""How many turns of a bank are held; of more, the oldest is remembered."""


@dataclass(frozen=True)
class OpenTurn:
    """A turn that the model was asked to answer.

    Args:
        scope: whose memory it is.
        session: the conversation.
        remember: remembers what was said so far; given whether the bank is being closed.
    """

    scope: Scope
    session: str
    remember: Callable[[bool], None]


class OpenTurns:
    """The turns of a bank that have begun and not ended, the latest of each conversation.

    For the bank it is one of its background writers (`secom_core.bank.records.WriterHealth`): it is told what is
    forgotten, and that the bank is closed.
    """

    last_error: str | None = None
    is_alive, unwritten = True, 0  # A turn under way is not late.

    def __init__(self) -> None:
        self._lock = ForkLock()
        self.renew()
        in_child(self)

    def renew(self) -> None:
        """Begin with none: those of the parent of a forked process are the parent's."""
        self._turns: dict[tuple[Scope, str], OpenTurn] = {}

    def __len__(self) -> int:
        return 0

    def begin(self, turn: OpenTurn) -> None:
        """Hold a turn until it ends."""
        key = turn.scope, turn.session
        _remember_the_rest.due()
        with self._lock:
            self._turns.pop(key, None)
            self._turns[key] = turn
            oldest = self._turns.pop(next(iter(self._turns))) if len(self._turns) > _MOST else None
        if oldest is not None:
            oldest.remember(False)

    def forget(self, scope: Scope, session: str | None = None) -> None:
        """Hold nothing more of a scope, or of a session of it."""
        self._taken(scope, session)

    def remember(self, scope: Scope, *, besides: str) -> None:
        """Remember those of a scope, but for those of one session, whose thread tells what was said.

        Raises:
            SecomError: one could not be remembered; what is not remembered is held.
        """
        self._taken(scope, besides)
        left = self._taken(scope)
        try:
            while left:
                left[0].remember(False)
                del left[0]
        except SecomError:
            with self._lock:
                # What has begun in the conversation since then tells what was said.
                self._turns = {**{(each.scope, each.session): each for each in left}, **self._turns}
            raise

    def end(self, since: float | None = None) -> None:
        """Remember all, as the bank is being closed.

        Args:
            since: when the end began; what is not written at once goes to a writer, which knows for how long it waits.

        Raises:
            StoreError: the store failed; what is not remembered is held.
        """
        with self._lock:
            turns = list(self._turns.values())
        for turn in turns:
            turn.remember(True)
            self.forget(turn.scope, turn.session)

    def _taken(self, scope: Scope, session: str | None = None) -> list[OpenTurn]:
        with self._lock:
            taken = [key for key in self._turns if scope == key[0] and session in (None, key[1])]
            return [self._turns.pop(key) for key in taken]


_lock = ForkLock()
_of_banks: WeakKeyDictionary[MemoryBank, OpenTurns] = WeakKeyDictionary()


def open_turns(bank: MemoryBank) -> OpenTurns:
    """The open turns of a bank, whichever middlewares write them: a page may make another one each time."""
    with _lock:
        turns = _of_banks.get(bank)
        if turns is None:
            turns = _of_banks[bank] = OpenTurns()
            bank.writers.add(turns)
        return turns


@AtEnd
def _remember_the_rest() -> None:
    """Where a process ends in order, remember what has been said in its open turns."""
    for turns in list(_of_banks.values()):
        attempted("the store", turns.end, "what was said in turns without an answer is lost with this process")
