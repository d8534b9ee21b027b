"""The page of all that a scope remembers."""

from __future__ import annotations

from .page import ReportedSession, ReportSection, ScopeContents, scope_report

__all__ = ["ReportSection", "ReportedSession", "ScopeContents", "scope_report"]
