"""The running summary as JSON, as text, and in the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..layers import Listing
from ..pictures.report.html import line, note, words
from ..text.visible import inline
from .records import Summary

_MOST_FORMER: Final = 30


def listing(versions: Sequence[Summary]) -> Listing:
    """All versions as JSON, and the latest as text."""
    if not versions:
        return Listing([], [])
    latest = versions[-1]
    head = f"version {latest.version}, after the session {inline(latest.session)}"
    return Listing([_row(each) for each in versions], [head, "", latest.text])


def _row(version: Summary) -> dict[str, Any]:
    return {
        "version": version.version,
        "text": version.text,
        "session": version.session,
        "turn_ids": list(version.session_turn_ids),
        "provisional": version.provisional,
    }


def report(versions: Sequence[Summary]) -> Iterator[str]:
    """The summary as it is, and as it was, in HTML."""
    if not versions:
        yield note("No summary is kept.")
        return
    *former, latest = versions
    yield f'<div class="paperless">{_sentences(latest)}</div>'
    if former:
        yield f"<details><summary>Earlier versions <small>{len(former):,}</small></summary>"
        yield from (f"<h4>{_title(each)}</h4>{_sentences(each)}" for each in reversed(former[-_MOST_FORMER:]))
        if len(former) > _MOST_FORMER:
            yield note(f"{len(former) - _MOST_FORMER:,} versions before these left out.")
        yield "</details>"


def _sentences(version: Summary) -> str:
    return f"<ul>{''.join(f'<li dir=auto>{words(each)}</li>' for each in version.sentences)}</ul>"


def _title(version: Summary) -> str:
    mark = ", made without the language model that was asked" if version.provisional else ""
    return f"Version {version.version}, after {line(version.session)}{mark}"
