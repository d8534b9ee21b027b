"""What operations take: milliseconds by stage, calls of language models and rerankers; spans where OpenTelemetry is."""

from .operations import Operations, count_model_call, count_reranking, staged
from .work import Work

__all__ = ["Operations", "Work", "count_model_call", "count_reranking", "staged"]
