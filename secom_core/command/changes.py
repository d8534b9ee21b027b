"""What changes a store, or moves a scope between stores: remember, forget, export, import."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from .. import transfer
from ..bank import MemoryBank, Remembered
from ..conversation import Scope, Session
from ..salvage import salvage
from .files import read_file, read_text
from .opening import as_options, opened, scope_of, store_path
from .terminal import Refused, confirmed, counted, data, json_data, note

__all__ = ["export_", "forget_", "import_", "remember_", "written"]


def remember_(asked: Namespace) -> int:
    """Take in conversations from files. All are read before any is taken in."""
    history = [
        session
        for name in asked.file
        for session in read_file(name, session=asked.session, at=asked.at, sample=asked.sample)
    ]
    scope = scope_of(asked)
    with opened(asked, make=True) as there:
        done = _taken_in(there.bank, scope, history, open_=asked.open)
    messages = sum(len(session.messages) for session in history)
    names = list(dict.fromkeys(session.name for session in history))
    if asked.json:
        turns = list(dict.fromkeys(done.turn_ids))
        json_data({"new": done.new, "known": messages - done.new, "sessions": names, "turn_ids": turns})
        return 0
    known = f", {messages - done.new} known already" if messages > done.new else ""
    data(f"{counted(done.new, 'message')} remembered{known}, in {counted(len(names), 'session')}")
    return 0


def _taken_in(bank: MemoryBank, scope: Scope, history: list[Session], *, open_: bool) -> Remembered:
    if not open_:
        return bank.remember_sessions(scope, history)
    done = [bank.remember(scope, session) for session in history]
    return Remembered(tuple(id_ for each in done for id_ in each.turn_ids), sum(each.new for each in done))


def forget_(asked: Namespace) -> int:
    """Delete turns and all that was made from them."""
    scope = scope_of(asked)
    with opened(asked) as there:
        there.row(scope)
        doomed = _doomed(there.bank, scope, asked)
        if not doomed:
            raise Refused("no turn of the scope is meant by that; nothing was forgotten")
        if not asked.yes and not confirmed(f"Forget {counted(doomed, 'turn')} of {as_options(scope)} for good?"):
            raise Refused("nothing was forgotten")
        gone = there.bank.forget(scope, session=asked.session, turn_ids=asked.turn, before=asked.before)
    if asked.json:
        json_data({"forgotten": gone})
    else:
        data(f"{counted(gone, 'turn')} forgotten")
    return 0


def _doomed(bank: MemoryBank, scope: Scope, asked: Namespace) -> int:
    """How many turns `MemoryBank.forget` would delete."""
    if asked.all:
        return bank.stats(scope).turns
    wanted = set(asked.turn or ())
    names = bank.sessions(scope) if asked.session is None else [asked.session]
    return sum(
        (asked.turn is None or bool(wanted & {turn.id, *(message.id for message in turn.messages)}))
        and (asked.before is None or (turn.at is not None and turn.at < asked.before))
        for name in names
        for turn in bank.turns(scope, name)
    )


def export_(asked: Namespace) -> int:
    """Write a scope as JSON lines."""
    scope = scope_of(asked)
    if asked.damaged:
        written(asked, (f"{line}\n" for line in _salvaged(asked, scope)))
        return 0
    with opened(asked) as there:
        there.row(scope)
        written(asked, (f"{line}\n" for line in there.bank.export(scope)))
    return 0


def _salvaged(asked: Namespace, scope: Scope) -> list[str]:
    path = store_path(asked)
    if not path.is_file():
        raise Refused(f"there is no store at {path}")
    found = salvage(path)
    if scope not in found.exports:
        others = "; ".join(map(as_options, found.exports)) or "nothing at all"
        raise Refused(f"nothing of {as_options(scope)} can be read; what can: {others}")
    lost = f"; of {counted(found.damaged, 'message')} only a part" if found.damaged else ""
    note(f"{counted(found.messages, 'message')} found in {path}, of {counted(len(found.exports), 'scope')}{lost}")
    return found.exports[scope]


def import_(asked: Namespace) -> int:
    """Take in what `export_` wrote."""
    lines = read_text(asked.file).split("\n")
    if not store_path(asked).exists():
        # What cannot be used makes no store.
        transfer.read(lines)
    given = asked.scope is not None or asked.scope_json is not None
    with opened(asked, make=True) as there:
        came = there.bank.import_(lines, scope=scope_of(asked) if given else None)
    if asked.json:
        json_data({"turns": came})
    else:
        data(f"{counted(came, 'turn')} came in")
    return 0


def written(asked: Namespace, pieces: Iterable[str]) -> None:
    """Write to ``--output``: whole or not at all, and never over the store.

    Raises:
        Refused: the output is the store.
        OSError: it cannot be written.
    """
    if asked.output == "-":
        for piece in pieces:
            sys.stdout.write(piece)
        return
    target = Path(asked.output).expanduser()
    if target.exists() and store_path(asked).exists() and target.samefile(store_path(asked)):
        raise Refused(f"{target} is the store itself; give --output another name")
    if not target.parent.is_dir():
        raise Refused(f"there is no folder {target.parent}")
    with _replacing(target) as file:
        file.writelines(pieces)
    note(f"wrote {target}")


@contextmanager
def _replacing(target: Path) -> Iterator[IO[str]]:
    """A file that takes the target's place once it is whole; only its owner may read it."""
    if target.exists() and not target.is_file():
        with target.open("w", encoding="utf-8") as device:
            yield device
        return
    with ExitStack() as undone:
        with NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=target.parent, prefix=f".{target.name[:100]}.", delete=False
        ) as file:
            undone.callback(os.unlink, file.name)
            yield file
        undone.pop_all()
    os.replace(file.name, target)
