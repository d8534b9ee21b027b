"""The memory bank: what an application remembers with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..processes.on_demand import on_demand

if TYPE_CHECKING:
    from .answers import remember_soon
    from .background import BackgroundWriter
    from .bank import MemoryBank
    from .given import check_bank, check_writer
    from .parts import Parts
    from .records import Finding, Health, Remembered, Stats
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "answers": "remember_soon",
            "background": "BackgroundWriter",
            "bank": "MemoryBank",
            "given": "check_bank check_writer",
            "parts": "Parts",
            "records": "Finding Health Remembered Stats",
        },
    )

__all__ = [
    "BackgroundWriter",
    "Finding",
    "Health",
    "MemoryBank",
    "Parts",
    "Remembered",
    "Stats",
    "check_bank",
    "check_writer",
    "remember_soon",
]
