"""What a suite of `benchmarks.reliability` did, and how a bank is looked through for what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.reliability_worker import said
from secom_core import MemoryBank

__all__ = ["Outcome", "look", "stored"]


@dataclass
class Outcome:
    """What one suite did to one store, and what was lost."""

    suite: str
    store: str
    runs: int = 0
    promises: int = 0
    lost: int = 0
    doubled: int = 0
    undead: int = 0
    amiss: int = 0
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0
    milliseconds: dict[str, dict[str, float]] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)

    def note(self, what: str) -> None:
        """Count what is amiss, and in words."""
        self.amiss += 1
        self.told[what] = self.told.get(what, 0) + 1

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.undead or self.amiss or self.errors)


def stored(bank: MemoryBank, scope: Sequence[str]) -> list[str]:
    return [turn.id for session in bank.sessions(scope) for turn in bank.turns(scope, session)]


def look(outcome: Outcome, bank: MemoryBank, scope: Sequence[str], promised: Sequence[str], gone: set[str]) -> None:
    """Every promise, and the searches, against the bank."""
    there = stored(bank, scope)
    outcome.promises += len(promised) + len(gone)
    outcome.lost += len(set(promised) - gone - set(there))
    outcome.doubled += len(there) - len(set(there))
    outcome.undead += len(gone & set(there))
    for each in bank.check(scope):
        outcome.note(f"the check: {each}"[:300])
    look_for(outcome, bank, scope, there)


def look_for(outcome: Outcome, bank: MemoryBank, scope: Sequence[str], there: Sequence[str]) -> None:
    """Twenty searches, each as in a new bank that takes in this one's export."""
    queries = [said(*parts(each))["content"] for each in there[:: max(1, len(there) // 20)]]
    with MemoryBank.open() as made_anew:
        made_anew.storage.import_(bank.storage.export(scope))
        for query in queries:
            found, wanted = (each.recall(scope, query, token_budget=300).text for each in (bank, made_anew))
            if found != wanted:
                outcome.note(f"{query!r} of {scope} finds {found!r}, and in a new bank {wanted!r}"[:3000])


def parts(identity: str) -> tuple[str, int]:
    name, _, number = identity.rpartition("-")
    return name, int(number)
