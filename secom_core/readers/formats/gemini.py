"""The activity of Gemini, as Google Takeout exports it: ``MyActivity.json``, or ``MyActivity.html``.

The activity does not say which prompts were one chat, so a day is a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from ...conversation import Message, Session
from ...errors import InvalidTranscript
from ...text.patterns import regex
from ..files import Export, File
from ..html_text import words_of
from ..moments import read_moment
from ..reading import Reading, grouped, iso

_VERB: Final = regex(
    r"(?:Prompted(?: with:)?|Asked(?: (?:Gemini|Bard):)?|Said|Answered|Branched|Eingegebener Prompt:|"
    r"送信したメッセージ:)\s+"
)
_OTHER: Final = regex(r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Viewed|Searched)\b")
_CELL: Final = '<div class="outer-cell'
_STAMP: Final = regex(
    r"(?P<when>[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d:\d\d[\s\u202f]?[AP]M)(?: (?P<zone>[A-Z]{2,5}))?"
)


def looks_like(file: File) -> bool:
    """Activities with a header and a time, of Gemini or Bard; or the page of them."""
    if _is_page(file):
        return _CELL in file.start and ("Gemini" in file.start or "Bard" in file.start)
    is_activity = {"[].header", "[].title", "[].time"} <= file.shape
    return is_activity and ("Gemini" in file.start or "Bard" in file.start or "[].safeHtmlItem" in file.shape)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a day. The activity begins with the latest, so each day is turned round."""
    for file in files:
        entries = _of_page(file, reading) if _is_page(file) else _of_json(file, reading)
        for day, pairs in groupby(entries, lambda pair: pair[0].at.date() if pair[0].at else ""):
            said = [message for pair in reversed(list(pairs)) for message in pair]
            yield grouped(f"Gemini {day}", said)


def _is_page(file: File) -> bool:
    return file.start.lstrip().startswith("<")


def _of_json(file: File, reading: Reading) -> Iterator[list[Message]]:
    stream = reading.stream(file)
    for number, _ in enumerate(stream.items(), start=1):
        entry = stream.value()
        if not isinstance(entry, Mapping) or not isinstance(entry.get("title"), str):
            reading.bad(InvalidTranscript(f"{file.shown}: activity {number} has no title"))
            continue
        if not _is_of_gemini(entry):
            reading.left_out["activities of other products"] += 1
            continue
        parts = entry.get("safeHtmlItem") or ()
        answer = "\n".join(words_of(part["html"]) for part in _list(parts) if isinstance(part.get("html"), str))
        if pair := _pair(entry["title"], answer, entry.get("time"), reading):
            yield pair


def _is_of_gemini(entry: Mapping[str, Any]) -> bool:
    return any("Gemini" in str(each) or "Bard" in str(each) for each in (entry.get("header"), entry.get("products")))


def _list(parts: Any) -> list[Mapping[str, Any]]:
    return [each for each in (parts if isinstance(parts, list) else [parts]) if isinstance(each, Mapping)]


def _pair(title: str, answer: str, time: Any, reading: Reading) -> list[Message]:
    """What was asked, and what Gemini said; nothing where the activity is of another kind."""
    if not answer and _OTHER.match(title):
        reading.left_out["activities that are no prompt"] += 1
        return []
    verb = _VERB.match(title)
    prompt = title[verb.end() :] if verb else title
    at = iso(time)
    ids = [reading.stable(time, role, text) for role, text in (("user", prompt), ("assistant", answer))]
    asked = Message(prompt, "user", None, ids[0], at, {"source": "gemini"})
    return [asked, *([Message(answer, "assistant", None, ids[1], at, {"source": "gemini"})] if answer else [])]


def _of_page(file: File, reading: Reading) -> Iterator[list[Message]]:
    for cell in _cells(file, reading):
        lines = words_of(cell).split("\n")
        place = next((n for n, line in enumerate(lines) if _STAMP.match(line.replace("\u202f", " "))), None)
        if place is None:
            reading.left_out["activities without a date in English"] += 1
            continue
        found = _STAMP.match(lines[place].replace("\u202f", " "))
        moment = read_moment(found["when"]) if found else None
        at = moment.on(None) if moment else None
        if at is not None and found and found["zone"] not in ("UTC", "GMT"):
            at = reading.local(at.replace(tzinfo=None))
        asked = " ".join(line for line in lines[:place] if line not in ("Gemini Apps", "Bard", "Gemini"))
        answer = "\n".join(_until_footer(lines[place + 1 :]))
        if pair := _pair(asked, answer, at.isoformat() if at else None, reading):
            yield pair


def _until_footer(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line in ("Products:", "Why is this here?"):
            return
        yield line


def _cells(file: File, reading: Reading) -> Iterator[str]:
    """The page, an activity at a time."""
    text = reading.opened(file)
    rest, first = "", True
    while piece := text.read(2**18):
        *whole, rest = (rest + piece).split(_CELL)
        yield from (f"<div>{cell.partition('>')[2]}" for cell in whole[first:])
        first = first and not whole
    if not first:
        yield f"<div>{rest.partition('>')[2]}"
