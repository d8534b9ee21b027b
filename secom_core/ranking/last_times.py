"""Which year is meant where a question names days without one: the last in which anything was said then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import date, timedelta
from typing import Final, TypeAlias

from ..text.dates import Span
from ..text.wording import wording
from .passage_table import PassageTable

_Reading: TypeAlias = Callable[[str, date, Collection[int]], list[Span]]

_NO_YEAR: Final = (1,)
"""Years in which nothing was said: what a question tells with its year is found whatever years are given."""

_EVERY: Final = wording(
    r"""
    every|each|always|usually|years|yearly|annual\w*
    jede[nmrs]?|immer|meistens|jahre|jährlich|cada|siempre|años|chaque|toujours|ans
    """,
    anywhere="每|毎|매년|해마다|いつも|总是|历年|歴代",
)
"""What says that several years are meant."""


def last_times(read: _Reading, query: str, today: date, table: PassageTable) -> tuple[Sequence[Span], Sequence[Span]]:
    """The days that a question names, and the same days of earlier years than the one that is meant.

    "In March" is the last March that has begun in which anything was said, unless the question tells the year, or means
    every March.

    Args:
        read: what reads days from a question (`secom_core.text.periods`).
        query: the question.
        today: the day on which it is asked.
        table: what was said.
    """
    found = read(query, today, table.years)
    if len(found) < 2 or _EVERY.search(query):
        return found, ()
    same: dict[tuple[int, ...], list[Span]] = {}
    for span in found:
        same.setdefault(_of_year(span), []).append(span)
    if len(same) == len(found):
        return found, ()
    told = set(read(query, today, _NO_YEAR))
    earlier = {span for spans in same.values() for span in _earlier([*{*spans} - told], today, table)}
    return [span for span in found if span not in earlier], [span for span in found if span in earlier]


def _of_year(span: Span) -> tuple[int, ...]:
    """The days of a year that a span is, whichever year it is in; 29 February ends it as 28 does."""
    first, after = date.fromordinal(span[0]), date.fromordinal(span[1]) + timedelta(1)
    return first.month, first.day, after.month, after.day


def _earlier(spans: Collection[Span], today: date, table: PassageTable) -> list[Span]:
    """Those before the last in which anything was said; of those that have begun."""
    begun = sorted((span for span in spans if span[0] <= today.toordinal()), reverse=True)
    last = next((at for at, span in enumerate(begun) if _is_said_in(span, table)), 0)
    return begun[last + 1 :]


def _is_said_in(span: Span, table: PassageTable) -> bool:
    return bool(((table.day >= span[0]) & (table.day <= span[1]) & (table.memory >= 0)).any())
