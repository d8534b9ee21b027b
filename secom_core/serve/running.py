"""Running a server: where it listens, and how it ends."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from math import ceil
from pathlib import Path
from types import FrameType
from typing import Final

from ..bank import MemoryBank
from ..configuration import Settings
from ..conversation import Scope
from ..errors import InvalidInput, MissingExtra
from .grants import OF_SCOPE, Grant, Tokens
from .memory import ServedMemory

try:
    import anyio
    import uvicorn

    from .agents import serve_agent
    from .application import application
    from .connections import PromptConnection
    from .hosts import is_loopback
    from .inspector import inspector_routes
except ImportError as error:
    raise MissingExtra("secom serve", "serve") from error

_BACKLOG: Final = 1_024
_KEEP_ALIVE_S: Final = 15
_PREPARED: Final = 100
"""Of how many scopes at most the indexes are read as the server starts."""
_CLOSING_S: Final = 5.0
"""How many seconds the bank has to close after the last call."""
_LOG: Final = logging.getLogger(__name__)


def tokens_of(settings: Settings, environ: Mapping[str, str] | None = None, *, writes: bool = True) -> Tokens:
    """Who may do what: by the tokens of the file and of ``SECOM_TOKEN``; without any, whoever is on this machine.

    Args:
        settings: the configuration.
        environ: where a token is looked up; the environment of the process unless given.
        writes: whether those who come without a token of the file may write.

    Raises:
        InvalidInput: nobody could be let in, or everybody on the network could.
    """
    token = (os.environ if environ is None else environ).get(OF_SCOPE)
    file = settings.serve.tokens_file
    if file or token:
        scope = _configured_scope(settings, f"the token in {OF_SCOPE}") if token else ()
        given = {token: Grant(OF_SCOPE, scope, writes=writes)} if token else {}
        return Tokens(Path(file).expanduser() if file else None, given)
    if not is_loopback(settings.serve.host):
        raise InvalidInput(
            f"{settings.serve.host} can be reached from other machines, and there are no tokens: make one with "
            f"`secom token NAME --scope … --tokens-file FILE`, or set {OF_SCOPE}; or listen on 127.0.0.1"
        )
    return Tokens(open_to=Grant("local", _configured_scope(settings, "a server without tokens"), writes=writes))


def agent_grant(settings: Settings, *, writes: bool = True) -> Grant:
    """What the agent on standard input may do.

    Args:
        settings: the configuration.
        writes: whether it may write.

    Raises:
        InvalidInput: no scope is configured.
    """
    return Grant("agent", _configured_scope(settings, "a server on standard input"), writes=writes)


def _configured_scope(settings: Settings, what: str) -> Scope:
    if settings.scope is None:
        raise InvalidInput(f"whose memory? {what} needs a scope: --scope acme --scope alice, or SECOM_SCOPE=acme/alice")
    return settings.scope


def listening_at(host: str, port: int) -> socket.socket:
    """What listens there.

    Raises:
        InvalidInput: nothing can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        # Python adds the address to the system's words.
        why = str(error.strerror or error).partition(" (while attempting")[0]
        raise InvalidInput(
            f"nothing can listen on {host}, port {port}: {why}; give another --host or --port"
        ) from error


def run_http(
    bank: MemoryBank,
    settings: Settings,
    tokens: Tokens,
    announce: Callable[[str], None],
    listening: socket.socket | None = None,
) -> None:
    """Serve over HTTP until the process is told to stop; then let what runs come to its end, and close the bank.

    Args:
        bank: what is served.
        settings: where to listen, and the limits.
        tokens: says who may do what.
        announce: is told the address, once there is one.
        listening: what listens there already (`listening_at`).

    Raises:
        InvalidInput: nothing can listen there.
    """
    serve = settings.serve
    listening = listening or listening_at(serve.host, serve.port)
    # A caller is told that nothing was stored before time runs out, when nobody could know.
    memory = ServedMemory(bank, tokens.scopes[:_PREPARED], waits=serve.timeout / 2)
    mounts = inspector_routes(memory, serve) if serve.inspector else ()
    config = uvicorn.Config(
        application(memory, serve, tokens, mounts),
        http=PromptConnection,
        ws="none",
        lifespan="on",
        # Whoever forwards says who came, and anybody may say that they forward.
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_level=logging.WARNING,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=ceil(serve.drain),
    )
    server = _Server(config, ends_within=serve.drain + _CLOSING_S)
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn listens to signals once it runs, and hands them on when it has ended: by then all is done.
        signal.signal(number, server.handle_exit)
    place = f"[{serve.host}]" if ":" in serve.host else serve.host
    announce(f"http://{place}:{listening.getsockname()[1]}")
    server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that ends after so many seconds, even if a call hangs in a thread, such as over an embedder."""

    def __init__(self, config: uvicorn.Config, *, ends_within: float) -> None:
        super().__init__(config)
        self._ends_within = ends_within

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        threading.Thread(target=self._end, name="secom-end", daemon=True).start()

    def _end(self) -> None:
        time.sleep(self._ends_within)
        _LOG.warning(
            "calls still run %g seconds after the signal, and the server ends without them; what was acknowledged is "
            "on the disk, and the next recall derives what is missing",
            self._ends_within,
        )
        # A thread cannot be ended, and the interpreter would wait for it.
        os._exit(0)


def run_agent(bank: MemoryBank, grant: Grant) -> None:
    """Serve one agent over standard input and output until the input ends; then close the bank."""
    anyio.run(serve_agent, ServedMemory(bank, [grant.scope, *grant.also]), grant)
