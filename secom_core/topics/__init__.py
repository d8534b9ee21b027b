"""Topics (RMM, prospective reflection): what the sessions of each speaker say about one thing, with their turns."""

from __future__ import annotations

from .options import TopicOptions
from .placing import SimilarityRule
from .records import Topic, TopicVersion

__all__ = ["SimilarityRule", "Topic", "TopicOptions", "TopicVersion"]
