"""The options of `SecomMemory`, typed, and what the saved form of a memory or a block holds besides its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from llama_index.core.memory.memory import InsertMethod
from typing_extensions import TypedDict

from .agent_steps import UserHook
from .dialogue import QueryHook
from .unstored import Unstored
from .window import WindowEntry

Placement = Literal["user", "system", "off"] | InsertMethod
"""Where the recalled block goes."""


class BlockFields(TypedDict, total=False):
    """What a saved block holds besides its arguments."""

    unstored: list[Unstored]


class SessionFields(TypedDict, total=False):
    """What a saved memory holds besides its arguments."""

    window: list[WindowEntry]
    unstored: list[Unstored]
    class_name: str


class MemoryOptions(TypedDict, total=False):
    """The arguments of `SecomMemory` that say nothing of its bank; it explains them."""

    session: str | None
    busy_timeout: float | None
    token_budget: int | None
    k: int | None
    layers: Sequence[str]
    only_relevant: bool
    history: bool
    query: QueryHook | None
    by_user: UserHook
    insert_method: Placement
    remember_tools: bool
    write: Literal["inline", "background"]
    on_error: Literal["warn", "raise"]
    citations: bool
    trace_contents: bool
