"""A file that cannot be made to its end is never taken for whole: neither by what HTTP says, nor by our own command."""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import formats
from app.formats import csv as csv_format
from app.formats.base import Record
from app.main import create_app
from app.services.access import tokens
from app.storage.db import Database
from app.web.deps import ServiceOptions
from app.web.file_streams import FIRST
from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.services.data.test_imports import judgment, lines
from tests.spine import Spine

pytestmark = pytest.mark.usefixtures("patience")
Serving = Callable[..., AbstractContextManager[tuple[str, int]]]
EXPORT = "/v1/campaigns/c/exports/csv"


@pytest.fixture
def secret(database: Database) -> str:
    """Of an admin, beside a campaign."""
    Spine(database.url, database).take("c", "jsonl", lines({"type": "campaign", "protocol": "da"}, judgment()))
    with database.transaction() as session:
        return tokens.issue_token(session, role="admin").secret


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, type[Exception] | None], bytes]:
    """failing(bytes, error): let `csv` fail after so many bytes, or end there; what it gives until then."""

    def fail(after: int, error: type[Exception] | None) -> bytes:
        def write(records: Iterable[Record], lost: Counter[str] | None = None, /) -> Iterator[bytes]:
            yield b"a\n" * (after // 2)
            if error is not None:
                raise error("broken")

        changed = formats.Format(name="csv", title=csv_format.FORMAT.title, write=write)
        monkeypatch.setattr(formats, "ALL", {**formats.ALL, "csv": changed})
        return b"a\n" * (after // 2)

    return fail


def asked_1_0(host: str, port: int, secret: str) -> tuple[bytes, bytes]:
    """Head and body as a client of HTTP/1.0 has them, which takes the end of the connection for the end of the body."""
    with socket.create_connection((host, port), timeout=60) as connection:
        connection.sendall(f"GET {EXPORT} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {secret}\r\n\r\n".encode())
        head, _, body = b"".join(iter(lambda: connection.recv(1 << 16), b"")).partition(b"\r\n\r\n")
        return head, body


@pytest.mark.parametrize("after", [0, 2, FIRST - 2])
def test_what_fails_early_is_a_problem_and_no_answer_that_went_well(
    database: Database, serving: Serving, secret: str, failing: Any, after: int
) -> None:
    failing(after, TypeError)
    with serving(create_app(database, ServiceOptions())) as (host, port):
        answer = httpx.get(f"http://{host}:{port}{EXPORT}", headers={"Authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert answer.json()["status"] == 500


@pytest.mark.parametrize("error", [TypeError, OSError])
def test_what_fails_late_is_cut_so_that_every_client_notices(
    database: Database, serving: Serving, secret: str, failing: Any, error: type[Exception]
) -> None:
    failing(4 * FIRST, error)
    with serving(create_app(database, ServiceOptions())) as (host, port):
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"http://{host}:{port}{EXPORT}", headers={"Authorization": f"Bearer {secret}"})
        head, body = asked_1_0(host, port, secret)
    assert head.split()[1] == b"500"
    assert json.loads(body)["status"] == 500


def test_what_is_whole_says_so_by_its_length_or_by_its_last_chunk(
    database: Database, serving: Serving, secret: str, failing: Any
) -> None:
    for size in (0, FIRST - 2, FIRST, 4 * FIRST):
        whole = failing(size, None)
        with serving(create_app(database, ServiceOptions())) as (host, port):
            answer = httpx.get(f"http://{host}:{port}{EXPORT}", headers={"Authorization": f"Bearer {secret}"})
            head, body = asked_1_0(host, port, secret)
        assert (answer.status_code, answer.content) == (200, whole)
        assert ("content-length" in answer.headers) == (size < FIRST)
        assert body == whole
        assert f"content-length: {size}".encode() in head.lower()


def test_the_command_leaves_nothing_of_a_file_that_was_cut(
    database: Database, serving: Serving, secret: str, failing: Any, command: Command, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("PLUMBLINE_TOKEN", secret)
    failing(4 * FIRST, TypeError)
    out = tmp_path / "c.csv"
    with serving(create_app(database, ServiceOptions())) as (host, port):
        at = ("--server", f"http://{host}:{port}")
        found = command("postgresql://nobody@127.0.0.1:1/nothing", "export", "c", "-f", "csv", "-o", out, *at)
        shown = command("postgresql://nobody@127.0.0.1:1/nothing", "export", "c", "-f", "csv", *at)
    assert found.returncode != 0
    assert shown.returncode != 0
    assert not list(tmp_path.iterdir())
