"""How well citations are read from answers (RMM, section 8.3): precision, recall, and whose text is kept right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from secom_core.citations import Citations


@dataclass(frozen=True)
class LabelledAnswer:
    """An answer as a language model writes it, with what a person reads in it.

    Args:
        kind: what it is a case of.
        answer: as it was written.
        cited: the numbers that it cites.
        none: whether it says that no memory was of use.
        text: what the user is to see of it.
    """

    kind: str
    answer: str
    cited: frozenset[int]
    none: bool
    text: str


@dataclass(frozen=True)
class Reading:
    """How well answers were read.

    Args:
        precision: the share of the citations read that are there; 1 where none was read.
        recall: the share of the citations there that were read; 1 where there is none.
        text_right: the share of the answers that are shown as they should be.
        answers: how many there were.
    """

    precision: float
    recall: float
    text_right: float
    answers: int

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def reading_of(labelled: Sequence[LabelledAnswer], read: Sequence[Citations]) -> Reading:
    """How well answers were read; that no memory was of use counts as one citation.

    Args:
        labelled: the answers with their labels.
        read: for each, what was read with ``markers="strip"``.
    """
    pairs = list(zip(labelled, read, strict=True))
    there = [_marks(each.cited, each.none) for each, _ in pairs]
    found = [_marks(frozenset(each.numbers), each.none_used) for _, each in pairs]
    right = sum(len(mine & yours) for mine, yours in zip(found, there, strict=True))
    marks, labels = sum(map(len, found)), sum(map(len, there))
    texts = sum(each.text == citations.text for each, citations in pairs)
    return Reading(
        right / marks if marks else 1.0, right / labels if labels else 1.0, texts / max(len(pairs), 1), len(pairs)
    )


def _marks(numbers: frozenset[int], none: bool) -> frozenset[int | None]:
    return numbers | {None} if none else numbers
