"""What can be seen at a gap between two turns: how the first ends, how the second opens, how alike both sides are.

Every feature is cheap and local: the cost of a session is linear in its turns.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from ...analysis import terms
from ...conversation import Turn
from ..evidence import at_turns, pauses
from ..lexical import COLUMNS, bags_of, columns

__all__ = [
    "CUES",
    "PATTERNS",
    "SIMILARITIES",
    "WORDING",
    "Floats",
    "SessionView",
    "opens_with_first",
    "pattern_vectors",
    "view_of",
]

Floats = npt.NDArray[np.float32]

WORDING: Final = COLUMNS
"""Names of the measures of `secom_core.segmenters.lexical.columns`."""

PATTERNS: Final = 512
"""How many columns of a turn's row tell its wording; the others are its vector."""

_WINDOWS: Final = (1, 2, 3, 5)
_SENTENCE: Final = re.compile(r"(?<=[.?!。？！])\s*")
_QUESTION: Final = re.compile(r"[?？؟]|[吗呢么]\W*$")
_TOKEN: Final = re.compile(r"[^\W_]+|[?!.,。？！，]")
_SCRIPT_WITHOUT_SPACES: Final = re.compile("[\u0e00-\u0eff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")

_ABOUT_YOU: Final = re.compile(
    r"\b(do|are|have|did|can|would|were) you\b|\byour\b|\bwhat (do|did|are|kind|sort)\b|\bwhere (do|are|did)\b|你|您"
)
_POINTS_BACK: Final = re.compile(
    r"\b(it|its|that|this|them|they|those|these|he|she|him|her|his|there|one|ones|then)\b|[它这那他她]"
)
_TURNS_BACK: Final = re.compile(r"\b(what|how) about you\b|\band you\b|\byourself\b|\byou too\b|你呢")
_REACTS: Final = re.compile(
    r"^\W*(oh|wow|cool|nice|great|awesome|good|that|sounds?|sorry|i am sorry|i'm sorry|haha|lol|really|interesting|"
    r"true|me too|neat|ha|hmm|mm|uh|嗯|噢|哦|呃|好)\b"
)
_ANSWERS: Final = re.compile(r"^\W*(yes|yeah|yep|no|nope|not|sure|ok|okay|fine|right|because|是|对|没有|不)")
_REQUESTS: Final = re.compile(
    r"\b(i need|i want|i'd like|i would like|i am looking|i'm looking|looking for|can you|could you|please|find|"
    r"give me|tell me|show me|help me|how (do|can|should) i|what('s| is) the|where is)\b|请问|我想|我要|帮我|麻烦"
)
_MOVES_ON: Final = re.compile(
    r"^\W*(so|okay so|anyway|now|next|then|well|also|by the way|another|moving on|alright|let's|let me|speaking of|"
    r"那么|另外|还有|对了|接下来)\b"
)
_CLOSES: Final = re.compile(
    r"\b(thanks?|thank you|bye|goodbye|welcome|have a (good|great|nice|lovely)|enjoy|take care|no problem|"
    r"that('s| is| will be| was)? all|glad|you too|cheers|see you)\b|谢谢|感谢|再见|不客气|拜拜"
)
_OFFERS_MORE: Final = re.compile(
    r"\b(anything|something) else\b|\bhelp you with\b|\bfurther (help|questions)\b|还有什么|别的"
)

CUES: Final = (
    "a ends with a question",
    "a asks",
    "a closes",
    "a offers more",
    "b asks",
    "b asks last",
    "b asks first",
    "b asks new",
    "b asks about you",
    "b points back",
    "b last points back",
    "b turns it back",
    "b reacts",
    "b answers",
    "b requests",
    "b moves on",
    "b closes",
    "b offers more",
    "b last novelty",
    "b last novelty in a question",
    "b last novelty after no question",
    "b last taken up later",
    "b first taken from before",
    "b requests after a closes",
    "b asks afresh",
    "b asks afresh after no question",
    "b asks about you afresh",
    "first gap",
    "second gap",
    "last gap",
)
"""Names of the cues of a gap between turn ``a`` and turn ``b``, in column order."""

SIMILARITIES: Final = (
    *(f"{name} {width}" for width in _WINDOWS for name in ("similarity", "depth")),
    "best pair across",
    "b with before",
    "a with after",
    "within before",
    "within after",
    "skips a",
    "skips b",
)
"""Names of the similarities of a gap, in column order."""


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session of two or more turns as the segmenter sees it; ``n`` turns, ``n - 1`` gaps.

    Args:
        session: the turns.
        bags: the terms of each message.
        wording: shape ``(n - 1, len(WORDING))``.
        cues: shape ``(n - 1, len(CUES))``, about 0 to 1 each.
        alike: shape ``(n - 1, len(SIMILARITIES))`` from vectors, or no columns where there is no embedder.
        rows: what the learned part reads of each turn, shape ``(n, d)``.
        opener: whether the turn after the gap is the first speaker's, shape ``(n - 1,)``.
        pauses: evidence from the clock, shape ``(n - 1,)``.
    """

    session: tuple[Turn, ...]
    bags: tuple[Counter[str], ...]
    wording: Floats
    cues: Floats
    alike: Floats
    rows: Floats
    opener: npt.NDArray[np.bool_]
    pauses: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.session) - 1


def view_of(turns: Sequence[Turn], vectors: Floats | None) -> SessionView:
    """All that is seen of a session with two or more turns.

    Args:
        turns: the session.
        vectors: a row of length 1 a turn, or None.
    """
    texts = [message.text for turn in turns for message in turn.messages]
    bags = bags_of(texts)
    patterns = pattern_vectors([turn.content for turn in turns])
    return SessionView(
        session=tuple(turns),
        bags=tuple(bags),
        wording=columns(texts, bags)[at_turns(turns)].astype(np.float32),
        cues=_cues(turns),
        alike=np.zeros((len(turns) - 1, 0), np.float32) if vectors is None else _similarities(vectors),
        rows=patterns if vectors is None else np.hstack([patterns, vectors.astype(np.float32)]),
        opener=opens_with_first(turns),
        pauses=pauses(turns),
    )


def _bucket(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % PATTERNS


def pattern_vectors(texts: Sequence[str]) -> Floats:
    """How each text is worded, function words and punctuation included, hashed (Weinberger et al. 2009).

    Hashed, so that what is kept of a scope holds none of its words.
    """
    rows = np.zeros((len(texts), PATTERNS), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for pattern in _patterns(text):
            row[_bucket(pattern)] += 1
    rows = np.sqrt(rows)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def _patterns(text: str) -> set[str]:
    lowered = text.lower()
    if _SCRIPT_WITHOUT_SPACES.search(lowered):
        tokens = [char for char in lowered if not char.isspace()]
        return {*tokens, *map("".join, pairwise(tokens)), "^" + "".join(tokens[:2])}
    tokens = _TOKEN.findall(lowered)
    pairs = {f"{left} {right}" for left, right in pairwise(tokens)}
    return {*tokens, *pairs, "^" + " ".join(tokens[:1]), "^^" + " ".join(tokens[:2])}


def opens_with_first(turns: Sequence[Turn]) -> npt.NDArray[np.bool_]:
    """Whether each gap's next turn is the first speaker's; where nobody is named, two people are taken to alternate."""
    labels = [turn.messages[0].label or str(place % 2) for place, turn in enumerate(turns)]
    return np.array([label == labels[0] for label in labels[1:]], dtype=np.bool_)


def _sentences(text: str) -> list[str]:
    return [piece for piece in _SENTENCE.split(text.lower()) if piece.strip(" .!?。？！")] or [text.lower()]


@dataclass(frozen=True, slots=True)
class _Wording:
    ends: tuple[float, ...]
    opens: tuple[float, ...]
    first: frozenset[str]
    last: frozenset[str]
    all: frozenset[str]


def _wording(turn: Turn) -> _Wording:
    opening, closing = turn.messages[0].text.lower(), turn.messages[-1].text.lower()
    first, last = _sentences(opening), _sentences(closing)
    new = first[-1]
    asks, asks_last = _asks(opening), _asks(new)
    return _Wording(
        ends=(
            _asks(last[-1]),
            _asks(closing),
            _has(_CLOSES, closing),
            _has(_OFFERS_MORE, closing),
        ),
        opens=(
            asks,
            asks_last,
            _asks(first[0]),
            asks_last and _has(_ABOUT_YOU, new),
            _has(_POINTS_BACK, opening),
            _has(_POINTS_BACK, new),
            _has(_TURNS_BACK, new),
            _has(_REACTS, opening),
            _has(_ANSWERS, opening),
            _has(_REQUESTS, opening),
            _has(_MOVES_ON, opening),
            _has(_CLOSES, opening),
            _has(_OFFERS_MORE, opening),
        ),
        first=frozenset(terms(first[0])),
        last=frozenset(terms(new)),
        all=frozenset(terms(turn.content)),
    )


def _asks(text: str) -> float:
    return float(_QUESTION.search(text) is not None)


def _has(pattern: re.Pattern[str], text: str) -> float:
    return float(pattern.search(text) is not None)


def _cues(turns: Sequence[Turn]) -> Floats:
    seen = [_wording(turn) for turn in turns]
    return np.array([_gap_cues(seen, place) for place in range(len(turns) - 1)], np.float32).reshape(-1, len(CUES))


def _gap_cues(seen: Sequence[_Wording], place: int) -> tuple[float, ...]:
    a, b = seen[place], seen[place + 1]
    before = frozenset().union(*(turn.all for turn in seen[max(0, place - 2) : place + 1]))
    after = frozenset().union(*(turn.all for turn in seen[place + 2 : place + 4]))
    novelty = len(b.last - before) / len(b.last) if b.last else 0.5
    quiet = 1 - a.ends[0]
    asks, asks_last, asks_first, *rest = b.opens
    afresh = asks_last * (1 - b.opens[5]) * (1 - b.opens[6])
    return (
        *a.ends,
        asks,
        asks_last,
        asks_first,
        asks_last * quiet,
        *rest,
        novelty,
        novelty * asks_last,
        novelty * quiet,
        len(b.last & after) / (1 + len(b.last)),
        float(bool(b.first & before)),
        b.opens[9] * a.ends[2],
        afresh,
        afresh * quiet,
        afresh * b.opens[3],
        float(place == 0),
        float(place == 1),
        float(place == len(seen) - 2),
    )


def _similarities(rows: Floats) -> Floats:
    """Likeness across each gap at several widths, its depth (Hearst 1997), and single pairs around it."""
    sums = np.vstack([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0, dtype=np.float64)])
    gaps = np.arange(1, len(rows))
    columns: list[npt.NDArray[np.float64]] = []
    for width in _WINDOWS:
        left = sums[gaps] - sums[np.maximum(gaps - width, 0)]
        right = sums[np.minimum(gaps + width, len(rows))] - sums[gaps]
        scale = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        alike = (left * right).sum(axis=1) / np.maximum(scale, 1e-9)
        columns += [alike, _depths(alike)]
    return np.asarray(np.column_stack([*columns, *_pairs(rows)]), dtype=np.float32)


def _depths(alike: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(_climb(alike) + _climb(alike[::-1])[::-1] - 2 * alike)


def _climb(alike: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The peak that is reached by walking left from each gap for as long as it does not go down."""
    peaks = alike.copy()
    for place in range(1, len(alike)):
        if alike[place - 1] >= alike[place]:
            peaks[place] = peaks[place - 1]
    return np.asarray(peaks)


def _pairs(rows: Floats) -> list[npt.NDArray[np.float64]]:
    n = len(rows)
    gaps = np.arange(n - 1)
    near = {step: np.einsum("ij,ij->i", rows[:-step], rows[step:]) for step in range(1, min(6, n))}

    def pair(first: npt.NDArray[np.intp], step: int) -> npt.NDArray[np.float64]:
        """Likeness of turns ``first`` and ``first + step``; minus infinity outside the session."""
        found = np.full(n - 1, -np.inf)
        inside = (first >= 0) & (first + step < n)
        if step in near:
            found[inside] = near[step][first[inside]]
        return found

    neighbours = pair(gaps, 1)

    def best(*found: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(np.max(np.vstack(found), axis=0))

    def filled(found: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(np.where(np.isfinite(found), found, neighbours))

    return [
        best(*(pair(gaps - back, back + 1 + ahead) for back in range(3) for ahead in range(3))),
        best(*(pair(gaps - back, back + 1) for back in range(4))),
        best(*(pair(gaps, 1 + ahead) for ahead in range(4))),
        filled(pair(gaps - 1, 1)),
        filled(pair(gaps + 1, 1)),
        filled(pair(gaps - 1, 2)),
        filled(pair(gaps, 2)),
    ]
