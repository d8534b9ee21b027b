"""Segmenters: where a session is cut into segments. Every one fits `secom_core.protocols.Segmenter`."""

from __future__ import annotations

from .adaptive import AdaptiveSegmenter
from .embedding import EmbeddingSegmenter
from .fixed import EachTurn, FixedSize, WholeSession
from .lexical import LexicalSegmenter
from .rubric import Rubric, RubricLearner
from .zero_shot import ZeroShotSegmenter

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
