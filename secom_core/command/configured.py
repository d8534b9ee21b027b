"""What a command is configured with: its flags, else the environment, else ``secom.toml``, else the defaults."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Final

from ..configuration import Settings, read_settings

_FLAGS: Final = ("store", "embedder", "model", "base_url", "timezone")
_OF_SERVE: Final = ("host", "port", "tokens_file")


def settings_of(args: Namespace) -> Settings:
    """The settings that hold for a command, each with where it came from.

    Raises:
        InvalidInput: a value cannot be used; the message names where it stands.
        OSError: the configuration file cannot be read.
    """
    flags: dict[str, object] = {name: getattr(args, name, None) for name in _FLAGS}
    of_serve = {f"serve.{name}": getattr(args, name, None) for name in _OF_SERVE}
    as_json = getattr(args, "scope_json", None)
    scope = json.loads(as_json) if as_json is not None else getattr(args, "scope", None)
    return read_settings({**flags, **of_serve, "scope": scope}, file=getattr(args, "config", None))


def from_where(settings: Settings, key: str) -> str:
    """Where a value came from, to be put into an error behind it; nothing where the command line says it itself."""
    origin = settings.origin(key)
    return f" (from {origin})" if key in settings.origins and not origin.startswith("-") else ""
