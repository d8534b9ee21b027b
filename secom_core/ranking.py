"""Which turns of one scope answer a query: named signals, standardised and weighted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from .conversation import Turn
from .indexes.bm25 import BM25
from .indexes.dense import NumpyIndex
from .memory import Memory
from .protocols import Statistics, TokenCounter, Vectors

__all__ = ["Candidate", "ScopeIndex"]

LEXICAL: Final[Mapping[str, float]] = {"turn_lexical": 1.0, "window_lexical": 1.0, "segment_lexical": 0.4}
DENSE: Final[Mapping[str, float]] = {**LEXICAL, "turn_dense": 1.2, "segment_dense": 0.4}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A turn that may answer the query, in its memory; a higher score is better."""

    turn: Turn
    memory: Memory
    score: float
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)


class ScopeIndex:
    """Everything searchable of one scope, held in memory and grown a turn at a time."""

    def __init__(self, *, dense: bool, weights: Mapping[str, float] | None = None, counter: TokenCounter) -> None:
        self._weights = dict(weights or (DENSE if dense else LEXICAL))
        self._turns: dict[int, Turn] = {}
        self._numbers: dict[str, int] = {}
        self._memories: dict[int, Memory] = {}
        self._memory_of: dict[int, int] = {}
        self._by_session: dict[str, list[int]] = {}
        self._at: dict[tuple[str, int], int] = {}
        self._next = 0
        self._turn_words, self._window_words, self._key_words = BM25(), BM25(), BM25()
        self._turn_vectors, self._key_vectors = NumpyIndex(), NumpyIndex()

    @property
    def statistics(self) -> Statistics:
        """How common terms are among the scope's turns."""
        return self._turn_words

    def add_turns(self, turns: Sequence[Turn], vectors: Vectors | None) -> None:
        """Add turns, or replace those whose id is known."""
        for place, turn in enumerate(turns):
            number = self._numbers.get(turn.id, self._next)
            self._next = max(self._next, number + 1)
            self._numbers[turn.id] = number
            self._turns[number] = turn
            self._at[turn.session, turn.index] = number
            self._turn_words.add([number], [turn.text])
            for index in (turn.index - 1, turn.index, turn.index + 1):
                self._add_window(turn.session, index)
            if vectors is not None:
                self._turn_vectors.add([number], vectors[place : place + 1])

    def _add_window(self, session: str, index: int) -> None:
        number = self._at.get((session, index))
        if number is not None:
            around = (self._at.get((session, each)) for each in (index - 1, index, index + 1))
            text = "\n".join(self._turns[each].text for each in around if each is not None)
            self._window_words.add([number], [text])

    def set_memories(self, session: str, since: int, memories: Sequence[Memory], vectors: Vectors | None) -> None:
        """Replace the session's memories whose first turn is ``since`` or later."""
        numbers = self._by_session.setdefault(session, [])
        while numbers and self._memories[numbers[-1]].turns[0].index >= since:
            gone = numbers.pop()
            del self._memories[gone]
            self._key_words.remove([gone])
            self._key_vectors.remove([gone])
        for place, memory in enumerate(memories):
            number, self._next = self._next, self._next + 1
            numbers.append(number)
            self._memories[number] = memory
            self._key_words.add([number], [memory.key])
            if vectors is not None:
                self._key_vectors.add([number], vectors[place : place + 1])
            for turn in memory.turns:
                self._memory_of[self._numbers[turn.id]] = number

    def remove_turns(self, ids: Iterable[str]) -> None:
        """Remove turns; their memories are set anew by the caller."""
        for turn_id in ids:
            number = self._numbers.pop(turn_id, None)
            if number is not None:
                turn = self._turns.pop(number)
                del self._at[turn.session, turn.index]
                self._memory_of.pop(number, None)
                for index in (self._turn_words, self._window_words, self._turn_vectors):
                    index.remove([number])

    def search(
        self, query: str, vector: Vectors | None = None, *, now: datetime | None = None, limit: int = 300
    ) -> list[Candidate]:
        """The best turns with their memories, best first."""
        signals = {name: self._signal(name, query, vector) for name in self._weights}
        numbers = sorted(self._memory_of)
        if not numbers:
            return []
        columns = {name: _standardised([values.get(n, 0.0) for n in numbers]) for name, values in signals.items()}
        total = sum((self._weights[name] * column for name, column in columns.items()), np.zeros(len(numbers)))
        order = np.argsort(-total, kind="stable")[:limit]
        return [
            Candidate(
                self._turns[numbers[row]],
                self._memories[self._memory_of[numbers[row]]],
                float(total[row]),
                {name: float(column[row]) for name, column in columns.items()},
            )
            for row in order.tolist()
        ]

    def _signal(self, name: str, query: str, vector: Vectors | None) -> dict[int, float]:
        level, kind = name.split("_")
        if kind == "dense":
            index = self._turn_vectors if level == "turn" else self._key_vectors
            found = _table(*index.scores(vector)) if vector is not None and len(index) else {}
        else:
            words = {"turn": self._turn_words, "window": self._window_words, "segment": self._key_words}[level]
            found = _table(*words.scores(query))
        if level == "segment":
            return {turn: found.get(memory, 0.0) for turn, memory in self._memory_of.items()}
        return found


def _table(ids: npt.NDArray[np.int64], scores: npt.NDArray[np.floating]) -> dict[int, float]:
    return dict(zip(ids.tolist(), scores.tolist(), strict=True))


def _standardised(values: list[float]) -> npt.NDArray[np.float64]:
    column = np.asarray(values)
    return np.asarray((column - column.mean()) / (column.std() or 1.0))
