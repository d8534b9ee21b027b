"""Correction by hand: what was remembered wrongly is replaced, taken back, or pinned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Final, Literal, get_args

from sqlalchemy import Connection, select

from ..context.replacing import marked, words_of
from ..conversation import NOTE, OF_CORRECTIONS, WRITTEN_BY, Message, Scope, Turn, check_scope
from ..corrections import store as rows
from ..corrections.records import Mark, MarkedSpan, MarkKind
from ..derived.progress import make_again
from ..errors import InvalidInput
from ..layers import registered
from ..memory import Hit
from ..stores.rows import SessionRow, Touched, session_row
from ..stores.schema import sessions
from ..times import present
from .checks import check_choice, check_moment
from .deriving import Deriving
from .meant import part_named, parts_meant
from .redaction import Redact, redacted_message

_STANDING: Final[tuple[MarkKind, ...]] = ("corrected", "retracted")
_PINNED: Final[tuple[MarkKind, ...]] = ("pinned",)
WrittenBy = Literal["user", "assistant"]
"""Whose words a correction is: those of the speaker, or of a language model for the speaker."""
Named = str | Turn | Hit
"""A turn: itself, its id, the id of a message of it, or a hit that shows it alone."""


class Corrections:
    """``bank.corrections``: correct, retract and pin turns by hand.

    Nothing is rewritten. A correction is a turn of its own, in a session of its own, and the older turn stays, with its
    mark, in the bank and in every export. Marks are truth, as words are: they survive `MemoryBank.rebuild`, go along
    with exports, moves and backups, and are forgotten with their turns. Every method raises `InvalidInput` where the
    scope holds no such turn, and `StoreError` where the store failed; nothing is changed then.

    What layers had made of the session of a turn that holds no more goes with the mark, and of a running summary all
    that came after it. It is made again of what holds: at once, or where the bank has a language model, when a session
    next ends, which asks the model again for each session that goes.

    Args:
        deriving: the bank's, which derives what comes in.
        redact: takes out of a text what must not be kept.
        current: gives the scope back, after what has ended of it is forgotten.
        zone: in which the day of a correction is read.
    """

    def __init__(
        self, deriving: Deriving, redact: Redact | None, current: Callable[[Scope], Scope], zone: tzinfo | None = None
    ) -> None:
        self._deriving, self._store, self._redact = deriving, deriving.store, redact
        self._current, self._zone = current, zone

    def correct(
        self,
        scope: Sequence[str],
        what: Named,
        text: str | None,
        *,
        part: str | None = None,
        at: datetime | None = None,
        by: WrittenBy = "user",
    ) -> str | None:
        """Correct a turn, or a part of it; see `MemoryBank.correct`."""
        check_choice("by", by, get_args(WrittenBy))
        if text is None:
            self.retract(scope, what, part=part, at=at)
            return None
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(
                f"a correction needs the text that replaces the turn, got {text!r}; to withdraw a turn, retract it"
            )
        named = self._current(check_scope(scope))
        turn, spans = self._meant(named, what, part, text)
        moment = check_moment("at", at, self._zone)
        first = turn.messages[0]
        # It is said by whoever said the other, of the same matter, and nobody answers it.
        role = first.role if first.role in ("user", "human", "") else "user"
        about = {key: value for key, value in first.metadata.items() if key != WRITTEN_BY}
        if by == "assistant" and first.speaker != NOTE:
            # Whose words a note is, its speaker says.
            about[WRITTEN_BY] = by
        message = redacted_message(Message(text, role, first.speaker, None, moment, about), self._redact)
        session = _session_of(turn)

        def mark(connection: Connection, written: SessionRow, touched: Touched) -> None:
            made = Mark(turn.id, "corrected", moment, touched.turn_ids[0])
            self._put(connection, written.scope_id, made, spans)

        made = self._store.append(named, session, [message], close=True, also=[mark])
        self._derive(named, made.session_id, session, turns=1)
        return made.turn_ids[0]

    def retract(
        self, scope: Sequence[str], what: Named, *, part: str | None = None, at: datetime | None = None
    ) -> None:
        """Mark a turn, or its correction, as not true. It stays in the bank.

        Args:
            scope: whose memory it is.
            what: the turn, its id, or a hit that shows it alone.
            part: the words of the turn that are not true; all of it unless given.
            at: when it was retracted; now unless given.
        """
        moment = check_moment("at", at, self._zone)
        turn, spans = self._meant(self._current(check_scope(scope)), what, part)

        def mark(connection: Connection, scope_id: int, turn_id: str) -> None:
            self._put(connection, scope_id, Mark(turn_id, "retracted", moment), spans)

        self._write(scope, turn, mark, made_again=True)

    def undo(self, scope: Sequence[str], what: Named) -> None:
        """Make a corrected or retracted turn hold again; its correction is retracted.

        Raises:
            InvalidInput: it was neither.
        """
        moment = present(self._zone)

        def unmark(connection: Connection, scope_id: int, turn_id: str) -> None:
            known = [mark for mark in rows.marks(connection, scope_id) if mark.kind != "pinned"]
            undone = [mark for mark in known if mark.turn_id == turn_id]
            if not undone:
                raise InvalidInput(
                    f"there is nothing to undo: the turn {turn_id!r} was neither corrected nor retracted by hand"
                )
            rows.remove(connection, scope_id, turn_id, _STANDING)
            self._let_go(connection, scope_id, turn_id)
            for newer in dict.fromkeys(mark.newer for mark in undone if mark.newer is not None):
                last = rows.last_of(known, newer)
                rows.put(connection, scope_id, Mark(last, "retracted", moment))
                self._let_go(connection, scope_id, last)

        self._write(scope, what, unmark, made_again=True)

    def pin(self, scope: Sequence[str], what: Named) -> None:
        """Show a turn in every recall; all pinned turns take at most an eighth of the budget, the last pinned first.

        Of a recall of ``k`` memories, half at most are pinned, so that there is always room for an answer.
        """
        moment = present(self._zone)

        def pin(connection: Connection, scope_id: int, turn_id: str) -> None:
            rows.put(connection, scope_id, Mark(turn_id, "pinned", moment))

        self._write(scope, what, pin)

    def unpin(self, scope: Sequence[str], what: Named) -> None:
        """Show a turn again only if it answers the query; does nothing if the turn is not pinned."""

        def unpin(connection: Connection, scope_id: int, turn_id: str) -> None:
            rows.remove(connection, scope_id, turn_id, _PINNED)

        self._write(scope, what, unpin)

    def marks(self, scope: Sequence[str]) -> list[Mark]:
        """All marks of corrected, retracted and pinned turns, in the order in which they were made."""
        row = self._store.scope(self._current(check_scope(scope)))
        if row is None:
            return []
        with self._store.transaction(write=False) as connection:
            return rows.marks(connection, row.id)

    def lines_under(self, scope: Sequence[str], turn_id: str) -> str:
        """The lines that a recall shows under a turn that was corrected or taken back by hand; empty where it holds."""
        mine = [each.replacement for each in self.marks(scope) if each.turn_id == turn_id]
        turns = self._store.turns_named(check_scope(scope), [turn_id]) if mine else []
        return "".join(marked(each, words_of(turn, each)) for turn in turns for each in mine if each is not None)

    def restore(self, scope: Sequence[str], marks: Sequence[Mark]) -> None:
        """Put marks on turns that were stored anew; one that is marked keeps its mark, and one that is gone needs none.

        Args:
            scope: whose they are.
            marks: as `marks` gave them before.
        """
        row = self._store.scope(check_scope(scope))
        if marks and row is not None:
            rows.write(self._store, row.id, lambda connection: rows.restore(connection, row.id, marks))

    def keep_retracted(self, scope: Sequence[str], messages: Sequence[Message], session: str) -> tuple[str, ...]:
        """Put messages with a time on disk that are taken back already, in one transaction; their turns' ids.

        Args:
            scope: whose they are.
            messages: what was said and is to be kept as a record.
            session: the session's name.
        """
        moment = present(self._zone)

        def mark(connection: Connection, written: SessionRow, touched: Touched) -> None:
            for turn_id in touched.turn_ids:
                rows.put(connection, written.scope_id, Mark(turn_id, "retracted", moment))

        kept = [redacted_message(message, self._redact) for message in messages]
        return self._store.append(check_scope(scope), session, kept, also=[mark]).turn_ids

    def _write(
        self,
        scope: Sequence[str],
        what: Named,
        write: Callable[[Connection, int, str], None],
        *,
        made_again: bool = False,
    ) -> None:
        named = self._current(check_scope(scope))
        turn, row = self._turn(named, what), self._store.scope(named)
        if row is not None:
            rows.write(self._store, row.id, lambda connection: write(connection, row.id, turn.id))
            session = self._store.session_named(named, turn.session) if made_again else None
            if session is not None:
                self._derive(named, session.id, turn.session)

    def _meant(
        self, scope: Scope, what: Named, part: str | None, text: str | None = None
    ) -> tuple[Turn, Sequence[MarkedSpan | None]]:
        """The turn that holds in the place of what is named, and the parts of it that are meant; nothing for all."""
        turn, known = self._turn(scope, what), self.marks(scope)
        if part is not None:
            span = part_named(turn, part)
            newer = rows.corrected_around(known, turn.id, span) if text is None else None
            if newer is None:
                return turn, [span]
            # What was said in the place of more than these words is retracted only where it says them again.
            turn = self._turn(scope, newer)
            return turn, [part_named(turn, part)]
        last = rows.last_of(known, turn.id)
        mine = [mark for mark in known if mark.turn_id == last and mark.kind != "pinned" and mark.span is None]
        if text is None or mine:
            return turn, [None]
        hit = what if isinstance(what, Hit) and last == turn.id else None
        turn = turn if last == turn.id else self._turn(scope, last)
        return turn, parts_meant(turn, text, hit)

    def _put(self, connection: Connection, scope_id: int, mark: Mark, spans: Sequence[MarkedSpan | None]) -> None:
        """Mark parts of a turn; of what was corrected already, all of its correction."""
        known = rows.marks(connection, scope_id)
        last = rows.last_of(known, mark.turn_id)
        for older, span in rows.standing_at(known, last, spans if last == mark.turn_id else [None]):
            rows.put(connection, scope_id, replace(mark, turn_id=older, span=span))
            self._let_go(connection, scope_id, older)

    @staticmethod
    def _let_go(connection: Connection, scope_id: int, turn_id: str) -> None:
        """Delete what layers made of a turn's session, which is to be taken in anew, as it holds something else now."""
        session_id, index = rows.place_of(connection, scope_id, turn_id)
        session = session_row(connection.execute(select(sessions).where(sessions.c.id == session_id)).one())
        made = [each for each in registered() if each.takes_in_sessions]
        for layer in made:
            layer.forget_turns(connection, session, {index})
        make_again(connection, session, [name for each in made for name in each.progress_names or (each.name,)])

    def _derive(self, scope: Scope, session_id: int, session: str, *, turns: int = 0) -> None:
        # A language model may take its time, and is asked when a session next ends.
        ended = [] if self._deriving.layers.has_model else [session]
        self._deriving.after_write(scope, session_id, turns=turns, ended=ended)

    def _turn(self, scope: Scope, what: Named) -> Turn:
        """The turn of the scope that is meant."""
        if isinstance(what, Hit) and len(what.turns) != 1:
            raise InvalidInput(
                f"the hit shows several turns; pass the id of the one that you mean: {', '.join(what.turn_ids)}"
            )
        turn_id = what.turns[0].id if isinstance(what, Hit) else what.id if isinstance(what, Turn) else what
        if not isinstance(turn_id, str):
            raise InvalidInput(f"pass a turn, the id of a turn, or a hit that shows one turn, got {what!r}")
        found = self._store.turns_named(scope, [turn_id])
        if not found:
            raise InvalidInput(f"no turn of the scope {scope!r} has the id {turn_id!r}")
        return found[0]


def _session_of(turn: Turn) -> str:
    """The session in which a turn is corrected."""
    return turn.session if turn.session.endswith(OF_CORRECTIONS) else turn.session + OF_CORRECTIONS
