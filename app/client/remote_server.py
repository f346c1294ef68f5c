"""Commands that read over HTTP: the same queries, sent to a server instead of the database."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from app.config import Settings
from app.domain.errors import AppError, Invalid, Place, Unavailable

if TYPE_CHECKING:
    import httpx  # imported at run time only if a server is used: it takes longer to load than to rank a campaign

Server = Annotated[
    str | None,
    typer.Option(help="Ask this server, with the token in PLUMBLINE_TOKEN, instead of the database."),
]
Query = Mapping[str, str | int | Sequence[str]]
PIECE = 1 << 18  # bytes
CONNECTING, ANSWERING = 10, 600  # seconds; a ranking that was never requested before takes its time


class ServerRefusal(AppError):
    """The server refuses."""

    status = 0  # of the answer


class ServerUnreachable(Unavailable):
    """The server cannot be reached."""


class RemoteServer:
    """A server and the credential for it."""

    def __init__(self, url: str, token: str | None) -> None:
        if not url.startswith(("http://", "https://")):
            raise Invalid("the options are not valid", places=(Place(("--server",), "must be like https://host"),))
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def stream_body(self, path: str, query: Query | None = None, *, accept: str = "*/*") -> Iterator[bytes]:
        """Yield a body as it arrives.

        Raises ServerRefusal with the server's explanation, ServerUnreachable if the server does not answer, or stops.
        """
        with self._stream("GET", path, {"Accept": accept}, params=query) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _refusal(answer)
            yield from answer.iter_bytes()

    def iterate_paginated_list(self, path: str) -> Iterator[dict[str, object]]:
        """Yield every item of a list, page by page. Raises the errors of `stream_body`."""
        query: dict[str, str | int | Sequence[str]] = {"limit": 200}
        while True:
            page = json.loads(self.fetch_body(path, query, accept="application/json"))
            yield from page["items"]
            if page["next"] is None:
                return
            query["cursor"] = page["next"]

    def send_change(
        self,
        method: str,
        path: str,
        query: Query,
        body: Mapping[str, object] | None = None,
        *,
        if_match: str | None = None,
    ) -> bytes:
        """Change something, and return the answer. A retry by the transport cannot repeat the change.

        Raises ServerRefusal, ServerUnreachable.
        """
        headers = {"Accept": "application/json"}
        if if_match is not None:
            headers["If-Match"] = if_match
        if method == "POST":
            headers["Idempotency-Key"] = secrets.token_hex(16)
        answer = self._send(method, path, headers, params=query, json=body)
        if answer.status_code not in (200, 201):
            raise _refusal(answer)
        return answer.content

    def request_result_without_waiting(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: Mapping[str, object] | None = None,
        *,
        accept: str = "application/json",
        idempotency_key: str | None = None,
    ) -> httpx.Response:
        """Return an answer, 200 or 202, without waiting for a report that takes long; 201 if something is created.

        idempotency_key: makes sure that it is created only once.

        Raises ServerRefusal, ServerUnreachable.
        """
        headers = {"Accept": accept, "Prefer": "wait=0"}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        answer = self._send(method, path, headers, params=query, json=body)
        if answer.status_code not in ((200, 201, 202) if idempotency_key else (200, 202)):
            raise _refusal(answer)
        return answer

    def send_request(
        self, method: str, path: str, body: object = None, *, if_match: str | None = None
    ) -> httpx.Response:
        """Send any request and return the server's answer, unless it is a refusal. path: with its query.

        Raises ServerRefusal, ServerUnreachable.
        """
        headers = {"Accept": "application/json"}
        headers |= {"If-Match": f'"{if_match.strip(chr(34))}"'} if if_match is not None else {}
        headers |= {"Idempotency-Key": secrets.token_hex(16)} if method == "POST" else {}
        answer = self._send(method, path, headers, json=body)
        if not answer.is_success:
            raise _refusal(answer)
        return answer

    def upload_file(self, path: str, body: IO[bytes]) -> None:
        """Send a file while reading it. Raises ServerRefusal, ServerUnreachable."""
        headers = {"Accept": "application/json", "Content-Type": "application/octet-stream"}
        pieces = iter(lambda: body.read(PIECE), b"")
        answer = self._send("PUT", path, headers, content=pieces)
        if answer.status_code not in (200, 201):
            raise _refusal(answer)

    def upload_part(self, path: str, part: bytes, offset: int) -> bytes:
        """Send a part of a file from an offset; return the answer. Raises ServerRefusal, ServerUnreachable."""
        headers = {"Accept": "application/json", "Upload-Offset": str(offset)}
        answer = self._send("PATCH", path, headers, content=part)
        if answer.status_code != 200:
            raise _refusal(answer)
        return answer.content

    def fetch_body(self, path: str, query: Query | None = None, *, accept: str = "*/*") -> bytes:
        """Return a whole body. Raises the errors of `stream_body`."""
        return b"".join(self.stream_body(path, query, accept=accept))

    def _send(self, method: str, path: str, headers: Mapping[str, str], **given: Any) -> httpx.Response:
        """Return a whole answer, whatever its status. given: httpx's arguments. Raises ServerUnreachable."""
        with self._stream(method, path, headers, **given) as answer:
            answer.read()
            return answer

    @contextmanager
    def _stream(self, method: str, path: str, headers: Mapping[str, str], **given: Any) -> Iterator[httpx.Response]:
        """Yield an answer whose body arrives as it is read. Raises ServerUnreachable if the server fails to answer."""
        import httpx

        headers = {**self._headers, **headers}
        patience = httpx.Timeout(CONNECTING, read=ANSWERING)
        try:
            with httpx.stream(method, f"{self.url}{path}", headers=headers, timeout=patience, **given) as answer:
                yield answer
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise ServerUnreachable(f"{self.url}: {str(error) or type(error).__name__}") from error


def find_configured_remote_server(server: str | None) -> RemoteServer | None:
    """Return the server in the option or the settings; None for the database."""
    settings = Settings.load()
    url = server or settings.server
    return RemoteServer(url, settings.token.get_secret_value() if settings.token else None) if url else None


def find_remote_server_in_option(server: str | None) -> RemoteServer | None:
    """Return the server in the option; None for the database, whatever the settings say."""
    return find_configured_remote_server(server) if server else None


def _refusal(answer: httpx.Response) -> AppError:
    """Convert a problem document to our own error."""
    error = _problem(answer)
    error.status = answer.status_code
    return error


def _problem(answer: httpx.Response) -> ServerRefusal:
    try:
        problem = answer.json()
        title, detail = str(problem["title"]), str(problem["detail"])
        places = tuple(Place(tuple(place["loc"]), str(place["msg"])) for place in problem["errors"])
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        return ServerRefusal(f"it answers {answer.status_code}, and not as Plumbline does")
    message = title if detail in ("", title) else f"{title}: {detail}"
    return ServerRefusal(f"{message[0].lower()}{message[1:]}" if message else str(answer.status_code), places=places)
