"""What operations take: milliseconds by stage, calls and tokens of language models; spans where OpenTelemetry is."""

from .operations import Operations, count_model_call, staged
from .work import Work

__all__ = ["Operations", "Work", "count_model_call", "staged"]
