"""What is done with a whole store: move it, back it up."""

from __future__ import annotations

import sys
from argparse import Namespace

from ..bank import MemoryBank
from .opening import open_named, opened
from .terminal import counted, data, json_data

__all__ = ["backup_", "move_"]


def move_(asked: Namespace) -> int:
    """Copy every scope into another store."""
    with (
        opened(asked) as there,
        MemoryBank(open_named(asked.target, make=True), progress=sys.stderr.isatty()) as target,
    ):
        done = there.bank.move_to(target)
    if asked.json:
        json_data({"scopes": done.scopes, "known": done.known, "messages": done.messages})
    else:
        known = f", {done.known} there already" if done.known else ""
        data(f"{counted(done.scopes, 'scope')} moved with {counted(done.messages, 'message')}{known}")
    return 0


def backup_(asked: Namespace) -> int:
    """Copy the store's file while it is in use."""
    with opened(asked) as there:
        there.bank.backup(asked.target)
    data(f"copied to {asked.target}")
    return 0
