"""The activity of Gemini, as Google Takeout exports it: ``MyActivity.json``, or ``MyActivity.html``.

The activity does not say which prompts were one chat, so a day is a session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from itertools import groupby
from typing import Any, Final

from ...conversation import Message, Session
from ...errors import InvalidTranscript
from ...text.patterns import regex
from ..files import Export, File
from ..html_text import words_of
from ..moments import read_moment
from ..reading import Reading, grouped, iso

_LABEL: Final = (
    r"(?:Prompted(?: with:)?|Asked(?: (?:Gemini|Bard):)?|Said|Answered|Branched|Submitted query|Eingegebener Prompt:|"
    r"Prompt\s*:|Has dicho:|Hiciste la petición|Запит:|Υποβλήθηκε το ερώτημα|送信したメッセージ:)(?:\s+|$)"
)
"""What stands before a prompt, in English, German, French, Spanish, Ukrainian, Greek and Japanese."""
_VERB: Final = regex(_LABEL)
_KNOWN: Final = regex(rf'(?:"title":\s*"|>){_LABEL}')
_OTHER: Final = regex(r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Viewed|Searched)\b")
_CELL: Final = '<div class="outer-cell'
_STYLES: Final = 2**19
_STAMP: Final = regex(
    r"(?P<when>.{10,60}?\d:\d\d(?::\d\d)?(?:\s?[AP]M)?)"
    r"(?:\s(?P<zone>[A-Z]{2,5})(?:(?P<hours>[+-]\d{1,2})(?::?(?P<minutes>\d\d))?)?)?",
    re.I,
)
_ATTACHED: Final = regex(r"-\s{1,3}(?P<name>\S.{0,200}\.\w{1,5})")
"""How a page names a file that came with a prompt; the line before the first one says how many there are."""
_LINK: Final = regex(r">([^<>]{1,300})</a>")


def looks_like(file: File) -> bool:
    """Activities with a header and a time, of Gemini or Bard; or the page of them."""
    if _is_page(file):
        start = _page_start(file)
        return _CELL in start and ("Gemini" in start or "Bard" in start)
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


def _page_start(file: File) -> str:
    """The beginning of a page with its first activities, which stand behind some 140 KB of styles."""
    if _CELL in file.start or "<style" not in file.start:
        return file.start
    with file.text() as text:
        return text.read(_STYLES)


def _of_json(file: File, reading: Reading) -> Iterator[list[Message]]:
    stream, known = reading.stream(file), _KNOWN.search(file.start) is not None
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
        if pair := _pair(entry["title"], _attached(entry), answer, entry.get("time"), reading, known):
            yield pair


def _is_of_gemini(entry: Mapping[str, Any]) -> bool:
    return any("Gemini" in str(each) or "Bard" in str(each) for each in (entry.get("header"), entry.get("products")))


def _list(parts: Any) -> list[Mapping[str, Any]]:
    return [each for each in (parts if isinstance(parts, list) else [parts]) if isinstance(each, Mapping)]


def _attached(entry: Mapping[str, Any]) -> list[str]:
    """The names of the files that came with a prompt, as the user knows them where the export says so."""
    files = entry.get("attachedFiles") or []
    shown = {each.get("url"): str(each.get("name") or "").lstrip("- \xa0") for each in _list(entry.get("subtitles"))}
    return [shown.get(each) or str(each) for each in (files if isinstance(files, list) else [files])]


def _pair(
    title: str, files: Sequence[str], answer: str, time: Any, reading: Reading, known: bool = False
) -> list[Message]:
    """What was asked, and what Gemini said; nothing where the activity is of another kind.

    Args:
        title: the prompt, or what else was done.
        files: the names of those that came with it.
        answer: what Gemini said; may be empty.
        time: when, as ISO text.
        reading: the reading that it is of.
        known: whether other prompts of the file have a label, so that what has none, nor an answer, is no prompt.
    """
    verb = _VERB.match(title)
    if not answer and verb is None and (known or _OTHER.match(title)):
        reading.left_out["activities that are no prompt"] += 1
        return []
    prompt = title[verb.end() :] if verb else title
    at = iso(time)
    asked = "\n".join(filter(None, [prompt, *(f"[file: {name}]" for name in files)]))
    said = (("user", asked), ("assistant", answer))
    return [
        Message(text, role, None, reading.stable(time, role, text), at, {"source": "gemini"})
        for role, text in said
        if text
    ]


def _of_page(file: File, reading: Reading) -> Iterator[list[Message]]:
    known, dated, undated = _KNOWN.search(_page_start(file)) is not None, 0, 0
    for cell in _cells(file, reading):
        lines = _lines(cell)
        place, at = next(((n, at) for n, line in enumerate(lines) if (at := _stamp(line, reading))), (0, None))
        if at is None:
            undated += 1
            continue
        dated += 1
        asked, files = _without_files(lines[:place], cell)
        answer = "\n".join(lines[place + 1 :])
        if pair := _pair("\n".join(asked), files, answer, at.isoformat(), reading, known):
            yield pair
    if undated and not dated:
        raise InvalidTranscript(
            f"{file.shown}: its dates are written in a way that is not read; choose JSON in place of HTML for My "
            "Activity at takeout.google.com, under Multiple formats"
        )
    reading.left_out["activities without a date that can be read"] += undated


def _lines(cell: str) -> list[str]:
    """The lines of an activity, without the name of the product above, and without the notes below."""
    caption = cell.find("mdl-typography--caption")
    lines = (
        words_of(cell[: cell.rfind("<div", 0, caption)] if caption >= 0 else cell).replace("\u202f", " ").split("\n")
    )
    footers = (n for n, line in enumerate(lines) if caption < 0 and line in ("Products:", "Why is this here?"))
    return lines["header-cell" in cell : next(footers, len(lines))]


def _without_files(lines: Sequence[str], cell: str) -> tuple[Sequence[str], list[str]]:
    """The lines of a prompt, and the files that are linked at its end, below a line that counts them."""
    linked, first = {words_of(each) for each in _LINK.findall(cell)}, len(lines)
    while first > 1 and (found := _ATTACHED.fullmatch(lines[first - 1])) and found["name"] in linked:
        first -= 1
    files = [line.lstrip("- ") for line in lines[first:]]
    if not files or not regex(rf"\D{{0,40}}{len(files)}\D{{0,40}}").fullmatch(lines[first - 1]):
        return lines, []
    return lines[: first - 1], files


def _stamp(line: str, reading: Reading) -> datetime | None:
    """The time that a line consists of, such as ``Jul 2, 2024, 9:00:00 AM UTC`` or ``18.04.2026, 17:38:51 MESZ``."""
    found = _STAMP.fullmatch(line)
    moment = read_moment(found["when"]) if found else None
    if not found or moment is None or moment.day is None or moment.clock is None:
        return None
    at = datetime.combine(moment.day, moment.clock)
    if found["zone"] not in ("UTC", "GMT"):
        return reading.local(at)
    return at.replace(tzinfo=timezone(timedelta(hours=int(found["hours"] or 0), minutes=int(found["minutes"] or 0))))


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
