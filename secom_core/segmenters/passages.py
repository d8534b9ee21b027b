"""Text into passages that cover it exactly: the utterances of a transcript or of captions, or sentences of prose.

The text splitters of both frameworks cut here. Each passage keeps its place in the text, so that what is cut can be
put together again, character by character.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from ..conversation import Message, Turn, group_messages
from ..memory import check_partition
from ..protocols import Segmenter, TokenCounter
from ..text.captions import captions, is_captions
from ..text.names import ROLES
from ..text.passages import Span, blocks
from ..text.terms import count_tokens
from .filling import filled
from .sentences import document_sentences

_CLOCK: Final = r"\d{1,3}:\d\d(?::\d\d)?"
_DATED: Final = (
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?[ \u202f]\d{1,2}[:.]\d\d(?::\d\d)?(?:[ \u202f\xa0]?[AaPp]\.?[Mm]\.?)? [-–] "
)
"""``12/03/2025, 14:05 - `` before a name, or a notice, as WhatsApp writes it on Android."""
_LABEL: Final = re.compile(
    # Before a name may stand a byte order mark, or a mark of the direction in which it is read.
    r"^[ \t\ufeff\u200e\u200f]*"
    rf"(?:[\[(][^\])\n]{{4,40}}[\])][ \t]*|{_DATED}|(?P<sent>\d\d?:\d\d:\d\d[ \t]+From[ \t]+))?"
    r"(?P<box>\[)?(?P<bold>\*\*)?(?P<name>[^\W\d_][^\n:：\[\](){}<>]{0,40}?)(?(box)\])"
    r"(?(sent)(?:[ \t]+to[ \t]+[^\n:]{1,80})?)"
    # After it stands a colon, after the time or without one, or the time alone, with the words below.
    rf"(?:[ \t]*(?:[\[(]{_CLOCK}[\])][ \t]*)?(?(bold)(?:[:：]\*\*|\*\*[:：])|[:：])(?:[ \t\r\xa0]|$|(?<=：))"
    rf"|(?:[ \t]{{2,}}|\t){_CLOCK}[ \t\r]*$)",
    re.M,
)
_TIME: Final = re.compile(_CLOCK)
_HEADING: Final = re.compile(r"#{1,6}\s.*")
_TERMS: Final = 8
"""From how many labels on it tells that nearly none of them comes again."""


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
    """Passages that cover the text: the turns of a transcript or of captions, else sentences; code and tables whole."""
    if not text.strip():
        return []
    if is_captions(text) and (said := captions(text)):
        messages = [Message(each.words, role="", speaker=each.speaker or None) for each in said]
        turns = group_messages(messages)
        return [Passage(turn, each.start, each.stop) for turn, each in zip(turns, said, strict=True)]
    labels = _labels(text)
    return _utterances(text, labels) if labels else _sentences(text)


def segment_spans(
    text: str, segmenter: Segmenter, *, limit: int | None = None, counter: TokenCounter = count_tokens
) -> list[Span]:
    """Cut a text into segments.

    Args:
        text: a transcript, captions (WebVTT, SubRip), prose, Markdown, or code.
        segmenter: cuts the passages into segments.
        limit: the longest piece in tokens. A longer segment is cut again, between passages where that is possible; the
            segments of a document that is no transcript are put together as far as they fit, so that it is cut before
            headings, where the subject changes and between paragraphs, and code between fences is not torn.
        counter: counts the tokens.

    Returns:
        Half-open ranges of characters that cover the text with no gap and no overlap; none where it is blank.
    """
    found = passages(text)
    is_transcript = bool(found) and bool(found[0].turn.messages[0].label)
    if found and limit is not None and not is_transcript and counter(text) <= limit:
        return [(found[0].start, found[-1].stop)]  # the segments would be put together again
    segments = check_partition(segmenter.segment([passage.turn for passage in found]), len(found))
    places = _before_headings(text, found, [segment.start for segment in segments])
    runs = [found[start:stop] for start, stop in pairwise([*places, len(found)])]
    if limit is None or not runs:
        return [(run[0].start, run[-1].stop) for run in runs]
    begins = {run[0].start for run in runs}
    parts = [[(each.start, each.stop) for each in run] for run in (runs if is_transcript else [found])]
    return [span for part in parts for span in filled(text, part, begins, limit, counter)]


def _before_headings(text: str, found: Sequence[Passage], begins: Sequence[int]) -> list[int]:
    """Where segments begin, moved in front of headings, which stay with what stands below them."""
    moved = [*begins[:1]]
    for last, place in pairwise(begins):
        while place > last and _HEADING.fullmatch(text[found[place - 1].start : found[place - 1].stop].strip()):
            place -= 1
        # A segment of headings alone goes on with the next one.
        moved += [place] if place > last else []
    return moved


def _labels(text: str) -> list[re.Match[str]]:
    """Where utterances begin; empty where the text is no transcript."""
    found = _outside_code(text, list(_LABEL.finditer(text)))
    chat = _of_roles(found)
    if chat and not text[: found[0].start()].strip():
        return chat
    found = [label for label in found if not label["bold"]]
    lines = sum(1 for line in text.splitlines() if line.strip())
    # A lone "Note:" in prose is no speaker: a transcript opens with a label and is made of them. Where times stand
    # beside the names, a title or a notice may come first.
    timed = 2 * sum(1 for label in found if _TIME.search(label[0])) > len(found)
    begins = bool(found) and (timed or not text[: found[0].start()].strip())
    is_transcript = begins and len(found) >= 2 and 3 * len(found) >= lines and not _are_keys(found)
    return found if is_transcript else []


def _of_roles(labels: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """The labels of a chat with an assistant, whose replies have many lines; what else they name are no speakers.

    It opens with one of the two, and each goes by one name: others in it are people, or fields in a reply.
    """
    called = {role: _called(label) for label in reversed(labels) if (role := _role(label["name"]))}
    named = [label for label in labels if _called(label) in called.values()]
    times = Counter(_role(label["name"]) for label in named)
    is_chat = {"user", "assistant"} <= times.keys() and max(times.values()) > 1
    return named if is_chat and named[0] is labels[0] else []


def _called(label: re.Match[str]) -> tuple[str, bool]:
    return label["name"].strip().casefold(), bool(label["bold"])


def _role(name: str) -> str:
    return ROLES.get(name.strip().casefold(), "")


def _are_keys(labels: Sequence[re.Match[str]]) -> bool:
    """Whether the labels are no speakers.

    The keys of YAML stand further in than one another, and speakers in one column. The terms of a glossary and the keys
    of settings come once each, and speakers come again.
    """
    columns = Counter(_indent(label) for label in labels)
    names = {label["name"].strip() for label in labels}
    in_one = max(columns.values(), default=0)
    return 2 * in_one < len(labels) or (len(labels) >= _TERMS and 4 * len(names) > 3 * len(labels))


def _indent(label: re.Match[str]) -> int:
    return len(label[0]) - len(label[0].lstrip(" \t"))


def _outside_code(text: str, labels: list[re.Match[str]]) -> list[re.Match[str]]:
    """The labels that do not stand between fences."""
    code = [span for *span, kind in blocks(text) if kind == "code"] if labels else []
    starts = [start for start, _ in code]
    places = (bisect_right(starts, label.start()) for label in labels)
    return [each for each, place in zip(labels, places, strict=True) if not place or code[place - 1][1] <= each.start()]


def _utterances(text: str, labels: list[re.Match[str]]) -> list[Passage]:
    edges = [0, *(label.start() for label in labels[1:]), len(text)]
    ends = zip(labels, edges[1:], strict=True)
    turns = group_messages(_message(label["name"], text[label.end() : stop].strip()) for label, stop in ends)
    places = pairwise([0, *accumulate(len(turn.messages) for turn in turns)])
    return [Passage(turn, edges[first], edges[last]) for turn, (first, last) in zip(turns, places, strict=True)]


def _message(name: str, words: str) -> Message:
    role = _role(name)
    return Message(words, role=role) if role else Message(words, role="", speaker=name.strip())


def _sentences(text: str) -> list[Passage]:
    """The sentences, each block of code and each table whole."""
    starts = [start for start, stop in document_sentences(text) if text[start:stop].strip()]
    return [
        Passage(Turn((Message(text[start:stop].strip(), role=""),), index=place), start, stop)
        for place, (start, stop) in enumerate(pairwise([0, *starts[1:], len(text)]))
    ]
