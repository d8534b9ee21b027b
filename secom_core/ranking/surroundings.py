"""What is shown where what answers the query leaves room: what stands around it, and what was said last."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date
from itertools import chain, islice
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from ..memory import HitKind, Passage
from ..text.attributes import ATTRIBUTES, Attribute, tells_attribute
from ..text.dates import Span
from ..text.intents import Subject
from ..text.repairs import takes_back
from ..text.speech import Standing
from .passage_table import PassageTable, Rows
from .speaking import LONG, REPLY, SAID_BY_USER, STANDING, UTTERANCE
from .standing import standing_rows, unconditional_first, who_first
from .tool_results import working

_FOUND: Final = 12
"""How many finds have their surroundings shown, the best."""

_RECENT: Final = 60
"""How many of the latest turns are shown at most."""


_AT_ONCE: Final = 500
"""How many rows of a session, or of days, are read together: no block shows more, and days may be a whole year."""

_SHORT: Final = 40
"""How many tokens a message has at most that comes before faint finds, as it stands beside a strong one."""

_NO_DAY: Final = np.iinfo(np.int32).max
"""Later than any day."""

_INSTRUCTION, _FACT = STANDING.index("instruction"), STANDING.index("fact")
_INSTRUCTIONS: Final = 60
"""How many instructions are looked at, those that came last."""

_EARLY, _LATE, _TELLING = 100, 400, 4
"""How many of the user's statements are looked at, the first and the last; how many tell what he asks of himself."""

_CORRECTIONS: Final = 2
"""How many corrections of a correction are followed."""


class Besides(NamedTuple):
    """A row that is shown for what it is."""

    row: int
    kind: HitKind


Beside: TypeAlias = Callable[[PassageTable, Iterable[int]], Iterator[Besides]]
"""What of a table stands beside rows."""


def around(table: PassageTable, rows: Rows) -> Rows:
    """For each row itself and what stands around it; shape ``(n, 5)``, -1 where there is nothing.

    Around an utterance, those two before and after it. Around what a user says, what was said last before it and
    next after it, and the user's own words before and after that. Around a piece of a reply, the pieces beside it,
    and before them what it answers.
    """
    at = table.at(rows)
    near, next_, head, kind = at.before, at.after, table.head[rows], table.kind[rows]
    further = np.where(near >= 0, table.at(near).before, -1)
    later = np.where(next_ >= 0, table.at(next_).after, -1)
    at_head = table.at(head)
    far = np.where(kind == UTTERANCE, further, np.where(kind == REPLY, head, at_head.previous))
    beyond = np.where(kind == UTTERANCE, later, np.where(kind == REPLY, -1, at_head.following))
    # What stands beside it already, and the row itself, do not count twice.
    far = np.where((far == near) | (far == rows), -1, far)
    beyond = np.where((beyond == next_) | (beyond == rows), -1, beyond)
    return np.stack([far, near, rows, next_, beyond], axis=1)


def asked_about(
    table: PassageTable, subject: Subject, exclude: Collection[str], days: Sequence[Span] = ()
) -> list[Besides]:
    """What answers a question about the conversation itself, the most telling first.

    Of the last session: what the user said first on each subject, then the rest of the user's words, then how the
    replies begin. A session of which turns are excluded is the present one, and is not the last.
    Of the first session, the one before the last, all sessions, and of days: the same of what was said then; of several
    days such that the first few are from all over them. Where nothing was said on the days that are asked about, what
    was said on the nearest day before them and after them, as what stands around them.
    Of the user: what holds now (`secom_core.ranking.standing.standing_rows`); of his name, age, home, job or diet, what
    tells it.

    Args:
        table: the passages.
        subject: what is asked about; nothing answers where it is empty.
        exclude: ids of turns that are in the prompt already.
        days: that are asked about.
    """
    if subject == "days":
        said = [Besides(row, "relevant") for row in _gist(table, _said_on(table, days), spread=True)]
        return said or [Besides(row, "surrounding") for row in _gist_of_nearest(table, days)]
    if subject == "user":
        return [Besides(row, "standing") for row in who_first(table, holding(table))]
    if subject == "last session":
        return [Besides(row, "recent") for row in _gist(table, _last_session(table, exclude))]
    if subject == "session before last":
        return [Besides(row, "relevant") for row in _gist(table, _last_session(table, exclude, but=1))]
    if subject == "all sessions":
        everything = np.array(_in_time(table, np.flatnonzero(table.memory >= 0)), dtype=np.int64)
        return [Besides(row, "relevant") for row in _gist(table, everything, spread=True)]
    if subject == "first session":
        return [Besides(row, "relevant") for row in _gist(table, _first_session(table))]
    asked = next((each for each in ATTRIBUTES if each == subject), None)
    return [Besides(row, "relevant") for row in _telling(table, asked)] if asked else []


def holding(table: PassageTable, most: int | None = None) -> list[int]:
    """The rows that say what holds now, the newest first.

    Args:
        table: the passages.
        most: how many of those that came last are looked at; as many as there is time for unless given.
    """

    def found() -> Rows:
        rows = _in_time(table, _standing(table)[-most:]) if most else _looked_at(table)
        return np.array(standing_rows(table, rows), dtype=np.int64)

    return list(map(int, table.once(f"holding {most}", found)))


def _standing(table: PassageTable) -> Rows:
    return np.flatnonzero((table.stands > 0) & (table.memory >= 0) & (table.latest > 0))


def _looked_at(table: PassageTable) -> list[int]:
    """The rows among which is sought what stands, in time: the first, in which somebody says who he is, and the last;
    and the last of those between them that tell such a fact.
    """
    rows = _in_time(table, _standing(table))
    between = [row for row in rows[_EARLY:-_LATE] if table.stands[row] == _FACT]
    return [*rows[:_EARLY], *between[-_LATE:], *rows[_EARLY:][-_LATE:]]


def _telling(table: PassageTable, asked: Attribute) -> list[int]:
    """The rows that tell what the user asks of himself, the newest first; a few."""
    rows = _looked_at(table)
    table.read(rows)
    return standing_rows(table, [row for row in rows if tells_attribute(table.passage(row).text, asked)])[:_TELLING]


def instructions(table: PassageTable) -> list[int]:
    """The rows that say how every answer is to be, the newest first, those that name a condition last; a few."""

    def found() -> Rows:
        rows = np.flatnonzero((table.stands == _INSTRUCTION) & (table.memory >= 0) & (table.latest > 0))
        wanted = standing_rows(table, _in_time(table, rows[-_INSTRUCTIONS:]))
        return np.array(unconditional_first(table, wanted), dtype=np.int64)

    return list(map(int, table.once("instructions", found)))


def standing_statements(table: PassageTable) -> list[tuple[Passage, Standing]]:
    """What holds now, in the order of `holding`, and of which kind it is."""
    rows = holding(table)
    table.read(rows)
    return [(table.passage(row), STANDING[int(table.stands[row])]) for row in rows]


def besides(table: PassageTable, found: Iterable[int]) -> Iterator[Besides]:
    """What may be shown besides what was found, in order: what stands around the best finds, then the latest turns.

    Of the latest turns, the users' own words come before the replies to them.

    Args:
        table: the passages.
        found: the rows that were found, best first.
    """
    yield from (Besides(row, "surrounding") for row in _around(table, list(islice(found, _FOUND))))
    yield from (Besides(row, "recent") for row in _latest(table))


def taken_back(table: PassageTable, heads: Iterable[int]) -> list[int]:
    """What the same person said next after each of these, where it takes something back.

    Args:
        table: the passages.
        heads: the first rows of turns.
    """
    found: list[int] = []
    for _ in range(_CORRECTIONS):
        following = table.at(np.array(list(heads), dtype=np.int64)).following.tolist()
        rows = [row for row in following if row >= 0 and table.latest[row] and table.kind[row] != REPLY]
        short = [row for row in rows if table.tokens[row] <= _SHORT]
        table.read(short)
        heads = [row for row in short if takes_back(table.passage(row).text)]
        found += heads
    return found


def _last_session(table: PassageTable, exclude: Collection[str], *, but: int = 0) -> Rows:
    """The rows of the session that was spoken in last, or last but so many, in order.

    The present one where there is no other; the earliest where there are too few.
    """
    rows = np.flatnonzero(table.memory >= 0)
    present = {int(table.session[row]) for turn in exclude for row in table.turn_rows.get(turn)[:1]}
    before = rows[~np.isin(table.session[rows], list(present))] if present else rows
    rows = before if len(before) else rows
    if not len(rows):
        return rows
    for _ in range(but):
        earlier = rows[table.session[rows] != _last_of(table, rows)]
        rows = earlier if len(earlier) else rows
    return np.array(_in_time(table, rows[table.session[rows] == _last_of(table, rows)]), dtype=np.int64)


def _last_of(table: PassageTable, rows: Rows) -> int:
    """The session of the row that was said last."""
    return int(table.session[_in_time(table, rows)[-1]])


def _first_session(table: PassageTable) -> Rows:
    """The rows of the session that was begun first, in order."""
    rows = np.array(_in_time(table, np.flatnonzero(table.memory >= 0)), dtype=np.int64)
    return rows[table.session[rows] == table.session[rows[0]]] if len(rows) else rows


def _said_on(table: PassageTable, days: Iterable[Span]) -> Rows:
    """The rows of what was said on days, in order."""
    on_them = np.zeros(len(table), dtype=np.bool_)
    for first, last in days:
        on_them |= (table.day >= first) & (table.day <= last)
    return np.array(_in_time(table, np.flatnonzero(on_them & (table.memory >= 0))), dtype=np.int64)


def _gist_of_nearest(table: PassageTable, days: Sequence[Span]) -> list[int]:
    """What was said on the nearest day before these days, and on the nearest one after them, the nearer one first."""
    there = table.day[(table.memory >= 0) & (table.day > 0) & (table.latest > 0)]
    if not days or not len(there):
        return []
    first, last = min(days, key=lambda span: int(np.minimum(abs(there - span[0]), abs(there - span[1])).min()))
    before, after = int(there[there < first].max(initial=0)), int(there[there > last].min(initial=_NO_DAY))
    nearest = [day for day in (before, after) if 0 < day < _NO_DAY]
    nearest.sort(key=lambda day: first - day if day < first else day - last)
    return [row for day in nearest for row in _gist(table, _said_on(table, [(day, day)]))]


def _gist(table: PassageTable, rows: Rows, *, spread: bool = False) -> list[int]:
    rows = rows[table.latest[rows] > 0]
    heads = [row for row in rows.tolist() if table.head[row] == row]
    firsts = {int(table.memory[row]): row for row in reversed(heads)}
    opens = [row for row in heads if firsts[int(table.memory[row])] == row]
    users = [row for row in reversed(heads) if table.kind[row] != REPLY]
    replies = [row for row in reversed(rows.tolist()) if table.kind[row] == REPLY and table.start[row] == 0]
    parts = (_spread(table, part) if spread else part for part in (opens, users, replies))
    found = list(dict.fromkeys(chain.from_iterable(parts)))
    table.read(found[:_AT_ONCE])
    return found


def _spread(table: PassageTable, rows: list[int]) -> list[int]:
    """The rows such that the first few are from all over their days: one of each day, then the next of each.

    So a small block shows something of a whole month, and not only how it began. A day in the middle comes first, as
    "three years ago" is about that long ago.
    """
    days = table.at(np.array(rows, dtype=np.int64)).day.tolist()
    in_order = sorted(set(days))
    places = {in_order[at]: place for place, at in enumerate(_halving(len(in_order)))}
    of_day = Counter[int]()
    ordered: list[tuple[int, int, int]] = []
    for row, day in zip(rows, days, strict=True):
        ordered.append((of_day[day], places[day], row))
        of_day[day] += 1
    return [row for _, _, row in sorted(ordered)]


def _halving(size: int) -> list[int]:
    """The numbers below ``size``, the middle first, then each where it halves what is left: 3, 1, 5, 0, 2, 4, 6."""
    order: list[int] = []
    left = deque([(0, size)])
    while left:
        begin, end = left.popleft()
        if begin < end:
            order.append(middle := (begin + end) // 2)
            left += [(begin, middle), (middle + 1, end)]
    return order


def said_next(table: PassageTable, found: Iterable[int]) -> Iterator[Besides]:
    """What the user said next after each of the best finds, where that is short, and what takes that back in turn.

    Args:
        table: the passages.
        found: the rows that were found, best first.
    """
    finds = np.array(list(islice(found, _FOUND)), dtype=np.int64)
    beside = around(table, finds)[:, 4] if len(finds) else finds
    following = [row for row in beside.tolist() if row >= 0 and table.latest[row] and table.kind[row] == SAID_BY_USER]
    table.read(following)
    for row in following:
        if table.tokens[row] <= _SHORT:
            yield from (Besides(each, "surrounding") for each in (row, *taken_back(table, [row])))


def exchange(table: PassageTable, head: int) -> list[int]:
    """The rows of a turn in which its user and the assistant speak to each other, where that is not long.

    What a tool was called with and what it gave comes after them, and in a long turn not at all.

    Args:
        table: the passages.
        head: the first row of the turn.
    """
    rows = table.rows_from(head)
    table.read(rows)
    said = _said_to_each_other(table, rows)
    if table.turn_tokens.item(head) <= LONG:
        return [*said, *(row for row in rows if row not in said)]
    return said if len(said) < len(rows) and table.tokens[said].sum() <= LONG else []


def _said_to_each_other(table: PassageTable, rows: Sequence[int]) -> list[int]:
    """Those of a turn's rows that are no call of a tool, no result, and nothing said between them."""
    places = working(table.passage(rows[0]).turn)
    return [row for row in rows if table.place.item(row) not in places]


def answered(table: PassageTable, found: Iterable[int]) -> Iterator[Besides]:
    """What else was said in the long turns of finds that only ask, in order: the replies to them; no tool's result.

    Args:
        table: the passages.
        found: the rows that were found.
    """
    heads = dict.fromkeys(table.head.item(row) for row in found if table.asks.item(row))
    long = (head for head in heads if table.turn_tokens.item(head) > LONG)
    turns = [table.rows_from(head) for head in long]
    table.read(chain.from_iterable(turns))
    rows = (row for turn in turns for row in _said_to_each_other(table, turn) if table.latest[row])
    yield from (Besides(row, "surrounding") for row in rows)


def _around(table: PassageTable, found: Sequence[int]) -> Iterable[int]:
    if not found:
        return []
    finds = np.array(found, dtype=np.int64)
    beside = around(table, finds)
    # What the user said next may take back what was found. Then comes what is next to each find, then what is further.
    own_next = np.where(table.kind[finds] == SAID_BY_USER, beside[:, 4], -1)
    nearest_first = np.concatenate([own_next, beside[:, [3, 1, 0, 4]].T.ravel()])
    rows = dict.fromkeys(row for row in nearest_first.tolist() if row >= 0 and table.latest[row])
    table.read(rows)
    return rows


def _latest(table: PassageTable) -> Iterator[int]:
    """The latest turns: how what the users tell begins, then what they only ask and how the replies begin, then the
    rest, each latest first.

    So one long message does not take the room of the short ones before it, and no question that of its answer.
    """
    rows = np.flatnonzero((table.memory >= 0) & (table.head == np.arange(len(table))))
    rows = rows[np.isin(rows, table.head[table.latest > 0])]
    latest = [row for head in reversed(_in_time(table, rows)[-_RECENT:]) for row in table.rows_from(head)]
    table.read(latest)
    # Stable: the latest turn stays first.
    yield from sorted(latest, key=lambda row: (table.start.item(row) > 0, _tells_nothing(table, row)))


def _tells_nothing(table: PassageTable, row: int) -> bool:
    """Whether a row is of a reply, or of a user who only asks, and would be shown without an answer."""
    kind = table.kind.item(row)
    if kind != SAID_BY_USER or not table.asks.item(row):
        return bool(kind == REPLY)
    return not table.short.item(row) or len(table.rows_from(row)) == 1


def _in_time(table: PassageTable, rows: Rows) -> list[int]:
    """The rows as they were said; those of one day session by session, as these came.

    What a clock that was wrong has dated in the future was said no earlier than what had come before it.
    """
    order, day = table.order(rows), table.at(rows).day
    ahead = day > date.today().toordinal() + 1
    if ahead.any() and not ahead.all():
        came = np.lexsort(order)
        told = np.where(ahead[came], 0, day[came])
        day = day.copy()
        day[came] = np.where(ahead[came], np.maximum.accumulate(told), told)
    return list(map(int, rows[np.lexsort([*order, day])].tolist()))
