"""How common terms are in a scope, of whose index a part is read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import StaleIndex
from ..protocols import Statistics


class CommonTerms:
    """The term statistics of a scope, also where another process writes its index anew while they are asked.

    Args:
        held: the statistics of the index as it was opened.
        again: answers from an index that is opened anew, with a function of its statistics; 0 where nothing is
            remembered any more.
    """

    def __init__(self, held: Statistics, again: Callable[[StaleIndex, Callable[[Statistics], int]], int]) -> None:
        self._held, self._again = held, again

    @property
    def total(self) -> int:
        """How many turns there are."""
        return self._held.total

    def frequency(self, term: str) -> int:
        """How many turns hold the term."""
        try:
            return self._held.frequency(term)
        except StaleIndex as error:
            return self._again(error, lambda fresh: self._hold(fresh).frequency(term))

    def _hold(self, fresh: Statistics) -> Statistics:
        self._held = fresh
        return fresh
