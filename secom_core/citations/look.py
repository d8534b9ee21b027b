"""The citation log as JSON, as text, and in the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from ..layers import Listing
from ..pictures.report.html import counted, note, when, words
from ..pictures.svg import svg
from ..text.visible import inline
from .records import CitationEntry

_ANSWERS: Final = 100
_WINDOW: Final = 20
_POINTS: Final = 300
_FIELDS: Final = ("id", "query", "numbers", "memory_ids", "turn_ids", "cited", "reward", "at")


def log(entries: Sequence[CitationEntry]) -> Listing:
    """The answers, the oldest first."""
    return Listing(list(map(_entry_row, entries)), list(map(_entry_text, entries)))


def _entry_row(entry: CitationEntry) -> dict[str, Any]:
    fields = entry.impression.as_json() | entry.as_json() | {"reward": entry.reward}
    return {name: fields[name] for name in _FIELDS}


def _entry_text(entry: CitationEntry) -> str:
    cited = ", ".join(map(str, entry.cited)) or "none"
    query = inline(entry.query) if entry.query is not None else "(the question was forgotten)"
    return f"{entry.at:%Y-%m-%d %H:%M}  shown {len(entry.numbers):>3}  cited {cited}  {query}"


def report(answers: Sequence[CitationEntry], updates: int) -> Iterator[str]:
    """What answers cited, in HTML.

    Args:
        answers: the log, the oldest first.
        updates: how many batches of answers the paper's reranker has learned from.
    """
    if not answers:
        yield note("No answer has cited anything yet.")
    if updates:
        yield note(f"The reranker was updated {counted(updates, 'time')} by what answers cited.")
    if len(answers) > 1:
        window = min(_WINDOW, max(2, len(answers) // 4))
        yield (
            f'<figure class="wide">{_reward_curve([each.reward for each in answers], window)}<figcaption>Of what it '
            f"was shown, the share that each answer cited; the line is the mean of the latest {window}."
            "</figcaption></figure>"
        )
    if latest := answers[-_ANSWERS:]:
        yield f"<details><summary>The latest answers <small>{len(latest):,}</small></summary>"
        columns = {"when": False, "shown": True, "cited": True, "asked": False}
        yield f"{_table(columns, map(_answer_cells, reversed(latest)))}</details>"


def _answer_cells(answer: CitationEntry) -> Sequence[str]:
    query = f'<span dir="auto">{words(answer.query)}</span>' if answer.query is not None else "<em>forgotten</em>"
    return when(answer.at), str(len(answer.numbers)), str(len(answer.cited)), query


def _table(columns: Mapping[str, bool], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells in HTML; for each column's title, whether it holds numbers."""
    classes = [' class="number"' if numbers else "" for numbers in columns.values()]
    head = "".join(f"<th{class_}>{title}</th>" for class_, title in zip(classes, columns, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{class_}>{cell}</td>' for class_, cell in zip(classes, row, strict=True))}</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _reward_curve(rewards: Sequence[float], window: int) -> str:
    """The share of what was shown that each answer cited, and its mean over the latest so many.

    Args:
        rewards: from 0 to 1, the oldest first.
        window: over how many answers the mean goes.
    """
    wide, tall, left, top = 760, 180, 34, 10
    right, bottom, last = left + wide, top + tall + 18, max(len(rewards) - 1, 1)
    sums = [0.0, *accumulate(rewards)]
    means = [(sums[n] - sums[max(0, n - window)]) / min(n, window) for n in range(1, len(sums))]
    places = sorted({*range(0, len(rewards), max(1, len(rewards) // _POINTS)), len(rewards) - 1})
    across = {place: f"{left + wide * place / last:.1f}" for place in places}
    axis = "".join(
        f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" class="rule"/>'
        f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" class="ink">{level:.1f}</text>'
        for level, y in ((0.0, top + tall), (0.5, top + tall / 2), (1.0, top))
    )
    dots = "".join(
        f'<circle cx="{x}" cy="{top + tall * (1 - rewards[place]):.1f}" r="2" class="dot"/>'
        for place, x in across.items()
    )
    curve = " ".join(f"{x},{top + tall * (1 - means[place]):.1f}" for place, x in across.items())
    body = (
        f'{axis}{dots}<polyline points="{curve}" fill="none" class="line"/><text x="{left}" y="{bottom}" class="ink">1'
        f'</text><text x="{right}" y="{bottom}" text-anchor="end" class="ink">{len(rewards):,} answers</text>'
    )
    return svg(right + 8, bottom + 8, f"share cited, {len(rewards)} answers, lately {means[-1]:.2f}", body)
