"""Chats: the messages of a session as a framework holds them, beside the turns that are made of them."""

from __future__ import annotations

from .records import ChatRecord

__all__ = ["ChatRecord"]
