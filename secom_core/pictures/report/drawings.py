"""The small drawings of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ...conversation import Turn
from ...memory import Segment
from ..svg import cells, svg

_CELL: Final = 15
_HEIGHT: Final = 18
_TURNS_A_ROW: Final = 56
_ROWS: Final = 8
MONTHS: Final = 36
"""How many months `months` shows at most."""


def strip(turns: Sequence[Turn], segments: Sequence[Segment], names: Sequence[str] = ()) -> str:
    """A session's segments in their colours, in rows of so many turns; of a very long session the latest rows.

    Args:
        turns: the session's.
        segments: ranges that cover it.
        names: what the segments are called, where that is known.
    """
    rows = range((max(len(turns), 1) - 1) // _TURNS_A_ROW + 1)[-_ROWS:]
    width = min(len(turns) - rows[0] * _TURNS_A_ROW, _TURNS_A_ROW) * _CELL + 2
    size = {"cell": _CELL, "left": 1, "top": 1, "height": _HEIGHT, "columns": _TURNS_A_ROW, "first_row": rows[0]}
    drawn = cells(turns, segments, names=names, **size)
    return svg(width, len(rows) * (_HEIGHT + 3), f"{len(segments)} segments of {len(turns)} turns", "".join(drawn))


def months(moments: Sequence[datetime]) -> str:
    """How many turns were said in each month, of the latest months; nothing for a single one.

    Args:
        moments: when each turn was said.
    """
    counts = Counter(12 * at.year + at.month - 1 for at in moments)
    if len(counts) < 2:
        return ""
    visible = range(min(counts), max(counts) + 1)[-MONTHS:]
    most = max(counts[month] for month in visible)
    bars = "".join(_bar(counts[month], most, month, place) for place, month in enumerate(visible))
    return svg(26 * len(visible) + 30, 104, f"turns in each month, at most {most}", bars)


def _bar(count: int, most: int, month: int, place: int) -> str:
    x, tall, label = 4 + 26 * place, 64 * count / most, f"{month // 12}-{month % 12 + 1:02}"
    number = str(count) if count < 1000 else f"{count / 1000:.0f}k"
    # A name under the first and each January after it: more would not fit.
    name = f'<text x="{x}" y="99" class="ink">{label}</text>' if place == 0 or (month % 12 == 0 and place > 2) else ""
    above = f'<text x="{x + 11}" y="{76 - tall:.1f}" text-anchor="middle" class="ink">{number}</text>' if count else ""
    return (
        f"<g><title>{label}: {count}</title>"
        f'<rect x="{x}" y="{80 - tall:.1f}" width="22" height="{tall:.1f}" class="bar"/>{name}{above}</g>'
    )
