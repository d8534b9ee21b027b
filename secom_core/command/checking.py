"""The errors in a store, and their repair: check."""

from __future__ import annotations

import shlex
from argparse import Namespace
from dataclasses import asdict

from ..pictures.report.html import counted
from .opening import opened
from .terminal import Refused, note, show


def check_(args: Namespace) -> None:
    """Print the errors, one in each line, and repair them if ``--repair`` is given."""
    with opened(args) as there:
        found = there.bank.check(repair=args.repair)
    show(args, [asdict(each) for each in found], "\n".join(map(str, found)))
    left = [each for each in found if not each.mended]
    if any(each.can_be_mended for each in left):
        words = ["secom", "check", "--repair", *(["--store", args.store] if args.store else [])]
        raise Refused(f"{counted(len(left), 'error')} found; repair with: {shlex.join(words)}")
    if left:
        raise Refused(f"{counted(len(left), 'error')} found that cannot be repaired; each line says what to do")
    note("every error was repaired" if found else "no errors were found")
