"""A running summary of closed sessions (RSum), with and without a language model."""

from __future__ import annotations

from .prompts import response_example, response_instructions, response_prompt
from .records import Summary
from .summarizer import Summarizer

__all__ = ["Summarizer", "Summary", "response_example", "response_instructions", "response_prompt"]
