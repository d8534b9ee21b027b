"""Rubbish in every table and column that is derived from turns: what then raises, what is lost, what is not mended.

    python -m benchmarks.garbage [--tries 3] [--seed 0] [--table NAME] [--json OUT]

A bank of two scopes with every layer is copied; a column of one row, or of all, is overwritten by SQL behind its back,
or rows are taken away, or doubled under another key. Then a new bank is opened on the copy. Each ``--tries`` times, for
every kind of rubbish, all drawn by ``--seed``:

- *raises*: calls that raise anything: recalls with every layer, listings, an export, a remember, a forget, a rebuild.
- *lost*: recalls without the turn that they ask for.
- *leaks*: words of another scope, or of a turn that was forgotten.
- *unlike*: recalls that, after a rebuild, are not those of a bank that nobody touched.
- *unmended*: banks in which `MemoryBank.check` finds something after it has repaired.

All five are to be 0. What the database itself refuses to hold is *refused*, and no try.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import shutil
import sqlite3
import struct
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from sqlalchemy import Column, Table
from tqdm import tqdm

from benchmarks.retrieval import versions
from secom_core import MemoryBank, Message
from secom_core.bank import kept_index
from secom_core.changes.tables import change_records, changes
from secom_core.chats.tables import chat_messages
from secom_core.citations import RerankerOptions
from secom_core.corrections.tables import turn_marks
from secom_core.errors import DegradedWarning
from secom_core.layers import registered
from secom_core.lifetimes.tables import lifetimes, scope_caps
from secom_core.stores.schema import messages, metadata, schema_versions, scopes, sessions
from secom_core.testing import ScriptedEmbedder
from secom_core.timelines import TimelineOptions
from secom_core.topics import SimilarityRule, TopicOptions
from secom_core.vector_stores.tables import dense_documents, dense_sessions

__all__ = ["KINDS", "Outcome", "Spoiled", "columns", "filled", "spoil", "told", "tried"]

ANN: Final[tuple[str, ...]] = ("acme", "ann")
BOB: Final[tuple[str, ...]] = ("acme", "bob")
MAY: Final = datetime(2024, 5, 3, 12, tzinfo=timezone.utc)
WORDS: Final = {ANN: ("helmet", "sourdough", "thermostat"), BOB: ("telescope", "saxophone", "orchid")}
"""What each scope talks about, and the other does not."""
LAYERS: Final = ("summaries", "timelines", "topics")
OF_SESSIONS: Final = frozenset({"turns", "messages", "derived", "settled", "version", "revision"})
"""The columns of sessions that can be counted again."""
NOTED: Final = frozenset({"text", "key", "query", "shown", "speaker", "cited", "state"})
"""Words and numbers as somebody wrote them: nobody can tell another's from our own."""


# -- the bank that is spoilt ------------------------------------------------------------------------------------------


def said(scope: tuple[str, ...], day: int) -> list[Message]:
    """What is said on a day: turns about all three things, of two speakers."""
    one, two, three = WORDS[scope][day % 3], WORDS[scope][(day + 1) % 3], WORDS[scope][(day + 2) % 3]
    lines = [
        ("Ann", f"The {one} broke on day{day}, and nobody knows why."),
        ("Bo", f"A shop in Ghent mends every {one} before Thursday."),
        ("Ann", f"My neighbour Quentin wants the {two} of day{day} back."),
        ("Bo", f"Quentin kept the {two} in his garage all winter."),
        ("Ann", f"We carried the {three} up the stairs at noon of day{day}."),
        ("Bo", f"My rent is {900 + 10 * day} euros now."),
    ]
    return [
        Message(text, "user", who, f"{scope[1]}-{day}-{place}", MAY + timedelta(days=day, minutes=place))
        for place, (who, text) in enumerate(lines)
    ]


def opened(path: Path | str, **parts: Any) -> MemoryBank:
    """A new bank with every layer."""
    return MemoryBank.open(
        path,
        embedder=ScriptedEmbedder(16),
        changes=True,
        summaries=True,
        timelines=TimelineOptions(recall_without_model=True),
        topics=TopicOptions(rule=SimilarityRule(least=0.1), recall_without_model=True),
        **{"citations": RerankerOptions(batch=1), **parts},
    )


def filled(path: Path | str) -> Path | str:
    """A bank of two scopes, two closed sessions and an open one each, with every layer and a log of citations."""
    # So little is not worth an index on disk, and it is to be there.
    with patch.object(kept_index, "_WORTH", 1), opened(path) as bank:
        for day in range(3):
            for scope in WORDS:
                bank.remember(scope, said(scope, day), session=f"s{day}", close=day < 2)
        for scope in WORDS:
            for word in WORDS[scope]:
                recall = bank.recall(scope, word, k=3, now=MAY)
                bank.citations.reward(scope, word, recall.impression, recall.numbers[:1])
        _fill_by_hand(bank)
    return path


def _fill_by_hand(bank: MemoryBank) -> None:
    """What a vector store outside that is no more had noted, and a language model said of the changes."""
    with bank._store.transaction() as connection:
        for table in (dense_documents, dense_sessions):
            row = {each.name: "x" if each.type.python_type is str else 0 for each in table.columns}
            connection.execute(table.insert().values(row | {"session_id": 99}))
        words = {each.name: "rent" for each in change_records.columns if each.name not in changes.columns}
        for link in connection.execute(changes.select()).mappings().all():
            connection.execute(change_records.insert().values({**link, **words}))


# -- rubbish ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spoiled:
    """What is done to a table: a kind of rubbish in a column, of one row or of all."""

    table: str
    column: str
    kind: str
    all_rows: bool
    seed: int

    def __str__(self) -> str:
        return f"{self.table}.{self.column} {self.kind}{' in all rows' if self.all_rows else ''} (seed {self.seed})"


_VALUES: Final[dict[str, Any]] = {
    "null": None,
    "rubbish": "rubbish",
    "empty": "",
    "zero": 0,
    "number": 7,
    "negative": -3,
    "huge": 2**63 - 1,
    "least": -(2**63),
    "fraction": 1.5,
    "blob": b"\xff\x00\xfe",
    "empty JSON": "{}",
    "deep JSON": "[" * 100_000,
    "no JSON of ours": '{"a": [1, null, "x"]}',
    "an escape cut short": '\ue000json:"\\ud8',
    "text cut in a character": b"caf\xc3",
    "not a number": struct.pack("<16f", *[float("nan")] * 16),
    "another width": struct.pack("<7f", *[0.5] * 7),
    "long": struct.pack("<16f", *[1e30] * 16),
    "a time of no calendar": "2024-13-45T25:61:00",
}
_ROWS: Final = ("half of it", "of another scope", "of another row", "row gone", "row doubled")
KINDS: Final = (*_VALUES, *_ROWS)


def columns() -> list[tuple[Table, Column[Any]]]:
    """Every column that can be made again from messages, by reflection: a new table is spoilt too."""
    registered()  # tables are known once their layers are imported
    by_hand = {turn_marks.name, lifetimes.name, scope_caps.name}
    whole = {schema_versions.name, scopes.name, messages.name, chat_messages.name, *by_hand}
    return [
        (table, column)
        for table in metadata.sorted_tables
        if table.name not in whole
        for column in table.columns
        if table.name != sessions.name or column.name in OF_SESSIONS
    ]


def spoil(path: Path, what: Spoiled) -> bool:
    """Do it behind the bank's back; whether the database let it in."""
    rng = random.Random(what.seed)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        ids = [row[0] for row in connection.execute(f"SELECT rowid FROM {what.table}")]
        chosen = ids if what.all_rows else [rng.choice(ids)] if ids else []
        done = [_spoil_row(connection, what, rowid, rng) for rowid in chosen]
    return any(done)


def _spoil_row(connection: sqlite3.Connection, what: Spoiled, rowid: int, rng: random.Random) -> bool:
    table, column = what.table, what.column
    try:
        if what.kind == "row gone":
            done = connection.execute(f"DELETE FROM {table} WHERE rowid = ?", [rowid])
        elif what.kind == "row doubled":
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            copied = ", ".join("?" if name == column else name for name in names)
            insert = f"INSERT INTO {table} ({', '.join(names)}) SELECT {copied} FROM {table} WHERE rowid = ?"
            done = connection.execute(insert, [rng.choice((1, 2, 5, 999_999)), rowid])
        else:
            value = _rubbish(connection, what, rowid, rng)
            place = "CAST(? AS TEXT)" if what.kind == "text cut in a character" else "?"
            done = connection.execute(f"UPDATE {table} SET {column} = {place} WHERE rowid = ?", [value, rowid])
    except (sqlite3.IntegrityError, sqlite3.OperationalError, OverflowError):
        return False
    return done.rowcount > 0


def _rubbish(connection: sqlite3.Connection, what: Spoiled, rowid: int, rng: random.Random) -> Any:
    if what.kind in _VALUES:
        return _VALUES[what.kind]
    table, column = what.table, what.column
    (own,) = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", [rowid]).fetchone()
    if what.kind == "half of it":
        return own[: len(own) // 2] if isinstance(own, (str, bytes)) else (own or 0) // 2
    near = connection.execute(f"SELECT {column} FROM {table} WHERE rowid != ?", [rowid]).fetchall()
    others = [each for (each,) in near if each != own]
    if what.kind == "of another scope" and column == "scope_id":
        others = [row[0] for row in connection.execute("SELECT id FROM scopes WHERE id != ?", [own])]
    if what.kind == "of another scope" and column == "session_id":
        elsewhere = "SELECT id FROM sessions WHERE scope_id != (SELECT scope_id FROM sessions WHERE id = ?)"
        others = [row[0] for row in connection.execute(elsewhere, [own])]
    return rng.choice(others) if others else own


def every(rng: random.Random, tries: int = 1) -> Iterator[Spoiled]:
    """So many tries for each column and kind, each with a row of its own; by turns in one row and in all."""
    for table, column in columns():
        for kind in KINDS:
            if column.name in NOTED and kind in ("of another scope", "of another row"):
                continue
            if table is sessions and kind in ("row gone", "row doubled"):
                continue  # which sessions there are, only their rows say
            for turn in range(tries):
                yield Spoiled(table.name, column.name, kind, (turn + rng.randrange(2)) % 2 == 1, rng.randrange(10**6))


# -- what then happens ------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What the tries of one column, or all, came to."""

    tries: int = 0
    refused: int = 0
    raises: int = 0
    lost: int = 0
    leaks: int = 0
    unlike: int = 0
    unmended: int = 0
    warned: int = 0
    told: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.raises or self.lost or self.leaks or self.unlike or self.unmended)

    def add(self, other: Outcome) -> None:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


def told(bank: MemoryBank, scope: tuple[str, ...]) -> list[str]:
    """Everything that a scope is asked in a try."""
    memories = [memory.key for name in bank.sessions(scope) for memory in bank.memories(scope, name)]
    kept = [str(bank.summaries.versions(scope)), str(bank.timelines.events(scope)), str(bank.topics.all(scope))]
    bank.timelines.links(scope), bank.timelines.find(scope, "neighbour"), bank.stats(scope)
    kept.append(str(bank.changes(scope)))
    if "citations" in bank.layers:
        kept += [str(bank.citations.log(scope)), str(bank.citations.updates(scope))]
    return [recalled(bank, scope), *memories, *kept, *bank.storage.export(scope)]


def after(bank: MemoryBank, scope: tuple[str, ...]) -> list[str]:
    """What a bank says after one more session, one turn fewer, and a rebuild."""
    bank.remember(scope, said(scope, 3)[:2], session="s2", close=True)
    bank.forget(scope, turn_ids=[f"{scope[1]}-1-4"])
    before = told(bank, scope)
    bank.rebuild(scope)
    return [*before, recalled(bank, scope)]


def recalled(bank: MemoryBank, scope: tuple[str, ...]) -> str:
    """The block for a question about all that the scope talks about."""
    return bank.recall(scope, " ".join(WORDS[scope]), token_budget=600, now=MAY, layers=LAYERS).text


class Untouched:
    """What a bank answers that nobody touched, after the same calls."""

    def __init__(self, whole: Path, place: Path) -> None:
        self.whole, self.place = whole, place
        with opened(self.copy("untouched"), citations=False) as bank:
            after(bank, ANN)
            self.recalls = {scope: recalled(bank, scope) for scope in WORDS}

    def copy(self, name: str) -> Path:
        """A copy of the whole bank in place of what has this name."""
        if sys.version_info < (3, 11):
            # There a read that was broken off, as by a bad row, holds the file open until it is collected.
            gc.collect()
        for tail in ("-wal", "-shm"):
            (self.place / f"{name}.db{tail}").unlink(missing_ok=True)
        return Path(shutil.copy(self.whole, self.place / f"{name}.db"))


def tried(untouched: Untouched, *spoils: Spoiled) -> Outcome:
    """Spoil a copy of the whole bank, in one way or in several, and ask it everything."""
    outcome, path = Outcome(), untouched.copy("spoilt")
    done = [each for each in spoils if spoil(path, each)]
    outcome.refused = len(spoils) - len(done)
    if not done:
        return outcome
    what = "; ".join(map(str, done))
    outcome.tries = len(done)
    mended = untouched.copy("mended")
    shutil.copy(path, mended)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with opened(path) as bank:
            _ask(outcome, what, bank, BOB, told)
            _ask(outcome, what, bank, ANN, told)
            _ask(outcome, what, bank, ANN, after)
            _attempt(outcome, what, lambda: bank.rebuild(BOB))
        with opened(path, citations=False) as bank:
            for scope in WORDS:
                _compare(outcome, what, untouched, bank, scope)
        _mend(outcome, what, mended)
    outcome.warned = sum(each.category is DegradedWarning for each in caught)
    return outcome


def _attempt(outcome: Outcome, what: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception:  # noqa: BLE001 - it is what is looked for
        outcome.raises += 1
        outcome.told.append(f"{what}: {traceback.format_exc()}")
        return None


def _ask(
    outcome: Outcome,
    what: str,
    bank: MemoryBank,
    scope: tuple[str, ...],
    asked: Callable[[MemoryBank, tuple[str, ...]], list[str]],
) -> None:
    texts = _attempt(outcome, what, lambda: asked(bank, scope))
    if texts is None:
        return
    if not all(word in texts[0] for word in WORDS[scope]):
        outcome.lost += 1
        outcome.told.append(f"{what}: lost in {asked.__name__}")
    foreign = [word for other in WORDS if other != scope for word in WORDS[other]]
    foreign += ["at noon of day1"] if asked is after else []
    leaked = [text for text in texts if any(word in text for word in foreign)]
    if leaked:
        outcome.leaks += 1
        outcome.told.append(f"{what}: leaked to {scope}: {leaked[0][:300]}")


def _compare(outcome: Outcome, what: str, untouched: Untouched, bank: MemoryBank, scope: tuple[str, ...]) -> None:
    found = _attempt(outcome, what, lambda: recalled(bank, scope))
    if found and found != untouched.recalls[scope]:
        outcome.unlike += 1
        outcome.told.append(f"{what}: unlike {found}\n--- untouched:\n{untouched.recalls[scope]}")


def _mend(outcome: Outcome, what: str, path: Path) -> None:
    with opened(path) as bank:
        _attempt(outcome, what, lambda: [str(each) for each in bank.check(repair=True)])
        left = _attempt(outcome, what, lambda: [str(each) for each in bank.check()])
        if left:
            outcome.unmended += 1
            outcome.told.append(f"{what}: after the repair: {left}")


# -- the command ------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tries", type=int, default=3, help="of each kind of rubbish in each column")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", help="only this table")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--verbose", action="store_true", help="print what was found amiss")
    args = parser.parse_args(arguments)
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory() as folder:
        untouched = Untouched(Path(filled(Path(folder) / "whole.db")), Path(folder))
        drawn = every(random.Random(args.seed), args.tries)
        asked = [what for what in drawn if args.table in (None, what.table)]
        for what in tqdm(asked, unit="try", mininterval=5):
            outcomes.setdefault(f"{what.table}.{what.column}", Outcome()).add(tried(untouched, what))
    print(table(outcomes))
    if args.verbose:
        print("\n".join(line for outcome in outcomes.values() for line in outcome.told))
    if args.json:
        told = {name: asdict(each) for name, each in outcomes.items()}
        result = {"outcomes": told, "tries": args.tries, "seed": args.seed, "versions": versions()}
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def table(outcomes: dict[str, Outcome]) -> str:
    """A line a table, and one for all."""
    lines: dict[str, list[Any]] = {}
    total = Outcome()
    for name, outcome in outcomes.items():
        line = lines.setdefault(name.partition(".")[0], [0, Outcome()])
        line[0] += 1
        line[1].add(outcome)
        total.add(outcome)
    names = ("tries", "refused", "warned", "raises", "lost", "leaks", "unlike", "unmended")
    rows: list[tuple[str, ...]] = [("table", "columns", *names)]
    for name, (count, outcome) in {**lines, "all": [len(outcomes), total]}.items():
        rows.append((name, str(count), *(str(getattr(outcome, each)) for each in names)))
    return "\n".join(" | ".join(row) for row in rows)


if __name__ == "__main__":
    main()
