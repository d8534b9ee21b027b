"""A bank in the servers and task queues that people run it in: several processes, most of them forked.

    python -m benchmarks.processes [--store sqlite postgres] [--shapes gunicorn uvicorn celery] [--requests 2000]
        [--clients 8] [--json OUT]

- *gunicorn*: ``--preload``, 4 workers of 2 threads: the bank is opened, and has worked, before the fork.
- *gevent*: ``gunicorn --preload`` again, 2 workers that run every request in one thread: gevent replaces the threads of
  Python after the fork.
- *uvicorn*: 2 workers, each with a bank of its own.
- *celery*: a prefork pool of 4, born with the bank of its parent; its queue is a folder.

Clients ask at once; each request takes a turn in, one in two by a background writer, and recalls. Then the server is
asked to stop, and every turn that a client was told of is looked for. *Errors*: requests that were not answered in
time, or not with 200; *lost*: turns that are not there; *doubled*: there twice; *unfound*: not recalled by the process
that had just taken them in. All are to be 0.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final

from benchmarks.places import stores
from benchmarks.retrieval import versions
from secom_core import MemoryBank

PACKAGES: Final = {
    "gunicorn": ("gunicorn",),
    "gevent": ("gunicorn", "gevent"),
    "uvicorn": ("uvicorn",),
    "celery": ("celery",),
}
SHAPES: Final = tuple(PACKAGES)
WORKERS: Final = {"gunicorn": 4, "gevent": 2, "uvicorn": 2, "celery": 4}
SECONDS: Final = 60
APP: Final = "benchmarks.processes_app"

Ask = Callable[[int], dict[str, Any]]


@dataclass
class Outcome:
    """What became of the requests to one server."""

    shape: str
    store: str
    workers: int
    requests: int = 0
    processes: int = 0
    lost: int = 0
    doubled: int = 0
    unfound: int = 0
    seconds: float = 0
    errors: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.errors or self.lost or self.doubled or self.unfound)


# -- servers ----------------------------------------------------------------------------------------------------------


@contextmanager
def started(command: Sequence[str], place: str, log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server, which is asked to stop at the end, and has time to."""
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PROCESSES_BANK": place}
    with log.open("wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", *command], env=found | environment, stdout=out, stderr=out, start_new_session=True
        )
        try:
            yield server
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(SECONDS)
            finally:
                # Workers that hang are in its group.
                end_group(server.pid)


def end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


@contextmanager
def web(shape: str, place: str, folder: Path) -> Iterator[Ask]:
    """What asks a web server for one request."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gunicorn = ["gunicorn", "--preload", "--timeout", str(SECONDS), "--bind", f"127.0.0.1:{port}", f"{APP}:application"]
    commands = {
        "gunicorn": [*gunicorn, "--workers", "4", "--threads", "2"],
        "gevent": [*gunicorn, "--workers", "2", "--worker-class", "gevent"],
        "uvicorn": ["uvicorn", "--workers", "2", "--port", str(port), "--log-level", "warning", f"{APP}:asgi"],
    }
    with started(commands[shape], place, folder / f"{shape}.log"):
        ask = partial(asked, port)
        waited_for(partial(ask, None))
        yield ask


def asked(port: int, number: int | None) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", f"/{'' if number is None else number}")
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise OSError(f"status {response.status}")
        return dict(json.loads(body))
    finally:
        connection.close()


def waited_for(ask: Callable[[], object]) -> None:
    until = time.monotonic() + SECONDS
    while True:
        try:
            ask()
        except OSError:  # noqa: PERF203 - it is what the loop is for
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return


@contextmanager
def task_queue(place: str, folder: Path) -> Iterator[Ask]:
    """What sends a task to a queue and waits for its result."""
    from celery import Celery

    queue = folder / f"queue-{abs(hash(place))}"
    for name in ("written", "messages", "results", "control"):
        (queue / name).mkdir(parents=True)
    client = Celery("processes", broker="filesystem://", backend=f"file://{queue}/results")
    client.conf.broker_transport_options = {
        "data_folder_in": f"{queue}/messages",
        "data_folder_out": f"{queue}/written",
        "control_folder": f"{queue}/control",
    }
    posting = Lock()
    command = [
        *("celery", "--app", f"{APP}:celery", "worker", "--pool", "prefork", "--concurrency", "4"),
        *("--loglevel", "WARNING", "--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]

    def ask(number: int) -> dict[str, Any]:
        # A worker would take a message of which a part is written, and end.
        with posting:
            sent = client.send_task("processes.handle", args=[number])
            for message in (queue / "written").iterdir():
                message.rename(queue / "messages" / message.name)
        return dict(sent.get(timeout=SECONDS, interval=0.02))

    with started(command, place, folder / "celery.log", PROCESSES_QUEUE=str(queue)):
        yield ask


# -- requests ---------------------------------------------------------------------------------------------------------


def run(shape: str, store: str, place: str, folder: Path, requests: int, clients: int) -> Outcome:
    """Ask a server of that shape, stop it, and look for what it has promised."""
    outcome = Outcome(shape, store, WORKERS[shape], requests)
    MemoryBank.open(place).close()
    begun = time.perf_counter()
    served = task_queue(place, folder) if shape == "celery" else web(shape, place, folder)
    with served as ask, ThreadPoolExecutor(clients) as pool:
        answers = [each for each in pool.map(partial(told, outcome, ask), range(requests)) if each is not None]
    outcome.seconds = round(time.perf_counter() - begun, 1)
    compare(outcome, answers, stored(place))
    return outcome


def stored(place: str) -> Counter[str]:
    """How often each message is there, by its id."""
    with MemoryBank.open(place) as bank:
        sessions = [(scope, session) for scope in bank.scopes() for session in bank.sessions(scope)]
        turns = [turn for scope, session in sessions for turn in bank.turns(scope, session)]
    return Counter(str(message.id) for turn in turns for message in turn.messages)


def compare(outcome: Outcome, answers: Sequence[Mapping[str, Any]], there: Counter[str]) -> None:
    """Count what was promised and is not there, or twice."""
    outcome.processes = len({each["process"] for each in answers})
    outcome.unfound = sum(not each["found"] for each in answers)
    outcome.lost = sum(each["id"] not in there for each in answers)
    outcome.doubled = sum(count > 1 for count in there.values())


def told(outcome: Outcome, ask: Ask, number: int) -> dict[str, Any] | None:
    try:
        return ask(number)
    except Exception as error:  # noqa: BLE001 - whatever reaches a client is counted
        outcome.errors.append(f"request {number}: {type(error).__name__}: {error}"[:300])
        return None


def table(outcomes: Sequence[Outcome]) -> str:
    lines = ["| | store | workers | answered by | requests | errors | lost | doubled | unfound | s |"]
    lines.append("|---|---|---|---|---|---|---|---|---|---|")
    for each in outcomes:
        counts = (len(each.errors), each.lost, each.doubled, each.unfound)
        row = (each.shape, each.store, each.workers, each.processes, each.requests, *counts, each.seconds)
        lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", nargs="+", choices=("sqlite", "postgres"), default=["sqlite"])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--requests", type=int, default=2000, help="to each server")
    parser.add_argument("--clients", type=int, default=8, help="how many ask at once")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    missing = sorted({name for shape in options.shapes for name in PACKAGES[shape] if find_spec(name) is None})
    if missing:
        sys.exit(f"{', '.join(missing)}: not installed; run pip install {' '.join(missing)}, or name other --shapes")
    outcomes = []
    # A socket's path is short.
    with tempfile.TemporaryDirectory(prefix="proc-") as folder, stores(options.store, Path(folder)) as places:
        for store in options.store:
            for shape in options.shapes:
                place = places[store](shape)
                outcomes.append(run(shape, store, place, Path(folder), options.requests, options.clients))
    print(table(outcomes))
    for outcome in outcomes:
        print(*outcome.errors[:3], sep="\n", end="")
    if options.json:
        result = {"outcomes": [asdict(each) for each in outcomes], "clients": options.clients}
        result |= {"versions": versions("psycopg", *SHAPES)}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if not all(each.is_clean for each in outcomes):
        sys.exit("something was lost: see above")


if __name__ == "__main__":
    main()
