"""What memory asks of language models, counted: of the bank's own, and of those that its parts bring."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any, TypeVar, cast

from ..llm.flow import ChatModel, Cost, Metered
from ..processes import ForkLock

T = TypeVar("T")


class Spending:
    """Counts turns that come, and what is asked of the models it was shown."""

    def __init__(self) -> None:
        self.turns = 0
        self._meters: list[Metered] = []
        self._lock = ForkLock()

    @property
    def cost(self) -> Cost:
        """What was asked so far."""
        return sum((meter.cost for meter in self._meters), Cost())

    def came(self, turns: int) -> None:
        """Count turns."""
        with self._lock:
            self.turns += turns

    def metered(self, model: ChatModel) -> Metered:
        """The model, counted."""
        self._meters.append(Metered(model))
        return self._meters[-1]

    def of_part(self, part: T) -> T:
        """The part with its model counted, where it is a dataclass that has one as ``model``; else as it is."""
        model = getattr(part, "model", None)
        if isinstance(part, type) or not is_dataclass(part) or not isinstance(model, ChatModel):
            return part
        made: Any = replace(cast("Any", part), model=self.metered(model))
        return cast("T", made)
