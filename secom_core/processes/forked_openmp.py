"""Torch and FAISS in a process that was forked from one that had them loaded.

Both work with several threads of OpenMP. A fork copies none of them, and in the child whoever hands them work waits for
ever. With one thread there is nobody to wait for.
"""

from __future__ import annotations

import sys
from typing import Final

from .forks import in_child


class _Forked:
    """What was loaded already when this process was forked."""

    def __init__(self) -> None:
        self.had_torch = self.had_faiss = False
        in_child(self)

    def renew(self) -> None:
        """Note what the parent had loaded."""
        self.had_torch, self.had_faiss = "torch" in sys.modules, "faiss" in sys.modules


_forked: Final = _Forked()


def ready_openmp() -> None:
    """Have them work in one thread where their threads are the parent's; call it before one of them is asked.

    In a process that was not forked, or whose parent had loaded neither, nothing is done.
    """
    # Threads that had asked before the fork keep their own count, so each that asks is looked at.
    if _forked.had_torch and sys.modules["torch"].get_num_threads() > 1:
        sys.modules["torch"].set_num_threads(1)
    if _forked.had_faiss and sys.modules["faiss"].omp_get_max_threads() > 1:
        sys.modules["faiss"].omp_set_num_threads(1)
