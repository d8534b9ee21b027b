"""Topics from words alone: no model, any script.

Each gap is judged by how the words on both sides hang together (`cohesion`), by who asks and how long messages are
(`cues.form`), and, where people speak English, by small words that open and close matters (`cues.word_kinds`). Three
fitted sets of weights turn this into log likelihood ratios: one for any language, one for talk in which somebody is
served, one for chat; how the session speaks decides their shares. A semi-Markov model then weighs the evidence of
all gaps against how long topics last, and against whether one speaker opens them all.

The weights are in ``lexical_prior.json``; ``benchmarks/fit_lexical.py`` makes it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from ..analysis import terms
from ..conversation import Turn
from ..errors import InvalidInput
from ..memory import Segment, segments_from
from .cohesion import COHESION, alternation, cohesion
from .cues import FORM, WORDS, form, word_kinds
from .partition import best_partition, boundary_probabilities, check_longest, length_prior

__all__ = ["COLUMNS", "GATE", "LexicalSegmenter", "centred", "columns", "pauses"]

Floats = npt.NDArray[np.float64]

COLUMNS: Final = (*COHESION, *FORM, *WORDS)
"""What is measured at each gap."""
GATE: Final = ("next:request", "next:number", "next:liking")
"""The columns whose means over a session tell talk in which somebody is served from chat."""

_GATE_AT: Final = [COLUMNS.index(name) for name in GATE]
_WORDS_AT: Final = [place for place, name in enumerate(COLUMNS) if name.startswith("next:")]

# Below this share of messages with a known small word, the session is not English and they say nothing.
_ENGLISH: Final = 0.5
# The three weight sets are mixed: the neutral one alone is the surest on kinds of talk that nobody fitted it on.
_NEUTRAL_SHARE: Final = 0.4
_CENTRING, _PSEUDO_GAPS, _CLIP = 0.5, 4.0, 3.0
_ONE_OPENS, _REPLY_OPENS, _STRAY = 0.35, 0.1, 0.05
_LONG_PAUSE: Final = 20 * 60.0


@dataclass(frozen=True, slots=True)
class _Weights:
    """A linear model: the log likelihood ratio of a boundary."""

    bias: float
    values: Floats

    def __call__(self, columns: Floats) -> Floats:
        return np.asarray(columns[:, : len(self.values)] @ self.values + self.bias)


@dataclass(frozen=True, slots=True)
class _Prior:
    means: Floats
    scales: Floats
    neutral: _Weights
    service: _Weights
    chat: _Weights
    gate: _Weights


@lru_cache(maxsize=1)
def _prior() -> _Prior:
    kept = json.loads(files(__package__).joinpath("lexical_prior.json").read_text(encoding="utf-8"))
    models = {
        name: _Weights(kept[name]["bias"], np.array(kept[name]["values"]))
        for name in ("neutral", "service", "chat", "gate")
    }
    return _Prior(np.array(kept["means"]), np.array(kept["scales"]), **models)


@dataclass(frozen=True, slots=True)
class LexicalSegmenter:
    """Cuts where words, questions and small words of opening and closing say that a topic ends.

    Args:
        max_length: the longest segment, in turns.
        mean_length: how many turns a topic is expected to take where a turn is one message; fewer where it is an
            exchange. Weak against clear evidence.
        threshold: the probability above which a gap is cut; lower cuts more.

    Raises:
        InvalidInput: for a length below 1, or a threshold outside 0 and 1.
    """

    max_length: int = 40
    mean_length: float = 5.0
    threshold: float = 0.33

    def __post_init__(self) -> None:
        check_longest(self.max_length)
        if not self.mean_length >= 1:
            raise InvalidInput(f"mean_length is at least 1 turn, got {self.mean_length}")
        if not 0 < self.threshold < 1:
            raise InvalidInput(f"the threshold lies between 0 and 1, got {self.threshold}")

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges that cover ``turns``; none where there are none."""
        if not turns:
            return []
        longest = min(self.max_length, len(turns))
        cuts = self.probabilities(turns) - self.threshold
        return segments_from(best_partition(cuts, np.zeros((len(turns), longest))), len(turns))

    def scores(self, turns: Sequence[Turn]) -> Floats:
        """The strength of a boundary in each gap, shape ``(len(turns) - 1,)``: log odds, above 0 where it is cut."""
        chances = np.clip(self.probabilities(turns), 1e-9, 1 - 1e-9)
        return np.asarray(np.log(chances / (1 - chances)) - math.log(self.threshold / (1 - self.threshold)))

    def probabilities(self, turns: Sequence[Turn]) -> Floats:
        """The probability of a boundary in each gap, shape ``(len(turns) - 1,)``."""
        if len(turns) < 2:
            return np.zeros(0)
        # A topic takes fewer exchanges than single messages, but more than half as many.
        mean = self.mean_length * math.sqrt(len(turns) / sum(len(turn.messages) for turn in turns))
        lengths = length_prior(mean, min(self.max_length, len(turns)))
        return _posterior(turns, self.evidence(turns), lengths)

    def evidence(self, turns: Sequence[Turn]) -> Floats:
        """The log likelihood ratio of a boundary in each gap, taken by itself, shape ``(len(turns) - 1,)``.

        Measured between messages, so that a turn may be an exchange or one utterance.
        """
        if len(turns) < 2:
            return np.zeros(0)
        starts = np.array(list(accumulate(len(turn.messages) for turn in turns[:-1])), dtype=np.intp)
        judged = _judged(columns([message.text for turn in turns for message in turn.messages]))
        return np.asarray(judged[starts - 1] + pauses(turns))


def columns(texts: Sequence[str]) -> Floats:
    """Cohesion, form and small words at each gap between messages, shape ``(len(texts) - 1, len(COLUMNS))``."""
    bags = [Counter(terms(text)) for text in texts]
    return np.concatenate([cohesion(bags), form(texts), word_kinds(texts)], axis=1)


def centred(values: Floats, means: Floats, scales: Floats) -> Floats:
    """Columns in units of their spread, half way to the session's own mean, outliers clipped.

    The session's mean takes out what is only its style; half of it, because a session may have no boundary at all.
    """
    scaled = (values - means) / scales
    own = scaled.sum(axis=0) / (len(scaled) + _PSEUDO_GAPS)
    return np.asarray(np.clip(scaled - _CENTRING * own, -_CLIP, _CLIP))


def _judged(values: Floats) -> Floats:
    prior = _prior()
    scaled = centred(values, prior.means, prior.scales)
    neutral = prior.neutral(scaled)
    words = values[:, _WORDS_AT]
    if words.any(axis=1).mean() < _ENGLISH:
        return neutral
    served = 1 / (1 + np.exp(-prior.gate(values[:, _GATE_AT].mean(axis=0)[None])))
    worded = served * prior.service(scaled) + (1 - served) * prior.chat(scaled)
    return np.asarray(_NEUTRAL_SHARE * neutral + (1 - _NEUTRAL_SHARE) * worded)


def pauses(turns: Sequence[Turn]) -> Floats:
    """Evidence from the clock: a pause much longer than the session's own, where times are known."""
    times = [turn.at.timestamp() if turn.at else math.nan for turn in turns]
    waits = np.array([after - before for before, after in pairwise(times)])
    waits = np.where(waits > 0, waits, 0.0)  # unknown times, and clocks that went backwards, say nothing
    usual = max(10 * float(np.median(waits[waits > 0])) if waits.any() else 0.0, _LONG_PAUSE)
    excess = np.log(np.maximum(waits, 1.0) / usual)
    return np.asarray(np.where(excess > 0, np.minimum(2 + 1.5 * excess, 8.0), 0.0))


def _posterior(turns: Sequence[Turn], evidence: Floats, lengths: Floats) -> Floats:
    """The chance of a boundary, averaged over who may open topics: anyone, the first speaker, or the other one."""
    opener = _opens(turns)
    if opener is None:
        chances, _ = boundary_probabilities(evidence[None], lengths)
        return np.asarray(chances[0])
    shift = np.where(opener, math.log(2 - _STRAY), math.log(_STRAY))
    other = np.where(opener, math.log(_STRAY), math.log(2 - _STRAY))
    chances, support = boundary_probabilities(evidence + np.stack([np.zeros_like(shift), shift, other]), lengths)
    one = _one_opens(turns)
    weights = np.exp(support - support.max()) * [1 - one, one * (1 - _REPLY_OPENS), one * _REPLY_OPENS]
    return np.asarray(weights @ chances / weights.sum())


def _opens(turns: Sequence[Turn]) -> npt.NDArray[np.bool_] | None:
    """Whether the turn after each gap is the first speaker's; nothing where that says nothing."""
    if any(len(turn.messages) > 1 for turn in turns):
        return None
    labels = [turn.messages[0].label for turn in turns]
    if set(labels) == {""}:
        return np.asarray(np.arange(1, len(turns)) % 2 == 0)
    return np.array([label == labels[0] for label in labels[1:]]) if len(set(labels)) == 2 else None


def _one_opens(turns: Sequence[Turn]) -> float:
    """The prior chance that one party opens all topics: higher where two parties speak differently."""
    unlike = alternation([Counter(terms(turn.content)) for turn in turns])
    return 1 / (1 + math.exp(-(math.log(_ONE_OPENS / (1 - _ONE_OPENS)) + 60 * (unlike - 0.01))))
