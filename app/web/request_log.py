"""The outermost layer: a request id, headers for every response, one line in the log, one count in the metrics.

Log and metrics name the route's template, never the path or query, so that they contain no secret.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from types import MappingProxyType

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.tracing import TraceSpan, is_tracing, trace_span
from app.web.logs import REQUEST
from app.web.metrics import ServiceMetrics
from app.web.traces import PROBES

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
RAW = [(header.lower().encode(), value.encode()) for header, value in HEADERS.items()]
log = logging.getLogger("plumbline.requests")


def request_id(scope: Scope) -> str:
    """Return the id of this request, made on the first call."""
    state: dict[str, object] = scope.setdefault("state", {})
    if "request_id" not in state:
        state["request_id"] = f"r_{secrets.token_hex(16)}"
    return str(state["request_id"])


class RequestIdAndLogMiddleware:
    """Gives every response its id and headers. Headers set by a handler stay."""

    def __init__(self, app: ASGIApp, metrics: ServiceMetrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif is_tracing() and scope["path"] not in PROBES:
            with trace_span("request", scope["method"]) as span:
                await self._pass(scope, receive, send, span)
        else:
            await self._pass(scope, receive, send, None)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, span: TraceSpan | None) -> None:
        started = time.perf_counter()
        name = request_id(scope)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message["headers"] = list(message.get("headers", ()))
                there = {header.lower() for header, _ in given}
                given.append((REQUEST_ID.lower().encode(), name.encode()))
                given += [(header, value) for header, value in RAW if header not in there]
                self._note(scope, message["status"], time.perf_counter() - started, span)
            await send(message)

        self.metrics.in_flight.inc()
        try:
            await self.app(scope, receive, answer)
        finally:
            self.metrics.in_flight.dec()

    def _note(self, scope: Scope, status: int, seconds: float, span: TraceSpan | None) -> None:
        """Log and count a response. All addresses that do not exist count as one."""
        route = getattr(scope.get("route"), "path", "-")
        method = scope["method"] if route != "-" else "-"
        self.metrics.count_response(method, route, status, seconds)
        if span is not None:
            told = {"http.request.method": method, "http.route": route, "plumbline.request": request_id(scope)}
            span.set_name_and_attributes(f"{method} {route}", {**told, "http.response.status_code": status})
        fields = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
        log.info("answered", extra={REQUEST: {"request": request_id(scope), **fields}})
