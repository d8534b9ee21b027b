"""Guidance for segmentation that a language model learns from annotated sessions (SeCom, appendix A.1)."""

from __future__ import annotations

from .file import Rubric
from .learner import RubricLearner

__all__ = ["Rubric", "RubricLearner"]
