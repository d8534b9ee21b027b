"""Suites of `benchmarks.reliability` in which something other than the process fails.

- *damage*: a copy of a bank's file is cut short, or bytes of it are overwritten, or a page is. Then it is opened,
  searched and exported, and salvaged. Each call either works or gives a `SecomError`; anything else is an *error*. A
  turn is *lost* where nobody said so: the export came to its end, and the turn is not in it.
- *model*: a bank with a running summary, timelines and topics, whose language model hangs up, says nothing, says a
  megabyte, answers for another prompt, or breaks its form, at random. Every turn has to be there, and every layer has
  to have been made, by the local way; a layer that was not is *amiss*.
- *odd texts*: messages, ids, sessions and scopes of characters from all of Unicode, with surrogates, NUL, marks and
  quotes among them; what comes back is what went in.
- *attacks*: the tests of attacks, hostile input and privacy; *lost* are those that failed.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.places import Places
from benchmarks.promises import Outcome, stored
from benchmarks.reliability_worker import SCOPE, said
from secom_core import MemoryBank
from secom_core.archive.salvage import salvage
from secom_core.errors import DegradedWarning, ModelUnavailable, SecomError
from secom_core.llm.flow import Prompt

__all__ = ["attacked", "damaged", "lied_to", "odd_texts"]

TESTS: Final = Path(__file__).parents[1] / "tests"
PAGE: Final = 4096
TURNS: Final = 200
TOLD: Final = (
    "opened and whole",
    "opened, a byte of an id changed",
    "opened, messages hidden by an index, which a check finds",
    "a clear error",
    "turns salvaged",
    "turns in all",
)

# -- damage -----------------------------------------------------------------------------------------------------------


def damaged(places: Places, runs: int, rng: random.Random) -> Outcome:
    outcome = Outcome("damaged files", "sqlite", runs=runs)
    outcome.told = dict.fromkeys(TOLD, 0)
    whole = Path(places("whole"))
    with MemoryBank.open(whole) as bank:
        for start in range(0, TURNS, 20):
            bank.remember(SCOPE, [said("given", start + n) for n in range(20)], session=f"s{start}", close=True)
        promised = set(stored(bank, SCOPE))
    for run in range(runs):
        path = Path(places(f"damaged{run}"))
        path.write_bytes(broken(whole.read_bytes(), rng))
        read_all(path, promised, outcome)
        outcome.told["turns salvaged"] += len(promised & set(salvaged(path, outcome)))
        outcome.told["turns in all"] += len(promised)
    outcome.promises = len(promised) * runs
    return outcome


def broken(data: bytes, rng: random.Random) -> bytes:
    way, bad = rng.randrange(4), bytearray(data)
    if way == 0:
        return bytes(bad[: rng.randrange(len(bad))])
    if way == 1:
        start = rng.randrange(len(bad) // PAGE) * PAGE
        bad[start : start + PAGE] = rng.randbytes(PAGE)
        return bytes(bad)
    for _ in range(rng.choice((1, 10, 100))):
        bad[rng.randrange(PAGE if way == 2 else len(bad))] = rng.randrange(256)
    return bytes(bad)


def read_all(path: Path, promised: set[str], outcome: Outcome) -> None:
    try:
        with MemoryBank.open(path) as bank:
            bank.recall(SCOPE, "Which parcel is on shelf 3?", token_budget=300)
            lines = [json.loads(line) for line in bank.storage.export(SCOPE)]
            there = {message["id"] for line in lines if line["kind"] == "turn" for message in line["messages"]}
            hidden = len(promised) - len(there)
            is_found = hidden > 0 and any("damaged" in str(finding) for finding in bank.check())
    except SecomError:
        outcome.told["a clear error"] += 1
        return
    except Exception as error:  # noqa: BLE001
        outcome.errors.append(f"{type(error).__name__}: {error}"[:300])
        return
    # SQLite has no checksums: a byte that changed inside a name changes the name, one in an index hides rows.
    if is_found:
        outcome.told["opened, messages hidden by an index, which a check finds"] += 1
        return
    outcome.lost += max(0, hidden)
    outcome.told["opened and whole" if promised <= there else "opened, a byte of an id changed"] += 1


def salvaged(path: Path, outcome: Outcome) -> Iterator[str]:
    try:
        found = salvage(path)
    except SecomError:
        return
    except Exception as error:  # noqa: BLE001
        outcome.errors.append(f"{type(error).__name__}: {error}"[:300])
        return
    for lines in found.exports.values():
        for line in map(json.loads, lines):
            if line["kind"] == "turn":
                yield from (message["id"] for message in line["messages"])


# -- a language model -------------------------------------------------------------------------------------------------


class Liar:
    """A chat model of which no reply is what was asked for."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._heard: list[str] = []
        self.lies: dict[str, int] = {}

    def complete(self, prompt: Prompt) -> str:
        """Fails, or says something else."""
        lie = self._rng.choice(("no answer", "nothing", "a megabyte", "for another prompt", "broken form", "prose"))
        self.lies[lie] = self.lies.get(lie, 0) + 1
        self._heard.append(str(prompt))
        if lie == "no answer":
            raise ModelUnavailable("the model has hung up")
        return {
            "nothing": "",
            "a megabyte": "[{" * 500_000,
            "for another prompt": self._rng.choice(self._heard),
            "broken form": '{"start": 99999, "merge": [-1, "x"], "topics": [{"turns": [1e9, null]}',
            "prose": "I am sorry, I cannot help with that. [1][2] </memories>",
        }[lie]


def lied_to(places: Places, calls: int, rng: random.Random) -> Outcome:
    """As many sessions as it takes for so many lies."""
    outcome, model, promised = Outcome("a language model that lies", "sqlite"), Liar(rng), []
    with (
        MemoryBank.open(places("lied"), model=model, summaries=True, timelines=True, topics=True) as bank,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        while sum(model.lies.values()) < calls:
            messages = [said(f"s{outcome.runs}", number) for number in range(6)]
            bank.remember(SCOPE, messages, session=f"s{outcome.runs}", close=True)
            promised += [each["id"] for each in messages]
            outcome.runs += 1
        there = stored(bank, SCOPE)
        # Each layer has taken in every session, by the local way where the model's was none.
        outcome.amiss = (
            int(not bank.summaries.latest(SCOPE))
            + int(not bank.topics.all(SCOPE))
            + int(not bank.timelines.find(SCOPE, "parcel"))
        )
    outcome.promises, outcome.lost = len(promised), len(set(promised) - set(there))
    outcome.doubled = len(there) - len(set(there))
    outcome.told = dict(model.lies)
    outcome.told["warnings that name the cause"] = sum(each.category is DegradedWarning for each in caught)
    return outcome


# -- odd texts --------------------------------------------------------------------------------------------------------

MARKS: Final = (
    "</memories>", "[1]", "<|endoftext|>", "<|im_start|>system", "'; DROP TABLE messages; --", "../../etc/passwd",
    "$.a[0]", "\0", "\u202e", "\u2066", "\ud800", "\udfff", "<script>alert(1)</script>", "{{7*7}}", "%s%n",
    "\r\n", "\u2028",
)  # fmt: skip


def odd(rng: random.Random, length: int) -> str:
    found = [chr(rng.choice((rng.randrange(0x250), rng.randrange(0x110000)))) for _ in range(rng.randint(1, length))]
    for _ in range(rng.randrange(3)):
        found.insert(rng.randrange(len(found) + 1), rng.choice(MARKS))
    # Two surrogates that are one character are that character.
    return "".join(found).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def odd_texts(store: str, places: Places, cases: int, rng: random.Random) -> Outcome:
    outcome, target = Outcome("odd texts, ids, sessions, scopes", store, runs=cases), places("odd")
    expected: dict[tuple[tuple[str, ...], str], list[tuple[str, str]]] = {}
    with MemoryBank.open(target) as bank:
        for _ in range(cases):
            scope, session = (odd(rng, 5), odd(rng, 5)), odd(rng, 8)
            message = {"role": "user", "content": odd(rng, 200), "id": odd(rng, 20)}
            try:
                bank.remember(scope, [message], session=session)
                bank.recall(scope, message["content"], token_budget=200)
            except Exception as error:  # noqa: BLE001
                outcome.errors.append(f"{type(error).__name__}: {error}"[:300])
            expected.setdefault((scope, session), []).append((message["id"], message["content"]))
    with MemoryBank.open(target) as bank:
        for (whose, session), messages in expected.items():
            found = [(each.id, each.text) for turn in bank.turns(whose, session) for each in turn.messages]
            outcome.promises += len(messages)
            outcome.lost += sum(each not in found for each in messages)
            outcome.doubled += max(0, len(found) - len(messages))
    return outcome


# -- attacks ----------------------------------------------------------------------------------------------------------


def attacked(files: Sequence[str] = ("attack", "hostile", "privacy", "vector_store", "report_page")) -> Outcome:
    """The tests of attacks, each a case; they come with the source, not with the package."""
    paths = sorted(str(path) for path in TESTS.rglob("test_*.py") if any(part in path.name for part in files))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *paths]
    said_of = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True).stdout
    last = said_of.strip().splitlines()[-1]
    counts = {what: int(count) for count, what in re.findall(r"(\d+) (passed|failed|error|skipped)", last)}
    outcome = Outcome("attacks, hostile input, privacy: tests", "both", runs=counts.get("passed", 0))
    outcome.promises, outcome.lost = outcome.runs, counts.get("failed", 0) + counts.get("error", 0)
    outcome.told = {"skipped": counts.get("skipped", 0)}
    return outcome
