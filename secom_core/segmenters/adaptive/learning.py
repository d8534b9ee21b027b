"""How the segmenter learns: from unlabelled sessions by self-training, from labelled ones by regression.

Self-training: the prior tells at which gaps a segment surely ends and at which it surely does not; a regression over
the turns around them learns how these people open and close segments; a semi-Markov model turns its scores into
chances again, and so on. Half of the sessions are always scored by what was learned on the other half, so that
nothing is believed because it was learned by heart (as in cross-fitting).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...vectors import array_of, text_of
from ..evidence import Prior, chances_given
from ..partition import Floats, length_prior
from .gaps import PATTERNS, WORDS_AT, Moments, Rows, SessionView, prior_evidence, seen_of
from .head import OFFSETS, Gaps, Head, Penalty, fit_head, sigmoid

LONGEST: Final = 40
_USUAL_RATE: Final = 0.16
COLD_SHARE: Final = 0.7
COLD_THRESHOLD: Final = 0.3

# A segment has this many turns that say something.
_TELLING_TURNS: Final = 4.4
_PSEUDO_TURNS: Final = 10.0
_ROUNDS: Final = 6
_ALONE: Final = Penalty(20.0)
_SUREST_BOUNDARIES: Final = 0.6
_SUREST_INSIDES: Final = 1.3
_ROW_SCALE: Final = 4.0
_ENOUGH_GAPS: Final = 300.0
_SMOOTH_LENGTHS: Final = 20.0
_SHARES: Final = (0.3, 0.6, 0.8, 1.0)
_PENALTIES: Final = tuple(
    Penalty(l2, caution, PATTERNS) for l2, caution in ((3.0, 1.0), (10.0, 1.0), (30.0, 1.0), (10.0, 4.0), (30.0, 4.0))
)


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned of a scope.

    Args:
        head: the regression.
        moments: the scope's similarities.
        shift: added to the head's scores, so that they are log likelihood ratios.
        scale: what they are multiplied with first.
        trust: how much the head counts against the prior, 0 to 1.
        lengths: the log prior of segment lengths, shape ``(LONGEST,)``.
        threshold: the chance above which a gap is cut.
        labelled: whether people marked the boundaries.
    """

    head: Head
    moments: Moments
    shift: float
    scale: float
    trust: float
    lengths: Floats
    threshold: float
    labelled: bool = False

    def evidence(self, scores: Floats, prior: Floats) -> Floats:
        """The head's scores and the prior's evidence as one log likelihood ratio."""
        own = self.scale * scores + self.shift
        return np.asarray(self.trust * own + (1 - self.trust) * COLD_SHARE * prior)


_PRECISION: Final = "<f2"
_PLAIN: Final = ("shift", "scale", "trust", "threshold", "labelled")


def saved(learned: Learned) -> dict[str, Any]:
    """What was learned, as JSON holds it: some numbers, and arrays in half precision as base64."""
    plain = {name: getattr(learned, name) for name in _PLAIN}
    arrays = {"seen": learned.head.seen, "turns": learned.head.turns, "lengths": learned.lengths}
    arrays |= {"alike_mean": learned.moments.mean, "alike_spread": learned.moments.spread}
    return plain | {"bias": learned.head.bias} | {name: text_of(array, _PRECISION) for name, array in arrays.items()}


def loaded(kept: Mapping[str, Any]) -> Learned:
    """The inverse of `saved`."""
    turns = _floats(kept["turns"]).reshape(-1, len(OFFSETS))
    head = Head(_floats(kept["seen"]), turns, float(kept["bias"]))
    moments = Moments(_floats(kept["alike_mean"]), _floats(kept["alike_spread"]))
    return Learned(head, moments, lengths=_floats(kept["lengths"]), **{name: kept[name] for name in _PLAIN})


def _floats(text: str) -> Floats:
    return array_of(text, _PRECISION).astype(np.float64)


def gaps_of(views: Sequence[SessionView], seen: Sequence[Rows], evidence: Floats) -> Gaps:
    """The sessions as the head reads them; the prior's evidence is one of the features."""
    before = _by_session(views, 0.1 * evidence[:, None])
    together = [np.hstack([first, rows]).astype(np.float32) for first, rows in zip(before, seen, strict=True)]
    return Gaps.of(together, [_ROW_SCALE * view.rows for view in views])


def chances_of(views: Sequence[SessionView], evidence: Floats, lengths: Floats) -> Floats:
    """The chance of a boundary in each gap of all sessions, given the log prior of segment lengths."""
    parts = zip(views, _by_session(views, evidence), strict=True)
    return np.concatenate([chances_given(view.session, view.bags, part + view.plain, lengths) for view, part in parts])


def _by_session(views: Sequence[SessionView], values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    return np.split(values, np.cumsum([len(view) for view in views])[:-1])


def chances_in(view: SessionView, prior: Prior, learned: Learned | None) -> Floats:
    """The chance of a boundary in each gap of a session, by the prior alone where nothing was learned."""
    seen = seen_of(view, prior, learned.moments if learned else Moments.of([view], prior))
    known = prior_evidence(seen, prior)
    if learned is None:
        return chances_of([view], COLD_SHARE * known, length_prior(cold_length([view]), LONGEST))
    scores = learned.head.scores(gaps_of([view], [seen], known))
    return chances_of([view], learned.evidence(scores, known), learned.lengths)


def cold_length(views: Sequence[SessionView]) -> float:
    """How many turns a segment is expected to have here, before anything is learned.

    Where long turns are answered by mere hums, it has more turns. How many turns of a session say something is
    estimated by the perplexity of their shares of its characters.
    """
    telling = total = _PSEUDO_TURNS
    for view in views:
        sizes = np.array([1.0 + len(turn.content) for turn in view.session])
        shares = sizes / sizes.sum()
        telling += math.exp(-float(shares @ np.log(shares)))
        total += len(sizes)
    return _TELLING_TURNS * total / telling


def lengths_of(views: Sequence[SessionView], cuts: npt.NDArray[np.bool_], mean: float) -> Floats:
    """The log prior of segment lengths: those seen, over a smooth one with the same mean."""
    smooth = np.exp(length_prior(mean, LONGEST))
    ends = [np.concatenate([[-1], np.flatnonzero(part), [len(part)]]) for part in _by_session(views, cuts)]
    seen = np.concatenate([np.diff(end) for end in ends])
    counts = np.bincount(np.minimum(seen, LONGEST), minlength=LONGEST + 1)[1:]
    return np.asarray(np.log((counts + _SMOOTH_LENGTHS * smooth) / (counts.sum() + _SMOOTH_LENGTHS)))


def learn(views: Sequence[SessionView], prior: Prior) -> Learned:
    """Self-training on unlabelled sessions (Yarowsky 1995; SeCom's section 2.2 asks a language model instead)."""
    moments = Moments.of(views, prior)
    seen = [seen_of(view, prior, moments) for view in views]
    known = np.concatenate([prior_evidence(rows, prior) for rows in seen])
    cold = length_prior(cold_length(views), LONGEST)
    chances = chances_of(views, COLD_SHARE * known, cold)
    expected = rate = float(np.clip(math.sqrt(chances.mean() * _USUAL_RATE), 0.02, 0.3))
    gaps = gaps_of(views, seen, known)
    opener = np.concatenate([view.opener for view in views])
    half = np.repeat(np.arange(len(views)) % 2, gaps.lengths)
    heads: list[Head | None] = [None, None]
    share = rate
    for _ in range(_ROUNDS):
        targets, weights = surest(chances, rate, opener)
        scores = np.zeros(len(chances))
        for part in (0, 1):
            # One session alone has no other half to learn from.
            others = weights * (half != part) if half.any() else weights
            head = fit_head(gaps, targets, others, _ALONE, heads[part])
            scores[half == part] = head.scores(gaps)[half == part]
            heads[part] = head
        share, clarity = mixture(scores, rate)
        rate = expected * (1 + clarity * (float(np.clip(share / expected, 0.7, 1.3)) - 1))
        chances = chances_of(views, scores + shift_for(scores, rate), length_prior(1 / rate, LONGEST))
    head = Head.unflat(np.mean([head.flat() for head in heads if head], axis=0), *gaps.widths)
    own = head.scores(gaps)
    trust = float(np.clip((2 - share / expected) / 0.6, 0, 1)) * len(own) / (len(own) + _ENOUGH_GAPS)
    # Where the prior knows no word, what is surest is not sure enough to learn from: it drifts to how long turns are.
    trust *= float(np.average([rows[:, WORDS_AT].any() for rows in seen], weights=gaps.lengths))
    # Where little was learned, all stays as it was before.
    own_lengths = np.exp(length_prior(1 / rate, LONGEST))
    lengths = np.log(trust * own_lengths + (1 - trust) * np.exp(cold))
    draft = Learned(head, moments, shift_for(own, rate), 1.0, trust, lengths, COLD_THRESHOLD)
    final = chances_of(views, draft.evidence(own, known), lengths)
    return replace(draft, threshold=trust * threshold_for(final) + (1 - trust) * expected_threshold(final))


def surest(chances: Floats, rate: float, opener: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The gaps that are surely boundaries and surely none, as targets and weights.

    The second are weighted so that each speaker is as often among them as among the first: otherwise it would be
    learned who speaks at a boundary, and not what is said there.
    """
    high = np.quantile(chances, 1 - _SUREST_BOUNDARIES * rate)
    low = np.quantile(chances, max(0.0, 1 - _SUREST_INSIDES * rate))
    ends = chances >= high
    weights = (ends | (chances <= low)).astype(np.float64)
    inside = (weights > 0) & ~ends
    share = np.array([[(group & (opener == who)).sum() + 1.0 for who in (False, True)] for group in (ends, inside)])
    share /= share.sum(axis=1, keepdims=True)
    weights[inside] *= np.maximum(share[0] / share[1], 0.2)[opener[inside].astype(np.intp)]
    return ends.astype(np.float64), weights


def shift_for(scores: Floats, rate: float) -> float:
    """What makes scores log likelihood ratios, if their mean chance is to be ``rate``."""
    low, high = -50.0, 50.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(scores + middle).mean() < rate else (low, middle)
    return low - math.log(rate / (1 - rate))


def mixture(scores: Floats, rate: float, steps: int = 50) -> tuple[float, float]:
    """Two bell curves of one width, fitted to scores by expectation maximisation from the split at ``rate``.

    Returns:
        The share of the upper one, and how far it may be believed: not at all (0) where the two melt into one, wholly
        (1) where they stand apart.
    """
    upper = (scores > np.quantile(scores, 1 - rate)).astype(np.float64)
    middles, width = np.zeros(2), 1.0
    for _ in range(steps):
        shares = np.stack([1 - upper, upper])
        sizes = shares.sum(axis=1) + 1e-9
        middles = shares @ scores / sizes
        width = math.sqrt(float((shares * (scores - middles[:, None]) ** 2).sum()) / len(scores)) + 1e-9
        odds = (np.log(sizes[1]) - np.log(sizes[0])) + (middles[1] - middles[0]) * (scores - middles.mean()) / width**2
        upper = sigmoid(odds)
    apart = float(middles[1] - middles[0]) / width
    return float(upper.mean()), float(np.clip((apart - 2.5) / 1.5, 0, 1))


def threshold_for(chances: Floats) -> float:
    """The chance above which a cut raises the expected F1: half of the best expected F1 (Lipton et al. 2014)."""
    ranked = np.sort(chances)[::-1]
    hits = np.cumsum(ranked)
    best = float((2 * hits / (np.arange(1, len(ranked) + 1) + hits[-1])).max())
    return float(np.clip(best / 2, 0.2, 0.5))


def expected_threshold(chances: Floats) -> float:
    """The chance above which there are as many cuts as the chances add up to: right even where evidence is weak."""
    return float(np.clip(np.quantile(chances, 1 - chances.mean()), 0.2, 0.5))


def learn_labelled(
    views: Sequence[SessionView], truth: Floats, prior: Prior, before: Learned | None, seed: int
) -> Learned:
    """A regression on sessions whose boundaries are known, its strength chosen and its scores calibrated on folds.

    Args:
        views: the sessions.
        truth: 0 or 1 a gap.
        prior: what was known before.
        before: what was learned without labels; its evidence takes the place of the prior's.
        seed: how sessions are dealt to the folds.
    """
    moments = before.moments if before else Moments.of(views, prior)
    seen = [seen_of(view, prior, moments) for view in views]
    known = np.concatenate([prior_evidence(rows, prior) for rows in seen])
    gaps = gaps_of(views, seen, known)
    if before is not None:
        known = before.evidence(before.head.scores(gaps), known)
        gaps = gaps_of(views, seen, known)
    rate = float(np.clip(truth.mean(), 0.005, 0.5))
    folds = np.repeat(np.random.default_rng(seed).permutation(len(views)) % min(4, len(views)), gaps.lengths)
    tried = [_out_of_fold(gaps, truth, folds, penalty) for penalty in _PENALTIES]
    fits = [_calibrated(scores, truth) for scores in tried]
    best = min(range(len(fits)), key=lambda place: fits[place][2])
    scale, shift, _ = fits[best]
    shift -= math.log(rate / (1 - rate))
    share, lengths, chances = _beside_lengths(views, truth, scale * tried[best] + shift)
    head = fit_head(gaps, truth, np.ones(len(truth)), _PENALTIES[best])
    # As many cuts as people made: Pk and WindowDiff punish more of them, and F1 gains little.
    threshold = float(np.clip(np.quantile(chances, 1 - rate), 0.05, 0.6))
    return Learned(head, moments, share * shift, share * scale, 1.0, lengths, threshold, labelled=True)


def _beside_lengths(views: Sequence[SessionView], truth: Floats, evidence: Floats) -> tuple[float, Floats, Floats]:
    """How much of the evidence to believe beside segment lengths, which lengths, and the chances that follow.

    Both tell some of the same, so that the evidence counts for less where lengths are regular.
    """
    mean = float(np.clip(len(truth) / max(1.0, truth.sum()), 1.01, LONGEST))
    found = []
    memoryless = np.log1p(-1 / (mean + 1e-9)) * np.arange(LONGEST) - math.log(mean)
    for lengths in (memoryless, length_prior(mean, LONGEST), lengths_of(views, truth > 0, mean)):
        for share in _SHARES:
            chances = chances_of(views, share * evidence, lengths)
            sure = np.clip(chances, 1e-6, 1 - 1e-6)
            surprise = -float((truth * np.log(sure) + (1 - truth) * np.log(1 - sure)).mean())
            found.append((surprise, share, lengths, chances))
    _, share, lengths, chances = min(found, key=lambda one: one[0])
    return share, lengths, chances


def _out_of_fold(gaps: Gaps, truth: Floats, folds: npt.NDArray[np.intp], penalty: Penalty) -> Floats:
    scores = np.zeros(len(truth))
    head: Head | None = None
    for fold in np.unique(folds):
        head = fit_head(gaps, truth, (folds != fold).astype(np.float64), penalty, head)
        scores[folds == fold] = head.scores(gaps)[folds == fold]
    return scores


def _calibrated(scores: Floats, truth: Floats) -> tuple[float, float, float]:
    """Scale and shift that make scores log odds (Platt 1999), and how badly they then explain the truth."""
    none = np.zeros((len(scores) + 1, 0), np.float32)
    line = fit_head(Gaps.of([scores[:, None].astype(np.float32)], [none]), truth, np.ones(len(truth)), Penalty(0.1))
    odds = line.seen[0] * scores + line.bias
    return float(line.seen[0]), line.bias, float((np.logaddexp(0, odds) - truth * odds).mean())
