"""How people open and close topics: the form of the messages around a gap, and English words that do such work.

The form (length, questions) needs no language. The words are sorted into kinds: an indefinite article introduces
something new, a pronoun holds on to something old, thanks end a matter, "looking for" begins one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["FORM", "KINDS", "WORDS", "form", "word_kinds"]

Floats = npt.NDArray[np.float64]

KINDS: Final[dict[str, frozenset[str]]] = {
    kind: frozenset(listed.split())
    for kind, listed in {
        "greeting": "hi hello hey greetings morning evening afternoon howdy",
        "thanks": "thank thanks thx appreciate grateful",
        "closing": "welcome bye goodbye care day night all else anything",
        "yes": "yes yeah yep yup sure okay ok alright right correct exactly definitely absolutely course indeed true "
        "certainly",
        "no": "no nope not nah never don't doesn't didn't isn't can't won't",
        "verdict": "great good nice cool wow awesome perfect sounds sound amazing fun funny lol haha bet lovely "
        "wonderful excellent fine interesting glad sorry hope lucky ah oh aw hmm",
        "pointing": "it it's its that that's those these this they them their they're he she him her his hers there "
        "one ones",
        "request": "need want wants looking look find help like book please tell give get show schedule set reserve "
        "recommend know search",
        "i": "i i'm i've i'd i'll me my mine myself we our us",
        "you": "you your you're yours you've u",
        "indefinite": "a an any some another",
        "definite": "the",
        "question": "what where when which how why who whose what's where's how's",
        "auxiliary": "do does did is are was were will would can could have has had should may shall",
        "linking": "and but so because or then also too either though however since well",
        "more": "more another other others still again instead different too",
        "time": "today tomorrow tonight now yesterday week weekend later soon recently lately",
        "liking": "think love like enjoy favorite favourite prefer hate feel",
    }.items()
}
_NUMBER: Final = "number"
_NAMES: Final = (*KINDS, _NUMBER)
_KINDS_OF: Final = {
    word: tuple(kind for kind, members in KINDS.items() if word in members)
    for word in frozenset().union(*KINDS.values())
}
_PLACES: Final = ("last", "last_end", "next", "next_start", "after_start")
WORDS: Final = tuple(f"{place}:{name}" for place in _PLACES for name in _NAMES)
"""The names of the columns of `word_kinds`."""
FORM: Final = (
    "last_length",
    "next_length",
    "after_length",
    "earlier_asks",
    "last_asks",
    "last_ends_asking",
    "next_asks",
    "next_ends_asking",
    "after_asks",
)
"""The names of the columns of `form`."""

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+")
_ASKS: Final = re.compile("[?？؟\u037e⸮]")
_ENDS_ASKING: Final = re.compile(r"[?？؟\u037e⸮]\W*$")


def form(texts: Sequence[str]) -> Floats:
    """Lengths relative to the run's own, and who asks, around each gap.

    Args:
        texts: the messages of a run, in order.

    Returns:
        Shape ``(len(texts) - 1, len(FORM))``.
    """
    count = len(texts)
    if count < 2:
        return np.zeros((0, len(FORM)))
    lengths = np.log1p([len(text) for text in texts])
    relative = _padded(lengths - lengths.mean())
    asks = _padded(np.array([bool(_ASKS.search(text)) for text in texts], dtype=np.float64))
    ends = _padded(np.array([bool(_ENDS_ASKING.search(text[-80:])) for text in texts], dtype=np.float64))
    last, following, after = slice(1, count), slice(2, count + 1), slice(3, count + 2)
    columns = [relative[last], relative[following], relative[after], asks[0 : count - 1], asks[last], ends[last]]
    return np.stack([*columns, asks[following], ends[following], asks[after]], axis=1)


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
    words = [_WORD.findall(text.casefold().replace("’", "'")) for text in texts]
    whole = np.array([_marks(said) for said in words]).reshape(len(texts), len(_NAMES))
    starts = np.array([_marks(said[:3]) for said in words]).reshape(whole.shape)
    ends = np.array([_marks(said[-4:]) for said in words]).reshape(whole.shape)
    after = np.concatenate([starts[2:], np.zeros((1, len(_NAMES)))])[: max(len(texts) - 1, 0)]
    return np.concatenate([whole[:-1], ends[:-1], whole[1:], starts[1:], after], axis=1)


def _marks(words: Sequence[str]) -> list[float]:
    found = set(_kinds(words))
    return [float(name in found) for name in _NAMES]


def _kinds(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        yield from _KINDS_OF.get(word, (_NUMBER,) if word.isdigit() else ())
