"""Where settings come from: flags before the environment, the environment before the file, the file before defaults."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from ..errors import InvalidInput
from ..stores.places import is_postgres
from .settings import OPTIONS, ServeSettings, Settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE: Final = "secom.toml"
"""The name of the configuration file."""
_CONFIG: Final = "SECOM_CONFIG"
_PATHS: Final = ("store", "embedder", "serve.tokens_file")
"""Settings that may name a file: a relative one in the configuration file is relative to the file's own folder."""
_LONGEST: Final = 1_000_000


def read_settings(
    flags: Mapping[str, object] | None = None,
    *,
    file: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """The settings that hold: of each, the flag, else the environment variable, else the file, else the default.

    Args:
        flags: values by key, such as ``{"store": "memory.db", "serve.port": 80}``; ``None`` is one that was not given.
        file: the configuration file; unless given, the first that is there of ``SECOM_CONFIG``, ``secom.toml`` in the
            current folder, and ``secom/secom.toml`` in the user's folder of configurations (``~/.config``).
        environ: the environment; that of the process unless given. An empty variable counts as not given.

    Raises:
        InvalidInput: a key that there is not, or a value that cannot be used; the message names where it stands.
        OSError: the file cannot be read.
    """
    variables = os.environ if environ is None else environ
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for key, value, origin in (*_of_file(file, variables), *_of_environ(variables), *_of_flags(flags or {})):
        values[key], origins[key] = _read(key, value, origin), origin
    of_serve = {key.removeprefix("serve."): value for key, value in values.items() if key.startswith("serve.")}
    rest: dict[str, Any] = {key: value for key, value in values.items() if "." not in key}
    return Settings(**rest, serve=ServeSettings(**of_serve), origins=origins)  # type: ignore[arg-type]


def configuration_file(environ: Mapping[str, str] | None = None) -> Path | None:
    """The file that is read unless another is named; nothing where there is none.

    Raises:
        InvalidInput: ``SECOM_CONFIG`` names no file, or the one in the current folder is another user's.
    """
    variables = os.environ if environ is None else environ
    if named := variables.get(_CONFIG):
        return _there(Path(named).expanduser(), _CONFIG)
    here = Path(FILE)
    if here.is_file():
        return _own(here)
    home = variables.get("XDG_CONFIG_HOME") or "~/.config"
    at_home = Path(home).expanduser() / "secom" / FILE
    return at_home if at_home.is_file() else None


def _there(path: Path, said_by: str) -> Path:
    if not path.is_file():
        raise InvalidInput(f"{said_by} names the configuration file {str(path)!r}, and there is no such file")
    return path


def _own(path: Path) -> Path:
    """A folder that many may write to could hold a file that sends what is remembered to somebody else's endpoint."""
    if hasattr(os, "getuid") and path.stat().st_uid not in (os.getuid(), 0):
        raise InvalidInput(
            f"{path.resolve()} belongs to another user and is not read; name it with --config or {_CONFIG} if you "
            "trust it"
        )
    return path


def _of_flags(flags: Mapping[str, object]) -> Iterator[tuple[str, object, str]]:
    for key, value in flags.items():
        if value is not None:
            yield key, value, f"--{key.removeprefix('serve.').replace('_', '-')}"


def _of_environ(variables: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    for key, known in OPTIONS.items():
        if value := variables.get(known.variable):
            yield key, value, known.variable


def _of_file(named: str | Path | None, variables: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    path = configuration_file(variables) if named is None else _there(Path(named).expanduser(), "--config")
    if path is None:
        return
    for key, value in _flat(_parsed(path), path):
        _refuse_password(key, value, path)
        yield key, _beside(path, key, value), str(path)


def _parsed(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        raw = file.read(_LONGEST + 1)
    if len(raw) > _LONGEST:
        raise InvalidInput(f"{path} is longer than {_LONGEST:,} bytes, which is no configuration")
    try:
        read: dict[str, Any] = tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not TOML: {error}") from error
    return read


def _flat(table: Mapping[str, Any], path: Path, above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        key = above + name
        if key in OPTIONS:
            yield key, value
        elif key == "serve" and isinstance(value, dict):
            yield from _flat(value, path, "serve.")
        else:
            raise InvalidInput(f"{path} has the key {key!r}, which is no setting{_hint(key)}")


def _hint(key: str) -> str:
    if any(word in key.lower() for word in ("api_key", "password", "secret")):
        return "; a secret stays out of the file: name the environment variable that holds it, by api_key_variable"
    close = get_close_matches(key, OPTIONS, 1) or [each for each in OPTIONS if each.endswith(f".{key}")][:1]
    return f"; did you mean {close[0]!r}?" if close else f"; the settings are {', '.join(OPTIONS)}"


def _refuse_password(key: str, value: object, path: Path) -> None:
    if key == "store" and isinstance(value, str) and is_postgres(value):
        from ..stores.postgres import has_password

        if has_password(value):
            raise InvalidInput(
                f"{path} holds the database's password in store; leave it out there, and give it by the environment "
                "variable PGPASSWORD, the file ~/.pgpass, or the whole URL by SECOM_STORE"
            )


def _beside(path: Path, key: str, value: object) -> object:
    if key not in _PATHS or not isinstance(value, str) or is_postgres(value):
        return value
    is_file = key != "embedder" or value.startswith((".", "~"))
    return str(path.absolute().parent / Path(value).expanduser()) if is_file and value != ":memory:" else value


def _read(key: str, value: object, origin: str) -> object:
    try:
        return OPTIONS[key].read(key, value)
    except InvalidInput as error:
        raise InvalidInput(f"{origin}: {error}") from error
