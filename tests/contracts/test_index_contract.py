"""What every index promises, run on each of them beside a brute-force oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from lexical_oracle import oracle

from secom_core.errors import InvalidInput
from secom_core.indexes.bm25 import BM25
from secom_core.indexes.vector import VectorIndex
from secom_core.protocols import Statistics

hypothesis = pytest.importorskip("hypothesis", reason="the property tests need hypothesis")
st = hypothesis.strategies

WORDS = [f"w{number}" for number in range(12)]
DIMENSIONS = 6


def tokens_of(seed: int) -> list[str]:
    """A unit of 0 to 9 words, the first of them far more common than the last."""
    random = np.random.default_rng(seed)
    places = random.geometric(0.25, size=random.integers(0, 10)) - 1
    return [WORDS[min(place, len(WORDS) - 1)] for place in places]


def vector_of(seed: int) -> np.ndarray[Any, Any]:
    """A vector on a coarse grid, so that seeds collide and scores tie."""
    vector = np.random.default_rng(seed % 40).integers(-2, 3, size=DIMENSIONS).astype(np.float32)
    return vector / max(float(np.linalg.norm(vector)), 1.0)


def okapi(units: dict[int, Any], query: Any) -> dict[int, float]:
    if not any(units.values()):
        return {}
    scores = oracle(list(units.values())).get_scores(list(dict.fromkeys(query)))
    return {i: float(s) for i, s in zip(units, scores, strict=True) if set(units[i]) & set(query)}


def cosines(units: dict[int, Any], query: Any) -> dict[int, float]:
    return {unit: float(np.dot(vector.astype(float), query.astype(float))) for unit, vector in units.items()}


@dataclass(frozen=True)
class Case:
    make: Callable[[], Any]
    unit: Callable[[int], Any]
    oracle: Callable[[dict[int, Any], Any], dict[int, float]]
    pack: Callable[[Sequence[Any]], Any]


CASES = {
    "bm25": Case(BM25, tokens_of, okapi, list),
    "numpy": Case(VectorIndex, vector_of, cosines, lambda rows: np.asarray(rows).reshape(len(rows), DIMENSIONS)),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def filled(case: Case, ids: Sequence[int]) -> tuple[Any, dict[int, Any]]:
    index, units = case.make(), {unit: case.unit(unit) for unit in ids}
    index.add(list(units), case.pack(list(units.values())))
    return index, units


def assert_best(found: list[tuple[int, float]], truth: dict[int, float], k: int) -> None:
    """``found`` are the best ``k`` of ``truth``, in order, ties by id."""
    assert len(found) == min(k, len(truth))
    assert [unit for unit, _ in found] == [
        unit for unit, _ in sorted(truth.items(), key=lambda entry: (-round(entry[1], 6), entry[0]))[:k]
    ]
    for unit, score in found:
        assert score == pytest.approx(truth[unit], abs=1e-6)


def scores_of(index: Any, query: Any) -> dict[int, float]:
    return dict(zip(*(each.tolist() for each in index.scores(query)), strict=True))


def assert_agrees(case: Case, index: Any, units: dict[int, Any], query: Any) -> None:
    truth = case.oracle(units, query)
    for k in (0, 1, 3, len(units) + 5):
        assert_best(index.search(query, k), truth, k)
    scores = scores_of(index, query)
    assert scores.keys() == truth.keys()
    assert scores == pytest.approx(truth, abs=1e-6)


def test_the_lexical_index_gives_statistics() -> None:
    assert isinstance(BM25(), Statistics)


def test_nothing_in_nothing_out(case: Case) -> None:
    index = case.make()
    assert len(index) == 0
    assert index.search(case.unit(1), 5) == []
    assert scores_of(index, case.unit(1)) == {}
    index.add([], case.pack([]))
    index.remove([])
    assert index.search(case.unit(1), 5) == []


def test_agrees_with_the_oracle(case: Case) -> None:
    index, units = filled(case, range(5, 105))
    for seed in range(30):
        assert_agrees(case, index, units, case.unit(1000 + seed))


def test_a_known_id_is_replaced(case: Case) -> None:
    index, units = filled(case, range(20))
    units[7] = case.unit(321)
    index.add([7], case.pack([units[7]]))
    assert len(index) == 20
    assert_agrees(case, index, units, case.unit(321))


def test_of_an_id_given_twice_the_last_stays(case: Case) -> None:
    index = case.make()
    index.add([3, 3], case.pack([case.unit(1), case.unit(5)]))
    assert_agrees(case, index, {3: case.unit(5)}, case.unit(5))


def test_removed_units_are_gone_and_unknown_ids_passed_over(case: Case) -> None:
    index, units = filled(case, range(20))
    index.remove([3, 3, 99, 4])
    del units[3], units[4]
    assert len(index) == 18
    assert_agrees(case, index, units, case.unit(3))


def test_everything_can_go_and_come_back(case: Case) -> None:
    index, units = filled(case, range(50))
    index.remove(list(units))
    assert len(index) == 0
    assert index.search(case.unit(1), 5) == []
    index.add(list(units), case.pack(list(units.values())))
    assert_agrees(case, index, units, case.unit(1))


@pytest.mark.slow
def test_a_unit_that_changes_all_the_time_leaves_no_trace(case: Case) -> None:
    """As the open segment of a session does; passes every threshold at which an index tidies up."""
    index, units = filled(case, range(10))
    for seed in range(3000):
        index.add([4], case.pack([case.unit(seed)]))
    units[4] = case.unit(2999)
    assert_agrees(case, index, units, case.unit(2999))
    assert_agrees(case, index, units, case.unit(12))


def test_ids_are_any_integers(case: Case) -> None:
    index = case.make()
    ids = np.array([2**40, 0, -5])
    units = {int(unit): case.unit(int(unit) % 97) for unit in ids}
    index.add(ids, case.pack(list(units.values())))
    assert_agrees(case, index, units, units[0])


def test_equal_units_come_in_the_order_of_their_ids(case: Case) -> None:
    index = case.make()
    ids = np.random.default_rng(0).permutation(200).tolist()
    index.add(ids, case.pack([case.unit(5)] * 200))
    assert [unit for unit, _ in index.search(case.unit(5), 7)] == [0, 1, 2, 3, 4, 5, 6]


def test_ids_and_units_come_in_pairs(case: Case) -> None:
    with pytest.raises(InvalidInput, match=r"got 2 ids for 1|expected 2 vectors"):
        case.make().add([1, 2], case.pack([case.unit(1)]))


def test_a_negative_k_is_an_error(case: Case) -> None:
    index, _ = filled(case, range(3))
    with pytest.raises(InvalidInput, match="got -1"):
        index.search(case.unit(1), -1)


CHANGES = st.lists(
    st.tuples(st.booleans(), st.lists(st.tuples(st.integers(0, 25), st.integers(0, 400)), max_size=8)), max_size=12
)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(changes=CHANGES, query=st.integers(0, 400))
def test_agrees_after_any_changes(name: str, changes: list[tuple[bool, list[tuple[int, int]]]], query: int) -> None:
    case = CASES[name]
    index, units = case.make(), {}
    for adding, pairs in changes:
        ids = [unit for unit, _ in pairs]
        if adding:
            index.add(ids, case.pack([case.unit(seed) for _, seed in pairs]))
            for unit, seed in pairs:
                units.pop(unit, None)
                units[unit] = case.unit(seed)
        else:
            index.remove(ids)
            units = {unit: value for unit, value in units.items() if unit not in ids}
        assert len(index) == len(units)
    assert_agrees(case, index, units, case.unit(query))
