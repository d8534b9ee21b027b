"""Run by the tests of moving: moves a bank until it is done, or killed."""

from __future__ import annotations

import sys

from secom_core.bank import MemoryBank

if __name__ == "__main__":
    with MemoryBank.open(sys.argv[1]) as source, MemoryBank.open(sys.argv[2]) as target:
        print("ready", flush=True)
        source.storage.move_to(target.storage)
        print("done", flush=True)
