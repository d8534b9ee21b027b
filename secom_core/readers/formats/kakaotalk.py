"""A chat exported from KakaoTalk as text, in Korean and English.

KakaoTalk for Windows writes a line with the day, and below it ``[Ann] [오후 3:20] Hi`` for each message. On Android it
writes ``2024년 5월 3일 오후 3:20, Ann : Hi``, on iOS ``2024. 5. 3. 오후 3:20, Ann : Hi``, and on a Mac a table (CSV).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Final

from ...conversation import Message, Session
from ...errors import InvalidTranscript, shorten
from ...text.patterns import regex
from ..files import Export, File
from ..moments import Moment, read_moment
from ..reading import Reading, by_day

_SAVED: Final = regex(r"(?:저장한 날짜|Date Saved|Saved Date)\s?:.*")
_TITLE: Final = regex(
    r"(?P<ko>.+?)(?: \d+)?(?: ?님과의?)? 카카오톡 대화|(?P<en>.+) with KakaoTalk Chats"
    r"|KakaoTalk Chats with (?P<with>.+)"
)
"""Whom the chat is with; after the name of a group, how many are in it. On iOS, the name of the file stands there."""
_CLOCK: Final = r"(?:(?:오전|오후|AM|PM) ?)?\d{1,2}:\d\d(?:[ \u00a0\u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE: Final = r"(?:\d{4}년 \d{1,2}월 \d{1,2}일|\d{4}\. ?\d{1,2}\. ?\d{1,2}\.|[A-Z][a-z]{2,8} \d{1,2}, \d{4}(?:,| at))"
_REST: Final = r"(?:, ?(?:(?P<name>.{0,80}?) : ?(?P<text>.*)|(?P<says>.*))|: (?P<tells>.*)|(?P<bare>))"
_FORMS: Final = (
    regex(rf"\[(?P<name>[^\n]{{0,80}}?)\] \[(?P<at>{_CLOCK})\](?: (?P<text>.*))?"),
    regex(rf"(?P<at>{_DATE}[ \u202f]{_CLOCK}){_REST}"),
    regex(rf"(?P<at>(?:오전|오후) \d{{1,2}}:\d\d){_REST}"),
)
"""How a message begins: on Windows; on telephones; and on some of them with the day only above the messages."""
_DAY: Final = regex(
    r"(?P<line>-{5,} )?(?P<day>\d{4}년 \d{1,2}월 \d{1,2}일 [월화수목금토일]요일"
    r"|[A-Z][a-z]+day, [A-Z][a-z]{2,8} \d{1,2}, \d{4})(?(line) -{5,})"
)
_KOREAN: Final = regex(r"(\d{4})년 (\d{1,2})월 (\d{1,2})일(?: .요일)?")
_HALF_BEFORE: Final = regex(r"([AP]M) ?(\d{1,2}:\d\d)")
_NOTICE: Final = regex(
    r".{1,400}님을 초대(?:하였|했)습니다\.|.{1,80}님이 (?:나갔|들어왔)습니다\.|.{1,80} (?:left|joined) this chatroom\."
)
"""What KakaoTalk tells of the members, on Windows in lines of their own, without a time."""
_DELETED: Final = frozenset({"삭제된 메시지입니다.", "This message was deleted."})
_SENT: Final = {
    word: f"[{kind}]"
    for kind, words in {
        "image": "사진 Photo",
        "video": "동영상 videos",
        "sticker": "이모티콘 Emoticons",
        "audio": "음성메시지 Voice-Note",
    }.items()
    for word in words.split()
}
_PICTURES: Final = regex(r"사진 \d+장")
_FILE: Final = regex(r"(?:파일|File) ?: (\S.*)")
_HEAD: Final = 4
"""Within how many lines an export says when it was saved."""
_LOOKED_AT: Final = 60


@dataclass(slots=True)
class _Said:
    """A message: its opening, the day that stands above it, its lines, and where it begins."""

    opening: re.Match[str]
    day: date | None
    lines: list[str]
    line: int


def looks_like(file: File) -> bool:
    """Text that says when it was saved, as KakaoTalk does, and has messages or days of one of its forms."""
    return not (file.encoding.is_binary or file.shape) and _form(file) is not None


def _form(file: File) -> re.Pattern[str] | None:
    """How messages begin in a file."""
    lines = [line for line in file.start.splitlines()[:_LOOKED_AT] if line.strip()]
    if not any(map(_SAVED.fullmatch, lines[:_HEAD])):
        return None
    return next((form for line in lines for form in _FORMS if form.fullmatch(line)), None)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each chat."""
    for file in files:
        chat = reading.session or _chat(file, reading)
        yield from by_day(chat, _messages(file, chat, reading))


def _chat(file: File, reading: Reading) -> str:
    """The title without the number of members, which changes; ``KakaoTalk`` where there is none."""
    for line in file.start.splitlines()[:_HEAD]:
        if title := _TITLE.fullmatch(line.strip()):
            return (title["ko"] or title["en"] or title["with"]).strip()
    reading.once("its chat has no name in the file and is called KakaoTalk; say another with --session")
    return "KakaoTalk"


def _messages(file: File, chat: str, reading: Reading) -> Iterator[Message]:
    times: Counter[tuple[str, str]] = Counter()
    stamp: datetime | None = None
    for said in _said(file, reading):
        found = _parts(said, reading)
        if found is None:
            continue
        at = _time(said)
        if at is None:
            place = f"{file.shown}: line {said.line}"
            reading.bad(InvalidTranscript(f"{place}: no time can be read from {shorten(said.opening[0][:40])}"))
            continue
        if at != stamp:
            times.clear()
            stamp = at
        times[found] += 1
        key = reading.stable(chat, at.isoformat(), *found, times[found])
        yield reading.person(*found, id=key, at=reading.local(at), metadata={"source": "kakaotalk"})


def _parts(said: _Said, reading: Reading) -> tuple[str, str] | None:
    """Who speaks, and the words; nothing where KakaoTalk itself says something."""
    name = (said.opening["name"] or "").strip()
    text = "\n".join([said.opening["text"] or "", *said.lines]).strip()
    if name and text and text not in _DELETED:
        return name, _shown(text)
    what = "deleted messages" if text in _DELETED else "empty messages" if name else "system lines"
    reading.left_out[what] += 1
    return None


def _shown(text: str) -> str:
    if file := _FILE.fullmatch(text):
        return f"[file: {file[1]}]"
    return "[image]" if _PICTURES.fullmatch(text) else _SENT.get(text.replace(" ", "-"), text)


def _said(file: File, reading: Reading) -> Iterator[_Said]:
    said: _Said | None = None
    day: date | None = None
    held = ""
    form = _form(file) or _FORMS[1]
    for number, line in enumerate(reading.lines(file), start=1):
        if held and not line.strip():
            continue
        opening = form.fullmatch(line)
        if held and opening is None and said is not None:
            said.lines.append(held)  # somebody wrote the day
        day, held = (_day(held), "") if held and opening else (day, "")
        header = None if opening else _DAY.fullmatch(line)
        if header is not None and not header["line"]:
            held = line
        elif opening is None and header is None and not _NOTICE.fullmatch(line):
            if said is not None:
                said.lines.append(line)
            elif day is not None and line.strip():
                reading.left_out["system lines"] += 1
        else:
            if said is not None:
                yield said
            said = None
            if header is not None:
                day = _day(line)
            elif opening is None:
                reading.left_out["system lines"] += 1
            elif opening.groupdict().get("bare") is None:
                said = _Said(opening, day, [], number)
    if said is not None:
        yield said


def _day(line: str) -> date | None:
    moment = _moment(line.strip("- "))
    return moment.day if moment else None


@lru_cache(maxsize=64)
def _moment(text: str) -> Moment | None:
    return read_moment(_HALF_BEFORE.sub(r"\2 \1", _KOREAN.sub(r"\1. \2. \3.", text)))


def _time(said: _Said) -> datetime | None:
    moment = _moment(said.opening["at"])
    day = moment.day or said.day if moment else None
    return datetime.combine(day, moment.clock) if day and moment and moment.clock else None
