"""Which closed sessions a layer has taken in, and the one guard that keeps late writes out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, case, delete, func, insert, select, true, update

from ..stores.database import retry_if_contended
from ..stores.derived import grown, touch
from ..stores.rows import SessionRow, session_row
from ..stores.schema import layer_progress, scopes, sessions
from ..stores.sql import SqlStore
from ..stores.statements import is_unchanged
from ..text.batches import batches

_GUESSED: Final = "guessed:"
"""How the names begin under which it stands how often a layer had to guess of a session."""

TRIES: Final = 3
"""How often a session is made in all while a language model gives no answer; then what was guessed stays."""


def pending(store: SqlStore, scope_id: int, layer: str, *, session: int | None = None) -> list[tuple[SessionRow, int]]:
    """The scope's sessions that have ended since ``layer`` took them in, in the order in which they came.

    A session of which the layer had to guess, see `claim`, is among them until the language model has answered, or
    `TRIES` are spent.

    Args:
        store: where they are.
        scope_id: whose they are.
        layer: the layer's name.
        session: only this session, by its id.

    Returns:
        Each session with how many of its messages the layer has taken in; 0 where it is to be made again.
    """
    guess = layer_progress.alias()
    known = and_(layer_progress.c.session_id == sessions.c.id, layer_progress.c.layer == layer)
    guessed = and_(guess.c.session_id == sessions.c.id, guess.c.layer == _GUESSED + layer)
    taken = case((guess.c.messages < TRIES, 0), else_=func.coalesce(layer_progress.c.messages, 0))
    only = sessions.c.id == session if session is not None else true()
    statement = (
        select(sessions, taken.label("taken"))
        .select_from(sessions.outerjoin(layer_progress, known).outerjoin(guess, guessed))
        .where(sessions.c.scope_id == scope_id, taken < sessions.c.ended, only)
        .order_by(sessions.c.id)
    )
    with store.transaction(write=False) as connection:
        rows = connection.execute(statement).all()
    return [(session_row(row), row.taken) for row in rows]


def guesses(store: SqlStore, session_id: int, layer: str) -> int:
    """How often the layer had to guess of the session; 0 where it did not, and where it is not asked about again."""
    with store.transaction(write=False) as connection:
        found = _guesses(connection, session_id, layer)
    return found if found < TRIES else 0


def is_guess(name: str) -> bool:
    """Whether it stands under this name how often a layer had to guess, and not how much it has taken in."""
    return name.startswith(_GUESSED)


def _guesses(connection: Connection, session_id: int, layer: str) -> int:
    found = connection.scalar(select(layer_progress.c.messages).where(_is_note(session_id, _GUESSED + layer)))
    return found if isinstance(found, int) else 0


def _is_note(session_id: int, name: str) -> ColumnElement[bool]:
    return and_(layer_progress.c.session_id == session_id, layer_progress.c.layer == name)


def changed_since(scope_id: int, revision: int) -> ColumnElement[bool]:
    """The condition that a session of the scope has changed after this revision; all of them after -1."""
    return and_(sessions.c.scope_id == scope_id, sessions.c.revision > revision if revision >= 0 else true())


def claim(
    connection: Connection,
    session: SessionRow,
    layer: str,
    taken: int,
    *,
    messages: int | None = None,
    guesses: int = 0,
    guessed: int | None = None,
) -> bool:
    """Mark the session as taken in, inside the transaction that writes what was made from it.

    Readers that follow the scope by revision will see the session as changed; its ``version`` stays.
    What was guessed because a language model gave no answer is marked too, and `pending` gives the session back.

    Args:
        connection: a transaction that writes; the caller's own rows go into it if this returns True.
        session: the row that the layer read before it began.
        layer: the layer's name.
        taken: how many messages it had taken in then.
        messages: how many it has taken in now, where that is not all of the session's: the rest stays pending.
        guesses: how often something of the session has been guessed in a row, this time among them; 0 where nothing is.
        guessed: how often it had been when the layer began (`ClosedSession.guesses`), for a layer that adds to what is
            there: another writer who had to guess meanwhile leaves ``taken`` as it was.

    Returns:
        Whether the layer may write: not if the session changed or was forgotten in the meantime, nor if another
        writer has taken it in since.
    """
    known = connection.scalar(select(layer_progress.c.messages).where(_is_note(session.id, layer))) or 0
    before = _guesses(connection, session.id, layer)
    is_guess = 0 < before < TRIES
    if (0 if is_guess else known) != taken or not is_unchanged(connection, session):
        return False
    if guessed is not None and guessed != before * is_guess:
        return False
    note(connection, session.id, layer, session.messages if messages is None else messages)
    note(connection, session.id, _GUESSED + layer, guesses)
    show_changed(connection, session.scope_id, [session.id])
    return True


def note(connection: Connection, session_id: int, name: str, count: int) -> None:
    """Note a count of the session under a name, in the place of the one before; nothing where it is 0."""
    connection.execute(delete(layer_progress).where(_is_note(session_id, name)))
    if count:
        connection.execute(insert(layer_progress).values(session_id=session_id, layer=name, messages=count))


def show_changed(connection: Connection, scope_id: int, session_ids: Iterable[int]) -> None:
    """Let readers that follow the scope by revision see these sessions as changed; their versions stay."""
    connection.execute(update(scopes).where(scopes.c.id == scope_id).values(revision=grown(scopes.c.revision)))
    revision = select(scopes.c.revision).where(scopes.c.id == scope_id).scalar_subquery()
    for batch in batches(sorted(set(session_ids))):
        connection.execute(update(sessions).where(sessions.c.id.in_(batch)).values(revision=revision))


def drop_progress(
    connection: Connection, scope_id: int, layers: Sequence[str], *, session_ids: Sequence[int] | None = None
) -> None:
    """Let layers take in sessions of the scope anew: those given, or all of them.

    Args:
        connection: a transaction that writes.
        scope_id: the scope.
        layers: names under which progress is noted.
        session_ids: only these sessions.
    """
    of_scope = select(sessions.c.id).where(sessions.c.scope_id == scope_id)
    for batch in batches(session_ids) if session_ids is not None else [of_scope]:
        connection.execute(
            delete(layer_progress).where(layer_progress.c.layer.in_(layers), layer_progress.c.session_id.in_(batch))
        )


def make_again(connection: Connection, session: SessionRow, layers: Sequence[str]) -> None:
    """Let layers take in a session anew, whatever they had to guess of it; what is being made of it comes too late.

    Args:
        connection: a transaction that writes.
        session: the session.
        layers: names under which progress is noted.
    """
    drop_progress(connection, session.scope_id, _with_guesses(layers), session_ids=[session.id])
    touch(connection, session.id, session.scope_id)


def _with_guesses(layers: Sequence[str]) -> list[str]:
    return [*layers, *(_GUESSED + layer for layer in layers)]


@retry_if_contended
def begin_again(store: SqlStore, scope_id: int, layers: Sequence[str]) -> None:
    """Let layers take in all of the scope's closed sessions anew, whatever they had to guess."""
    with store.transaction(durable=False, scope=scope_id) as connection:
        drop_progress(connection, scope_id, _with_guesses(layers))


def layers_in(store: SqlStore, scope_id: int) -> set[str]:
    """The names under which layers have noted progress in the scope."""
    of_scope = select(sessions.c.id).where(sessions.c.scope_id == scope_id)
    statement = select(layer_progress.c.layer).where(layer_progress.c.session_id.in_(of_scope)).distinct()
    with store.transaction(write=False) as connection:
        found = {row.layer for row in connection.execute(statement).all() if isinstance(row.layer, str)}
    return {name.removeprefix(_GUESSED) for name in found}
