"""The paper's reranker: its formulae against an autograd oracle, its draws, its batches, its state."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from secom_core.citations.options import RerankerOptions
from secom_core.citations.plackett_luce import best, slope
from secom_core.citations.reranker import Draw, Reranker, _Matrix
from secom_core.errors import InvalidInput

D = 12


def vectors(seed: int, size: int = D, count: int = 20) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=size), random.normal(size=(count, size))


def log_probabilities(logits: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """For each place drawn, the logarithm of its chance among those left; their sum is that of the ordered draw."""
    left = [[place for place in range(len(logits)) if place not in order[:step]] for step in range(len(order))]
    return np.array(
        [logits[place] - np.logaddexp.reduce(logits[rest]) for place, rest in zip(order, left, strict=True)]
    )


def exact(size: int = D, **options: Any) -> Reranker:
    """In double precision."""
    reranker = Reranker(size, RerankerOptions(**options))
    reranker._query, reranker._memory = _Matrix(size, np.float64), _Matrix(size, np.float64)
    return reranker


def gradient(reranker: Reranker, draw: Draw, cited: Collection[int]) -> tuple[np.ndarray, np.ndarray]:
    """What one answer adds to the matrices at a rate of 1, in a batch of its own."""
    one = exact()
    one._options = replace(reranker._options, learning_rate=1.0, batch=1)
    one._query, one._memory = deepcopy((reranker._query, reranker._memory))
    before = one.matrices
    assert one.learn(draw, cited)
    w_q, w_m = (after - matrix for after, matrix in zip(one.matrices, before, strict=True))
    return w_q, w_m


def taught(seed: int, size: int = D, rounds: int = 30, **options: Any) -> Reranker:
    """A reranker with matrices away from 0."""
    reranker = exact(size, learning_rate=0.05, seed=seed, **options)
    random = np.random.default_rng(seed)
    for step in range(rounds):
        query, memories = vectors(100 * seed + step, size)
        draw = reranker.choose(query / 4, memories / 4, explore=True)
        reranker.learn(draw, random.choice(draw.order, 2).tolist())
    return reranker


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_equation_1(seed: int) -> None:
    reranker = taught(seed)
    w_q, w_m = reranker.matrices
    assert np.abs(w_q).max() > 1e-3
    assert np.abs(w_m).max() > 1e-3
    query, memories = vectors(seed + 50)
    adapted = np.array([(query + w_q @ query) @ (memory + w_m @ memory) for memory in memories])
    np.testing.assert_allclose(reranker.scores(query, memories), adapted, atol=1e-10)


@pytest.mark.models
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("credit", ["each", "sum"])
def test_gradient_equals_autograd(seed: int, credit: str) -> None:
    torch = pytest.importorskip("torch", reason="the oracle is torch's autograd")
    reranker = taught(seed, credit=credit, temperature=0.3 + 0.1 * seed, baseline=0.5)
    query, memories = vectors(seed + 200)
    draw = reranker.choose(query / 2, memories / 2, explore=True)
    cited = set(draw.order[::2]) | {-1}
    w_q, w_m = (torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in reranker.matrices)
    q, m = (torch.tensor(each, dtype=torch.float64) for each in (draw.query, draw.memories))
    scores = (m + m @ w_m.T) @ (q + w_q @ q)
    logits = scores / draw.temperature
    left = torch.ones(len(logits), dtype=torch.bool)
    chances = []
    for place in draw.order:
        chances.append(logits[place] - torch.logsumexp(logits[left], 0))
        left = left.clone()
        left[place] = False
    rewards = [1.0 if place in cited else -1.0 for place in draw.order]
    if credit == "each":
        aim = sum((reward - 0.5) * chance for reward, chance in zip(rewards, chances, strict=True))
    else:
        aim = sum(reward - 0.5 for reward in rewards) * sum(chances)
    aim.backward()
    np.testing.assert_allclose(draw.scores, scores.detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(log_probabilities(draw.logits, draw.order), torch.stack(chances).detach(), atol=1e-6)
    by_query, by_memory = gradient(reranker, draw, cited)
    np.testing.assert_allclose(by_query, w_q.grad.numpy(), atol=1e-6)
    np.testing.assert_allclose(by_memory, w_m.grad.numpy(), atol=1e-6)


@pytest.mark.parametrize("updates", [0, 7])
@pytest.mark.parametrize("halved_after", [5.0, math.inf])
@pytest.mark.parametrize("credit", ["each", "sum"])
def test_a_step_is_equation_3_by_finite_differences(updates: int, halved_after: float, credit: Any) -> None:
    """By every entry of W_q and W_m, in plain numpy; a step shrinks as the temperature does."""
    size, eta, baseline, nudge = 4, 0.05, 0.5, 1e-6
    options = {"halved_after": halved_after, "credit": credit, "top": 3, "batch": 1, "learning_rate": eta}
    reranker = exact(size, baseline=baseline, **options)
    query, memories = vectors(3, size, count=6)
    for _ in range(updates):
        draw = reranker.choose(query / 3, memories / 3, explore=True)
        reranker.learn(draw, draw.order[:1])
    before = reranker.matrices
    draw = reranker.choose(query / 3, memories / 3, explore=True)
    cited = {draw.order[1]}
    rewards = np.array([1.0 if place in cited else -1.0 for place in draw.order]) - baseline

    def aim(w_q: np.ndarray, w_m: np.ndarray) -> float:
        adapted = [(query / 3 + w_q @ query / 3) @ (each / 3 + w_m @ each / 3) for each in memories]
        chances = log_probabilities(np.array(adapted) / draw.temperature, draw.order)
        return float(rewards @ chances if credit == "each" else rewards.sum() * chances.sum())

    assert reranker.learn(draw, cited)
    share = 1 / (1 + updates / halved_after)
    assert draw.temperature == pytest.approx(0.5 * draw.scores.std() * share)
    for which, (old, new) in enumerate(zip(before, reranker.matrices, strict=True)):
        numeric = np.zeros((size, size))
        for entry in np.ndindex(size, size):
            for sign in (1, -1):
                moved = [each.copy() for each in before]
                moved[which][entry] += sign * nudge
                numeric[entry] += sign * aim(*moved) / (2 * nudge)
        np.testing.assert_allclose(new - old, eta * share * numeric, atol=1e-7)


def test_slope_equals_finite_differences() -> None:
    random = np.random.default_rng(4)
    logits, order, credits = random.normal(size=7), [3, 0, 6], np.array([1.0, -2.0, 0.5])
    step = 1e-6
    numeric = [
        (credits @ log_probabilities(logits + nudge, order) - credits @ log_probabilities(logits - nudge, order))
        / (2 * step)
        for nudge in step * np.eye(7)
    ]
    np.testing.assert_allclose(slope(logits, order, credits), numeric, atol=1e-8)


def test_draws_come_as_often_as_plackett_luce_says() -> None:
    random = np.random.default_rng(0)
    logits = np.array([0.5, -0.5, 1.0])
    counts = Counter(tuple(best(logits + random.gumbel(size=3), 2)) for _ in range(20_000))
    for order in permutations(range(3), 2):
        expected = np.exp(log_probabilities(logits, order).sum())
        assert counts[order] / 20_000 == pytest.approx(expected, abs=0.015)


def test_scores_that_are_far_apart_are_survived() -> None:
    logits = np.array([1000.0, 0.0, -1000.0])
    np.testing.assert_allclose(slope(logits, [2, 1, 0], np.ones(3)), [-2, 1, 1])


def test_without_exploring_there_is_no_noise_and_the_best_are_taken() -> None:
    reranker = exact()
    query, memories = vectors(7)
    draw = reranker.choose(query, memories)
    assert not draw.noise.any()
    assert list(draw.order) == np.argsort(-(memories @ query), kind="stable")[:5].tolist()
    assert reranker.choose(query, memories).order == draw.order


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_noise_is_of_the_size_of_the_scores_differences_whatever_they_are(scale: float) -> None:
    query, memories = vectors(3)
    draws = [exact(seed=4).choose(query * each, memories, explore=True) for each in (1.0, scale)]
    assert draws[0].order == draws[1].order
    assert draws[1].temperature == pytest.approx(0.5 * draws[1].scores.std())
    np.testing.assert_allclose(draws[1].noise, draws[0].noise * scale)


def test_what_is_chosen_comes_as_often_as_the_softmax_of_the_scores_says() -> None:
    """One draw, not two: noise on top of a draw from the softmax would come out flatter."""
    reranker = exact(3, top=1)
    query, memories = np.ones(3), np.diag([0.9, 0.5, 0.1])
    counts = Counter(reranker.choose(query, memories, explore=True).order[0] for _ in range(20_000))
    chances = np.exp(np.array([0.9, 0.5, 0.1]) / (0.5 * np.std([0.9, 0.5, 0.1])))
    expected = chances / chances.sum()
    assert [counts[place] / 20_000 for place in range(3)] == pytest.approx(expected.tolist(), abs=0.01)


def test_exploration_falls_with_what_was_learned() -> None:
    reranker = exact(learning_rate=0.0, halved_after=5, batch=1)
    query, memories = vectors(6)
    temperatures = []
    for _ in range(11):
        draw = reranker.choose(query, memories, explore=True)
        temperatures.append(draw.temperature)
        reranker.learn(draw, draw.order[:1])
    assert temperatures == sorted(temperatures, reverse=True)
    assert temperatures[5] == pytest.approx(temperatures[0] / 2)
    assert temperatures[10] == pytest.approx(temperatures[0] / 3)


def test_scores_that_are_all_the_same_are_survived() -> None:
    reranker = exact(batch=1)
    query, memories = np.full(D, 0.1), np.full((20, D), 0.7)
    draw = reranker.choose(query, memories, explore=True)
    reranker.learn(draw, draw.order[:1])
    assert max(np.abs(matrix).max() for matrix in reranker.matrices) < 0.01


def test_seeds_repeat_and_differ() -> None:
    query, memories = vectors(2)
    orders = [
        [Reranker(D, RerankerOptions(seed=seed)).choose(query / 9, memories, explore=True).order for _ in range(2)]
        for seed in (1, 2)
    ]
    assert orders[0][0] == orders[0][1]
    assert orders[0] != orders[1]
    np.testing.assert_array_equal(taught(3).matrices[0], taught(3).matrices[0])


def test_a_batch_is_averaged_and_applied_once_it_is_full() -> None:
    reranker = exact(learning_rate=0.1)
    draws = [reranker.choose(*vectors(seed), explore=True) for seed in range(4)]
    expected = sum(gradient(reranker, draw, [draw.order[0]])[0] for draw in draws) * 0.1 / 4
    assert [reranker.learn(draw, [draw.order[0]]) for draw in draws] == [False, False, False, True]
    np.testing.assert_allclose(reranker.matrices[0], expected, atol=1e-12)
    assert reranker.updates == 1


def test_many_updates_fold_into_the_same_matrices() -> None:
    one = exact(8, batch=1)
    w_q, w_m = np.zeros((2, 8, 8))
    for seed in range(40):
        draw = one.choose(*vectors(seed, 8), explore=True)
        step = one._step(draw, [draw.order[1]])
        one.learn(draw, [draw.order[1]])
        w_q = w_q + 1e-3 * np.outer(step.left_query, step.query)
        w_m = w_m + 1e-3 * np.outer(step.adapted, step.right_memory)
    np.testing.assert_allclose(one.matrices[0], w_q, atol=1e-9)
    np.testing.assert_allclose(one.matrices[1], w_m, atol=1e-9)
    other = Reranker(8, state=one.state())
    np.testing.assert_allclose(other.matrices[0], w_q, atol=1e-6)


def test_only_what_was_shown_counts() -> None:
    reranker = exact()
    draw = reranker.choose(*vectors(1), explore=True)
    absent = next(place for place in range(20) if place not in draw.order)
    first = draw.order[0]
    np.testing.assert_array_equal(gradient(reranker, draw, [first, absent, 99]), gradient(reranker, draw, [first]))


def test_rewards_raise_what_is_cited() -> None:
    reranker = exact(learning_rate=0.02)
    query, memories = vectors(5)
    query, memories = query / 4, memories / 4
    worst = int(np.argmin(memories @ query))
    for _ in range(600):
        draw = reranker.choose(query, memories, explore=True)
        reranker.learn(draw, [worst])
    assert worst in reranker.choose(query, memories).order


def test_the_bound_holds() -> None:
    free, bound = taught(2, rounds=80), taught(2, rounds=80, bound=0.1)
    assert max(np.linalg.norm(each) for each in free.matrices) > 0.1
    assert max(np.linalg.norm(each) for each in bound.matrices) <= 0.1 + 1e-9


def test_state_comes_back() -> None:
    reranker = taught(4)
    other = Reranker(D, state=reranker.state())
    query, memories = vectors(9)
    np.testing.assert_allclose(other.scores(query, memories), reranker.scores(query, memories), atol=1e-4)
    assert other.updates == reranker.updates


@pytest.mark.parametrize("waiting", [0, 1, 3])
def test_draws_that_wait_for_their_batch_outlive_a_restart(waiting: int) -> None:
    """As a store does it: every answer is learned by a reranker that was made anew from the state."""
    options = RerankerOptions(learning_rate=0.1)
    whole, state = Reranker(D, options), Reranker(D).state()
    draws = [whole.choose(*vectors(seed), explore=True) for seed in range(4 + waiting)]
    for draw in draws:
        whole.learn(draw, [draw.order[0]])
        again = Reranker(D, options, state=state)
        again.learn(draw, [draw.order[0]])
        state = again.state()
    assert (again.updates, len(json.loads(state)["waiting"])) == (whole.updates, waiting) == (1, waiting)
    for matrix, expected in zip(again.matrices, whole.matrices, strict=True):
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(matrix, expected, atol=1e-5)


def test_a_waiting_draw_takes_four_vectors_of_floats() -> None:
    reranker = Reranker(384)
    query, memories = vectors(0, 384)
    empty = len(reranker.state())
    reranker.learn(reranker.choose(query, memories, explore=True), [0])
    assert len(reranker.state()) - empty < 1.4 * 4 * 4 * 384


def test_a_state_from_before_draws_were_kept_is_read() -> None:
    old = json.loads(taught(4).state())
    del old["waiting"]
    reranker = Reranker(D, state=json.dumps(old))
    assert reranker.updates == taught(4).updates


def test_a_state_that_is_loaded_each_time_draws_other_noise_each_time() -> None:
    query, memories = vectors(2)
    state, noises = Reranker(D).state(), []
    for _ in range(2):
        reranker = Reranker(D, RerankerOptions(learning_rate=0), state=state)
        draw = reranker.choose(query, memories, explore=True)
        reranker.learn(draw, [0])
        noises.append(draw.noise)
        state = reranker.state()
    assert np.abs(noises[0] - noises[1]).min() > 0


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"got \(5,\) and \(20, 12\)"):
        Reranker(D).scores(np.zeros(5), np.zeros((20, D)))
    with pytest.raises(InvalidInput, match=r"temperature, batch and halved_after are above 0, got .*temperature=0,"):
        RerankerOptions(temperature=0)
    with pytest.raises(InvalidInput, match="a length above 0, got 0"):
        Reranker(0)
    with pytest.raises(InvalidInput, match=r"got \(1, 7, ''\)"):
        Reranker(D, state=Reranker(7).state())
    with pytest.raises(InvalidInput, match=r"got \(99, 12, ''\)"):
        Reranker(D, state=json.dumps({"format": 99, "dimensions": D}))
    with pytest.raises(InvalidInput, match=r"got \(1, 12, 'one'\)"):
        Reranker(D, state=Reranker(D, embedder="one").state(), embedder="two")


def test_fewer_candidates_than_are_wanted() -> None:
    reranker = Reranker(D)
    query, memories = vectors(1, count=3)
    draw = reranker.choose(query, memories, explore=True)
    assert sorted(draw.order) == [0, 1, 2]
    none = reranker.choose(query, np.zeros((0, D)), explore=True)
    assert none.order == ()
    assert not reranker.learn(none, [])
