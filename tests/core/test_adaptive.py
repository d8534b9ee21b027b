"""The adaptive segmenter, on talk made on the spot: what it learns, what it keeps, what it refuses."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.evaluation.segmentation import evaluate
from secom_core.conversation import Message, Turn, as_turns, group_messages
from secom_core.errors import DegradedWarning, InvalidInput
from secom_core.memory import Segment, boundaries_of, check_partition, segments_from
from secom_core.protocols import Vectors
from secom_core.segmenters.adaptive import AdaptiveSegmenter
from secom_core.segmenters.adaptive.gaps import SIMILARITIES, pattern_vectors, view_of
from secom_core.segmenters.adaptive.head import Gaps, Penalty, fit_head, minimise, sigmoid
from secom_core.segmenters.adaptive.learning import (
    cold_length,
    expected_threshold,
    mixture,
    shift_for,
    surest,
    threshold_for,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from embedders import HashingEmbedder

TOPICS = {
    "garden": "roses tulips soil water shovel hedge lawn seeds compost pots".split(),
    "boat": "sail harbour rudder mast anchor tide deck crew knot wind".split(),
    "bread": "flour yeast oven dough crust rye knead loaf butter salt".split(),
    "chess": "queen bishop opening endgame clock pawn rook mate castle draw".split(),
    "train": "ticket platform delay carriage track seat signal driver timetable tunnel".split(),
    "paint": "brush canvas oil colour frame sketch easel gallery portrait varnish".split(),
}
Marked = tuple[tuple[Turn, ...], list[Segment]]


def _segment(topic: str, rng: random.Random) -> list[str]:
    """A topic of a scope with a habit of its own: "Regarding X" opens it, "noted" closes it."""
    words = TOPICS[topic]
    said = [f"Regarding the {topic}, {rng.choice(words)} and {rng.choice(words)} matter."]
    said += [f"The {' '.join(rng.sample(words, 3))} again." for _ in range(rng.randint(1, 4))]
    return [*said, f"Noted, {rng.choice(words)}."]


def _session(name: str, rng: random.Random) -> Marked:
    segments = [_segment(topic, rng) for topic in rng.sample(sorted(TOPICS), rng.randint(2, 5))]
    lines = [line for segment in segments for line in segment]
    ends = np.cumsum([len(segment) for segment in segments]) - 1
    return as_turns(lines, name), segments_from(ends.tolist(), len(lines))


def _sessions(count: int, seed: int) -> list[Marked]:
    rng = random.Random(seed)
    return [_session(f"{seed}-{place}", rng) for place in range(count)]


def _score(segmenter: AdaptiveSegmenter, marked: list[Marked]) -> float:
    truth = [boundaries_of(segments) for _, segments in marked]
    return evaluate(truth, [boundaries_of(segmenter.segment(turns)) for turns, _ in marked]).score


@pytest.fixture(params=[False, True], ids=["words", "vectors"])
def embedder(request: pytest.FixtureRequest) -> HashingEmbedder | None:
    return HashingEmbedder(64) if request.param else None


@pytest.mark.slow
def test_learns_from_unlabelled_sessions(embedder: HashingEmbedder | None) -> None:
    segmenter = AdaptiveSegmenter(embedder)
    unseen = _sessions(20, 1)
    cold = _score(segmenter, unseen)
    assert segmenter.learn([turns for turns, _ in _sessions(40, 2)])
    assert _score(segmenter, unseen) > max(cold, 0.8)


@pytest.mark.slow
def test_learns_more_from_a_few_labels(embedder: HashingEmbedder | None) -> None:
    segmenter = AdaptiveSegmenter(embedder)
    unseen = _sessions(20, 1)
    cold = _score(segmenter, unseen)
    segmenter.fit(_sessions(20, 3))
    assert _score(segmenter, unseen) > max(cold, 0.95)


@pytest.mark.slow
def test_labels_that_say_nothing_ends_are_believed() -> None:
    segmenter = AdaptiveSegmenter()
    whole = [(turns, [Segment(0, len(turns))]) for turns, _ in _sessions(20, 4)]
    segmenter.fit(whole)
    assert all(len(segmenter.segment(turns)) == 1 for turns, _ in whole)


@pytest.mark.slow
def test_labels_stay_when_unlabelled_sessions_come() -> None:
    segmenter = AdaptiveSegmenter()
    segmenter.fit(_sessions(10, 3))
    fitted = segmenter.learned
    assert not segmenter.learn([turns for turns, _ in _sessions(40, 5)])
    assert segmenter.learned is fitted


def test_one_topic_is_left_whole() -> None:
    rng = random.Random(0)
    words = TOPICS["boat"]
    lines = [f"The {' '.join(rng.sample(words, 4))}." for _ in range(30)]
    assert len(AdaptiveSegmenter(HashingEmbedder(64)).segment(as_turns(lines))) <= 3


def test_sessions_are_embedded_together_and_each_text_once() -> None:
    asked: list[list[str]] = []

    class Counting(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            asked.append(list(texts))
            return super().embed(texts)

    segmenter = AdaptiveSegmenter(Counting(64))
    sessions = [turns for turns, _ in _sessions(5, 14)]
    together = segmenter.segment_all([*sessions, (), sessions[0], sessions[0][:1]])
    assert len(asked) == 1
    assert len(asked[0]) == len(set(asked[0]))
    alone = [segmenter.segment(turns) for turns in sessions]
    assert together == [*alone, [], alone[0], [Segment(0, 1)]]


def test_exchanges_are_segmented_too() -> None:
    lines = [line for topic in ("bread", "chess") for line in _segment(topic, random.Random(1)) * 2]
    roles = ("user", "assistant")
    turns = group_messages(Message(line, role=roles[place % 2]) for place, line in enumerate(lines))
    check_partition(AdaptiveSegmenter().segment(turns), len(turns))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights() -> None:
    labelled = _sessions(30, 6)
    made = [AdaptiveSegmenter(seed=7) for _ in range(2)]
    for segmenter in made:
        segmenter.fit(labelled)
    first, second = (segmenter.state() for segmenter in made)
    assert first == second


@pytest.mark.slow
def test_no_word_of_the_scope_is_saved() -> None:
    segmenter = AdaptiveSegmenter()
    assert segmenter.learn([turns for turns, _ in _sessions(30, 9)])
    kept = segmenter.state().lower()
    assert not any(word in kept for words in TOPICS.values() for word in words if len(word) > 4)


def test_a_state_of_another_format_is_left_with_a_warning() -> None:
    with pytest.warns(DegradedWarning, match="in format 99 does not fit embedder None in format 2"):
        assert AdaptiveSegmenter().for_scope('{"format": 99}').learned is None


@pytest.mark.slow
def test_one_template_serves_many_scopes(embedder: HashingEmbedder | None) -> None:
    template = AdaptiveSegmenter(embedder)
    first, second = template.for_scope(None), template.for_scope(None)
    assert first.learn([turns for turns, _ in _sessions(40, 2)])
    assert (template.learned, second.learned) == (None, None)
    again = template.for_scope(first.state())
    for turns, _ in _sessions(5, 8):
        np.testing.assert_array_equal(again.chances(turns), first.chances(turns))
    assert _score(again, _sessions(20, 1)) > max(_score(second, _sessions(20, 1)), 0.8)


@pytest.mark.slow
def test_a_state_is_small_and_holds_no_word() -> None:
    segmenter = AdaptiveSegmenter(HashingEmbedder(384))
    segmenter.learn([turns for turns, _ in _sessions(30, 9)])
    assert len(segmenter.state()) < 20_000
    assert json.loads(segmenter.state())["learned"]["trust"] > 0


def test_little_is_not_learned_from() -> None:
    segmenter = AdaptiveSegmenter()
    assert not segmenter.learn([turns for turns, _ in _sessions(2, 9)])
    assert not segmenter.learn([])
    assert segmenter.learned is None


@pytest.mark.slow
def test_labels_of_the_template_go_before_what_a_scope_learned_alone() -> None:
    template = AdaptiveSegmenter()
    alone = template.for_scope()
    alone.learn([turns for turns, _ in _sessions(30, 9)])
    template.fit(_sessions(10, 3))
    scope = template.for_scope(alone.state())
    assert scope.learned is template.learned
    assert not scope.learn([turns for turns, _ in _sessions(30, 9)])
    assert template.for_scope(scope.state()).learned is not None


@pytest.mark.slow
def test_a_state_of_another_embedder_is_left_with_a_warning() -> None:
    kept = AdaptiveSegmenter(HashingEmbedder(64))
    kept.learn([turns for turns, _ in _sessions(30, 9)])
    with pytest.warns(DegradedWarning, match="embedder 'hashing-64' .* does not fit embedder None"):
        made = AdaptiveSegmenter().for_scope(kept.state())
    assert made.learned is None


@pytest.mark.parametrize("state", ["{", "[]", ""])
def test_a_state_that_is_none_is_refused(state: str) -> None:
    with pytest.raises(InvalidInput, match="a segmenter's state is a JSON object"):
        AdaptiveSegmenter().for_scope(state)


def test_fit_refuses_no_sessions_and_wrong_segments() -> None:
    with pytest.raises(InvalidInput, match="got none"):
        AdaptiveSegmenter().fit([])
    with pytest.raises(InvalidInput, match="segments end at turn 2, the session has 3"):
        AdaptiveSegmenter().fit([(as_turns(["a", "b", "c"]), [Segment(0, 2)])])


@pytest.mark.slow
@pytest.mark.parametrize("texts", [[], ["one"], ["", ""], ["?", "\ud800", "\0"], ["你好", "再见", "谢谢"]])
def test_any_text_is_partitioned(texts: list[str], embedder: HashingEmbedder | None) -> None:
    segmenter = AdaptiveSegmenter(embedder)
    turns = as_turns(texts)
    check_partition(segmenter.segment(turns), len(turns))
    segmenter.learn([turns] * 100)
    check_partition(segmenter.segment(turns), len(turns))


def test_vectors_give_each_gap_its_similarities() -> None:
    vectors = np.eye(4, dtype=np.float32)[[0, 0, 1, 1]]
    alike = view_of(as_turns(list("abcd")), vectors).alike
    assert alike.shape == (3, len(SIMILARITIES))
    np.testing.assert_allclose(alike[:, SIMILARITIES.index("similarity 1")], [1, 0, 1], atol=1e-6)
    np.testing.assert_allclose(alike[:, SIMILARITIES.index("depth 1")], [0, 2, 0], atol=1e-6)


def test_patterns_tell_function_words_and_punctuation() -> None:
    asked, told = pattern_vectors(["is it ?", "is it ."])
    assert 0 < float(asked @ told) < 1


def test_the_minimum_is_found() -> None:
    target = np.arange(5.0)
    curve = np.array([1.0, 10.0, 100.0, 3.0, 0.5])
    found = minimise(lambda x: (float(curve @ (x - target) ** 2), 2 * curve * (x - target)), np.zeros(5), steps=200)
    np.testing.assert_allclose(found, target, atol=0.02)


def test_the_head_reads_the_turns_around_a_gap() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(40, 3)).astype(np.float32) for _ in range(10)]
    gaps = Gaps.of([np.zeros((39, 0), np.float32)] * 10, rows)
    truth = np.concatenate([(session[1:, 0] > session[:-1, 1]) * 1.0 for session in rows])
    head = fit_head(gaps, truth, np.ones(len(truth)), Penalty(1.0))
    assert ((head.scores(gaps) > 0) == truth).mean() > 0.95
    assert abs(head.turns[0, 2]) > 5 * abs(head.turns[2]).max()


def test_the_slope_of_the_head_is_its_losses_slope() -> None:
    # A wrong gradient would still lower the loss somewhat; at the minimum no small step may lower it.
    rng = np.random.default_rng(1)
    gaps = Gaps.of([rng.normal(size=(9, 2)).astype(np.float32)], [rng.normal(size=(10, 2)).astype(np.float32)])
    truth = (rng.random(9) > 0.5).astype(float)
    flat = fit_head(gaps, truth, np.ones(9), Penalty(1.0), steps=300).flat()

    def loss(weights: np.ndarray) -> float:
        odds = type(fit_head(gaps, truth, np.ones(9), Penalty(1.0))).unflat(weights, 2, 2).scores(gaps)
        return float((np.logaddexp(0, odds) - truth * odds).sum() + 0.5 * weights[:-1] @ weights[:-1])

    steps = 0.05 * np.vstack([np.eye(len(flat)), -np.eye(len(flat))])
    assert all(loss(flat + step) > loss(flat) for step in steps)


def test_shift_gives_the_rate() -> None:
    scores = np.random.default_rng(0).normal(size=500)
    shift = shift_for(scores, 0.1)
    assert sigmoid(scores + shift + np.log(0.1 / 0.9)).mean() == pytest.approx(0.1, abs=1e-6)


def test_mixture_finds_the_share_of_two_groups() -> None:
    rng = np.random.default_rng(0)
    share, clarity = mixture(np.concatenate([rng.normal(0, 1, 900), rng.normal(8, 1, 100)]), 0.2)
    assert share == pytest.approx(0.1, abs=0.01)
    assert clarity == 1
    assert mixture(rng.normal(size=1000), 0.2)[1] < 0.5


def test_threshold_is_half_the_best_expected_f1() -> None:
    assert threshold_for(np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx(0.5)
    assert threshold_for(np.full(100, 0.3)) == pytest.approx(0.3 / 1.3)


def test_there_are_as_many_cuts_as_the_chances_add_up_to() -> None:
    chances = np.concatenate([np.full(80, 0.05), np.full(20, 0.3)])
    assert (chances > expected_threshold(chances)).sum() <= 20
    assert 0.2 <= expected_threshold(chances) <= 0.3
    spread = np.linspace(0.0, 0.5, 400)
    assert (spread > expected_threshold(spread)).mean() == pytest.approx(0.25, abs=0.01)


def test_hums_make_a_topic_longer() -> None:
    alike = view_of(as_turns(["what is said here takes some words"] * 40), None)
    hummed = view_of(as_turns(["what is said here takes some words", "hm"] * 20), None)
    assert cold_length([hummed]) > 1.3 * cold_length([alike])
    assert cold_length([alike]) == pytest.approx(4.4, abs=0.1)


@pytest.mark.slow
def test_talk_in_an_unknown_language_is_not_taken_for_certain() -> None:
    calls = [as_turns(["您好，请问有什么可以帮您", "我想问一下账户", "好的", "谢谢"] * 5, f"c{n}") for n in range(20)]
    segmenter = AdaptiveSegmenter()
    assert segmenter.learn(calls)
    assert segmenter.learned is not None
    assert segmenter.learned.trust == 0


def test_the_surest_gaps_balance_the_speakers() -> None:
    chances = np.linspace(0, 1, 200)
    opener = np.arange(200) % 4 == 0
    opener[180:] = True
    targets, weights = surest(chances, 0.2, opener)
    assert targets[-20:].all()
    assert not targets[:100].any()
    inside = (weights > 0) & (targets == 0)
    assert weights[inside & opener].sum() > 2 * weights[inside & ~opener].sum()
