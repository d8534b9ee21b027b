"""How much of what answers a question was found: evidence recall, strict recall, DCG.

The evidence of a question is a set of turns, as LoCoMo gives it (Maharana et al., ACL 2024).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from secom_core.errors import InvalidInput

__all__ = ["dcg", "evidence_recall", "strict_recall"]


def evidence_recall(found: Iterable[str], evidence: Collection[str]) -> float:
    """The share of the evidence that was found, from 0 to 1.

    Args:
        found: ids of the turns brought back.
        evidence: ids of the turns that hold the answer.

    Raises:
        InvalidInput: where there is no evidence to find.
    """
    wanted = _checked(evidence)
    return len(wanted.intersection(found)) / len(wanted)


def strict_recall(found: Iterable[str], evidence: Collection[str]) -> float:
    """1 where all of the evidence was found, else 0.

    Raises:
        InvalidInput: where there is no evidence to find.
    """
    return float(_checked(evidence).issubset(found))


def dcg(ranked: Iterable[str], evidence: Collection[str]) -> float:
    """Discounted cumulative gain of turns in rank order (SeCom, appendix A.8, equation 6).

    Each of the N turns of evidence has the relevance 1/N, and counts once, at its first rank i, divided by
    log2(i + 1).

    Args:
        ranked: ids of turns, best first.
        evidence: ids of the turns that hold the answer.

    Raises:
        InvalidInput: where there is no evidence to find.
    """
    wanted = _checked(evidence)
    ranks = enumerate(dict.fromkeys(ranked), start=1)
    return sum(1 / math.log2(rank + 1) for rank, turn in ranks if turn in wanted) / len(wanted)


def _checked(evidence: Collection[str]) -> set[str]:
    wanted = set(evidence)
    if not wanted:
        raise InvalidInput(f"a question without evidence cannot be measured, got {evidence!r}")
    return wanted
