"""What of a scope's index is kept with the bank, as a process knows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ..indexes.postings import FrozenPostings
from ..ranking.block import Changed, EntryReader, Mark
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
        reader: what reads the postings of a block, by its number.
    """

    reader: Callable[[int], EntryReader]
    blocks: list[KeptBlock] = field(default_factory=list)
    terms: int = 0
    moved: int = 0
    revision: int = -1
    sessions: set[int] = field(default_factory=set)
    given_up: bool = False

    @property
    def is_unfit(self) -> bool:
        """Whether what is kept was made in another way, and is only there to be replaced."""
        return self.moved == UNFIT


@dataclass(frozen=True)
class Opened:
    """What was read of a scope's index: what is kept, and as of which revision, and the ids of sessions that are left
    to be followed; `LoadedScope` has the others.
    """

    kept: Kept
    revision: int
    known: Reached
    left: set[int]
