"""uvicorn's HTTP protocol with limits on slow clients: uvicorn does not limit the time for headers or for reading."""

from __future__ import annotations

import asyncio
import json
import resource
import secrets
from asyncio.events import TimerHandle
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from app.web.server_sent_events import STOPPING

MEDIA_TYPE = "application/problem+json"
MOST_FILES = 1 << 15  # the most that count, whatever the system allows


def get_open_file_limit() -> int:
    """Return how many files and connections this process may open."""
    return min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], MOST_FILES)


class IdleConnections:
    """Connections with no request under way: new ones, those whose headers are arriving, and those kept alive.

    If there are too many, the oldest connection of the address with the most is closed, so that new clients always get
    one. most: the limit for all addresses together.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._n = 0
        self._of: dict[str, OrderedDict[LimitedHttpProtocol, None]] = {}

    def add(self, connection: LimitedHttpProtocol, address: str) -> None:
        """Add a connection; if there are too many, close the oldest one of the address with the most."""
        own = self._of.setdefault(address, OrderedDict())
        self._n += connection not in own
        own[connection] = None
        while self._n > self.most:
            most = max(self._of, key=lambda name: len(self._of[name]))
            oldest = next(iter(self._of[most]))
            self.remove(oldest)
            oldest.close_to_make_room()

    def remove(self, connection: LimitedHttpProtocol) -> None:
        """Remove a connection because it has a request under way, or has ended."""
        address = connection.client[0] if connection.client else ""
        own = self._of.get(address)
        if own is not None and connection in own:
            del own[connection]
            self._n -= 1
            if not own:
                del self._of[address]


class LimitedHttpProtocol(HttpToolsProtocol):
    """Closes connections whose headers are late or too long, or whose client has stopped reading.

    headers_within: seconds from the first byte (or the connection) to the end of the headers.
    headers_up_to: bytes. reads_within: seconds that a full send buffer may stay full.
    """

    headers_within = 4.0
    headers_up_to = 1 << 16
    reads_within = 30.0

    idle = IdleConnections(get_open_file_limit() // 2)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._headers: TimerHandle | None = None
        self._reader: TimerHandle | None = None
        self._received = 0
        self._in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # always of a socket
        """Wait for the headers of a new connection."""
        super().connection_made(transport)
        self._await_headers()
        self.idle.add(self, self.client[0] if self.client else "")

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timers of a lost connection."""
        self._cancel()
        self.idle.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Treat any byte between two requests as the beginning of the next headers.

        If a body was answered before it had arrived, its rest is accepted for as long as headers may take. Closing at
        once would keep the response from a client or a proxy that is still sending.
        """
        if self.cycle is None or self.cycle.response_complete:
            self._await_headers()
        self._received += len(data)
        super().data_received(data)
        if self._headers is not None and not self._in_body and self._received > self.headers_up_to:
            self.send_400_response("The headers are too long")

    def on_message_begin(self) -> None:
        """Also wait for headers if requests follow each other directly."""
        self._await_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the headers came in time."""
        self._cancel_headers()
        self.idle.remove(self)
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the body is complete, or the rest of a body that was answered early."""
        self._in_body = False
        if self.cycle.response_complete:
            self._cancel_headers()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note that no request is under way on this connection for now."""
        super().on_response_complete()
        if self.transport.is_closing() or (self.cycle is not None and not self.cycle.response_complete):
            return
        self.idle.add(self, self.client[0] if self.client else "")
        if self._headers is None and not self._in_body:
            self._forget_request()

    def _forget_request(self) -> None:
        """Release the last request, which would take ten kilobytes in each of thousands of idle connections.

        So it must be complete, and the next request must not have begun.
        """
        self.cycle = self.scope = self.headers = None  # type: ignore[assignment]  # as before the first one

    def close_to_make_room(self) -> None:
        """Close this connection, because a new one has come and there are too many idle ones."""
        self.transport.abort()

    def pause_writing(self) -> None:
        """Start a timer, because the client does not read."""
        super().pause_writing()
        if self._reader is None:
            self._reader = self.loop.call_later(self.reads_within, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer, because the client reads again."""
        super().resume_writing()
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None

    def shutdown(self) -> None:
        """Tell endless streams that the server stops, because it waits until all of them have ended."""
        stopping: asyncio.Event | None = self.app_state.get(STOPPING)
        if stopping is not None:
            stopping.set()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP with a problem as well, and close the connection."""
        name = f"r_{secrets.token_hex(16)}"
        said = {
            "type": "urn:plumbline:problem:400",
            "title": "The request cannot be read",
            "status": 400,
            "detail": msg,
            "instance": name,
            "errors": [],
        }
        body = json.dumps(said).encode()
        head = f"content-type: {MEDIA_TYPE}\r\nx-request-id: {name}\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(STATUS_LINE[400] + head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()

    def _await_headers(self) -> None:
        if self._headers is None:
            self._received = 0
            self._headers = self.loop.call_later(self.headers_within, self.transport.abort)

    def _cancel_headers(self) -> None:
        if self._headers is not None:
            self._headers.cancel()
            self._headers = None

    def _cancel(self) -> None:
        for timer in (self._headers, self._reader):
            if timer is not None:
                timer.cancel()
        self._headers = self._reader = None
