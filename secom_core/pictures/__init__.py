"""Pictures: how a session was cut, and the page of all that a scope remembers."""

from __future__ import annotations

from .segmentation import segmentation_strip

__all__ = ["segmentation_strip"]
