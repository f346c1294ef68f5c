"""`plumbline serve` as people start it: a process of its own on a free port."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from app.cli.serving.service import make_web_process, start_web_process_early
from tests.patience import soon
from tests.working import until

LIMIT = 180  # seconds in which a process starts or ends, however slow the machine
ENDS_WITHIN = 10  # seconds, where the machine does not stand still
ORIGIN = re.compile(r"Plumbline at (http://127\.0\.0\.1:\d+)")
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the command with a database and options; what still runs at the end is ended."""
    started: list[subprocess.Popen[str]] = []

    def run(url: str, *options: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PLUMBLINE_DATABASE_URL": url, "PLUMBLINE_DATA_DIR": str(tmp_path / "data")}
        process = subprocess.Popen(
            [sys.executable, "-c", "from app.cli import main; main()", "serve", "--port", "0", "--no-worker", *options],
            env=environment,
            cwd=Path(__file__).resolve().parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=LIMIT)


@contextmanager
def answering(process: subprocess.Popen[str]) -> Iterator[httpx.Client]:
    """A client of the process, once it answers."""
    assert process.stdout is not None
    found = ORIGIN.search(process.stdout.readline())
    assert found
    transport = httpx.HTTPTransport(retries=0)
    with httpx.Client(base_url=found[1], transport=transport, timeout=LIMIT) as client:
        assert client.get("/readyz").status_code == 200  # the socket listens before the application is up
        yield client


def running(client: httpx.Client) -> set[str]:
    """The parts of the service that run, as one of them says: asked once a second, as nobody reads the log yet."""
    time.sleep(1)
    parts = client.get("/readyz").json()["parts"]
    return {name for name, part in parts.items() if part["state"] == "running"}


def stop(process: subprocess.Popen[str]) -> tuple[int, str, float]:
    """End it as a supervisor does; its exit code, what it logged, and the seconds that it took."""
    told = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=LIMIT)
    return process.returncode, log, time.monotonic() - told


SOAK = pytest.mark.soak


@pytest.mark.parametrize(
    ("workers", "later"), [("1", "1"), pytest.param("2", "2", marks=SOAK), pytest.param("2", "1", marks=SOAK)]
)
def test_it_serves_hands_over_one_admin_stops_when_told_and_its_workers_end_with_it(
    start: Start, database_url: str, tmp_path: Path, workers: str, later: str
) -> None:
    """later: how many workers it has when it is started again."""
    process = start(database_url, "--workers", workers)
    with answering(process) as client:
        link = tmp_path / "data" / "first-admin-link"
        token = link.read_text().strip().partition("#token=")[2]
        me = client.get("/v1/me", headers={"Authorization": f"Bearer {token}"})
        assert me.json()["role"] == "admin"
    code, log, seconds = stop(process)

    assert code == 0
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in log.splitlines()]
    asked = next(line for line in lines if line.get("route") == "/v1/me")
    assert asked.keys() == {"at", "level", "logger", "message", "request", "method", "route", "status", "ms"}
    assert (asked["method"], asked["status"]) == ("GET", 200)
    assert token.split("_", 2)[2] not in log

    def again() -> float:
        process = start(database_url, "--workers", workers)
        with answering(process):
            pass
        code, _, seconds = stop(process)
        assert code == 0
        return seconds

    assert seconds < ENDS_WITHIN or soon(again, ENDS_WITHIN, tries=2)

    link.unlink()
    process = start(database_url, "--workers", later)
    with answering(process) as client:
        assert client.get("/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 200
        assert not link.exists()
        names = {"web"} if later == "1" else {f"web {n + 1}" for n in range(int(later))}
        until(lambda: running(client) >= names, "one after the other they run")
        supervisor = psutil.Process(process.pid)
        children = supervisor.children(recursive=True)
        assert len(children) == len(names)
        assert not [one.path for one in supervisor.memory_maps() if "psycopg" in one.path]  # a copy prepared it all
        process.kill()
        until(lambda: not psutil.wait_procs(children, timeout=0)[1], "its workers end, too", within=ENDS_WITHIN)


def refused(process: subprocess.Popen[str]) -> str:
    """What a start that failed says; it is short and shows no trace."""
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 2, (out, err)
    assert "Traceback" not in err
    assert err.startswith("plumbline: ")
    return err


def test_a_database_that_can_lose_what_it_confirmed_is_refused(start: Start, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    assert "synchronous_commit" in refused(start(database_url))


def test_a_schema_that_is_behind_is_refused_where_it_must_not_be_upgraded(
    start: Start, empty_database_url: str
) -> None:
    assert "plumbline db upgrade" in refused(start(empty_database_url, "--no-migrate"))


def test_an_address_in_use_is_said_in_one_line(start: Start, database_url: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"127.0.0.1:{port}" in refused(start(database_url, "--port", str(port)))


def test_settings_that_are_wrong_are_named_without_their_values(
    start: Start, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUMBLINE_PUBLIC_URL", "ftp://s3cret.example")
    said = refused(start(database_url))
    assert "PLUMBLINE_PUBLIC_URL" in said
    assert "s3cret" not in said


def test_a_web_process_that_was_started_early_ends_with_who_started_it() -> None:
    """It waits for its environment; if the one who started it is killed, nothing comes."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        part = make_web_process(listener)
        part.start_awaiting_environment()
        process = part._process
        assert process is not None
        assert part._awaited is not None
        os.close(part._awaited)
        part.ensure_stopped_within(LIMIT)
        assert process.returncode == 1


def test_a_web_process_that_is_never_told_a_database_leaves_its_socket() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        with start_web_process_early(listener) as part:
            process = part._process
        assert process is not None
        assert process.returncode == -signal.SIGKILL
