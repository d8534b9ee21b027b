"""The passages of a scope as columns, so that a signal is one line of numpy for all of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..conversation import NOTE, Turn
from ..errors import StaleIndex
from ..indexes.postings import digest_of
from ..memory import Passage
from ..protocols import TokenCounter
from ..text.coming_days import coming_days
from ..text.dates import spans
from ..text.material import is_within_given
from ..text.non_answers import is_non_answer
from ..text.speech import asks, only_asks, stands
from .columns import ColumnSource
from .repeats import Repeats, said
from .speaking import KINDS, NOTED, PROGRAMS, REPLY, SAID_BY_USER, SHORT, STANDING
from .turn_rows import TurnRows
from .whole_columns import WholeColumns

Rows = npt.NDArray[np.int64]

TurnReader: TypeAlias = Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], Turn]]
"""Reads turns by the names of their sessions and their places there."""

_SCANNED: Final = 2000
"""How many characters of a passage are read for dates."""

_PRECISE: Final = 62
"""How many days a span may have to be worth keeping."""

_MARK: Final = 0x7FFF
"""Which bits of a digest are its mark."""

# Objects and their places in dictionaries, beside the words, as tracemalloc has it.
_PASSAGE_BYTES: Final = 330
_MESSAGE_BYTES: Final = 210


class PassageTable(WholeColumns):
    """Passages by row, with their neighbours. Turns are added and replaced; the rows of one that shrinks are empty.

    Attributes:
        passages: the passages that are in memory, by row.
        turn_rows: the rows of each turn, by its id and by its place.
        free: the rows that are empty.
        touched: rows below ``kept`` that have changed since these were kept.
        kept: how many rows are on disk.
        counter: counts tokens.
        reader: reads the turns of rows that came from disk.
    """

    def __init__(self, counter: TokenCounter) -> None:
        super().__init__()
        self.passages: dict[int, Passage] = {}
        self.turn_rows = TurnRows(self.rows_from)
        self.repeats = Repeats(self._said_at)
        self.touched: set[int] = set()
        self.kept = 0
        self.reader: TurnReader | None = None
        self.counter = counter
        self._labels: dict[str, int] = {}
        self._names: list[str] = []
        self._numbers: dict[str, int] | None = {}
        self._casts: dict[tuple[str, ...], int] = {}
        self.free: list[int] = []

    @property
    def turns(self) -> int:
        """How many turns there are."""
        return len(self.turn_rows)

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes, with the turns themselves."""
        messages = (each.message for each in self.passages.values() if each.start == 0)
        texts = sum(_MESSAGE_BYTES + sys.getsizeof(message.text) for message in messages)
        return super().nbytes + _PASSAGE_BYTES * len(self.passages) + self.repeats.nbytes + texts

    @property
    def casts(self) -> list[tuple[str, ...]]:
        """Each different set of named speakers."""
        return list(self._casts)

    def passage(self, row: int) -> Passage:
        """The passage of a row that is not empty; read from disk where it was not yet."""
        if row not in self.passages:
            self.read([row])
        found = self.passages.get(row)
        if found is None:
            raise KeyError(f"row {row} is empty")
        return found

    def not_held(self, turns: Sequence[Turn]) -> list[Turn]:
        """Those of the turns that it does not have just as they are."""
        rows = {turn.id: known[-1] for turn in turns if (known := self.turn_rows.get(turn.id))}
        self.read(rows.values())
        return [turn for turn in turns if turn.id not in rows or not self._is_last(rows[turn.id], turn)]

    def _is_last(self, row: int, turn: Turn) -> bool:
        """Whether the row is the last one of the turn as it is."""
        # One that came from disk is read as it is now: its rows may not reach to its end.
        last, end = self.passage(row), (len(turn.messages) - 1, len(turn.messages[-1].text))
        return (last.place, last.stop) == end and last.turn == turn

    def turns_saying(self, words: Iterable[int]) -> list[Turn]:
        """The turn of each passage that says one of these (`secom_core.ranking.repeats.said`)."""
        rows = [row for each in words for row in self.repeats.rows(each)]
        self.read(rows)
        return [self.passage(row).turn for row in rows]

    def order(self, rows: Rows) -> tuple[npt.NDArray[np.signedinteger[Any]], ...]:
        """What rows are sorted by, the last first: the session, the turn, the message, and where in it they begin."""
        at = self.at(rows)
        return at.start, at.place, at.index, at.session

    def rows_from(self, head: int) -> list[int]:
        """The rows of the turn that begins at a row, in order."""
        rows = [head]
        while (after := self.after.item(rows[-1])) >= 0 and self.head.item(after) == head:
            rows.append(after)
        return rows

    def rows_at(self, session: str, index: int) -> list[int]:
        """The rows of the session's turn of that index."""
        first, _ = self.turn_rows.ends(self._number_of.get(session, -1), index)
        return self.rows_from(first) if first >= 0 else []

    def _said_at(self, row: int) -> tuple[float, ...]:
        """When a row was said, to sort by; what has no time was said before what has one."""
        columns = (self.moment, self.session, self.index, self.place, self.start)
        return tuple(column.item(row) for column in columns)

    # -- change ---------------------------------------------------------------------------------------------------

    def put(self, turn: Turn, passages: Sequence[Passage]) -> list[int]:
        """Add the turn, or replace the one with its id, whose first rows it takes.

        Args:
            turn: the turn.
            passages: what it is cut into (`secom_core.memory.passages_of`).

        Returns:
            Its rows, in order.
        """
        known = self.turn_rows.pop(turn.id)
        if known:
            self._unlink(known, turn)
        rows = [*known[: len(passages)], *(self._new_row() for _ in passages[len(known) :])]
        for row in known[len(passages) :]:
            self._clear(row)
        self.turn_rows.put(turn.id, rows)
        self.touch(rows)
        self.digest[rows] = digest = digest_of(turn.id)
        self.mark[rows] = digest & _MARK
        self.session[rows] = self.number_of(turn.session)
        said_by = ((message.speaker, message.role) for message in turn.messages)
        cast = tuple(dict.fromkeys(speaker for speaker, role in said_by if speaker and role not in PROGRAMS))
        self.cast[rows] = self._casts.setdefault(cast, len(self._casts))
        self.head[rows] = rows[0]
        self.index[rows] = turn.index
        for row, passage in zip(rows, passages, strict=True):
            self._describe(row, passage)
        self._measure(rows, turn)
        self._link(rows, turn)
        return rows

    def remove(self, turn: Turn) -> None:
        """Take a turn out, where it is there."""
        rows = self.turn_rows.pop(turn.id)
        if rows:
            self._unlink(rows, turn)
            for row in rows:
                self._clear(row)

    def forget_names(self, but: Collection[str] = ()) -> list[int]:
        """Forget the names of sessions and speakers that no row has any more, ``but`` some of sessions; the numbers of
        these sessions.
        """
        live = self.head >= 0
        sessions, casts = set(self.session[live].tolist()), set(self.cast[live].tolist())
        sessions.update(number for number, name in enumerate(self._names) if name in but)
        gone = [number for number in range(len(self._names)) if number not in sessions]
        # No name has a NUL in it.
        self._names = [name if number in sessions else f"\0{number}" for number, name in enumerate(self._names)]
        self._numbers = None
        self._casts = {cast if number in casts else (f"\0{number}",): number for cast, number in self._casts.items()}
        self._labels.clear()
        return gone

    def number_of(self, session: str) -> int:
        """The number of a session; a new one where it has none yet."""
        number = self._number_of.setdefault(session, len(self._names))
        if number == len(self._names):
            self._names.append(session)
        return number

    @property
    def _number_of(self) -> dict[str, int]:
        """The numbers of sessions by their names, made when first asked for: a question hardly ever names one."""
        if self._numbers is None:
            self._numbers = {name: number for number, name in enumerate(self._names)}
        return self._numbers

    def _new_row(self) -> int:
        if self.free:
            return self.free.pop()
        return self._add_row()

    def _clear(self, row: int) -> None:
        self.passages.pop(row, None)
        self.touch([row])
        self._empty_row(row)
        self.free.append(row)

    def _describe(self, row: int, passage: Passage) -> None:
        text, role = passage.text, passage.message.role
        self.passages[row] = passage
        self.place[row], self.start[row], self.stop[row] = passage.place, passage.start, passage.stop
        self.memory[row] = -1
        self.kind[row] = KINDS.get(role, REPLY)
        self.asks[row] = only_asks(text) if self.kind[row] == SAID_BY_USER else asks(text)
        says = stands(text) if self.kind[row] == SAID_BY_USER else ""
        given = bool(says) and is_within_given(passage.message.text, passage.start)
        self.stands[row] = 0 if given else STANDING.index(says)
        self.non_answer[row] = self.kind[row] == REPLY and is_non_answer(passage.message.text)
        self.tokens[row] = self.counter(text)
        is_note = role == "" and passage.message.speaker == NOTE
        self.said[row] = said(text, NOTED if is_note else int(self.kind[row]))
        at = passage.message.at or passage.turn.at
        self.moment[row] = at.timestamp() if at else -math.inf
        today = passage.turn.at.date() if passage.turn.at else None
        self.day[row] = today.toordinal() if today else 0
        near = [span for span in spans(text[:_SCANNED], today) if span[1] - span[0] <= _PRECISE]
        if not near and today and self.kind[row] != REPLY:
            near = coming_days(text[:_SCANNED], today)
        self.about_first[row], self.about_last[row] = near[0] if near else (0, 0)

    def _measure(self, rows: list[int], turn: Turn) -> None:
        labels = sum(self.label_tokens(message.shown_label) for message in turn.messages)
        self.turn_tokens[rows] = self.tokens[rows].sum() + labels
        # A message in one piece has the tokens of a passage at most.
        self.short[rows] = len(rows) == len(turn.messages) and float(self.turn_tokens[rows[0]]) <= SHORT

    def label_tokens(self, label: str) -> int:
        """How many tokens stand before what somebody says."""
        if label not in self._labels:
            self._labels[label] = self.counter(f"{label}: ") if label else 0
        return self._labels[label]

    def _link(self, rows: list[int], turn: Turn) -> None:
        session = int(self.session[rows[0]])
        self.turn_rows.set_ends(session, turn.index, rows[0], rows[-1])
        for left, right in pairwise(rows):
            self._join(left, right)
        first, last = self.turn_rows.ends(session, turn.index - 1)
        self._join(last, rows[0])
        self._join_heads(first, rows[0])
        after, _ = self.turn_rows.ends(session, turn.index + 1)
        self._join(rows[-1], after)
        self._join_heads(rows[0], after)

    def _join(self, left: int, right: int) -> None:
        if left >= 0:
            self.after[left] = right
        if right >= 0:
            self.before[right] = left
        self.touch((left, right))

    def _join_heads(self, left: int, right: int) -> None:
        if left >= 0:
            self.following[left] = right
        if right >= 0:
            self.previous[right] = left
        self.touch((left, right))

    def _unlink(self, rows: list[int], turn: Turn) -> None:
        self.turn_rows.set_ends(int(self.session[rows[0]]), turn.index)
        self._join(int(self.before[rows[0]]), -1)
        self._join(-1, int(self.after[rows[-1]]))
        self._join_heads(int(self.previous[rows[0]]), -1)
        self._join_heads(-1, int(self.following[rows[0]]))
        for column in (self.before, self.after, self.previous, self.following):
            column[rows] = -1

    # -- on disk --------------------------------------------------------------------------------------------------

    @property
    def sessions(self) -> list[str]:
        """The names of its sessions, by number."""
        return list(self._names)

    def load(
        self,
        size: int,
        source: ColumnSource,
        sessions: Sequence[str],
        casts: Sequence[Sequence[str]],
        reader: TurnReader,
    ) -> None:
        """Hold what `columns` gave of all rows, in the place of what is held; passages are read when asked for.

        Args:
            size: how many rows there are.
            source: where the columns are; it is asked for one when that is first needed.
            sessions: as `sessions` gave them.
            casts: as `casts` gave them.
            reader: reads turns.
        """
        self._hold_columns(size, source)
        self.passages = {}
        self._names, self._numbers = list(sessions), None
        self._casts = {tuple(cast): number for number, cast in enumerate(casts)}
        self.reader = reader
        heads = np.flatnonzero(self.head == np.arange(len(self)))
        self.free = np.flatnonzero(self.head < 0).tolist()
        self.turn_rows.load(heads, lambda: (self.digest[heads], self.session[heads], self.index[heads]))
        self.repeats.load(lambda: (self.said.copy(), self.source.copy(), self.shown.copy()))

    def hold(self) -> None:
        """Read what was not read yet but the words, before rows come or go."""
        super().hold()
        self.turn_rows.hold()
        self.repeats.hold()

    def touch(self, rows: Iterable[int]) -> None:
        """Note that rows have changed, where they are on disk."""
        if self.kept:
            self.touched.update(row for row in rows if 0 <= row < self.kept)

    def read(self, rows: Iterable[int]) -> None:
        """Read the passages of rows that were not read yet, all at once.

        Raises:
            StaleIndex: the store does not hold what the index says.
        """
        heads = sorted({self.head.item(row) for row in rows if row not in self.passages} - {-1})
        if not heads or self.reader is None:
            return
        names, at = self._names, self.at(np.array(heads, dtype=np.int64))
        places = [
            (names[session], index) for session, index in zip(at.session.tolist(), at.index.tolist(), strict=True)
        ]
        turns = self.reader(places)
        found = [turns.get(place) for place in places]
        for turn, mark in zip(found, at.mark.tolist(), strict=True):
            if turn is None or digest_of(turn.id) & _MARK != mark:
                raise StaleIndex("a turn is not where the index that is kept with the bank says")
        self._hold(dict(zip(heads, filter(None, found), strict=True)))

    def _hold(self, turns: Mapping[int, Turn]) -> None:
        """Hold the passages of turns, by the rows that these begin at."""
        rows = {head: self.rows_from(head) for head in turns}
        at = self.at(np.array(list(chain.from_iterable(rows.values())), dtype=np.int64))
        where = zip(at.place.tolist(), at.start.tolist(), at.stop.tolist(), strict=True)
        for head, turn in turns.items():
            for row, (place, start, stop) in zip(rows[head], where, strict=False):
                if not 0 <= place < len(turn.messages) or not 0 <= start <= stop <= len(turn.messages[place].text):
                    raise StaleIndex("a turn is not as long as the index that is kept with the bank says")
                self.passages[row] = Passage(turn, place, start, stop)
            self.turn_rows.found(turn.id, rows[head])
