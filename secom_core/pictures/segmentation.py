"""Pictures of a segmentation: a strip for the terminal, an SVG, or matplotlib axes.

One cell a turn, one letter or colour a segment; where the truth is given it stands in a row of its own, and each
boundary is marked as found, missed or extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Final, Literal, overload

from ..conversation import Session, Turn
from ..errors import InvalidInput, MissingExtra
from ..memory import Segment, boundaries_of, check_partition
from .words import clip, tame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "letter", "segmentation_strip"]

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# Okabe and Ito's colours, which colour-blind readers can tell apart, lightened to carry black text.
COLOURS: Final = ("#9fcfee", "#f4c982", "#8fd6bf", "#f3b6d3", "#f2eb9c", "#a9c4de", "#efb08a", "#c9c9c9")
_MARKS: Final = {(1, 1): "✓", (1, 0): "-", (0, 1): "+", (0, 0): " "}
_LEGEND: Final = "✓ found  - missed  + extra"
_MARK_COLOURS: Final = {"✓": "#1b7f4d", "-": "#c0392b", "+": "#b9770e"}


@overload
def segmentation_strip(
    session: Session | Sequence[Turn],
    segments: Sequence[Segment],
    *,
    truth: Sequence[Segment] | None = None,
    format: Literal["text", "svg"] = "text",
    width: int | None = None,
) -> str: ...
@overload
def segmentation_strip(
    session: Session | Sequence[Turn],
    segments: Sequence[Segment],
    *,
    truth: Sequence[Segment] | None = None,
    format: Literal["matplotlib"],
    width: int | None = None,
) -> Axes: ...
def segmentation_strip(
    session: Session | Sequence[Turn],
    segments: Sequence[Segment],
    *,
    truth: Sequence[Segment] | None = None,
    format: Literal["text", "svg", "matplotlib"] = "text",
    width: int | None = None,
) -> str | Axes:
    """Draw how a session was cut.

    Args:
        session: the session, or its turns.
        segments: ranges that cover it.
        truth: the true ranges, to compare with.
        format: ``"text"`` for a terminal, ``"svg"`` for a picture as a string, ``"matplotlib"`` for axes.
        width: columns of text (100), pixels of SVG (900), or a hundredth of an inch of a figure (900).

    Raises:
        InvalidInput: for ranges that do not cover the session, another format, or a width below 20.
        MissingExtra: for ``"matplotlib"`` where it is not installed.
    """
    turns = session.turns if isinstance(session, Session) else tuple(session)
    rows = {"": check_partition(segments, len(turns))}
    if truth is not None:
        rows = {"predicted": rows[""], "truth": check_partition(truth, len(turns))}
    size = width if width is not None else (100 if format == "text" else 900)
    if size < 20:
        raise InvalidInput(f"a strip needs a width of 20 or more, got {size}")
    if format == "text":
        return _text(turns, rows, size)
    if format == "svg":
        return _svg(turns, rows, size)
    if format == "matplotlib":
        return _axes(turns, rows, size)
    raise InvalidInput(f"the format is 'text', 'svg' or 'matplotlib', not {format!r}")


def _marks(rows: dict[str, list[Segment]]) -> list[str]:
    """What became of the boundary after each turn; nothing where there is no truth."""
    if "truth" not in rows:
        return []
    pairs = zip(boundaries_of(rows["truth"]), boundaries_of(rows["predicted"]), strict=True)
    return [_MARKS[pair] for pair in pairs]


def letter(place: int) -> str:
    """What stands for a segment, by its place."""
    return _LETTERS[place % len(_LETTERS)]


def _opening(turns: Sequence[Turn], segment: Segment) -> str:
    """The first words of a segment that are not empty."""
    return next((line for turn in turns[segment.start : segment.stop] if (line := tame(turn.text))), "")


def _dates(turns: Sequence[Turn], segment: Segment) -> str:
    at = turns[segment.start].at
    return at.strftime("%Y-%m-%d %H:%M") if at else ""


def _span(segment: Segment) -> str:
    return f"{segment.start}-{segment.stop - 1}" if len(segment) > 1 else f"{segment.start}"


def _text(turns: Sequence[Turn], rows: dict[str, list[Segment]], width: int) -> str:
    label = max(len(name) for name in rows) + 1 if "truth" in rows else 0
    lines: list[str] = []
    for start in range(0, len(turns), width - label):
        stop = min(start + width - label, len(turns))
        lines.extend(f"{name:<{label}}{_letters(row)[start:stop]}" for name, row in rows.items())
        if marks := _marks(rows):
            lines.append(" " * label + "".join(marks[start:stop]).rstrip())
    if "truth" in rows and turns:
        lines.append(_LEGEND)
    return "\n".join([*lines, *_captions(turns, next(iter(rows.values())), width)])


def _letters(segments: Sequence[Segment]) -> str:
    return "".join(letter(place) * len(segment) for place, segment in enumerate(segments))


def _captions(turns: Sequence[Turn], segments: Sequence[Segment], width: int) -> Iterator[str]:
    spans = max((len(_span(segment)) for segment in segments), default=0)
    dated = any(_dates(turns, segment) for segment in segments)
    for place, segment in enumerate(segments):
        date = f"{_dates(turns, segment):<16}  " if dated else ""
        head = f"{letter(place)}  {_span(segment):<{spans}}  {date}"
        yield clip(head + _opening(turns, segment), width).rstrip()


def _svg(turns: Sequence[Turn], rows: dict[str, list[Segment]], width: int) -> str:
    left = 76 if "truth" in rows else 6
    cell = (width - left - 6) / max(len(turns), 1)
    body = [
        part
        for line, (name, segments) in enumerate(rows.items())
        for part in _svg_row(turns, segments, name, left=left, top=8 + 34 * line, cell=cell)
    ]
    body += [_svg_mark(mark, left + (turn + 1) * cell, 8 + 34 * len(rows)) for turn, mark in _seen(_marks(rows))]
    height = 8 + 34 * len(rows) + (20 if "truth" in rows else 0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="sans-serif" font-size="12">{"".join(body)}</svg>'
    )


def _svg_row(
    turns: Sequence[Turn], segments: Sequence[Segment], name: str, *, left: int, top: int, cell: float
) -> Iterator[str]:
    if name:
        yield f'<text x="{left - 8}" y="{top + 18}" text-anchor="end">{name}</text>'
    for place, segment in enumerate(segments):
        x, wide = left + segment.start * cell, len(segment) * cell
        tip = escape(" ".join(filter(None, [_span(segment), _dates(turns, segment), _opening(turns, segment)])))
        yield (
            f'<g><title>{tip}</title><rect x="{x:.2f}" y="{top}" width="{wide:.2f}" height="26" '
            f'fill="{COLOURS[place % len(COLOURS)]}" stroke="#ffffff"/>'
            f'<text x="{x + wide / 2:.2f}" y="{top + 18}" text-anchor="middle">{letter(place)}</text></g>'
        )


def _seen(marks: Sequence[str]) -> list[tuple[int, str]]:
    return [(turn, mark) for turn, mark in enumerate(marks) if mark in _MARK_COLOURS]


def _svg_mark(mark: str, x: float, top: int) -> str:
    return f'<text x="{x:.2f}" y="{top + 12}" text-anchor="middle" fill="{_MARK_COLOURS[mark]}">{mark}</text>'


def _axes(turns: Sequence[Turn], rows: dict[str, list[Segment]], width: int) -> Axes:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("segmentation_strip(format='matplotlib')", "pictures") from error
    figure = Figure(figsize=(width / 100, 0.6 + 0.5 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for line, segments in enumerate(rows.values()):
        _bars(axes, segments, line)
    for turn, mark in _seen(_marks(rows)):
        axes.text(turn + 1, len(rows) - 0.35, mark, ha="center", va="center", color=_MARK_COLOURS[mark])
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set(xlim=(0, max(len(turns), 1)), ylim=(len(rows) - 0.1, -0.5), xlabel="turn")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return axes


def _bars(axes: Axes, segments: Sequence[Segment], line: int) -> None:
    for place, segment in enumerate(segments):
        axes.barh(
            line,
            len(segment),
            left=segment.start,
            height=0.8,
            color=COLOURS[place % len(COLOURS)],
            edgecolor="white",
        )
        axes.text(segment.start + len(segment) / 2, line, letter(place), ha="center", va="center")
