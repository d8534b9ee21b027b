"""What can be seen at a gap between two turns: how the first ends, how the second opens, how similar both sides are.

Every feature looks at a few turns only: the cost of a session is linear in its turns.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from ...conversation import Message, Turn
from ...text.patterns import regex
from ...text.terms import terms
from ...text.word_lists import word_lists
from ...vectors import unit_rows
from ..cohesion import bags_of
from ..evidence import Prior, at_turns, centred, plain
from ..lexical import COLUMNS, columns
from ..partition import Floats

Rows = npt.NDArray[np.float32]
"""Features in single precision, a row a gap or a turn."""

WORDING: Final = COLUMNS
"""Names of the measures of `secom_core.segmenters.lexical.columns`."""

PATTERNS: Final = 512
"""How many columns of a turn's row are its hashed wording; the others are its vector."""

PRIOR: Final = "adaptive_prior.json"
"""The weights of a new scope, for these features; ``benchmarks/train_prior.py`` fitted them on generated talk."""

_PSEUDO_GAPS: Final = 20.0
_WINDOWS: Final = (1, 2, 3, 5)
_SENTENCE: Final = regex(r"(?<=[.?!。？！])\s*")
_TOKEN: Final = regex(r"[^\W_]+|[?!.,。？！，]")
_SCRIPT_WITHOUT_SPACES: Final = regex("[\u0e00-\u0eff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")

_LISTS: Final = word_lists(__package__, "cue_patterns.txt")
_CUE_PATTERNS: Final = {cue: regex("|".join(lines.splitlines())) for cue, lines in _LISTS.items()}
_OPENINGS: Final = ("reacts", "answers", "requests", "moves on", "closes", "offers more")


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
        plain: evidence from the clock and from what is announced, shape ``(n - 1,)``.
    """

    session: tuple[Turn, ...]
    bags: tuple[Counter[str], ...]
    wording: Rows
    cues: Rows
    alike: Rows
    rows: Rows
    opener: npt.NDArray[np.bool_]
    plain: Floats

    def __len__(self) -> int:
        return len(self.session) - 1


def view_of(turns: Sequence[Turn], vectors: Rows | None) -> SessionView:
    """The features of a session with two or more turns.

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
        plain=plain(turns),
    )


def pattern_vectors(texts: Sequence[str]) -> Rows:
    """How each text is worded, function words and punctuation included, hashed (Weinberger et al. 2009).

    Hashed, so that what is kept of a scope holds none of its words.
    """
    hashed = [[zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in _patterns(text)] for text in texts]
    counts = [np.bincount(np.array(each) % PATTERNS, minlength=PATTERNS) for each in hashed]
    return unit_rows(np.sqrt(np.array(counts, dtype=np.float32)), len(texts))


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
    """How a turn closes and opens, as cues of the gap after it and before it, and the terms of its sentences."""

    closing: dict[str, float]
    opening: dict[str, float]
    first: frozenset[str]
    last: frozenset[str]
    all: frozenset[str]


def _wording(turn: Turn) -> _Wording:
    opening, closing = turn.messages[0].text.lower(), turn.messages[-1].text.lower()
    first, last = _sentences(opening), _sentences(closing)
    new = first[-1]
    asks_last = _shows("asks", new)
    return _Wording(
        closing={
            "a ends with a question": _shows("asks", last[-1]),
            "a asks": _shows("asks", closing),
            "a closes": _shows("closes", closing),
            "a offers more": _shows("offers more", closing),
        },
        opening={
            "b asks": _shows("asks", opening),
            "b asks last": asks_last,
            "b asks first": _shows("asks", first[0]),
            "b asks new": asks_last,
            "b asks about you": asks_last * _shows("about you", new),
            "b points back": _shows("points back", opening),
            "b last points back": _shows("points back", new),
            "b turns it back": _shows("turns it back", new),
        }
        | {f"b {cue}": _shows(cue, opening) for cue in _OPENINGS},
        first=frozenset(terms(first[0])),
        last=frozenset(terms(new)),
        all=frozenset(terms(turn.content)),
    )


def _shows(cue: str, text: str) -> float:
    return float(_CUE_PATTERNS[cue].search(text) is not None)


def _cues(turns: Sequence[Turn]) -> Rows:
    worded = [_wording(turn) for turn in turns]
    return np.array([[*_gap_cues(worded, place).values()] for place in range(len(turns) - 1)], np.float32)


def _gap_cues(turns: Sequence[_Wording], place: int) -> dict[str, float]:
    """The cues of the gap between turn ``place`` (a) and the next (b), by name."""
    a, b = turns[place], turns[place + 1]
    before = frozenset().union(*(turn.all for turn in turns[max(0, place - 2) : place + 1]))
    after = frozenset().union(*(turn.all for turn in turns[place + 2 : place + 4]))
    novelty = len(b.last - before) / len(b.last) if b.last else 0.5
    cues = a.closing | b.opening
    no_question = 1 - cues["a ends with a question"]
    asks_last = cues["b asks last"]
    afresh = asks_last * (1 - cues["b last points back"]) * (1 - cues["b turns it back"])
    cues["b asks new"] *= no_question
    return cues | {
        "b last novelty": novelty,
        "b last novelty in a question": novelty * asks_last,
        "b last novelty after no question": novelty * no_question,
        "b last taken up later": len(b.last & after) / (1 + len(b.last)),
        "b first taken from before": float(bool(b.first & before)),
        "b requests after a closes": cues["b requests"] * cues["a closes"],
        "b asks afresh": afresh,
        "b asks afresh after no question": afresh * no_question,
        "b asks about you afresh": afresh * cues["b asks about you"],
        "first gap": float(place == 0),
        "second gap": float(place == 1),
        "last gap": float(place == len(turns) - 2),
    }


CUES: Final = tuple(_gap_cues([_wording(Turn((Message(""),)))] * 2, 0))
"""The names of the cues of a gap between turn ``a`` and turn ``b``, in column order."""


def _similarities(rows: Rows) -> Rows:
    return np.column_stack([*_similarity_columns(rows).values()]).astype(np.float32)


def _similarity_columns(rows: Rows) -> dict[str, Floats]:
    """Similarity across each gap at several widths, its depth (Hearst 1997), and single pairs around it, by name.

    Args:
        rows: a vector of length 1 a turn, shape ``(n, d)``, two or more.
    """
    sums = np.vstack([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0, dtype=np.float64)])
    gaps = np.arange(1, len(rows))
    columns: dict[str, Floats] = {}
    for width in _WINDOWS:
        left = sums[gaps] - sums[np.maximum(gaps - width, 0)]
        right = sums[np.minimum(gaps + width, len(rows))] - sums[gaps]
        scale = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        alike = (left * right).sum(axis=1) / np.maximum(scale, 1e-9)
        columns |= {f"similarity {width}": alike, f"depth {width}": _depths(alike)}
    return columns | _pairs(rows)


def _depths(alike: Floats) -> Floats:
    return np.asarray(_climb(alike) + _climb(alike[::-1])[::-1] - 2 * alike)


def _climb(alike: Floats) -> Floats:
    """The peak that is reached by walking left from each gap for as long as it does not go down."""
    rises = np.concatenate([[True], ~(alike[:-1] >= alike[1:])])
    return np.asarray(alike[rises][np.cumsum(rises) - 1])


def _pairs(rows: Rows) -> dict[str, Floats]:
    count = len(rows)
    # The similarity of turn i and the one k turns later stands at [i + 3, k]; around it, minus infinity.
    near = np.full((count + 4, 6), -np.inf)
    for step in range(1, min(6, count)):
        near[3 : 3 + count - step, step] = np.einsum("ij,ij->i", rows[:-step], rows[step:])

    def pair(offset: int, step: int) -> Floats:
        """Similarity of two turns ``step`` apart, the first at ``offset`` from the turn before each gap."""
        return near[3 + offset : 2 + offset + count, step]

    def filled(offset: int, step: int) -> Floats:
        """The same, with the similarity across the gap outside the session."""
        return np.where(np.isfinite(pair(offset, step)), pair(offset, step), pair(0, 1))

    return {
        "best pair across": np.max([pair(-i, i + 1 + j) for i in range(3) for j in range(3)], axis=0),
        "b with before": np.max([pair(-i, i + 1) for i in range(4)], axis=0),
        "a with after": np.max([pair(0, 1 + j) for j in range(4)], axis=0),
        "within before": filled(-1, 1),
        "within after": filled(1, 1),
        "skips a": filled(-1, 2),
        "skips b": filled(0, 2),
    }


SIMILARITIES: Final = tuple(_similarity_columns(np.eye(2, dtype=np.float32)))
"""The names of the similarities of a gap, in column order."""

WORDS_AT: Final = [place for place, name in enumerate(WORDING) if ":" in name]
"""Which columns of the wording are words of English."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and spread of similarities, by column; they differ between embedders and between scopes."""

    mean: Floats
    spread: Floats

    @classmethod
    def usual(cls, prior: Prior) -> Moments:
        """Those of the talk that the prior was fitted on."""
        return cls(prior.means[-len(SIMILARITIES) :], prior.scales[-len(SIMILARITIES) :])

    @classmethod
    def of(cls, views: Sequence[SessionView], prior: Prior) -> Moments:
        """Those of ``views``, drawn to the usual ones where there are few gaps."""
        usual = cls.usual(prior)
        rows = np.vstack([view.alike for view in views]).astype(np.float64)
        if not rows.shape[1]:
            return usual
        total = len(rows) + _PSEUDO_GAPS
        mean = (rows.sum(axis=0) + _PSEUDO_GAPS * usual.mean) / total
        square = (((rows - mean) ** 2).sum(axis=0) + _PSEUDO_GAPS * usual.spread**2) / total
        return cls(mean, np.sqrt(square))


def seen_of(view: SessionView, prior: Prior, moments: Moments) -> Rows:
    """Features of each gap in comparable units, shape ``(gaps, k)``."""
    wording = centred(view.wording.astype(np.float64), prior.means[: len(WORDING)], prior.scales[: len(WORDING)])
    if not prior.is_english(view.wording):
        wording[:, WORDS_AT] = 0.0
    alike = (view.alike - moments.mean) / (moments.spread + 1e-6) if view.alike.shape[1] else view.alike
    return np.hstack([0.3 * wording, 0.5 * view.cues, 0.3 * alike]).astype(np.float32)


def prior_evidence(seen: Rows, prior: Prior) -> Floats:
    """The log likelihood ratio of a boundary in each gap of one session, for rows of `seen_of`."""
    sight = "words" if seen.shape[1] == len(WORDING) + len(CUES) else "vectors"
    return prior.value(sight if seen[:, WORDS_AT].any() else f"{sight}, any language", seen)
