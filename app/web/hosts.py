"""Allowed hosts: requests to a name that is not ours are refused.

Links that the service makes contain the host name of the request, and another site could point its own name to this
service (DNS rebinding). Without a list, the names of this machine and the name on which the service listens are
allowed.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web.admission import ALWAYS
from app.web.problems import problem_response

ANY = "*"


def list_own_host_names(*further: str) -> frozenset[str]:
    """Return the names of this machine that need no look-up, and further ones."""
    return frozenset({"localhost", socket.gethostname().lower(), *map(str.lower, further)})


class AllowedHostsMiddleware:
    """Refuses requests to a name that is not ours with 421. names: in lower case, without ports."""

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self.app = app
        self.names = frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if (
            scope["type"] != "http"
            or scope["path"] in ALWAYS
            or self._is_own_name(Headers(scope=scope).getlist("host"))
        ):
            await self.app(scope, receive, send)
            return
        title = "This service is not known under this name"
        detail = "name it in PLUMBLINE_ALLOWED_HOSTS, or set PLUMBLINE_PUBLIC_URL"
        await problem_response(Request(scope), 421, title, kind="not-our-name", detail=detail)(scope, receive, send)

    def _is_own_name(self, given: list[str]) -> bool:
        """Tell whether one of our names is given. IP addresses are always allowed: no site can point them to us."""
        name = parse_host_name(given[0]) if len(given) == 1 else ""
        return ANY in self.names or name in self.names or _is_number(name)


def parse_host_name(host: str) -> str:
    """Return the name in a Host header, in lower case, without its port.

    >>> parse_host_name("Mt.Example.org:8000"), parse_host_name("[::1]:80"), parse_host_name("::1")
    ('mt.example.org', '::1', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    name, _, port = host.rpartition(":")
    return (name if name and ":" not in name and port.isdigit() else host).lower()


def _is_number(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
