"""What was corrected, taken back and pinned by hand."""

from __future__ import annotations

from .records import Mark, MarkKind

__all__ = ["Mark", "MarkKind"]
