"""Memories that a model names by their ids, also where it copies these with what stands around them."""

from __future__ import annotations

import re
from typing import Final

from ..context.reading import IN_PART
from ..conversation import Scope
from ..errors import shorten
from .bank import MemoryBank

_NUMBER: Final = re.compile(r"\[\d+\]\s*(?=\S)")
_AROUND: Final = " \t\n'\"`[](),;."
_GIVEN: Final = "~"
"""How an id begins that the bank has given."""


def id_meant(bank: MemoryBank, scope: Scope, memory_id: str) -> str:
    """The id that a model means: the first that a turn of the scope has of what it wrote, and that without what stands
    around it in the result of a search, or without the ``~`` that it begins with. As it wrote it where no turn has any.

    Args:
        bank: where the memories are.
        scope: whose they are.
        memory_id: as the model wrote it.
    """
    bare = _NUMBER.sub("", memory_id.strip().removesuffix(IN_PART.strip()), count=1).strip(_AROUND)
    written = [each for each in dict.fromkeys([memory_id, bare, f"{_GIVEN}{bare}"]) if each.strip()]
    there = {turn.id for turn in bank.turns(scope, turn_ids=written)}
    return next((each for each in written if each in there), memory_id)


def unknown_id(memory_id: str) -> str:
    """What the model is told of an id that no memory of the scope has, to go on: where the ids stand."""
    number = memory_id.strip(_AROUND)
    told = f"There is no memory with the id {shorten(memory_id)}. Copy one from the last line of a search's result"
    return f"{told}: that of [{number}] stands behind [{number}] there." if number.isdecimal() else f"{told}."
