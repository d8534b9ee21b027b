"""The memory bank: what an application remembers with."""

from __future__ import annotations

from .background import BackgroundWriter, check_writer
from .bank import MemoryBank
from .given import check_bank
from .parts import Parts
from .records import Finding, Remembered, Stats

__all__ = ["BackgroundWriter", "Finding", "MemoryBank", "Parts", "Remembered", "Stats", "check_bank", "check_writer"]
