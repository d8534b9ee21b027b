"""The application of `benchmarks.processes`: one bank, opened when the module is loaded, whoever forks afterwards.

As ``application`` it is a WSGI application, as ``asgi`` an ASGI one, as ``celery`` a Celery application; each takes a
turn in, recalls, and answers with the id of the turn. The environment says where the bank is (``PROCESSES_BANK``), and
where a queue lies (``PROCESSES_QUEUE``). The parent has worked with the bank before it forks, and its background writer
has a thread.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from secom_core.bank import BackgroundWriter, MemoryBank

USERS = 8

bank = MemoryBank.open(os.environ["PROCESSES_BANK"])
writer = BackgroundWriter(bank, debounce=0.05)
writer.remember(("processes", "parent"), [{"role": "user", "content": "Before the fork."}], session=str(os.getpid()))
bank.recall(("processes", "parent"), "What was before?")


def handle(number: int) -> dict[str, Any]:
    """Take a turn in and recall; what is answered is on disk."""
    identity, scope = f"turn-{number}", ("processes", f"user{number % USERS}")
    said = {"role": "user", "content": f"Parcel {number} is on shelf {number % 7}.", "id": identity}
    if number % 2:
        bank.remember(scope, [said], session="s")
    else:
        writer.remember(scope, [said], session="s")
    if number % 10 == 0 and not writer.flush(20):
        raise RuntimeError("the background writer does not derive")
    found = bank.recall(scope, f"Where is parcel {number}?", k=3)
    return {"id": identity, "process": os.getpid(), "found": identity in {turn.id for turn in found.turns}}


# -- WSGI -------------------------------------------------------------------------------------------------------------


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """``GET /17`` takes turn 17 in; ``GET /`` only answers."""
    number = environ["PATH_INFO"].strip("/")
    answer = json.dumps(handle(int(number)) if number else {}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]


# -- ASGI -------------------------------------------------------------------------------------------------------------


async def asgi(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[Any]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """As `application`; the bank is asked off the event loop."""
    if scope["type"] != "http":
        return
    number = scope["path"].strip("/")
    answer = json.dumps(await asyncio.to_thread(handle, int(number)) if number else {}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": answer})


# -- Celery -----------------------------------------------------------------------------------------------------------

if queue := os.environ.get("PROCESSES_QUEUE"):
    from celery import Celery

    celery = Celery("processes", broker="filesystem://", backend=f"file://{queue}/results")
    for name in ("messages", "results", "control"):
        Path(queue, name).mkdir(parents=True, exist_ok=True)
    celery.conf.broker_transport_options = {
        "data_folder_in": f"{queue}/messages",
        "data_folder_out": f"{queue}/messages",
        "control_folder": f"{queue}/control",
        "polling_interval": 0.02,  # of a second, the default, a request would take most
    }
    celery.conf.task_ignore_result = False
    task = celery.task(name="processes.handle")(handle)
