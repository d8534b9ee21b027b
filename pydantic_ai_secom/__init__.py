"""Long-term memory for agents of Pydantic AI (``pip install ".[pydantic-ai]"`` in a clone)."""

from __future__ import annotations

from secom_core.errors import MissingExtra

try:
    import pydantic_ai as _pydantic_ai  # noqa: F401
except ImportError as error:
    raise MissingExtra("pydantic_ai_secom", "pydantic-ai") from error

from .session import SecomSession
from .tools import memory_toolset

__all__ = ["SecomSession", "memory_toolset"]
