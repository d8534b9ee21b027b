"""Torch in a process that was forked from one that had it loaded.

Torch works with several threads of OpenMP. A fork copies none of them, and in the child whoever hands them work waits
for ever. With one thread there is nobody to wait for.
"""

from __future__ import annotations

import sys
from typing import Final

from .forks import in_child


class _ForkedTorch:
    """Whether torch was loaded already when this process was forked."""

    def __init__(self) -> None:
        self.came_along = False
        in_child(self)

    def renew(self) -> None:
        """Note whether the parent had loaded it."""
        self.came_along = "torch" in sys.modules


_forked: Final = _ForkedTorch()


def ready_torch() -> None:
    """Have torch work in one thread where its threads are the parent's; call it before a model is loaded or asked.

    In a process that was not forked, or whose parent had not loaded torch, nothing is done.
    """
    # Threads that had asked it before the fork keep their own count, so each that asks is looked at.
    if _forked.came_along and sys.modules["torch"].get_num_threads() > 1:
        sys.modules["torch"].set_num_threads(1)
