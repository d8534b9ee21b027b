"""A bank whose store fails for a while."""

from __future__ import annotations

from pathlib import Path

from secom_core import MemoryBank


class Broken:
    """The bank's file is a folder for a while."""

    def __init__(self, bank: MemoryBank, path: Path) -> None:
        self.bank, self.path, self.aside = bank, path, path.with_suffix(".aside")

    def __enter__(self) -> None:
        self.bank._store.engine.dispose()
        self.path.rename(self.aside)
        self.path.mkdir()

    def __exit__(self, *_: object) -> None:
        self.bank._store.engine.dispose()
        self.path.rmdir()
        self.aside.rename(self.path)
