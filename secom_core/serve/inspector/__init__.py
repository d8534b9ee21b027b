"""The inspector: a page in the browser that searches a memory, shows what it holds, and corrects and forgets."""

from __future__ import annotations

from .routes import inspector_routes

__all__ = ["inspector_routes"]
