"""The page of all that a scope remembers."""

from __future__ import annotations

from argparse import Namespace
from datetime import datetime, timezone

from ..conversation import Scope
from ..learning import CitationEntry, Learned, learned_weights
from ..pictures.report import ReportedAnswer, ReportedSession, ReportedWeights, ScopeContents, scope_report
from .changes import written
from .inspecting import behind
from .opening import LAYERS, Opened, opened, scope_of

__all__ = ["report_"]


def report_(asked: Namespace) -> int:
    """Write one HTML page of all that a scope remembers."""
    scope = scope_of(asked)
    with opened(asked, learning=True, **dict.fromkeys(LAYERS, True)) as there:
        there.row(scope)
        if asked.make:
            there.bank.reflect(scope)
        contents = _contents(there, scope)
    page = scope_report(contents, made=datetime.now(timezone.utc), title=asked.title, turns=asked.turns)
    written(asked, [page])
    return 0


def _contents(there: Opened, scope: Scope) -> ScopeContents:
    bank, row = there.bank, there.row(scope)
    return ScopeContents(
        scope,
        tuple(_session(there, scope, name) for name in bank.sessions(scope)),
        topics=tuple(bank.topics(scope)),
        events=tuple(bank.events(scope)),
        links=tuple(bank.links(scope)),
        summaries=tuple(bank.summaries(scope)),
        weights=tuple(map(_weights, learned_weights(there.store, row))),
        answers=tuple(map(_answer, bank.citation_log(scope))),
        missing={layer: behind(there, scope, layer) for layer in LAYERS},
    )


def _session(there: Opened, scope: Scope, name: str) -> ReportedSession:
    segments = tuple(there.bank.segments(scope, name))
    # Turns that came in between are left to the next report: segments cover what they were made from.
    turns = tuple(there.bank.turns(scope, name))[: segments[-1].stop if segments else 0]
    return ReportedSession(name, turns, segments)


def _weights(found: Learned) -> ReportedWeights:
    return ReportedWeights(found.weights, found.base, found.answers, found.trust, found.rollbacks)


def _answer(entry: CitationEntry) -> ReportedAnswer:
    return ReportedAnswer(entry.at, entry.query, len(entry.numbers), len(entry.cited), entry.lesson)
