"""Text into passages that cover it exactly: the utterances of a transcript, or the sentences of prose.

The text splitters of both frameworks cut here. Each passage keeps its place in the text, so that what is cut can be
put together again, character by character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from ..conversation import Message, Turn, group_messages
from ..memory import check_partition
from ..protocols import Segmenter, TokenCounter
from ..text.terms import SENTENCE_END, count_tokens

Span = tuple[int, int]

_LABEL: Final = re.compile(
    r"^[ \t]*(?:[\[(][^\])\n]{4,40}[\])][ \t]*)?"
    r"(?P<name>[^\W\d_][^\n:：\[\](){}<>]{0,40}?)[ \t]*[:：](?:[ \t]|$|(?<=：))",
    re.M,
)
_WORD_END: Final = re.compile(r"\s+")
_ROLES: Final = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "system": "system"}


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text with its place.

    Args:
        turn: what it says, for a segmenter.
        start: where it begins in the text, in characters.
        stop: where it ends, its trailing white space included.
    """

    turn: Turn
    start: int
    stop: int


def passages(text: str) -> list[Passage]:
    """Passages that cover the text: turns where it is a transcript, else sentences; none where it is blank."""
    if not text.strip():
        return []
    labels = _labels(text)
    return _utterances(text, labels) if labels else _sentences(text)


def segment_spans(
    text: str, segmenter: Segmenter, *, limit: int | None = None, counter: TokenCounter = count_tokens
) -> list[Span]:
    """Cut a text into segments.

    Args:
        text: a transcript or prose.
        segmenter: cuts the passages into segments.
        limit: the longest piece in tokens; a longer segment is cut again between passages, then between words.
        counter: counts the tokens.

    Returns:
        Half-open ranges of characters that cover the text with no gap and no overlap; none where it is blank.
    """
    found = passages(text)
    segments = check_partition(segmenter.segment([passage.turn for passage in found]), len(found))
    runs = [found[segment.start : segment.stop] for segment in segments]
    if limit is None:
        return [(run[0].start, run[-1].stop) for run in runs]
    return [span for run in runs for span in _within(text, run, limit, counter)]


def _labels(text: str) -> list[re.Match[str]]:
    """Where utterances begin; empty where the text is no transcript."""
    found = list(_LABEL.finditer(text))
    lines = sum(1 for line in text.splitlines() if line.strip())
    # A lone "Note:" in prose is no speaker: a transcript opens with a label and is made of them.
    begins = bool(found) and not text[: found[0].start()].strip()
    return found if begins and len(found) >= 2 and 3 * len(found) >= lines else []


def _utterances(text: str, labels: list[re.Match[str]]) -> list[Passage]:
    edges = [0, *(label.start() for label in labels[1:]), len(text)]
    ends = zip(labels, edges[1:], strict=True)
    turns = group_messages(_message(label["name"], text[label.end() : stop].strip()) for label, stop in ends)
    places = pairwise([0, *accumulate(len(turn.messages) for turn in turns)])
    return [Passage(turn, edges[first], edges[last]) for turn, (first, last) in zip(turns, places, strict=True)]


def _message(name: str, words: str) -> Message:
    role = _ROLES.get(name.strip().casefold())
    return Message(words, role=role) if role else Message(words, role="", speaker=name.strip())


def _sentences(text: str) -> list[Passage]:
    starts = [start for start, stop in _cut(text, 0, len(text), SENTENCE_END) if text[start:stop].strip()]
    return [
        Passage(Turn((Message(text[start:stop].strip(), role=""),), index=place), start, stop)
        for place, (start, stop) in enumerate(pairwise([0, *starts[1:], len(text)]))
    ]


def _cut(text: str, start: int, stop: int, ends: re.Pattern[str]) -> Iterator[Span]:
    edges = [start, *(m.end() for m in ends.finditer(text, start, stop) if m.end() < stop), stop]
    return ((first, last) for first, last in pairwise(edges) if first < last)


def _within(text: str, run: list[Passage], limit: int, counter: TokenCounter) -> list[Span]:
    """The passages in spans of at most ``limit`` tokens, each as long as it can be."""
    spans: list[Span] = []
    for start, stop in (atom for each in run for atom in _atoms(text, (each.start, each.stop), limit, counter)):
        if spans and counter(text[spans[-1][0] : stop]) <= limit:
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
    return spans


def _atoms(text: str, span: Span, limit: int, counter: TokenCounter) -> Iterator[Span]:
    """The span whole where it fits, else its sentences, its words, its characters."""
    middle = sum(span) // 2
    if middle == span[0] or counter(text[slice(*span)]) <= limit:
        yield span
        return
    cuts = (list(_cut(text, *span, ends)) for ends in (SENTENCE_END, _WORD_END))
    halves = [(span[0], middle), (middle, span[1])]
    for part in next((parts for parts in cuts if len(parts) > 1), halves):
        yield from _atoms(text, part, limit, counter)
