"""The server and its tokens."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path

from ..bank import MemoryBank, Parts
from ..configuration import Settings, bank_arguments
from ..conversation import check_scope
from ..stores.places import file_at, is_postgres
from .configured import from_where
from .keys import key_of
from .opening import as_options, open_named
from .terminal import Refused, note


def serve_(args: Namespace) -> None:
    """Serve a bank to agents and programs until the process is told to stop."""
    from ..serve.running import agent_grant, listening_at, run_agent, run_http, tokens_of

    settings: Settings = args.settings
    over_http = {"--host": args.host, "--port": args.port, "--tokens-file": args.tokens_file}
    given = [flag for flag, value in over_http.items() if value is not None]
    if args.mcp and given:
        raise Refused(f"{given[0]} is for HTTP, and --mcp serves one agent on standard input; leave out one of them")
    # Who may do what, where, and with which models, is settled before anything is opened, or made.
    grant = agent_grant(settings, writes=not args.read_only) if args.mcp else None
    tokens = tokens_of(settings, writes=not args.read_only) if grant is None else None
    parts = Parts.of(None, **bank_arguments(settings))
    listening = listening_at(settings.serve.host, settings.serve.port) if tokens is not None else None
    said = from_where(settings, "store")
    _told_of_new(settings.store, said)
    store = open_named(settings.store, make=True, key=key_of(args, settings.store), said=said)
    bank = MemoryBank(store, parts)
    if grant is not None:
        if sys.stdin.isatty():
            note("waiting for an agent on standard input; an agent starts this command itself, so stop it with Ctrl-C")
        run_agent(bank, grant)
    elif tokens is not None:
        run_http(bank, settings, tokens, partial(_announced, settings), listening)


def _told_of_new(named: str, said: str) -> None:
    """Say that there is no store yet where one was configured, as a misspelt name would go unnoticed for long."""
    if named != ":memory:" and not is_postgres(named) and not (path := file_at(named)).exists():
        note(f"there is no store at {path}{said} yet: a new and empty one begins there")


def _announced(settings: Settings, address: str) -> None:
    page = f", in a browser at {address}/inspect" if settings.serve.inspector else ""
    note(f"serving at {address} (programs at /v1, agents at /mcp{page}); stop with Ctrl-C")


def token_(args: Namespace) -> None:
    """Make a token for one scope, and print it once."""
    from ..serve.grants import Grant, add_token

    settings: Settings = args.settings
    file = settings.serve.tokens_file
    if file is None:
        raise Refused("which file holds the tokens? Give --tokens-file FILE, or tokens_file in [serve] of secom.toml")
    if settings.scope is None:
        raise Refused("whose memory may the token reach? Give --scope acme --scope alice, or SECOM_SCOPE=acme/alice")
    also = tuple(check_scope(json.loads(each)) for each in args.also or ())
    grant = Grant(args.name, settings.scope, also, writes=not args.read_only)
    sys.stdout.write(f"{add_token(Path(file).expanduser(), grant)}\n")
    note(f"the token {args.name!r} reaches {as_options(settings.scope)}; it is shown this once, and kept as a digest")
