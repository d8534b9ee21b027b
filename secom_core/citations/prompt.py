"""How an answer names the memories that it used (RMM section 6.2, appendix D.2)."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

CITE_INSTRUCTION: Final = files(__package__).joinpath("cite_instruction.txt").read_text(encoding="utf-8").rstrip()
"""For the system prompt of whoever answers."""
