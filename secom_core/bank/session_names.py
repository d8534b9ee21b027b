"""The name of the session that messages go to: the caller's own, or what an imported title gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..conversation import Scope, Session
from ..processes import interpreter
from ..text.patterns import regex
from .checks import check_session_name
from .redaction import Redact, redacted_text

if TYPE_CHECKING:
    from ..stores.sql import SqlStore

_KEYED: Final = regex(r"\([0-9a-f]{6,8}\)$")
"""The end of a name that holds the beginning of an id, and so is the name of one conversation only."""


def session_name(store: SqlStore, scope: Scope, messages: object, session: str | None, redact: Redact | None) -> str:
    """The name under which messages are kept.

    A name that the caller gives stays as it is, so that it finds the session again. The name that a `Session` brings is
    redacted. Where its first message is stored already under another name, the conversation was renamed since, and goes
    on under the name that it has.

    Raises:
        InvalidInput: there is no name; or the redaction gave something else than text.
    """
    name = check_session_name(messages, session)
    if session is not None or not isinstance(messages, Session):
        return name
    kept = _redacted(messages, redact)
    return kept if store.session_named(scope, kept) is not None else _before(store, scope, messages) or kept


def _redacted(session: Session, redact: Redact | None) -> str:
    """The name without what must not be kept; with a mark, as two names may differ only in what is taken out."""
    if redact is None:
        return session.name
    with interpreter.put_down():
        name = redacted_text(session.name, redact)
    first = next((message.id for message in session.messages if message.id), None)
    if name == session.name or (name and first is None) or _KEYED.search(name):
        return name
    from ..readers.reading import digest

    return f"{name} ({digest([first])[:6]})".strip()


def _before(store: SqlStore, scope: Scope, session: Session) -> str | None:
    """The session that holds the first message already. A system prompt may be the same in many."""
    first = next((message.id for message in session.messages if message.id and message.role != "system"), None)
    return next((turn.session for turn in store.turns_named(scope, [first])), None) if first else None
