"""Okapi BM25 whose units go on: what has come since is indexed alone, and what was there before stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..text.humps import words_of_names
from ..text.terms import latin_language_of, terms
from .bm25 import BM25


class GrowingBM25(BM25):
    """An index of texts that mostly begin as they did before, such as a segment to which a turn has come."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: dict[int, set[str]] = {}

    def put(self, ids: Sequence[int], texts: Sequence[str], before: Mapping[int, str], *, since: int = 0) -> None:
        """Add units, or replace those whose id is known; it comes to the same as `add`.

        Args:
            ids: one integer a unit.
            texts: what they say.
            before: by their ids, what some of them say now, where they go on with another line.
            since: the first slot whose unit may change where it is.
        """
        for unit_id, text in zip(ids, texts, strict=True):
            if unit_id not in before or not self._extended(unit_id, before[unit_id], text, since):
                self.add([unit_id], [text])

    def _extended(self, unit_id: int, before: str, text: str, since: int) -> bool:
        """Whether a unit could be let go on, and its terms are those of the whole text."""
        slot, language, more = self._slot_of.get(unit_id, -1), self._language_of.get(unit_id), text[len(before) :]
        # Of two parts in one language, the whole is in it too.
        if slot < max(since, self._kept.stop) or language != latin_language_of(more):
            return False
        counts = Counter(terms(more, language=language))
        if parts := words_of_names(more):
            # The words that names of code are of count once in the whole.
            known = self._parts.get(unit_id)
            known = known if known is not None else set(words_of_names(before))
            counts.update(terms(" ".join(each for each in parts if each not in known), language=language))
            self._parts[unit_id] = known.union(parts)
        for term, count in counts.items():
            self._postings.add(term, slot, count)
        self._terms_of[unit_id] = tuple(dict.fromkeys((*self._terms_of[unit_id], *counts)))
        self._lengths[slot] += counts.total()
        self._length += counts.total()
        return True

    def _discard(self, unit_id: int) -> None:
        super()._discard(unit_id)
        self._parts.pop(unit_id, None)
