"""The memory bank: what an application remembers with."""

from __future__ import annotations

from .background import BackgroundWriter, check_writer
from .bank import MemoryBank, check_bank
from .parts import Parts
from .records import Remembered, Stats

__all__ = ["BackgroundWriter", "MemoryBank", "Parts", "Remembered", "Stats", "check_bank", "check_writer"]
