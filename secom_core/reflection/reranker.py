"""The paper's reranker: two square matrices that bend the query's and the memories' vectors, taught by citations.

RMM, section 6, with the defaults of its appendix A.1. The paper leaves three things open; they are read so:

- Equation 2 adds noise to the scores, and the softmax at the temperature gives "sampling probabilities". So the noise
  is drawn first and the memories are drawn by these probabilities, without replacement. The chance of the ordered draw
  is Plackett-Luce's, with the perturbed scores over the temperature as its logits, and its gradient is exact.
- Equation 3 has one reward and the chance of the whole draw, while every memory has a reward of its own. Each memory's
  reward is given to its own factor of that chance (``credit="each"``); ``credit="sum"`` gives the sum of the rewards to
  the whole.
- A batch's updates are averaged.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from .plackett_luce import Array, drawn, gumbel, log_probabilities, slope, softmax

__all__ = ["Draw", "Reranker"]

_FORMAT: Final = 1


@dataclass(frozen=True)
class Draw:
    """What the reranker chose, and all that is needed to learn from it.

    Args:
        query: the query's vector, shape ``(d,)``.
        memories: the candidates' vectors, shape ``(K, d)``.
        scores: the dot products after adaptation, shape ``(K,)``.
        noise: what was added to them; zeros where nothing was explored.
        probabilities: softmax of scores and noise at the temperature (RMM, below eq. 2).
        order: the places of the candidates chosen, in the order in which they were drawn.
        explored: whether it was drawn; the best were taken otherwise.
    """

    query: Array = field(repr=False)
    memories: Array = field(repr=False)
    scores: Array
    noise: Array
    probabilities: Array
    order: tuple[int, ...]
    temperature: float
    explored: bool

    @property
    def logits(self) -> Array:
        """What the draw went by, shape ``(K,)``."""
        return np.asarray((self.scores + self.noise) / self.temperature)

    @property
    def propensities(self) -> Array:
        """For each place of ``order``, the chance that it was drawn there, given those before it."""
        return np.exp(log_probabilities(self.logits, self.order)) if self.explored else np.ones(len(self.order))

    @property
    def log_probability(self) -> float:
        """The logarithm of the chance of the ordered draw (Plackett-Luce)."""
        return float(log_probabilities(self.logits, self.order).sum())


@dataclass(frozen=True)
class _Step:
    """The gradient of one draw: by W_q it is ``outer(left_q, q)``, by W_m ``outer(q', right_m)``."""

    left_query: Array
    query: Array
    adapted: Array
    right_memory: Array

    @property
    def vectors(self) -> tuple[Array, Array, Array, Array]:
        """All four, each of shape ``(d,)``, in the order in which a step is made."""
        return self.left_query, self.query, self.adapted, self.right_memory


class Reranker:
    """Reorders what a retriever found, and learns from which of it was cited (RMM, eq. 1 to 3).

    With both matrices at 0, as they begin, the order is that of the dot product. ``q' . m'`` is computed as
    ``((I + W_m)^T (I + W_q) q) . m``, which is the same number and costs one product with each matrix a query, not one
    a candidate. Updates are of rank one a draw; they are kept as such until there are ``fold`` of them.

    Args:
        dimensions: d, the length of the vectors.
        top: M, how many memories are chosen.
        temperature: tau of the softmax.
        baseline: b, what a reward is compared with.
        learning_rate: eta.
        batch: how many draws an update averages.
        credit: see the module's docstring.
        bound: how large the Frobenius norm of either matrix may become; any where ``None``, as in the paper.
        seed: of the noise and the draws.
        dtype: of the matrices.
    """

    def __init__(
        self,
        dimensions: int,
        *,
        top: int = 5,
        temperature: float = 0.5,
        baseline: float = 0.5,
        learning_rate: float = 1e-3,
        batch: int = 4,
        credit: Literal["each", "sum"] = "each",
        bound: float | None = None,
        seed: int = 0,
        dtype: npt.DTypeLike = np.float32,
    ) -> None:
        for name, value in {"dimensions": dimensions, "top": top, "temperature": temperature, "batch": batch}.items():
            if value <= 0:
                raise InvalidInput(f"{name} is above 0, got {value!r}")
        self._dimensions, self._top, self._temperature = dimensions, top, temperature
        self._baseline, self._rate, self._batch = baseline, learning_rate, batch
        self._credit, self._bound = credit, bound
        self._seed, self._random = seed, np.random.default_rng(seed)
        self._query, self._memory = _Matrix(dimensions, dtype), _Matrix(dimensions, dtype)
        self._waiting: list[_Step] = []
        self._updates = 0
        self._lock = threading.Lock()

    @property
    def matrices(self) -> tuple[Array, Array]:
        """Copies of W_q and W_m, each of shape ``(d, d)``."""
        return self._query.dense(), self._memory.dense()

    @property
    def batch(self) -> int:
        """How many draws an update averages."""
        return self._batch

    @property
    def updates(self) -> int:
        """How many batches were learned from."""
        return self._updates

    def adapted_query(self, query: Array) -> Array:
        """The vector whose dot product with a memory's own vector is the score; one may search an index with it.

        Args:
            query: shape ``(d,)``.
        """
        bent = query + self._query.times(query)
        return np.asarray(bent + self._memory.transposed_times(bent))

    def scores(self, query: Array, memories: Array) -> Array:
        """``q' . m'`` for each candidate (RMM eq. 1), shape ``(K,)``.

        Args:
            query: shape ``(d,)``.
            memories: shape ``(K, d)``.

        Raises:
            InvalidInput: for other shapes.
        """
        query, memories = np.asarray(query), np.asarray(memories)
        if query.shape != (self._dimensions,) or memories.ndim != 2 or memories.shape[1] != self._dimensions:
            expected = f"({self._dimensions},) and (K, {self._dimensions})"
            raise InvalidInput(f"vectors have the shapes {expected}, got {query.shape} and {memories.shape}")
        return np.asarray(memories @ self.adapted_query(query))

    def choose(self, query: Array, memories: Array, *, explore: bool = False) -> Draw:
        """Choose the M memories to show.

        Args:
            query: shape ``(d,)``.
            memories: the retriever's best K, shape ``(K, d)``; K is 20 in the paper.
            explore: draw them, so that something can be learned; else the best are taken and there is no noise.
        """
        with self._lock:
            scores = self.scores(query, memories).astype(np.float64)
            noise = gumbel(len(scores), self._random) if explore else np.zeros(len(scores))
            logits = (scores + noise) / self._temperature
            if explore:
                order = drawn(logits, self._top, self._random)
            else:
                order = np.argsort(-scores, kind="stable")[: self._top].tolist()
        chances = softmax(logits) if len(scores) else scores
        return Draw(query, memories, scores, noise, chances, tuple(order), self._temperature, explore)

    def learn(self, draw: Draw, cited: Collection[int]) -> bool:
        """Take in which of the memories shown were cited: +1 for each that was, -1 for each that was not.

        Args:
            draw: what `choose` gave, explored or not.
            cited: places of candidates; those that were not shown do not count.

        Returns:
            Whether the batch was full and the matrices changed.
        """
        if not draw.order:
            return False
        with self._lock:
            self._waiting.append(self._step(draw, cited))
            if len(self._waiting) < self._batch:
                return False
            self._apply(self._waiting)
            self._waiting = []
        return True

    def gradient(self, draw: Draw, cited: Collection[int]) -> tuple[Array, Array]:
        """``(R - b)`` times the gradient of the draw's log-chance by W_q and by W_m (RMM eq. 3, without eta)."""
        step = self._step(draw, cited)
        return np.outer(step.left_query, step.query), np.outer(step.adapted, step.right_memory)

    def _step(self, draw: Draw, cited: Collection[int]) -> _Step:
        wanted = set(cited)
        rewards = np.array([1.0 if place in wanted else -1.0 for place in draw.order])
        credits = rewards - self._baseline
        if self._credit == "sum":
            credits = np.full(len(credits), credits.sum())
        by_score = slope(draw.logits, draw.order, credits) / draw.temperature
        return self._chained(draw.query, draw.memories, by_score)

    def _chained(self, query: Array, memories: Array, by_score: Array) -> _Step:
        """From the slope by the scores to that by the matrices."""
        mixed = by_score @ memories
        return _Step(mixed + self._memory.times(mixed), query, query + self._query.times(query), mixed)

    def _apply(self, steps: Sequence[_Step]) -> None:
        rate = self._rate / len(steps)
        for step in steps:
            self._query.add(rate * step.left_query, step.query)
            self._memory.add(rate * step.adapted, step.right_memory)
        if self._bound is not None:
            self._query.shrink_to(self._bound)
            self._memory.shrink_to(self._bound)
        self._updates += 1

    # -- offline ----------------------------------------------------------------------------------------------------

    def pretrain(
        self,
        examples: Sequence[tuple[Array, Array, Collection[int]]],
        *,
        epochs: int = 10,
        batch: int = 32,
        learning_rate: float = 1e-4,
        temperature: float = 0.05,
    ) -> list[float]:
        """Learn from labelled retrieval before any citation comes: supervised contrastive learning (RMM 8.6, A.1).

        For each memory that answers, the loss is its cross-entropy against the example's memories that do not
        (InfoNCE). The paper trains the retriever so; here the retriever stays and the matrices learn. Adam.

        Args:
            examples: the query's vector ``(d,)``, the candidates' ``(K, d)``, the places of those that answer.
            epochs: how often each example is seen.
            batch: how many examples an update averages.
            learning_rate: of Adam.
            temperature: of the softmax over scores.

        Returns:
            The mean loss of each epoch.
        """
        told = [each for each in examples if 0 < len(set(each[2])) < len(each[1])]
        adam = _Adam(self._dimensions, learning_rate)
        losses = []
        for _ in range(epochs if told else 0):
            order = self._random.permutation(len(told))
            spent = 0.0
            for start in range(0, len(told), batch):
                spent += self._pretrain_batch(
                    [told[place] for place in order[start : start + batch]], temperature, adam
                )
            losses.append(spent / len(told))
        return losses

    def _pretrain_batch(
        self, examples: Sequence[tuple[Array, Array, Collection[int]]], temperature: float, adam: _Adam
    ) -> float:
        spent = 0.0
        by_query, by_memory = np.zeros((2, self._dimensions, self._dimensions))
        for query, memories, positives in examples:
            loss, by_score = _contrast(self.scores(query, memories) / temperature, positives)
            step = self._chained(query, memories, by_score / temperature)
            by_query += np.outer(step.left_query, step.query) / len(examples)
            by_memory += np.outer(step.adapted, step.right_memory) / len(examples)
            spent += loss
        for matrix, change in zip((self._query, self._memory), adam.changes(by_query, by_memory), strict=True):
            matrix.subtract(change)
        return spent

    # -- state ------------------------------------------------------------------------------------------------------

    def state(self) -> str:
        """What was learned, as JSON: numbers only, versioned; with the draws that wait for their batch."""
        with self._lock:
            return json.dumps(
                {
                    "format": _FORMAT,
                    "dimensions": self._dimensions,
                    "updates": self._updates,
                    "query": self._query.packed(),
                    "memory": self._memory.packed(),
                    "waiting": [_encoded(np.stack(step.vectors)) for step in self._waiting],
                }
            )

    def load(self, state: str) -> None:
        """Go on from what `state` gave.

        Noise and draws go on from the seed and from how many answers were taken in, so that who loads a state again
        and again does not draw the same noise each time.

        Raises:
            InvalidInput: for a state of another format or for vectors of another length.
        """
        read = json.loads(state)
        if read.get("format") != _FORMAT or read.get("dimensions") != self._dimensions:
            found = (read.get("format"), read.get("dimensions"))
            raise InvalidInput(f"expected the format and dimensions {(_FORMAT, self._dimensions)}, got {found}")
        with self._lock:
            self._query.unpack(read["query"])
            self._memory.unpack(read["memory"])
            self._updates = int(read["updates"])
            # States from before draws were kept have none.
            self._waiting = [_Step(*_decoded(step).reshape(4, self._dimensions)) for step in read.get("waiting", ())]
            self._random = np.random.default_rng([self._seed, self._updates, len(self._waiting)])

    def reset(self) -> None:
        """Forget what was learned: both matrices are 0 again."""
        with self._lock:
            self._query.clear()
            self._memory.clear()
            self._updates, self._waiting = 0, []


class _Matrix:
    """A square matrix that grows by updates of rank one: a sum, kept partly as its factors.

    A product with ``r`` pairs of factors costs ``2 r d``, adding a pair ``2 d``; with the sum itself ``d * d`` each.
    """

    def __init__(self, size: int, dtype: npt.DTypeLike) -> None:
        self._size, self._dtype = size, np.dtype(dtype)
        self._most = max(4, size // 4)
        self.clear()

    def clear(self) -> None:
        self._sum: Array | None = None
        self._left = np.empty((self._most, self._size), self._dtype)
        self._right = np.empty((self._most, self._size), self._dtype)
        self._count = 0

    def add(self, left: Array, right: Array) -> None:
        """Add ``outer(left, right)``."""
        if self._count == self._most:
            self._fold()
        self._left[self._count], self._right[self._count] = left, right
        self._count += 1

    def subtract(self, change: Array) -> None:
        self._sum = (self.dense() - change).astype(self._dtype)
        self._count = 0

    def times(self, vector: Array) -> Array:
        return self._product(vector, self._left, self._right, self._sum)

    def transposed_times(self, vector: Array) -> Array:
        return self._product(vector, self._right, self._left, None if self._sum is None else self._sum.T)

    def _product(self, vector: Array, left: Array, right: Array, whole: Array | None) -> Array:
        product = (right[: self._count] @ vector) @ left[: self._count]
        return np.asarray(product if whole is None else product + whole @ vector)

    def dense(self) -> Array:
        factored = self._left[: self._count].T @ self._right[: self._count]
        return np.asarray(factored if self._sum is None else factored + self._sum)

    def shrink_to(self, bound: float) -> None:
        norm = self._norm()
        if norm > bound:
            self._left[: self._count] *= bound / norm
            self._sum = None if self._sum is None else (self._sum * (bound / norm)).astype(self._dtype)

    def _norm(self) -> float:
        if self._sum is not None:
            return float(np.linalg.norm(self.dense()))
        left, right = self._left[: self._count], self._right[: self._count]
        return float(np.sqrt(max(((left @ left.T) * (right @ right.T)).sum(), 0.0)))

    def _fold(self) -> None:
        self._sum, self._count = self.dense().astype(self._dtype), 0

    def packed(self) -> dict[str, Any]:
        if self._sum is not None:
            return {"sum": _encoded(self.dense())}
        return {"left": _encoded(self._left[: self._count]), "right": _encoded(self._right[: self._count])}

    def unpack(self, packed: dict[str, str]) -> None:
        self.clear()
        arrays = {name: _decoded(text).reshape(-1, self._size) for name, text in packed.items()}
        if "sum" in arrays:
            self._sum = arrays["sum"].astype(self._dtype)
            return
        for left, right in zip(arrays["left"], arrays["right"], strict=True):
            self.add(left, right)


def _encoded(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()


def _decoded(text: str) -> Array:
    return np.array(np.frombuffer(base64.b64decode(text), dtype="<f4"))


def _contrast(logits: Array, positives: Collection[int]) -> tuple[float, Array]:
    """The mean cross-entropy of each positive against all negatives, and its slope by the logits."""
    answers = sorted(set(positives))
    others = [place for place in range(len(logits)) if place not in set(answers)]
    loss, by_logit = 0.0, np.zeros(len(logits))
    for answer in answers:
        places = [answer, *others]
        chances = softmax(logits[places])
        loss -= float(np.log(max(chances[0], 1e-300))) / len(answers)
        by_logit[places] += chances / len(answers)
        by_logit[answer] -= 1 / len(answers)
    return loss, by_logit


class _Adam:
    """Kingma & Ba 2015, algorithm 1, with its defaults."""

    def __init__(self, size: int, rate: float) -> None:
        self._rate, self._steps = rate, 0
        self._means, self._squares = np.zeros((2, 2, size, size))

    def changes(self, *gradients: Array) -> list[Array]:
        self._steps += 1
        found = []
        for place, gradient in enumerate(gradients):
            self._means[place] += 0.1 * (gradient - self._means[place])
            self._squares[place] += 0.001 * (gradient**2 - self._squares[place])
            mean = self._means[place] / (1 - 0.9**self._steps)
            square = self._squares[place] / (1 - 0.999**self._steps)
            found.append(self._rate * mean / (np.sqrt(square) + 1e-8))
        return found
