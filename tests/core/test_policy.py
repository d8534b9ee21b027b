"""The fusion policy: what it learns, and that bad citations cannot make it worse."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import datetime, timezone

import numpy as np
import pytest

from secom_core.citations.evidence import Evidence, Feedback, evidence_of
from secom_core.citations.held_out import chance_of_no_fall, evidence_of_loss
from secom_core.citations.policy import FusionPolicy, PolicySettings, shared_prior
from secom_core.citations.records import Impression
from secom_core.conversation import Turn, as_turns
from secom_core.errors import InvalidInput
from secom_core.memory import Hit, Memory
from secom_core.ranking import LEXICAL, Candidate

BASE = {"words": 1.0, "meaning": 1.0, "noise": 1.0}
TRUE = np.array([1.5, 1.5, -0.5])
"""What a memory is really worth, by signal: the base is right but for the noise."""

SHOWN = 10


def decision(signals: np.ndarray) -> Impression:
    return decision_of(tuple((dict(zip(BASE, row.tolist(), strict=True)),) for row in signals))


def decision_of(rows: tuple[tuple[dict[str, float], ...], ...]) -> Impression:
    count = len(rows)
    return Impression(
        id="d",
        numbers=tuple(range(1, count + 1)),
        memory_ids=tuple(f"m{place}" for place in range(count)),
        turn_ids=tuple(tuple(f"m{place}:{turn}" for turn in range(len(row))) for place, row in enumerate(rows)),
        signals=rows,
        scores=(0.0,) * count,
        version=0,
        at=datetime(2026, 1, 1, tzinfo=timezone.utc),
    )


Citer = Callable[[np.ndarray, np.random.Generator], set[int]]


def honest(signals: np.ndarray, random: np.random.Generator) -> set[int]:
    return {int(np.argmax(signals @ TRUE + random.gumbel(size=len(signals))))}


def at_random(signals: np.ndarray, random: np.random.Generator) -> set[int]:
    return {int(random.integers(len(signals)))}


def worst(signals: np.ndarray, random: np.random.Generator) -> set[int]:
    return {int(np.argmin(signals.sum(axis=1)))}


def worst_in_truth(signals: np.ndarray, random: np.random.Generator) -> set[int]:
    return {int(np.argmin(signals @ TRUE))}


def flipped(share: float) -> Citer:
    def cite(signals: np.ndarray, random: np.random.Generator) -> set[int]:
        cited = np.isin(np.arange(len(signals)), list(honest(signals, random)))
        return set(np.flatnonzero(cited ^ (random.random(len(signals)) < share)).tolist())

    return cite


def teach(policy: FusionPolicy, citer: Citer, answers: int = 300, seed: int = 0) -> FusionPolicy:
    random = np.random.default_rng(seed)
    for _ in range(answers):
        signals = random.normal(size=(SHOWN, 3))
        policy.learn(decision(signals), {place + 1 for place in citer(signals, random)})
    return policy


def found_first(weights: dict[str, float]) -> float:
    """How often the truly best of ten comes first."""
    random = np.random.default_rng(99)
    signals = random.normal(size=(2000, SHOWN, 3))
    return float(np.mean((signals @ np.array(list(weights.values()))).argmax(1) == (signals @ TRUE).argmax(1)))


AT_BASE = found_first(BASE)


# -- learning ---------------------------------------------------------------------------------------------------------


def test_it_begins_with_the_base() -> None:
    assert FusionPolicy(LEXICAL).weights == dict(LEXICAL)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_honest_citations_teach_it(seed: int) -> None:
    policy = teach(FusionPolicy(BASE), honest, seed=seed)
    assert found_first(policy.weights) > AT_BASE + 0.2
    assert policy.weights["noise"] < 0.5 < 1 < policy.weights["words"]
    assert policy.rollbacks == 0


@pytest.mark.slow
def test_the_weights_are_those_of_least_loss() -> None:
    """Against plain gradient descent on the whole loss, with the same pull."""
    random = np.random.default_rng(0)
    base, total, data = np.ones(3), Evidence.none(3), []
    for _ in range(400):
        signals = random.normal(size=(SHOWN, 3))
        cited = np.isin(np.arange(SHOWN), list(honest(signals, random)))
        data.append((signals, cited))
        weights = total.weights(base, 5.0)
        total = total + evidence_of(Feedback(signals, np.arange(SHOWN), cited), weights, base)
    learned = total.weights(base, 5.0)[:3]
    descended = base.copy()
    for _ in range(300):
        slope = 5.0 * (descended - base)
        for signals, cited in data:
            chances = np.exp(signals @ descended)
            slope += (chances / chances.sum() - cited) @ signals
        descended -= slope / 400
    np.testing.assert_allclose(learned, descended, atol=0.15)


def test_the_slope_of_one_answer_is_that_of_its_loss() -> None:
    random = np.random.default_rng(1)
    answer = Feedback(random.normal(size=(6, 2)), np.array([0, 0, 1, 2, 2, 2]), np.array([False, False, True]))
    base = np.ones(2)
    weights = np.array([0.3, -0.2, 0.1, 0.4])
    found = evidence_of(answer, weights, base)

    def loss(at: np.ndarray) -> float:
        from secom_core.citations.evidence import places_as_signals

        scores = np.hstack([answer.signals, places_as_signals(3)[answer.memory]]) @ at
        # The memory's share is the sum of its turns': its loss has the slope that the split by shares gives.
        return float(np.log(np.exp(scores).sum()) - np.log(np.exp(scores[3:]).sum()))

    numeric = [(loss(weights + nudge) - loss(weights - nudge)) / 2e-6 for nudge in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(found.curvature @ weights - found.pull, numeric, atol=1e-7)


@pytest.mark.slow
def test_a_memory_is_cited_for_one_of_its_turns() -> None:
    """Each memory shows a good turn and two poor ones; the poor ones are not taken for what was wanted."""
    random = np.random.default_rng(0)
    policy = FusionPolicy(BASE)
    for _ in range(300):
        signals = random.normal(size=(SHOWN, 3, 3))
        best = int((signals @ TRUE).max(axis=1).argmax())
        rows = tuple(tuple(dict(zip(BASE, turn.tolist(), strict=True)) for turn in memory) for memory in signals)
        now = datetime.now(timezone.utc)
        shown = Impression("d", tuple(range(SHOWN)), ("",) * SHOWN, ((),) * SHOWN, rows, (0.0,) * SHOWN, 0, now)
        policy.learn(shown, [best])
    assert found_first(policy.weights) > AT_BASE + 0.2


def test_all_or_nothing_cited_teaches_nothing() -> None:
    policy = FusionPolicy(BASE)
    signals = np.random.default_rng(0).normal(size=(4, 3))
    assert policy.learn(decision(signals), {1, 2, 3, 4}).kind == "nothing"
    assert policy.learn(decision(signals), set()).kind == "nothing"
    assert policy.learn(decision(signals), {77}).kind == "nothing"
    assert policy.learn(decision(signals[:0]), {1}).kind == "nothing"
    assert (policy.weights, policy.answers) == (BASE, 0)


def test_what_was_not_shown_does_not_count() -> None:
    one, other = FusionPolicy(BASE), FusionPolicy(BASE)
    signals = np.random.default_rng(0).normal(size=(4, 3))
    one.learn(decision(signals), {2})
    other.learn(decision(signals), {2, 99})
    assert one.state() == other.state()


@pytest.mark.slow
def test_a_reader_who_looks_at_the_top_of_the_list_does_not_mislead_it() -> None:
    """The list stands in the order of a signal that is worth nothing; half of the citations go to its first entry."""

    def learned(answers: int = 400) -> dict[str, float]:
        random = np.random.default_rng(0)
        policy = FusionPolicy(BASE)
        for _ in range(answers):
            signals = random.normal(size=(SHOWN, 3))
            # The noise signal puts its bearers near the top, but not in strict order.
            signals = signals[np.argsort(-signals[:, 2] + random.normal(size=SHOWN))]
            cited = 0 if random.random() < 0.5 else int(np.argmax(signals @ [1.5, 1.5, 0.0]))
            policy.learn(decision(signals), {cited + 1})
        return policy.weights

    corrected = learned()
    place = pytest.MonkeyPatch()
    with place.context() as patch:
        patch.setattr("secom_core.citations.evidence.places_as_signals", lambda count: np.zeros((count, 2)))
        naive = learned()

    def share(weights: dict[str, float]) -> float:
        return weights["noise"] / (weights["words"] + weights["meaning"])

    assert share(corrected) < share(naive) - 0.05


# -- safety -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("citer", [at_random, worst, worst_in_truth, flipped(0.3), flipped(0.5)])
@pytest.mark.parametrize("seed", range(2))
def test_bad_citations_do_not_make_it_worse(citer: Citer, seed: int) -> None:
    policy = teach(FusionPolicy(BASE), citer, 300, seed)
    assert found_first(policy.weights) > AT_BASE - 0.01


@pytest.mark.slow
def test_citations_that_turn_bad_are_noticed() -> None:
    policy = teach(FusionPolicy(BASE), honest)
    assert found_first(policy.weights) > AT_BASE + 0.2
    lowest = 1.0
    for seed in range(10):
        teach(policy, worst, 50, seed=seed + 1)
        lowest = min(lowest, found_first(policy.weights))
    assert lowest > AT_BASE - 0.05
    assert policy.trust == 0


def mistaken(signals: np.ndarray, random: np.random.Generator) -> set[int]:
    """Agrees with the base, but cites by a signal that is worth nothing."""
    return {int(np.argmax(signals @ [0.5, 0.5, 2.0]))}


@pytest.mark.slow
def test_held_out_answers_bring_back_the_last_good_weights() -> None:
    """What is taught is poisoned, what is held out is not."""
    policy = teach(FusionPolicy(BASE), honest)
    good = found_first(policy.weights)
    poisoned = FusionPolicy(BASE, settings=PolicySettings(keep_every=10**9), state=policy.state())
    policy = FusionPolicy(BASE, state=teach(poisoned, mistaken, 120, seed=5).state())
    assert found_first(policy.weights) < good - 0.1
    teach(policy, honest, 40, seed=8)
    assert policy.rollbacks >= 1
    assert found_first(policy.weights) > good - 0.05


def test_one_answer_in_four_teaches_nothing() -> None:
    random = np.random.default_rng(0)
    policy = FusionPolicy(BASE)
    kinds = []
    for _ in range(16):
        signals = random.normal(size=(SHOWN, 3))
        before = policy.weights
        kinds.append(policy.learn(decision(signals), {1}).kind)
        assert kinds[-1] == "taught" or policy.weights == before
    assert kinds == ["taught", "taught", "taught", "held out"] * 4


@pytest.mark.slow
def test_steps_and_distance_are_bounded() -> None:
    settings = PolicySettings(step=0.05, distance=0.4, prior=0.01)
    policy, norm = FusionPolicy(BASE, settings=settings), np.sqrt(3)
    random = np.random.default_rng(0)
    before = np.ones(3)
    for _ in range(200):
        signals = 5 * random.normal(size=(SHOWN, 3))
        policy.learn(decision(signals), {place + 1 for place in honest(signals, random)})
        now = np.array(list(policy.weights.values()))
        assert np.linalg.norm(now - before) <= 0.05 * norm + 1e-9
        before = now
    # Brought back to the base's own size, a point may lie a little further out.
    assert np.linalg.norm(before - 1) <= 0.4 * norm + 0.1


# -- the test that is named -------------------------------------------------------------------------------------------


def test_wilcoxon_equals_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle")
    random = np.random.default_rng(0)
    for shift in (-0.3, 0.0, 0.3):
        before = np.round(random.random(40), 1)
        after = np.round(before + shift * random.random(40) + 0.1 * random.normal(size=40), 1)
        change = np.round(after - before, 12)
        expected = stats.wilcoxon(change[change != 0], alternative="less", correction=True, method="approx").pvalue
        assert chance_of_no_fall(before, after) == pytest.approx(expected, abs=1e-9)


def test_wilcoxon_needs_enough_that_differ() -> None:
    assert chance_of_no_fall([1.0] * 7, [0.0] * 7) == 1.0
    assert chance_of_no_fall([1.0] * 100, [1.0] * 100) == 1.0
    assert chance_of_no_fall([1.0] * 20, [0.0] * 20) < 0.001
    assert chance_of_no_fall([0.0] * 20, [1.0] * 20) > 0.999


def test_trust_grows_with_agreement() -> None:
    def trust(agreed: float, judged: float) -> float:
        return Evidence(np.zeros((3, 3)), np.zeros(3), np.array([agreed * judged, judged, 0, 0])).trust(0.8)

    assert trust(0.9, 0) == trust(0.5, 1000) == trust(0.2, 1000) == 0
    assert 0 < trust(0.7, 50) < trust(0.7, 1000) < trust(0.8, 1000) < 1
    assert trust(0.95, 1000) == 1


def ever_above(level: float, differences: np.ndarray) -> bool:
    totals, squares = differences.cumsum(), (differences**2).cumsum()
    return any(evidence_of_loss(*each) >= level for each in zip(totals.tolist(), squares.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.02, 0.1, 0.5])
def test_a_loss_is_seldom_proven_where_there_is_none_however_often_one_looks(spread: float) -> None:
    random = np.random.default_rng(0)
    false = sum(ever_above(np.log(20), spread * random.normal(size=500)) for _ in range(300))
    assert false <= 0.05 * 300
    # Most answers change nothing, and the rest as often for the better as for the worse.
    sparse = sum(
        ever_above(np.log(20), spread * random.choice([-1, 0, 1], p=[0.05, 0.9, 0.05], size=500)) for _ in range(300)
    )
    assert sparse <= 0.05 * 300


def test_a_loss_is_proven_soon() -> None:
    random = np.random.default_rng(0)
    found = sum(ever_above(np.log(100), -0.1 + 0.15 * random.normal(size=80)) for _ in range(100))
    assert found > 90
    assert evidence_of_loss(3.0, 0.5) == evidence_of_loss(0.0, 0.0) == 0


def test_a_proven_loss_takes_all_trust_and_is_not_forgotten_with_what_was_learned() -> None:
    def record(gained: float) -> Evidence:
        return Evidence(np.zeros((3, 3)), np.zeros(3), np.array([95, 100, gained, 2.0]))

    assert record(5.0).trust(0.8) == record(0.0).trust(0.8) > 0.9
    assert 0 < record(-3.5).trust(0.8) < 0.9
    assert record(-9.0).trust(0.8) == 0
    assert Evidence.from_json(record(-9.0).as_json()).trust(0.8) == 0


def test_a_state_from_before_gains_were_kept_is_read() -> None:
    old = teach(FusionPolicy(BASE), honest, 60).evidence.as_json()
    del old["gained"], old["gained_squares"]
    assert Evidence.from_json(old).record[2:].tolist() == [0, 0]


def test_what_leaves_the_held_out_answers_teaches() -> None:
    policy = teach(FusionPolicy(BASE, settings=PolicySettings(held_out=8)), honest, 32)
    assert policy.evidence.answers == 24
    before = policy.weights
    teach(policy, honest, 3)
    shown = decision(np.random.default_rng(3).normal(size=(SHOWN, 3)))
    taught = policy.weights
    assert policy.learn(shown, {1}).kind == "held out"
    assert policy.evidence.answers == 28
    assert before != taught != policy.weights


# -- state, threads, processes ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_state_comes_back() -> None:
    policy = teach(FusionPolicy(BASE), honest, 150)
    other = FusionPolicy(BASE, state=policy.state())
    assert other.state() == policy.state()
    assert len(policy.state()) < 60_000
    assert "m0" not in policy.state()
    teach(policy, honest, 30, seed=4)
    teach(other, honest, 30, seed=4)
    np.testing.assert_allclose(list(policy.weights.values()), list(other.weights.values()), atol=1e-6)


def test_a_state_of_other_signals_is_refused() -> None:
    state = FusionPolicy(BASE).state()
    with pytest.raises(InvalidInput, match="'words'"):
        FusionPolicy({"other": 1.0}, state=state)
    with pytest.raises(InvalidInput, match="not all 0"):
        FusionPolicy({"words": 0.0})


@pytest.mark.slow
def test_threads_lose_nothing() -> None:
    policy = FusionPolicy(BASE)
    threads = [threading.Thread(target=teach, args=(policy, honest, 50, seed)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert policy.answers == 400
    # One in four is held out, and all of these but the latest 64 have taught since.
    assert policy.evidence.answers == 400 - 64


@pytest.mark.slow
def test_a_new_scope_begins_with_what_others_agree_to_share() -> None:
    others = [teach(FusionPolicy(BASE), honest, 200, seed) for seed in range(3)]
    prior = shared_prior(others, worth=100)
    assert prior is not None
    assert prior.answers == pytest.approx(100)
    new = FusionPolicy(BASE, prior=prior)
    assert found_first(new.weights) > AT_BASE + 0.1
    assert new.answers == 0
    assert shared_prior([FusionPolicy(BASE)]) is None
    assert shared_prior([]) is None


# -- ranking and looking ----------------------------------------------------------------------------------------------


def candidate(score: float, signals: dict[str, float]) -> Candidate:
    (turn,) = as_turns(["a"], "s")
    return Candidate(turn, Memory("s#0-1", "a", (turn,)), score, signals)


def test_rescoring_orders_by_the_present_weights_and_keeps_ties_in_place() -> None:
    policy = FusionPolicy({"words": 2.0, "noise": -1.0})
    signals = [{"words": 1.0}, {"words": 2.0, "noise": 1.0}, {"words": 1.0, "x": 5}]
    ranked = policy.rescored([candidate(9.0 - 9 * place, each) for place, each in enumerate(signals)])
    assert [each.score for each in ranked] == [3.0, 2.0, 2.0]
    assert [each.signals for each in ranked[1:]] == [signals[0], signals[2]]
    assert policy.rescored([]) == []


def test_base_weights_rescore_as_the_index_scored() -> None:
    turns = as_turns(["a", "b"], "s")
    memory = Memory("s#0-2", "a b", turns)
    signals = [{name: float(place) for name in LEXICAL} for place in (1, 2)]
    candidates = [
        Candidate(turn, memory, sum(LEXICAL[name] * value for name, value in each.items()), each)
        for turn, each in zip(turns, signals, strict=True)
    ]
    ranked = FusionPolicy(LEXICAL).rescored(candidates)
    assert [each.turn for each in ranked] == [turns[1], turns[0]]
    assert ranked[0].score == pytest.approx(candidates[1].score, abs=1e-6)


def test_explanations_add_up_to_the_score() -> None:
    policy = teach(FusionPolicy(BASE), honest, 100)
    (scored,) = policy.rescored([candidate(0.0, {"words": 0.5, "meaning": -1.0, "noise": 2.0})])
    rows = policy.explain(scored)
    assert sum(row.part for row in rows) == pytest.approx(scored.score, abs=1e-6)
    assert {row.signal: row.base for row in rows} == BASE
    assert [abs(row.part) for row in rows] == sorted((abs(row.part) for row in rows), reverse=True)


def hit_of(turns: tuple[Turn, ...], number: int) -> Hit:
    return Hit(Memory(f"m{number}", "", turns), turns, 0.0, number, {"words": 0.0, "meaning": 0.0, "noise": 1.0})


def test_a_decision_notes_what_was_shown_where() -> None:
    turns = as_turns(["a", "b", "c"], "s")
    hits = [hit_of(turns[:2], 1), hit_of(turns[2:], 2)]
    candidates = [
        Candidate(turn, hits[0].memory, 0.0, {"words": float(place)}) for place, turn in enumerate(turns[:2], start=1)
    ]
    noted = FusionPolicy(BASE).impression(hits, candidates)
    assert (noted.numbers, noted.memory_ids) == ((1, 2), ("m1", "m2"))
    assert noted.signals == (({"words": 1.0}, {"words": 2.0}), ({"words": 0.0, "meaning": 0.0, "noise": 1.0},))
    assert noted.scores == (2.0, 1.0)
    assert Impression.from_json(json.loads(json.dumps(noted.as_json()))) == noted


def test_after_a_fall_it_rests() -> None:
    policy = teach(FusionPolicy(BASE), honest, 100)
    state = json.loads(policy.state())
    resting = FusionPolicy(BASE, state=json.dumps({**state, "resume": 110}))
    random = np.random.default_rng(0)
    kinds = [resting.learn(decision(random.normal(size=(SHOWN, 3))), {1}).kind for _ in range(12)]
    assert kinds == (["resting"] * 3 + ["held out"]) * 2 + ["resting"] * 2 + ["taught", "held out"]
    assert resting.evidence.answers == policy.evidence.answers + 1
