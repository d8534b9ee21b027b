"""Conversations as they come, into messages and sessions: role/content dicts, plain transcripts, captions.

Nothing is guessed in silence: what no reader understands raises `InvalidTranscript` with the line or item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..processes.on_demand import on_demand

if TYPE_CHECKING:
    from .captions import read_captions
    from .messages import MessageLike, read_messages
    from .transcript import read_transcript
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "captions": "read_captions",
            "messages": "MessageLike read_messages",
            "transcript": "read_transcript",
        },
    )

__all__ = ["MessageLike", "read_captions", "read_messages", "read_transcript"]
