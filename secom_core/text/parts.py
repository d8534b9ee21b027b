"""Parts of a text such that each can be read by itself: code between its fences, rows of a table below its head."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from .kept import KEPT, Kept
from .passages import FENCES, Span, blocks
from .patterns import regex
from .terms import sentence_spans

_KEPT: Final = 1_000_000
"""How long the texts may be together of which it is kept where their blocks are."""

_LONGEST: Final = 300
"""How many characters the head of a table has at most that is shown again."""

_RULE: Final = regex(r"[ \t]*(?:\|[ \t]*)?:?-[-: |\t]*$", re.M)
"""The line below the head of a table."""


class _Block(NamedTuple):
    """A run of lines of one kind.

    Args:
        start: where it begins.
        stop: where it ends.
        kind: as `secom_core.text.passages.blocks` says.
        body: where what stands between its fences, or below the head of the table, begins; the beginning elsewhere.
        tail: where the fence that closes it begins; the end elsewhere.
    """

    start: int
    stop: int
    kind: str
    body: int
    tail: int


class _Layout(NamedTuple):
    starts: list[int]
    blocks: list[_Block]
    has_frames: bool

    def at(self, place: int) -> _Block:
        """The block of a character."""
        return self.blocks[bisect_right(self.starts, place) - 1]


def parts_of(text: str, spans: Sequence[Span], cut: str) -> str:
    """What stands at some places of a text, with a mark where words are left out.

    Code that is cut stays between its fences, and rows of a table stand below its head. The mark has a line of its own
    beside them, and beside headings and items of lists.

    Args:
        text: the text.
        spans: the places, in order.
        cut: the mark.
    """
    return _shown_parts((text, tuple(spans), cut))


def _parts_of(of: tuple[str, tuple[Span, ...], str]) -> str:
    text, spans, cut = of
    if "\n" not in text:
        return _joined(text, [(*span, "", "") for span in _runs(spans)], cut, None)
    layout = _layout_of(text)
    runs = [_trimmed(text, layout, *span) for span in _runs(spans)]
    ends = [0, *(stop for _, stop in runs)]
    begins = [*(start for start, _ in runs[1:]), len(text)]
    parts = [
        (*run, _before(text, layout, run[0], end), _after(text, layout, run[1], begin))
        for run, end, begin in zip(runs, ends, begins, strict=False)
    ]
    return _joined(text, parts, cut, layout)


# A block is written to be counted, perhaps in several lengths, and once more to be shown.
_shown_parts: Final[Kept[tuple[str, tuple[Span, ...], str], str]] = Kept(
    _parts_of, characters=_KEPT, length=lambda of: sum(stop - start for start, stop in of[1])
)


def beside(text: str, start: int, stop: int) -> str:
    """What `parts_of` shows with a part of a text so that it can be read by itself; mostly nothing."""
    if stop - start == len(text) or "\n" not in text:
        return ""
    layout = _layout_of(text)
    if not layout.has_frames:
        return ""
    start, stop = _trimmed(text, layout, start, stop)
    return _before(text, layout, start, 0) + _after(text, layout, stop, len(text))


def line_spans(text: str, start: int, stop: int) -> list[Span]:
    """The sentences between two places of a text, as `sentence_spans` gives them, but no row of a table is cut."""
    spans = sentence_spans(text, start, stop)
    if "|" not in text[start:stop]:
        return spans
    found = spans[:1]
    for first, last in spans[1:]:
        if text[first - 1] != "\n" and text[text.rfind("\n", 0, first) + 1 : first].lstrip().startswith("|"):
            found[-1] = found[-1][0], last
        else:
            found.append((first, last))
    return found


def rows_only(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans, without the heads of tables and the lines below these, which tell nothing without a row."""
    if "|" not in text:
        return list(spans)
    return [each for each in spans if not _is_head(text, *each)]


def _is_head(text: str, start: int, stop: int) -> bool:
    return is_row(text, start) and (_RULE.match(text, stop) or _RULE.match(text, _line_start(text, start))) is not None


def is_row(text: str, place: int) -> bool:
    """Whether a row of a table stands at a place of a text."""
    return text[text.rfind("\n", 0, place) + 1 : place + 1].lstrip().startswith("|")


def followed(text: str, mark: str) -> str:
    """A text with a mark behind it, on a line of its own where it ends with code or the like."""
    words = text.rstrip()
    has_lines = "\n" in words and _layout_of(words).blocks[-1].kind != "prose"
    return f"{words}{_gap(has_lines)}{mark}"


def _found(text: str) -> _Layout:
    found: list[_Block] = []
    for start, stop, kind in blocks(text):
        if found and kind == found[-1].kind and kind in ("prose", "heading"):
            # A line is a block there, and a page of short lines would take many times its length.
            start = found.pop().start
        found.append(_block(text, start, stop, kind))
    return _Layout([each.start for each in found], found, any(each.body > each.start for each in found))


_layout_of: Final[Kept[str, _Layout]] = Kept(_found, characters=KEPT)


def _block(text: str, start: int, stop: int, kind: str) -> _Block:
    body = text.find("\n", start, stop) + 1 or stop
    if kind == "table" and body - start <= _LONGEST and _RULE.match(text, body):
        return _Block(start, stop, kind, body, stop)
    if kind != "code":
        return _Block(start, stop, kind, start, stop)
    end = len(text[start:stop].rstrip()) + start
    tail = text.rfind("\n", start, end) + 1
    is_closed = tail >= body and not text[tail:end].strip().strip(_signs(text, start)[0])
    return _Block(start, stop, kind, body, tail if is_closed else stop)


def _signs(text: str, start: int) -> str:
    """What the fence consists of that opens the code which begins there."""
    line = text[start : text.find("\n", start) + 1 or len(text)].strip()
    sign = next(fence[0] for fence in FENCES if line.startswith(fence))
    return line[: len(line) - len(line.lstrip(sign))]


def _runs(spans: Sequence[Span]) -> list[Span]:
    """The spans, those that touch as one."""
    runs = list(spans[:1])
    for start, stop in spans[1:]:
        if start <= runs[-1][1]:
            runs[-1] = runs[-1][0], stop
        else:
            runs.append((start, stop))
    return runs


def _trimmed(text: str, layout: _Layout, start: int, stop: int) -> Span:
    """A span from the beginnings of lines on, without a fence at its edge whose code is not in it."""
    start = _line_start(text, start)
    stop = max(_line_start(text, stop), start + 1) if stop < len(text) else stop
    first, last = layout.at(start), layout.at(stop - 1)
    if first.kind == "code" and first.start < start and first.tail <= start and first.stop < stop:
        start = first.stop
    if last.kind == "code" and start < last.start and stop <= last.body and stop < last.stop:
        stop = last.start
    return start, stop


def _line_start(text: str, place: int) -> int:
    """Where the line of a place begins, if nothing but blanks stands before it; else the place."""
    line = text.rfind("\n", 0, place) + 1
    return place if text[line:place].strip(" \t") else line


def _before(text: str, layout: _Layout, start: int, end: int) -> str:
    """The line that what begins there stands below: a fence, or the head of a table; not where it is shown already.

    Args:
        text: the text.
        layout: its blocks.
        start: where a part begins.
        end: where the part before it ends.
    """
    block = layout.at(start)
    is_below = block.start < block.body <= start < block.tail and end < block.body
    return text[block.start : block.body].rstrip() + "\n" if is_below else ""


def _after(text: str, layout: _Layout, stop: int, begin: int) -> str:
    """The fence that closes code which is cut there, where the next part is not of it too."""
    block = layout.at(stop - 1)
    if block.kind != "code" or stop > block.tail or stop == block.stop or begin < block.tail:
        return ""
    line = text[block.start : block.body]
    blank = line[: len(line) - len(line.lstrip())]
    return f"\n{blank}{_signs(text, block.start)}"


def _joined(text: str, parts: Sequence[tuple[int, int, str, str]], cut: str, layout: _Layout | None) -> str:
    pieces = [_piece(text, part, layout) for part in parts]
    (begin, *_), (_, end, *_) = parts[0], parts[-1]
    shown = [*([f"{cut}{_gap(pieces[0].lines_above)}"] if begin else []), pieces[0].words]
    for before, after in pairwise(pieces):
        shown += [f"{_gap(before.lines_below)}{cut}{_gap(after.lines_above)}", after.words]
    return "".join([*shown, f"{_gap(pieces[-1].lines_below)}{cut}"] if end < len(text) else shown)


class _Piece(NamedTuple):
    """The words of a part, and whether what stands above and below it has a line of its own."""

    words: str
    lines_above: bool
    lines_below: bool


def _piece(text: str, part: tuple[int, int, str, str], layout: _Layout | None) -> _Piece:
    start, stop, before, after = part
    words = text[start:stop]
    above = layout is not None and _begins_line(text, start) and layout.at(start).kind != "prose"
    below = layout is not None and bool(after or text[stop - 1] == "\n") and layout.at(stop - 1).kind != "prose"
    if start:
        # Of code, what a line begins with says where it belongs.
        words = words.lstrip("\n") if above else words.lstrip()
    return _Piece(f"{before}{words.rstrip() if stop < len(text) else words}{after}", above, below)


def _begins_line(text: str, place: int) -> bool:
    return not place or text[place - 1] == "\n"


def _gap(is_line: bool) -> str:
    return "\n" if is_line else " "
