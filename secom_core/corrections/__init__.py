"""What was corrected, taken back and pinned by hand."""

from __future__ import annotations

from .layer import CorrectionLayer
from .records import Mark, MarkKind

__all__ = ["CorrectionLayer", "Mark", "MarkKind"]
