"""What speaks for a turn: one function a family of signals, each over the rows of a pool of turns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ..indexes.scoring import Words, saturated, summed_scores
from ..text.dates import Span
from .passage_table import PassageTable, Rows
from .weights import UNSCALED, USERS
from .whole_columns import at_rows

Column = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Days = npt.NDArray[np.int32]

_NEIGHBOUR = 0.5

_LENGTHS: Final = 0.25
"""The least standard deviation of the logarithm of lengths that is told from none."""

_AHEAD: Final = 3
"""How many of what was found stand before what holds whatever is asked, and before questions asked before."""

_A_LITTLE: Final = 1e-3
_PREFERRED: Final = 0.5
"""How much more at least a passage is worth that is asked for than the others of its reply: as much as it takes to be
chosen before one of a third of its length.
"""

_MIDDLE: Final = 2
"""Where a window has the passage that it is around."""

KERNELS: Column = np.array([[0.5, 0.5, 1.0, 0.5, 0.5], [0.25, 0.25, 1.0, 0.25, 0.25], [0.5, 0.25, 1.0, 0.25, 0.0]])
"""How much each passage of a window counts (`secom_core.ranking.surroundings.around`): around an utterance among
people, around what a user says to an assistant, and around a piece of a reply, after what it answers. The middle counts
most, or what stands beside a find would rank with it."""


def passage_scores(words: Words, table: PassageTable) -> Column:
    """BM25 of every passage; costs what the words' occurrences cost."""
    scores = summed_scores(words, _mean_terms(table), len(table) + 1)
    # The last is that of no passage, for empty rows.
    return scores[table.source] if table.has_repeats_or_gaps else scores[:-1]


def _mean_terms(table: PassageTable) -> float:
    return float(table.terms.sum()) / max(len(table) - len(table.free), 1)


def spread(scores: Column, table: PassageTable) -> Column:
    """Each passage's score with half of its four neighbours' scores."""
    # In place: of a million passages, new memory costs more than the sums.
    nearer = _beside(scores, table)
    heard = _beside(nearer, table)
    # The neighbours' neighbours, by one more step of the same kind, count the turn itself twice.
    heard -= scores * table.neighbours
    heard += nearer
    heard *= _NEIGHBOUR
    heard += scores
    return heard


def _beside(scores: Column, table: PassageTable) -> Column:
    """The score of the passage before each, with that of the one after it."""
    padded = np.append(scores, 0.0)
    after = padded[1:]
    found = np.zeros(len(scores))
    # What stands beside a row is nearly always the next one, and a range is copied faster than rows are looked up.
    found[1:] = scores[:-1]
    found[table.odd_before] = padded[table.before_odd]
    after[table.odd_after] = padded[table.after_odd]
    found += after
    return found


def word_signals(words: Words, table: PassageTable, pool: Rows, around: Rows) -> dict[str, Column]:
    """The lexical signals of the pool's passages, at the level of passage and window.

    Args:
        words: of the query.
        table: the passages.
        pool: their rows.
        around: what counts as standing around each (`secom_core.ranking.surroundings.around`).
    """
    terms = at_rows(table.terms, around, 0.0)
    kernels = KERNELS[table.kind[pool]]
    window_terms = (terms * kernels).sum(axis=1)
    numbers, rows, places, counts = _near(words, np.where(around >= 0, table.at(around).source, -1))
    own = places == _MIDDLE
    passages = _Heard(numbers[own], rows[own], counts[own])
    windows = _gathered(numbers, rows, counts * kernels[rows, places], len(pool))
    return {
        "passage_lexical": passages.scores(words, terms[:, _MIDDLE], _mean_terms(table)),
        "passage_coverage": passages.coverage(words, len(pool)),
        "window_lexical": windows.scores(words, window_terms, float(window_terms.mean())),
        "window_coverage": windows.coverage(words, len(pool)),
    }


def _near(words: Words, sources: Rows) -> tuple[Rows, Rows, Rows, Column]:
    """What of the words occurs in windows: of each occurrence the word, the window's row, the place in it, how often.

    Args:
        words: of the query.
        sources: the passage whose words count at each place of each window, -1 for none; shape ``(windows, places)``.
    """
    there = np.zeros(max(int(sources.max(initial=-1)), int(words.ids.max(initial=-1))) + 2, dtype=np.bool_)
    there[sources] = True
    there[-1] = False
    near = np.flatnonzero(there[words.ids])
    order = np.argsort(sources, axis=None, kind="stable")
    rising = sources.ravel()[order]
    first = np.searchsorted(rising, words.ids[near])
    often = np.searchsorted(rising, words.ids[near], side="right") - first
    # One entry for each place that an occurrence is at: the first of its run, the next one, ...
    step = np.arange(int(often.sum())) - np.repeat(np.cumsum(often) - often, often)
    rows, places = np.divmod(order[np.repeat(first, often) + step], sources.shape[1])
    occurrences = np.repeat(near, often)
    return words.numbers[occurrences], rows, places, words.counts[occurrences]


@dataclass(frozen=True, slots=True)
class _Heard:
    """Words of a query in texts that passages make up, such as a window or a turn: each word once in a text.

    Args:
        numbers: which of the words it is.
        texts: the number of the text.
        counts: how often the text holds it.
    """

    numbers: Rows
    texts: Rows
    counts: Column

    def scores(self, words: Words, lengths: Column, mean: float) -> Column:
        """BM25 of every text, which has so many terms each, and ``mean`` on average; shape ``(texts,)``."""
        added = words.idf[self.numbers] * saturated(self.counts, lengths[self.texts], mean)
        return np.asarray(np.bincount(self.texts, weights=added, minlength=len(lengths)), dtype=np.float64)

    def coverage(self, words: Words, texts: int) -> Column:
        """What share of the words, by weight, each text holds."""
        weights = np.where(self.counts > 0, words.idf[self.numbers], 0.0)
        held = np.bincount(self.texts, weights=weights, minlength=texts)
        return np.asarray(held / max(float(words.idf.sum()), 1e-9))


def _gathered(numbers: Rows, texts: Rows, counts: Column, size: int) -> _Heard:
    """Occurrences, of which a text may hold several of one word, as the texts hold them; texts are below ``size``."""
    keys = numbers * size + texts
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    summed = np.add.reduceat(counts[order], begins) if len(begins) else counts
    return _Heard(*np.divmod(keys[begins], max(size, 1)), summed)


def group_scores(words: Words, table: PassageTable, groups: Rows, lengths: Column, silent: Mask) -> Column:
    """BM25 of every turn, or session, as one text; by its number. What was said again counts where it was said last.

    Args:
        words: of the query.
        table: the passages.
        groups: the number of the turn or session of each passage; -1 for an empty row.
        lengths: how many terms each turn or session has (`PassageTable.turn_terms`, `PassageTable.session_terms`).
        silent: the passages whose words do not count.
    """
    mean = float(lengths.sum()) / max(int((lengths > 0).sum()), 1)
    rows = table.at(words.ids).shown
    heard = np.where(silent[rows], 0.0, words.counts)
    return _gathered(words.numbers, np.maximum(groups[rows], 0), heard, len(lengths)).scores(words, lengths, mean)


def mentioned(query: str, casts: Sequence[Sequence[str]]) -> Column:
    """For each set of speakers, 1 where the query names one of them."""
    folded = query.casefold()
    named = {name: any(_names(part, folded) for part in name.casefold().split()) for cast in casts for name in cast}
    return np.array([float(any(named[name] for name in cast)) for cast in casts])


def _names(part: str, text: str) -> bool:
    if part not in text:
        return False
    # Scripts without spaces have no word edges to look for.
    return not part.isascii() or re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None


SOON, LATER = 0.85, 0.5
"""What it counts to be said up to a week after a day that is asked for, and up to a month."""


def dated(wanted: Sequence[Span], table: PassageTable) -> Column:
    """For each turn, 1 where it was said on one of the days or speaks of one, less where it was said soon after.

    What happened on a day is often told within a week, but of a diary the day itself is meant.
    """
    day, first, last = table.day, table.about_first, table.about_last
    best = np.zeros(len(table))
    for begin, end in wanted:
        on_it = (day >= begin) & (day <= end)
        soon = (day >= begin - 1) & (day <= end + 7)
        about = (first > 0) & (first <= end) & (last >= begin)
        later = (day > end) & (day <= end + 30)
        best = np.maximum(best, np.where(on_it | about, 1.0, np.where(soon, SOON, LATER * later)))
    return best


def recent(days: Days, today: int) -> Column:
    """How lately each turn was said: 1 today, falling with the square root of the days; undated turns are in between.

    The odds that something is needed again fall as a power of the time since it was met (Anderson & Schooler 1991);
    one half is the power that ACT-R takes (Anderson & Lebiere 1998). Bounded, unlike the logarithm; and unlike an
    exponential it has no time scale after which everything is equally old.

    Args:
        days: when each was said, as `datetime.date.toordinal` counts, or 0; shape ``(n,)``.
        today: the day to count back from; what was said later counts as today's.
    """
    known = days > 0
    lately: Column = 1 / np.sqrt(1.0 + np.maximum(today - days, 0))
    return np.where(known, lately, lately[known].mean() if known.any() else 0.0)


def of_whom(name: str, columns: Mapping[str, Column], users: Mask) -> Column:
    """A signal's column; of one that counts for users only, that of the signal it is of, and 0 for the others."""
    base = name.removeprefix(USERS)
    return columns[name] if base == name else np.where(users, columns[base], 0.0)


def behind(scores: Column, which: Mask) -> Column:
    """The scores, with those of ``which`` below the best few of the others, in their own order."""
    others = np.sort(scores[~which])[-_AHEAD:]
    if not len(others):
        return scores
    below = others[0] - _A_LITTLE * (2 - 1 / (1 + np.exp(-np.clip(scores, -20, 20))))
    return np.where(which & (scores > below), below, scores)


def ahead(scores: Column, groups: Rows, which: Mask, others: Mask) -> Column:
    """The scores, with those of ``which`` above the best of the ``others`` in their group, in their own order."""
    best = np.full(int(groups.max(initial=0)) + 1, -np.inf)
    np.maximum.at(best, groups[others], scores[others])
    above = best[groups] + _PREFERRED * (1 + 1 / (1 + np.exp(-np.clip(scores, -20, 20))))
    return np.where(which & (scores < above), above, scores)


def comparable(name: str, column: Column, among: Mask) -> Column:
    """The signal with mean 0 and deviation 1; those in `UNSCALED` keep their size.

    Args:
        name: the signal's.
        column: of each passage of a pool.
        among: those whose mean and deviation are taken.
    """
    chosen = column[among]
    # What numpy's mean and std do; what they do beside it takes longer than that.
    mean = np.add.reduce(chosen) / len(chosen)
    centred = column - mean
    if name in UNSCALED:
        return np.asarray(2 * centred)
    apart = chosen - mean
    deviation = float(np.sqrt(np.add.reduce(apart * apart) / len(chosen)))
    if name == "length" and deviation < _LENGTHS:
        # Among texts of one length a letter more says nothing.
        return np.asarray(centred / _LENGTHS)
    # The mean of equal floats can miss them by a last digit, which a division would blow up to 1.
    if deviation <= 1e-12 * float(np.abs(column).max()):
        return np.zeros_like(centred)
    return np.asarray(centred / deviation)
