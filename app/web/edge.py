"""The outermost layer of ours: a request id, headers that every answer carries, and one line in the log.

The line names the route's template, never the path or query that was asked for, so that nothing secret gets there.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from types import MappingProxyType

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

REQUEST_ID = "X-Request-Id"
HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
)
log = logging.getLogger("plumbline.requests")


def request_id(scope: Scope) -> str:
    """The id of this request, made on first asking."""
    state: dict[str, object] = scope.setdefault("state", {})
    if "request_id" not in state:
        state["request_id"] = f"r_{secrets.token_hex(16)}"
    return str(state["request_id"])


class EdgeLayer:
    """Give every answer its id and headers; those that a handler set itself stay."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request through."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        name = request_id(scope)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = name
                for header, value in HEADERS.items():
                    headers.setdefault(header, value)
                _note(scope, message["status"], time.perf_counter() - started)
            await send(message)

        await self.app(scope, receive, answer)


def _note(scope: Scope, status: int, seconds: float) -> None:
    route = getattr(scope.get("route"), "path", "-")
    log.info("%s %s %d %.1f ms %s", scope["method"], route, status, seconds * 1000, request_id(scope))
