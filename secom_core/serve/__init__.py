"""`secom serve`: one warm process over a bank, for agents (Model Context Protocol) and for programs (HTTP)."""

from __future__ import annotations

from ..errors import MissingExtra

try:
    import mcp as _mcp  # noqa: F401
    import prometheus_client as _prometheus_client  # noqa: F401
    import starlette as _starlette  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError as error:
    raise MissingExtra("secom serve", "serve") from error

from .application import application
from .grants import Grant, Tokens
from .memory import ServedMemory
from .running import run_agent, run_http

__all__ = ["Grant", "ServedMemory", "Tokens", "application", "run_agent", "run_http"]
