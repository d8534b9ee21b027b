"""Run by the durability tests: remembers turns for ever and prints each id once `remember` has returned."""

from __future__ import annotations

import sys

from secom_core.bank import MemoryBank


def main(path: str, name: str, count: int) -> None:
    with MemoryBank.open(path) as bank:
        print("ready", flush=True)
        for number in range(count):
            identity = f"{name}-{number}"
            text = f"Writer {name} notes parcel{number} for shelf {number % 7}."
            bank.remember(("acme", "ann"), [{"role": "user", "content": text, "id": identity}], session=name)
            print(identity, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
