"""Segmenters: where a session is cut into segments. Every one fits `secom_core.protocols.Segmenter`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..processes.on_demand import on_demand

if TYPE_CHECKING:
    from .adaptive import AdaptiveSegmenter
    from .embedding import EmbeddingSegmenter
    from .fixed import EachTurn, FixedSize, WholeSession
    from .lexical import LexicalSegmenter
    from .rubric import Rubric, RubricLearner
    from .zero_shot import ZeroShotSegmenter
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "adaptive": "AdaptiveSegmenter",
            "embedding": "EmbeddingSegmenter",
            "fixed": "EachTurn FixedSize WholeSession",
            "lexical": "LexicalSegmenter",
            "rubric": "Rubric RubricLearner",
            "zero_shot": "ZeroShotSegmenter",
        },
    )

__all__ = [
    "AdaptiveSegmenter",
    "EachTurn",
    "EmbeddingSegmenter",
    "FixedSize",
    "LexicalSegmenter",
    "Rubric",
    "RubricLearner",
    "WholeSession",
    "ZeroShotSegmenter",
]
