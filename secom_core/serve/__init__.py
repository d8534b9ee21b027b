"""`secom serve`: one warm process over a bank, for agents (Model Context Protocol) and for programs (HTTP).

The tools of agents and what they take (`secom_core.serve.tools`) need Pydantic alone: adapters offer the same tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..processes.on_demand import on_demand

if TYPE_CHECKING:
    from .application import application
    from .grants import Grant, Tokens
    from .memory import ServedMemory
    from .running import run_agent, run_http
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "application": "application",
            "grants": "Grant Tokens",
            "memory": "ServedMemory",
            "running": "run_agent run_http",
        },
    )

__all__ = ["Grant", "ServedMemory", "Tokens", "application", "run_agent", "run_http"]
