"""The paper's reranker: two square matrices that bend the query's and the memories' vectors, taught by citations.

RMM, section 6, with the defaults of its appendix A.1. What the paper leaves open is read so:

- Appendix A.1 calls the reranker an MLP with a residual connection, equation 1 a linear layer with one. The equation is
  followed.
- Equation 2 adds Gumbel noise to the scores and then turns the sums into "sampling probabilities". Both at once would
  draw twice. It is read as a perturbation: the best by score plus noise are taken, which is one draw without
  replacement by the softmax of the bare scores (Maddison et al. 2014, whom the paper cites for it). So the chance of
  the ordered draw is Plackett-Luce's, with the scores over the temperature as its logits, and its gradient is exact.
- The paper names no scale for its scores, and noise of one size drowns the differences of cosines. The temperature, and
  the noise with it, is in standard deviations of the candidates' own scores: what stands far above the others is drawn
  whatever the embedder, and only what is nearly as good changes places. In the gradient it is a number like any other,
  although a change of the scores would change it too.
- Nothing ends the exploration in the paper. Here its temperature falls with every update: after
  `RerankerOptions.halved_after` of them it is half of what it was at first, after twice as many a third. The step of
  equation 3, which a falling temperature would make larger, is multiplied by the same share, so that the learning
  settles too. ``halved_after=math.inf`` leaves both as in the paper.
- Equation 3 has one reward and the chance of the whole draw, while every memory has a reward of its own. Each memory's
  reward is given to its own factor of that chance (``credit="each"``); ``credit="sum"`` gives the sum of the rewards to
  the whole.
- A batch's updates are averaged.
- The paper trains on draws. A draw without noise (``explore=False``) is learned from as well, as if it had been drawn.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..processes import ForkLock
from ..vectors import array_of, text_of
from .options import RerankerOptions
from .plackett_luce import Array, best, slope

_FORMAT: Final = 1
_SAME: Final = 1e-4
"""Up to which standard deviation, as a share of the largest score, scores are the same but for rounding."""


@dataclass(frozen=True)
class Draw:
    """What the reranker chose, and all that is needed to learn from it.

    Args:
        query: the query's vector, shape ``(d,)``.
        memories: the candidates' vectors, shape ``(K, d)``.
        scores: the dot products after adaptation, shape ``(K,)``.
        noise: what was added to them; zeros where nothing was explored.
        order: the places of the candidates chosen, in the order in which they were drawn.
        temperature: of the softmax that they were drawn by (RMM, below eq. 2), in units of the scores.
    """

    query: Array = field(repr=False)
    memories: Array = field(repr=False)
    scores: Array
    noise: Array
    order: tuple[int, ...]
    temperature: float

    @property
    def logits(self) -> Array:
        """Whose softmax the draw went by, shape ``(K,)``."""
        return np.asarray(self.scores / self.temperature)


class _Step(NamedTuple):
    """The gradient of one draw: by W_q it is ``outer(left_query, query)``, by W_m ``outer(adapted, right_memory)``."""

    left_query: Array
    query: Array
    adapted: Array
    right_memory: Array


class Reranker:
    """Reorders what a retriever found, and learns from which of it was cited (RMM, eq. 1 to 3).

    With both matrices at 0, as they begin, the order is that of the dot product. ``q' . m'`` is computed as
    ``((I + W_m)^T (I + W_q) q) . m``, which is the same number and costs one product with each matrix a query, not one
    a candidate. Updates are of rank one a draw, and kept as such until there are many.

    Args:
        dimensions: d, the length of the vectors.
        options: how many it chooses of how many, and how it learns.
        state: to go on from. Noise and draws go on from the seed and from how many answers were taken in, so that who
            loads a state again and again does not draw the same noise each time.
        embedder: the name of what makes the vectors, which is kept with the state.

    Raises:
        InvalidInput: for a state of another format, or of vectors of another length or another embedder.
    """

    def __init__(
        self,
        dimensions: int,
        options: RerankerOptions | None = None,
        *,
        state: str | None = None,
        embedder: str = "",
    ) -> None:
        if dimensions <= 0:
            raise InvalidInput(f"vectors have a length above 0, got {dimensions!r}")
        self._dimensions, self._options, self._embedder = dimensions, options or RerankerOptions(), embedder
        self._random = np.random.default_rng(self._options.seed)
        self._query, self._memory = _Matrix(dimensions), _Matrix(dimensions)
        self._waiting: list[_Step] = []
        self.updates = 0
        """How many batches were learned from."""
        self._lock = ForkLock()
        if state is not None:
            self._load(json.loads(state))

    @property
    def matrices(self) -> tuple[Array, Array]:
        """Copies of W_q and W_m, each of shape ``(d, d)``."""
        return self._query.dense(), self._memory.dense()

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
        adapted = query + self._query.times(query)
        return np.asarray(memories @ (adapted + self._memory.times(adapted, transposed=True)))

    def choose(self, query: Array, memories: Array, *, explore: bool = False) -> Draw:
        """Choose the M memories to show.

        Args:
            query: shape ``(d,)``.
            memories: the retriever's best K, shape ``(K, d)``; K is 20 in the paper.
            explore: draw them, so that something can be learned; else the best are taken and there is no noise.
        """
        with self._lock:
            scores = self.scores(query, memories).astype(np.float64)
            temperature = self._options.temperature * _spread(scores) * self._share
            noise = self._random.gumbel(size=len(scores)) * temperature if explore else np.zeros(len(scores))
        order = best(scores + noise, self._options.top)
        return Draw(query, memories, scores, noise, tuple(order), temperature)

    @property
    def _share(self) -> float:
        """What is left of the exploration at first, from 1 down towards 0."""
        return 1 / (1 + self.updates / self._options.halved_after)

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
            full = len(self._waiting) >= self._options.batch
            if full:
                self._update()
        return full

    def _step(self, draw: Draw, cited: Collection[int]) -> _Step:
        """``(R - b)`` times the gradient of the draw's log-chance by W_q and by W_m (RMM eq. 3, without eta)."""
        credits = np.array([1.0 if place in cited else -1.0 for place in draw.order]) - self._options.baseline
        if self._options.credit == "sum":
            credits = np.full(len(credits), credits.sum())
        by_score = self._share * slope(draw.logits, draw.order, credits) / draw.temperature
        # From the slope by the scores to that by the matrices.
        mixed = by_score @ draw.memories
        adapted = draw.query + self._query.times(draw.query)
        return _Step(mixed + self._memory.times(mixed), draw.query, adapted, mixed)

    def _update(self) -> None:
        rate = self._options.learning_rate / len(self._waiting)
        for step in self._waiting:
            self._query.add(rate * step.left_query, step.query)
            self._memory.add(rate * step.adapted, step.right_memory)
        if self._options.bound is not None:
            self._query.shrink_to(self._options.bound)
            self._memory.shrink_to(self._options.bound)
        self._waiting = []
        self.updates += 1

    def copy(self) -> Reranker:
        """Another one that has learned the same; what it goes on to learn is its own."""
        other = Reranker(self._dimensions, self._options, embedder=self._embedder)
        with self._lock:
            other._query, other._memory = self._query.copy(), self._memory.copy()
            other.updates, other._waiting = self.updates, list(self._waiting)
        other._draw_on()
        return other

    # -- state ------------------------------------------------------------------------------------------------------

    def state(self) -> str:
        """What was learned, as JSON: numbers only, versioned; with the draws that wait for their batch."""
        with self._lock:
            return json.dumps(
                {
                    "format": _FORMAT,
                    "dimensions": self._dimensions,
                    "embedder": self._embedder,
                    "updates": self.updates,
                    "query": self._query.packed(),
                    "memory": self._memory.packed(),
                    "waiting": [text_of(np.stack(step), "<f4") for step in self._waiting],
                }
            )

    def _load(self, fields: Mapping[str, Any]) -> None:
        # States from before the embedder was kept have none.
        found = (fields.get("format"), fields.get("dimensions"), fields.get("embedder") or self._embedder)
        expected = (_FORMAT, self._dimensions, self._embedder)
        if found != expected:
            raise InvalidInput(f"expected the format, dimensions and embedder {expected}, got {found}")
        self._query.unpack(fields["query"])
        self._memory.unpack(fields["memory"])
        self.updates = int(fields["updates"])
        # States from before draws were kept have none.
        self._waiting = [
            _Step(*array_of(step, "<f4").reshape(-1, self._dimensions)) for step in fields.get("waiting", ())
        ]
        self._draw_on()

    def _draw_on(self) -> None:
        self._random = np.random.default_rng([self._options.seed, self.updates, len(self._waiting)])


def _spread(scores: Array) -> float:
    """The standard deviation of the scores; 1 where they are all the same, as any noise then does."""
    found = float(scores.std()) if len(scores) else 0.0
    return found if found > _SAME * float(np.abs(scores).max(initial=0.0)) else 1.0


class _Matrix:
    """A square matrix that grows by updates of rank one: a sum, kept partly as its factors.

    A product with ``r`` pairs of factors costs ``2 r d``, adding a pair ``2 d``; with the sum itself ``d * d`` each.
    """

    def __init__(self, size: int, dtype: npt.DTypeLike = np.float32) -> None:
        self._sum: Array | None = None
        self._pairs = np.empty((2, max(4, size // 4), size), dtype)
        self._count = 0

    @property
    def _factors(self) -> Array:
        """The pairs that are not in the sum, shape ``(2, r, d)``: the left ones, then the right ones."""
        return self._pairs[:, : self._count]

    def add(self, left: Array, right: Array) -> None:
        """Add ``outer(left, right)``."""
        if self._count == self._pairs.shape[1]:
            self._sum, self._count = self.dense(), 0
        self._pairs[:, self._count] = left, right
        self._count += 1

    def times(self, vector: Array, *, transposed: bool = False) -> Array:
        """The product with a vector of shape ``(d,)``, of the matrix or of the transposed one."""
        left, right = self._factors[::-1] if transposed else self._factors
        product = (right @ vector) @ left
        if self._sum is not None:
            product = product + (self._sum.T if transposed else self._sum) @ vector
        return np.asarray(product)

    def dense(self) -> Array:
        """The matrix itself, shape ``(d, d)``."""
        left, right = self._factors
        return np.asarray(left.T @ right if self._sum is None else left.T @ right + self._sum)

    def shrink_to(self, bound: float) -> None:
        """Scale it to this Frobenius norm where that is larger."""
        scale = bound / max(float(np.linalg.norm(self.dense())), 1e-12)
        if scale < 1:
            self._factors[0] *= scale
            self._sum = None if self._sum is None else self._sum * scale

    def copy(self) -> _Matrix:
        """Another one of the same numbers, with few factors beside a sum, as `packed` adds them up each time."""
        other = _Matrix(self._pairs.shape[2], self._pairs.dtype)
        if self._sum is not None:
            other._sum = self.dense()
        else:
            other._count = self._count
            other._factors[:] = self._factors
        return other

    def packed(self) -> dict[str, str]:
        """As JSON holds it: the factors, or the sum where there is one."""
        if self._sum is not None:
            return {"sum": text_of(self.dense(), "<f4")}
        return dict(zip(("left", "right"), (text_of(each, "<f4") for each in self._factors), strict=True))

    def unpack(self, packed: Mapping[str, str]) -> None:
        """What `packed` gave, in place of what it is."""
        size, dtype = self._pairs.shape[2], self._pairs.dtype
        arrays = {name: array_of(text, "<f4").reshape(-1, size).astype(dtype) for name, text in packed.items()}
        self._sum, self._count = arrays.get("sum"), 0
        for left, right in zip(arrays.get("left", ()), arrays.get("right", ()), strict=True):
            self.add(left, right)
