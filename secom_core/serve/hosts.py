"""Under which names a server may be reached: a web page must not reach it under the name of another site."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from .refusals import Refused

_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Hosts:
    """Checks the headers ``Host`` and ``Origin``, against DNS rebinding and pages of other sites.

    Args:
        host: the address that the server listens on.
        allowed: further names. Where there are none and the address is no loopback one, any name will do, as tokens
            are needed there, which no other site's page has.
    """

    def __init__(self, host: str, allowed: Sequence[str] = ()) -> None:
        self._any = not allowed and not is_loopback(host)
        self._names = _LOCAL | {host.lower().strip("[]")} | {name.lower() for name in allowed}

    def check_name(self, headers: Headers) -> None:
        """Refuse a request that came under another name.

        Raises:
            Refused: with 421.
        """
        given = headers.get("host", "")
        if not self._any and not given:
            raise Refused(421, "wrong_host", "the request has no Host header, which names the server it is for")
        if not self._any and _name(f"//{given}") not in self._names:
            raise Refused(
                421,
                "wrong_host",
                f"this server is not reached as {given[:100]!r}; if it should be, name it in serve.allowed_hosts",
            )

    def check_origin(self, headers: Headers) -> None:
        """Refuse a request from a page of another site.

        Raises:
            Refused: with 403.
        """
        given, origin = headers.get("host", ""), headers.get("origin")
        if origin is not None and (headers.getlist("origin")[1:] or _place(origin) != given.lower()):
            raise Refused(
                403,
                "wrong_origin",
                f"pages of {origin[:100]!r} may not call this server, which is reached as {given[:100]!r}; a proxy of "
                "your own has to pass the Host header on",
            )


def _name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def _place(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
