"""The answer of a ReAct agent, whose message holds all that it thought, did and found."""

from __future__ import annotations

import re
from typing import Final

_ENDS_STEP: Final = r"^[ \t]*(Action(?=:[^\n]*\n[ \t]*Action Input:)|Answer):[ \t]*"
_STEP: Final = re.compile(rf"\s*^[ \t]*Thought:.*?{_ENDS_STEP}", re.M | re.S)
_THOUGHT_OR_ANSWER: Final = re.compile(r"^[ \t]*(Thought|Answer):[ \t]*", re.M)


def answer_of(text: str) -> str:
    r"""The answer of a ReAct agent without its thoughts and actions: the part after ``Answer:``.

    Args:
        text: such as ``"Thought: …\nAction: …\nObservation: …\nThought: …\nAnswer: …"``.

    Returns:
        The answer; empty where there are thoughts and actions but no answer; any other text unchanged.
    """
    step = _STEP.match(text)
    if step is None:
        return text
    if step[1] == "Answer":
        return text[step.end() :].strip()
    if (direct := _found_by_tool(text)) is not None:
        return direct
    # What a tool found may have such lines too, and stands before the last thought.
    place, is_thought = len(text), False
    for line in _THOUGHT_OR_ANSWER.finditer(text, step.end()):
        if is_thought and line[1] == "Answer":
            place = line.end()
        is_thought = line[1] == "Thought"
    return text[place:].strip()


def _found_by_tool(text: str) -> str | None:
    """A tool's result that is the answer (``return_direct``), which stands there as observation, thought and answer."""
    for answer in re.finditer("\nAnswer: ", text):
        thought = max(0, 2 * answer.end() - len("\nAnswer: ") - len(text))
        if text.endswith("\nThought: ", 0, thought):
            found = text[answer.end() :]
            if text.endswith(f"\nObservation: {found}\nThought: {found}", 0, answer.start()):
                return found.strip()
    return None
