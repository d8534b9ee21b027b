"""Okapi BM25 that grows: a unit comes, changes and goes at the cost of its own length."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from secom_core.analysis import latin_language_of, term_variants, terms
from secom_core.errors import InvalidInput
from secom_core.indexes.top import Ids, Scores, best

__all__ = ["BM25"]

_Ints = npt.NDArray[np.int32]
_COMMON_LANGUAGE: Final = 0.05
_SPARE_SLOTS: Final = 1024
# Measured by tracemalloc: objects, arrays with their room to grow, and their places in dictionaries.
_TERM_BYTES: Final = 340
_POSTING_BYTES: Final = 17
_UNIT_BYTES: Final = 200


class _Postings:
    """Where one term occurs: slots in rising order, and how often in each; 0 where the unit has gone."""

    __slots__ = ("counts", "live", "slots")

    def __init__(self) -> None:
        self.slots = array("i")
        self.counts = array("i")
        self.live = 0

    def append(self, slot: int, count: int) -> None:
        self.slots.append(slot)
        self.counts.append(count)
        self.live += 1

    def discard(self, slot: int) -> None:
        self.counts[bisect_left(self.slots, slot)] = 0
        self.live -= 1

    def arrays(self) -> tuple[_Ints, _Ints]:
        # Copies, because an array cannot grow while numpy looks into it.
        return np.array(self.slots, dtype=np.int32), np.array(self.counts, dtype=np.int32)

    def renumber(self, places: _Ints) -> None:
        slots, counts = self.arrays()
        kept = counts > 0
        self.slots = array("i", places[slots[kept]].tobytes())
        self.counts = array("i", counts[kept].tobytes())


class BM25:
    """Incremental Okapi BM25 (Robertson et al., TREC-3) with the scores of ``rank_bm25.BM25Okapi``.

    A unit given as text is analysed by `secom_core.analysis.terms`, its Latin words stemmed in the language that it
    shows. A query given as text is too short to show one, so each of its words is looked up in every language that
    makes up 5 % of the units or more, and counts once: as the variant that suits the unit best. Units and queries
    given as sequences of strings are taken as they are.

    Adding, replacing or removing a unit costs time proportional to its length, averaged over many; searching costs
    time proportional to the postings of the query's terms. Calls must not overlap with a change: whoever shares an
    index between threads holds a lock.

    Args:
        k1: how soon repetitions of a term stop to count, 0 or more.
        b: how much long units are held back, from 0 to 1.
        epsilon: the share of the average idf that a term in more than half of the units gets instead of its own,
            negative, idf.

    Raises:
        InvalidInput: for a parameter out of range.
    """

    def __init__(self, *, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25) -> None:
        if k1 < 0 or not 0 <= b <= 1:
            raise InvalidInput(f"BM25 needs k1 >= 0 and 0 <= b <= 1, got k1={k1}, b={b}")
        self._k1, self._b, self._epsilon = k1, b, epsilon
        self._postings: dict[str, _Postings] = {}
        self._frequencies: Counter[int] = Counter()
        self._languages: Counter[str] = Counter()
        self._slot_of: dict[int, int] = {}
        self._terms_of: dict[int, tuple[str, ...]] = {}
        self._language_of: dict[int, str] = {}
        self._length = 0
        self._used = 0
        self._ids: Ids = np.zeros(16, dtype=np.int64)
        self._lengths: _Ints = np.full(16, -1, dtype=np.int32)
        self._floor: float | None = None
        self._live: npt.NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self._slot_of)

    def __contains__(self, unit: int) -> bool:
        return unit in self._slot_of

    @property
    def total(self) -> int:
        """How many units there are."""
        return len(self._slot_of)

    @property
    def mean_length(self) -> float:
        """How many terms a unit has on average; 0 where there are none."""
        return self._length / self.total if self.total else 0.0

    @property
    def languages(self) -> dict[str, float]:
        """The share of each language among the units given as text, the most common first."""
        total = self._languages.total()
        return {language: count / total for language, count in self._languages.most_common()}

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes, found by counting what it holds, a term and a unit at a time."""
        postings = sum(len(each.slots) for each in self._postings.values())
        arrays = self._ids.nbytes + self._lengths.nbytes
        return _TERM_BYTES * len(self._postings) + _POSTING_BYTES * postings + _UNIT_BYTES * len(self) + arrays

    def frequency(self, term: str) -> int:
        """How many units hold ``term``, a term as `secom_core.analysis.terms` gives it."""
        postings = self._postings.get(term)
        return postings.live if postings else 0

    def idf(self, term: str) -> float:
        """The inverse document frequency of ``term`` as the scores use it; 0 for a term that no unit holds."""
        frequency = self.frequency(term)
        if not frequency:
            return 0.0
        idf = self._raw_idf(frequency)
        return idf if idf >= 0 else self._epsilon * self._average_idf()

    def add(self, ids: Sequence[int], units: Sequence[str | Sequence[str]]) -> None:
        """Add units, or replace those whose id is known.

        Args:
            ids: one integer a unit; of an id that comes twice the last unit stays.
            units: texts, which are analysed, or sequences of terms.

        Raises:
            InvalidInput: where there are not as many ids as units.
        """
        if len(ids) != len(units):
            raise InvalidInput(f"each unit needs one id, got {len(ids)} ids for {len(units)} units")
        for unit_id, unit in zip(ids, units, strict=True):
            self._discard(int(unit_id))
            self._insert(int(unit_id), unit)
        self._changed()

    def remove(self, ids: Sequence[int]) -> None:
        """Remove units; unknown ids are passed over."""
        for unit_id in ids:
            self._discard(int(unit_id))
        self._changed()

    def search(self, query: str | Sequence[str], k: int) -> list[tuple[int, float]]:
        """The best ``k`` of the units that hold any term of the query, best first, ties by id."""
        scores, found = self._score(query)
        slots = np.flatnonzero(found)
        return best(self._ids[slots], scores[slots], k)

    def scores(self, query: str | Sequence[str]) -> tuple[Ids, Scores]:
        """The ids of all units, in the order in which they came, and their scores; 0 where no term is shared."""
        scores, _ = self._score(query)
        live = self._live_slots()
        return self._ids[live], scores[live]

    def scores_of(self, query: str | Sequence[str], ids: Sequence[int]) -> Scores:
        """The scores of some units, in the order of ``ids``; 0 for an unknown id."""
        scores, _ = self._score(query)
        slots = np.array([self._slot_of.get(int(unit_id), -1) for unit_id in ids], dtype=np.intp)
        return np.append(scores, 0.0)[slots]

    def occurrences(self, query: str | Sequence[str]) -> list[tuple[Ids, _Ints, _Ints]]:
        """For each different word of the query that any unit holds: the ids of these units, counts and lengths.

        Counts say how often a unit holds the word, lengths how many terms the unit has.
        """
        found = (self._occurrences(variants) for variants in dict.fromkeys(self._variants(query)))
        return [(self._ids[slots], counts, self._lengths[slots]) for slots, counts in found if len(slots)]

    def lengths_of(self, ids: Sequence[int]) -> _Ints:
        """How many terms each unit has.

        Raises:
            KeyError: for an unknown id.
        """
        return self._lengths[[self._slot_of[int(unit_id)] for unit_id in ids]]

    def _occurrences(self, variants: tuple[str, ...]) -> tuple[_Ints, _Ints]:
        parts = [self._postings[term].arrays() for term in variants if term in self._postings]
        if len(parts) > 1:
            total = np.zeros(self._used, dtype=np.int32)
            for slots, counts in parts:
                np.maximum.at(total, slots, counts)
            slots = np.flatnonzero(total).astype(np.int32)
            counts = total[slots]
        else:
            slots, counts = parts[0] if parts else (np.zeros(0, np.int32), np.zeros(0, np.int32))
        live = counts > 0
        return slots[live], counts[live]

    def _insert(self, unit_id: int, unit: str | Sequence[str]) -> None:
        counts = Counter(self._analysed(unit_id, unit) if isinstance(unit, str) else unit)
        slot = self._new_slot(unit_id, counts.total())
        for term, count in counts.items():
            postings = self._postings.setdefault(term, _Postings())
            self._move_frequency(postings.live, postings.live + 1)
            postings.append(slot, count)
        self._terms_of[unit_id] = tuple(counts)

    def _analysed(self, unit_id: int, text: str) -> list[str]:
        language = self._language_of[unit_id] = latin_language_of(text)
        self._languages[language] += 1
        return terms(text, language=language)

    def _discard(self, unit_id: int) -> None:
        slot = self._slot_of.pop(unit_id, None)
        if slot is None:
            return
        self._length -= int(self._lengths[slot])
        self._lengths[slot] = -1
        for term in self._terms_of.pop(unit_id):
            postings = self._postings[term]
            self._move_frequency(postings.live, postings.live - 1)
            postings.discard(slot)
            if not postings.live:
                del self._postings[term]
        self._forget_language(unit_id)

    def _forget_language(self, unit_id: int) -> None:
        language = self._language_of.pop(unit_id, None)
        if language is not None:
            self._languages[language] -= 1
            self._languages += Counter()

    def _move_frequency(self, before: int, after: int) -> None:
        # A histogram of document frequencies is all that the average idf needs, and it is far shorter than the
        # vocabulary: n different frequencies take at least n * n / 2 postings.
        self._frequencies[before] -= 1
        self._frequencies[after] += 1
        if not self._frequencies[before] or not before:
            del self._frequencies[before]
        if not after:
            del self._frequencies[after]

    def _new_slot(self, unit_id: int, length: int) -> int:
        slot = self._used
        if slot == len(self._ids):
            self._ids = np.concatenate([self._ids, np.zeros_like(self._ids)])
            self._lengths = np.concatenate([self._lengths, np.full_like(self._lengths, -1)])
        self._ids[slot], self._lengths[slot] = unit_id, length
        self._slot_of[unit_id] = slot
        self._length += length
        self._used += 1
        return slot

    def _changed(self) -> None:
        self._floor = self._live = None
        if self._used > 2 * len(self._slot_of) + _SPARE_SLOTS:
            self._compact()

    def _compact(self) -> None:
        live = self._live_slots()
        places = np.full(self._used, -1, dtype=np.int32)
        places[live] = np.arange(len(live), dtype=np.int32)
        for postings in self._postings.values():
            postings.renumber(places)
        self._slot_of = {unit_id: int(places[slot]) for unit_id, slot in self._slot_of.items()}
        room = max(16, 2 * len(live))
        self._ids = np.resize(self._ids[live], room) if len(live) else np.zeros(room, dtype=np.int64)
        lengths = np.full(room, -1, dtype=np.int32)
        lengths[: len(live)] = self._lengths[live]
        self._lengths, self._used, self._live = lengths, len(live), None

    def _live_slots(self) -> npt.NDArray[np.intp]:
        if self._live is None:
            self._live = np.flatnonzero(self._lengths[: self._used] >= 0)
        return self._live

    def _raw_idf(self, frequency: int) -> float:
        return math.log(self.total - frequency + 0.5) - math.log(frequency + 0.5)

    def _average_idf(self) -> float:
        if self._floor is None:
            total = math.fsum(count * self._raw_idf(frequency) for frequency, count in self._frequencies.items())
            self._floor = total / len(self._postings)
        return self._floor

    def _variants(self, query: str | Sequence[str]) -> list[tuple[str, ...]]:
        if not isinstance(query, str):
            return [(term,) for term in query]
        common = [language for language, share in self.languages.items() if share >= _COMMON_LANGUAGE]
        own = latin_language_of(query)
        if own not in common and (own in self._languages or not common):
            common.append(own)
        return term_variants(query, common)

    def _score(self, query: str | Sequence[str]) -> tuple[Scores, npt.NDArray[np.bool_]]:
        """Scores by slot, and whether a slot holds any term of the query."""
        scores = np.zeros(self._used)
        found = np.zeros(self._used, dtype=np.bool_)
        for variants in self._variants(query):
            parts = [self._contribution(term) for term in variants if term in self._postings]
            for slots, _ in parts:
                found[slots] = True
            if len(parts) == 1:
                slots, parts_scores = parts[0]
                scores[slots] += parts_scores
            elif parts:
                scores += _highest(parts, self._used)
        return scores, found

    def _contribution(self, term: str) -> tuple[_Ints, Scores]:
        slots, counts = self._postings[term].arrays()
        if self._postings[term].live < len(slots):
            kept = counts > 0
            slots, counts = slots[kept], counts[kept]
        average = self._length / self.total
        held_back = self._k1 * (1 - self._b + self._b * self._lengths[slots] / average)
        return slots, self.idf(term) * (counts * (self._k1 + 1) / (counts + held_back))


def _highest(parts: Sequence[tuple[_Ints, Scores]], size: int) -> Scores:
    """For each slot the highest of the parts that reach it, else 0."""
    highest = np.full(size, -np.inf)
    for slots, scores in parts:
        highest[slots] = np.maximum(highest[slots], scores)
    highest[np.isneginf(highest)] = 0.0
    return highest
