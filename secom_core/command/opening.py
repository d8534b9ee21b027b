"""The store that a command is about, and the scope."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..bank import MemoryBank, Parts
from ..configuration import Settings, bank_arguments
from ..conversation import Scope, check_scope
from ..layers import Layer, LayerFactory
from ..stores.cipher import is_plain
from ..stores.opening import open_store
from ..stores.places import file_at, is_postgres
from ..stores.rows import ScopeRow
from ..stores.sql import SqlStore
from ..stores.sqlite import holds_bank
from .configured import from_where
from .keys import key_of
from .line import did_you_mean
from .terminal import Refused

_COMPARED: Final = 10_000
"""With how many scopes a misspelt one is compared: more would take longer than the look itself."""


@dataclass(frozen=True)
class Opened:
    """A bank, the store it is over, and what both are configured with."""

    bank: MemoryBank
    store: SqlStore
    settings: Settings

    def row(self, scope: Scope) -> ScopeRow:
        """The scope as stored.

        Raises:
            Refused: nothing is remembered in it.
        """
        found = self.store.scope(scope)
        if found is None or not self.bank.stats(scope).turns:
            raise Refused(self._nothing(scope, from_where(self.settings, "scope")))
        return found

    def unknown(self, scopes: Sequence[Scope]) -> list[str]:
        """What is to be said of each scope in which nothing is remembered."""
        return [self._nothing(scope) for scope in scopes if not self.bank.stats(scope).turns]

    def _nothing(self, scope: Scope, source: str = "") -> str:
        known = [as_options(each) for each in self.store.scopes(most=_COMPARED) if each != scope]
        near = did_you_mean(as_options(scope), known)
        return f"nothing is remembered for {as_options(scope)}{source}; `secom scopes` lists what there is{near}"

    def sessions(self, scope: Scope) -> list[str]:
        """The names of the scope's sessions by the time of their last message, the latest last."""
        return self.bank.sessions(scope, latest_first=True)[::-1]

    def check_session(self, scope: Scope, name: str) -> None:
        """Refuse a session that the scope does not hold.

        Raises:
            Refused: there is none of this name.
        """
        names = self.bank.sessions(scope)
        if name not in names:
            near = did_you_mean(name, names)
            raise Refused(f"the scope has no session {name!r}; `secom inspect sessions` lists all{near}")

    def behind(self, scope: Scope, layer: type[Layer]) -> int:
        """How many closed sessions the layer has not taken in."""
        return self.bank.layers.behind(scope, layer.name) if layer.takes_in_sessions else 0


def store_path(args: Namespace) -> Path | None:
    """The file that is the store; nothing where the store is on a server."""
    named = _named(args)
    return None if is_postgres(named) else file_at(named)


def _named(args: Namespace) -> str:
    settings: Settings = args.settings
    if settings.store == ":memory:":
        said = from_where(settings, "store")
        raise Refused(f"a store in memory{said} would be gone when the command ends; give --store a file")
    return settings.store


def open_named(named: str, *, make: bool, key: str | None = None, said: str = "", by_option: bool = True) -> SqlStore:
    """The store that a file's name or a URL means.

    Args:
        named: the name or the URL.
        make: whether it may be made where there is none.
        key: its key, where it is encrypted.
        said: where the name came from, for an error.
        by_option: whether the command takes the name by an option.

    Raises:
        Refused: there is no store, or the file is something else.
    """
    if not is_postgres(named):
        _check(file_at(named), make=make, said=said, by_option=by_option)
    return open_store(named, key=key)


def scope_of(args: Namespace) -> Scope:
    """Whose memory it is: the scope given, else the configured one; `options` has seen to it that there is one."""
    return check_scope(args.settings.scope)


def as_options(scope: Scope) -> str:
    """The scope as it is given to the command, ready for a shell."""
    if all(part.isprintable() for part in scope):
        return " ".join(shlex.join(["--scope", part] if part[0] != "-" else [f"--scope={part}"]) for part in scope)
    return f"--scope-json {shlex.quote(json.dumps(list(scope)))}"


@contextmanager
def opened(args: Namespace, *, make: bool = False, layers: Sequence[LayerFactory] = ()) -> Iterator[Opened]:
    """The bank in the store that is meant.

    Args:
        args: the options.
        make: whether a store may be made where there is none.
        layers: what the bank is opened with.

    Raises:
        Refused: there is no store, or the file is something else.
    """
    named = _named(args)
    # What is configured is looked at before anything is opened.
    parts = Parts.of(None, progress=sys.stderr.isatty(), layers=layers, **_models(args, layers))
    said = from_where(args.settings, "store")
    by_option = "--store" in args.line.options
    store = open_named(named, make=make, key=key_of(args, named), said=said, by_option=by_option)
    bank = MemoryBank(store, parts)
    try:
        yield Opened(bank, store, args.settings)
    finally:
        bank.close()


def _models(args: Namespace, layers: Sequence[LayerFactory]) -> dict[str, Any]:
    """What is configured for a bank, models where the command uses any; without the layers that it opens itself."""
    if not hasattr(args, "embedder"):
        return {"timezone": args.settings.timezone}
    names = {getattr(layer, "name", None) for layer in layers}
    return {name: part for name, part in bank_arguments(args.settings).items() if name not in names}


def _check(path: Path, *, make: bool, said: str, by_option: bool) -> None:
    """Opening a file makes a store of it, so this is looked at before."""
    if path.is_dir():
        raise Refused(f"{path}{said} is a folder; name a file in it")
    if not path.exists():
        if not make:
            raise no_store_at(path, said, by_option=by_option)
    elif is_plain(path) is not False and not holds_bank(path, or_nothing=make):
        # What is encrypted is looked at with its key, when it is opened.
        raise Refused(f"{path}{said} is not a store of secom; name another file")


def no_store_at(path: Path, said: str = "", *, by_option: bool = True) -> Refused:
    """The error about a store that is not there, with what to do."""
    remedy = (
        "name yours with --store FILE or SECOM_STORE, or make one with `secom remember` or `secom import`"
        if by_option
        else "check its name and the folder that it is in"
    )
    return Refused(f"there is no store at {path}{said}; {remedy}")
