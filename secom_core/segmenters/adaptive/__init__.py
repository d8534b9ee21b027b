"""Learns how the people of one scope open and close segments, from their unlabelled sessions or from a few labels."""

from .segmenter import AdaptiveSegmenter

__all__ = ["AdaptiveSegmenter"]
