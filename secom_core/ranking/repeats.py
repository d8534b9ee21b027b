"""Which passages say the same again: only the first of them is indexed, and only the last is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_AROUND_WORDS: Final = ".,;:!?…*_~\"'“”„‘’«»()[]。，！？、；：「」『』（）《》"
"""Signs that make no other word of the one that they stand beside; "+", "#" and "-" do."""
_GROUP_BYTES: Final = 300


class Repeats:
    """Rows by what they say, in the order in which they came. The first of a group is its source.

    Args:
        when: when a row was said, as a key to sort by; the latest of a group is shown.
    """

    def __init__(self, when: Callable[[int], Any]) -> None:
        self._when = when
        self._groups: dict[tuple[int, int, str], list[int]] = {}
        self._latest: dict[tuple[int, int, str], int] = {}
        self._group_of: dict[int, tuple[int, int, str]] = {}
        self._turns: dict[tuple[int, int, str], int] = {}

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return _GROUP_BYTES * len(self._groups)

    def add(self, row: int, text: str, kind: int) -> tuple[list[int], int]:
        """Put a row among those that say the same.

        Case, white space and the punctuation around words do not tell two apart; "C++" and "C#", 7.5 and 75 do.

        Args:
            row: the row.
            text: its words.
            kind: who speaks (`PassageTable.kind`): an answer repeats no question, and people do not repeat.

        Returns:
            All of them, and that which was the latest before; the row itself where there was none.
        """
        # What has no words repeats nothing; and who says a thing twice among people says it on two days.
        said = _bare_words(text) if kind else ""
        group = (kind, hash(said), said[:24]) if said else (-1, row, "")
        self._group_of[row] = group
        rows = self._groups.setdefault(group, [])
        rows.append(row)
        self._turns.pop(group, None)
        before = self._latest.setdefault(group, row)
        if self._when(row) >= self._when(before):
            self._latest[group] = row
        return rows, before

    def remove(self, row: int) -> list[int]:
        """Take a row out, and return those that are left of its group."""
        group = self._group_of.pop(row)
        self._turns.pop(group, None)
        rows = self._groups[group]
        rows.remove(row)
        if not rows:
            del self._groups[group], self._latest[group]
        elif self._latest[group] == row:
            self._latest[group] = max(rows, key=self._when)
        return rows

    def latest(self, row: int) -> int:
        """The row that says last what this one says."""
        return self._latest[self._group_of[row]]

    def rows(self, row: int) -> list[int]:
        """The rows that say what this one says, in the order in which they came."""
        return self._groups[self._group_of[row]]

    def turns(self, row: int, turn_of: Callable[[int], int]) -> int:
        """In how many turns there is a row that says what this one says; counted once until a row comes or goes.

        Args:
            row: the row.
            turn_of: the number of a row's turn.
        """
        group = self._group_of[row]
        if group not in self._turns:
            self._turns[group] = len(set(map(turn_of, self._groups[group])))
        return self._turns[group]


def _bare_words(text: str) -> str:
    return " ".join(filter(None, [word.strip(_AROUND_WORDS) for word in text.casefold().split()]))
