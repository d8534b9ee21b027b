"""Pictures of a segmentation: a strip for the terminal, or an SVG.

One cell a turn, one letter or colour a segment; where the truth is given it stands in a row of its own, and each
boundary is marked as found, missed or extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from ..conversation import Session, Turn
from ..errors import InvalidInput
from ..memory import Segment, boundaries_of, check_partition
from .svg import cells, date, letter, opening, span, svg
from .words import clip

_WIDTHS: Final = {"text": 100, "svg": 900}
_MARKS: Final = {(1, 1): "✓", (1, 0): "-", (0, 1): "+", (0, 0): " "}
_LEGEND: Final = "✓ found  - missed  + extra"
_MARK_COLOURS: Final = {"✓": "#1b7f4d", "-": "#c0392b", "+": "#b9770e"}
_ROW: Final = 34
_HEIGHT: Final = 26


def segmentation_strip(
    session: Session | Sequence[Turn],
    segments: Sequence[Segment],
    *,
    truth: Sequence[Segment] | None = None,
    format: Literal["text", "svg"] = "text",
    width: int | None = None,
) -> str:
    """Draw how a session was cut.

    Args:
        session: the session, or its turns.
        segments: ranges that cover it.
        truth: the true ranges, to compare with.
        format: ``"text"`` for a terminal, ``"svg"`` for a picture as a string.
        width: columns of text (100), or pixels of SVG (900).

    Raises:
        InvalidInput: for ranges that do not cover the session, another format, or a width below 20.
    """
    turns = session.turns if isinstance(session, Session) else tuple(session)
    rows = {"": check_partition(segments, len(turns))}
    if truth is not None:
        rows = {"predicted": rows[""], "truth": check_partition(truth, len(turns))}
    if format not in _WIDTHS:
        raise InvalidInput(f"the format is 'text' or 'svg', not {format!r}")
    size = _WIDTHS[format] if width is None else width
    if size < 20:
        raise InvalidInput(f"a strip needs a width of 20 or more, got {size}")
    return _text(turns, rows, size) if format == "text" else _svg(turns, rows, size)


def _marks(rows: dict[str, list[Segment]]) -> str:
    """What became of the boundary after each turn, a character each; nothing where there is no truth."""
    if "truth" not in rows:
        return ""
    pairs = zip(boundaries_of(rows["truth"]), boundaries_of(rows["predicted"]), strict=True)
    return "".join(_MARKS[pair] for pair in pairs)


def _text(turns: Sequence[Turn], rows: dict[str, list[Segment]], width: int) -> str:
    label, marks = (10 if "truth" in rows else 0), _marks(rows)
    lines: list[str] = []
    for start in range(0, len(turns), width - label):
        part = slice(start, start + width - label)
        lines += [f"{name:<{label}}{_letters(row)[part]}" for name, row in rows.items()]
        if marks:
            lines.append(" " * label + marks[part].rstrip())
    if marks:
        lines.append(_LEGEND)
    return "\n".join([*lines, *_captions(turns, next(iter(rows.values())), width)])


def _letters(segments: Sequence[Segment]) -> str:
    return "".join(letter(place) * len(segment) for place, segment in enumerate(segments))


def _captions(turns: Sequence[Turn], segments: Sequence[Segment], width: int) -> Iterator[str]:
    spans = max((len(span(segment)) for segment in segments), default=0)
    dates = 18 if any(date(turns, segment) for segment in segments) else 0
    for place, segment in enumerate(segments):
        head = f"{letter(place)}  {span(segment):<{spans}}  {date(turns, segment):<{dates}}"
        yield clip(head + opening(turns, segment), width).rstrip()


def _svg(turns: Sequence[Turn], rows: dict[str, list[Segment]], width: int) -> str:
    left, columns, marks = (76 if "truth" in rows else 6), max(len(turns), 1), _marks(rows)
    cell, bottom = (width - left - 6) / columns, 8 + _ROW * len(rows)
    body: list[str] = []
    for top, (name, segments) in zip(range(8, bottom, _ROW), rows.items(), strict=True):
        body.append(f'<text x="{left - 8}" y="{top + 17}" text-anchor="end">{name}</text>')
        body += cells(turns, segments, cell=cell, left=left, top=top, height=_HEIGHT, columns=columns)
    body += [
        f'<text x="{left + turn * cell:g}" y="{bottom + 12}" text-anchor="middle" fill="{colour}">{mark}</text>'
        for turn, mark in enumerate(marks, start=1)
        if (colour := _MARK_COLOURS.get(mark))
    ]
    height = bottom + (20 if "truth" in rows else 0)
    return svg(width, height, f"how {len(turns)} turns were cut", "".join(body), standalone=True)
