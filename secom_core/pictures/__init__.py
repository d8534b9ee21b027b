"""Pictures: how a session was cut, and how events led from one to the next."""

from __future__ import annotations

from .segmentation import segmentation_strip
from .timelines import timeline_picture

__all__ = ["segmentation_strip", "timeline_picture"]
