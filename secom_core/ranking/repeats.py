"""Which passages say the same again: only the first of them is indexed, and only the last is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..indexes.postings import digest_of

_AROUND_WORDS: Final = ".,;:!?…*_~\"'“”„‘’«»()[]。，！？、；：「」『』（）《》"
"""Signs that make no other word of the one that they stand beside; "+", "#" and "-" do."""
_GROUP_BYTES: Final = 300
ALONE: Final = 0
"""The group of what repeats nothing, and of nobody else."""

_Numbers = npt.NDArray[np.int64]
_NOTHING: Final = np.zeros(0, dtype=np.int64)


def said(text: str, kind: int) -> int:
    """A number that is the same for what says the same.

    Case, white space and the punctuation around words do not tell two apart; "C++" and "C#", 7.5 and 75 do.

    Args:
        text: its words; what has none repeats nothing.
        kind: who speaks (`PassageTable.kind`, or `NOTED`): an answer repeats no question, and people do not repeat:
            who says a thing twice says it on two days.
    """
    if not kind:
        return ALONE
    whole = " ".join(filter(None, [word.strip(_AROUND_WORDS) for word in text.casefold().split()]))
    return digest_of(f"{kind} {whole}") if whole else ALONE


class Repeats:
    """Rows by what they say, in the order in which they came. The first of a group is its source.

    Args:
        when: when a row was said, as a key to sort by; the latest of a group is shown.
    """

    def __init__(self, when: Callable[[int], Any]) -> None:
        self._when = when
        self._groups: dict[int, list[int]] = {}
        self._latest: dict[int, int] = {}
        self._group_of: dict[int, int] = {}
        self._turns: dict[int, int] = {}
        self._read: Callable[[], tuple[_Numbers, _Numbers, _Numbers]] | None = None
        self._known: tuple[_Numbers, _Numbers, _Numbers] | None = None
        self._by_group: tuple[_Numbers, _Numbers] | None = None

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return _GROUP_BYTES * (len(self._groups) + len(self._group_of) // 4)

    def load(self, read: Callable[[], tuple[_Numbers, _Numbers, _Numbers]]) -> None:
        """Know the rows that came from disk.

        Args:
            read: gives what each says (`said`), the first of its group, and of that one the latest of its group.
        """
        self._read, self._known = read, None

    def hold(self) -> None:
        """Read what is known of the rows that came from disk, before rows change."""
        if self._known is None and self._read is not None:
            self._known = self._read()

    @property
    def _of_rows(self) -> tuple[_Numbers, _Numbers, _Numbers]:
        self.hold()
        return self._known or (_NOTHING, _NOTHING, _NOTHING)

    def add(self, row: int, group: int) -> tuple[list[int], int]:
        """Put a row among those that say the same.

        Args:
            row: the row.
            group: what it says (`said`).

        Returns:
            All of them, and that which was the latest before; the row itself where there was none.
        """
        self._group_of[row] = group
        if group == ALONE:
            return [row], row
        rows = self.rows(group)
        rows.append(row)
        self._turns.pop(group, None)
        before = self._latest.setdefault(group, row)
        if self._when(row) >= self._when(before):
            self._latest[group] = row
        return rows, before

    def remove(self, row: int) -> list[int]:
        """Take a row out, and return those that are left of its group."""
        group = self._group(row)
        self._group_of[row] = ALONE
        if group == ALONE:
            return []
        rows = self.rows(group)
        rows.remove(row)
        self._turns.pop(group, None)
        if not rows:
            # The group stays, empty: it is not to be looked up again.
            del self._latest[group]
        elif self._latest[group] == row:
            self._latest[group] = max(rows, key=self._when)
        return rows

    def latest(self, row: int) -> int:
        """The row that says last what this one says."""
        group = self._group(row)
        return row if group == ALONE or not self.rows(group) else self._latest[group]

    def turns(self, row: int, turn_of: Callable[[int], int]) -> int:
        """In how many turns there is a row that says what this one says; counted once until a row comes or goes.

        Args:
            row: the row.
            turn_of: the number of a row's turn.
        """
        group = self._group(row)
        if group == ALONE:
            return 1
        if group not in self._turns:
            self._turns[group] = len(set(map(turn_of, self.rows(group))))
        return self._turns[group]

    def _group(self, row: int) -> int:
        known = self._group_of.get(row)
        if known is None:
            kept, _, _ = self._of_rows
            known = int(kept[row]) if row < len(kept) else ALONE
        return known

    def rows(self, group: int) -> list[int]:
        """The rows that say this (`said`)."""
        if group not in self._groups:
            _, _, shown = self._of_rows
            rows = self._groups[group] = self._kept_rows(group)
            if rows:
                self._latest[group] = int(shown[rows[0]])
        return self._groups[group]

    def _kept_rows(self, group: int) -> list[int]:
        kept, sources, _ = self._of_rows
        if not len(kept):
            return []
        if self._by_group is None:
            told = np.flatnonzero(kept != ALONE)
            told = told[np.argsort(kept[told], kind="stable")]
            self._by_group = kept[told], told
        groups, rows = self._by_group
        first, stop = np.searchsorted(groups, group, side="left"), np.searchsorted(groups, group, side="right")
        found: list[int] = rows[first:stop].tolist()
        return sorted(found, key=lambda row: sources[row] != row)
