"""The keys of encrypted stores: from a file, the environment or the person at the terminal, and never from the command
line, which every process of the machine can read.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from getpass import getpass
from pathlib import Path
from typing import Final

from ..stores.cipher import is_plain, is_text
from ..stores.places import file_at, is_postgres
from .terminal import Refused

OF_STORE: Final = ("SECOM_KEY", "--key-file")
"""What gives the key of the store: a variable of the environment, and an option."""
NEW: Final = ("SECOM_NEW_KEY", "--new-key-file")
"""What gives the other key: that of the store which is moved to, or the one that comes after."""
_STDIN: Final = "-"


def key_of(args: Namespace, store: str) -> str | None:
    """The key of the store; nothing where it has none. Who is at a terminal is asked for that of an encrypted file.

    Raises:
        Refused: the file of the key cannot be used, or nobody has given a key, and nobody can be asked.
        OSError: the file of the key cannot be read.
    """
    return _key(args.key_file, OF_STORE, store)


def target_key_of(args: Namespace, target: str) -> str | None:
    """As `key_of`, of the store which is moved to."""
    return _key(args.new_key_file, NEW, target)


def new_key_of(args: Namespace) -> str:
    """The key that a store gets.

    Raises:
        Refused: there is none.
        OSError: the file of the key cannot be read.
    """
    variable, option = NEW
    if args.new_key_file is None and (given := os.environ.get(variable)):
        return given
    if args.new_key_file is None and not sys.stdin.isatty():
        raise Refused(f"which key is the new one? Give it by {variable}, or {option} FILE")
    return _read(args.new_key_file or _STDIN, "New key", twice=True)


def _key(file: str | None, ways: tuple[str, str], store: str) -> str | None:
    if file is not None:
        return _read(file, f"Key of {store}", twice=not is_postgres(store) and not file_at(store).exists())
    if is_postgres(store):
        return None
    variable, option = ways
    given, path = os.environ.get(variable) or None, file_at(store)
    plain = is_plain(path)
    if plain is True and given is not None:
        raise Refused(f"{path} is not encrypted; leave {variable} out")
    if plain is False and given is None and not is_text(path):
        if not sys.stdin.isatty():
            raise Refused(
                f"{path} is not a store of secom, or is encrypted; give its key by {variable}, or {option} FILE. If it "
                "never had a key, it is damaged: save what it still holds with `secom export --damaged`"
            )
        return _read(_STDIN, f"Key of {path}")
    return given


def _read(file: str, question: str, *, twice: bool = False) -> str:
    """The key in a file; of standard input the first line, for which who is at a terminal is asked, without an echo."""
    if file == _STDIN and sys.stdin.isatty():
        key = getpass(f"{question}: ")
        if twice and getpass(f"{question}, again: ") != key:
            raise Refused("these are two different keys; nothing was done")
        return key
    raw = sys.stdin.buffer.readline() if file == _STDIN else file_at(file).read_bytes()
    return _line(raw, "standard input" if file == _STDIN else str(Path(file)))


def _line(raw: bytes, called: str) -> str:
    try:
        key = raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        # The cause would show a part of it.
        raise Refused(f"{called} is not UTF-8, and a key is one line of text") from None
    if not key or "\n" in key:
        raise Refused(f"{called} holds {'no key' if not key else 'more than one line'}; a key is one line of text")
    return key
