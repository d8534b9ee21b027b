"""What background writers ask of their process: a thread, and time to write what waits in memory where it ends."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextvars import Context
from functools import partial
from typing import Final
from weakref import WeakSet

from ..errors import attempted
from ..processes import AtEnd
from .records import WriterHealth

_LOG: Final = logging.getLogger(__name__)
_writers: Final[WeakSet[WriterHealth]] = WeakSet()


def started(work: Callable[[], None]) -> threading.Thread | None:
    """A thread that does the work; nothing where none can be started."""
    # It works for all who come: what follows threads would put their work into the trace of who started it.
    thread = threading.Thread(target=Context().run, args=(work,), name="secom-writer", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        # Of this process there can be no more threads, or it ends: what waits is derived by the next recall.
        _LOG.warning("no thread can be started to derive what was said, the next recall does it")
        return None
    return thread


def writes_at_end(writer: WriterHealth) -> None:
    """Have a writer write what waits in its memory where the process ends in order."""
    _writers.add(writer)


def due_at_end() -> None:
    """Something waits in memory from now on."""
    _write_the_rest.due()


@AtEnd
def _write_the_rest() -> None:
    since = time.monotonic()
    for writer in [each for each in _writers if each.unwritten]:
        attempted("the store", partial(writer.end, since), "messages are lost with this process")
