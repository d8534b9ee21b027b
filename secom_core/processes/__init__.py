"""What stands where a process forks, as servers and task queues do that load an application once for all workers; and
threads that take turns.
"""

from __future__ import annotations

from .baton import interpreter
from .ends import AtEnd
from .fair_lock import FairLock
from .few_at_once import FewAtOnce
from .forked_openmp import ready_openmp
from .forks import ForkGate, ForkLock, ForkWorker, before_fork, in_child

__all__ = [
    "AtEnd",
    "FairLock",
    "FewAtOnce",
    "ForkGate",
    "ForkLock",
    "ForkWorker",
    "before_fork",
    "in_child",
    "interpreter",
    "ready_openmp",
]
