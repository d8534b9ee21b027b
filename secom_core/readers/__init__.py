"""Conversations as they come, into messages and sessions: role/content dicts, transcripts, LoCoMo files.

Nothing is guessed in silence: what no reader understands raises `InvalidTranscript` with the line or item.
"""

from __future__ import annotations

from .locomo import LocomoQuestion, read_locomo, read_locomo_questions
from .messages import read_messages
from .transcript import read_transcript

__all__ = ["LocomoQuestion", "read_locomo", "read_locomo_questions", "read_messages", "read_transcript"]
