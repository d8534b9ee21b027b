"""Where a bank is, and how its scopes leave it and enter: exports, moves into another database, copies of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from ..archive.backup import back_up
from ..archive.export import ImportedSession, header, layer_lines, read, session_lines
from ..archive.move import Moved, move
from ..conversation import Message, Scope, Turn, check_scope
from ..derived.whole import agree
from ..errors import StoreUnwritable
from ..layers import registered
from ..stores.rows import SessionRow
from ..stores.sql import Also
from .deriving import Deriving
from .lifetimes import Lifetimes
from .parts import Parts
from .portions import Portion
from .redaction import redacted_message, redacted_text


class Storage:
    """``bank.storage``: where a bank is stored, and export, import, moving and backup.

    Args:
        deriving: the bank's, which derives what a writer that was killed had not, and what comes in.
        parts: what the bank is made of.
        lifetimes: the bank's, which forgets what has ended of a scope before it is read.
    """

    def __init__(self, deriving: Deriving, parts: Parts, lifetimes: Lifetimes) -> None:
        self._lifetimes = lifetimes
        self._deriving, self._redact = deriving, parts.redact
        self._store, self._layers = deriving.store, deriving.layers
        self.id = self._store.path or f"memory:{uuid4().hex}"
        """Which bank it is: its file, or its URL without the password; in memory an id that no other bank has."""
        self.needs = (*parts.of_its_own, *([self._store.secret] if self._store.secret else []))
        """The arguments of `MemoryBank.open` that its place alone does not give, such as ``redact`` and ``key``."""

    @property
    def path(self) -> str | None:
        """The bank's file, or its URL without the password; ``None`` if the bank is in memory."""
        return self._store.path

    @property
    def is_open(self) -> bool:
        """Whether nobody has closed the bank."""
        return not self._store.is_closed

    @property
    def busy_timeout(self) -> float | None:
        """How many seconds a call waits for others who write; as long as the server says where there is none."""
        return self._store.busy_timeout

    def epoch(self, scope: Sequence[str]) -> tuple[int, int] | None:
        """Another one wherever something of the scope was forgotten, so that what was recalled before may be gone.

        It may also change when nothing was forgotten. Nothing where nothing is remembered.
        """
        row = self._lifetimes.row(check_scope(scope))
        return (row.id, row.epoch) if row is not None else None

    def write(
        self,
        scope: Scope,
        session: str,
        messages: Sequence[Message],
        *,
        only_in: int | None,
        answers: str | None = None,
        also: Sequence[Also] = (),
    ) -> int:
        """Put messages with a time on disk, without deriving anything; of how many turns they are.

        Args:
            scope: whose they are.
            session: the session's name.
            messages: in order.
            only_in: the scope's id as it was; where the scope was forgotten since, nothing is written.
            answers: the id of the turn that replies at the beginning join; the last one where the session lacks it.
            also: what else is written in the transaction, such as `Chats.beside` gives.

        Raises:
            DuplicateId: an id belongs to another message of the scope; nothing is written.
            StoreError: the store failed; nothing is written.
        """
        done = self._store.append(scope, session, self.as_kept(messages), only_in=only_in, answers=answers, also=also)
        return len(done.turn_ids)

    def as_kept(self, messages: Sequence[Message]) -> list[Message]:
        """The messages as the bank keeps them: redacted."""
        return [redacted_message(message, self._redact) for message in messages]

    def export(self, scope: Sequence[str]) -> Iterator[str]:
        """Export a scope as JSON lines: every turn word for word, its memories, and the rows of layers.

        What layers can make again, such as summaries and events, is there for people to read: `import_` passes over it.
        """
        scope = self._lifetimes.current(check_scope(scope))
        yield header(scope)
        for row in self._store.sessions_of(scope):
            yield from self._session_lines(scope, row)
        kept = self._store.scope(scope)
        if kept is not None:
            yield from layer_lines(self._store, kept.id)

    def _session_lines(self, scope: Scope, row: SessionRow) -> Iterator[str]:
        derivation = self._deriving.derivation
        try:
            current = derivation.derive(row.id, scope) or row
        except StoreUnwritable:
            # What is on a full disk can be saved elsewhere; who takes it in makes its memories.
            return session_lines(replace(row, settled=0), self._store.turns(row), ())
        turns = self._store.turns(current)
        return session_lines(current, turns, derivation.rows(scope, current, turns))

    def import_(self, lines: Iterable[str], *, scope: Sequence[str] | None = None) -> int:
        """Import what `export` returned; turns that are stored already are skipped.

        Args:
            lines: the lines of an export.
            scope: where it goes; the scope that was exported unless given.

        Returns:
            How many turns came in.

        Raises:
            InvalidInput: a line that is not what `export` writes, by its number; nothing is taken in.
            DuplicateId: an id belongs to another message; sessions before it are in.
        """
        found = read(lines)
        target = check_scope(scope) if scope is not None else found.scope
        # Whatever redaction raises, it raises before anything is taken in.
        sessions = [
            (each, [redacted_message(message, self._redact) for message in each.messages]) for each in found.sessions
        ]
        known = registered(found.layers)
        redact = partial(redacted_text, redact=self._redact)
        records = {layer: layer.redacted(found.layers[layer.name], redact) for layer in known}
        came = sum(self._taken_in(target, *each) for each in self._deriving.bar(sessions, "importing", unit="session"))
        self._deriving.came(target, came)
        row = self._store.scope(target)
        if row is not None:
            for layer, kept in records.items():
                layer.restore(self._store, row.id, kept)
        self._layers.catch_up(target, Portion(bar=self._deriving.bar))
        return came

    def _taken_in(self, scope: Scope, session: ImportedSession, messages: list[Message]) -> int:
        known = self._known_turns(scope, session.name)
        appended = self._store.append(
            scope, session.name, messages, turns=None if known else session.places, close=session.closed
        )
        row = self._store.session(appended.session_id)
        if row is not None and not known and _fit(session, messages, self._store.turns(row)):
            cut = row.messages if row.closed and session.settled == row.turns else 0
            self._store.save_memories(row, session.memories, settled=session.settled, cut=cut)
        self._deriving.after_write(scope, appended.session_id, turns=0)
        return len(set(appended.turn_ids) - known)

    def _known_turns(self, scope: Scope, session: str) -> set[str]:
        row = self._store.session_named(scope, session)
        return {turn.id for turn in self._store.turns(row)} if row is not None else set()

    def move_to(self, other: Storage) -> Moved:
        """Copy every scope with all its layers into another bank, on SQLite or PostgreSQL, and compare both sides.

        One that was cut short is called again: it passes over what is there already. This bank stays as it is. A
        vector store outside (``vector_store=``) is filled by the other bank's own searches.

        Args:
            other: the ``storage`` of the other bank.

        Raises:
            StoreError: a scope is there with something else in it, or did not arrive whole; the error names it.
        """
        return move(self._store, other._store, bar=lambda scopes: self._deriving.bar(scopes, "moving", unit="scope"))

    def backup(self, path: str | Path) -> Path:
        """Copy the bank's SQLite file at one moment, while others go on writing. An encrypted file stays encrypted.

        Args:
            path: the file; one that is there is replaced, once the copy is whole.

        Raises:
            InvalidInput: the bank is on PostgreSQL, where ``pg_dump`` does this, or ``path`` is its own file.
            StoreError: the bank's file is damaged, or the copy could not be made.
        """
        return back_up(self._store, path)

    def rekey(self, key: str) -> None:
        """Encrypt the bank's file with another key, which this bank then uses.

        It is one transaction: a process that is killed leaves a file with the old key or with the new one. Other banks
        that have the file open, of this process and of others, get a `StoreError` from then on, until they are opened
        with the new key; a recall of this bank may get it too, at the very moment. Backups keep the key that they
        were made with.

        Args:
            key: the new passphrase.

        Raises:
            InvalidInput: it cannot be one, or the bank is not encrypted: `move_to` takes it into one that is.
            StoreError: the file could not be written, as others are writing to it; it has the old key.

        Warns:
            DegradedWarning: others are reading, and until it is compacted, the file holds pages under the old key.
        """
        self._store.rekey(key)

    def compact(self) -> None:
        """Rewrite the bank's files without forgotten words, and free their space.

        `MemoryBank.forget` overwrites what it deletes; a reader may have kept it from emptying the write-ahead log, and
        unused parts of pages may hold copies of rows that SQLite had moved before. Nobody can write meanwhile. On
        PostgreSQL, vacuuming is the server's work.

        Raises:
            StoreError: another process holds the file, or the disk is full.
        """
        self._store.compact()


def _fit(session: ImportedSession, messages: Sequence[Message], turns: Sequence[Turn]) -> bool:
    """Whether an imported session's memories are of the words that were kept; those that are not are made again."""
    return session.is_partitioned and messages == session.messages and agree(session.memories, turns)
