"""A server that runs in a process of its own, as `secom serve` starts it: for benchmarks and tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from secom_core.conversation import Scope
from secom_core.serve.grants import Grant, add_token

_ADDRESS = re.compile(r"serving at (http://\S+)")
_START_S = 60.0
_STOP_S = 60.0


@dataclass
class Served:
    """A server that runs.

    Args:
        process: it.
        url: where it is reached.
        folder: where it runs, with its bank ``memory.db`` and its tokens ``tokens.jsonl``.
        log: the file that holds what it writes to standard error.
    """

    process: subprocess.Popen[bytes]
    url: str
    folder: Path
    log: Path = field(repr=False)

    def token(self, name: str, scope: Scope, also: Sequence[Scope] = (), *, writes: bool = True) -> str:
        """A new token, which the server notices."""
        return add_token(self.folder / "tokens.jsonl", Grant(name, scope, tuple(also), writes))

    def stop(self) -> int:
        """Ask it to stop, and wait; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_STOP_S)

    def kill(self) -> None:
        """End it at once, as the system does where memory runs out."""
        self.process.kill()
        self.process.wait(_STOP_S)


@contextmanager
def serving(folder: Path, *options: str, environ: Mapping[str, str] | None = None, port: int = 0) -> Iterator[Served]:
    """Start a server in a folder, over ``memory.db`` unless the environment says otherwise; it is stopped at the end.

    Args:
        folder: where it runs.
        options: of the command, beside the port.
        environ: variables beside those of this process, of which those of secom are left out.
        port: where it listens; a free one unless given.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SECOM_")}
    log = folder / f"serve-{time.monotonic_ns()}.log"
    command = [sys.executable, "-m", "secom_core", "serve", "--port", str(port), *options]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={
                **kept,
                "SECOM_STORE": "memory.db",
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                **(environ or {}),
            },
            stdin=subprocess.DEVNULL,
            stderr=errors,
        )
    try:
        yield Served(process, _address(process, log), folder, log)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_S)
            finally:
                process.kill()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        found = _ADDRESS.search(log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise RuntimeError(f"the server did not start: {log.read_text(encoding='utf-8', errors='replace')}")
