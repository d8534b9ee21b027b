"""What a language model said about where segments end, read where it has one reading (SeCom section 2.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from ..errors import BadReply, CutOff
from ..llm.quoting import without_thoughts
from ..llm.records import blocks_of, records_in
from ..llm.replies import CUT_OFF, checked_length, exchange_numbers, shown, words_of
from ..llm.reply import cut_off
from ..memory import Segment

_MOST_CHARACTERS: Final = 1_000_000  # of a reply that is read at all
_LEAST_PART: Final = 8  # an eighth of the exchanges is kept, where no more can be read
_WHOLE: Final = re.compile(r"\D{0,12}?(-?\d{1,10})(?:\.0+)?\W*")
_DIGITS: Final = re.compile(r"\d{1,10}")
_RANGE: Final = re.compile(r"(\d{1,10})(?:\s{0,3}(?:[-–—~]|to|through)\s{0,3}(\d{1,10}))?")
_LIST: Final = re.compile(r"[\[(][\d\s,]{1,20000}[\])]")
_NESTED: Final = re.compile(r"\[\s{0,20}\[")
_WORD: Final = re.compile(r"[^\W_]+")
_ANSWERS: Final = {"yes": True, "true": True, "no": False, "false": False}
_START: Final = ("start", "first", "begin", "begins", "from")
_END: Final = ("end", "last", "stop", "ends", "until", "through", "to")
_RUN: Final = ("exchanges", "exchange", "range", "turns", "span", "numbers", "segment", "indices")

Range = tuple[int, int]
Row = tuple[int | None, int | None]
"""The numbers of a segment's first and last exchange, as the reply has them."""


def read_segmentation(reply: str, count: int) -> list[Segment]:
    """The segments in a reply, which cover all exchanges.

    Where segments begin is what counts. An end may be missing, or be the next segment's start or one beyond the last
    exchange. How many exchanges a segment is said to have, and what begins behind the end, is not looked at. Exchanges
    may be counted from 1, segments stand in any order and be said twice. What is repaired of the records is said in
    `secom_core.llm.records`; ranges in plain lines are read where they fit exactly.

    Args:
        reply: the model's reply.
        count: how many exchanges there are.

    Raises:
        BadReply: with what is wrong, in words for the model; its ``kept`` are the segments up to there, if any.
        CutOff: the reply was cut off before its last segment; likewise.
    """
    found: list[tuple[Sequence[Row], str]] = []
    for block in blocks_of(checked_length(reply, _MOST_CHARACTERS), "segmentation"):
        rows, broken = _rows(block)
        for each in [rows, _after_draft(rows), _inside(rows, count)]:
            if segments := _segments(each, count):
                return segments
        if rows or broken:
            found.append((rows, broken))
    if segments := _from_lines(without_thoughts(reply), count):
        return segments
    said, broken = next((each for each in found if each[0]), found[0] if found else ((), ""))
    begun = _beginning(said, count) or _beginning(_after_draft(said), count)
    # So that a session is not asked for an exchange at a time.
    kept = begun if begun and begun[-1].stop * _LEAST_PART >= count else None
    if cut_off(reply):
        raise CutOff(CUT_OFF, reply, kept)
    raise BadReply(broken or _complaint(said, count), reply, kept)


def _rows(block: str) -> tuple[list[Row], str]:
    """The rows that can be read, in order, and what is wrong with the first other one."""
    found = records_in(block, _is_row)
    rows: list[Row] = []
    complaints = [f"this is no JSON object: {each}" for each in found.broken]
    for record in filter(_is_row, found.records):
        complaint = _take(record, rows)
        complaints += [complaint] if complaint else []
    return rows, complaints[0] if complaints else ""


def _take(record: Mapping[str, Any], rows: list[Row]) -> str:
    """Add a record's row; in words, why it has none."""
    try:
        rows.append(_row(record))
    except ValueError as error:
        return str(error)
    return ""


def _is_row(record: Mapping[str, Any]) -> bool:
    return _key(record, _START) is not None or _key(record, _END) is not None or _run(record) is not None


def _row(record: Mapping[str, Any]) -> Row:
    start, end = (_number(record, _key(record, words)) for words in (_START, _END))
    if start is not None or end is not None:
        return start, end
    if run := _run(record):
        return min(run), max(run)
    raise ValueError(f"a segment needs start_exchange_number and end_exchange_number, got {shown(record)[:200]}")


def _key(record: Mapping[str, Any], words: Sequence[str]) -> str | None:
    """The first key that has one of the words, else one with a word near the first of them."""
    keys = {key: words_of(key) for key in record}
    exact = (key for key, parts in keys.items() if not {*words}.isdisjoint(parts))
    near = (key for key, parts in keys.items() if get_close_matches(words[0], parts, 1, 0.75))
    return next(exact, None) or next(near, None)


def _run(record: Mapping[str, Any]) -> set[int] | None:
    """The exchanges of a segment that names them one by one, or as ``"0-3"``."""
    for key, value in record.items():
        if not {*words_of(key)}.isdisjoint(_RUN) and isinstance(value, list | str):
            try:
                return exchange_numbers(value, key)
            except ValueError:
                continue
    return None


def _number(record: Mapping[str, Any], key: str | None) -> int | None:
    value = None if key is None else record[key]
    if value is None:
        return None
    found = None if isinstance(value, bool | list | dict) else _WHOLE.fullmatch(str(value))
    if found is None:
        raise ValueError(f"{key} should be a whole number, got {shown(value)[:50]}")
    return int(found[1])


# -- one reading -------------------------------------------------------------------------------------------------------


def _segments(rows: Sequence[Row], count: int) -> list[Segment]:
    """The segments in the one reading in which they cover all exchanges; none where there is no such reading."""
    if not rows or (len(rows) == 1 and None in rows[0]):
        return []
    filled = _filled(rows, count)
    first = filled[0][0]
    starts = [start - first for start, _ in filled]
    stops = [*starts[1:], count]
    # An end may be the next one's start, or one beyond the last.
    ends_well = all(end - first + 1 - stop in {0, 1} for (_, end), stop in zip(filled, stops, strict=True))
    rises = all(start < stop for start, stop in zip(starts, stops, strict=True))
    if first not in {0, 1} or not ends_well or not rises:
        return []
    return [Segment(start, stop) for start, stop in zip(starts, stops, strict=True)]


def _filled(rows: Sequence[Row], count: int) -> list[Range]:
    """The rows in order, with the starts and ends that are not given as the others have them."""
    ordered = sorted(dict.fromkeys(rows), key=lambda row: next(number for number in row if number is not None))
    after = [start for start, _ in ordered[1:]]
    starts = [start for start, _ in ordered if start is not None]
    # Counted from 1, where the first is, or where only ends are given and the last is as many as there are.
    first = int(starts[0] == 1 if starts else (None, count) in ordered)
    found: list[Range] = []
    for (start, end), following in zip(ordered, [*after, count + first], strict=True):
        begin = start if start is not None else found[-1][1] + 1 if found else first
        stop = end if end is not None else following - 1 if following is not None else begin
        found.append((begin, stop))
    return found


def _after_draft(rows: Sequence[Row]) -> Sequence[Row]:
    """What follows where the segments begin anew, as a model repeats an example or drafts before it answers."""
    starts = [start for start, _ in rows]
    anew = [place for place, start in enumerate(starts) if place and start == starts[0]]
    return rows[anew[-1] :] if anew else rows


def _inside(rows: Sequence[Row], count: int) -> Sequence[Row]:
    """The rows without those that begin behind the end, which say nothing of any exchange."""
    return [row for row in rows if row[0] is None or row[0] < count]


def _beginning(rows: Sequence[Row], count: int) -> list[Segment]:
    """The segments from the first exchange on, up to the first that does not go on where the last one ended."""
    found: list[Segment] = []
    first = int(bool(rows) and rows[0][0] == 1)
    for start, end in rows:
        expected = found[-1].stop if found else 0
        if start is not None and found and found[-1].start < start - first < expected:
            # Of two that overlap, the later says better where it begins.
            found[-1] = Segment(found[-1].start, start - first)
            break
        if start is None or end is None or not start - first == expected <= end - first < count:
            break
        found.append(Segment(expected, end - first + 1))
    return found


def _from_lines(text: str, count: int) -> list[Segment]:
    """The segments in lines such as ``Segment 1: exchanges 0-3`` or ``0,0,3,4``, in lists such as ``[[0, 1, 2], [3]]``,
    or in ranges that stand anywhere.

    They are read where they fit to the letter. Where each is a single number, such as before each exchange's subject,
    none is read: that may number the exchanges.
    """
    lines = [[int(digits) for digits in _DIGITS.findall(line)] for line in text.splitlines()]
    rows = [numbers for numbers in lines if numbers]
    whole = [place for place in (0, 1) if all(len(row) > place for row in rows) and any(len(row) > 1 for row in rows)]
    lists = [[int(digits) for digits in _DIGITS.findall(each)] for each in _LIST.findall(text)]
    written = [_runs(lists, is_nested=_NESTED.search(text) is not None), _runs(rows)]
    written += [[(row[place], row[min(place + 1, len(row) - 1)]) for row in rows] for place in whole]
    said = _RANGE.findall(text)
    written.append([(int(start), int(end or start)) for start, end in said] if any(end for _, end in said) else [])
    for ranges in written:
        for first in (0, 1):
            shifted = sorted({(start - first, end - first) for start, end in ranges})
            if len(shifted) == len(ranges) > 1 and not _complaint(shifted, count):
                return [Segment(start, end + 1) for start, end in shifted]
    return []


def _runs(rows: Sequence[Sequence[int]], *, is_nested: bool = False) -> list[Range]:
    """The first and last number of each, where each names all exchanges of a segment, or its first and last.

    Where each is a single number, only ``[[0], [1]]`` says that these are segments.
    """
    runs = [(row[0], row[-1]) for row in rows if row]
    named = all(len(row) in {2, end - start + 1} for row, (start, end) in zip(filter(None, rows), runs, strict=True))
    return runs if named and (is_nested or any(len(row) > 1 for row in rows)) else []


def _complaint(rows: Sequence[Row], count: int) -> str:
    """What is wrong with the segments, in words for the model; empty where they cover ``count`` exchanges."""
    if not rows:
        return "there is no segment in the reply"
    if len(rows) == 1 and None in rows[0]:
        return f"a segment needs start_exchange_number and end_exchange_number, got {shown(rows[0])}"
    expected = 0
    for start, end in sorted(_filled(rows, count)):
        if end < start:
            return f"a segment from exchange {start} to {end} is empty"
        if start > expected:
            return f"the exchanges from {expected} to {start - 1} are in no segment"
        if start < expected:
            return f"a segment begins with exchange {start}, where {expected} would be next"
        expected = end + 1
    if expected == count:
        return ""
    return f"the last segment ends with exchange {expected - 1}, the conversation with {count - 1}"


# -- one new turn ------------------------------------------------------------------------------------------------------


def read_joining(reply: str) -> bool:
    """Whether the reply says yes, with its first word or its last; of one that was cut off, with its first.

    Raises:
        BadReply: where neither is yes or no, or they differ.
    """
    words = _WORD.findall(without_thoughts(reply).casefold())
    last = words[-1:] if not cut_off(reply) else []
    answers = {_ANSWERS[word] for word in (*words[:1], *last) if word in _ANSWERS}
    if len(answers) != 1:
        raise BadReply("the reply is neither yes nor no", reply)
    return answers.pop()
