"""The small drawings of a report, as SVG without any style that a strict page would refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from itertools import accumulate
from typing import Final

from ..conversation import Turn
from ..memory import Segment
from .segmentation import COLOURS, letter
from .words import clip, tame

__all__ = ["months", "reward_curve", "strip", "weight_bar"]

_CELL: Final = 15
_ROW: Final = 21
_TURNS_A_ROW: Final = 56
_ROWS: Final = 8
_POINTS: Final = 300
_MONTHS: Final = 36


def _svg(width: float, height: float, label: str, body: str) -> str:
    return (
        f'<svg width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}" font-family="sans-serif" font-size="11">{body}</svg>'
    )


# -- a session, a cell a turn ------------------------------------------------------------------------------------------


def strip(turns: Sequence[Turn], segments: Sequence[Segment]) -> str:
    """A session's segments in their colours, in rows of so many turns; of a very long session the latest rows.

    Args:
        turns: the session's.
        segments: ranges that cover it.
    """
    rows = range((max(len(turns), 1) - 1) // _TURNS_A_ROW + 1)[-_ROWS:]
    begin = rows[0] * _TURNS_A_ROW
    width = min(len(turns) - begin, _TURNS_A_ROW) * _CELL + 2
    body = "".join(
        _block(turns, segment, place, start, stop, row - rows[0])
        for place, segment in enumerate(segments)
        for row, start, stop in _in_rows(segment, begin)
    )
    return _svg(width, len(rows) * _ROW, f"{len(segments)} segments of {len(turns)} turns", body)


def _in_rows(segment: Segment, begin: int) -> Iterator[tuple[int, int, int]]:
    start = max(segment.start, begin)
    while start < segment.stop:
        row = start // _TURNS_A_ROW
        stop = min(segment.stop, (row + 1) * _TURNS_A_ROW)
        yield row, start, stop
        start = stop


def _block(turns: Sequence[Turn], segment: Segment, place: int, start: int, stop: int, row: int) -> str:
    x, wide = 1 + start % _TURNS_A_ROW * _CELL, (stop - start) * _CELL
    tip = escape(clip(f"{letter(place)}: {tame(turns[segment.start].text)}", 120))
    return (
        f'<g><title>{tip}</title><rect x="{x}" y="{row * _ROW + 1}" width="{wide}" height="{_ROW - 3}" rx="2" '
        f'fill="{COLOURS[place % len(COLOURS)]}" stroke="#ffffff"/>'
        f'<text x="{x + wide / 2:.1f}" y="{row * _ROW + 14}" text-anchor="middle" fill="#1c1c1c">{letter(place)}</text>'
        "</g>"
    )


# -- turns by month ----------------------------------------------------------------------------------------------------


def months(moments: Sequence[datetime]) -> str:
    """How many turns were said in each month, of the latest months; nothing for a single one.

    Args:
        moments: when each turn was said.
    """
    counts = Counter((at.year, at.month) for at in moments)
    if len(counts) < 2:
        return ""
    shown = list(_between(min(counts), max(counts)))[-_MONTHS:]
    step, most = 26, max(counts[each] for each in shown)
    bars = "".join(_month(counts[each], most, each, 4 + step * place, place) for place, each in enumerate(shown))
    return _svg(step * len(shown) + 30, 104, f"turns in each month, at most {most}", bars)


def _between(first: tuple[int, int], last: tuple[int, int]) -> Iterator[tuple[int, int]]:
    year, month = first
    while (year, month) <= last:
        yield year, month
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)


def _month(count: int, most: int, when: tuple[int, int], x: int, place: int) -> str:
    tall = 64 * count / most
    label = f"{when[0]}-{when[1]:02}"
    # A name under the first and each January after it: more would not fit.
    named = place == 0 or (when[1] == 1 and place > 2)
    name = f'<text x="{x}" y="99" class="ink">{label}</text>' if named else ""
    much = (
        f'<text x="{x + 11}" y="{76 - tall:.1f}" text-anchor="middle" class="ink">{_short(count)}</text>'
        if count
        else ""
    )
    return (
        f"<g><title>{label}: {count}</title>"
        f'<rect x="{x}" y="{80 - tall:.1f}" width="22" height="{tall:.1f}" class="bar"/>{name}{much}</g>'
    )


def _short(count: int) -> str:
    return str(count) if count < 1000 else f"{count / 1000:.0f}k"


# -- what was learned --------------------------------------------------------------------------------------------------


def reward_curve(rewards: Sequence[float], window: int) -> str:
    """The share of what was shown that each answer cited, and its mean over the latest so many.

    Args:
        rewards: from 0 to 1, the oldest first.
        window: over how many answers the mean goes.
    """
    wide, tall, left, top = 760, 180, 34, 10
    last = max(len(rewards) - 1, 1)

    def at(place: int, reward: float) -> tuple[float, float]:
        return left + wide * place / last, top + tall * (1 - reward)

    means = _means(rewards, window)
    step = max(1, len(rewards) // _POINTS)
    seen = sorted({*range(0, len(rewards), step), len(rewards) - 1})
    dots = "".join(_dot(*at(place, rewards[place])) for place in seen)
    line = " ".join("{:.1f},{:.1f}".format(*at(place, means[place])) for place in seen)
    axis = "".join(_level(level, left, left + wide, at(0, level)[1]) for level in (0.0, 0.5, 1.0))
    ends = (
        f'<text x="{left}" y="{top + tall + 18}" class="ink">1</text><text x="{left + wide}" y="{top + tall + 18}" '
        f'text-anchor="end" class="ink">{len(rewards):,} answers</text>'
    )
    body = f'{axis}{dots}<polyline points="{line}" fill="none" class="line"/>{ends}'
    return _svg(left + wide + 8, top + tall + 26, f"share cited, {len(rewards)} answers, lately {means[-1]:.2f}", body)


def _means(values: Sequence[float], window: int) -> list[float]:
    sums = [0.0, *accumulate(values)]
    return [(sums[n] - sums[max(0, n - window)]) / min(n, window) for n in range(1, len(sums))]


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" class="dot"/>'


def _level(level: float, left: int, right: int, y: float) -> str:
    return (
        f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" class="rule"/>'
        f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" class="ink">{level:.1f}</text>'
    )


def weight_bar(name: str, weights: Mapping[str, float], base: Mapping[str, float]) -> str:
    """One signal's weight as a bar from zero, with a mark where it stood at first.

    Args:
        name: the signal.
        weights: by signal, as they are now.
        base: by signal, as they were at first.
    """
    most = max((abs(each) for each in (*weights.values(), *base.values())), default=0.0) or 1.0
    zero, reach = 110.0, 100.0
    now, first = zero + reach * weights[name] / most, zero + reach * base[name] / most
    body = (
        f'<line x1="{zero}" y1="1" x2="{zero}" y2="15" class="rule"/>'
        f'<rect x="{min(zero, now):.1f}" y="4" width="{abs(now - zero):.1f}" height="8" class="bar"/>'
        f'<line x1="{first:.1f}" y1="1" x2="{first:.1f}" y2="15" class="mark"/>'
    )
    return _svg(2 * zero, 16, f"{weights[name]:.3f}, at first {base[name]:.3f}", body)
