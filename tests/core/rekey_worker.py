"""Gives a bank another key: `python rekey_worker.py FILE OLD NEW`. The test that starts it kills it."""

from __future__ import annotations

import sys

from secom_core.stores.opening import open_store

if __name__ == "__main__":
    file, old, new = sys.argv[1:]
    store = open_store(file, key=old)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    store.rekey(new)
