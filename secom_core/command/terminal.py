"""Anybody's words on a terminal: what a terminal would obey is shown instead of sent."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from typing import Any

from ..errors import SecomError
from ..text.visible import inline, visible


class Refused(SecomError):
    """What was asked for cannot be done; the message says why, in one line, and what to do."""


def show(args: Namespace, value: Any, text: str) -> None:
    """Write what was asked for: with ``--json`` the value, exact and in ASCII; else the text.

    A terminal gets the text without anything that it would obey.
    """
    if getattr(args, "json", False):
        sys.stdout.write(f"{json.dumps(value, indent=2)}\n")
    else:
        seen = visible(text) if sys.stdout.isatty() else text
        sys.stdout.write(seen if seen.endswith("\n") or not seen else f"{seen}\n")


def note(message: str) -> None:
    """Say something in one line that is not what was asked for."""
    sys.stdout.flush()
    sys.stderr.write(f"secom: {inline(message)}\n")


def confirmed(question: str) -> bool:
    """Whether the person at the terminal says yes; without a terminal nobody is asked."""
    if not sys.stdin.isatty():
        return True
    sys.stderr.write(f"{inline(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in {"y", "yes"}
