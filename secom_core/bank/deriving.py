"""What is derived of sessions, brought up to their messages: segments, keys, vectors, a vector store, layers."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Final

from ..conversation import ITEMS, OF_CORRECTIONS, Scope
from ..corrections.store import marks, said_since
from ..derived.segmenters import ScopeSegmenters
from ..derived.segments import Derivation
from ..errors import StoreLocked, warn_degraded
from ..layers import registered
from ..protocols import EndSegmenter
from ..stores.last_ids import free_last_ids
from ..stores.rows import SessionRow
from ..stores.sql import SqlStore
from ..telemetry import staged
from .index_steps import step_ends
from .layers import Layers
from .portions import Bar, Portion

if TYPE_CHECKING:
    from ..vector_stores.sync import VectorStoreSync

_LOG: Final = logging.getLogger(__name__)

_TOGETHER: Final = 256
"""From how many texts on an embedder is asked, where those of several sessions are made."""

_FEW: Final = 16
"""Of how many turns at most a write does not wait until a vector store has what else it lacks of the session."""

LEFT: Final[ContextVar[list[tuple[Scope, Callable[[], None]]] | None]] = ContextVar("LEFT", default=None)
"""Where a write leaves what is to be made of ended sessions, by scope; a caller who sets it does that elsewhere."""


@dataclass(frozen=True)
class Deriving:
    """Derives after every write, and again from the raw turns.

    Args:
        store: where turns are.
        derivation: makes segments, keys and vectors.
        segmenters: cut sessions; some learn.
        vector_store: follows the sessions, where there is one.
        layers: take in closed sessions.
        bar: shows progress where the bank does.
        changes: look for statements that take the place of others.
        closing: is set as the bank is closed, which waits until each layer has finished the session that it is at.
    """

    store: SqlStore
    derivation: Derivation
    segmenters: ScopeSegmenters
    vector_store: VectorStoreSync | None
    layers: Layers
    bar: Bar
    changes: bool = False
    closing: Event = field(default_factory=Event)

    def session(
        self,
        scope: Scope,
        session_id: int,
        *,
        afresh: bool = False,
        ended: bool = False,
        unembedded: list[tuple[int, str]] | None = None,
        in_step: bool = False,
    ) -> bool:
        """Bring what is derived of one session up to its messages, layers apart.

        Args:
            scope: whose session it is.
            session_id: the session's id.
            afresh: make all of it again.
            ended: have a segmenter that waits for the end of sessions cut it, if it has ended.
            unembedded: as for `secom_core.derived.segments.Derivation.derive`.
            in_step: send no more to the vector store than a recall does, of what an outage has left.

        Returns:
            Whether such a segmenter did what it was asked to, or nothing was asked.
        """
        row = self.derivation.derive(session_id, scope, afresh=afresh, ended=ended, unembedded=unembedded)
        if row is not None:
            self.link(scope, row, afresh=afresh)
        if self.vector_store is not None:
            self.vector_store.follow_session(scope, session_id, until=step_ends() if in_step else math.inf)
        return not (ended and row is not None and row.awaits_cut)

    def link(self, scope: Scope, row: SessionRow, *, afresh: bool = False) -> None:
        """Link what a session's new turns state to what was said before, where the bank looks for changes."""
        if self.changes and scope[0] != ITEMS:
            from ..changes.store import follow

            follow(self.store, row, afresh=afresh, stands_since=self._stands_since(row))

    def _stands_since(self, row: SessionRow) -> dict[str, datetime]:
        """When what the corrections by hand of a session correct was said."""
        if not row.name.endswith(OF_CORRECTIONS):
            return {}
        with self.store.transaction(write=False) as connection:
            known = marks(connection, row.scope_id)
            return said_since(connection, row.scope_id, {each.newer: each.turn_id for each in known if each.newer})

    @staged("derive")
    def after_write(
        self, scope: Scope, session_id: int, *, turns: int, ended: Sequence[str] = (), whole: bool = False
    ) -> None:
        """Derive what a write has made necessary. What was said is stored, so nothing is raised.

        Args:
            scope: whose session it is.
            session_id: the session that was written to.
            turns: how many turns came.
            ended: the names of the sessions that ended.
            whole: take in all older sessions too that layers have yet to take in, as nobody waits who has ended these.

        Warns:
            DegradedWarning: something failed, or is left; it is made at the next occasion.
        """
        portion = Portion(closing=self.closing) if whole else Portion.at_end(len(ended), self.closing)
        left = LEFT.get()
        with self._told(turns):
            if ended and left is None:
                self._cut_ended(scope, portion)
            for other in ended:
                row = self.store.session_named(scope, other)
                if row is not None and row.id != session_id:
                    self.session(scope, row.id)
            self.session(scope, session_id, in_step=0 < turns <= _FEW)
            self.came(scope, turns)
            if ended and left is None:
                self._take_in(scope, portion)
        if ended and left is not None:
            left.append((scope, partial(self._after_end, scope, portion)))

    def _after_end(self, scope: Scope, portion: Portion) -> None:
        """Make what is made of sessions that have ended."""
        with self._told(0):
            self._cut_ended(scope, portion)
            self._take_in(scope, portion)

    def _take_in(self, scope: Scope, portion: Portion) -> None:
        self.layers.catch_up(scope, portion)
        portion.tell()

    @contextmanager
    def _told(self, turns: int) -> Iterator[None]:
        """Raise nothing that is done within; say it."""
        try:
            yield
        except StoreLocked as error:
            # Others write for longer than is waited: the next recall makes it, and finds everything until then.
            _LOG.info("what was made of %d new turns is made again by the next recall: %s", turns, error)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the caller's words are stored
            warn_degraded(
                "the messages are stored, but they could not be cut and indexed; the next recall tries again: "
                f"{type(error).__name__}: {error}"
            )

    def end_idle(
        self, now: datetime, idle: timedelta | None, current: Callable[[Scope], Scope]
    ) -> list[tuple[Scope, str]]:
        """End the sessions that rest at a moment for longer than ``idle``, and make what is made of them; which.

        What has expired is forgotten before (``current``), and no model reads it.
        """
        done: list[tuple[Scope, str]] = []
        if idle is None:
            return done
        for scope in self.store.resting_scopes(now, idle):
            ended = self.store.end_resting(current(scope), now, idle)
            last = self.store.session_named(scope, ended[-1]) if ended else None
            if last is not None:
                self.after_write(scope, last.id, turns=0, ended=ended, whole=True)
            done += [(scope, name) for name in ended]
        return done

    def came(self, scope: Scope, turns: int) -> None:
        """Let a segmenter that learns know that so many turns have come."""
        self.segmenters.came(scope, turns)

    def _cut_ended(self, scope: Scope, portion: Portion) -> None:
        """Have a segmenter that waits for the end of sessions cut those that have ended, until it fails."""
        if not isinstance(self.segmenters.of(scope), EndSegmenter):
            return
        since, owed = time.monotonic(), self.store.awaiting_cut(scope)
        for number, row in enumerate(portion.bar(owed, "segments", unit="session")):
            if portion.is_over(number, since):
                portion.left["segments"] = len(owed) - number
                return
            if not self.session(scope, row.id, ended=True):
                return

    @property
    def _whole(self) -> Portion:
        return Portion(bar=self.bar, closing=self.closing)

    def missing(self, scope: Scope) -> int:
        """Make whatever is not derived yet; how many times a layer took a session in."""
        whole = self._whole
        self._cut_ended(scope, whole)
        self._together(scope, self.store.sessions_of(scope))
        return self.layers.catch_up(scope, whole)

    def named(self, scope: Scope, names: Sequence[str], turns: int, *, ended: bool) -> None:
        """Derive named sessions, as `MemoryBank.derive` does; nothing is raised, see `after_write`."""
        rows = [row for row in (self.store.session_named(scope, name) for name in names) if row is not None]
        over = [row.name for row in rows if ended or row.closed]
        if len(rows) > 1:
            with self._told(turns):
                self._together(scope, rows)
        if rows:
            # One name says that sessions have ended; what is made then is made of all of them.
            self.after_write(scope, rows[-1].id, turns=turns, ended=over[-1:], whole=True)

    def _together(self, scope: Scope, rows: Iterable[SessionRow]) -> None:
        """Derive several sessions; an embedder is asked for many texts at once."""
        unembedded: list[tuple[int, str]] = []
        epoch = self.derivation.epoch(scope)
        for row in rows:
            self.session(scope, row.id, unembedded=unembedded)
            if len(unembedded) >= _TOGETHER:
                self.derivation.vectors_of_sessions(unembedded, epoch=epoch)
                unembedded.clear()
                epoch = self.derivation.epoch(scope)
        self.derivation.vectors_of_sessions(unembedded, epoch=epoch)

    def rebuild(self, scope: Scope) -> None:
        """Make everything derived again from the raw turns."""
        free_last_ids(self.store, [table for layer in registered() for table in layer.tables])
        self.segmenters.learn(scope)
        if self.changes:
            from ..changes.store import begin_again

            begin_again(self.store, scope)
        answers = True
        for row in self.bar(self.store.sessions_of(scope), "rebuilding", unit="session"):
            answers = self.session(scope, row.id, afresh=True, ended=answers) and answers
        self.layers.begin_again(scope, self._whole)
