"""What changes a store, or moves what is in it: remember, forget, compact, export, import, move, backup."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ..archive import export as transfer
from ..archive.replacing import replacing
from ..archive.salvage import salvage
from ..bank import MemoryBank, Parts, Remembered
from ..conversation import Message, Scope, Session, Turn
from ..errors import DuplicateId
from ..pictures.report.html import counted
from ..stores.cipher import is_plain
from ..stores.places import file_at
from ..text.visible import inline
from .files import Source, read_text
from .keys import new_key_of, target_key_of
from .opening import as_options, no_store_at, open_named, opened, scope_of, store_path
from .terminal import Refused, confirmed, note, show

_MANY_TURNS: Final = 200
"""From how many turns on a command makes the search index before it ends: it takes a fifth of a second or more."""


def remember_(args: Namespace) -> None:
    """Take in conversations from files. All are read once before any is taken in, to see that they can be."""
    from tqdm import tqdm

    sources = [Source.of(name, args) for name in args.file]
    sizes = [len(session.messages) for each in sources for session in each.sessions(first=True)]
    scope = scope_of(args)
    with opened(args, make=True) as there:
        again = (session for each in sources for session in each.sessions(first=False))
        dated = _OtherTimes()
        bar = tqdm(again, "remembering", len(sizes), unit="session", disable=not sys.stderr.isatty())
        try:
            done = [_taken_in(there.bank, scope, session, dated, close=not args.open) for session in bar]
        except DuplicateId as error:
            raise Refused(_with_me(error, args.me)) from error
        _prepared(there.bank, {scope: sum(len(each.turn_ids) for each in done)})
    dated.tell()
    new = sum(each.new for each in done)
    known = sum(sizes) - new
    names = list(dict.fromkeys(each.session for each in done))
    turn_ids = list(dict.fromkeys(id_ for each in done for id_ in each.turn_ids))
    besides = f", {known:,} known already" if known else ""
    text = f"{counted(new, 'message')} remembered{besides}, in {counted(len(names), 'session')}"
    show(args, {"new": new, "known": known, "sessions": names, "turn_ids": turn_ids}, text)


@dataclass
class _OtherTimes:
    """The messages that are known with other times than the files give: a time zone or a date was read otherwise.

    Args:
        count: how many there are.
        example: the times of the first, as it is stored and as it is given.
        sessions: where they are stored.
    """

    count: int = 0
    example: tuple[datetime, datetime] | None = None
    sessions: dict[str, None] = field(default_factory=dict)

    def compare(self, given: Iterable[Message], stored: Iterable[Turn]) -> None:
        """Take note of those whose times differ."""
        known = {message.id: (turn.session, message.at) for turn in stored for message in turn.messages}
        for message in given:
            session, at = known.get(message.id, ("", None))
            if at is not None and message.at is not None and at != message.at:
                self.count += 1
                self.example = self.example or (at, message.at)
                self.sessions[session] = None

    def tell(self) -> None:
        """Say that they keep their times, and how to change that."""
        if self.example is None:
            return
        stored, given = (each.isoformat(" ", "minutes") for each in self.example)
        names = [shlex.quote(inline(each)) for each in self.sessions]
        besides = f" (and likewise of {counted(len(names) - 1, 'other session')})" if len(names) > 1 else ""
        note(
            f"{counted(self.count, 'message')} known already with another time, such as {stored} for what is now read "
            f"as {given}; they keep it. To change that, `secom forget --session {names[0]}`{besides}, and remember the "
            "file again"
        )


def _taken_in(bank: MemoryBank, scope: Scope, session: Session, dated: _OtherTimes, *, close: bool) -> Remembered:
    done = bank.remember(scope, session, close=close)
    if done.new < len(session.messages):
        dated.compare(session.messages, bank.turns(scope, turn_ids=done.turn_ids))
    return done


def _with_me(error: DuplicateId, me: str | None) -> str:
    """The error, with what may have been another role of the same message when it was remembered."""
    way = f"without --me {me}, leave --me out" if me else "with --me NAME, give the same --me"
    return f"{error}. If it was remembered {way}, or forget it first"


def _prepared(bank: MemoryBank, turns: Mapping[Scope, int]) -> None:
    """Make the search index of what came, now or before, where the first recall would take long over it.

    What is made already takes no time; a command that was interrupted may have left it.

    Args:
        bank: where it came.
        turns: how many, by scope.
    """
    large = [scope for scope, count in turns.items() if count >= _MANY_TURNS]
    if large and sys.stderr.isatty():
        note("making the search index")
    for scope in large:
        bank.prepare(scope)


def forget_(args: Namespace) -> None:
    """Delete turns and all that was made from them."""
    scope = scope_of(args)
    conditions: dict[str, Any] = {"session": args.session, "turn_ids": args.turn, "before": args.before}
    with opened(args) as there:
        row = there.row(scope)
        if args.session is not None:
            there.check_session(scope, args.session)
        turns = sum(map(len, there.store.matching_turns(row.id, **conditions).values()))
        if not turns:
            raise Refused("no turn of the scope matches; nothing was forgotten")
        if not args.yes and not confirmed(f"Forget {counted(turns, 'turn')} of {as_options(scope)} for good?"):
            raise Refused("nothing was forgotten")
        gone = there.bank.forget(scope, **conditions)
    show(args, {"forgotten": gone}, f"{counted(gone, 'turn')} forgotten")


def compact_(args: Namespace) -> None:
    """Write the store's file anew."""
    path = store_path(args)
    if path is None:
        raise Refused(
            "compact rewrites the file of a store, and this one is on a server: its VACUUM FULL does the same"
        )
    with opened(args) as there:
        before = path.stat().st_size
        there.bank.storage.compact()
        after = path.stat().st_size
    show(args, {"before": before, "after": after}, f"{path} has {after:,} bytes, before {before:,}")


def export_(args: Namespace) -> None:
    """Write a scope as JSON lines."""
    scope = scope_of(args)
    if args.damaged:
        written(args, (f"{line}\n" for line in _salvaged(args, scope)))
        return
    with opened(args) as there:
        there.row(scope)
        written(args, (f"{line}\n" for line in there.bank.storage.export(scope)))


def _salvaged(args: Namespace, scope: Scope) -> list[str]:
    path = store_path(args)
    if path is None:
        raise Refused("--damaged reads the file of a store, and this one is on a server; restore its last pg_dump")
    if not path.is_file():
        raise no_store_at(path)
    found = salvage(path)
    if not found.exports and is_plain(path) is False:
        raise Refused(
            f"nothing can be read in {path}. If it is encrypted, that is not done page by page: put its latest backup "
            "in its place, or export each scope that its key still opens, without --damaged"
        )
    if scope not in found.exports:
        others = "; ".join(map(as_options, found.exports)) or "nothing at all"
        raise Refused(f"nothing of {as_options(scope)} can be read; what can: {others}")
    lost = f"; of {counted(found.damaged, 'message')} only a part" if found.damaged else ""
    note(f"{counted(found.messages, 'message')} found in {path}, of {counted(len(found.exports), 'scope')}{lost}")
    return found.exports[scope]


def import_(args: Namespace) -> None:
    """Take in what `export_` wrote."""
    lines = read_text(args.file).split("\n")
    # What cannot be used makes no store.
    exported = transfer.read(lines).scope
    scope = scope_of(args) if args.scope is not None or args.scope_json is not None else exported
    with opened(args, make=True) as there:
        came = there.bank.storage.import_(lines, scope=scope)
        _prepared(there.bank, {scope: there.bank.stats(scope).turns})
    show(args, {"turns": came}, f"{counted(came, 'turn')} came in")


def prepare_(args: Namespace) -> None:
    """Make the search indexes of all scopes."""
    with opened(args) as there:
        scopes = there.bank.scopes()
        for scope in scopes:
            there.bank.prepare(scope)
    show(args, {"scopes": len(scopes)}, f"{counted(len(scopes), 'scope')} ready to be searched")


def move_(args: Namespace) -> None:
    """Copy every scope into another store."""
    parts = Parts(progress=sys.stderr.isatty())
    with opened(args) as there:
        key = target_key_of(args, args.target)
        if there.store.cipher.is_on and key is None and not args.plain:
            raise Refused(
                "the store is encrypted, and what it moves to would not be; give the key that it is to have, by "
                "--new-key-file FILE, or say --plain"
            )
        with MemoryBank(open_named(args.target, make=True, key=key), parts) as target:
            done = there.bank.storage.move_to(target.storage)
            _prepared(target, {scope: target.stats(scope).turns for scope in there.bank.scopes()})
    known = f", {done.known} there already" if done.known else ""
    text = f"{counted(done.scopes, 'scope')} moved with {counted(done.messages, 'message')}{known}"
    show(args, {"scopes": done.scopes, "known": done.known, "messages": done.messages}, text)


def backup_(args: Namespace) -> None:
    """Copy the store's file while it is in use."""
    with opened(args) as there:
        there.bank.storage.backup(args.target)
    show(args, None, f"copied to {args.target}")


def rekey_(args: Namespace) -> None:
    """Give an encrypted store another key."""
    with opened(args) as there:
        there.bank.storage.rekey(new_key_of(args))
    show(args, None, "the store has its new key; backups keep the one that they were made with")


def written(args: Namespace, pieces: Iterable[str]) -> None:
    """Write to ``--output``: whole or not at all, and never over the store.

    Raises:
        Refused: the output is the store.
        OSError: it cannot be written.
    """
    if args.output == "-":
        sys.stdout.writelines(pieces)
        return
    target, store = file_at(args.output), store_path(args)
    if store is not None and target.exists() and store.exists() and target.samefile(store):
        raise Refused(f"{target} is the store itself; give --output another name")
    if not target.parent.is_dir():
        raise Refused(f"there is no folder {target.parent}")
    is_device = target.exists() and not target.is_file()
    opening = nullcontext(target) if is_device else replacing(target)
    try:
        with opening as place, place.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
    except OSError as error:
        # A full disk is told without the name of what was written, and a folder without rights with that of a part.
        error.filename = str(target)
        raise
    note(f"wrote {target}")
