"""What an operation took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Work:
    """What one operation took, or several together.

    Args:
        operations: how many.
        calls: how many prompts language models were asked for them, those that failed included.
        tokens_in: how many tokens the prompts had, estimated.
        tokens_out: how many tokens the replies had, estimated.
        stages: how many milliseconds of wall time each stage took, by its name; each counts what it did itself, not
            the stages within it, and ``"other"`` is what no stage did.
        rerank_calls: how often a reranker was asked, the calls that failed included.
        rerank_texts: how many texts it was given to judge.
        rerank_tokens: how many tokens they had, each with the query, estimated.
    """

    operations: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    stages: Mapping[str, float] = field(default_factory=dict, hash=False)
    rerank_calls: int = 0
    rerank_texts: int = 0
    rerank_tokens: int = 0

    @property
    def milliseconds(self) -> float:
        """How long all stages took together."""
        return sum(self.stages.values())

    def __add__(self, other: Work) -> Work:
        names = dict.fromkeys([*self.stages, *other.stages])
        return Work(
            self.operations + other.operations,
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            {name: self.stages.get(name, 0.0) + other.stages.get(name, 0.0) for name in names},
            self.rerank_calls + other.rerank_calls,
            self.rerank_texts + other.rerank_texts,
            self.rerank_tokens + other.rerank_tokens,
        )
