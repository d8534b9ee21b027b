"""Whom a text is about that a language model wrote of a conversation: small models quote, or name their example."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..conversation import Turn
from ..text.patterns import regex

_EXAMPLE: Final = regex(r"^\[Exchange 0\]: (\w+): ", re.MULTILINE)
_FIRST_PERSON: Final = regex(
    r"(?:I|My|We|Our|Ich|Wir|Meine?|Unsere?|Je|J(?=['’])|Mon|Ma|Mes|Nous|Notre)(?=[\s'’])|我|私|僕|俺"
)


def attributed(text: str, turns: Sequence[Turn]) -> str:
    """The text behind the name of who says it, where it speaks in the first person, as what is quoted does.

    Args:
        text: what a model wrote.
        turns: those that it rests on.
    """
    if _FIRST_PERSON.match(text) is None:
        return text
    messages = [message for turn in turns for message in turn.messages if message.label]
    said = next((each for each in messages if text.rstrip(".!。！ ") in each.text), messages[0] if messages else None)
    return f"{said.label}: {text}" if said is not None else text


def without_example(text: str, window: Sequence[Turn], prompt: str, speaker: str = "") -> str:
    """The text with the speaker's name in the place of that of the prompt's example, which nobody else has.

    Args:
        text: what a model wrote.
        window: the turns that it was shown.
        prompt: what it was asked.
        speaker: who it was asked about; who speaks first unless given.
    """
    example = _EXAMPLE.search(prompt)
    first = speaker or next((name for turn in window for name in turn.speakers), "")
    if example is None or not first or example[1] not in text or any(example[1] in _all(turn) for turn in window):
        return text
    return re.sub(rf"(?<![A-Za-z]){example[1]}(?![A-Za-z])", first, text)


def _all(turn: Turn) -> str:
    return "\n".join([turn.text, *turn.speakers])
