"""Okapi BM25 that grows: a unit comes, changes and goes at the cost of its own length."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..text.terms import is_pair, kept_variants, latin_language_of, terms
from .growing_postings import GrowingPostings
from .postings import Arrays, FrozenPostings, FrozenUnits, Ints, Longs, frozen, in_memory
from .scoring import Entries, Words, words_of
from .top import Ids, Scores, best, distinct

_MOST_WORDS: Final = 64
"""How many of a query's words are looked at, the rarest first: a query may be a page."""

_MOST_CONTEXT_WORDS: Final = 16
_COMMON_LANGUAGE: Final = 0.05
_SPARE_SLOTS: Final = 1024
_MANY: Final = 8
"""Of how many units one is to be written for it to be quicker to look through all terms than through units."""
# Measured by tracemalloc: objects, arrays with their room to grow, and their places in dictionaries.
_TERM_BYTES: Final = 150
_POSTING_BYTES: Final = 17
_UNIT_BYTES: Final = 200


class BM25:
    """Incremental Okapi BM25 (Robertson et al., TREC-3) with an inverse document frequency that is never negative.

    A unit given as text is analysed by `secom_core.text.terms.terms`, its Latin words stemmed in the language that it
    shows. A query given as text is too short to show one, so each of its words is looked up in every language that any
    unit shows, and counts once: as the variant that suits the unit best. A function word is left out where it is one
    in every language that makes up 5 % of the units or more: a few short messages show a language that they are not in.
    Units and queries given as sequences of strings are taken as they are. Each different word of a query counts once,
    the 64 rarest.

    Adding, replacing or removing a unit costs time proportional to its length, averaged over many; searching costs
    time proportional to the postings of the query's terms. Calls must not overlap with a change: whoever shares an
    index between threads holds a lock.
    """

    def __init__(self) -> None:
        self._postings = GrowingPostings()
        self._languages: Counter[str] = Counter()
        self._slot_of: dict[int, int] = {}
        self._terms_of: dict[int, tuple[str, ...]] = {}
        self._language_of: dict[int, str] = {}
        self._length = 0
        self._used = 0
        self._ids: Ids = np.zeros(16, dtype=np.int64)
        self._lengths: Ints = np.full(16, -1, dtype=np.int32)
        self._units = 0
        self._kept = FrozenUnits()
        self.moved = 0
        """How often slots were given other places: what was frozen before is of no use then."""
        self.gone: set[int] = set()
        """The slots whose units have gone; whoever keeps the index empties it."""

    def __len__(self) -> int:
        return self._units

    @property
    def total(self) -> int:
        """How many units there are."""
        return self._units

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
    def units(self) -> tuple[Ids, Ints]:
        """By slot the ids of all units and how many terms each has, below 0 where it has gone."""
        return self._ids[: self._used], self._lengths[: self._used]

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes, found by counting what it holds, a term and a unit at a time."""
        postings = _TERM_BYTES * len(self._postings) + _POSTING_BYTES * self._postings.entries
        arrays = self._ids.nbytes + self._lengths.nbytes + self._kept.nbytes
        return postings + _UNIT_BYTES * len(self._slot_of) + arrays

    def frequency(self, term: str) -> int:
        """How many units hold ``term``, a term as `secom_core.text.terms.terms` gives it."""
        own = self._postings.units(term)
        return own + len(self._live(term)) if self._kept.stop else own

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
        self._compact()

    def remove(self, ids: Sequence[int]) -> None:
        """Remove units; unknown ids are passed over."""
        for unit_id in ids:
            self._discard(int(unit_id))
        self._compact()

    def words(self, query: str | Sequence[str]) -> Words:
        """The query's words that any unit holds, the rarest first."""
        return self._words(self._rarest(query))

    def weighted_words(self, texts: Sequence[tuple[str, float]]) -> Words:
        """The words of several texts that any unit holds, each once, as the first text that has it weighs it.

        Args:
            texts: each with its weight: the query first, with 1, then what was said before it. Of these the 16 rarest
                words of each count, and of a query that has words of its own, twice as many as it has at most.
        """
        found: dict[str, tuple[float, tuple[str, ...]]] = {}
        most: int | None = None
        for text, weight in texts:
            rarest = self._rarest(text)[:most]
            if most is None:
                most = min(2 * len(rarest), _MOST_CONTEXT_WORDS) if len(rarest) > 1 else _MOST_CONTEXT_WORDS
            found |= {each[0]: (idf * weight, each) for idf, each in rarest if each[0] not in found}
        return self._words(list(found.values()))

    def _rarest(self, query: str | Sequence[str]) -> list[tuple[float, tuple[str, ...]]]:
        """The variants of the query's words that any unit holds, with what they weigh, the rarest first."""
        weighed = [(self._idf(count), each) for each, count in self._counted(query) if count]
        return sorted(weighed, key=itemgetter(0), reverse=True)[:_MOST_WORDS]

    def _words(self, weighed: Sequence[tuple[float, tuple[str, ...]]]) -> Words:
        """Where words occur, each given with what it weighs and its variants."""
        entries = [self._entries_of(variants) for _, variants in weighed]
        return words_of([(variants[0], idf) for idf, variants in weighed], entries, self._ids, self._lengths)

    def _entries_of(self, variants: tuple[str, ...]) -> Entries:
        """As `_occurrences`, not copied where they are as they are wanted already, which is so of most words."""
        own = self._postings.whole(variants[0]) if len(variants) == 1 and not self._kept.stop else None
        return self._occurrences(variants) if own is None else own

    def known(self, query: str | Sequence[str]) -> float:
        """What share of the query's words, by weight, any unit holds; 1 where it has none.

        Of a script without spaces, characters that nobody holds count, pairs do not: most straddle two words.
        """
        often = self._counted(query)
        held = sum(self._idf(count) for _, count in often if count)
        missed = self._idf(0) * sum(not count and not is_pair(each[0]) for each, count in often)
        return held / (held + missed) if held + missed else 1.0

    def search(self, query: str | Sequence[str], k: int) -> list[tuple[int, float]]:
        """The best ``k`` of the units that hold any word of the query, best first, ties by id."""
        return best(*self.scores(query), k)

    def scores(self, query: str | Sequence[str]) -> tuple[Ids, Scores]:
        """The ids of the units that hold any word of the query, and their scores."""
        words = self.words(query)
        ids = distinct(words.ids)
        places = np.searchsorted(ids, words.ids)
        return ids, np.bincount(places, weights=words.scores(self.mean_length)).astype(np.float64)

    def lengths_of(self, ids: Sequence[int]) -> Ints:
        """How many terms each unit has.

        Raises:
            KeyError: for an unknown id.
        """
        return self._lengths[[self._slot(int(unit_id)) for unit_id in ids]]

    def _variants(self, query: str | Sequence[str]) -> list[tuple[str, ...]]:
        if not isinstance(query, str):
            return [(term,) for term in query]
        common = [language for language, share in self.languages.items() if share >= _COMMON_LANGUAGE]
        own = latin_language_of(query) if not common or len(common) < len(self._languages) else common[0]
        if own not in common and (own in self._languages or not common):
            common.append(own)
        rare = sorted(self._languages.keys() - common)
        return kept_variants((query, tuple(common), tuple(rare)))

    def _held(self, query: str | Sequence[str]) -> list[tuple[str, ...]]:
        """The variants of each of the query's words, once, after what is on disk of them is read."""
        words = list(dict.fromkeys(self._variants(query)))
        self._kept.hold(term for variants in words for term in variants)
        return words

    def _counted(self, query: str | Sequence[str]) -> list[tuple[tuple[str, ...], int]]:
        """The variants of each of the query's words, and how many units hold any of them."""
        words, own = self._held(query), (lambda term: 0) if self._kept.stop else self._postings.units
        # A part of an index has no postings of its own.
        return [(one, (own(one[0]) if len(one) == 1 else 0) or self._frequency(one)) for one in words]

    def _frequency(self, variants: tuple[str, ...]) -> int:
        often = [count for count in map(self.frequency, variants) if count]
        return len(self._occurrences(variants)[0]) if len(often) > 1 else sum(often)

    def _occurrences(self, variants: tuple[str, ...]) -> tuple[Ints, Ints]:
        """The slots that hold any of a word's variants, and how often each holds the one that it holds most."""
        parts = [part for part in map(self._where, variants) if len(part[0])]
        if len(parts) == 1:
            return parts[0]
        counts = np.zeros(self._used if parts else 0, dtype=np.int32)
        for slots, often in parts:
            np.maximum.at(counts, slots, often)
        slots = np.flatnonzero(counts).astype(np.int32)
        return slots, counts[slots]

    def _where(self, term: str) -> tuple[Ints, Ints]:
        """The slots that hold a term, in rising order, and how often each does."""
        live, (slots, counts) = self._live(term), self._postings.of(term)
        if not len(live):
            return slots, counts
        return np.concatenate([live[:, 0], slots]), np.concatenate([live[:, 1], counts])

    def _live(self, term: str) -> Ints:
        """The entries of a term that come from disk, without those of units that have gone."""
        entries = self._kept.of(term)
        return entries[self._lengths[entries[:, 0]] >= 0] if self._kept.thinned and len(entries) else entries

    def _idf(self, frequency: int) -> float:
        """Above 0 also for a word that every unit holds (Robertson & Zaragoza 2009, smoothed)."""
        return math.log1p((self._units - frequency + 0.5) / (frequency + 0.5))

    def _insert(self, unit_id: int, unit: str | Sequence[str]) -> None:
        if isinstance(unit, str):
            language = self._language_of[unit_id] = latin_language_of(unit)
            self._languages[language] += 1
            unit = terms(unit, language=language, in_parts=True)
        counts = Counter(unit)
        slot = self._new_slot(unit_id, counts.total())
        for term, count in counts.items():
            self._postings.append(term, slot, count)
        self._terms_of[unit_id] = tuple(counts)

    def _discard(self, unit_id: int) -> None:
        slot = self._taken(unit_id)
        if slot is None:
            return
        self._units -= 1
        self._length -= int(self._lengths[slot])
        self._lengths[slot] = -1
        self.gone.add(slot)
        self._kept.thinned |= slot < self._kept.stop
        for term in self._terms_of.pop(unit_id, ()):
            self._postings.discard(term, slot)
        language = self._language_of.pop(unit_id, None) if slot >= self._kept.stop else self._kept.language(slot)
        if language is not None:
            self._languages[language] -= 1
            self._languages += Counter()

    def _slot(self, unit_id: int) -> int:
        slot = self._slot_of.get(unit_id)
        return slot if slot is not None else self._kept.slots(self._ids, self._lengths)[unit_id]

    def _taken(self, unit_id: int) -> int | None:
        """The slot of a unit, which is found by its id no more."""
        slot = self._slot_of.pop(unit_id, None)
        if slot is None and self._kept.stop:
            return self._kept.slots(self._ids, self._lengths).pop(unit_id, None)
        return slot

    def _new_slot(self, unit_id: int, length: int) -> int:
        slot = self._used
        if slot == len(self._ids):
            self._ids = np.concatenate([self._ids, np.zeros_like(self._ids)])
            self._lengths = np.concatenate([self._lengths, np.full_like(self._lengths, -1)])
        self._ids[slot], self._lengths[slot] = unit_id, length
        self._slot_of[unit_id] = slot
        self._length += length
        self._units += 1
        self._used += 1
        return slot

    def _compact(self) -> None:
        """Give the slots of units that have gone to others, once they are more than the units."""
        if self._used <= 2 * self._units + _SPARE_SLOTS:
            return
        live = np.flatnonzero(self._lengths[: self._used] >= 0)
        places = np.full(self._used, -1, dtype=np.int32)
        places[live] = np.arange(len(live), dtype=np.int32)
        self._kept = self._kept.moved(places)
        self._postings.renumber(places)
        self._slot_of = {unit_id: int(places[slot]) for unit_id, slot in self._slot_of.items()}
        room = np.full(max(16, len(live)), -1, dtype=np.int64)
        self._ids, self._used = np.concatenate([self._ids[live], room]), len(live)
        self._lengths = np.concatenate([self._lengths[live], room.astype(np.int32)])
        self.moved += 1
        self.gone.clear()

    # -- on disk --------------------------------------------------------------------------------------------------

    @property
    def used(self) -> int:
        """The slot that the next unit gets."""
        return self._used

    @property
    def length(self) -> int:
        """How many terms all units have."""
        return self._length

    @property
    def thawed(self) -> int:
        """The slot after the last one that was thawed."""
        return self._kept.stop

    @property
    def runs(self) -> Sequence[FrozenPostings]:
        """The postings of what was thawed; whoever writes them elsewhere says where they are now."""
        return self._kept.runs

    @runs.setter
    def runs(self, runs: Sequence[FrozenPostings]) -> None:
        self._kept.runs = runs

    def hold(self) -> None:
        """Read all postings that were thawed, as they are about to be deleted where they are."""
        self.runs = [run.held() for run in self.runs]

    @property
    def kept_languages(self) -> dict[str, int]:
        """How many units are in each language, the first seen first."""
        return dict(self._languages)

    def frozen(self, start: int, runs: Sequence[FrozenPostings] = ()) -> dict[str, npt.NDArray[Any]]:
        """The units from a slot on as arrays, from which `thaw` makes them again.

        Args:
            start: the first slot.
            runs: those that hold what was thawed from that slot on.
        """
        names: dict[str | None, int] = {name: number for number, name in enumerate(self._languages)}
        slots = range(max(start, self._kept.stop), self._used)
        languages = [names.get(self._language_of.get(unit_id), -1) for unit_id in self._ids[slots].tolist()]
        older = [names.get(self._kept.language(slot), -1) for slot in range(start, self._kept.stop)]
        read = [in_memory(frozen(*self._entries(slots)))] if slots else []
        return {
            "ids": self._ids[start : self._used],
            "lengths": self._lengths[start : self._used],
            "languages": np.array([*older, *languages], dtype=np.int16),
            **self.thinned(*runs, *read),
        }

    def thinned(self, *runs: FrozenPostings) -> dict[str, npt.NDArray[Any]]:
        """Several runs as one, as `frozen` gives it, without the units that have gone."""
        places = np.where(self._lengths >= 0, np.arange(len(self._lengths)), -1)
        return FrozenUnits.entries(runs, places.astype(np.int32))

    def _entries(self, slots: range) -> tuple[Longs, Ints]:
        """The digests and the entries of the terms of own units."""
        postings = self._postings if len(slots) * _MANY > self._used else self._postings_of(slots)
        digests, entries = postings.joined()
        return digests[entries[:, 0] >= slots.start], entries[entries[:, 0] >= slots.start]

    def _postings_of(self, slots: range) -> GrowingPostings:
        found = GrowingPostings()
        for slot in slots:
            for term in self._terms_of[int(self._ids[slot])] if self._lengths[slot] >= 0 else ():
                found.append(term, slot, self._postings.count(term, slot))
        return found

    def thaw(self, units: Arrays, runs: Sequence[FrozenPostings], languages: Mapping[str, int]) -> None:
        """Hold the units that `frozen` gave, in the place of all; what a query asks of them is read then.

        Args:
            units: ``ids``, ``lengths``, below 0 where a unit has gone, and ``languages`` by slot; they are held.
            runs: their postings.
            languages: `kept_languages`.
        """
        self._used = len(units["ids"])
        if self._used:
            self._ids, self._lengths = units["ids"], units["lengths"]
        live = np.maximum(units["lengths"], 0)
        self._units, self._length = int((units["lengths"] >= 0).sum()), int(live.sum())
        self._languages = Counter(languages)
        self._kept = FrozenUnits(
            self._used, units["languages"], list(languages), runs, thinned=self._units < self._used
        )
