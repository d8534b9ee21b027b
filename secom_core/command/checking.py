"""What is amiss in a store: check."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from ..pictures.report.html import counted
from .opening import opened
from .terminal import Refused, note, show


def check_(args: Namespace) -> None:
    """Say what is amiss, a line each, and mend it where that is asked for."""
    with opened(args) as there:
        found = there.bank.check(repair=args.repair)
    show(args, [asdict(each) for each in found], "\n".join(map(str, found)))
    left = [each for each in found if not each.mended]
    if any(each.can_be_mended for each in left):
        raise Refused(f"{counted(len(left), 'thing')} amiss; mend with: secom check --repair")
    if left:
        raise Refused(f"{counted(len(left), 'thing')} amiss that no repair mends; each line says what to do")
    note("everything found was mended" if found else "nothing is amiss")
