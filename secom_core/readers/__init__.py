"""Conversations as they come, into messages and sessions: role/content dicts, plain transcripts, captions.

Nothing is guessed in silence: what no reader understands raises `InvalidTranscript` with the line or item.
"""

from __future__ import annotations

from .captions import read_captions
from .messages import MessageLike, read_messages
from .transcript import read_transcript

__all__ = ["MessageLike", "read_captions", "read_messages", "read_transcript"]
