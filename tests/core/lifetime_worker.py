"""Run by the tests of lifetimes: remembers turns that end soon, and turns that do not, whose ids it prints."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone

from secom_core.bank import MemoryBank

ANN = ("acme", "ann")


def main(path: str, name: str) -> None:
    with MemoryBank.open(path) as bank:
        print("ready", flush=True)
        for number in range(1_000_000):
            soon = datetime.now(timezone.utc) + timedelta(milliseconds=5)
            brief = {"role": "user", "content": f"The zyzzogeton{number} of {name} is brief."}
            bank.remember(ANN, [brief], session=f"brief {name} {number % 3}", expires=soon)
            lasting = {"role": "user", "content": f"Parcel{number} of {name} lasts.", "id": f"{name}-{number}"}
            bank.remember(ANN, [lasting], session=name)
            print(f"{name}-{number}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
