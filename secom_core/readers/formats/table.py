"""Tables of messages, a row each, as CSV and its like. Columns are named by the caller, or guessed."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from itertools import chain, groupby
from typing import Any, Final

from ...conversation import Message, Session
from ...errors import InvalidInput, InvalidTranscript, shorten
from ...text.names import ROLES
from ...text.patterns import regex
from ..date_order import day_of, order_of
from ..files import Export, File
from ..moments import read_moment
from ..reading import DateOrder, Reading, by_day, grouped, iso, seconds

_GUESSES: Final = {
    "text": "text message content body msg words utterance message_text "
    "nachricht inhalt nachrichtentext texte contenu mensaje texto contenido mensagem messaggio testo "
    "消息 消息内容 内容 訊息 メッセージ 本文",
    "speaker": "speaker sender sender_name from author name username user_name who participant user nickname "
    "absender von autor verfasser sprecher benutzer expéditeur auteur remitente remetente mittente autore "
    "发送者 发送人 发件人 昵称 送信者 名前",
    "role": "role rolle rôle rol",
    "at": "at timestamp ts datetime date_time time date created_at sent_at created sent message_date created_date "
    "zeitstempel zeitpunkt datum_uhrzeit horodatage fecha_hora data_hora data_ora 发送时间 日時 "
    "uhrzeit zeit heure hora ora 时间 時間 時刻 datum fecha 日期 日付",
    "session": "session session_id conversation conversation_id dialogue_id thread thread_id chat chat_id channel "
    "chat_session message_tree_id unterhaltung konversation kanal conversación conversa conversazione 会话 会話",
    "id": "id message_id uuid msg_id",
}
"""What columns are called, in English, German, French, Spanish, Portuguese, Italian, Chinese and Japanese.

Words that would mean something else in another of these languages, such as ``data``, are left out.
"""
_CLOCKS: Final = "time uhrzeit zeit heure hora ora 时间 時間 時刻"
_DAYS: Final = "date datum fecha 日期 日付"
"""What columns are called that hold the two parts of a time."""
_DAYS_OF: Final = {"hora": "data", "ora": "data"}
"""What the column of days is called beside a time of day in Portuguese and Italian, and nowhere else."""
_ROLES: Final = {**ROLES, "prompter": "user"}
"""The role that each name stands for; OpenAssistant's users are prompters."""
_OF_TELEPHONES: Final = ("Type", "Attachment")
_SENT: Final = frozenset({"outgoing", "sent"})
"""What exports of a telephone's messages have as the type of those of its owner, who has no name there."""
_PAIRS: Final = (
    ("prompt", "response"),
    ("prompt", "completion"),
    ("question", "answer"),
    ("instruction", "output"),
    ("instruction", "response"),
    ("input", "output"),
)
_GIVEN: Final = ("input", "context")
"""What an instruction is about, in a column of its own."""
_NUMERIC: Final = regex(r"(\d{1,2})([./-])(\d{1,2})[./-](\d{4}|\d\d)(?:,?\s+(.*))?")
_BETWEEN_WORDS: Final = regex(r" [/&+] |[ /-]")
_HUMP: Final = regex(r"(?<=[a-z0-9])(?=[A-Z])")
_WITH_DAY: Final = regex(r"\d{4}-\d|\d[./]\d{1,2}[./]\d|\s\d{4}\b|(?<![.,\d])\d{9}")
"""What no time of day holds: a date, or seconds since 1970."""
_LONGEST_CELL: Final = 50_000_000


def looks_like(file: File) -> bool:
    """A name with the ending of a table, or a first line that names a column of words and one of who or when."""
    if file.encoding.is_binary or file.suffix in (".csv", ".tsv"):
        return not file.encoding.is_binary
    names = {each for name in _heading(file).split(_delimiter(file)) for each in _spellings(name.strip('" \r'))}
    others = f"{_GUESSES['speaker']} {_GUESSES['role']} {_GUESSES['at']}".split()
    return not names.isdisjoint(_GUESSES["text"].split()) and not names.isdisjoint(others)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each that a column names; else a session a day where there are times; else one."""
    for file in files:
        order = reading.dates or _order(file, reading)
        yield from of_rows(csv_rows(file, reading), file, reading, order)


def csv_rows(file: File, reading: Reading) -> Iterator[dict[str, Any]]:
    """The rows of a file of CSV, each a value by the name of its column.

    Raises:
        InvalidTranscript: it is no CSV, with the line.
    """
    csv.field_size_limit(_LONGEST_CELL)
    with reading.opened(file) as text:
        if _says_delimiter(file):
            text.readline()
        rows = csv.DictReader(text, delimiter=_delimiter(file))
        try:
            yield from rows
        except csv.Error as error:
            raise InvalidTranscript(f"{file.shown}: line {rows.reader.line_num}: not CSV: {error}") from error


def _says_delimiter(file: File) -> bool:
    """Whether it begins with ``sep=;``, as Excel writes and reads it."""
    return file.start.startswith("sep=")


def _heading(file: File) -> str:
    """The line that names the columns."""
    lines = file.start.split("\n", 2)
    return lines[1] if _says_delimiter(file) and len(lines) > 1 else lines[0]


def _delimiter(file: File) -> str:
    return "\t" if file.suffix == ".tsv" else max(",;\t|", key=_heading(file).count)


def of_rows(
    rows: Iterable[Mapping[str, Any]], file: File, reading: Reading, order: DateOrder = "day-first"
) -> Iterator[Session]:
    """The sessions of a table's rows.

    Args:
        rows: each a value by the name of its column.
        file: where they are from.
        reading: what was asked for.
        order: which number of a numeric date is the day.

    Raises:
        InvalidInput: no column is that of the text, with those that there are.
    """
    given = iter(rows)
    first = next(given, None)
    if first is None:
        return
    columns = _columns(list(first), reading)
    placed = enumerate(chain([first], given), start=3 if _says_delimiter(file) else 2)
    if "answer" in columns:
        yield grouped(reading.session or file.stem, _pairs(placed, columns))
        return
    said = ((row.get(columns.get("session", "")), _message(row, n, columns, order, reading)) for n, row in placed)
    if "session" in columns:
        for name, pairs in groupby(said, key=lambda pair: str(pair[0] or reading.session or file.stem)):
            yield grouped(name, [message for _, message in pairs if message])
    elif "at" in columns:
        yield from by_day(reading.session or file.stem, (message for _, message in said if message))
    else:
        yield grouped(reading.session or file.stem, [message for _, message in said if message])


def _columns(names: Sequence[Any], reading: Reading) -> dict[str, str]:
    """Which column is what: ``text``, ``speaker`` and so on; ``prompt`` and ``answer`` where both stand in a row."""
    known = {each: str(name) for name in names if name for each in _spellings(str(name))}
    for what, name in reading.columns.items():
        if what not in _GUESSES:
            raise InvalidInput(f"a table has no {what!r}: name {', '.join(_GUESSES)}, such as text={name}")
        if name not in names:
            there = ", ".join(f"{each!r}" for each in names)
            close = get_close_matches(name, map(str, names), 1)
            meant = f"; did you mean {what}={close[0]}?" if close else ""
            raise InvalidInput(f"there is no column {name!r} for {what}; there are {there}{meant}")
    found = dict(reading.columns)
    for what, guesses in _GUESSES.items():
        guess = next((known[each] for each in guesses.split() if each in known), None)
        if guess is not None and what not in found and guess not in found.values():
            found[what] = guess
    day, clock = (next((each for each in names.split() if each in known), None) for names in (_DAYS, _CLOCKS))
    day, clock = known.get(day or _DAYS_OF.get(clock or "", "")), known.get(clock or "")
    if day and clock and "at" not in reading.columns and found.get("at") in (day, clock):
        found |= {"at": day, "clock": clock}
    if "text" in found:
        if found != reading.columns:
            told = ", ".join(f"{what}={name}" for what, name in found.items() if what != "clock")
            read = {*found.values(), *_OF_TELEPHONES}
            told += f" with the time of day in {found['clock']}" if "clock" in found else ""
            left = ", ".join([shorten(name) for name in names if name and name not in read][:20])
            besides = f", and these are not read: {left}" if left else ""
            reading.once(f"its columns are read as {told}{besides}; say otherwise with --columns")
        return found
    for asked, answer in _PAIRS:
        if {asked, answer} <= known.keys():
            found = {"prompt": known[asked], "answer": known[answer]}
            given = next((known[each] for each in _GIVEN if each in known), None)
            return found if given is None or asked != "instruction" else {**found, "given": given}
    listed = ", ".join(shorten(name) for name in list(names)[:20])
    raise InvalidInput(
        "which column holds the words? Say it with --columns text=NAME, and with speaker=NAME and at=NAME who said it "
        f"and when; there are {listed}"
    )


def _spellings(name: str) -> set[str]:
    """``created_at`` of ``Created At``; of ``createdAt`` also ``createdat``, as ``timestamp`` of ``timeStamp``."""
    plain = _BETWEEN_WORDS.sub("_", name.strip())
    return {plain.lower(), _HUMP.sub("_", plain).lower()}


def _pairs(rows: Iterable[tuple[int, Mapping[str, Any]]], columns: Mapping[str, str]) -> Iterator[Message]:
    for _, row in rows:
        for role, names in (("user", ("prompt", "given")), ("assistant", ("answer",))):
            texts = (str(row.get(columns.get(name, "")) or "").strip() for name in names)
            if text := "\n".join(filter(None, texts)):
                yield Message(text, role)


def _message(
    row: Mapping[str, Any], number: int, columns: Mapping[str, str], order: DateOrder, reading: Reading
) -> Message | None:
    def cell(what: str) -> Any:
        return row.get(columns[what]) if what in columns else None

    text = str(cell("text") or "").strip()
    type_, attached = (str(row.get(name) or "").strip() for name in _OF_TELEPHONES)
    text = "\n".join(filter(None, [text, f"[file: {attached}]" if attached else ""]))
    if not text:
        reading.left_out["rows without words"] += 1
        return None
    if extra := [each for each in row.get(None) or () if each]:  # type: ignore[call-overload]
        reading.left_out["cells behind the last column"] += len(extra)
    try:
        at = moment_of(_joined(cell("at"), cell("clock")), order, reading)
    except ValueError as error:
        raise InvalidTranscript(f"line {number}: {error}") from error
    role, name = _ROLES.get(str(cell("role") or "").lower(), ""), str(cell("speaker") or "").strip()
    role = role or ROLES.get(name.lower(), "")
    own = cell("id")
    given: dict[str, Any] = {
        "at": at,
        "id": reading.stable(cell("session"), own, text) if own not in (None, "") else None,
    }
    if role:
        return Message(text, role, name if name.lower() not in ROLES and name else None, **given)
    is_mine = not name and type_.lower() in _SENT
    return reading.person(name or str(cell("role") or "") or "Me" * is_mine, text, mine=is_mine, **given)


def _joined(day: Any, clock: Any) -> Any:
    """A day and a time of day, which have a column each, as one text; one of them alone where it holds both."""
    if clock in (None, "") or ":" in str(day):
        return day
    return clock if _WITH_DAY.search(str(clock)) else f"{day or ''} {clock}"


def moment_of(value: Any, order: DateOrder, reading: Reading) -> datetime | None:
    """The time in a cell: a time, seconds since 1970, or text.

    Raises:
        ValueError: it is none of these.
    """
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return reading.local(value)
    if isinstance(value, date):
        return reading.local(datetime(value.year, value.month, value.day))
    text = str(value).strip()
    if (at := seconds(text)) is not None:
        return at
    if (at := iso(text) or _written(text[:100], order)) is None:
        raise ValueError(f"no time can be read from {shorten(text)}")
    return reading.local(at)


def _written(text: str, order: DateOrder) -> datetime | None:
    if numeric := _NUMERIC.fullmatch(text):
        day = day_of((int(numeric[1]), int(numeric[3]), int(numeric[4])), order)
        clock = read_moment(numeric[5]) if numeric[5] else None
        return datetime.combine(day, clock.clock) if clock and clock.clock else datetime(day.year, day.month, day.day)
    moment = read_moment(text)
    at = moment.on(None) if moment else None
    zoned = moment is not None and moment.clock is not None and moment.clock.tzinfo is not None
    return at if zoned or at is None else at.replace(tzinfo=None)


def _order(file: File, reading: Reading) -> DateOrder:
    """Which number of numeric dates is the day, from all rows; ISO dates are told from the first one."""
    dates: list[tuple[tuple[int, int, int], bool]] = []
    column = None
    for row in csv_rows(file, reading):
        column = column or _columns(list(row), reading).get("at", "")
        found = _NUMERIC.fullmatch(str(row.get(column) or "").strip()[:100])
        if found is None:
            break
        dates.append(((int(found[1]), int(found[3]), int(found[4])), found[2] != "/"))
    try:
        order, doubt = order_of(dates)
    except ValueError:
        return "day-first"
    if doubt:
        reading.note(doubt)
    return order
