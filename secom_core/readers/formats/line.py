"""A chat exported from LINE as text: a line with the date, and below it ``10:15<tab>Ann<tab>Hi`` for each message.

In Japanese, Chinese, Korean and English. LINE for computers writes blanks in the place of tabs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Final

from ...conversation import Message, Session
from ...errors import InvalidTranscript, shorten
from ...text.han import one_way
from ...text.patterns import regex
from ..date_order import Numbers, day_of
from ..files import Export, File
from ..reading import DateOrder, Reading, by_day

_TITLE: Final = regex(
    r"\[LINE\]\s*(?:(?P<ja>.+?)(?:との|の)トーク(?:履歴)?|[与和](?P<zh>.+?)的聊天(?:记录)?"
    r"|(?P<ko>.+?)(?:님과|과|와)(?:의)? 대화"
    r"|Chat(?: history)? (?:with|in) (?P<en>.+)|(?P<other>.+))"
)
_SIGNS: Final = "月火水木金土日", "一二三四五六日", "월화수목금토일"
_NAMES: Final = "mon tue wed thu fri sat sun".split()
_DAY: Final = regex(
    r"(?:(?P<before>[A-Z][a-z]{2,8})[.,]*\s+)?(?P<a>\d{1,4})[./-]\s?(?P<b>\d{1,2})[./-]\s?(?P<c>\d{1,4})\.?"
    rf"\s*(?(before)|(?:[（(]?(?:星期|周)?(?P<sign>[{''.join(_SIGNS)}天])(?:曜日?|요일)?[）)]?"
    r"|[（(]?(?P<after>[A-Z][a-z]{2,8})\.?[）)]?))\s*"
)
_HALF: Final = "午前|午後|上午|下午|中午|凌晨|清晨|早上|晚上|오전|오후"
_SAID: Final = regex(
    rf"(?:(?P<early>{_HALF})\s?)?(?P<h>\d{{1,2}}):(?P<m>\d\d)(?:\s?(?P<late>[AP]M))?(?P<gap>\t| )(?P<rest>.*)"
)
_LATER: Final = regex("午後|下午|中午|晚上|오후|PM")
_SENT: Final = {
    word: f"[{kind}]"
    for kind, words in {
        "image": "写真 画像 照片 图片 Photo 사진",
        "sticker": "スタンプ 贴图 Sticker 스티커",
        "video": "動画 影片 视频 Video 동영상",
        "audio": "ボイスメッセージ 语音讯息 语音消息 Voice-message 음성메시지",
        "file": "ファイル 档案 文件 File 파일",
    }.items()
    for word in map(one_way, words.split())
}
_LOOKED_AT: Final = 40
"""How many lines are looked at to recognise an export without its title."""


@dataclass(slots=True)
class _Said:
    """A message: its day, its opening, its lines, and where it begins."""

    day: date
    hour: int
    minute: int
    is_tabbed: bool
    lines: list[str]
    line: int


def looks_like(file: File) -> bool:
    """Text that begins with LINE's title, or with a day and a message with tabs."""
    if file.encoding.is_binary or file.shape:
        return False
    lines = [line for line in file.start.splitlines()[:_LOOKED_AT] if line.strip()]
    if lines and lines[0].startswith("[LINE]"):
        return any(map(_DAY.fullmatch, lines))
    said = _SAID.match(lines[1]) if len(lines) > 1 else None
    return said is not None and said["rest"].count("\t") == 1 == len(said["gap"].strip(" ")) and _is_day(lines[0])


def _is_day(line: str) -> bool:
    return _DAY.fullmatch(line) is not None


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each chat."""
    for file in files:
        chat = reading.session or _chat(file)
        yield from by_day(chat, _messages(file, chat, reading))


def _chat(file: File) -> str:
    """Whom the title names; the file's name where it has none."""
    first = file.start.split("\n", 1)[0].strip()
    title = _TITLE.fullmatch(first)
    return next(filter(None, title.groups())).strip() if title else file.stem


def _messages(file: File, chat: str, reading: Reading) -> Iterator[Message]:
    times: Counter[tuple[datetime, str, str]] = Counter()
    for said in _said(file, reading):
        found = _parts(said, chat)
        if found is None:
            reading.left_out["system lines"] += 1
            continue
        name, text = found
        try:
            at = datetime.combine(said.day, time(said.hour, said.minute))
        except ValueError:
            reading.bad(
                InvalidTranscript(f"{file.shown}: line {said.line}: there is no time {said.hour}:{said.minute}")
            )
            continue
        times[at, name, text] += 1
        key = reading.stable(chat, at.isoformat(), name, text, times[at, name, text])
        yield reading.person(name, text, id=key, at=reading.local(at), metadata={"source": "line"})


def _parts(said: _Said, chat: str) -> tuple[str, str] | None:
    """Who speaks, and the words; nothing where LINE itself says something.

    Without tabs, a name is the one of the chat, or the first word.
    """
    first, *others = said.lines
    if said.is_tabbed:
        name, tab, words = first.partition("\t")
    elif first.startswith(f"{chat} "):
        name, tab, words = chat, " ", first[len(chat) + 1 :]
    else:
        name, tab, words = first.partition(" ")
    if not tab or not name.strip():
        return None
    text = "\n".join([words, *others]).strip()
    if len(text) > 1 and "\n" in text and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"')
    bare = one_way(text.strip("[]").replace(" ", "-"))
    return name.strip(), _SENT.get(bare, text) if not said.is_tabbed or text[:1] == "[" else text


def _said(file: File, reading: Reading) -> Iterator[_Said]:
    said: _Said | None = None
    day: date | None = None
    for number, line in enumerate(reading.lines(file), start=1):
        if found := _DAY.fullmatch(line):
            day = _date(found, f"{file.shown}: line {number}", reading.dates)
        elif day is not None and (found := _SAID.fullmatch(line)):
            if said is not None:
                yield said
            said = _Said(day, _hour(found), int(found["m"]), found["gap"] == "\t", [found["rest"]], number)
            continue
        elif day is None:
            continue
        elif said is not None:
            said.lines.append(line)
            continue
        if said is not None:
            yield said
            said = None
    if said is not None:
        yield said


def _hour(found: re.Match[str]) -> int:
    half = found["early"] or found["late"]
    hour = int(found["h"])
    return hour % 12 + 12 * (_LATER.match(half) is not None) if half else hour


def _date(found: re.Match[str], shown: str, order: DateOrder | None) -> date:
    """The day of a header; which of two numbers is the day, its weekday tells."""
    numbers: Numbers = int(found["a"]), int(found["b"]), int(found["c"])
    possible: list[date] = []
    orders: list[DateOrder] = [order] if order else ["month-first", "day-first"]
    for each in orders:
        with suppress(ValueError):
            possible.append(day_of(numbers, each))
    weekday = _weekday(found)
    day = next((each for each in possible if each.weekday() == weekday), possible[0] if possible else None)
    if day is None:
        raise InvalidTranscript(f"{shown}: no date is {shorten(found[0])}")
    return day


def _weekday(found: re.Match[str]) -> int:
    name, sign = (found["before"] or found["after"] or "")[:3].lower(), found["sign"] or ""
    if name in _NAMES:
        return _NAMES.index(name)
    return next((listed.index(sign) for listed in _SIGNS if sign and sign in listed), 6)
