"""Anybody's words on a terminal: what a terminal would obey is shown instead of sent."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final

from ..errors import SecomError

__all__ = ["Refused", "confirmed", "counted", "data", "inline", "json_data", "note", "visible"]

# Control characters but for line feed and tab, line separators, overrides of the writing direction, halves of
# characters, and characters that are there without being seen.
_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


class Refused(SecomError):
    """What was asked for cannot be done; the message says why, in one line, and what to do."""


def visible(text: str) -> str:
    r"""``text`` with every character that would control a terminal written out, such as ``\x1b``."""
    return _OBEYED.sub(lambda found: _written_out(ord(found[0])), text)


def _written_out(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def inline(text: str) -> str:
    """``text`` as part of a line, wherever it goes."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def data(text: str) -> None:
    """Write what was asked for: as it is, but to a terminal without anything that it would obey."""
    shown = visible(text) if sys.stdout.isatty() else text
    sys.stdout.write(shown if shown.endswith("\n") or not shown else f"{shown}\n")


def json_data(value: Any) -> None:
    """Write what was asked for as JSON, exact and in ASCII."""
    sys.stdout.write(f"{json.dumps(value, indent=2)}\n")


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


def counted(number: int, what: str) -> str:
    """``1 turn``, ``2 turns``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
