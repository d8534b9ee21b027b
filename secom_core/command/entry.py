"""From the words of a command line to an exit code."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from ..errors import DegradedWarning, SecomError
from .terminal import note

_FAILED: Final = 1
_MISUSED: Final = 2
_INTERRUPTED: Final = 130
_OF_WRITING: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_SELDOM: Final = 100_000
"""After how many new objects a command looks for garbage: what is imported is none, and most commands make little."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the words after ``secom``; those of this process unless given.

    Returns:
        The exit code: 0; 1 where what was asked for failed; 2 where nothing was asked for; 130 after Ctrl-C.

    Raises:
        SystemExit: with 2 where the words cannot be understood, with 0 after help.
    """
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        # Half a character cannot be encoded, and is no reason to show nothing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with _collecting_seldom():
        if arguments is not None:
            return _run(arguments)
        usual = warnings.showwarning
        warnings.showwarning = partial(_show_warning, usual)
        try:
            return _run(sys.argv[1:])
        finally:
            # Python looks for garbage as a process ends, in all that was imported: a quarter of the time of a recall.
            gc.freeze()


def _open_what_is_closed() -> None:
    """Let words that nobody wants go nowhere: `>&-` closes a stream, and Python then has none."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it is open to the end
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _show_warning(usual: Callable[..., None], message: Warning | str, category: type[Warning], *place: Any) -> None:
    """Say in one line what went on without a better part; the line of code that called is none of the user's."""
    if issubclass(category, DegradedWarning):
        note(str(message), style="warning")
    else:
        usual(message, category, *place)


def _run(words: Sequence[str]) -> int:
    try:
        return _done(words)
    except BrokenPipeError:
        # Whoever read has seen enough.
        _abandon_output()
        return _FAILED
    except KeyboardInterrupt:
        note("interrupted; what is done is kept whole, and the same command again does the rest")
        return _INTERRUPTED
    except (SecomError, OSError) as error:
        _abandon_output()
        note(_first_line(error), style="error")
        return _FAILED


def _done(words: Sequence[str]) -> int:
    from .options import parser

    line = parser(words)
    args, unknown = line.parse_known_args(words)
    if unknown:
        (getattr(args, "line", None) or line).misspelt(unknown)
    if args.act is None:
        line.print_help(sys.stderr)
        return _MISUSED
    args.act(args)
    sys.stdout.flush()
    return 0


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    usual = gc.get_threshold()
    gc.set_threshold(_SELDOM, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _abandon_output() -> None:
    """Where what is left in the buffer has nowhere to go, the interpreter should not try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _first_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is None and error.errno in _OF_WRITING:
        # What is written has a name, but for what is printed.
        return f"the output cannot be written: {error.strerror}"
    if not isinstance(error, OSError) or not error.strerror or error.filename is None:
        return next(iter(str(error).splitlines()), "") or type(error).__name__
    if isinstance(error, FileNotFoundError):
        return f"there is no file or folder {error.filename}; check its name and the folder that it is in"
    if isinstance(error, IsADirectoryError):
        return f"{error.filename} is a folder; name a file in it"
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return f"{error.filename}: {error.strerror}; give yourself the right to it, or name another file"
    return f"{error.filename}: {error.strerror}"
