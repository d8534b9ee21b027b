"""Plain transcripts, ``Name: words`` on each line, into sessions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Final

from ..conversation import Message, Session, group_messages
from ..errors import InvalidTranscript, shorten
from ..text.names import ASIDES, ROLES
from ..times import zone_or_utc
from .fields import LONGEST_TEXT
from .moments import Moment, read_moment

_STAMP: Final = r"(?:\d{4}-\d\d-\d\d[T ]+)?\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s*[ap]\.?m\.?)?(?:Z|[+-]\d\d:?\d\d)?"
_IN_NAME: Final = r"^:\uff1a\[\]{}<>|*/\\\"（【】"
_CONTACT: Final = r"(?P<contact>\+\d(?:[ .()-]{0,2}\d){6,14}|@\w[\w.]{1,37}|[^\W\d][\w.]{1,31}\#\d{4})"
"""A number of a telephone, ``@ann_92``, ``ann#1234``: what programs write for who has no name."""
_PICTURES: Final = (
    "[\U0001f000-\U0001faff\u2600-\u26ff\u2764][\U0001f000-\U0001faff\u2600-\u26ff\u2764\ufe0f\u200d]{0,8}"
)
_OPENING: Final = re.compile(
    # No two runs of blanks meet, and a name ends with none: a line of blanks would be tried in every division.
    rf"(?:[\[(（【](?P<inner>[^\])）】\n]+)[\])）】]|(?P<bare>{_STAMP})(?=\s))?\s*(?:[-–]\s+)?"
    rf"\*{{0,2}}(?P<name>{_CONTACT}|(?:{_PICTURES}\s?)?[^\W\d_](?:[{_IN_NAME}]{{0,38}}?(?!\s)[{_IN_NAME}])??)\*{{0,2}}"
    r"(?:\s*[\[(（【](?P<after>[^\])）】]+)[\])）】])?\s*"
    r"(?:(?P<wide>\uff1a)|:)\*{0,2}(?P<gap>\s+|$)?(?P<words>.*)",
    re.I,
)
_BOXED: Final = re.compile(rf"\s*\[(?P<name>[^\W\d_][{_IN_NAME}]{{0,38}})\]\s*(?=[:\uff1a])")
"""``[SPEAKER_00]: words``, as recognisers of speech write it."""
_FROM: Final = re.compile(
    r"\s*(?P<clock>\d{1,2}:\d\d:\d\d)\s+From\s+(?P<name>[^\s:](?:[^:\n]{0,80}?[^\s:])??)"
    r"(?:\s+[tT]o\s+[^:\n]{1,80}?)?\s*:(?!\S)"
)
"""``14:05:10  From Ann Lee to Everyone:`` begins a message in the chat that Zoom saves."""
_ABOVE: Final = re.compile(
    rf"\s*(?:\[(?P<boxed>[^\W\d_][{_IN_NAME}]{{0,38}})\]|(?P<bare>[^\W\d_](?:[{_IN_NAME}]{{0,38}}?(?!\s)[{_IN_NAME}])??))"
    r"(?:\s{2,}|\t|(?<=\])\s)(?P<clock>\d{1,3}:\d\d(?::\d\d)?(?:\s?[AP]M)?)\s*",
    re.I,
)
"""``Ann Lee   0:03`` or ``[Ann Lee] 10:03:21`` on a line above her words, as programs for meetings write it."""
_TITLE_LINES: Final = 3
_EARLY: Final = timedelta(hours=1)
"""So much before its beginning nobody speaks in a meeting: such a time counts from the beginning."""
_HEADER: Final = re.compile(
    r"\s*(?:#{1,6}\s+|-{2,}\s*|={2,}\s*|\*{3,}\s*|—+\s*)(?P<title>.*?\w.*?)\s*(?:#+|-{2,}|={2,}|\*{3,}|—+)?\s*"
)
_NUMBERED: Final = re.compile(r"(?:session|conversation|会话|对话)\s*#?\d+\s*(?:[::,(–-]\s*(?P<when>.*?)\)?)?", re.I)
_LONGEST_HEADER: Final = 120
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the transcript.

    Args:
        number: its place, from 1.
        raw: as it is written.
        name: what may be a speaker's name, where the line has the form ``Name: words``; else empty.
        words: what follows the name.
        moment: the time beside the name.
        is_contact: whether the name is a telephone number or the like, which stands before no other words.
    """

    number: int
    raw: str
    name: str = ""
    words: str = ""
    moment: Moment | None = None
    is_contact: bool = False

    @property
    def key(self) -> str:
        return self.name.casefold()


def _looks_like_name(name: str) -> bool:
    """At most four words, the first and the last with a capital, a digit or a script without capitals."""
    first, *others = [word for word in name.split() if _WORD.search(word)]
    return not others or (len(others) < 4 and not first[0].islower() and not others[-1][0].islower())


def _read_line(number: int, raw: str) -> _Line:
    boxed, chat = _BOXED.match(raw), _FROM.match(raw)
    if chat is not None:
        raw = f"{chat['clock']} {chat['name']}:{raw[chat.end() :]}"
    found = _OPENING.fullmatch(boxed["name"] + raw[boxed.end() :] if boxed else raw.lstrip())
    if found is None or not (found["contact"] or _looks_like_name(found["name"].strip())):
        return _Line(number, raw)
    joined = found["gap"] is None and not found["wide"]
    if joined and not (found["words"][0] > "\u2e80" or found["name"][-1] > "\u2e80"):
        return _Line(number, raw)  # C:\, mailto:ann@…: where words have spaces, so has a colon
    before, after, words = found["inner"] or found["bare"], found["after"], found["words"]
    moment = read_moment(before or after or "")
    if before and moment is None:
        return _Line(number, raw)
    if after and (before or moment is None):
        words = f"({after}) {words}"  # Ann (laughing): …
    return _Line(number, raw, found["name"].strip(), words, moment, bool(found["contact"]))


def _read_name(number: int, raw: str) -> _Line:
    """A line of a transcript that names who speaks, and when, above the words."""
    found = _ABOVE.fullmatch(raw)
    name = (found["boxed"] or found["bare"]).strip() if found else ""
    if found is None or not _looks_like_name(name):
        return _Line(number, raw)
    return _Line(number, raw, name, "", read_moment(found["clock"]))


def _speakers(lines: Sequence[_Line], firsts: set[int]) -> set[str]:
    """The names, case-folded, that open an utterance; `read_transcript` states the rule."""
    openings = [line for line in lines if line.name]
    sure = {line.key for line in openings if line.number in firsts or line.key in ROLES}
    if len({ROLES[key] for key in sure if key in ROLES}) > 1:
        return sure
    if openings and openings[0].moment is not None:
        return sure | {line.key for line in openings if line.moment is not None}
    often = Counter(line.key for line in openings if "".join(_WORD.findall(line.key)) not in ASIDES)
    keys = {line.key for line in openings}
    for key in [each for each in often if each[0] == "@" and each[1:] in keys]:
        del often[key]  # "@Bob: are you in?" is said to Bob
    sure |= {key for key, times in often.items() if times > 1} | {
        line.key for line in openings if line.is_contact and "#" in line.key
    }
    once = {
        line.key: line for line in openings if often[line.key] == 1 and (line.is_contact or not line.name[0].islower())
    }
    if sum(often[key] > 1 for key in sure) < 2:
        return sure | set(once)
    names = {tuple(_WORD.findall(line.name)): key for key, line in once.items()}
    sizes = set(map(len, names))
    for line in lines if names else ():
        words = _WORD.findall(line.words or line.raw)
        runs = {tuple(words[at : at + size]) for size in sizes for at in range(len(words) - size + 1)}
        sure |= {names[run] for run in runs & names.keys() if once[names[run]] is not line}
    return sure


def _header(raw: str, alone: bool) -> tuple[str, Moment | None] | None:
    """The title and time of a session header, or None for any other line."""
    if len(raw) > _LONGEST_HEADER:
        return None
    found = _HEADER.fullmatch(raw)
    if not (found or alone):
        return None
    title = found["title"] if found else raw.strip()
    numbered = _NUMBERED.fullmatch(title)
    when = numbered["when"] if numbered else title
    moment = read_moment(when or "")
    dated = moment is not None and (numbered or moment.day)
    return (title, moment) if dated or not when else None


def _parts(text: str) -> list[tuple[str, Moment | None, list[_Line]]]:
    """The text cut at its session headers: the title, the time and the lines of each session that has any."""
    raws = ["", *text.splitlines(), ""]
    first = next((raw for raw in raws if raw.strip() and not _header(raw, True)), "")
    title, begin, start = _titled(raws) or ("", None, 1)
    read = _read_name if start > 1 or _read_name(0, first).name else _read_line
    parts: list[tuple[str, Moment | None, list[_Line]]] = [(title, begin, [])]
    around = zip(raws[start - 1 :], raws[start:], raws[start + 1 :], strict=False)
    for number, (above, raw, below) in enumerate(around, start):
        if raw.strip() and (header := _header(raw, not above.strip() and not below.strip())):
            parts.append((*header, []))
        else:
            parts[-1][2].append(read(number, raw))
    parts[0] = title, begin, _from_the_beginning(parts[0][2], begin)
    return [part for part in parts if any(line.raw.strip() for line in part[2])]


def _titled(raws: Sequence[str]) -> tuple[str, Moment | None, int] | None:
    """What a transcript of a meeting is called and when it began, and where its first name stands, below them."""
    named = [number for number, raw in enumerate(raws) if _read_name(0, raw).name]
    above = [raw.strip() for raw in raws[: named[0]] if raw.strip()] if named else []
    if not 0 < len(above) <= _TITLE_LINES or raws[named[0] - 1].strip():
        return None
    if any(len(raw) > _LONGEST_HEADER or _header(raw, False) or _read_line(0, raw).name for raw in above):
        return None
    dated = next((moment for raw in above if (moment := read_moment(raw)) and moment.day), None)
    return (", ".join(above), dated, named[0]) if dated or len(named) > 1 else None


def _from_the_beginning(lines: list[_Line], begin: Moment | None) -> list[_Line]:
    """The lines with times of day, where their times count from the one at which the meeting began."""
    first = next((line for line in lines if line.name), None)
    if begin is None or begin.day is None or begin.clock is None or first is None or _since(first) is None:
        return lines
    at = datetime.combine(begin.day, begin.clock)
    clock = first.moment.clock if first.moment else None
    if clock and datetime.combine(begin.day, clock, begin.clock.tzinfo) > at - _EARLY:
        return lines
    return [_counted(line, at) for line in lines]


def _counted(line: _Line, begin: datetime) -> _Line:
    since = _since(line)
    try:
        at = begin + since if since is not None else None
    except OverflowError as error:
        raise InvalidTranscript(f"line {line.number}: no time comes {since} after {begin}") from error
    return replace(line, moment=Moment(at.date(), at.timetz())) if at is not None else line


def _since(line: _Line) -> timedelta | None:
    """The time above the words as one that counts from the beginning: ``0:03`` is three seconds."""
    found = _ABOVE.fullmatch(line.raw) if line.name else None
    if found is None or not found["clock"][-1].isdigit():
        return None
    *hours, minutes, seconds = map(int, found["clock"].split(":"))
    return timedelta(hours=sum(hours), minutes=minutes, seconds=seconds)


def read_transcript(
    text: str,
    *,
    at: datetime | None = None,
    speakers: Iterable[str] | None = None,
    timezone: str | tzinfo | None = None,
) -> tuple[Session, ...]:
    r"""Sessions from a plain transcript: ``Name: words`` lines, with times and session headers where there are any.

    ``[2024-05-03 14:05] Ann: Hi``, ``14:05 Ann: Hi``, ``14:05 - Ann: Hi``, ``Ann (14:05): Hi`` and
    ``2024-05-03T14:05Z Ann: Hi`` give a time; so does ``Ann Lee   0:03`` or ``[Ann Lee] 10:03:21`` on a line above the
    words, where the text begins with one, or with a title and a day above it, which then name the session. A name may
    be boxed: ``[SPEAKER_00]: Hi``. ``--- 3 May 2024 ---``, ``# 2024-05-03``, ``## Session 2`` and ``=== Session 2: May
    3, 2024, 2:05 pm ===`` begin a session; so does a date
    that stands between blank lines.
    Months may have their English, German, Spanish, French, Italian or Portuguese name. A message without a time of its
    own has its session's; a time of day alone falls on the session's day, or on the next where the clock has passed
    midnight; where no day is known it is kept as ``time`` in the metadata. A line that opens no utterance continues the
    one before it. The usual role names (User, Assistant, Human, AI, System,
    Tool) become roles, every other name a speaker without a role.

    **Who is a speaker.** "Note: buy milk" on a line of its own looks just like "Ann: buy milk", so the form alone
    does not decide. A line can open an utterance if it begins with one word, or with up to four of which the first
    and the last have a capital (or a digit, or a script that has no capitals), then a colon and a space: this alone
    leaves out ``10:30``, ``https://…`` and "The thing is: …". Where two roles speak (User, Assistant), only roles
    do, and whoever opens the text or a session. Where the first such line carries a time, the names that stand beside
    a time are the speakers. Elsewhere, a name is a speaker if

    - it opens the first line of the text or of a session, or is the name of a role;
    - or it opens two lines or more, and is no word for an aside (Note, PS, Update, Monday, …);
    - or it is an account with a number (``ann#1234``); ``+32 470 12 34 56`` and ``@ann`` are like names with capitals,
      but ``@ann`` is whom somebody speaks to where Ann speaks too;
    - or it opens a single line with a capital, is no aside, and either fewer than two names recur (a short
      transcript) or other lines mention it by that name ("Hi Carl").

    Pass ``speakers`` to decide yourself.

    Args:
        text: the transcript. Only blank text gives no session.
        at: when the first session began, where the text does not say.
        speakers: the names that open an utterance; no other does.
        timezone: the zone of times and days that carry none, such as ``"Europe/Brussels"``; UTC unless given.

    Raises:
        InvalidInput: there is no such time zone.
        InvalidTranscript: carrying the first line of a session that belongs to nobody, or of a message of more than
            `LONGEST_TEXT` characters.
    """
    zone = zone_or_utc(timezone)
    parts = _parts(text)
    if speakers is None:
        firsts = {next(line.number for line in lines if line.raw.strip()) for _, _, lines in parts}
        known = _speakers([line for _, _, lines in parts for line in lines], firsts)
    else:
        known = {name.casefold() for name in speakers}
    names = _unique(title or "1" for title, _, _ in parts)
    sessions: list[Session] = []
    for name, (_, moment, lines) in zip(names, parts, strict=True):
        begin = moment.on(None, zone) if moment else None if sessions else at
        sessions.append(Session(name, group_messages(_utterances(lines, known, begin, zone), name)))
    return tuple(sessions)


def _unique(names: Iterable[str]) -> list[str]:
    taken: dict[str, None] = {}
    times: Counter[str] = Counter()
    for name in names:
        choice = name
        while choice in taken:
            times[name] += 1
            choice = f"{name} ({times[name] + 1})"
        taken[choice] = None
    return list(taken)


def _utterances(lines: Sequence[_Line], known: set[str], begin: datetime | None, zone: tzinfo) -> Iterator[Message]:
    utterances: list[tuple[_Line, list[str]]] = []
    for line in lines:
        if line.name and line.key in known:
            utterances.append((line, [line.words]))
        elif utterances:
            utterances[-1][1].append(line.raw)
        elif line.raw.strip():
            raise InvalidTranscript(f"line {line.number}: {_expected(line.raw)}, got {shorten(line.raw)}")
    now = begin
    for line, words in utterances:
        now = _later(line, now, zone)
        yield _message(line, "\n".join(words).strip(), now)


def _expected(raw: str) -> str:
    if len(raw) <= _LONGEST_HEADER and _HEADER.fullmatch(raw) and any(map(str.isdigit, raw)):
        return "expected a day such as 2024-05-03 or 3 May 2024, or 'Name: words'"
    return "expected 'Name: words'"


def _later(line: _Line, now: datetime | None, zone: tzinfo) -> datetime | None:
    """The time of a line that follows one at ``now``; a clock that runs backwards has passed midnight."""
    moment = line.moment
    if moment is None:
        return now
    at = moment.on(now.date() if now else None, zone)
    turned = at and now and now.tzinfo and moment.day is None and now - at > timedelta(hours=12)
    try:
        return at + timedelta(days=1) if at and turned else at
    except OverflowError as error:
        raise InvalidTranscript(f"line {line.number}: no day comes after {now}, got {shorten(line.raw)}") from error


def _message(line: _Line, words: str, at: datetime | None) -> Message:
    role = ROLES.get(line.key, "")
    clock = line.moment.clock if line.moment and at is None else None  # no day to put it on
    kept = {"time": clock.isoformat("minutes")} if clock else {}
    if len(words) > LONGEST_TEXT:
        size = f"{len(words):,} characters, at most {LONGEST_TEXT:,} are kept"
        raise InvalidTranscript(f"line {line.number}: {size}; divide what begins with {shorten(line.raw[:100])}")
    return Message(words, role=role, speaker=None if line.key == role else line.name, at=at, metadata=kept)
