"""A process that forks in the midst of its work: ``python fork_worker.py PLACE CHILDREN``.

Threads remember and recall all the while. Each child does the same with the bank that it was born with, directly and by
the background writer. The last line of the output says in JSON how the children ended, what went wrong in the parent,
and which turns are not there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable

from secom_core.bank import BackgroundWriter, MemoryBank

THREADS, CHILD_SECONDS = 4, 20


def said(name: str, number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Parcel {name}{number} is on the shelf.", "id": f"{name}-{number}"}]


def work(bank: MemoryBank, name: str, number: int) -> None:
    scope = ("acme", name)
    bank.remember(scope, said(name, number), session="s")
    if number == 0 or number % 5 == 4:
        assert f"Parcel {name}{number} " in bank.recall(scope, f"Where is parcel {name}{number}?").text


def child(bank: MemoryBank, writer: BackgroundWriter, name: str) -> None:
    assert len(writer) == 0, "the parent's queue is the parent's"
    for number in range(5):
        work(bank, name, number)
    writer.remember(("acme", name), said(name, 5), session="s")
    assert writer.flush(CHILD_SECONDS), "the writer has no thread"
    # Of a scope whose lock a thread of the parent may have held.
    assert bank.recall(("acme", "parent0"), "Where is a parcel?").text
    writer.close()
    bank.close()


def forked(run: Callable[[], None]) -> int:
    number = os.fork()
    if number:
        return number
    signal.alarm(CHILD_SECONDS)
    status = 1
    try:
        run()
        status = 0
    except Exception:  # noqa: BLE001 - whatever it is, it is told
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def main(place: str, children: int) -> None:
    bank = MemoryBank.open(place)
    errors: list[str] = []
    over = threading.Event()
    done = [0] * THREADS
    ready = threading.Barrier(THREADS + 1)

    def busy(thread: int) -> None:
        try:
            while not over.is_set():
                work(bank, f"parent{thread}", done[thread])
                done[thread] += 1
                if done[thread] == 5:
                    ready.wait()
        except Exception:  # noqa: BLE001 - whatever it is, it is told
            errors.append(traceback.format_exc()[-600:])

    threads = [threading.Thread(target=busy, args=(thread,), daemon=True) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    ready.wait(60)
    with BackgroundWriter(bank, debounce=60) as writer:
        writer.remember(("acme", "queued"), said("queued", 0), session="s")
        born = [forked(lambda name=f"child{number}": child(bank, writer, name)) for number in range(children)]
        ends = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in born]
        over.set()
        for thread in threads:
            thread.join(30)
        errors += [f"{thread.name} hangs" for thread in threads if thread.is_alive()]
        queued = len(writer)
    wanted = {f"parent{thread}-{number}" for thread in range(THREADS) for number in range(done[thread])}
    wanted |= {f"child{child}-{number}" for child in range(children) if not ends[child] for number in range(6)}
    there = {turn.id for scope in bank.scopes() for turn in bank.turns(scope, "s")}
    lost = sorted(wanted - there)
    derived = bank.stats(("acme", "queued")).memories
    bank.close()
    print(json.dumps({"ends": ends, "errors": errors, "lost": lost, "queued": queued, "derived": derived}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
