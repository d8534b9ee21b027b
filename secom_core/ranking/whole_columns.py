"""What a query asks of a scope's columns as a whole: made once, for the queries until rows come or go."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from .columns import Columns, ColumnSource, Ints, Reals
from .speaking import SAID_BY_USER

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def at_rows(column: npt.NDArray[Any], rows: Rows, nowhere: float) -> npt.NDArray[Any]:
    """What a column has at these rows, which may be -1, where it has nothing but ``nowhere``."""
    return np.where(rows >= 0, column[rows], nowhere)


def _ends(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The least and the greatest; none of none."""
    return np.array([numbers.min(), numbers.max()]) if len(numbers) else numbers


class WholeColumns(Columns):
    """Columns, and what is made of them; none of that is to be written to."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[str, npt.NDArray[Any]] = {}

    @property
    def nbytes(self) -> int:
        """How many bytes they take once all are read, with what is made of them."""
        return super().nbytes + sum(each.nbytes for each in self._made.values())

    def hold(self) -> None:
        """Read what was not read yet, before rows come or go."""
        self._made.clear()
        super().hold()

    def _hold_columns(self, size: int, source: ColumnSource) -> None:
        self._made.clear()
        super()._hold_columns(size, source)

    @property
    def only_ask(self) -> Mask:
        """Whether the turn of each row only asks, or knows nothing.

        A question that was asked before is as near to the query as can be, and answers nothing.
        """
        return self.once("only_ask", self._only_ask)

    @property
    def findable(self) -> Mask:
        """Whether each row may be found: it is of a memory, and was not said again later."""
        return self.once("findable", lambda: (self.memory >= 0) & (self.latest > 0))

    @property
    def of_users(self) -> Mask:
        """Whether each row is what a user says to an assistant."""
        return self.once("of_users", lambda: self.kind == SAID_BY_USER)

    @property
    def neighbours(self) -> Reals:
        """How many passages stand right beside each row's, two at most."""
        return self.once("neighbours", self._neighbours)

    @property
    def odd_before(self) -> Rows:
        """The rows that another stands before than the one before them."""
        return self.once("odd_before", lambda: self._apart("before", -1))

    @property
    def odd_after(self) -> Rows:
        """The rows that another stands after than the one after them."""
        return self.once("odd_after", lambda: self._apart("after", 1))

    @property
    def before_odd(self) -> Rows:
        """The rows before those of `odd_before`."""
        return self.once("before_odd", lambda: self.at(self.odd_before).before)

    @property
    def after_odd(self) -> Rows:
        """The rows after those of `odd_after`."""
        return self.once("after_odd", lambda: self.at(self.odd_after).after)

    @property
    def has_repeats_or_gaps(self) -> bool:
        """Whether any row repeats another's words, or is empty."""
        return bool(self.once("odd_source", lambda: self._apart("source", 0)).size)

    @property
    def memories(self) -> int:
        """The number after the last that a row's memory has."""
        return int(self.once("memories", lambda: np.array([self.memory.max(initial=-1) + 1]))[0])

    @property
    def turn_terms(self) -> Reals:
        """How many terms the turn has that begins at each row, 0 where none does."""
        return self.once("turn_terms", lambda: self._terms_by(self.head))

    @property
    def session_terms(self) -> Reals:
        """How many terms each session has, by its number."""
        return self.once("session_terms", lambda: self._terms_by(self.session))

    @property
    def days(self) -> Ints:
        """The first and the last day on which anything was said, where that is known."""
        return self.once("days", lambda: _ends(self.day[self.day > 0]))

    @property
    def years(self) -> range:
        """The years in which anything was said."""
        if not len(self.days):
            return range(0)
        first, last = self.days.tolist()
        return range(date.fromordinal(first).year, date.fromordinal(last).year + 1)

    def _neighbours(self) -> Reals:
        found = np.full(len(self), 2.0)
        # Nothing stands before the first row, and -1 is where the row before it would be.
        found[:1] -= self.odd_before[:1].tolist() != [0]
        found[self.odd_before[self.before_odd < 0]] -= 1
        found[self.odd_after[self.after_odd < 0]] -= 1
        return found

    def _terms_by(self, groups: Rows) -> Reals:
        return np.asarray(np.bincount(np.maximum(groups, 0), weights=self.terms), dtype=np.float64)

    def once(self, name: str, made: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """What is made of columns whole, for the next query too, until rows come or go."""
        if name not in self._made:
            self._made[name] = made()
        return self._made[name]

    def _only_ask(self) -> Mask:
        tells = ~((self.kind == SAID_BY_USER) & (self.asks > 0) | (self.non_answer > 0)) & (self.head >= 0)
        telling = np.zeros(len(self), dtype=np.bool_)
        telling[self.head[tells]] = True
        return np.asarray(~telling[self.head])
