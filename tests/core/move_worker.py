"""Run by the tests of moving: moves a bank, and kills itself so many statements after so many scopes have begun."""

from __future__ import annotations

import os
import signal
import sys

from sqlalchemy import event

from secom_core.bank import MemoryBank

if __name__ == "__main__":
    scopes, statements = int(sys.argv[3]), int(sys.argv[4])
    with MemoryBank.open(sys.argv[1]) as source, MemoryBank.open(sys.argv[2]) as target:

        @event.listens_for(target.storage._store.engine, "before_cursor_execute")
        def die(connection: object, cursor: object, statement: str, *_: object) -> None:
            global scopes, statements
            scopes -= statement.startswith("INSERT INTO scopes")
            if scopes <= 0:
                statements -= 1
            if statements <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

        source.storage.move_to(target.storage)
