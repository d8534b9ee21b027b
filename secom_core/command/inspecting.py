"""What is kept of a scope, as text or JSON. Looking makes nothing that is not there."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, TypeVar

from ..archive.export import message_record
from ..conversation import Scope, Turn
from ..layers import Listing, registered
from ..memory import segments_of
from ..pictures import segmentation_strip
from ..pictures.report.html import counted
from ..text.visible import inline
from ..times import iso_text
from .opening import Opened, as_options, opened, scope_of
from .options import listed_layer
from .terminal import Refused, note, show

Listed = TypeVar("Listed")

_OF_SESSIONS: Final = ("segments", "turns")
"""What may be looked at of one session alone."""


def scopes_(args: Namespace) -> None:
    """List the scopes of a store."""
    with opened(args) as there:
        found = [(scope, there.bank.stats(scope)) for scope in there.bank.scopes()]
    rows = [{"scope": list(scope), "sessions": each.sessions, "turns": each.turns} for scope, each in found]
    lines = [
        f"{counted(each.turns, 'turn'):>13} {counted(each.sessions, 'session'):>14}   {inline(as_options(scope))}"
        for scope, each in found
    ]
    show(args, rows, "\n".join(lines))
    if not (found or args.json):
        note("the store is empty")


def inspect_(args: Namespace) -> None:
    """Show one kind of what is kept."""
    layer, scope = listed_layer(args.what), scope_of(args)
    if args.make and (layer is None or not layer.takes_in_sessions):
        raise Refused(f"--make is for what is made of closed sessions, not for {args.what}")
    if args.session is not None and args.what not in _OF_SESSIONS:
        raise Refused(f"--session is for {' and '.join(_OF_SESSIONS)}, not for {args.what}")
    if args.last is not None and args.what == "overview":
        raise Refused("--last is for lists, not for the overview")
    with opened(args, layers=[layer] if layer is not None else []) as there:
        there.row(scope)
        if args.make:
            there.bank.derive(scope)
        if layer is None:
            listing, missing = _SHOWN[args.what](there, scope, args), 0
        else:
            listing = there.bank.layers[layer.name].listing(scope, args.what, last=args.last)
            missing = there.behind(scope, layer)
        show(args, listing.rows, "\n".join(listing.lines))
    if missing:
        closed = counted(missing, "closed session")
        how = "" if args.settings.model else " without a language model"
        note(f"not in the {args.what} yet: {closed}; --make takes them in{how}")
    elif not (listing.rows or args.json):
        note(f"no {args.what} yet")


def _overview(there: Opened, scope: Scope, args: Namespace) -> Listing:
    rows: dict[str, Any] = asdict(there.bank.stats(scope))
    rows["segments"] = rows.pop("memories")
    with opened(args, layers=registered()) as whole:
        counts = {layer.name: layer.count(scope) for layer in whole.bank.layers.values()}
        behind = {layer.name: whole.behind(scope, layer) for layer in registered()}
    lines = [f"{name:<18}{number:>9,}" for name, number in rows.items()]
    for name, number in counts.items():
        waiting = f"   closed sessions not taken in: {behind[name]:,}" if behind[name] else ""
        lines.append(f"{name:<18}{number:>9,}{waiting}")
    return Listing({"scope": list(scope), **rows, **counts, "not_taken_in": behind}, lines)


def _sessions(there: Opened, scope: Scope, args: Namespace) -> Listing:
    rows: list[dict[str, Any]] = []
    for name in _latest(there.sessions(scope), args):
        turns, memories = there.bank.turns(scope, name), there.bank.memories(scope, name)
        rows.append({"session": name, "begin": iso_text(turns[0].at), "turns": len(turns), "segments": len(memories)})
    lines = [
        f"{(row['begin'] or '')[:10]}  {counted(row['turns'], 'turn'):>12}  {counted(row['segments'], 'segment'):>14}  "
        f"{inline(row['session'])}"
        for row in rows
    ]
    return Listing(rows, lines)


def _segments(there: Opened, scope: Scope, args: Namespace) -> Listing:
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for name in _latest(_named(there, scope, args), args):
        turns, cuts = there.bank.turns(scope, name), segments_of(there.bank.memories(scope, name))
        segments = [
            {"start": cut.start, "stop": cut.stop, "turn_ids": [turn.id for turn in turns[cut.start : cut.stop]]}
            for cut in cuts
        ]
        rows.append({"session": name, "segments": segments})
        lines += [*([""] if lines else []), inline(name), segmentation_strip(turns, cuts, width=_width())]
    return Listing(rows, lines)


def _turns(there: Opened, scope: Scope, args: Namespace) -> Listing:
    turns = _latest([turn for name in _named(there, scope, args) for turn in there.bank.turns(scope, name)], args)
    return Listing([turn_json(turn) for turn in turns], ["\n\n".join(map(_turn_text, turns))])


def _turn_text(turn: Turn) -> str:
    when = f"{turn.at:%Y-%m-%d %H:%M}" if turn.at else ""
    return f"{inline(turn.id)}   {when}   {inline(turn.session)}\n{turn.text}"


def turn_json(turn: Turn) -> dict[str, Any]:
    """A turn for JSON, every character kept."""
    messages = [message_record(message) for message in turn.messages]
    return {"id": turn.id, "session": turn.session, "index": turn.index, "at": iso_text(turn.at), "messages": messages}


def _latest(found: Sequence[Listed], args: Namespace) -> Sequence[Listed]:
    return found[-args.last :] if args.last else found


def _named(there: Opened, scope: Scope, args: Namespace) -> Sequence[str]:
    if args.session is None:
        return there.sessions(scope)
    there.check_session(scope, args.session)
    return [args.session]


_SHOWN: Final[Mapping[str, Callable[[Opened, Scope, Namespace], Listing]]] = {
    "overview": _overview,
    "sessions": _sessions,
    "segments": _segments,
    "turns": _turns,
}


def _width() -> int:
    if not sys.stdout.isatty():
        return 100
    return max(40, shutil.get_terminal_size().columns)
