"""A vector store outside kept in step with the bank: what it lacks goes there, what was forgotten goes from there.

The bank's own store is the truth. It notes each document before it is sent and until it is known to be deleted, so
that what a killed process had begun is ended by the next `recall` or `forget`.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Final, Literal, TypeVar

from ..conversation import Scope, Turn
from ..derived.scope_states import ScopeState, ScopeStates
from ..derived.segments import memories_of, searched_texts
from ..errors import ModelError, ModelPaused, StoreError, warn_degraded
from ..llm.pauses import VECTOR_STORE, check_pause, is_paused, note_answer, note_wait
from ..processes import ForkLock, interpreter
from ..protocols import VectorStore
from ..stores.digests import digest
from ..stores.rows import ScopeRow, SessionRow
from ..stores.sql import SqlStore
from ..text.batches import batches
from ..vectors import DocumentPlace, VectorDocument
from .ledger import Behind, VectorStoreLedger, stores_holding

T = TypeVar("T")

_NEAREST: Final = 200  # documents that a search brings: its cost does not grow with the scope
# How many more than the share says are asked for at first, and the least share that is reckoned with.
_MORE, _LEAST = 1.5, 1e-3
_AT_ONCE: Final = 128
_LOCKS: Final = 64
_LET_IN_S: Final = 0.01  # for how long who sends all leaves the scope to others between two steps
# NUL and lone surrogates, which servers refuse.
_UNSENDABLE: Final = {0: "\ufffd", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}


class _Failed(Exception):
    """The vector store has failed, for the reason in the message."""


@dataclass
class _Step:
    """When no more is sent in this call, but for the first of it; and whether anything was sent, and is left."""

    until: float = math.inf
    has_sent: bool = False
    is_left: bool = False


class VectorStoreSync:
    """Keeps what a vector store holds of each scope, and finds it there.

    Args:
        store: the bank's store.
        vector_store: the vector store.
        size: of how many scopes it is remembered how far they were followed.
    """

    def __init__(self, store: SqlStore, vector_store: VectorStore, *, size: int) -> None:
        self._store, self._vector_store = store, vector_store
        self._ledger = VectorStoreLedger(store, vector_store.name)
        self._states: ScopeStates[ScopeState] = ScopeStates(store, ScopeState, size=size)
        self._checked: set[int] = set()
        self._locks = [ForkLock() for _ in range(_LOCKS)]

    @property
    def name(self) -> str:
        """The vector store's."""
        return self._vector_store.name

    def nearest(
        self, scope: Scope, query: str, passes: Callable[[DocumentPlace], bool] = lambda _: True, share: float = 1.0
    ) -> list[DocumentPlace] | None:
        """The turns and memories nearest to the query, best first; nothing, with a warning, where the store fails.

        Args:
            scope: whose.
            query: what is asked.
            passes: what is wanted of them; the store is asked for more until enough passes, or it has no more.
            share: which share of all passes, about.
        """
        if not query.strip():
            return None
        k = _NEAREST if share >= 1 else int(_NEAREST / max(share, _LEAST) * _MORE)
        try:
            while True:
                ids, places = self._found(scope_label(scope), query, k)
                passing = [places[each] for each in ids if each in places and passes(places[each])]
                if share >= 1 or len(passing) >= _NEAREST or len(ids) < k:
                    return passing[:_NEAREST]
                k *= 4
        except _Failed as failed:
            self._degraded("this search is by words only", failed)
            return None

    def _found(self, label: str, query: str, k: int) -> tuple[list[str], dict[str, DocumentPlace]]:
        ids = self._called(self._vector_store.search, label, query.translate(_UNSENDABLE), k)
        places = self._ledger.places(ids)
        if any(owner != label for owner, _ in places.values()):
            raise _Failed("it ignores the filter: it found documents of another scope")
        return ids, {id_: place for id_, (_, place) in places.items()}

    def follow_session(self, scope: Scope, session_id: int, *, until: float = math.inf) -> None:
        """Send what is new of one session, with a warning where the vector store fails.

        Args:
            scope: whose.
            session_id: the session's.
            until: when it ends (of the monotonic clock); what is left is for the recalls.
        """
        with self._lock(scope), self._lenient():
            self._bring(scope, session_id, _Step(until))

    def follow(self, scope: Scope, *, until: float) -> None:
        """Send and delete whatever any process has left to do, with a warning where the vector store fails.

        Args:
            scope: whose.
            until: when it ends (of the monotonic clock), with a warning where more is left to be sent: the sessions
                that came last go first.
        """
        if self._step(scope, until):
            warn_degraded(
                f"the vector store {self.name!r} does not hold all of the scope {scope!r} yet, and gets some of it in "
                "each recall: until that is done, what it lacks is found by words. To send all of it now, call "
                "bank.prepare(scope)"
            )

    def follow_all(self, scope: Scope, ends: Callable[[], float]) -> None:
        """As `follow`, with all steps that are left, each of which ``ends`` then; others may search between them."""
        while self._step(scope, ends()):
            time.sleep(_LET_IN_S)

    def _step(self, scope: Scope, until: float) -> bool:
        """Whether more is left to be sent, and the vector store has not failed."""
        step = _Step(until)
        with self._lock(scope), self._lenient():
            self._follow(scope, step)
        return step.is_left

    def forget(self, scope: Scope) -> None:
        """Delete what was forgotten.

        Raises:
            StoreError: the vector store has failed; what it still holds is deleted by the next attempt.
        """
        was_paused = is_paused(self._vector_store)
        # What is forgotten goes now, and is not left to when the store is asked again.
        note_answer(self._vector_store)
        with self._lock(scope):
            try:
                self._follow(scope, None)
            except _Failed as failed:
                raise StoreError(
                    f"what was forgotten is gone from the bank, but the vector store {self.name!r} may still hold some "
                    f"of it, because it failed: {failed}; forget again to delete it there too"
                ) from failed.__cause__
            if was_paused:
                return
            with self._lenient():
                # What an outage has left is for the recalls.
                self._follow(scope, _Step(until=time.monotonic()), clearing=False)

    def drain(self) -> None:
        """Delete what is left of sessions that are no more, with a warning where the vector store fails."""
        with self._lenient():
            self._clear()

    def _follow(self, scope: Scope, step: _Step | None, *, clearing: bool = True) -> None:
        """Send within a step, and delete; only delete where there is none."""
        row = self._store.scope(scope)
        if clearing and (row is None or self._states.at(scope, row).row.revision < 0):
            self._clear(scope_label(scope))
        self._states.caught_up(scope, partial(self._follow_sessions, scope, step))

    def _follow_sessions(self, scope: Scope, step: _Step | None, state: ScopeState, row: ScopeRow) -> ScopeRow:
        changed = self._store.sessions(row.id, since=state.row.revision)
        if step is not None and row.id not in self._checked:
            self._check(changed)
            self._checked.add(row.id)
        todo = sorted({*state.left, *(session.id for session in changed)}, reverse=True)
        if step is not None:
            # So that the next step does not look again at those that this one has brought.
            state.left = set(todo)
        for session_id in todo:
            self._bring(scope, session_id, step)
            if step is not None:
                if step.is_left:
                    break
                state.left.discard(session_id)
        return state.row if step is None else row

    def _check(self, sessions: Sequence[SessionRow]) -> None:
        """Find out what is not there any more, where a store lives in memory or was put back to an older state."""
        noted = {
            each: [id_ for id_, arrived in self._ledger.documents(each.id).items() if arrived] for each in sessions
        }
        existing: set[str] = set()
        for batch in batches(list(chain.from_iterable(noted.values())), _AT_ONCE):
            existing.update(self._called(self._vector_store.existing, batch))
        for session, ids in noted.items():
            if lost := [each for each in ids if each not in existing]:
                self._ledger.mark(session, lost, arrived=False)

    def _bring(self, scope: Scope, session_id: int, step: _Step | None) -> None:
        since: int | None = None
        while (behind := self._ledger.behind(session_id)) is not None:
            # Not less than was looked at before: another writer may have noted that it has followed that far.
            since = behind.since if since is None else min(since, behind.since)
            wanted = self._documents(scope, behind, since)
            noted = self._ledger.documents(session_id, since)
            self._delete([each for each in noted if each not in wanted])
            if step is None:
                return
            new = [document for id_, document in wanted.items() if not noted.get(id_)]
            self._send(scope_label(scope), behind, new, step)
            if step.is_left or self._ledger.followed(behind):
                return
        if self._store.session(session_id) is None:
            self._clear_session(session_id)

    def _documents(self, scope: Scope, behind: Behind, since: int) -> dict[str, VectorDocument]:
        session, label = behind.session, scope_label(scope)
        turns = self._store.turns(session, since)
        memories = memories_of(session.name, self._store.memories(session.id, since), turns)
        made = [
            *(_document(label, session.id, "turn", turn, text) for turn in turns for text in searched_texts([turn])),
            *(_document(label, session.id, "key", memory.turns[0], memory.key) for memory in memories),
        ]
        return {each.id: each for each in made if each.text.strip()}

    def _send(self, label: str, behind: Behind, documents: Sequence[VectorDocument], step: _Step) -> None:
        if documents or behind.since == 0:
            self._ledger.intend(behind.session, label, documents)
        for batch in batches(documents, _AT_ONCE):
            if step.has_sent and time.monotonic() > step.until:
                step.is_left = True
                return
            self._called(self._vector_store.upsert, batch)
            step.has_sent = True
            self._ledger.mark(behind.session, [each.id for each in batch], arrived=True)

    def _delete(self, ids: Sequence[str]) -> None:
        for batch in batches(ids, _AT_ONCE):
            self._called(self._vector_store.delete, batch)
            self._ledger.removed(batch)

    def _clear(self, label: str | None = None) -> None:
        for session_id in self._ledger.forgotten(label):
            self._clear_session(session_id)

    def _clear_session(self, session_id: int) -> None:
        self._delete(list(self._ledger.documents(session_id)))
        self._ledger.close(session_id)

    def _lock(self, scope: Scope) -> ForkLock:
        return self._locks[hash(scope) % _LOCKS]

    @contextmanager
    def _lenient(self) -> Iterator[None]:
        try:
            yield
        except _Failed as failed:
            self._degraded("what it lacks is found by words until it answers again", failed)

    def _degraded(self, what: str, failed: _Failed) -> None:
        paused = failed.__cause__ if isinstance(failed.__cause__, ModelPaused) else None
        warn_degraded(f"the vector store {self.name!r} failed, {what}", paused or failed)

    def _called(self, method: Callable[..., T], *args: Any) -> T:
        """What a method of the vector store gives; its failure is told from one of the bank's own store.

        A store that has kept callers waiting for nothing is left alone for a while, as a model is: it may embed.
        """
        began = time.monotonic()
        try:
            check_pause(self._vector_store)
            with interpreter.put_down():
                made = method(*args)
        except (StoreError, ModelError) as error:
            note_wait(self._vector_store, time.monotonic() - began, error, kind=VECTOR_STORE)
            raise _Failed(str(error)) from error
        # That others are answered says nothing of an embedder.
        if method in (self._vector_store.search, self._vector_store.upsert):
            note_answer(self._vector_store)
        return made


@contextmanager
def store_errors(name: str, what: str) -> Iterator[None]:
    """A call of somebody else's vector store: whatever it raises is a `StoreError` that says who failed to do what.

    Args:
        name: the vector store's.
        what: what it was asked to do.

    Raises:
        StoreError: the store raised; its error is chained.
    """
    try:
        yield
    except (StoreError, ModelError):
        raise
    except Exception as error:  # an integration may raise anything, and there is no common base
        raise StoreError(f"{name} failed to {what}: {type(error).__name__}: {error}") from error


def scope_label(scope: Scope) -> str:
    """What stands for the scope in a vector store: a hash, so that no name can be mistaken for a filter.

    It begins with a letter, because there are stores that compare what looks like a number as one.
    """
    return f"s{digest(json.dumps(list(scope)))}"


def forgotten_elsewhere(store: SqlStore, scope: Scope, *, here: str | None = None) -> None:
    """Warn where something of the scope may be in a vector store that the bank was opened without.

    Args:
        store: the bank's store.
        scope: the scope of which something was forgotten.
        here: the name of the vector store that the bank was opened with.
    """
    names = [name for name in stores_holding(store, scope_label(scope)) if name != here]
    if names:
        warn_degraded(
            f"what was forgotten may still be in the vector store {names[0]!r}, which this bank was opened without"
        )


def _document(label: str, session_id: int, kind: Literal["turn", "key"], turn: Turn, text: str) -> VectorDocument:
    words = text.translate(_UNSENDABLE)
    where = json.dumps([label, session_id, kind, turn.index])
    id_ = str(uuid.UUID(hex=digest(f"{where}\n{words}")))
    place = DocumentPlace(kind, turn.session.translate(_UNSENDABLE), turn.index)
    return VectorDocument(id_, words, label, place, turn.id.translate(_UNSENDABLE))
