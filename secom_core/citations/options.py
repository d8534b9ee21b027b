"""How the paper's reranker chooses and learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..errors import InvalidInput


@dataclass(frozen=True, slots=True)
class RerankerOptions:
    """RMM's reranker over vectors: how a bank that is opened with ``citations=RerankerOptions()`` chooses and learns.

    The defaults are the paper's (A.1).

    Args:
        candidates: K, how many memories it looks at.
        top: M, how many it chooses.
        explore: draw them with noise, so that what ranks low has its chance; else the best are taken. Off unless asked
            for: whoever reads the answers pays for each memory that is drawn in the place of a better one.
        temperature: tau of the softmax, in standard deviations of the scores of the candidates.
        halved_after: after how many updates that temperature is half of what it was at first.
        baseline: b, what a reward is compared with.
        learning_rate: eta.
        batch: how many answers an update averages.
        credit: what each memory's part of the draw counts for: its own reward, or the sum of all rewards; see
            `secom_core.citations.reranker`.
        bound: how large the Frobenius norm of either matrix may become; any, as in the paper, where ``None``.
        seed: of the noise and the draws.

    Raises:
        InvalidInput: for a number out of range.
    """

    candidates: int = 20
    top: int = 5
    explore: bool = False
    temperature: float = 0.5
    halved_after: float = 50.0
    baseline: float = 0.5
    learning_rate: float = 1e-3
    batch: int = 4
    credit: Literal["each", "sum"] = "each"
    bound: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.top <= self.candidates:
            raise InvalidInput(f"a reranker chooses at least 1 and at most all of its candidates, got {self}")
        if min(self.temperature, self.halved_after, self.batch) <= 0:
            raise InvalidInput(f"a reranker's temperature, batch and halved_after are above 0, got {self}")
