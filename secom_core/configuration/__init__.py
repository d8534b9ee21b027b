"""One configuration for the command and the server: the file ``secom.toml``, environment variables, and flags."""

from __future__ import annotations

from .parts import bank_arguments
from .reading import FILE, configuration_file, read_settings
from .settings import DEFAULT, OPTIONS, Option, Row, ServeSettings, Settings

__all__ = [
    "DEFAULT",
    "FILE",
    "OPTIONS",
    "Option",
    "Row",
    "ServeSettings",
    "Settings",
    "bank_arguments",
    "configuration_file",
    "read_settings",
]
