"""The turns of a scope as columns, so that a signal is one line of numpy for all of them."""

from __future__ import annotations

import math
import sys
from datetime import date
from typing import Final

import numpy as np
import numpy.typing as npt

from ..conversation import Turn
from ..text.dates import spans

Rows = npt.NDArray[np.int64]

_SCANNED: Final = 2000
"""How many characters of a turn are read for dates: a pasted page is not about its first date anyway."""

_PRECISE: Final = 62
"""How many days a span may have to be worth keeping."""

_QUESTION_MARKS: Final = ("?", "？", "؟", "\u037e", "՞")
_CLOSERS: Final = " \t\r\n\"'”’»）)*_!"

# Objects and their places in dictionaries, beside the words, as tracemalloc has it.
_TURN_BYTES: Final = 230
_MESSAGE_BYTES: Final = 210


class TurnTable:
    """Turns by row, with their neighbours. Turns are added and replaced, never removed.

    Attributes:
        turns: the turn of each row.
        row_of: the row of each turn, by its id.
        before: the row before it in its session, or -1.
        after: the row after it in its session, or -1.
        session: the number of its session.
        cast: the place of its speakers in `casts`.
        memory: the number of its memory, or -1.
        exchange: 1 where it is several messages, 0 where it is one.
        day: the day on which it was said, as `datetime.date.toordinal` counts, or 0.
        about: the first and the last day that it speaks of, or 0; shape ``(2, n)``.
        length: the logarithm of the length of its first message: how long a reply is says little.
        terms: how many terms it has in the lexical index.
        asks: 1 where it is one message and ends as a question; an exchange holds its own answer.
        tokens: how many tokens it has.
    """

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.row_of: dict[str, int] = {}
        self._at: dict[tuple[int, int], int] = {}
        self._sessions: dict[str, int] = {}
        self._casts: dict[tuple[str, ...], int] = {}
        self._whole = np.full((9, 16), -1, dtype=np.int64)
        self._reals = np.zeros((4, 16))
        self._show_columns()

    def _show_columns(self) -> None:
        whole: list[Rows] = list(self._whole[:7, : len(self)])
        reals: list[npt.NDArray[np.float64]] = list(self._reals[:, : len(self)])
        self.before, self.after, self.session, self.cast, self.memory, self.exchange, self.day = whole
        self.about = self._whole[7:, : len(self)]
        self.length, self.terms, self.asks, self.tokens = reals

    def __len__(self) -> int:
        return len(self.turns)

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes, with the turns themselves."""
        messages = (message for turn in self.turns for message in turn.messages)
        texts = sum(_MESSAGE_BYTES + sys.getsizeof(message.text) for message in messages)
        return self._whole.nbytes + self._reals.nbytes + _TURN_BYTES * len(self.turns) + texts

    @property
    def years(self) -> range:
        """The years in which its turns were said."""
        days = self.day[self.day > 0]
        if not len(days):
            return range(0)
        return range(date.fromordinal(int(days.min())).year, date.fromordinal(int(days.max())).year + 1)

    @property
    def casts(self) -> list[tuple[str, ...]]:
        """Each different set of named speakers."""
        return list(self._casts)

    def row_at(self, session: str, index: int) -> int | None:
        """The row of the session's turn of that index, where there is one."""
        return self._at.get((self._sessions.get(session, -1), index))

    def put(self, turn: Turn, tokens: int) -> int:
        """Add the turn, or replace the one with its id; its row."""
        row = self.row_of.get(turn.id)
        if row is None:
            row = self.row_of[turn.id] = self._new_row(turn)
        else:
            self._unlink(row)
            self.turns[row] = turn
        self.session[row] = self._sessions.setdefault(turn.session, len(self._sessions))
        cast = tuple(dict.fromkeys(message.speaker for message in turn.messages if message.speaker))
        self.cast[row] = self._casts.setdefault(cast, len(self._casts))
        self.tokens[row] = tokens
        self.length[row] = math.log1p(len(turn.messages[0].text))
        self.exchange[row] = len(turn.messages) > 1
        self.asks[row] = not self.exchange[row] and turn.content.rstrip(_CLOSERS).endswith(_QUESTION_MARKS)
        self._date(row, turn)
        self._link(row, turn)
        return row

    def around(self, rows: Rows) -> Rows:
        """For each row itself and its neighbours, two on either side; shape ``(n, 5)``, -1 where there is none."""
        before, after = np.append(self.before, -1), np.append(self.after, -1)
        return np.stack([before[before[rows]], before[rows], rows, after[rows], after[after[rows]]], axis=1)

    def _new_row(self, turn: Turn) -> int:
        row = len(self.turns)
        if row == self._whole.shape[1]:
            self._whole = np.concatenate([self._whole, np.full_like(self._whole, -1)], axis=1)
            self._reals = np.concatenate([self._reals, np.zeros_like(self._reals)], axis=1)
        self.turns.append(turn)
        self._show_columns()
        return row

    def _date(self, row: int, turn: Turn) -> None:
        today = turn.at.date() if turn.at else None
        self.day[row] = today.toordinal() if today else 0
        near = [span for span in spans(turn.content[:_SCANNED], today) if span[1] - span[0] <= _PRECISE]
        self.about[:, row] = near[0] if near else 0

    def _link(self, row: int, turn: Turn) -> None:
        session = int(self.session[row])
        self._at[session, turn.index] = row
        self._join(self._at.get((session, turn.index - 1), -1), row)
        self._join(row, self._at.get((session, turn.index + 1), -1))

    def _join(self, left: int, right: int) -> None:
        if left >= 0:
            self.after[left] = right
        if right >= 0:
            self.before[right] = left

    def _unlink(self, row: int) -> None:
        self._at.pop((int(self.session[row]), self.turns[row].index), None)
        self._join(int(self.before[row]), -1)
        self._join(-1, int(self.after[row]))
        self.before[row] = self.after[row] = -1
