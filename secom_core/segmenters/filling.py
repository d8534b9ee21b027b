"""Pieces of a text that fill a limit: cut before headings and between paragraphs, and not inside code or a sentence."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from ..protocols import TokenCounter
from ..text.captions import has_cues
from ..text.passages import Span, blocks
from ..text.terms import sentence_spans

_CUE_END: Final = re.compile(r"\n[ \t\r]*\n")
_LINE_END: Final = re.compile(r"\n")
_WORD_END: Final = re.compile(r"\s+")
_HEADING: Final = re.compile(r"(#{1,6})\s")
_BEFORE: Final = 40
"""How many characters before a place are looked at for the blank line or the heading that it follows."""

_PIECE: Final = 1.0
"""What one more piece costs: as much as to cut inside a line."""
_IN_LINE, _LINE, _PARAGRAPH = 1.0, 0.7, 0.5
"""What it costs to cut between sentences of a line, lines, and paragraphs."""
_SECTION: Final = 0.05
"""What it costs to cut before a heading, a level."""
_INDENTED, _SAME_SUBJECT, _INSIDE, _BELOW_HEADING = 0.2, 0.2, 1.0, 1.5
"""What it costs more to cut before an indented line, where no segment begins, inside a passage such as a block of code,
and between a heading and its text."""

_LEAST: Final = 1 / 3
"""How much of the limit a piece takes at least, where the text goes on."""


def filled(
    text: str, passages: Sequence[Span], begins: Collection[int], limit: int, counter: TokenCounter
) -> list[Span]:
    """Put passages together into pieces of at most ``limit`` tokens, so that all cuts together cost least.

    Args:
        text: the whole text.
        passages: ranges of characters that follow each other; one that is longer than the limit is cut, between cues
            of captions, blocks and lines, then between sentences, words and characters.
        begins: where segments begin.
        limit: the longest piece in tokens.
        counter: counts the tokens.

    Returns:
        Ranges that cover the passages with no gap and no overlap.
    """
    first, last = passages[0][0], passages[-1][1]
    if counter(text[first:last]) <= limit:
        return [(first, last)]
    atoms = [(*atom, place) for span in passages for place, atom in enumerate(_atoms(text, span, limit, counter))]
    costs = np.array([_cost(text, start, start in begins) + (_INSIDE if place else 0.0) for start, _, place in atoms])
    sizes = np.array([counter(text[start:stop]) for start, stop, _ in atoms])
    spans: list[Span] = []
    for begin, end in pairwise(_cheapest(costs, sizes, limit)):
        spans += _within(text, [(start, stop) for start, stop, _ in atoms[begin:end]], limit, counter)
    return spans


def cut_at(ends: re.Pattern[str], text: str, start: int, stop: int) -> list[Span]:
    """The range cut behind each match."""
    edges = [start, *(m.end() for m in ends.finditer(text, start, stop) if m.end() < stop), stop]
    return [(first, last) for first, last in pairwise(edges) if first < last]


def _cheapest(costs: np.ndarray, sizes: np.ndarray, limit: int) -> list[int]:
    """Where pieces begin, and the end: the cheapest way to cut, by how much it costs before each atom."""
    total = np.concatenate([[0], np.cumsum(sizes)])
    ends = np.arange(1, len(total))
    lows = np.minimum(np.searchsorted(total, total[1:] - limit), ends - 1)
    highs = np.clip(np.searchsorted(total, total[1:] - _LEAST * limit, side="right"), lows + 1, ends)
    best, came = np.zeros(len(total)), np.zeros(len(total), dtype=np.int64)
    best[0] = 0.0 - costs[0]
    for end, low, high in zip(ends.tolist(), lows.tolist(), highs.tolist(), strict=True):
        ways = best[low:high] + costs[low:high]
        came[end] = low + int(ways.argmin())
        best[end] = ways.min() + _PIECE
    places = [len(sizes)]
    while places[-1]:
        places.append(int(came[places[-1]]))
    return places[::-1]


def _within(text: str, atoms: Sequence[Span], limit: int, counter: TokenCounter) -> list[Span]:
    """The atoms as one piece; as several where a counter finds more in them together than in each."""
    spans = [(atoms[0][0], atoms[-1][1])]
    if counter(text[slice(*spans[0])]) <= limit:
        return spans
    spans = [atoms[0]]
    for start, stop in atoms[1:]:
        if counter(text[spans[-1][0] : stop]) <= limit:
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
    return spans


def _cost(text: str, start: int, begins_segment: bool) -> float:
    """What it costs to cut before a passage."""
    before = text[max(0, start - _BEFORE) : start]
    bare = before.rstrip(" \t\r")
    if not bare.endswith("\n"):
        cost = _IN_LINE
    elif bare[:-1].rstrip(" \t\r").endswith("\n"):
        heading = _HEADING.match(text, start)
        if heading and not _is_heading(text, start):
            return _SECTION * len(heading[1])
        cost = _PARAGRAPH
    else:
        cost = _LINE
    if text[start : start + 1] in (" ", "\t"):
        cost += _INDENTED
    if not begins_segment:
        cost += _SAME_SUBJECT
    return cost + (_BELOW_HEADING if _is_heading(text, start) else 0.0)


def _is_heading(text: str, stop: int) -> bool:
    """Whether the last line with words before a place is a heading."""
    words = text[max(0, stop - 10 * _BEFORE) : stop].rstrip()
    return bool(_HEADING.match(words[words.rfind("\n") + 1 :]))


def _atoms(text: str, span: Span, limit: int, counter: TokenCounter) -> Iterator[Span]:
    """The span whole where it fits, else its blocks, its lines, its sentences, its words, its characters."""
    start, stop = span
    middle = (start + stop) // 2
    if middle == start or counter(text[start:stop]) <= limit:
        yield span
        return
    for part in next(
        (parts for parts in _divisions(text, start, stop) if len(parts) > 1), [(start, middle), (middle, stop)]
    ):
        yield from _atoms(text, part, limit, counter)


def _divisions(text: str, start: int, stop: int) -> Iterator[list[Span]]:
    piece = text[start:stop]
    if has_cues(piece):
        yield cut_at(_CUE_END, text, start, stop)
    yield [(start + first, start + last) for first, last, _ in blocks(piece)]
    yield cut_at(_LINE_END, text, start, stop)
    yield sentence_spans(text, start, stop)
    yield cut_at(_WORD_END, text, start, stop)
