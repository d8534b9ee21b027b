"""Text into passages that cover it exactly: the utterances of a transcript, or the sentences of prose.

The text splitters of both frameworks cut here. Each passage keeps its place in the text, so that what is cut can be
put together again, character by character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from .analysis import SENTENCE_END, count_tokens
from .conversation import Message, Turn, group_messages
from .memory import check_partition
from .protocols import Segmenter, TokenCounter

__all__ = ["Passage", "passages", "topical_spans"]

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


def topical_spans(
    text: str, segmenter: Segmenter, *, limit: int | None = None, counter: TokenCounter = count_tokens
) -> list[Span]:
    """Cut a text into topics.

    Args:
        text: a transcript or prose.
        segmenter: cuts the passages into topics.
        limit: the longest piece in tokens; a longer topic is cut again between passages, then between words.
        counter: counts the tokens.

    Returns:
        Half-open ranges of characters that cover the text with no gap and no overlap; none where it is blank.
    """
    found = passages(text)
    segments = check_partition(segmenter.segment([passage.turn for passage in found]), len(found))
    topics = [found[segment.start : segment.stop] for segment in segments]
    if limit is None:
        return [(topic[0].start, topic[-1].stop) for topic in topics]
    return [span for topic in topics for span in _within(text, topic, limit, counter)]


def _labels(text: str) -> list[re.Match[str]]:
    """Where utterances begin; empty where the text is no transcript."""
    found = list(_LABEL.finditer(text))
    lines = sum(1 for line in text.splitlines() if line.strip())
    # A lone "Note:" in prose is no speaker: a transcript opens with a label and is made of them.
    begins = bool(found) and not text[: found[0].start()].strip()
    return found if begins and len(found) >= 2 and 3 * len(found) >= lines else []


def _utterances(text: str, labels: list[re.Match[str]]) -> list[Passage]:
    edges = [0, *(label.start() for label in labels[1:]), len(text)]
    said = [
        _message(label["name"], text[label.end() : stop].strip()) for label, stop in zip(labels, edges[1:], strict=True)
    ]
    found, place = [], 0
    for turn in group_messages(said):
        start, place = edges[place], place + len(turn.messages)
        found.append(Passage(turn, start, edges[place]))
    return found


def _message(name: str, words: str) -> Message:
    role = _ROLES.get(name.strip().casefold())
    return Message(words, role=role) if role else Message(words, role="", speaker=name.strip())


def _sentences(text: str) -> list[Passage]:
    said = [span for span in _cut(text, 0, len(text), SENTENCE_END) if text[slice(*span)].strip()]
    edges = [0, *(start for start, _ in said[1:]), len(text)]
    return [
        Passage(Turn((Message(text[start:stop].strip(), role=""),), index=place), start, stop)
        for place, (start, stop) in enumerate(pairwise(edges))
    ]


def _cut(text: str, start: int, stop: int, ends: re.Pattern[str]) -> Iterator[Span]:
    edges = [start, *(m.end() for m in ends.finditer(text, start, stop) if m.end() < stop), stop]
    return ((first, last) for first, last in pairwise(edges) if first < last)


def _within(text: str, topic: list[Passage], limit: int, counter: TokenCounter) -> Iterator[Span]:
    """The topic in spans of at most ``limit`` tokens, each as long as it can be."""
    atoms = (atom for passage in topic for atom in _atoms(text, (passage.start, passage.stop), limit, counter))
    return _joined(text, atoms, limit, counter)


def _atoms(text: str, span: Span, limit: int, counter: TokenCounter) -> Iterator[Span]:
    """The span whole where it fits, else its sentences, its words, its characters."""
    if counter(text[slice(*span)]) <= limit:
        yield span
        return
    for ends in (SENTENCE_END, _WORD_END):
        parts = list(_cut(text, *span, ends))
        if len(parts) > 1:
            yield from (atom for part in parts for atom in _atoms(text, part, limit, counter))
            return
    middle = (span[0] + span[1]) // 2
    if middle == span[0]:
        yield span
        return
    yield from _atoms(text, (span[0], middle), limit, counter)
    yield from _atoms(text, (middle, span[1]), limit, counter)


def _joined(text: str, atoms: Iterable[Span], limit: int, counter: TokenCounter) -> Iterator[Span]:
    held: Span | None = None
    for start, stop in atoms:
        if held is not None and counter(text[held[0] : stop]) <= limit:
            held = (held[0], stop)
            continue
        if held is not None:
            yield held
        held = (start, stop)
    if held is not None:
        yield held
