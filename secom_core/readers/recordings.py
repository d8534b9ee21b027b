"""What recognisers of speech heard in a recording, as their services give it in JSON, into messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Any, Final

from ..conversation import Message
from ..errors import shorten
from ..text.captions import BRACKETED, Caption, joined
from .captions import message_of
from .fields import list_field, text_of
from .reading import Reading

_LONGEST: Final = 1e8
"""How many seconds a recording may have: three years."""
_PAUSE: Final = 2.0
_PLAIN_LABEL: Final = re.compile(r"\w|\d+")
_LABELS: Final = ("speaker", "speaker_label", "speaker_id", "speakerLabel", "channel_label")


@dataclass(frozen=True, slots=True)
class Part:
    """What was heard in one piece: a word, a segment or an utterance.

    Args:
        words: what was said.
        speaker: who spoke; empty where the service does not say.
        begin: when, in seconds from the beginning; nothing where the service does not say.
        end: when it ends.
        is_glued: whether it stands at the part before without a space.
    """

    words: str
    speaker: str = ""
    begin: float | None = None
    end: float | None = None
    is_glued: bool = False


def utterances(record: Mapping[str, Any], reading: Reading) -> list[Message]:
    """The messages of a recording: what one person says up to a pause, as of captions.

    Args:
        record: what a service gives of it.
        reading: the reading that it is of; ``at`` is when the recording began.

    Raises:
        ValueError: no words are where a service writes them, or a field is none that can be read; with its place.
    """
    return messages_of(_parts(record, reading), reading)


def messages_of(parts: Iterable[Part], reading: Reading) -> list[Message]:
    """Messages of parts, put together as captions are; without a time where no part has one."""
    heard = [part for part in _whole(parts) if part.words.strip()]
    is_timed = any(part.begin is not None for part in heard)
    cues: list[Caption] = []
    last = timedelta()
    for part in heard:
        begin = last if part.begin is None else timedelta(seconds=part.begin)
        last = begin if part.end is None else timedelta(seconds=part.end)
        cues.append(Caption(part.speaker, " ".join(part.words.split()), begin, last, 0, 0))
    said = [message_of(each, reading.at) for each in joined(cues)]
    if not is_timed:
        said = [replace(each, at=None, metadata={}) for each in said]
    return [
        replace(each, id=reading.stable(place, each.speaker or "", each.text, str(each.metadata.get("time"))))
        for place, each in enumerate(said)
    ]


def bracketed(text: str) -> list[Part]:
    """The parts of lines such as ``[00:00:00.000 --> 00:00:03.500]   words``, as programs of Whisper print them."""
    found: list[Part] = []
    for line in text.splitlines():
        cue = BRACKETED.match(line)
        if cue is None:
            if line.strip() and found:
                found.append(Part(line, found[-1].speaker, found[-1].end, found[-1].end))
            continue
        hours, minutes, seconds, to_hours, to_minutes, to_seconds, speaker = cue.groups()
        begin = 3600 * int(hours or 0) + 60 * int(minutes) + float(seconds.replace(",", "."))
        end = 3600 * int(to_hours or 0) + 60 * int(to_minutes) + float(to_seconds.replace(",", "."))
        found.append(Part(line[cue.end() :], f"Speaker {speaker}" if speaker else "", begin, end))
    return found


def seconds_of(value: Any, name: str, scale: float = 1.0) -> float:
    """The seconds of a number, or of text such as ``"4.87"`` and ``"1.300s"``.

    Raises:
        ValueError: it is none, below 0, or more than a recording has; with the field's name.
    """
    try:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError
        number = float(value.removesuffix("s") if isinstance(value, str) else value) * scale
    except (ValueError, OverflowError):
        number = -1.0
    if not 0 <= number <= _LONGEST:
        raise ValueError(f"{name!r}: expected seconds from the beginning, got {shorten(value)}")
    return number


def _whole(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, those without a space between them put together."""
    last: Part | None = None
    for part in parts:
        if last is not None and part.is_glued and part.speaker in ("", last.speaker) and not _pauses(last, part):
            last = replace(last, words=f"{last.words}{part.words}", end=last.end if part.end is None else part.end)
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last


def _pauses(last: Part, part: Part) -> bool:
    return last.end is not None and part.begin is not None and part.begin - last.end > _PAUSE


# -- the services -----------------------------------------------------------------------------------------------------


def _parts(record: Mapping[str, Any], reading: Reading) -> Iterable[Part]:
    results = record.get("results")
    if record.get("segments") is not None:
        return _each(record, "segments", reading)
    if "transcription" in record:
        return _each(record, "transcription", reading, within="offsets", begin="from", end="to", scale=0.001)
    if record.get("utterances"):
        return _each(record, "utterances", reading, scale=_scale(record["utterances"]))
    if isinstance(results, Mapping):
        return _of_amazon(results, reading) if "transcripts" in results else _of_deepgram(results, reading)
    if results is not None:
        return _of_google(list_field(record, "results"), reading)
    if record.get("words"):
        return _of_words(record, reading)
    if record.get("text") is not None:
        return [Part(text_of(record["text"], "text"))]
    raise ValueError(f"no words of a recording or call are in {shorten(dict(record))}")


def _each(
    record: Mapping[str, Any],
    key: str,
    reading: Reading,
    *,
    text: str = "text",
    within: str = "",
    begin: str = "start",
    end: str = "end",
    scale: float = 1.0,
) -> Iterator[Part]:
    """The parts that a list holds; one that is damaged raises, or is passed over, with its place.

    Args:
        record: what has the list.
        key: where.
        reading: the reading that it is of.
        text: the field of the words.
        within: the object that has the times, where they do not stand beside the words.
        begin: the field of the beginning.
        end: the field of the end.
        scale: how many seconds a number of them stands for.
    """
    for place, item in enumerate(list_field(record, key)):
        make = partial(_part, text=text, within=within, begin=begin, end=end, scale=scale)
        yield from reading.kept(lambda each, _, make=make: make(each), item, f"{key}[{place}]")  # type: ignore[misc]


def _part(item: Any, *, text: str, within: str, begin: str, end: str, scale: float) -> Part:
    if not isinstance(item, Mapping):
        raise ValueError(f"expected an object, got {shorten(item)}")
    if item.get(text) is None:
        raise ValueError(f"{text!r} is missing in {shorten(dict(item))}")
    times = item[within] if within else item
    first, last = (None if times.get(each) is None else seconds_of(times[each], each, scale) for each in (begin, end))
    return Part(text_of(item[text], text), _speaker(item), first, last)


def _speaker(item: Mapping[str, Any]) -> str:
    """Who speaks; a bare letter or number is called ``Speaker A``."""
    own = next((item[key] for key in _LABELS if item.get(key) not in (None, "")), None)
    own = own if own is not None else item.get("speakerTag") or ""  # 0 is nobody there
    if isinstance(own, bool) or not isinstance(own, (str, int)):
        raise ValueError(f"a speaker is text or a whole number, not {shorten(own)}")
    label = str(own).strip()
    return f"Speaker {label}" if _PLAIN_LABEL.fullmatch(label) else label


def _scale(found: Any) -> float:
    """AssemblyAI counts whole milliseconds; those who write its fields with a fraction count seconds."""
    starts = [each.get("start") for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
    return 1.0 if any(isinstance(each, float) for each in starts) else 0.001


def _of_words(record: Mapping[str, Any], reading: Reading) -> Iterator[Part]:
    """Words of ElevenLabs, which says where spaces are; of AssemblyAI, where nobody was told apart."""
    words = list_field(record, "words")
    spaces = any(isinstance(each, Mapping) and each.get("type") == "spacing" for each in words)
    scale = 1.0 if "language_probability" in record or spaces else _scale(words)
    after_space = True
    for each, part in zip(words, _each(record, "words", reading, scale=scale), strict=False):
        is_space = each.get("type") == "spacing"
        if not is_space:
            yield replace(part, is_glued=spaces and not after_space)
        after_space = is_space


def _of_deepgram(results: Mapping[str, Any], reading: Reading) -> Iterable[Part]:
    if results.get("utterances"):
        found = list(_each(results, "utterances", reading, text="transcript"))
        channels = [each.get("channel") for each in results["utterances"] if isinstance(each, Mapping)]
        if len(set(channels)) < 2 or len(channels) != len(found):
            return found
        named = zip(found, channels, strict=True)
        return [part if part.speaker else replace(part, speaker=f"Channel {channel}") for part, channel in named]
    heard = [list(_of_channel(_best(channel), reading)) for channel in list_field(results, "channels")]
    if len([each for each in heard if each]) > 1:
        heard = [
            [part if part.speaker else replace(part, speaker=f"Channel {number}") for part in each]
            for number, each in enumerate(heard)
        ]
    return sorted(chain.from_iterable(heard), key=lambda part: part.begin or 0.0)


def _best(heard: Any) -> Mapping[str, Any]:
    """The likeliest of what was heard; nothing where nothing was."""
    found: Mapping[str, Any] = next(iter(list_field(heard, "alternatives")), {})
    return found


def _of_channel(best: Mapping[str, Any], reading: Reading) -> Iterator[Part]:
    written = best.get("paragraphs")
    if isinstance(written, Mapping):
        for paragraph in list_field(written, "paragraphs"):
            for part in _each(paragraph, "sentences", reading):
                yield replace(part, speaker=_speaker(paragraph))
    elif best.get("words"):
        spelled = all(isinstance(each, Mapping) and each.get("punctuated_word") for each in best["words"])
        yield from _each(best, "words", reading, text="punctuated_word" if spelled else "word")
    elif best.get("transcript"):
        yield Part(text_of(best["transcript"], "transcript"))


def _of_amazon(results: Mapping[str, Any], reading: Reading) -> Iterable[Part]:
    if not results.get("items"):
        return _each(results, "transcripts", reading, text="transcript")
    labels = results.get("speaker_labels") or {}
    spoken = (item for segment in labels.get("segments") or () for item in segment.get("items") or ())
    speakers = {item["start_time"]: item.get("speaker_label") for item in spoken}
    words: list[Mapping[str, Any]] = []
    for place, item in enumerate(list_field(results, "items")):
        words += reading.kept(lambda each, _: _amazon_word(each, speakers), item, f"items[{place}]")
    found = _each({"items": words}, "items", reading, begin="start_time", end="end_time")
    return (replace(part, is_glued=word.get("type") == "punctuation") for word, part in zip(words, found, strict=True))


def _amazon_word(item: Any, speakers: Mapping[Any, Any]) -> Mapping[str, Any]:
    label = None if item.get("type") == "punctuation" else item.get("speaker_label") or speakers.get(item["start_time"])
    return {**item, "text": _best(item).get("content"), "speaker_label": label}


def _of_google(results: Sequence[Any], reading: Reading) -> Iterator[Part]:
    """Where speakers are told apart, the last result has all words once more, from the beginning of the recording."""
    best = [_best(each) for each in results if "alternatives" in each]
    told = [each for each in best if each.get("words")]
    if len(told) > 1 and _google_time(told[-1]["words"][0]) == _google_time(told[0]["words"][0]):
        best = told[-1:]
    for each in best:
        if each.get("words"):
            offset = "startOffset" in each["words"][0] or "endOffset" in each["words"][0]
            names = ("startOffset", "endOffset") if offset else ("startTime", "endTime")
            yield from _each(each, "words", reading, text="word", begin=names[0], end=names[1])
        elif each.get("transcript"):
            yield Part(text_of(each["transcript"], "transcript"))


def _google_time(word: Mapping[str, Any]) -> Any:
    return word.get("startTime", word.get("startOffset"))
