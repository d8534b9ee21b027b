"""One page of all that a scope remembers: HTML that loads nothing, runs nothing, and shows people's words as words."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import Final

from ..conversation import Message, Scope, Turn
from ..errors import InvalidInput
from ..memory import Event, Link, Segment, Summary, Topic, TopicVersion
from .report_drawings import months, reward_curve, strip, weight_bar
from .report_style import STYLE
from .segmentation import COLOURS, letter
from .timelines import timeline_picture
from .words import clip, tame

__all__ = ["ReportedAnswer", "ReportedSession", "ReportedWeights", "ScopeContents", "scope_report"]

_SESSIONS: Final = 400
_TOPICS: Final = 400
_PICTURES: Final = 8
_EVENTS: Final = 30
_LISTED: Final = 400
_VERSIONS: Final = 30
_ANSWERS: Final = 100
_CHARACTERS: Final = 6000
_REFERENCES: Final = 12
_WINDOW: Final = 20

# What HTML cannot hold or a reader should not obey: control characters, halves of characters, and overrides of the
# writing direction, which would turn the page around them.
_UNFIT: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


@dataclass(frozen=True, slots=True)
class ReportedSession:
    """A session and how it was cut; the segments cover the turns."""

    name: str
    turns: tuple[Turn, ...]
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class ReportedAnswer:
    """An answer that was learned from.

    Args:
        at: when it was taken in.
        query: what was asked, where that is still known.
        shown: how many memories it was shown.
        cited: how many of them it cited.
        lesson: what came of it.
    """

    at: datetime
    query: str | None
    shown: int
    cited: int
    lesson: str

    @property
    def reward(self) -> float:
        """The share of what was shown that was cited."""
        return self.cited / self.shown if self.shown else 0.0


@dataclass(frozen=True, slots=True)
class ReportedWeights:
    """What was learned for one set of signals; ``weights`` and ``base`` have the same names."""

    weights: Mapping[str, float] = field(hash=False)
    base: Mapping[str, float] = field(hash=False)
    answers: int
    trust: float
    rollbacks: int


@dataclass(frozen=True, slots=True)
class ScopeContents:
    """What a scope remembers.

    Args:
        scope: whose it is.
        sessions: in the order in which they came.
        topics: in the order in which they were made.
        events: oldest first.
        links: between events.
        summaries: all versions, the oldest first.
        weights: what was learned, for each set of signals.
        answers: what it was learned from, the oldest first.
        missing: what is not up to date, by name: how many closed sessions are not in it.
    """

    scope: Scope
    sessions: tuple[ReportedSession, ...]
    topics: tuple[Topic, ...] = ()
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    summaries: tuple[Summary, ...] = ()
    weights: tuple[ReportedWeights, ...] = ()
    answers: tuple[ReportedAnswer, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict, hash=False)


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
    name = _line(title or " / ".join(contents.scope))
    page = _Page(contents, turns)
    sections = [
        ("sessions", "Sessions", len(contents.sessions), page.sessions()),
        ("topics", "Topics", len(contents.topics), page.topics()),
        ("timelines", "Timelines", len(contents.events), page.timelines()),
        ("summary", "Summary", len(contents.summaries), page.summary()),
        ("learned", "Learned", len(contents.answers), page.learned()),
    ]
    ways = "".join(f'<a href="#{id_}">{called} <small>{count:,}</small></a>' for id_, called, count, _ in sections)
    body = "".join(
        f'<section id="{id_}"><h2>{called} <small>{count:,}</small></h2>{"".join(parts)}</section>\n'
        for id_, called, count, parts in sections
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{_policy()}'
        '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<header><h1 dir="auto">{name}</h1><p>What is remembered, as of {made:%Y-%m-%d %H:%M %Z}. This page is '
        "complete in itself: it loads nothing and runs nothing. It holds people’s words; keep it as such.</p></header>"
        f"\n<nav>{ways}</nav>\n"
        '<label class="all"><input type="checkbox"> Open everything, so that the browser’s own search finds every word'
        f"</label>\n{''.join(page.overview())}\n{body}</body>\n</html>\n"
    )


def _policy() -> str:
    """Nothing is loaded and nothing runs, whatever anybody has said; not even another style."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    rules = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">\n'


# -- words -------------------------------------------------------------------------------------------------------------


def _line(text: str) -> str:
    """Anybody's words on one line."""
    return escape(_UNFIT.sub("\ufffd", " ".join(text.split())))


def _words(text: str) -> str:
    """Anybody's words with their lines, cut where they are endless."""
    clean = _UNFIT.sub("\ufffd", text.replace("\r\n", "\n"))
    if len(clean) <= _CHARACTERS:
        return escape(clean)
    return f"{escape(clean[:_CHARACTERS])}<em> … {len(clean) - _CHARACTERS:,} more characters are not shown</em>"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _note(text: str) -> str:
    return f'<p class="note">{text}</p>'


def _when(at: datetime | None, *, clock: bool = True) -> str:
    if at is None:
        return ""
    said = at.strftime("%Y-%m-%d %H:%M") if clock and (at.hour or at.minute) else at.strftime("%Y-%m-%d")
    return f"<time>{said}</time>"


def _clock(at: datetime | None, begun: datetime | None) -> str:
    """The time of day, with the date where that is another one than the session's."""
    if at is None or begun is None or at.date() != begun.date():
        return _when(at)
    return f"<time>{at:%H:%M}</time>" if at.hour or at.minute else ""


# -- the page ----------------------------------------------------------------------------------------------------------


class _Page:
    """The parts of the page; each yields HTML."""

    def __init__(self, contents: ScopeContents, turns: int) -> None:
        self._of = contents
        self._all = sum(len(session.turns) for session in contents.sessions)
        self._from = _first_shown(contents.sessions, turns)
        self._numbers: dict[str, int] = {}
        self._known: dict[str, Turn] = {}
        for session, start in zip(contents.sessions, self._from, strict=True):
            for turn in session.turns[start:]:
                self._numbers[turn.id] = len(self._numbers) + 1
            self._known |= {turn.id: turn for turn in session.turns}

    def overview(self) -> Iterator[str]:
        """Numbers, and when it was all said."""
        of = self._of
        moments = [turn.at for session in of.sessions for turn in session.turns if turn.at is not None]
        messages = sum(len(turn.messages) for session in of.sessions for turn in session.turns)
        numbers = {
            "sessions": len(of.sessions),
            "turns": self._all,
            "messages": messages,
            "segments": sum(len(session.segments) for session in of.sessions),
            "topics": len(of.topics),
            "events": len(of.events),
            "answers": len(of.answers),
        }
        yield "<dl>"
        yield from (f"<div><dt>{name}</dt><dd>{number:,}</dd></div>" for name, number in numbers.items())
        if moments:
            yield f"<div><dt>from</dt><dd>{min(moments):%Y-%m-%d}</dd></div>"
            yield f"<div><dt>to</dt><dd>{max(moments):%Y-%m-%d}</dd></div>"
        yield "</dl>"
        if drawn := months(moments):
            yield f'<figure class="wide">{drawn}<figcaption>Turns in each month</figcaption></figure>'

    # -- sessions ------------------------------------------------------------------------------------------------------

    def sessions(self) -> Iterator[str]:
        """Each session, the latest first: its strip, and behind it the words."""
        if not self._of.sessions:
            yield _note("Nothing is remembered.")
            return
        if self._all > len(self._numbers):
            shown = len(self._numbers)
            yield _note(
                f"The latest {shown:,} of {self._all:,} turns are shown word for word; "
                f"{_counted(self._all - shown, 'earlier turn')} left out."
            )
        held = list(zip(self._of.sessions, self._from, strict=True))
        for session, start in held[: -_SESSIONS - 1 : -1]:
            yield from self._session(session, start)
        if len(held) > _SESSIONS:
            yield _note(f"{_counted(len(held) - _SESSIONS, 'earlier session')} left out.")

    def _session(self, session: ReportedSession, start: int) -> Iterator[str]:
        begun = _when(session.turns[0].at) if session.turns else ""
        much = f"{_counted(len(session.turns), 'turn')} · {_counted(len(session.segments), 'segment')}"
        yield (
            f'<details><summary><b dir="auto">{_line(session.name)}</b> '
            f"{begun} <small>{much}</small>"
            f'<span class="strip">{strip(session.turns, session.segments)}</span></summary>'
        )
        if start:
            yield _note(f"{_counted(start, 'earlier turn')} of this session left out.")
        for place, segment in enumerate(session.segments):
            if segment.stop > start:
                yield from self._segment(session, segment, place, start)
        yield "</details>\n"

    def _segment(self, session: ReportedSession, segment: Segment, place: int, start: int) -> Iterator[str]:
        shown = session.turns[max(segment.start, start) : segment.stop]
        chip = f'<span class="chip c{place % len(COLOURS)}">{letter(place)}</span>'
        yield f'<div class="segment s{place % len(COLOURS)}">{chip}<ol>'
        yield from (self._turn(turn, begun=session.turns[0].at) for turn in shown)
        yield "</ol></div>"

    def _turn(self, turn: Turn, *, begun: datetime | None) -> str:
        said = "".join(map(_message, turn.messages))
        return f'<li id="t{self._numbers[turn.id]}">{_clock(turn.at, begun)}{said}</li>'

    def _references(self, turn_ids: Sequence[str]) -> str:
        """The turns that something rests on, as links to those that are on the page."""
        rows = [self._reference(id_) for id_ in turn_ids[:_REFERENCES]]
        if len(turn_ids) > _REFERENCES:
            rows.append(f"<li>and {_counted(len(turn_ids) - _REFERENCES, 'more turn')}</li>")
        return f'<ul class="rests">{"".join(rows)}</ul>'

    def _reference(self, turn_id: str) -> str:
        turn = self._known.get(turn_id)
        if turn is None:
            return "<li>a turn that is gone</li>"
        said = f'{_when(turn.at)} <span dir="auto">{_line(clip(tame(turn.text), 110))}</span>'
        number = self._numbers.get(turn_id)
        return f'<li><a href="#t{number}">{said}</a></li>' if number else f"<li>{said}</li>"

    def _missing(self, name: str) -> Iterator[str]:
        if number := self._of.missing.get(name, 0):
            yield _note(f"Not in here yet: {_counted(number, 'closed session')}.")

    # -- topics --------------------------------------------------------------------------------------------------------

    def topics(self) -> Iterator[str]:
        """The topics, by speaker."""
        yield from self._missing("topics")
        if not self._of.topics:
            yield _note("No topics are kept.")
        shown = self._of.topics[-_TOPICS:]
        for speaker in dict.fromkeys(topic.speaker for topic in shown):
            own = [topic for topic in shown if topic.speaker == speaker]
            yield f'<h3 dir="auto">{_line(speaker) or "nobody in particular"} <small>{len(own):,}</small></h3>'
            yield from map(self._topic, own)
        if len(self._of.topics) > _TOPICS:
            yield _note(f"{_counted(len(self._of.topics) - _TOPICS, 'earlier topic')} left out.")

    def _topic(self, topic: Topic) -> str:
        much = f"{_counted(len(topic.turn_ids), 'turn')} · {_counted(len(topic.sessions), 'session')}"
        told = "".join(map(_version, topic.versions[-_VERSIONS:])) if len(topic.versions) > 1 else ""
        former = f"<p>How it grew:</p><ol>{told}</ol>" if told else ""
        return (
            f'<details><summary><span class="lines" dir="auto">{_words(topic.summary)}</span> '
            f"<small>{much}</small></summary>"
            f"{former}<p>It rests on:</p>{self._references(topic.turn_ids)}</details>"
        )

    # -- timelines -----------------------------------------------------------------------------------------------------

    def timelines(self) -> Iterator[str]:
        """What led where, a picture for each thread; and all events as a list."""
        yield from self._missing("timelines")
        if not self._of.events:
            yield _note("No timelines are kept.")
            return
        threads = [thread for thread in _threads(self._of.events, self._of.links) if len(thread) > 1]
        for number, thread in enumerate(threads[:_PICTURES], start=1):
            yield self._picture(number, thread)
        if len(threads) > _PICTURES:
            yield _note(f"{_counted(len(threads) - _PICTURES, 'more thread')} of events not drawn.")
        yield from self._events()

    def _picture(self, number: int, thread: Sequence[Event]) -> str:
        shown = thread[-_EVENTS:]
        title = (
            f"Thread {number}: {_counted(len(thread), 'event')}, {thread[0].at:%Y-%m-%d} to {thread[-1].at:%Y-%m-%d}"
        )
        # In a page, an SVG needs no namespace.
        drawn = timeline_picture(shown, self._of.links, title=title, format="svg").replace(
            ' xmlns="http://www.w3.org/2000/svg"', "", 1
        )
        left_out = f"; the latest {len(shown)} are drawn" if len(thread) > len(shown) else ""
        return f'<figure class="paper wide">{drawn}<figcaption>{title}{left_out}</figcaption></figure>'

    def _events(self) -> Iterator[str]:
        events = self._of.events
        yield f"<details><summary>All events as a list <small>{len(events):,}</small></summary><ol>"
        for event in reversed(events[-_LISTED:]):
            yield (
                f'<li>{_when(event.at, clock=False)} <span dir="auto">{_words(event.text)}</span>'
                f"{self._references(event.turn_ids)}</li>"
            )
        yield "</ol>"
        if len(events) > _LISTED:
            yield _note(f"{_counted(len(events) - _LISTED, 'earlier event')} left out.")
        yield "</details>"

    # -- the summary ---------------------------------------------------------------------------------------------------

    def summary(self) -> Iterator[str]:
        """The running summary: as it is, and as it was."""
        yield from self._missing("summary")
        if not self._of.summaries:
            yield _note("No summary is kept.")
            return
        *former, latest = self._of.summaries
        yield f'<div class="paperless">{_sentences(latest)}</div>'
        if former:
            shown = former[-_VERSIONS:]
            yield f"<details><summary>Earlier versions <small>{len(former):,}</small></summary>"
            yield from (f"<h4>{_title(each)}</h4>{_sentences(each)}" for each in reversed(shown))
            if len(former) > len(shown):
                yield _note(f"{_counted(len(former) - len(shown), 'version')} before these left out.")
            yield "</details>"

    # -- what was learned ----------------------------------------------------------------------------------------------

    def learned(self) -> Iterator[str]:
        """The weights against the base, and the answers they were learned from."""
        answers = self._of.answers
        if not (answers or self._of.weights):
            yield _note("Nothing was learned from citations.")
            return
        if len(answers) > 1:
            window = min(_WINDOW, max(2, len(answers) // 4))
            yield (
                f'<figure class="wide">{reward_curve([each.reward for each in answers], window)}<figcaption>Of what it '
                f"was shown, the share that each answer cited; the line is the mean of the latest {window}."
                "</figcaption></figure>"
            )
        for weights in self._of.weights:
            yield _weights(weights)
        yield from self._answers()

    def _answers(self) -> Iterator[str]:
        shown = self._of.answers[-_ANSWERS:]
        if not shown:
            return
        yield f"<details><summary>The latest answers <small>{len(shown):,}</small></summary><table>"
        yield '<tr><th>when</th><th class="number">shown</th><th class="number">cited</th>'
        yield "<th>lesson</th><th>asked</th></tr>"
        yield from map(_answer, reversed(shown))
        yield "</table></details>"


def _first_shown(sessions: Sequence[ReportedSession], turns: int) -> list[int]:
    """For each session, the first turn that is shown, so that the latest so many are."""
    left, firsts = turns, []
    for session in reversed(sessions[-_SESSIONS:]):
        firsts.append(max(0, len(session.turns) - left))
        left -= len(session.turns) - firsts[-1]
    unlisted = [len(session.turns) for session in sessions[:-_SESSIONS]]
    return [*unlisted, *reversed(firsts)]


def _message(message: Message) -> str:
    kind = " reply" if message.role in ("assistant", "tool") else ""
    who = f'<b dir="auto">{_line(message.label)}</b>' if message.label else ""
    return f'<div class="said{kind}">{who}<span dir="auto">{_words(message.text)}</span></div>'


def _version(version: TopicVersion) -> str:
    return f'<li><span dir="auto">{_words(version.note)}</span> <small dir="auto">{_line(version.session)}</small></li>'


def _sentences(version: Summary) -> str:
    return f"<ul>{''.join(f'<li dir=auto>{_words(each)}</li>' for each in version.sentences)}</ul>"


def _title(version: Summary) -> str:
    mark = ", made without the language model that was asked" if version.provisional else ""
    return f"Version {version.version}, after {_line(version.session)}{mark}"


def _weights(found: ReportedWeights) -> str:
    rows = "".join(_weight(name, found) for name in sorted(found.weights, key=lambda name: -abs(found.weights[name])))
    return (
        f"<h3>Weights <small>{_counted(found.answers, 'answer')}, trust {found.trust:.2f}, "
        f"{_counted(found.rollbacks, 'rollback')}</small></h3>"
        '<table><tr><th>signal</th><th class="number">now</th><th class="number">at first</th><th></th></tr>'
        f"{rows}</table>"
    )


def _weight(name: str, found: ReportedWeights) -> str:
    return (
        f'<tr><td>{_line(name)}</td><td class="number">{found.weights[name]:.3f}</td>'
        f'<td class="number">{found.base[name]:.3f}</td><td>{weight_bar(name, found.weights, found.base)}</td></tr>'
    )


def _answer(answer: ReportedAnswer) -> str:
    asked = f'<span dir="auto">{_words(answer.query)}</span>' if answer.query is not None else "<em>forgotten</em>"
    return (
        f'<tr><td>{_when(answer.at)}</td><td class="number">{answer.shown}</td><td class="number">{answer.cited}</td>'
        f"<td>{_line(answer.lesson)}</td><td>{asked}</td></tr>"
    )


def _threads(events: Sequence[Event], links: Iterable[Link]) -> list[list[Event]]:
    """The events by what is linked, the thread with the latest event first."""
    leader = {event.id: event.id for event in events}

    def found(id_: int) -> int:
        while leader[id_] != id_:
            leader[id_] = id_ = leader[leader[id_]]
        return id_

    for link in links:
        if link.earlier in leader and link.later in leader:
            leader[found(link.later)] = found(link.earlier)
    threads: dict[int, list[Event]] = {}
    for event in sorted(events, key=lambda event: event.order):
        threads.setdefault(found(event.id), []).append(event)
    return sorted(threads.values(), key=lambda thread: thread[-1].order, reverse=True)
