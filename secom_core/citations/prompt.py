"""How an answer names the memories that it used (RMM section 6.2, appendix D.2)."""

from __future__ import annotations

from importlib.resources import files
from typing import Final


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").rstrip()


CITE_INSTRUCTION: Final = _text("cite_instruction.txt")
"""For the system prompt of whoever answers."""
CITE_REMINDER: Final = _text("cite_reminder.txt")
"""For the end of what is asked: small models have forgotten the instruction by then, or answer with a number alone."""
