"""Topics as JSON, as text, and in the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..layers import Listing
from ..pictures.report.html import Page, counted, line, note, words
from ..text.visible import inline
from .records import Topic, TopicVersion

_TOPICS: Final = 400
_VERSIONS: Final = 30


def listing(topics: Sequence[Topic]) -> Listing:
    """Each topic: whose, what, and the sessions that it rests on."""
    return Listing([_row(topic) for topic in topics], [_text(topic) for topic in topics])


def _text(topic: Topic) -> str:
    rests = f"{counted(len(topic.turn_ids), 'turn')} of {', '.join(map(inline, topic.sessions))}"
    return f"#{topic.id}  {inline(topic.speaker)}  ({rests})\n    {inline(topic.summary)}"


def _row(topic: Topic) -> dict[str, Any]:
    about = {"id": topic.id, "speaker": topic.speaker, "summary": topic.summary, "turn_ids": list(topic.turn_ids)}
    return {**about, "versions": [_version_row(each) for each in topic.versions]}


def _version_row(version: TopicVersion) -> dict[str, Any]:
    return {"number": version.number, "text": version.text, "note": version.note, "session": version.session}


def report(topics: Sequence[Topic], page: Page) -> Iterator[str]:
    """The topics, by speaker, in HTML."""
    if not topics:
        yield note("No topics are kept.")
    latest = topics[-_TOPICS:]
    for speaker in dict.fromkeys(topic.speaker for topic in latest):
        own = [topic for topic in latest if topic.speaker == speaker]
        yield f'<h3 dir="auto">{line(speaker) or "nobody in particular"} <small>{len(own):,}</small></h3>'
        yield from (_html(topic, page) for topic in own)
    if len(topics) > _TOPICS:
        yield note(f"{counted(len(topics) - _TOPICS, 'earlier topic')} left out.")


def _html(topic: Topic, page: Page) -> str:
    much = f"{counted(len(topic.turn_ids), 'turn')} · {counted(len(topic.sessions), 'session')}"
    versions = "".join(map(_version, topic.versions[-_VERSIONS:])) if len(topic.versions) > 1 else ""
    former = f"<p>How it grew:</p><ol>{versions}</ol>" if versions else ""
    return (
        f'<details><summary><span class="lines" dir="auto">{words(topic.summary)}</span> '
        f"<small>{much}</small></summary>"
        f"{former}<p>It rests on:</p>{page.references(topic.turn_ids)}</details>"
    )


def _version(version: TopicVersion) -> str:
    return f'<li><span dir="auto">{words(version.note)}</span> <small dir="auto">{line(version.session)}</small></li>'
