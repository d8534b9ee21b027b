"""The block that goes into a prompt: what fills its token budget, and how it is written."""

from __future__ import annotations

from .block import citable, render, without_recalled
from .packing import MOST_TOKENS, Packer, PackMemories, PackTopics, PackTurns

__all__ = [
    "MOST_TOKENS",
    "PackMemories",
    "PackTopics",
    "PackTurns",
    "Packer",
    "citable",
    "render",
    "without_recalled",
]
