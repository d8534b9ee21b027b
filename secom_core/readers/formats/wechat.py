"""A chat copied from WeChat or exported from QQ: ``Ann 2024-05-03 14:05:10`` on a line, and below it what Ann says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from ...conversation import Message, Session
from ...errors import InvalidTranscript, shorten
from ...text.han import one_way
from ...text.patterns import regex
from ..files import Export, File
from ..reading import Reading, by_day


def _stamp(n: int) -> str:
    return (
        rf"(?P<y{n}>\d{{4}})[-/.年](?P<m{n}>\d{{1,2}})[-/.月](?P<d{n}>\d{{1,2}})日?[\s,，]+"
        rf"(?:(?P<half{n}>上午|下午|中午|凌晨|早上|晚上)\s?)?(?P<h{n}>\d{{1,2}}):(?P<min{n}>\d\d)(?::(?P<s{n}>\d\d))?"
    )


_HEAD: Final = regex(
    rf"(?P<before>[^\s:：](?:[^:：\n]{{0,58}}[^\s:：])??)[\s,，]+{_stamp(1)}\s*"
    rf"|{_stamp(2)}[\s,，]+(?P<after>[^\s:：\d](?:[^:：\n]{{0,58}}[^\s:：])??)\s*"
)
_LATER: Final = regex("下午|中午|晚上")
_ACCOUNT: Final = regex(r"\s*(?:[(（]\d{5,12}[)）]|<[^<>@\s]+@[^<>\s]+>)$")
_QQ: Final = regex("消息记录.{0,40}|=+|消息(?:分组|对象)[:：].*")
"""What QQ writes above a chat."""
_SENT: Final = {
    word: f"[{kind}]"
    for kind, words in {
        "image": "图片 照片 Photo",
        "sticker": "表情 动画表情 Sticker",
        "video": "视频 影片 Video",
        "audio": "语音 Audio",
        "file": "文件 档案 File",
    }.items()
    for word in words.split()
}
_LOOKED_AT: Final = 60


@dataclass(slots=True)
class _Said:
    """A message: its head, where that stands, and its lines."""

    head: re.Match[str]
    number: int
    lines: list[str] = field(default_factory=list)


def looks_like(file: File) -> bool:
    """Text of which the first line, and another one, is a name and a time, with words below."""
    if file.encoding.is_binary or file.shape:
        return False
    lines = [line for line in file.start.splitlines()[:_LOOKED_AT] if line.strip()]
    while lines and _QQ.fullmatch(lines[0]):
        del lines[0]
    heads = [_HEAD.fullmatch(line) is not None for line in lines]
    return len(heads) > 1 and heads[0] and not heads[1] and (sum(heads) > 1 or len(heads) < _LOOKED_AT)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each chat."""
    for file in files:
        yield from by_day(reading.session or file.stem, _messages(file, reading))


def _messages(file: File, reading: Reading) -> Iterator[Message]:
    times: Counter[tuple[datetime, str, str]] = Counter()
    chat = reading.session or file.stem
    for said in _said(file, reading):
        name = _ACCOUNT.sub("", said.head["before"] or said.head["after"]).strip()
        text = "\n".join(said.lines).strip()
        if not text:
            reading.left_out["empty messages"] += 1
            continue
        try:
            at = _time(said.head)
        except ValueError:
            place = f"{file.shown}: line {said.number}"
            reading.bad(InvalidTranscript(f"{place}: there is no such time: {shorten(said.head[0])}"))
            continue
        text = _SENT.get(one_way(text.strip("[]")), text) if text[0] == "[" else text
        times[at, name, text] += 1
        key = reading.stable(chat, at.isoformat(), name, text, times[at, name, text])
        yield reading.person(name, text, id=key, at=reading.local(at), metadata={"source": "wechat"})


def _said(file: File, reading: Reading) -> Iterator[_Said]:
    said: _Said | None = None
    for number, line in enumerate(reading.lines(file), start=1):
        if head := _HEAD.fullmatch(line):
            if said is not None:
                yield said
            said = _Said(head, number)
        elif said is not None:
            said.lines.append(line)
        elif line.strip() and not _QQ.fullmatch(line):
            wanted = "expected 'Ann 2024-05-03 14:05:10' above each message"
            raise InvalidTranscript(f"{file.shown}: line {number}: {wanted}, got {shorten(line)}")
    if said is not None:
        yield said


def _time(head: re.Match[str]) -> datetime:
    n = 1 if head["y1"] else 2
    hour, half = int(head[f"h{n}"]), head[f"half{n}"]
    if half:
        hour = hour % 12 + 12 * (_LATER.match(half) is not None)
    year, month, day = (int(head[f"{part}{n}"]) for part in "ymd")
    return datetime(year, month, day, hour, int(head[f"min{n}"]), int(head[f"s{n}"] or 0))
