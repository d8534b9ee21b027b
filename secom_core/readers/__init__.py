"""Conversations as they come, into messages and sessions: role/content dicts and plain transcripts.

Nothing is guessed in silence: what no reader understands raises `InvalidTranscript` with the line or item.
"""

from __future__ import annotations

from .messages import MessageLike, read_messages
from .transcript import read_transcript

__all__ = ["MessageLike", "read_messages", "read_transcript"]
