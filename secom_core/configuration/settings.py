"""What can be configured: each setting with its type, its default and a line of help, and where its value came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple

from ..errors import without_keys
from ..stores.places import is_postgres
from .kinds import Reader, choice, names, option, place, scope_parts, seconds, text, texts, truth, variable, whole

PREFIX: Final = "SECOM_"
"""Every environment variable of a setting begins with it."""
DEFAULT: Final = "default"
"""Where the value of a setting came from that nobody gave."""
_MOST: Final = 2**31 - 1
_LAYERS: Final = ("summaries", "timelines", "topics", "citations", "changes")
_KEY: Final = "SECOM_API_KEY"


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """The table ``[serve]``: how `secom serve` listens, and what it allows."""

    host: str = option(text, "127.0.0.1", "the address to listen on; any but a loopback address needs tokens")
    port: int = option(whole(0, 65_535), 8765, "the port to listen on; 0 takes one that is free")
    tokens_file: str | None = option(text, None, "the file that `secom token` writes: hashed tokens with their scopes")
    allowed_hosts: tuple[str, ...] = option(texts, (), "names under which clients reach the server beside localhost")
    max_body_bytes: int = option(whole(1_024, _MOST), 4_194_304, "the longest request body, in bytes")
    max_messages: int = option(whole(1, 100_000), 1_000, "how many messages one call may bring")
    max_concurrent: int = option(whole(1, 10_000), 16, "how many calls of one token run or wait at once")
    max_per_minute: int = option(whole(1, _MOST), 6_000, "how many calls of one token are answered in a minute")
    timeout: float = option(seconds, 60.0, "after how many seconds a call that has no answer gets an error")
    drain: float = option(seconds, 30.0, "how many seconds calls may take to end after SIGTERM")
    inspector: bool = option(truth, True, "whether the inspector is at /inspect")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The configuration of a command or a server.

    Each setting has a key in ``secom.toml``, such as ``embedder`` or ``serve.port``, and an environment variable, such
    as ``SECOM_EMBEDDER`` or ``SECOM_SERVE_PORT``. `secom_core.configuration.read_settings` fills it.
    """

    store: str = option(text, "memory.db", "the file of the bank, or postgresql://user@host/database")
    scope: tuple[str, ...] | None = option(scope_parts, None, "whose memory it is, if a command names no scope")
    embedder: str = option(
        text,
        "none",
        "none, static, minilm, a model's folder, sentence-transformers:NAME, fastembed:NAME, or openai:NAME",
    )
    embedder_base_url: str | None = option(text, None, "the endpoint of an openai embedder; base_url unless given")
    embedder_api_key_variable: str | None = option(
        variable, None, "the environment variable with the embedder's key; api_key_variable unless given"
    )
    vector_store: str = option(
        choice("bank", "pgvector"), "bank", "where vectors are searched: in the bank, or by pgvector in its PostgreSQL"
    )
    model: str | None = option(text, None, "the chat model's name at an OpenAI-compatible endpoint")
    base_url: str | None = option(text, None, "the endpoint of the model, such as http://localhost:11434/v1")
    api_key_variable: str = option(variable, _KEY, "the environment variable with the key of base_url")
    layers: tuple[str, ...] = option(
        names(lambda: _LAYERS), (), f"the layers that are made from sessions: {', '.join(_LAYERS)}"
    )
    timezone: str | None = option(
        place, None, "the time zone of the users, such as Europe/Brussels, for days such as yesterday; UTC unless given"
    )
    idle_minutes: int = option(whole(1, 525_600), 30, "after how many minutes of silence a session ends")
    serve: ServeSettings = field(default_factory=ServeSettings)
    origins: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where each value came from that was given, by key: a flag, a variable, or a file."""

    def origin(self, key: str) -> str:
        """Where the value of a setting came from: ``--store``, ``SECOM_STORE``, a file's path, or ``default``."""
        return self.origins.get(key, DEFAULT)

    def rows(self) -> Iterator[Row]:
        """Every setting as it may be shown, without passwords, in the order in which this page lists them."""
        for key, known in OPTIONS.items():
            table, _, name = key.rpartition(".")
            value = getattr(self.serve if table else self, name)
            yield Row(key, _shown(value), self.origin(key), known.says)


class Row(NamedTuple):
    """One setting as it is shown: its key, its value without any secret, where it came from, and what it is for."""

    key: str
    value: str
    origin: str
    says: str


@dataclass(frozen=True)
class Option:
    """How one setting is given: by which variable, read by what, and what it is for."""

    key: str
    read: Reader[Any]
    default: object
    says: str

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return PREFIX + self.key.upper().replace(".", "_")


def _options(settings: type[Any], table: str = "") -> Iterator[Option]:
    for each in fields(settings):
        if "read" in each.metadata:
            yield Option(table + each.name, each.metadata["read"], each.default, each.metadata["says"])


OPTIONS: Final[Mapping[str, Option]] = {
    each.key: each for each in (*_options(Settings), *_options(ServeSettings, "serve."))
}
"""Every setting by its key."""


def _shown(value: object) -> str:
    if isinstance(value, str) and is_postgres(value):
        from ..stores.postgres import postgres_place

        return postgres_place(value)
    if isinstance(value, tuple):
        return ", ".join(value) if value else "none"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else without_keys(str(value))
