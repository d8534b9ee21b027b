"""What became of what was said before, by a language model at the end of a session: one question a session."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar, Final

from sqlalchemy import Connection, delete, insert

from ..derived.progress import claim
from ..errors import ContextTooLong, CutOff, ModelError, ModelUnavailable, warn_degraded
from ..layers import ClosedSession, Layer, register
from ..llm.flow import Procedure, run
from ..llm.limits import room
from ..llm.retry import asked_twice
from ..stores.database import retry_if_contended
from ..stores.rows import SessionRow
from ..stores.sql import SqlStore
from ..stores.statements import delete_among
from .asking import Told, read_records, records_prompt
from .grounding import Grounded, grounded
from .reading import records
from .showing import EARLIER, NEW, Shown, shown_of
from .store import turns_at
from .tables import change_records

NAME: Final = "validity"
_TOKENS: Final = 12_000
"""How many tokens the lines of a question have together, at most."""
_LEAST: Final = 16
"""How many tokens of a line are shown, at least."""


@register
class ChangeRecordLayer(Layer):
    """Has the bank's language model say what a session changes of what was said before; ``changes="model"``.

    One question for a session, once it has ended, about its lines and the earlier ones that may be about the same
    things; none where there is nothing to compare. Each record of the reply is checked against the words of its two
    lines (`secom_core.changes.grounding`). What the rules have linked as it was remembered stays, but of the pairs that
    the model names. Where the model gives no answer, the rules' links stand, and it is asked again at the next
    occasion, three times in all.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Validity"
    tables: ClassVar = (change_records,)
    listings: ClassVar[Mapping[str, str]] = {NAME: "what a language model says to have changed, with its values"}

    def make(self, session: ClosedSession) -> bool:
        """Ask what the session's new turns say of earlier ones, and save what their words bear out."""
        store, model = self.context.store, self.context.model
        with store.transaction(write=False) as connection:
            shown = shown_of(connection, session.row, session.new_turns)
        found: list[Grounded] = []
        guesses = 0
        if shown is not None and model is not None:
            try:
                told = run(asked(shown, room(model, _TOKENS)), model)
                found = grounded(told, shown.lines, len(shown.earlier), shown.linked)
                _tell_dropped(len(told), len(found))
            except ModelError as error:
                guesses = session.guesses + 1 if isinstance(error, ModelUnavailable) else 0
                warn_degraded(
                    "the language model did not say what a session changed; the links that the rules found are kept",
                    error,
                )
        return _save(store, session, found, guesses)

    def begin_again(self, scope_id: int) -> None:
        """Drop what the model has said of the scope."""
        with self.context.store.transaction(durable=False, scope=scope_id) as connection:
            self.forget_scope(connection, scope_id)

    @classmethod
    def forget_turns(cls, connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
        """Delete what was said of the session, which is asked about again, and what others say of these turns."""
        connection.execute(delete(change_records).where(change_records.c.session_id == session.id))
        mine = change_records.c.older_session_id == session.id
        delete_among(connection, change_records.c.older_turn, turns, mine)

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A line a record; an import has them made again."""
        with store.transaction(write=False) as connection:
            found = records(connection, scope_id)
        return ({**asdict(each), "at": each.at.isoformat()} for each in found)


def asked(shown: Shown, tokens: int) -> Procedure[list[Told]]:
    """What the model says of the lines; of a reply that was cut off, what is whole.

    Args:
        shown: the lines.
        tokens: how many tokens they have together; where the model says that it is too much, half of it, and so on.

    Raises:
        ModelError: it gave no answer, or two that cannot be read.
    """
    each = max(tokens // (EARLIER + NEW), _LEAST)
    ask = partial(records_prompt, shown.lines, len(shown.earlier), shown.linked, tokens=each)
    try:
        return (yield from asked_twice(ask, read_records, in_pieces=True))
    except CutOff as error:
        if not error.kept:
            raise
        warn_degraded("a reply of the language model was used as far as it is whole", error)
        kept: list[Told] = error.kept  # type: ignore[assignment]
        return kept
    except ContextTooLong:
        if each == _LEAST:
            raise
    return (yield from asked(shown, tokens // 2))


def _tell_dropped(told: int, kept: int) -> None:
    """Warn where nothing of what a model said stands in the words."""
    if told and not kept:
        warn_degraded(
            f"the language model named {told} changes in a session whose words support none of them; the links that "
            "the rules found are kept"
        )


@retry_if_contended
def _save(store: SqlStore, session: ClosedSession, found: Sequence[Grounded], guesses: int) -> bool:
    """Save the records in the place of former ones; whether that was done."""
    row = session.row
    with store.transaction(durable=False, scope=row.scope_id) as connection:
        if not claim(connection, row, NAME, session.taken, guesses=guesses):
            return False
        if not session.taken:
            connection.execute(delete(change_records).where(change_records.c.session_id == row.id))
        values = [_values(row, each) for each in _still_there(connection, row.scope_id, found)]
        if values:
            connection.execute(insert(change_records), values)
    return True


def _still_there(connection: Connection, scope_id: int, found: Sequence[Grounded]) -> list[Grounded]:
    """Those whose earlier line nobody has forgotten while the model was asked; the later ones' session is claimed."""
    places = sorted({(each.older.session_id, each.older.turn) for each in found})
    known = {
        (session_id, turn.index, place): message.text
        for session_id, turn in turns_at(connection, scope_id, places)
        for place, message in enumerate(turn.messages)
    }
    lines = ((each, each.older) for each in found)
    return [each for each, old in lines if known.get((old.session_id, old.turn, old.place)) == old.text]


def _values(session: SessionRow, found: Grounded) -> dict[str, Any]:
    older, newer = found.older, found.newer
    return {
        "scope_id": session.scope_id,
        "session_id": newer.session_id,
        "turn": newer.turn,
        "place": newer.place,
        "start": found.newer_span[0],
        "stop": found.newer_span[1],
        "older_session_id": older.session_id,
        "older_turn": older.turn,
        "older_place": older.place,
        "older_start": found.older_span[0],
        "older_stop": found.older_span[1],
        "kind": found.kind,
        **found.words,
    }
