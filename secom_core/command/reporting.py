"""The page of all that a scope remembers."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial

from ..conversation import Scope
from ..layers import Layer, registered
from ..memory import segments_of
from ..pictures.report.page import ReportedSession, ReportSection, ScopeContents, scope_report, shown_sessions
from .changes import written
from .opening import Opened, opened, scope_of


def report_(args: Namespace) -> None:
    """Write one HTML page of all that a scope remembers."""
    scope = scope_of(args)
    with opened(args, layers=registered()) as there:
        there.row(scope)
        if args.make:
            there.bank.derive(scope)
        sessions = [_session(there, scope, name) for name in there.sessions(scope)]
        for place in range(len(sessions) - shown_sessions(sessions, args.turns), len(sessions)):
            sessions[place] = _named(there, scope, sessions[place])
        sections = tuple(_section(there, scope, layer) for layer in there.bank.layers.values())
        contents = ScopeContents(scope, tuple(sessions), sections, _marks(there, scope))
        page = scope_report(contents, made=datetime.now(timezone.utc), title=args.title, turns=args.turns)
    written(args, [page])


def _section(there: Opened, scope: Scope, layer: Layer) -> ReportSection:
    title = layer.title or layer.name.capitalize()
    missing = there.behind(scope, type(layer))
    return ReportSection(layer.name, title, layer.count(scope), partial(layer.report, scope), missing)


def _marks(there: Opened, scope: Scope) -> dict[str, list[str]]:
    """What was done with turns by hand, by their ids."""
    said: dict[str, list[str]] = {}
    for mark in there.bank.corrections.marks(scope):
        done = f"{'partly ' if mark.span else ''}{mark.kind} on {mark.at:%Y-%m-%d}"
        if done not in said.setdefault(mark.turn_id, []):
            said[mark.turn_id].append(done)
    return said


def _session(there: Opened, scope: Scope, name: str) -> ReportedSession:
    segments = tuple(segments_of(there.bank.memories(scope, name)))
    # Turns that came in between are left to the next report: segments cover what they were made from.
    turns = tuple(there.bank.turns(scope, name))[: segments[-1].stop if segments else 0]
    return ReportedSession(name, turns, segments)


def _named(there: Opened, scope: Scope, session: ReportedSession) -> ReportedSession:
    names = there.bank.segment_names(scope, session.name)
    return replace(session, names=tuple(", ".join(words) for words in names))
