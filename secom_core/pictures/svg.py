"""What the drawings share: a frame of SVG, and a session's segments as cells in their colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from ..conversation import Turn
from ..memory import Segment
from .words import clip, tame

# Okabe and Ito's colours, which colour-blind readers can tell apart, lightened to carry black text.
COLOURS: Final = ("#9fcfee", "#f4c982", "#8fd6bf", "#f3b6d3", "#f2eb9c", "#a9c4de", "#efb08a", "#c9c9c9")
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NAMESPACE: Final = ' xmlns="http://www.w3.org/2000/svg"'
_TIP: Final = 120
_LETTER: Final = 7.0
"""How many pixels a letter of a name takes at most, about."""
_LEAST: Final = 4
"""How many letters of a name tell something."""


def svg(width: float, height: float, label: str, body: str, *, standalone: bool = False) -> str:
    """A small drawing, without any style that a strict page would refuse.

    Args:
        width: pixels.
        height: pixels.
        label: what it shows, for those who cannot see it.
        body: the elements.
        standalone: whether it is a file of its own; in a page, an SVG needs no namespace.
    """
    return (
        f'<svg{_NAMESPACE if standalone else ""} width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(label)}" '
        f'font-family="sans-serif" font-size="11">{body}</svg>'
    )


def letter(place: int) -> str:
    """What stands for a segment, by its place."""
    return _LETTERS[place % len(_LETTERS)]


def span(segment: Segment) -> str:
    """The segment's turns, the last one included: ``3-5``, or ``3``."""
    return f"{segment.start}-{segment.stop - 1}" if len(segment) > 1 else f"{segment.start}"


def date(turns: Sequence[Turn], segment: Segment) -> str:
    """When the segment began, where known."""
    at = turns[segment.start].at
    return at.strftime("%Y-%m-%d %H:%M") if at else ""


def opening(turns: Sequence[Turn], segment: Segment) -> str:
    """The first words of a segment that are not empty."""
    return next((line for turn in turns[segment.start : segment.stop] if (line := tame(turn.text))), "")


def cells(
    turns: Sequence[Turn],
    segments: Sequence[Segment],
    *,
    cell: float,
    left: float,
    top: float,
    height: int,
    columns: int,
    first_row: int = 0,
    names: Sequence[str] = (),
) -> Iterator[str]:
    """Each segment as a rectangle with its letter, in rows of ``columns`` turns; pointing at it shows how it begins.

    Where the segments have names, as much of the name as there is room for stands in the place of the letter.

    Args:
        turns: the session's.
        segments: ranges that cover it.
        cell: the width of a turn, in pixels.
        left: where a row begins, in pixels.
        top: where the first row begins, in pixels.
        height: of a row, in pixels; three are left between rows.
        columns: how many turns a row has.
        first_row: rows before it are left out.
        names: of the segments.
    """
    for place, segment in enumerate(segments):
        name = names[place] if place < len(names) else ""
        about = " ".join(filter(None, [span(segment), name, date(turns, segment), opening(turns, segment)]))
        tip, colour = escape(clip(about, _TIP)), COLOURS[place % len(COLOURS)]
        for row in range(max(segment.start // columns, first_row), (segment.stop - 1) // columns + 1):
            start, stop = max(segment.start, row * columns), min(segment.stop, (row + 1) * columns)
            x, y, wide = left + start % columns * cell, top + (row - first_row) * (height + 3), (stop - start) * cell
            label = _label(name, wide) if name else letter(place)
            yield (
                f'<g><title>{tip}</title><rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{height}" rx="2" '
                f'fill="{colour}" stroke="#ffffff"/><text x="{x + wide / 2:g}" y="{y + height / 2 + 4:g}" '
                f'text-anchor="middle" fill="#1c1c1c">{label}</text></g>'
            )


def _label(name: str, wide: float) -> str:
    """As much of a name as there is room for; nothing where that would tell nothing."""
    room = int(wide / _LETTER)
    return escape(clip(name, room)) if room >= _LEAST else ""
