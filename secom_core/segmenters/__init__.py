"""Segmenters: where a session is cut into topics.

Every one fits `secom_core.protocols.Segmenter` and loads when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .adaptive import AdaptiveSegmenter as AdaptiveSegmenter
    from .embedding import EmbeddingSegmenter as EmbeddingSegmenter
    from .fixed import EachTurn as EachTurn
    from .fixed import FixedSize as FixedSize
    from .fixed import WholeSession as WholeSession
    from .lexical import LexicalSegmenter as LexicalSegmenter
    from .rubric import Rubric as Rubric
    from .rubric import RubricLearner as RubricLearner
    from .zero_shot import ZeroShotSegmenter as ZeroShotSegmenter

_HOMES: Final = {
    "AdaptiveSegmenter": "adaptive",
    "EachTurn": "fixed",
    "EmbeddingSegmenter": "embedding",
    "FixedSize": "fixed",
    "LexicalSegmenter": "lexical",
    "Rubric": "rubric",
    "RubricLearner": "rubric",
    "WholeSession": "fixed",
    "ZeroShotSegmenter": "zero_shot",
}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
