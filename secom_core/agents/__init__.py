"""What the adapters of agent frameworks share: whose memory it is, the log of a conversation, recall, and tools."""

from __future__ import annotations

from .log import ConversationLog, LogEntry
from .recalling import PromptRecall
from .scopes import ScopeOf, check_scope_of, scope_in

__all__ = ["ConversationLog", "LogEntry", "PromptRecall", "ScopeOf", "check_scope_of", "scope_in"]
