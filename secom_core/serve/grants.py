"""Tokens, and what each allows: one scope, perhaps others that a recall may search too, and whether it may write."""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from ..conversation import Scope, check_scope
from ..errors import InvalidInput, shorten

OF_SCOPE: Final = "SECOM_TOKEN"
"""The environment variable that may hold one token; its scope is the configured one."""
OF_METRICS: Final = "SECOM_METRICS_TOKEN"
"""The environment variable that may hold the token of ``/metrics``."""
_PREFIX: Final = "secom_"
_LEAST: Final = 20
_LONGEST_FILE: Final = 10_000_000
_NAME: Final = re.compile(r"[\w.@-]{1,64}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Grant:
    """What a caller may do.

    Args:
        name: what the token is called, for the log and for limits.
        scope: whose memory every call is about.
        also: other scopes that a recall may name.
        writes: whether it may remember, correct and forget.
    """

    name: str
    scope: Scope
    also: tuple[Scope, ...] = ()
    writes: bool = True


def digest_of(token: str) -> str:
    """What is kept of a token: from it nobody gets the token, which has 256 random bits."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def add_token(path: Path, grant: Grant) -> str:
    """Make a token, and keep its digest in the file, which only its owner may read.

    Returns:
        The token. It is nowhere else: who loses it makes another one.

    Raises:
        InvalidInput: the name is taken or none, or the file is not one of tokens.
    """
    if not _NAME.fullmatch(grant.name):
        raise InvalidInput(f"a token's name has 1 to 64 letters, digits, '.', '@', '-' or '_', got {grant.name!r}")
    if path.exists() and any(each.name == grant.name for _, each in _read(path)):
        raise InvalidInput(f"{path} has a token {grant.name!r} already; delete its line to revoke it, or name another")
    token = _PREFIX + secrets.token_urlsafe(32)
    record = {"name": grant.name, "sha256": digest_of(token), "scope": grant.scope, "also": grant.also}
    with open(path, "a", encoding="ascii", opener=partial(os.open, mode=0o600)) as file:
        file.write(f"{json.dumps({**record, 'writes': grant.writes})}\n")
    return token


class Tokens:
    """The tokens of a server: those of a file, which is read again when it changes, and one of the environment.

    Args:
        file: the file that `add_token` writes.
        given: grants by the token itself.
        open_to: what a caller without a token may do; nothing unless given, and only without any tokens.

    Raises:
        InvalidInput: the file is not one of tokens, or a token is so short that it could be guessed.
    """

    def __init__(
        self, file: Path | None = None, given: Mapping[str, Grant] | None = None, open_to: Grant | None = None
    ) -> None:
        for token in given or {}:
            if len(token) < _LEAST:
                raise InvalidInput(f"a token has {_LEAST} characters at least, {OF_SCOPE} has {len(token)}")
        self._file, self._open_to = file, open_to
        self._given = [(digest_of(token), grant) for token, grant in (given or {}).items()]
        self._state: tuple[int, int, int] | None = None
        self._kept: list[tuple[str, Grant]] = []
        self._refresh()

    @property
    def needed(self) -> bool:
        """Whether callers need a token."""
        return self._open_to is None

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that callers may reach, each once, those of the oldest tokens first."""
        grants = [grant for _, grant in (*self._given, *self._kept)]
        grants += [self._open_to] if self._open_to is not None else []
        return tuple(dict.fromkeys(scope for each in grants for scope in (each.scope, *each.also)))

    def grant(self, token: str | None) -> Grant | None:
        """What a token allows; nothing where it is none of these. All are compared, each in the same time.

        Raises:
            InvalidInput: the file cannot be read any more; nobody is let in by it.
        """
        if token is None or not self.needed:
            return self._open_to
        self._refresh()
        asked = digest_of(token)
        found = [grant for digest, grant in (*self._given, *self._kept) if hmac.compare_digest(digest, asked)]
        return found[0] if found else None

    def _refresh(self) -> None:
        if self._file is None:
            return
        try:
            there = self._file.stat()
        except OSError as error:
            self._state, self._kept = None, []
            raise InvalidInput(
                f"the file of tokens {self._file} cannot be read: {error.strerror}; "
                f"`secom token NAME --scope … --tokens-file {self._file}` makes one"
            ) from error
        state = (there.st_mtime_ns, there.st_size, there.st_ino)
        if state != self._state:
            self._state, self._kept = None, []
            self._kept = list(_read(self._file))
            self._state = state


def _read(path: Path) -> Iterator[tuple[str, Grant]]:
    # What is no text is on a line that is none of a token, and the error names it.
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LONGEST_FILE)
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield _granted(line, f"{path}, line {number}")


def _granted(line: str, where: str) -> tuple[str, Grant]:
    try:
        record: dict[str, Any] = json.loads(line)
        digest, name, writes = record["sha256"], record["name"], record.get("writes", True)
        also: Sequence[Sequence[str]] = record.get("also", [])
        grant = Grant(name, check_scope(record["scope"]), tuple(map(check_scope, also)), writes)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        # The line is not shown: somebody may have written a token there.
        raise InvalidInput(f"{where} is none that `secom token` wrote: {type(error).__name__}") from error
    if not (
        isinstance(digest, str) and _DIGEST.fullmatch(digest) and isinstance(name, str) and writes in (True, False)
    ):
        raise InvalidInput(f"{where} is none that `secom token` wrote; its name is {shorten(name)}")
    return digest, grant
