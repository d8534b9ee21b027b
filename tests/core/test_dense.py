"""Dense indexes: agreement between the two, the graph, errors, storage."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
import pytest

from secom_core.errors import InvalidInput, MissingExtra
from secom_core.indexes import dense
from secom_core.indexes.dense import FaissIndex, NumpyIndex

Rows = npt.NDArray[np.float32]


def needs_faiss() -> None:
    pytest.importorskip("faiss", reason="FaissIndex needs the dense extra")


def clustered(count: int, dimensions: int = 48, seed: int = 0) -> Rows:
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(40, dimensions))
    return (centres[random.integers(0, 40, count)] + random.normal(size=(count, dimensions))).astype(np.float32)


def recall(index: FaissIndex, exact: NumpyIndex, queries: Rows, k: int = 10) -> float:
    shares = [
        len({unit for unit, _ in index.search(query, k)} & {unit for unit, _ in exact.search(query, k)}) / k
        for query in queries
    ]
    return float(np.mean(shares))


@pytest.fixture(params=[NumpyIndex, FaissIndex])
def kind(request: pytest.FixtureRequest) -> type[NumpyIndex] | type[FaissIndex]:
    if request.param is FaissIndex:
        needs_faiss()
    return request.param


def test_both_give_the_same_answer_to_the_last_digit() -> None:
    needs_faiss()
    rows = clustered(800)
    rows[100:300] = rows[:200]
    rows[300:360] = rows[7]
    ids = np.random.default_rng(1).permutation(5000)[:800]
    exact, faiss = NumpyIndex(), FaissIndex()
    for index in (exact, faiss):
        index.add(ids, rows)
        index.remove(ids[::3])
        index.add(ids[5:25], rows[40:60])
    for query in rows[::40]:
        for k in (1, 10, 77, 2000):
            assert exact.search(query, k) == faiss.search(query, k)


def test_the_score_is_the_cosine_whatever_the_lengths(kind: type[NumpyIndex] | type[FaissIndex]) -> None:
    index = kind(2)
    index.add([1, 2, 3, 4], [[3.0, 4.0], [0.0, 0.5], [-9.0, 0.0], [0.0, 0.0]])
    assert index.search([10.0, 0.0], 4) == [
        (1, pytest.approx(0.6)),
        (2, pytest.approx(0.0)),
        (4, pytest.approx(0.0)),
        (3, pytest.approx(-1.0)),
    ]
    np.testing.assert_allclose(index.vectors_of([3, 1]), [[-1.0, 0.0], [0.6, 0.8]], rtol=1e-6)


def test_dimensions_come_from_the_first_vectors(kind: type[NumpyIndex] | type[FaissIndex]) -> None:
    index = kind()
    assert index.dimensions is None
    index.add([1], [[1.0, 0.0, 0.0]])
    assert index.dimensions == 3
    index.remove([1])
    assert index.dimensions == 3


def test_bad_vectors_are_named(kind: type[NumpyIndex] | type[FaissIndex]) -> None:
    index = kind(3)
    with pytest.raises(InvalidInput, match="3 dimensions, got 2"):
        index.add([1], [[1.0, 2.0]])
    with pytest.raises(InvalidInput, match="got nan in row 1, dimension 2"):
        index.add([1, 2], [[1.0, 2.0, 3.0], [1.0, 2.0, float("nan")]])
    with pytest.raises(InvalidInput, match=r"got shape \(1, 1, 3\)"):
        index.add([1], [[[1.0, 2.0, 3.0]]])
    assert len(index) == 0
    index.add([1], [[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidInput, match="3 dimensions, got 4"):
        index.search([1.0] * 4, 1)
    with pytest.raises(InvalidInput, match="got inf"):
        index.search([1.0, float("inf"), 0.0], 1)
    with pytest.raises(InvalidInput, match="one vector, got 2"):
        index.scores([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    with pytest.raises(InvalidInput, match="has the id 9"):
        index.vectors_of([1, 9])


def test_vectors_of_nothing(kind: type[NumpyIndex] | type[FaissIndex]) -> None:
    assert kind(3).vectors_of([]).shape == (0, 3)


def test_the_callers_array_is_not_kept(kind: type[NumpyIndex] | type[FaissIndex]) -> None:
    rows = np.eye(4, dtype=np.float32)
    index = kind()
    index.add(range(4), rows)
    rows[:] = 0
    index.vectors_of([1])[:] = 0
    assert index.search([0, 1, 0, 0], 1) == [(1, pytest.approx(1.0))]


def test_numpy_uses_free_places_again() -> None:
    index = NumpyIndex()
    index.add(range(100), clustered(100))
    for step in range(500):
        index.remove([step])
        index.add([step + 100], clustered(1, seed=step))
    assert len(index) == 100
    assert index._used == 100


def test_faiss_tidies_up_when_more_than_half_have_gone() -> None:
    needs_faiss()
    index, rows = FaissIndex(), clustered(2000)
    index.add(range(2000), rows)
    index.remove(range(1800))
    assert index._used == 200
    assert index.search(rows[1900], 1) == [(1900, pytest.approx(1.0))]
    np.testing.assert_allclose(index.vectors_of([1999])[0], rows[1999] / np.linalg.norm(rows[1999]), rtol=1e-5)


def test_the_graph_finds_what_the_exact_search_finds() -> None:
    needs_faiss()
    rows, queries = clustered(3000), clustered(60, seed=5)
    index, exact = FaissIndex(exact_up_to=1000), NumpyIndex()
    index.add(range(3000), rows)
    exact.add(range(3000), rows)
    index.link()
    assert index.linked == 3000
    assert recall(index, exact, queries) >= 0.97
    index.remove(range(0, 3000, 3))
    exact.remove(range(0, 3000, 3))
    assert all(unit % 3 for query in queries for unit, _ in index.search(query, 20))
    assert recall(index, exact, queries) >= 0.97
    ids, scores = index.scores(queries[0])
    np.testing.assert_allclose(scores, [dict(exact.search(queries[0], 3000))[unit] for unit in ids], atol=1e-6)


def test_what_the_graph_does_not_hold_yet_is_found_beside_it() -> None:
    needs_faiss()
    rows = clustered(1500)
    index, exact = FaissIndex(exact_up_to=1000), NumpyIndex()
    exact.add(range(1500), rows)
    index.add(range(1490), rows[:1490])
    assert 0 < index.linked < 50
    for place in range(1490, 1500):
        index.add([place], rows[place])
    assert 50 < index.linked < 120
    assert recall(index, exact, rows[::100]) == 1.0
    assert [index.search(rows[place], 1)[0][0] for place in (0, 700, 1499)] == [0, 700, 1499]


def test_no_single_addition_builds_the_graph() -> None:
    needs_faiss()
    index, rows = FaissIndex(exact_up_to=100), clustered(300)
    index.add(range(100), rows[:100])
    assert index.linked == 0
    before = 0
    for place in range(100, 300):
        index.add([place], rows[place])
        assert index.linked - before <= 8
        before = index.linked
    assert index.linked == 300


def test_the_graph_is_the_same_every_time() -> None:
    needs_faiss()
    answers = []
    for _ in range(2):
        index = FaissIndex(exact_up_to=10)
        index.add(range(900), clustered(900))
        index.link()
        answers.append([index.search(query, 5) for query in clustered(30, seed=8)])
    assert answers[0] == answers[1]


def test_without_faiss_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r'FaissIndex.*pip install "secom-memory\[dense\]"'):
        FaissIndex()
    assert dense.NumpyIndex().search([1.0], 1) == []
