"""The memory bank: what an application remembers with."""

from __future__ import annotations

from .answers import remember_soon
from .asynchronous import AsyncMemoryBank
from .background import BackgroundWriter
from .bank import MemoryBank
from .given import check_bank, check_writer
from .parts import Parts
from .records import Finding, Health, Remembered, Stats

__all__ = [
    "AsyncMemoryBank",
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
