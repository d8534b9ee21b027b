"""The index of vectors: scores, errors, storage."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from secom_core.errors import InvalidInput
from secom_core.indexes.vector import VectorIndex

Rows = npt.NDArray[np.float32]


def clustered(count: int, dimensions: int = 48, seed: int = 0) -> Rows:
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(40, dimensions))
    return (centres[random.integers(0, 40, count)] + random.normal(size=(count, dimensions))).astype(np.float32)


def test_the_score_is_the_cosine_whatever_the_lengths() -> None:
    index = VectorIndex()
    index.add([1, 2, 3, 4], [[3.0, 4.0], [0.0, 0.5], [-9.0, 0.0], [0.0, 0.0]])
    assert index.search([10.0, 0.0], 4) == [
        (1, pytest.approx(0.6)),
        (2, pytest.approx(0.0)),
        (4, pytest.approx(0.0)),
        (3, pytest.approx(-1.0)),
    ]
    np.testing.assert_allclose(index.vectors_of([3, 1]), [[-1.0, 0.0], [0.6, 0.8]], rtol=1e-6)


def test_all_scores_are_cosines() -> None:
    vectors, query = clustered(300), clustered(1, seed=7)[0]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    index = VectorIndex()
    index.add(range(0, 600, 2), vectors)
    ids, scores = index.scores(query)
    assert ids.tolist() == [*range(0, 600, 2)]
    np.testing.assert_allclose(scores, unit.astype(np.float64) @ (query / np.linalg.norm(query)), atol=1e-6)


def test_the_first_vectors_say_how_many_dimensions_all_have() -> None:
    index = VectorIndex()
    index.add([1], [[1.0, 2.0, 3.0]])
    index.remove([1])
    with pytest.raises(InvalidInput, match="3 dimensions, got 2"):
        index.add([1], [[1.0, 2.0]])


def test_bad_vectors_are_named() -> None:
    index = VectorIndex()
    with pytest.raises(InvalidInput, match="number 2 of vector 1 is not finite: nan"):
        index.add([1, 2], [[1.0, 2.0, 3.0], [1.0, 2.0, float("nan")]])
    with pytest.raises(InvalidInput, match=r"got numbers of the shape \(1, 1, 3\)"):
        index.add([1], [[[1.0, 2.0, 3.0]]])
    assert len(index) == 0
    index.add([1], [[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidInput, match="3 dimensions, got 4"):
        index.search([1.0] * 4, 1)
    with pytest.raises(InvalidInput, match="is not finite: inf"):
        index.search([1.0, float("inf"), 0.0], 1)
    with pytest.raises(InvalidInput, match=r"got numbers of the shape \(1, 2, 3\)"):
        index.scores([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert index.vectors_of([1, 9]) is None


def test_the_callers_array_is_not_kept() -> None:
    rows = np.eye(4, dtype=np.float32)
    index = VectorIndex()
    index.add(range(4), rows)
    rows[:] = 0
    index.vectors_of([1])[:] = 0
    assert index.search([0, 1, 0, 0], 1) == [(1, pytest.approx(1.0))]


def test_numpy_uses_free_places_again() -> None:
    index = VectorIndex()
    index.add(range(100), clustered(100))
    for step in range(500):
        index.remove([step])
        index.add([step + 100], clustered(1, seed=step))
    assert len(index) == 100
    assert len(index._rows) == 128
