"""Captions of recordings, WebVTT and SubRip (SRT), as utterances with their times and places in the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from html import unescape
from itertools import pairwise
from typing import Final

from .names import is_name
from .patterns import regex

_CLOCK: Final = r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]\d)[.,](\d{1,3})"
_SHORT: Final = r"(?:(\d{1,4}):)?(\d{1,3}):(\d\d[.,]\d{1,3})"
_TIMING: Final = regex(rf"^[ \t]*{_CLOCK}[ \t]+-->[ \t]+{_CLOCK}(?:[ \t\r][^\n]*)?$", re.M)
_OPENING: Final = regex(rf"(?:WEBVTT(?:[ \t][^\n]*)?(?:\r?\n|$)|(?:\d+[ \t]*\r?\n)?[ \t]*{_CLOCK}[ \t]+-->)")
_BLANK_LINE: Final = regex(r"\n[ \t\r]*(?:\n|$)")
_VOICE: Final = regex(r"<v(?:\.[^\s>]*)?[ \t]+([^>\n]{1,80})>")
_TAG: Final = regex(r"</?[a-zA-Z\d][^<>\n]{0,200}>|\{\\[^{}\n]{0,80}\}")
_NAME: Final = regex(
    # Recognisers of speech box it, as in "[SPEAKER_00]: ", or write it small, as one word.
    r"(?:>>[ \t]*)?(?:\[(?P<boxed>[^\W\d_][^\n:：<>\[\](){}]{0,39})\]"
    r"|(?P<bare>[^\W\d_a-z][^\n:：<>\[\](){}]{0,39}|[a-z]\w{0,30}))(?::[ \t]+|：[ \t]*)"
)
BRACKETED: Final = regex(rf"[ \t]*\[{_SHORT}[ \t]+-->[ \t]+{_SHORT}\][ \t]*(?:\(speaker (\d+|\?)\)[ \t]*)?")
"""How a line begins that programs of Whisper print: ``[00:00:00.000 --> 00:00:03.500]   words``."""
_ENDS: Final = regex(r"[.!?…。！？][\"'”’)\]]*$")

_PAUSE: Final = timedelta(seconds=2)
"""After which silence whoever speaks begins a new utterance."""
_LONG: Final = 300
"""From how many characters on an utterance ends with its sentence."""


@dataclass(frozen=True, slots=True)
class Caption:
    """What one person says without a pause.

    Args:
        speaker: who speaks; empty where the captions do not say.
        words: what is said, without marks.
        begin: when, from the beginning of the recording.
        end: when it ends.
        start: where it begins in the text, in characters.
        stop: where it ends, with what follows up to the next one.
    """

    speaker: str
    words: str
    begin: timedelta
    end: timedelta
    start: int
    stop: int


def is_captions(text: str) -> bool:
    """Whether the text is a file of captions."""
    return _OPENING.match(text.lstrip("\ufeff \t\r\n")) is not None


def is_bracketed(text: str) -> bool:
    """Whether the text is lines of a recording with its times in brackets, as programs of Whisper print them."""
    return BRACKETED.match(text.lstrip("\ufeff \t\r\n")) is not None


def has_cues(text: str) -> bool:
    """Whether a cue of captions begins anywhere in the text."""
    return _TIMING.search(text) is not None


def unread_times(text: str) -> tuple[int, str] | None:
    """The number and the words of the first line that should say when a cue is shown, and does not."""
    lines = enumerate(text.split("\n"), start=1)
    return next(((number, line) for number, line in lines if "-->" in line and not _TIMING.match(line)), None)


def captions(text: str) -> list[Caption]:
    """The utterances, in order; they cover the text, and none holds no words.

    Cues of one speaker are put together up to a pause, or to the end of a sentence where they have grown long; lines
    that a cue repeats of the one before it, as automatic captions do, count once. A speaker is named by a voice
    (``<v Ann>``), or by a name before a colon that begins two cues or more. Where the first cue begins with a name, or
    two names come again, each name is written: there one that begins a single cue speaks too, if it is up to four words
    with capitals and no word for an aside ("Note", "Question"). A name may be boxed (``[SPEAKER_00]: ``); one without a
    capital counts where names stand before most cues.
    """
    cues = [cue for cue in _without_repeats(_cues(text)) if cue.words]
    said = joined(_named(cues))
    edges = [0, *(each.start for each in said[1:]), len(text)]
    return [replace(each, start=edges[place], stop=edges[place + 1]) for place, each in enumerate(said)]


def joined(cues: Iterable[Caption]) -> list[Caption]:
    """Cues of one speaker put together, up to a pause, or to the end of a sentence where they have grown long."""
    said: list[Caption] = []
    pieces: list[list[str]] = []
    length = 0
    for cue in cues:
        if said and _goes_on(said[-1], pieces[-1][-1], length, cue):
            said[-1] = replace(said[-1], end=cue.end)
            pieces[-1].append(cue.words)
            length += 1 + len(cue.words)
        else:
            said.append(cue)
            pieces.append([cue.words])
            length = len(cue.words)
    return [replace(each, words=" ".join(words)) for each, words in zip(said, pieces, strict=True)]


def _cues(text: str) -> Iterator[Caption]:
    """A caption a voice of each cue, its lines as they are written."""
    timings = list(_TIMING.finditer(text))
    starts = [_start(text, timing.start()) for timing in timings]
    for timing, (start, after) in zip(timings, pairwise([*starts, len(text)]), strict=True):
        blank = _BLANK_LINE.search(text, timing.end(), after)
        begin, end = _moment(timing.groups()[:4]), _moment(timing.groups()[4:])
        words = text[timing.end() : blank.start() if blank else max(after, timing.end())]
        first, *voices = _VOICE.split(words)
        if first.strip() or not voices:
            yield Caption("", _plain(first), begin, end, start, after)
        for speaker, part in zip(voices[::2], voices[1::2], strict=True):
            yield Caption(unescape(speaker).strip(), _plain(part), begin, end, start, after)


def _start(text: str, timing: int) -> int:
    """Where the cue begins: at the line above its times, where that stands alone as its name or number."""
    above = text.rfind("\n", 0, max(0, timing - 1)) + 1
    is_name = text[above:timing].strip() and "-->" not in text[above:timing]
    is_alone = above == 0 or not text[text.rfind("\n", 0, above - 1) + 1 : above].strip()
    return above if is_name and is_alone and not text[above:timing].startswith("WEBVTT") else timing


def _moment(clock: tuple[str | None, ...]) -> timedelta:
    hours, minutes, seconds, parts = clock
    milliseconds = int((parts or "0").ljust(3, "0"))
    return timedelta(
        hours=int(hours or 0), minutes=int(minutes or 0), seconds=int(seconds or 0), milliseconds=milliseconds
    )


def _plain(words: str) -> str:
    """The lines without marks, each without white space around it."""
    lines = (unescape(_TAG.sub("", line)).strip() for line in words.splitlines())
    return "\n".join(filter(None, lines))


def _without_repeats(cues: Iterator[Caption]) -> Iterator[Caption]:
    """The cues without the lines that stand in the one before."""
    before: list[str] = []
    for cue in cues:
        lines = cue.words.split("\n")
        yield replace(cue, words="\n".join(line for line in lines if line not in before))
        before = lines


def _named(cues: list[Caption]) -> Iterator[Caption]:
    """The cues with whoever is named before a colon, each in one line."""
    names = [_name(cue.words) for cue in cues]
    opened = Counter(name for name, _ in names if name)
    # A small word before a colon is a name where one stands before most that is said.
    is_written = 2 * opened.total() > len(cues)
    known = {name for name, times in opened.items() if times > 1 and (is_written or not name[0].islower())}
    if sum(map(is_name, known)) > 1 or (names and is_name(names[0][0])):
        known |= {name for name in opened if is_name(name)}
    for cue, (name, begin) in zip(cues, names, strict=True):
        if name in known and not cue.speaker:
            cue = replace(cue, speaker=name, words=cue.words[begin:])
        yield replace(cue, words=" ".join(cue.words.split()))


def _name(words: str) -> tuple[str, int]:
    """What stands before a colon where a cue begins, and where its words begin; empty where nothing does."""
    found = _NAME.match(words)
    return ((found["boxed"] or found["bare"]).strip(), found.end()) if found else ("", 0)


def _goes_on(before: Caption, last: str, length: int, cue: Caption) -> bool:
    """Whether a cue goes on with an utterance: what names nobody goes on with whoever speaks.

    Args:
        before: the utterance; only its speaker and its end are looked at.
        last: the last words of it.
        length: how long it has grown.
        cue: the cue.
    """
    if cue.speaker not in ("", before.speaker) or cue.begin - before.end > _PAUSE:
        return False
    return length < _LONG or not _ENDS.search(last)
