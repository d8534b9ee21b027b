"""What is done where a process ends in order."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable

from .forks import in_child


class AtEnd:
    """Something that is called where a process ends in order, also a child that `multiprocessing` has forked.

    Such a child runs nothing of `atexit`: it ends with what was registered in it. One that ends with ``os._exit``, as
    those of Celery do, calls nothing.

    Args:
        call: what is called.
    """

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        atexit.register(call)
        self.renew()
        in_child(self)

    def renew(self) -> None:
        """Begin with nothing to be done, in a child."""
        self._is_due = False

    def due(self) -> None:
        """There is something to be done in the end."""
        if self._is_due:
            return
        self._is_due = True
        multiprocessing = sys.modules.get("multiprocessing.process")
        if multiprocessing is not None and multiprocessing.parent_process() is not None:
            from multiprocessing.util import Finalize

            atexit.unregister(self._call)
            Finalize(None, self._call, exitpriority=0)
