"""What is kept of a scope, as text or JSON. Looking makes nothing that is not there."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final

from ..conversation import Message, Scope, Turn
from ..learning import CitationEntry, Learned, learned_weights
from ..memory import Event, Link, Summary, Topic
from ..pictures import segmentation_strip
from ..stores.reflections import pending
from .opening import LAYERS, Opened, as_options, opened, scope_of
from .terminal import Refused, counted, data, inline, json_data, note

__all__ = ["behind", "inspect_", "scopes_", "turn_json"]

Told = tuple[Any, Iterable[str]]
"""The same twice: for JSON, and as lines."""


def scopes_(asked: Namespace) -> int:
    """List the scopes of a store."""
    with opened(asked) as there:
        found = [(scope, there.bank.stats(scope)) for scope in there.bank.scopes()]
    if asked.json:
        json_data([{"scope": list(scope), "sessions": held.sessions, "turns": held.turns} for scope, held in found])
        return 0
    for scope, held in found:
        much = f"{counted(held.turns, 'turn'):>13} {counted(held.sessions, 'session'):>14}"
        data(f"{much}   {inline(as_options(scope))}")
    if not found:
        note("the store is empty")
    return 0


def inspect_(asked: Namespace) -> int:
    """Show one kind of what is kept."""
    layer = asked.what if asked.what in LAYERS else None
    if asked.make and layer is None:
        raise Refused(f"--make is for topics, timelines and summary, not for {asked.what}")
    scope = scope_of(asked)
    with opened(asked, **({layer: True} if layer else {})) as there:
        there.row(scope)
        if asked.make:
            there.bank.reflect(scope)
        found, lines = _SHOWN[asked.what](there, scope, asked)
        shown = "\n".join(lines)
        missing = behind(there, scope, layer) if layer else 0
    if asked.json:
        json_data(found)
    elif shown:
        data(shown)
    if missing:
        note(
            f"not in the {asked.what} yet: {counted(missing, 'closed session')}; --make takes them in without a "
            "language model"
        )
    elif not (found or asked.json):
        note(f"no {asked.what} yet")
    return 0


def behind(there: Opened, scope: Scope, layer: str) -> int:
    """How many closed sessions a layer has not taken in."""
    return len(pending(there.store, there.row(scope).id, LAYERS[layer]))


# -- sessions ---------------------------------------------------------------------------------------------------------


def _overview(there: Opened, scope: Scope, asked: Namespace) -> Told:
    bank, row = there.bank, there.row(scope)
    held = asdict(bank.stats(scope))
    held["segments"] = held.pop("memories")
    with opened(asked, learning=True, **dict.fromkeys(LAYERS, True)) as whole:
        held["topics"] = len(whole.bank.topics(scope))
        held["events"] = len(whole.bank.events(scope))
        held["summary_versions"] = len(whole.bank.summaries(scope))
        held["answers"] = len(whole.bank.citation_log(scope))
    waiting = {name: len(pending(there.store, row.id, stored)) for name, stored in LAYERS.items()}
    lines = [f"{name.replace('_', ' '):<18}{number:>9,}" for name, number in held.items()]
    notes = {"topics": "topics", "events": "timelines", "summary_versions": "summary"}
    for place, name in enumerate(held):
        layer = notes.get(name)
        if layer and waiting[layer]:
            lines[place] += f"   closed sessions not taken in: {waiting[layer]:,}"
    return {"scope": list(scope), **held, "not_taken_in": waiting}, lines


def _sessions(there: Opened, scope: Scope, asked: Namespace) -> Told:
    found: list[dict[str, Any]] = []
    for name in there.bank.sessions(scope):
        turns = there.bank.turns(scope, name)
        cut = there.bank.segments(scope, name)
        found.append({"session": name, "begin": _iso(turns[0].at), "turns": len(turns), "segments": len(cut)})
    lines = [
        f"{_day(row['begin'])}  {counted(row['turns'], 'turn'):>12}  {counted(row['segments'], 'segment'):>14}  "
        f"{inline(row['session'])}"
        for row in found
    ]
    return found, lines


def _segments(there: Opened, scope: Scope, asked: Namespace) -> Told:
    found: list[dict[str, Any]] = []
    lines: list[str] = []
    for name in _named(there, scope, asked):
        turns, cut = there.bank.turns(scope, name), there.bank.segments(scope, name)
        segments = [
            {"start": one.start, "stop": one.stop, "turn_ids": [turn.id for turn in turns[one.start : one.stop]]}
            for one in cut
        ]
        found.append({"session": name, "segments": segments})
        lines += [*([""] if lines else []), inline(name), segmentation_strip(turns, cut, width=_width())]
    return found, lines


def _turns(there: Opened, scope: Scope, asked: Namespace) -> Told:
    turns = [turn for name in _named(there, scope, asked) for turn in there.bank.turns(scope, name)]
    turns = turns[-asked.last :] if asked.last else turns
    return [turn_json(turn) for turn in turns], ["\n\n".join(map(_turn_text, turns))]


def _turn_text(turn: Turn) -> str:
    when = f"{turn.at:%Y-%m-%d %H:%M}" if turn.at else ""
    return f"{inline(turn.id)}   {when}   {inline(turn.session)}\n{turn.text}"


def turn_json(turn: Turn) -> dict[str, Any]:
    """A turn for JSON, every character kept."""
    said = [_message_json(message) for message in turn.messages]
    return {"id": turn.id, "session": turn.session, "index": turn.index, "at": _iso(turn.at), "messages": said}


def _message_json(message: Message) -> dict[str, Any]:
    return {**asdict(message), "at": _iso(message.at), "metadata": dict(message.metadata)}


def _named(there: Opened, scope: Scope, asked: Namespace) -> Sequence[str]:
    names = there.bank.sessions(scope)
    if asked.session is not None and asked.session not in names:
        raise Refused(f"the scope has no session {asked.session!r}; `secom inspect sessions` lists those that it has")
    return names if asked.session is None else [asked.session]


# -- what is made of sessions -----------------------------------------------------------------------------------------


def _topics(there: Opened, scope: Scope, asked: Namespace) -> Told:
    topics = there.bank.topics(scope)
    lines = [
        f"#{topic.id}  {inline(topic.speaker)}  ({counted(len(topic.turn_ids), 'turn')} of "
        f"{', '.join(map(inline, topic.sessions))})\n    {inline(topic.summary)}"
        for topic in topics
    ]
    return [_topic_json(topic) for topic in topics], lines


def _topic_json(topic: Topic) -> dict[str, Any]:
    versions = [
        {"number": each.number, "text": each.text, "note": each.note, "session": each.session}
        for each in topic.versions
    ]
    return {
        "id": topic.id,
        "speaker": topic.speaker,
        "summary": topic.summary,
        "turn_ids": list(topic.turn_ids),
        "versions": versions,
    }


def _timelines(there: Opened, scope: Scope, asked: Namespace) -> Told:
    events, links = there.bank.events(scope), there.bank.links(scope)
    into: dict[int, list[Link]] = {}
    for link in links:
        into.setdefault(link.later, []).append(link)
    found = {
        "events": [{**asdict(event), "at": _iso(event.at), "turn_ids": list(event.turn_ids)} for event in events],
        "links": [{"earlier": link.earlier, "later": link.later, "relation": link.relation.value} for link in links],
    }
    return found if events else {}, [_event_text(event, into.get(event.id, ())) for event in events]


def _event_text(event: Event, links: Iterable[Link]) -> str:
    ways = "".join(f"\n    {link.relation.value} from #{link.earlier}" for link in links)
    return f"#{event.id}  {event.at:%Y-%m-%d}  {inline(event.text)}{ways}"


def _summary(there: Opened, scope: Scope, asked: Namespace) -> Told:
    versions = there.bank.summaries(scope)
    if not versions:
        return [], []
    latest = versions[-1]
    head = f"version {latest.version}, after the session {inline(latest.session)}"
    return [_summary_json(each) for each in versions], [head, "", latest.text]


def _summary_json(version: Summary) -> dict[str, Any]:
    return {
        "version": version.version,
        "text": version.text,
        "session": version.session,
        "turn_ids": list(version.session_turn_ids),
        "provisional": version.provisional,
    }


# -- what was learned -------------------------------------------------------------------------------------------------


def _weights(there: Opened, scope: Scope, asked: Namespace) -> Told:
    found = learned_weights(there.store, there.row(scope))
    return [_weights_json(each) for each in found], ["\n\n".join(map(_weights_text, found))] if found else []


def _weights_json(found: Learned) -> dict[str, Any]:
    return asdict(replace(found, weights=dict(found.weights), base=dict(found.base)))


def _weights_text(found: Learned) -> str:
    head = f"{found.answers:,} answers, trust {found.trust:.2f}, thrown away {found.rollbacks} times"
    rows = [
        f"{name:<24}{weight:>9.3f}   {'at first':>8} {found.base[name]:>9.3f}"
        for name, weight in sorted(found.weights.items(), key=lambda item: -abs(item[1]))
    ]
    return "\n".join([head + (", frozen" if found.frozen else ""), *rows])


def _log(there: Opened, scope: Scope, asked: Namespace) -> Told:
    with opened(asked, learning=True) as learning:
        entries = learning.bank.citation_log(scope, last=asked.last)
    found = [{**asdict(each), "at": _iso(each.at), "reward": each.reward} for each in entries]
    return found, [_entry_text(each) for each in entries]


def _entry_text(entry: CitationEntry) -> str:
    cited = ", ".join(map(str, entry.cited)) or "none"
    asked = inline(entry.query) if entry.query is not None else "(the question was forgotten)"
    return f"{entry.at:%Y-%m-%d %H:%M}  shown {len(entry.numbers):>3}  cited {cited}  {entry.lesson}  {asked}"


_SHOWN: Final[Mapping[str, Callable[[Opened, Scope, Namespace], Told]]] = {
    "overview": _overview,
    "sessions": _sessions,
    "segments": _segments,
    "turns": _turns,
    "topics": _topics,
    "timelines": _timelines,
    "summary": _summary,
    "weights": _weights,
    "log": _log,
}


def _width() -> int:
    if not sys.stdout.isatty():
        return 100
    return max(40, shutil.get_terminal_size().columns)


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None


def _day(at: str | None) -> str:
    return (at or "")[:10]
