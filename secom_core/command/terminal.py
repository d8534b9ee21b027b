"""Anybody's words on a terminal: what a terminal would obey is shown instead of sent."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, TextIO

from ..errors import SecomError
from ..text.visible import inline, visible

_STYLES: Final[Mapping[str, str]] = {
    "error": "1;31",
    "good": "32",
    "warning": "33",
    "strong": "1",
    "number": "36",
    "faint": "2",
}
"""What each style is to a terminal (ECMA-48)."""


class Refused(SecomError):
    """What was asked for cannot be done; the message says why, in one line, and what to do."""


def show(args: Namespace, value: Any, text: str, paint: Callable[[str], str] | None = None) -> None:
    """Write what was asked for: with ``--json`` the value, exact and in ASCII; else the text.

    A terminal gets the text without anything that it would obey.

    Args:
        args: the options.
        value: what ``--json`` shows.
        text: what people see.
        paint: colours the text for a terminal.
    """
    if getattr(args, "json", False):
        sys.stdout.write(f"{json.dumps(value, indent=2)}\n")
    else:
        seen = visible(text) if sys.stdout.isatty() else text
        seen = paint(seen) if paint is not None and has_colours(sys.stdout) else seen
        sys.stdout.write(seen if seen.endswith("\n") or not seen else f"{seen}\n")


def has_colours(stream: TextIO) -> bool:
    """Whether a stream shows colours: a terminal that can, and a user who has not said NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def styled(text: str, style: str) -> str:
    """The text in a style, as a terminal shows it: error, good, warning, strong, number or faint."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def note(message: str, *, style: str = "strong") -> None:
    """Say something in one line that is not what was asked for."""
    sys.stdout.flush()
    name = styled("secom:", style) if has_colours(sys.stderr) else "secom:"
    with _bars_away():
        sys.stderr.write(f"{name} {inline(message)}\n")


def _bars_away() -> AbstractContextManager[None]:
    """Where progress bars are shown, let none stand on the line that is written; they are shown again below it."""
    bars = sys.modules.get("tqdm")
    return bars.tqdm.external_write_mode(sys.stderr) if bars is not None else nullcontext()


def confirmed(question: str) -> bool:
    """Whether the person at the terminal says yes; without a terminal nobody is asked."""
    if not sys.stdin.isatty():
        return True
    sys.stderr.write(f"{inline(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in {"y", "yes"}
