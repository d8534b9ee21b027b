"""The turns of a scope as columns, so that a signal is one line of numpy for all of them."""

from __future__ import annotations

import math
import sys
from datetime import date
from typing import Final

import numpy as np
import numpy.typing as npt

from ..conversation import Turn
from .dates import spans

__all__ = ["Rows", "TurnTable"]

Rows = npt.NDArray[np.int64]
_Column = npt.NDArray[np.float64]

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
    """Turns by row, with their neighbours. A row is kept until its turn goes; then another turn may have it."""

    def __init__(self) -> None:
        self._turns: list[Turn | None] = []
        self.row_of: dict[str, int] = {}
        self._at: dict[tuple[int, int], int] = {}
        self._sessions: dict[str, int] = {}
        self._casts: dict[tuple[str, ...], int] = {}
        self._free: list[int] = []
        self._whole = np.full((9, 16), -1, dtype=np.int64)
        self._reals = np.zeros((4, 16))

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes, with the turns themselves."""
        held = (message for turn in self._turns if turn is not None for message in turn.messages)
        said = sum(_MESSAGE_BYTES + sys.getsizeof(message.text) for message in held)
        return self._whole.nbytes + self._reals.nbytes + _TURN_BYTES * len(self._turns) + said

    @property
    def before(self) -> Rows:
        """The row before it in its session, or -1."""
        return self._whole[0, : len(self)]

    @property
    def after(self) -> Rows:
        """The row after it in its session, or -1."""
        return self._whole[1, : len(self)]

    @property
    def session(self) -> Rows:
        """The number of its session."""
        return self._whole[2, : len(self)]

    @property
    def cast(self) -> Rows:
        """The place of its speakers in `casts`."""
        return self._whole[3, : len(self)]

    @property
    def memory(self) -> Rows:
        """The number of its memory, or -1."""
        return self._whole[4, : len(self)]

    @property
    def length(self) -> _Column:
        """The logarithm of the length of its first message: how long a reply is says little."""
        return self._reals[0, : len(self)]

    @property
    def tokens(self) -> _Column:
        """How many tokens it has."""
        return self._reals[3, : len(self)]

    @property
    def terms(self) -> _Column:
        """How many terms it has in the lexical index."""
        return self._reals[1, : len(self)]

    @property
    def asks(self) -> _Column:
        """1 where it is one message and ends as a question; an exchange holds its own answer."""
        return self._reals[2, : len(self)]

    @property
    def exchange(self) -> Rows:
        """1 where it is several messages, 0 where it is one."""
        return self._whole[5, : len(self)]

    @property
    def said(self) -> Rows:
        """The day on which it was said, as `datetime.date.toordinal` counts, or 0."""
        return self._whole[6, : len(self)]

    @property
    def about(self) -> Rows:
        """The first and the last day that it speaks of, or 0; shape ``(2, n)``."""
        return self._whole[7:9, : len(self)]

    @property
    def years(self) -> range:
        """The years in which its turns were said."""
        said = self.said[self.said > 0]
        if not len(said):
            return range(0)
        return range(date.fromordinal(int(said.min())).year, date.fromordinal(int(said.max())).year + 1)

    @property
    def casts(self) -> list[tuple[str, ...]]:
        """Each different set of named speakers."""
        return list(self._casts)

    def turn(self, row: int) -> Turn:
        """The turn of a row that has one."""
        turn = self._turns[row]
        if turn is None:
            raise KeyError(row)
        return turn

    def row_at(self, session: str, index: int) -> int | None:
        """The row of the session's turn of that index, where there is one."""
        return self._at.get((self._sessions.get(session, -1), index))

    def put(self, turn: Turn, tokens: int) -> int:
        """Add the turn, or replace the one with its id; its row."""
        row = self.row_of.get(turn.id)
        if row is None:
            row = self._free.pop() if self._free else self._new_row()
            self.memory[row] = -1
        else:
            self._unlink(row)
        self._turns[row], self.row_of[turn.id] = turn, row
        self.session[row] = self._sessions.setdefault(turn.session, len(self._sessions))
        self.cast[row] = self._cast_of(turn)
        self.tokens[row] = tokens
        self.length[row] = math.log1p(len(turn.messages[0].text))
        self.exchange[row] = len(turn.messages) > 1
        self.asks[row] = not self.exchange[row] and turn.content.rstrip(_CLOSERS).endswith(_QUESTION_MARKS)
        self._date(row, turn)
        self._link(row, turn)
        return row

    def drop(self, turn_id: str) -> int | None:
        """Take the turn out; the row that it had."""
        row = self.row_of.pop(turn_id, None)
        if row is not None:
            self._unlink(row)
            self._turns[row] = None
            self.memory[row] = -1
            self.said[row] = 0
            self._free.append(row)
        return row

    def around(self, rows: Rows) -> Rows:
        """For each row itself and its neighbours, two on either side; shape ``(n, 5)``, -1 where there is none."""
        before, after = np.append(self.before, -1), np.append(self.after, -1)
        return np.stack([before[before[rows]], before[rows], rows, after[rows], after[after[rows]]], axis=1)

    def _new_row(self) -> int:
        row = len(self._turns)
        if row == self._whole.shape[1]:
            self._whole = np.concatenate([self._whole, np.full_like(self._whole, -1)], axis=1)
            self._reals = np.concatenate([self._reals, np.zeros_like(self._reals)], axis=1)
        self._turns.append(None)
        return row

    def _cast_of(self, turn: Turn) -> int:
        names = tuple(dict.fromkeys(message.speaker for message in turn.messages if message.speaker))
        return self._casts.setdefault(names, len(self._casts))

    def _date(self, row: int, turn: Turn) -> None:
        today = turn.at.date() if turn.at else None
        self.said[row] = today.toordinal() if today else 0
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
        turn = self._turns[row]
        if turn is not None:
            self._at.pop((int(self.session[row]), turn.index), None)
        left, right = int(self.before[row]), int(self.after[row])
        if left >= 0:
            self.after[left] = -1
        if right >= 0:
            self.before[right] = -1
        self.before[row] = self.after[row] = -1
