"""What of a scope's index is kept with the bank, as a process knows it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from ..indexes.postings import FrozenPostings
from ..ranking.block import Changed, Mark
from .index_pieces import Pieces
from .reached import Reached

UNFIT: Final = -1
"""What no number of an index is."""


@dataclass
class KeptBlock:
    """A block that is in the store.

    Args:
        number: its number there.
        start: where it begins.
        passages: how many it has.
        changed: what of older blocks it says anew.
        sessions: the ids of the sessions that it says something of.
        runs: its postings of what the index has from disk, where it has any.
    """

    number: int
    start: Mark
    passages: int
    changed: Changed
    sessions: set[int]
    runs: dict[str, FrozenPostings] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many passages it says something of: its own, or older ones, such as those that it has vectors of."""
        return max(self.passages, len(self.changed.rows))


@dataclass(frozen=True)
class Unmade:
    """What of a scope is still to be made.

    Args:
        left: ids of sessions that the index does not follow yet.
        vectors: whether vectors of what it has may be missing.
        cause: why it is made in steps.
    """

    left: Collection[int] = ()
    vectors: bool = False
    cause: str = ""


@dataclass
class Kept:
    """What of a scope's index is in the store.

    Args:
        blocks: in order.
        terms: how many terms the index had then.
        moved: how often its slots had moved then.
        revision: as of which revision of the scope that was; below all where nothing is kept.
        sessions: ids of sessions that have changed since.
        given_up: whether nothing more is written.
        vectors: how many vectors of what is in the store have come since.
        pieces: read the postings of its blocks.
    """

    pieces: Pieces
    blocks: list[KeptBlock] = field(default_factory=list)
    terms: int = 0
    moved: int = 0
    revision: int = -1
    sessions: set[int] = field(default_factory=set)
    given_up: bool = False
    vectors: int = 0

    @property
    def is_unfit(self) -> bool:
        """Whether what is kept was made in another way, and is only there to be replaced."""
        return self.moved == UNFIT

    def parted(
        self, passages: int, touched: int, *, most: int, is_thinned: bool
    ) -> tuple[list[KeptBlock], list[KeptBlock]]:
        """The blocks that stay, and those that are written again with what is new.

        As in a merge sort, each is written again at most a logarithm of times.

        Args:
            passages: how many the index has now.
            touched: how many have changed since they were written.
            most: how many passages a block has at most that is written again with those after it.
            is_thinned: whether any of those that stay may be written again by itself.
        """
        staying, going = list(self.blocks), list[KeptBlock]()
        size = max(touched, passages - sum(each.passages for each in staying))
        while staying and staying[-1].size <= 2 * size and size + staying[-1].size <= most:
            going.insert(0, staying.pop())
            size += going[0].size
        while is_thinned and any(each.passages == 0 for each in staying):
            # Such blocks follow each other in the order of their numbers, and what is thinned gets another one.
            going.insert(0, staying.pop())
        return staying, going


@dataclass(frozen=True)
class Opened:
    """What was read of a scope's index: what is kept, and as of which revision, and what is still to be made;
    `LoadedScope` has the others. Where the embedder does not answer, it ``lacks_vectors``.
    """

    kept: Kept
    revision: int
    known: Reached
    unmade: Unmade
    lacks_vectors: bool = False
