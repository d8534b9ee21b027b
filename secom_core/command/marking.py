"""What is done to turns by hand: correct, retract, undo, pin, unpin; and what has ended is swept out."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from ..bank.corrections import Corrections
from ..conversation import Scope, Turn
from ..errors import InvalidInput
from ..pictures.report.html import counted
from ..text.visible import inline
from .opening import Opened, opened, scope_of
from .terminal import Refused, confirmed, show

_SHOWN = 60


def correct_(args: Namespace) -> None:
    """Say what is so instead of what a turn says."""
    scope = scope_of(args)
    with opened(args) as there:
        turn = _turn(there, scope, args.turn)
        _ask(args, f"Correct {_quoted(turn)}?")
        newer = there.bank.correct(scope, turn, args.text)
    show(args, {"corrected": turn.id, "by": newer}, f"{turn.id} is corrected by {newer}")


def retract_(args: Namespace) -> None:
    """Take back what a turn says."""
    _mark(args, "Take back", "retracted", lambda hand: hand.retract)


def undo_(args: Namespace) -> None:
    """Let a turn hold again that was corrected or taken back."""
    _mark(args, "Let hold again", "undone", lambda hand: hand.undo)


def pin_(args: Namespace) -> None:
    """Show a turn in every recall."""
    _mark(args, "Pin", "pinned", lambda hand: hand.pin)


def unpin_(args: Namespace) -> None:
    """Show a turn only where it answers again."""
    _mark(args, "Unpin", "unpinned", lambda hand: hand.unpin)


def sweep_(args: Namespace) -> None:
    """Forget what has ended, in every scope."""
    with opened(args) as there:
        gone = there.bank.lifetimes.end_expired()
    show(args, {"forgotten": gone}, f"{counted(gone, 'turn')} forgotten")


def _mark(args: Namespace, asked: str, done: str, act: Callable[[Corrections], Callable[[Scope, Turn], None]]) -> None:
    scope = scope_of(args)
    with opened(args) as there:
        turn = _turn(there, scope, args.turn)
        _ask(args, f"{asked} {_quoted(turn)}?")
        try:
            act(there.bank.corrections)(scope, turn)
        except InvalidInput as error:
            raise Refused(str(error)) from error
    show(args, {done: turn.id}, f"{turn.id} is {done}")


def _turn(there: Opened, scope: Scope, turn_id: str) -> Turn:
    there.row(scope)
    found = there.bank.turns(scope, turn_ids=[turn_id])
    if not found:
        raise Refused(f"no turn of the scope has the id {turn_id!r}; `secom inspect turns` shows the ids")
    return found[0]


def _quoted(turn: Turn) -> str:
    text = inline(turn.text)
    return f'"{text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"}"'


def _ask(args: Namespace, question: str) -> None:
    if not args.yes and not confirmed(question):
        raise Refused("nothing was changed")
