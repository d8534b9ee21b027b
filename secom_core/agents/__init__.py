"""What the adapters of agent frameworks share: whose memory it is, sessions with their log, recall, and tools."""

from __future__ import annotations

from .log import ConversationLog, LogEntry
from .recalling import PromptRecall
from .scopes import ScopeOf, check_scope_of, scope_in
from .sessions import AgentSession

__all__ = ["AgentSession", "ConversationLog", "LogEntry", "PromptRecall", "ScopeOf", "check_scope_of", "scope_in"]
