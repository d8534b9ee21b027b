"""Long-term memory for agents of the OpenAI Agents SDK (``pip install ".[openai-agents]"`` in a clone)."""

from __future__ import annotations

from secom_core.errors import MissingExtra

try:
    import agents as _agents  # noqa: F401
except ImportError as error:
    raise MissingExtra("openai_agents_secom", "openai-agents") from error

from .session import SecomSession
from .tools import memory_tools

__all__ = ["SecomSession", "memory_tools"]
