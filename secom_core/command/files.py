"""Files of conversations, in any form that `secom_core.readers` reads, for the command."""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..conversation import Session
from ..readers import read
from ..stores.places import file_at
from .terminal import Refused, note

_STDIN: Final = "-"
_STDIN_SHOWN: Final = "standard input"


def read_text(name: str) -> str:
    """What stands in a file, or comes through standard input for ``-``.

    Raises:
        Refused: it is not UTF-8.
        OSError: it cannot be read.
    """
    raw = sys.stdin.buffer.read() if name == _STDIN else file_at(name).read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        shown = _STDIN_SHOWN if name == _STDIN else name
        raise Refused(f"{shown} is not UTF-8: byte {error.start} is {raw[error.start]:#04x}") from error


class _Held(io.BytesIO):
    """What came through standard input or a pipe, which can be read but once."""

    def __init__(self, raw: bytes, name: str) -> None:
        super().__init__(raw)
        self.name = name


@dataclass(frozen=True)
class Source:
    """A file, folder or archive that is remembered; or standard input or a pipe, which are held in memory."""

    given: str | _Held
    options: Namespace

    @classmethod
    def of(cls, name: str, options: Namespace) -> Source:
        """The source with this name; ``-`` is standard input."""
        if name == _STDIN:
            return cls(_Held(sys.stdin.buffer.read(), _STDIN_SHOWN), options)
        path = file_at(name)
        return cls(_Held(path.read_bytes(), str(path)) if path.is_fifo() else str(path), options)

    def sessions(self, *, first: bool) -> Iterator[Session]:
        """Its sessions, read again each time.

        Args:
            first: what is guessed, left out or passed over is said, and a bar shows how far it is.

        Raises:
            InvalidInput: it cannot be read; with its name, the place and what to do.
            Refused: standard input, or a pipe, needs a name.
        """
        held = self.given.name if isinstance(self.given, _Held) else None
        if isinstance(self.given, _Held):
            self.given.seek(0)
        asked = self.options
        found = read(
            self.given,
            format=asked.format,
            me=asked.me,
            timezone=asked.timezone,
            session=asked.session,
            at=asked.at,
            dates=asked.dates,
            columns=dict(asked.columns or ()),
            partial=asked.partial,
            progress=first and sys.stderr.isatty(),
            note=note if first else _say_nothing,
        )
        for session in found:
            if held is not None and asked.session is None and session.name.startswith(Path(held).stem):
                # The name of a pipe is often made by the shell, another one each time.
                through = held if held == _STDIN_SHOWN else f"the pipe {held}"
                raise Refused(f"what comes through {through} needs a name: --session NAME")
            yield session


def _say_nothing(_: str) -> None:
    return
