"""One page of all that a scope remembers: HTML that loads nothing, runs nothing, and shows people's words as words."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib.resources import files
from string import Template
from typing import Final

from ...conversation import Message, Scope, Turn
from ...errors import InvalidInput
from ...memory import Segment
from ..svg import COLOURS, letter
from .drawings import MONTHS, months, strip
from .html import STYLE, Page, counted, line, note, when, words

_SESSIONS: Final = 400
"""How many sessions are shown at least, where there are so many."""
_TEMPLATE: Final = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class ReportedSession:
    """A session and how it was cut; the segments cover the turns.

    Args:
        name: the session's.
        turns: its turns, verbatim, in order.
        segments: ranges of them.
        names: what each segment is called; a letter stands for one without a name.
    """

    name: str
    turns: tuple[Turn, ...]
    segments: tuple[Segment, ...]
    names: tuple[str, ...] = ()

    def called(self, place: int) -> str:
        """What stands for a segment: its name, or a letter."""
        name = self.names[place] if place < len(self.names) else ""
        return name or letter(place)


@dataclass(frozen=True, slots=True)
class ReportSection:
    """What a layer shows of a scope.

    Args:
        name: the layer's.
        title: the heading.
        count: how many things there are.
        html: makes the HTML, given the page that it stands on.
        missing: how many closed sessions are not in it yet.
    """

    name: str
    title: str
    count: int
    html: Callable[[Page], Iterable[str]]
    missing: int = 0


@dataclass(frozen=True, slots=True)
class ScopeContents:
    """What a scope remembers.

    Args:
        scope: whose it is.
        sessions: in the order in which they came.
        sections: what layers show of it.
        marks: what is said beside turns, by their ids.
    """

    scope: Scope
    sessions: tuple[ReportedSession, ...]
    sections: tuple[ReportSection, ...] = ()
    marks: Mapping[str, Sequence[str]] = field(default_factory=dict)


def scope_report(contents: ScopeContents, *, made: datetime, title: str | None = None, turns: int = 2000) -> str:
    """One HTML page, to be read in any browser, without network.

    It is long only as far as somebody would read: it says what was left out.

    Args:
        contents: what the scope remembers.
        made: when the page is made; stands on it.
        title: what stands above it; the scope unless given.
        turns: how many turns are shown word for word, the latest.

    Raises:
        InvalidInput: for no turns.
    """
    if turns < 1:
        raise InvalidInput(f"a report shows 1 turn or more, got {turns}")
    name, page = line(title or " / ".join(contents.scope)), _page(contents, turns)
    sessions = partial(_sessions, contents.sessions, shown_sessions(contents.sessions, turns))
    sections = [ReportSection("sessions", "Sessions", len(contents.sessions), sessions), *contents.sections]
    links = "".join(f'<a href="#{each.name}">{_heading(each)}</a>' for each in sections)
    body = "".join(
        f'<section id="{each.name}"><h2>{_heading(each)}</h2>{"".join(_html(each, page))}</section>\n'
        for each in sections
    )
    overview = "".join(_overview(contents))
    head = {"name": name, "made": f"{made:%Y-%m-%d %H:%M %Z}", "policy": _policy(), "style": STYLE}
    return _TEMPLATE.substitute(head, links=links, overview=overview, body=body)


def shown_sessions(sessions: Sequence[ReportedSession], turns: int) -> int:
    """How many sessions, the latest, a report shows: those of the turns that it shows, and 400 at least."""
    shown = 0
    for session in reversed(sessions):
        if shown >= _SESSIONS and turns <= 0:
            break
        shown, turns = shown + 1, turns - len(session.turns)
    return shown


def _policy() -> str:
    """Nothing is loaded and nothing runs, whatever anybody has said; not even another style."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _page(contents: ScopeContents, turns: int) -> Page:
    """The turns, and the numbers of the latest so many."""
    sessions = contents.sessions
    latest = [turn.id for session in sessions for turn in session.turns][-turns:]
    numbers = {id_: number for number, id_ in enumerate(latest, start=1)}
    return Page({turn.id: turn for session in sessions for turn in session.turns}, numbers, contents.marks)


def _heading(section: ReportSection) -> str:
    return f"{line(section.title)} <small>{section.count:,}</small>"


def _html(section: ReportSection, page: Page) -> Iterator[str]:
    if section.missing:
        yield note(f"Not in here yet: {counted(section.missing, 'closed session')}.")
    yield from section.html(page)


def _overview(contents: ScopeContents) -> Iterator[str]:
    """Numbers, and when it was all said."""
    turns = [turn for session in contents.sessions for turn in session.turns]
    moments = [turn.at for turn in turns if turn.at is not None]
    numbers = {
        "sessions": len(contents.sessions),
        "turns": len(turns),
        "messages": sum(len(turn.messages) for turn in turns),
        "segments": sum(len(session.segments) for session in contents.sessions),
        **{section.title.lower(): section.count for section in contents.sections},
    }
    yield "<dl>"
    yield from (f"<div><dt>{line(name)}</dt><dd>{number:,}</dd></div>" for name, number in numbers.items())
    if moments:
        yield f"<div><dt>from</dt><dd>{min(moments):%Y-%m-%d}</dd></div>"
        yield f"<div><dt>to</dt><dd>{max(moments):%Y-%m-%d}</dd></div>"
    yield "</dl>"
    if drawn := months(moments):
        span = 12 * (max(moments).year - min(moments).year) + max(moments).month - min(moments).month
        caption = "Turns in each month" if span < MONTHS else f"Turns in each of the latest {MONTHS} months"
        yield f'<figure class="wide">{drawn}<figcaption>{caption}</figcaption></figure>'


def _sessions(sessions: Sequence[ReportedSession], shown: int, page: Page) -> Iterator[str]:
    """Each session, the latest first: its strip, and behind it the words."""
    if not sessions:
        yield note("Nothing is remembered.")
    if earlier := len(page.turns) - len(page.numbers):
        yield note(
            f"The latest {len(page.numbers):,} of {len(page.turns):,} turns are shown word for word; "
            f"{counted(earlier, 'earlier turn')} left out."
        )
    for session in sessions[: -shown - 1 : -1]:
        yield from _session(session, page)
    if left := len(sessions) - shown:
        yield note(f"{counted(left, 'earlier session')} left out.")


def _session(session: ReportedSession, page: Page) -> Iterator[str]:
    begun = session.turns[0].at if session.turns else None
    names = [session.called(place) for place in range(len(session.segments))]
    size = f"{counted(len(session.turns), 'turn')} · {counted(len(session.segments), 'segment')}"
    yield (
        f'<details><summary><b dir="auto">{line(session.name)}</b> {when(begun)} <small>{size}</small>'
        f'<span class="strip">{strip(session.turns, session.segments, session.names)}</span></summary>'
    )
    if earlier := sum(turn.id not in page.numbers for turn in session.turns):
        yield note(f"{counted(earlier, 'earlier turn')} of this session left out.")
    for place, segment in enumerate(session.segments):
        colour, turns = place % len(COLOURS), session.turns[max(segment.start, earlier) : segment.stop]
        if turns:
            chip = f'<span class="chip c{colour}" dir="auto">{line(names[place])}</span>'
            yield f'<div class="segment s{colour}">{chip}<ol>'
            yield from (_turn(turn, page, begun) for turn in turns)
            yield "</ol></div>"
    yield "</details>\n"


def _turn(turn: Turn, page: Page, begun: datetime | None) -> str:
    marks = "".join(f"<em>{line(each)}</em> " for each in page.marks.get(turn.id, ()))
    said = "".join(map(_message, turn.messages))
    return f'<li id="t{page.numbers[turn.id]}">{_clock(turn.at, begun)}{said}{marks}</li>'


def _message(message: Message) -> str:
    kind = " reply" if message.role in ("assistant", "tool") else ""
    who = f'<b dir="auto">{line(message.shown_label)}</b>' if message.shown_label else ""
    return f'<div class="said{kind}">{who}<span dir="auto">{words(message.text)}</span></div>'


def _clock(at: datetime | None, begun: datetime | None) -> str:
    """The time of day, with the date where that is another one than the session's."""
    if at is None or begun is None or at.date() != begun.date():
        return when(at)
    return f"<time>{at:%H:%M}</time>" if at.hour or at.minute else ""
