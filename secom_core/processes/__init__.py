"""What stands where a process forks, as servers and task queues do that load an application once for all workers."""

from __future__ import annotations

from .forks import FairLock, ForkGate, ForkLock, ForkWorker, in_child

__all__ = ["FairLock", "ForkGate", "ForkLock", "ForkWorker", "in_child"]
