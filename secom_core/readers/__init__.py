"""Conversations as people and programs have them, into messages and sessions.

`read` takes a file, a folder or an archive of any format of `FORMATS`; the other functions take texts and objects that
a program has. Nothing is guessed in silence: what no reader understands raises `InvalidTranscript` with the place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..processes.on_demand import on_demand

if TYPE_CHECKING:
    from .captions import read_captions
    from .exports import format_of, read
    from .messages import MessageLike, read_messages
    from .registry import FORMATS, Format
    from .transcript import read_transcript
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "captions": "read_captions",
            "exports": "format_of read",
            "messages": "MessageLike read_messages",
            "registry": "FORMATS Format",
            "transcript": "read_transcript",
        },
    )

__all__ = [
    "FORMATS",
    "Format",
    "MessageLike",
    "format_of",
    "read",
    "read_captions",
    "read_messages",
    "read_transcript",
]
