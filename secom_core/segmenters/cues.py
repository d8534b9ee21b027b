"""Cues of a boundary: the form of the messages around a gap, and English words that open and close matters.

The form (length, questions) is the same in any language. The words are sorted into kinds: an indefinite article
introduces something new, a pronoun holds on to something old, thanks end a matter, "looking for" begins one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ..text.kept import KEPT, Kept
from ..text.word_lists import word_lists
from .cohesion import Places
from .partition import Floats

KINDS: Final = {kind: frozenset(words.split()) for kind, words in word_lists(__package__, "cue_words.txt").items()}
"""The words of each kind."""

_NUMBER: Final = "number"
_NAMES: Final = (*KINDS, _NUMBER)
_KINDS_OF: Final = {
    word: tuple(kind for kind, members in KINDS.items() if word in members)
    for word in frozenset().union(*KINDS.values())
}
_WORDS_READ: Final = 25
"""How many words of a message are read: as long were those that the weights of the kinds were fitted on. A page holds a
word of every kind."""
_PLACES: Final = ("last", "last_end", "next", "next_start", "after_start")
WORDS: Final = tuple(f"{place}:{name}" for place in _PLACES for name in _NAMES)
"""The names of the columns of `word_kinds`."""

FORM: Final = tuple(
    "last_length next_length after_length earlier_asks last_asks last_ends_asking next_asks next_ends_asking "
    "after_asks".split()
)
"""The names of the columns of `form`."""

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+")
_ASKS: Final = re.compile("[?？؟\u037e⸮]")
_ENDS_ASKING: Final = re.compile(r"[?？؟\u037e⸮]\W*$")


class _Cues(NamedTuple):
    """What one message shows by itself: its length, its questions, and the kinds of the words that it opens and ends
    with; for those next to the gap, of the first three and the last four.
    """

    length: float
    asks: bool
    ends_asking: bool
    share_read: float
    opening: Floats
    closing: Floats
    start: Floats
    end: Floats


def _read(text: str) -> _Cues:
    words = _WORD.findall(text.casefold().replace("’", "'"))
    asks, ends_asking = bool(_ASKS.search(text)), bool(_ENDS_ASKING.search(text[-80:]))
    share_read = _WORDS_READ / max(len(words), _WORDS_READ)
    opening, closing = _marks(words[:_WORDS_READ]), _marks(words[-_WORDS_READ:])
    found = opening, closing, _marks(words[:3]), _marks(words[-4:])
    return _Cues(math.log1p(len(text)), asks, ends_asking, share_read, *found)


_cues: Final = Kept(_read, characters=KEPT)


def form(texts: Sequence[str], openings: Places | None = None) -> Floats:
    """Lengths relative to the run's own, and who asks, around each gap.

    Args:
        texts: the messages of a run, in order.
        openings: which of them open a turn, where some do not: their lengths are relative to each other's, and those
            of the replies too. An assistant's are always longer than what it is asked, which says nothing.

    Returns:
        Shape ``(len(texts) - 1, len(FORM))``.
    """
    count = len(texts)
    if count < 2:
        return np.zeros((0, len(FORM)))
    cues = [_cues(text) for text in texts]
    lengths = np.array([each.length for each in cues])
    relative = _padded(_relative(lengths, openings))
    asks = _padded(np.array([each.asks for each in cues], dtype=np.float64))
    ends = _padded(np.array([each.ends_asking for each in cues], dtype=np.float64))
    last, following, after = slice(1, count), slice(2, count + 1), slice(3, count + 2)
    columns = [relative[last], relative[following], relative[after], asks[0 : count - 1], asks[last], ends[last]]
    return np.stack([*columns, asks[following], ends[following], asks[after]], axis=1)


def _relative(lengths: Floats, openings: Places | None) -> Floats:
    opens = np.zeros(len(lengths), dtype=np.bool_)
    opens[slice(None) if openings is None else openings] = True
    means = [lengths[group].mean() if group.any() else 0.0 for group in (~opens, opens)]
    return np.asarray(lengths - np.where(opens, means[1], means[0]))


def _padded(values: Floats) -> Floats:
    """Values with a 0 before and after, so that the gap before unit ``i`` finds its neighbours at ``i .. i + 3``."""
    return np.concatenate([[0.0], values, [0.0]])


def word_kinds(texts: Sequence[str]) -> Floats:
    """Which kinds of words stand around each gap, 0 or 1.

    Args:
        texts: the messages of a run, in order.

    Returns:
        Shape ``(len(texts) - 1, len(WORDS))``.
    """
    cues = [_cues(text) for text in texts]
    opening, closing, starts, ends = (
        np.array(rows).reshape(len(texts), len(_NAMES))
        for rows in zip(*((each.opening, each.closing, each.start, each.end) for each in cues), strict=True)
    )
    after = np.concatenate([starts[2:], np.zeros((1, len(_NAMES)))])[: max(len(texts) - 1, 0)]
    return np.concatenate([closing[:-1], ends[:-1], opening[1:], starts[1:], after], axis=1)


def share_read(texts: Sequence[str]) -> float:
    """How much of the messages `word_kinds` reads, on average: 1 where all are short."""
    return sum(_cues(text).share_read for text in texts) / len(texts)


def _marks(words: Sequence[str]) -> Floats:
    found = {kind for word in words for kind in _KINDS_OF.get(word, (_NUMBER,) if word.isdigit() else ())}
    return np.array([name in found for name in _NAMES], dtype=np.float64)
