"""From what is measured at the gaps to the chance that a segment ends there.

Three fitted linear models turn the measures into log likelihood ratios: one for any language and any talk, one for
talk in which somebody is served, one for chat. The words of the session decide their shares. A semi-Markov model then
weighs the evidence of all gaps against the usual lengths of segments, and against whether one speaker opens them all.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from ..conversation import Turn
from .announced import announced
from .cohesion import Places, alternation, bags_of
from .cues import share_read
from .partition import Floats, boundary_probabilities, length_prior

Measure = Callable[[Sequence[str], Sequence[Counter[str]], Places], Floats]
"""What is measured at each gap between messages, given their texts and terms and where turns begin."""

GATE: Final = ("next:request", "next:number", "next:liking")
"""The columns whose means over a session tell talk in which somebody is served from chat."""

# Below this share of messages with a known small word, the session is not English and the words say nothing.
_ENGLISH: Final = 0.5
# On kinds of talk that nothing was fitted on, the neutral model is the surest of the three.
_NEUTRAL_SHARE: Final = 0.4
_CENTRING, _PSEUDO_GAPS, _CLIP = 0.5, 4.0, 3.0
# The prior chances that one party opens every segment, that it is not the first to speak, and that the other does once.
_ONE_OPENS, _REPLY_OPENS, _STRAY = 0.35, 0.1, 0.05
_LONG_PAUSE: Final = 20 * 60.0


@dataclass(frozen=True, slots=True)
class Prior:
    """What was fitted, by column name.

    Args:
        columns: the names of the measures; some models read the first of them only.
        means: of each column, over the talk that was fitted.
        scales: the spread of each column.
        models: bias and weights, by name, such as ``neutral``, ``service``, ``chat`` and ``gate``.
    """

    columns: tuple[str, ...]
    means: Floats
    scales: Floats
    models: dict[str, tuple[float, Floats]]

    def value(self, model: str, columns: npt.NDArray[np.floating]) -> Floats:
        """The model's linear value for each row, shape ``(rows,)``."""
        bias, weights = self.models[model]
        return np.asarray(columns[:, : len(weights)] @ weights + bias)

    def is_english(self, values: npt.NDArray[np.floating]) -> bool:
        """Whether the words of a session say something, given what is measured at its gaps."""
        following = _following(self.columns[: values.shape[1]])
        return bool(values[:, following].any(axis=1).mean() >= _ENGLISH)


@lru_cache(maxsize=4)
def _following(columns: tuple[str, ...]) -> list[bool]:
    """Which columns are of the words after a gap."""
    return [name.startswith("next:") for name in columns]


@lru_cache(maxsize=4)
def load_prior(name: str) -> Prior:
    """Read a prior that ships with the package, such as ``"lexical_prior.json"``."""
    fitted = json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    models = {model: (float(each["bias"]), np.array(each["values"])) for model, each in fitted["models"].items()}
    return Prior(tuple(fitted["columns"]), np.array(fitted["means"]), np.array(fitted["scales"]), models)


def centred(values: Floats, means: Floats, scales: Floats) -> Floats:
    """Columns in units of their spread, half way to the session's own mean, outliers clipped.

    The session's mean takes out what is only its style; half of it, because a session may have no boundary at all.
    """
    scaled = (values - means) / scales
    own = scaled.sum(axis=0) / (len(scaled) + _PSEUDO_GAPS)
    return np.asarray(np.clip(scaled - _CENTRING * own, -_CLIP, _CLIP))


def weighed(values: Floats, prior: Prior, share_read: float = 1.0) -> Floats:
    """The log likelihood ratio of a boundary in each gap.

    Args:
        values: the measures, shape ``(gaps, len(prior.columns))``.
        prior: what was fitted on these columns.
        share_read: how much of the messages the measures of words were read from; these count for less in long ones.
    """
    scaled = centred(values, prior.means, prior.scales)
    neutral = prior.value("neutral", scaled)
    if not prior.is_english(values):
        return neutral
    habits = values[:, [prior.columns.index(name) for name in GATE]].mean(axis=0)
    served = 1 / (1 + np.exp(-prior.value("gate", habits[None])))
    worded = served * prior.value("service", scaled) + (1 - served) * prior.value("chat", scaled)
    share = (1 - _NEUTRAL_SHARE) * share_read
    return np.asarray((1 - share) * neutral + share * worded)


def at_turns(turns: Sequence[Turn]) -> Places:
    """Which gaps between messages are gaps between turns, shape ``(len(turns) - 1,)``."""
    return np.array(list(accumulate(len(turn.messages) for turn in turns[:-1])), dtype=np.intp) - 1


def pauses(turns: Sequence[Turn]) -> Floats:
    """Evidence from the clock: a pause much longer than the session's own, where times are known."""
    times = [turn.at.timestamp() if turn.at else math.nan for turn in turns]
    waits = np.array([after - before for before, after in pairwise(times)])
    waits = np.where(waits > 0, waits, 0.0)  # unknown times, and clocks that went backwards, say nothing
    known = sorted(waits[waits > 0].tolist())
    # The median; numpy's takes as long as all else here.
    usual = 10 * (known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2 if known else 0.0
    usual = max(usual, _LONG_PAUSE)
    excess = np.log(np.maximum(waits, 1.0) / usual)
    return np.asarray(np.where(excess > 0, np.minimum(2 + 1.5 * excess, 8.0), 0.0))


def plain(turns: Sequence[Turn]) -> Floats:
    """Evidence that needs no weighing: a long pause, and the words with which people announce another matter."""
    return pauses(turns) + announced(turns)


def boundary_chances(turns: Sequence[Turn], measure: Measure, prior: Prior, mean_length: float, longest: int) -> Floats:
    """The chance of a boundary in each gap between turns, shape ``(len(turns) - 1,)``.

    Args:
        turns: exchanges or utterances.
        measure: gives the measures, shape ``(messages - 1, len(prior.columns))``.
        prior: what was fitted on these columns.
        mean_length: how many turns a segment is expected to have where a turn is one message.
        longest: the longest segment, in turns.
    """
    if len(turns) < 2:
        return np.zeros(0)
    texts = [message.text for turn in turns for message in turn.messages]
    bags = bags_of(texts)
    # A segment has fewer exchanges than single messages, but more than half as many.
    mean = mean_length * math.sqrt(len(turns) / len(texts))
    # Where a question goes over into its reply, no gap is like those between turns: nothing is centred on it.
    at = at_turns(turns)
    values = measure(texts, bags, np.append(0, at + 1))[at]
    evidence = weighed(values, prior, share_read([texts[place] for place in at])) + plain(turns)
    return chances_given(turns, bags, evidence, length_prior(mean, min(longest, len(turns))))


def chances_given(turns: Sequence[Turn], bags: Sequence[Counter[str]], evidence: Floats, lengths: Floats) -> Floats:
    """The chance of a boundary in each gap, averaged over who may open segments: anyone, the first speaker, the other.

    Args:
        turns: two or more.
        bags: the terms of their messages.
        evidence: log likelihood ratios of a boundary, shape ``(len(turns) - 1,)``.
        lengths: the log prior of segment lengths, shape ``(longest,)``.
    """
    opener = _opens(turns)
    if opener is None:
        chances, _ = boundary_probabilities(evidence[None], lengths)
        return np.asarray(chances[0])
    first = np.where(opener, math.log(2 - _STRAY), math.log(_STRAY))
    other = np.where(opener, math.log(_STRAY), math.log(2 - _STRAY))
    chances, support = boundary_probabilities(evidence + np.stack([np.zeros_like(first), first, other]), lengths)
    one = _one_opens(bags)
    weights = np.exp(support - support.max()) * [1 - one, one * (1 - _REPLY_OPENS), one * _REPLY_OPENS]
    return np.asarray(weights @ chances / weights.sum())


def _opens(turns: Sequence[Turn]) -> npt.NDArray[np.bool_] | None:
    """Whether the turn after each gap is the first speaker's; None for exchanges, and for other than two speakers."""
    if any(len(turn.messages) > 1 for turn in turns):
        return None
    labels = [turn.messages[0].label for turn in turns]
    if set(labels) == {""}:
        return np.asarray(np.arange(1, len(turns)) % 2 == 0)
    return np.array([label == labels[0] for label in labels[1:]]) if len(set(labels)) == 2 else None


def _one_opens(bags: Sequence[Counter[str]]) -> float:
    """The prior chance that one party opens all segments: higher where two parties speak differently."""
    return 1 / (1 + math.exp(-(math.log(_ONE_OPENS / (1 - _ONE_OPENS)) + 60 * (alternation(bags) - 0.01))))
