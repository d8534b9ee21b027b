"""A chat exported from WhatsApp: on Android ``03/05/24, 14:05 - Ann: Hi``, on iOS ``[03.05.24, 14:05:10] Ann: Hi``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import PurePosixPath
from typing import Final

from ...conversation import Message, Session
from ...errors import InvalidTranscript, shorten
from ...text.patterns import regex
from ..calendars import western
from ..date_order import Numbers, day_of, order_of
from ..files import Export, File
from ..reading import DateOrder, Reading, by_day
from ..whatsapp_words import MARK, is_notice, plain, shown, stands_for, tells_of_encryption

_SPACE: Final = "[ \u00a0\u202f]"
_TURN: Final = "[\u200e\u200f\u061c]*"
_HALF: Final = (
    r"[AaPp]\.?\s?[Mm]\b\.?|午前|午後|上午|中午|下午|晚上|凌晨|清晨|早上|오전|오후|ÖÖ|ÖS|ص|م|ق\.ظ\.?|ب\.ظ\.?|"
    r"[πμ]\.?μ\.?|PT?G|[pm]\.d\."
)
_OPENING: Final = regex(
    rf"[\u200e\u200f\ufeff]*(?P<open>\[)?{_TURN}"
    rf"(?P<a>\d{{1,4}}){_TURN}(?P<mark>[./-]|\.{_SPACE}|年|년{_SPACE})(?P<b>\d{{1,2}}){_TURN}"
    rf"(?:[./-]|\.{_SPACE}|月|월{_SPACE})(?P<c>\d{{1,4}})(?:\.|日|일|{_SPACE}г\.)?[,،]?{_TURN}"
    rf"(?:{_SPACE}(?:klo|kl\.|um|a las|à|às|alle|в))?[,،]?{_TURN}{_SPACE}"
    rf"(?:(?P<early>{_HALF}){_SPACE}?)?(?P<h>\d{{1,2}})(?:[:.h]|{_SPACE}h{_SPACE})"
    rf"(?P<m>\d\d)(?:(?:[:.]|{_SPACE}min{_SPACE})(?P<s>\d\d)(?:{_SPACE}s)?)?"
    rf"(?:{_SPACE}?(?P<late>{_HALF})|{_SPACE}(?:ч|น)\.)?{_TURN}(?(open)\]{_SPACE}|(?:{_SPACE}[-–]{_SPACE}|,{_SPACE}))(?P<rest>.*)"
)
_NAMED: Final = regex(rf"(?P<name>[^:\n\"“”«»]{{1,80}}?){_SPACE}?:(?:{_SPACE}(?P<words>.*)|$)")
_LATER: Final = regex(r"[Pp]\.?\s?[Mm]|午後|中午|下午|晚上|오후|ÖS|م|ب|μ|PTG|m\.d")
_CHAT: Final = regex(
    r"(?:WhatsApp Chat (?:with|-)|WhatsApp-Chat mit|Chat de WhatsApp con|Discussion WhatsApp avec|Conversa do WhatsApp "
    r"com|Chat WhatsApp con|WhatsApp-chat met|WhatsApp-chatt med)\s+",
    re.I,
)
_COPY: Final = regex(r"\s*\(\d+\)$")


@dataclass(slots=True)
class _Said:
    """A message as it stands in the file: its opening, the lines after it, and where it begins."""

    opening: re.Match[str]
    lines: list[str]
    line: int


def looks_like(file: File) -> bool:
    """Text of which the first lines open a message; a line alone is one only with a name or a bracket."""
    if file.encoding.is_binary or file.shape:
        return False
    lines = [line for line in file.start.splitlines()[:30] if line.strip()]
    opened = [found for line in lines if (found := _OPENING.match(line))]
    is_named = _CHAT.match(file.stem) is not None
    return bool(opened) and _OPENING.match(lines[0]) is not None and (is_named or any(map(_is_plain, opened)))


def _is_plain(opened: re.Match[str]) -> bool:
    """Whether an opening is of WhatsApp: ``2024-05-03 14:05`` without a comma is of any transcript.

    In Sweden WhatsApp writes so too; there its notice of encryption tells, or what stands for a file.
    """
    is_iso = len(opened["a"]) == 4 and opened["mark"] == "-"
    if not is_iso or "," in opened[0][: opened.start("h") - opened.start()] or MARK in opened["rest"]:
        return True
    named = _NAMED.match(opened["rest"])
    tells = shown(named["words"] or "") == "[media]" if named else tells_of_encryption(opened["rest"])
    return tells and opened["open"] is None and opened["s"] is None


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each chat."""
    for file in files:
        order = reading.dates or _order(file, reading)
        yield from by_day(reading.session or _chat(file, export), _messages(file, order, reading))


def _chat(file: File, export: Export) -> str:
    """``Ann`` of ``WhatsApp Chat with Ann (1).txt``; on iOS the archive or the folder has the name."""
    folder = PurePosixPath(file.name).parent.name
    stem = file.stem if file.stem != "_chat" else folder or (export.stem if export.stem != "_chat" else "WhatsApp")
    return _COPY.sub("", _CHAT.sub("", stem)) or "WhatsApp"


def _order(file: File, reading: Reading) -> DateOrder:
    styles: set[bool] = set()

    def dates() -> Iterator[tuple[Numbers, bool]]:
        for line in reading.lines(file):
            if found := _OPENING.match(line):
                styles.add(_is_american(found))
                yield _numbers(found), found["mark"] != "/"

    try:
        order, doubt = order_of(dates(), lambda: "month-first" if styles == {True} else "day-first")
    except ValueError:
        # No day is 40/40/24: the message that says so is named when it is read.
        order, doubt = "day-first", ""
    if doubt:
        reading.note(f"{file.name}: {doubt}")
    return order


def _is_american(opening: re.Match[str]) -> bool:
    """Whether a date is written as in the United States and hardly elsewhere: ``5/3/24, 9:15 PM``.

    Other countries with a 12-hour clock write zeros (``03/05/24``), four digits of the year, or ``pm`` and ``p. m.``
    (Unicode CLDR 46, formats ``short``).
    """
    numbers = opening["a"], opening["b"], opening["c"]
    is_plain = opening["mark"] == "/" and not any(each.startswith("0") for each in numbers[:2]) and len(numbers[2]) == 2
    return is_plain and opening["late"] in ("AM", "PM")


def _numbers(opening: re.Match[str]) -> Numbers:
    return western((int(opening["a"]), int(opening["b"]), int(opening["c"])))


def _messages(file: File, order: DateOrder, reading: Reading) -> Iterator[Message]:
    times: Counter[tuple[str, str, str]] = Counter()
    chat, stamp = _chat_key(file, reading), ""
    for said in _said(file, reading):
        message = _read(said, reading)
        if message is None:
            continue
        name, text = message
        written = plain(said.opening[0][: said.opening.start("rest") - said.opening.start()])
        if written != stamp:
            times.clear()
            stamp = written
        times[written, name, text] += 1
        key = reading.stable(chat, "".join(written.split()), name, text, times[written, name, text])
        kept = {"source": "whatsapp"}
        yield reading.person(name, text, id=key, at=_time(said, order, file, reading), metadata=kept)


def _chat_key(file: File, reading: Reading) -> str:
    stem = PurePosixPath(file.name).parent.name if file.stem == "_chat" else file.stem
    return reading.session or _COPY.sub("", stem)


def _said(file: File, reading: Reading) -> Iterator[_Said]:
    said: _Said | None = None
    for number, line in enumerate(reading.lines(file), start=1):
        if opening := _OPENING.match(line):
            if said is not None:
                yield said
            said = _Said(opening, [opening["rest"]], number)
        elif said is not None:
            said.lines.append(line)
        elif line.strip():
            wanted = "expected '03/05/24, 14:05 - Ann: Hi' or '[03/05/24, 14:05:10] Ann: Hi'"
            raise InvalidTranscript(f"{file.shown}: line {number}: {wanted}, got {shorten(line)}")
    if said is not None:
        yield said


def _read(said: _Said, reading: Reading) -> tuple[str, str] | None:
    """Who speaks, and the words; nothing where WhatsApp itself says something."""
    named = _NAMED.match(said.lines[0])
    if named is None:
        reading.left_out["system lines"] += 1
        return None
    name = plain(named["name"]).strip().removeprefix("~").strip()
    words = "\n".join([named["words"] or "", *said.lines[1:]]).strip()
    kind = stands_for(plain(words), is_android=said.opening["open"] is None)
    if kind or is_notice(name, words):
        reading.left_out[kind or "system lines"] += 1
        return None
    return name, shown(words)


def _time(said: _Said, order: DateOrder, file: File, reading: Reading) -> datetime:
    found = said.opening
    half = found["late"] or found["early"]
    hour = int(found["h"])
    if half:
        hour = hour % 12 + 12 * (_LATER.match(half) is not None)
    try:
        day = day_of(_numbers(found), order)
        at = datetime.combine(day, time(hour, int(found["m"]), int(found["s"] or 0)))
    except ValueError as error:
        other = "month-first" if order == "day-first" else "day-first"
        raise InvalidTranscript(
            f"{file.shown}: line {said.line}: no date is {shorten(found[0][:25])}, read {order}; if the other number "
            f"is the day, say --dates {other}"
        ) from error
    return reading.local(at)
