"""One process of `benchmarks.reliability`: does one thing to a bank until it is killed, and says what was done.

``python -m benchmarks.reliability_worker DUTY TARGET NAME [OTHER]``. A line of JSON on standard output is a promise: it
is printed after the call has returned.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from secom_core import MemoryBank
from secom_core.bank import BackgroundWriter, kept_index
from secom_core.errors import SecomError

SCOPE = ("reliability", "ann")
CLIENTS = 8


def said(name: str, number: int) -> dict[str, str]:
    """A message that no other has the code word of; its id tells all of it."""
    code = hashlib.sha256(f"{name}-{number}".encode()).hexdigest()[:12]
    text = f"Parcel q{code} is on shelf {number % 7} of the {('blue', 'red', 'old')[number % 3]} room."
    return {"role": "user", "content": text, "id": f"{name}-{number}"}


def promise(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def remember(bank: MemoryBank, name: str, _: str) -> None:
    for number in range(1_000_000):
        message = said(name, number)
        bank.remember(SCOPE, [message], session=name, close=number % 10 == 9)
        promise(id=message["id"])


def background(bank: MemoryBank, name: str, _: str) -> None:
    with BackgroundWriter(bank, debounce=0.01) as writer:
        for number in range(1_000_000):
            message = said(name, number)
            writer.remember(SCOPE, [message], session=name)
            promise(id=message["id"])


def rebuild(bank: MemoryBank, name: str, _: str) -> None:
    while True:
        bank.rebuild(SCOPE)
        promise(rebuilt=1)


def forget(bank: MemoryBank, name: str, _: str) -> None:
    """Says a secret in a session of its own, and has it forgotten."""
    for number in range(1_000_000):
        secret = said(f"{name}-secret{number}", number)
        bank.remember(SCOPE, [secret], session=f"{name}-{number}")
        promise(id=secret["id"])
        bank.forget(SCOPE, session=f"{name}-{number}")
        promise(gone=secret["id"])


def index(bank: MemoryBank, name: str, _: str) -> None:
    """Has every few messages written into the index that is kept with the bank, and its blocks merged."""
    kept_index._WORTH = 1
    for start in range(0, 1_000_000, 5):
        messages = [said(name, number) for number in range(start, start + 5)]
        bank.remember(SCOPE, messages, session=f"{name}-{start // 50}", close=start % 50 == 45)
        for message in messages:
            promise(id=message["id"])
        bank.recall(SCOPE, messages[0]["content"], token_budget=300)


def take_in(bank: MemoryBank, name: str, other: str) -> None:
    """Imports a file."""
    with Path(other).open(encoding="utf-8") as lines:
        bank.storage.import_(lines)
    promise(imported=1)


def move(bank: MemoryBank, name: str, other: str) -> None:
    with MemoryBank.open(other) as target:
        bank.storage.move_to(target.storage)
    promise(moved=1)


def crowd(bank: MemoryBank, name: str, seconds: str) -> None:
    """Eight threads that write and recall until the time is up; each error that reaches one of them is told,
    and one that is not of ours ends its thread with a traceback."""
    until = time.monotonic() + float(seconds)

    def client(place: int) -> None:
        scope = (*SCOPE, str(place % 4))
        for number in range(1_000_000):
            if time.monotonic() > until:
                return
            began = time.perf_counter()
            try:
                message = said(f"{name}-{place}", number)
                bank.remember(scope, [message], session=f"{name}-{place}")
                wrote = time.perf_counter()
                found = bank.recall(scope, message["content"], token_budget=300)
                read = time.perf_counter()
            except SecomError as error:
                promise(error=f"{type(error).__name__}: {error}"[:500])
                continue
            seen = message["id"] in {turn.id for turn in found.turns}
            promise(id=message["id"], scope=place % 4, seen=seen, write=wrote - began, recall=read - wrote)

    threads = [threading.Thread(target=client, args=(place,)) for place in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def peer(target: str, name: str, kind: str, count: int) -> None:
    """Adds to a memory of some kind, one's own folder of it."""
    from benchmarks.reliability_peers import PEERS

    memory = PEERS[kind](Path(target))
    promise(ready=1)
    for number in range(count):
        message = said(name, number)
        memory.add(message["id"], message["content"])
        promise(id=message["id"])


DUTIES: dict[str, Callable[[MemoryBank, str, str], None]] = {
    each.__name__: each for each in (remember, background, index, rebuild, forget, move, take_in, crowd)
}


def main() -> None:
    duty, target, name, *rest = sys.argv[1:]
    if duty == "migrate":
        # Opening is what migrates; the file was made by an older version.
        promise(ready=1)
        with MemoryBank.open(Path(target)):
            promise(migrated=1)
        return
    if duty == "peer":
        peer(target, name, rest[0], int(rest[1]))
        return
    with MemoryBank.open(target) as bank:
        promise(ready=1)
        DUTIES[duty](bank, name, rest[0] if rest else "")


if __name__ == "__main__":
    main()
