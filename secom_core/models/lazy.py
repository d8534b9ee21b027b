"""A model of sentence-transformers that is loaded when it is first asked, by one thread at a time."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from time import monotonic
from typing import Any, Final, Generic, TypeVar

from ..errors import ModelUnavailable
from ..processes import ForkLock, ready_openmp
from ..processes.local_first import local_first

M = TypeVar("M")

_RETRY_AFTER: Final = 300.0  # seconds before a model that could not be loaded is tried again
_OFFLINE: Final = (
    "Without a network, pass the folder of a model that was downloaded before, or run once with a network so that it "
    "is cached (HF_HOME says where)."
)


class LazyModel(Generic[M]):
    """A model, loaded when it is first wanted.

    Args:
        source: its name on the hub, or the folder that holds it.
        kind: what it is, for the error.
        load: loads it; with ``local_files_only=True`` it looks on this machine alone.
    """

    def __init__(self, source: str | PathLike[str], kind: str, load: Callable[..., M]) -> None:
        self.source = fspath(source)
        self.lock = ForkLock()
        """For loading and asking: the fast tokenizers refuse two threads at once."""
        self._kind, self._load = kind, load
        self.held: M | None = None
        """The model, once it is loaded."""
        self._failure: Exception | None = None
        self._retry_at = 0.0

    def __getstate__(self) -> dict[str, Any]:
        """What it loads: in another process the model is loaded again."""
        return {**self.__dict__, "held": None, "_failure": None}

    def leave(self) -> None:
        """Let the model go before a fork (`secom_core.processes.before_fork`); it is loaded again when next wanted."""
        self.held = None

    def loaded(self) -> M:
        """The model; call it with the lock held.

        Raises:
            ModelUnavailable: it cannot be loaded; the message says what to do without a network.
        """
        ready_openmp()
        if self.held is None and (self._failure is None or monotonic() >= self._retry_at):
            try:
                self.held, self._failure = local_first(self._load, self.source), None
            except (OSError, ValueError, RuntimeError) as error:
                self._failure, self._retry_at = error, monotonic() + _RETRY_AFTER
        if self.held is None:
            message = f"the {self._kind} {self.source!r} cannot be loaded: {self._failure}\n{_OFFLINE}"
            raise ModelUnavailable(message) from self._failure
        return self.held
