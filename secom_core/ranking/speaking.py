"""Who speaks, to whom, and at what length: what ranking tells passages apart by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..text.speech import Standing

SHORT: Final = 40
"""How many tokens a turn may have to be ranked and shown whole (`secom_core.text.terms.count_tokens`)."""

LONG: Final = 150
"""From how many tokens on a turn is of a chat whose replies are long, where what a user says is ranked otherwise."""

UTTERANCE: Final = 0
"""Somebody speaks among people."""
SAID_BY_USER: Final = 1
"""A user speaks to an assistant."""
REPLY: Final = 2
"""An assistant, or a tool, answers."""

NOTED: Final = 3
"""A tool notes a fact (`secom_core.conversation.NOTE`): an utterance in all but that it is noted again to be kept."""

STANDING: Final[tuple[Standing, ...]] = ("", "instruction", "preference", "fact")
"""What `PassageTable.stands` counts by."""

KINDS: Final[Mapping[str, int]] = {"": UTTERANCE, "user": SAID_BY_USER, "human": SAID_BY_USER, "system": SAID_BY_USER}
"""By the role of who speaks; any other is that of a reply."""

PROGRAMS: Final = frozenset({"tool", "function"})
"""The roles of who is no speaker by name: a tool called ``search`` or ``shell`` has a common word as its name."""
