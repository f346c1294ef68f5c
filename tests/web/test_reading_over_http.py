"""Reading commands with `--server`: the same output and the same exit codes as on the database."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from app.main import create_app
from app.services import tokens
from app.storage.db import Database
from app.web.deps import Options
from tests.cli.conftest import Answer, Command
from tests.cli.conftest import command as command  # a fixture
from tests.services.test_imports import MQM
from tests.spine import Spine

Serving = Callable[..., AbstractContextManager[tuple[str, int]]]
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
Both = Callable[..., tuple[Answer, Answer]]


@pytest.fixture
def origin(database: Database, serving: Serving) -> Iterator[str]:
    """A server with one campaign."""
    Spine(database.url, database).take("demo", "mqm-tsv", MQM.encode())
    with serving(create_app(database, Options())) as (host, port):
        yield f"http://{host}:{port}"


@pytest.fixture
def both(origin: str, database: Database, command: Command, monkeypatch: pytest.MonkeyPatch) -> Both:
    """Run a command on the database, and over HTTP where no database can be reached."""

    def run(*arguments: str | Path) -> tuple[Answer, Answer]:
        monkeypatch.delenv("PLUMBLINE_SERVER", raising=False)
        near = command(database.url, *arguments)
        with database.transaction() as session:
            secret = tokens.issue(session, role="manager", campaign="demo").secret
        monkeypatch.setenv("PLUMBLINE_SERVER", origin)
        monkeypatch.setenv("PLUMBLINE_TOKEN", secret)
        return near, command(NOWHERE, *arguments)

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ("rank", "demo"),
        ("rank", "demo", "--json", "--recipe", "google-mqm", "--alpha", "0.01", "--exclude", "system:A"),
        ("rank", "demo", "--csv", "--as-of", "1"),
        ("rank", "demo", "--csv", "--table", "segments"),
        ("rank", "demo", "--markdown", "--table", "pairs"),
        ("rank", "demo", "--latex"),
        ("rank", "demo", "--svg"),
        ("rank", "demo", "--svg", "--table", "pairs"),
        ("export", "demo"),
        ("export", "demo", "--format", "mqm-tsv"),
        ("recipes",),
    ],
)
def test_the_answer_is_the_same(both: Both, arguments: tuple[str, ...]) -> None:
    near, far = both(*arguments)
    assert near.returncode == 0, near.stderr
    assert far.returncode == 0, far.stderr
    assert near.stdout
    assert near.stdout == far.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rank", "nowhere"), b"there is no such campaign"),
        (("rank", "demo", "--recipe", "none-such"), b"recipe"),
        (("rank", "demo", "--alpha", "much"), b"alpha"),
        (("export", "demo", "--format", "none"), b""),
    ],
)
def test_a_refusal_is_one_clear_line_and_exit_code_2(both: Both, arguments: tuple[str, ...], said: bytes) -> None:
    near, far = both(*arguments)
    assert (near.returncode, far.returncode) == (2, 2)
    assert far.stderr.startswith(b"plumbline: the server refuses: ")
    assert said in far.stderr
    assert not far.stdout
    assert b"Traceback" not in far.stderr


def test_a_token_that_does_not_work_is_said_and_not_shown(
    origin: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUMBLINE_TOKEN", "plb_000000000000_s3cret")
    answer = command(NOWHERE, "rank", "demo", "--server", origin)
    assert answer.returncode == 2
    assert answer.stderr.startswith(b"plumbline: the server refuses: there is no such credential")
    assert b"s3cret" not in answer.stderr


def test_a_file_is_written_whole_or_not_at_all(both: Both, tmp_path: Path) -> None:
    file = tmp_path / "demo.jsonl"
    _, far = both("export", "demo", "-o", file)
    assert far.returncode == 0
    whole = file.read_bytes()
    file.unlink()
    assert both("export", "demo", "-f", "none", "-o", file)[1].returncode == 2
    assert whole.count(b"\n") > 3
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_said_in_one_line(command: Command) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    answer = command(NOWHERE, "recipes", "--server", url)
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"plumbline: the server cannot be reached: {url}".encode())
    assert answer.stderr.count(b"\n") == 1


def test_something_else_than_plumbline_is_noticed(serving: Serving, command: Command) -> None:
    async def other(scope: object, receive: object, send: Callable[..., object]) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})  # type: ignore[misc]
        await send({"type": "http.response.body", "body": b"<html>"})  # type: ignore[misc]

    with serving(other, lifespan="off") as (host, port):
        answer = command(NOWHERE, "recipes", "--server", f"http://{host}:{port}")
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert b"it answers 404, and not as Plumbline does" in answer.stderr
    assert command(NOWHERE, "recipes", "--server", "ftp://x").returncode == 2
