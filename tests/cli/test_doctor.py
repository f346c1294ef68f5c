"""`plumbline doctor` names what is wrong and what to do, and changes nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from typer.testing import CliRunner

from app.cli import build_cli_app
from app.cli.doctor import list_installation_findings
from app.cli.worker import BEAT_FILE, PATIENCE
from app.config import Settings
from app.domain.findings import HealthFinding
from app.storage import diagnosis, embedded
from app.storage.diagnosis import examine_database
from app.storage.embedded.cluster import find_server_processes
from tests.working import until


def states(found: Iterator[HealthFinding]) -> dict[str, str]:
    """What was looked at, and how it is; what is wrong says what to do."""
    all_ = list(found)
    assert not [one.what for one in all_ if one.state != "ok" and not one.do]
    return {one.what: one.state for one in all_}


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return Settings(database_url=None, data_dir=data_dir, port=free.getsockname()[1])


def signalled(server: embedded.EmbeddedServer, number: signal.Signals) -> None:
    for pid in find_server_processes(server.cluster):
        with suppress(ProcessLookupError):  # an autovacuum worker ends by itself
            os.kill(pid, number)


def test_the_embedded_database_is_examined_from_before_its_start_to_after_its_end(settings: Settings) -> None:
    home = settings.data_dir
    assert states(list_installation_findings(settings))["data folder"] == "warning"
    assert not home.exists()
    with embedded.start_server(home) as server:
        healthy = states(list_installation_findings(settings))
        assert healthy["server"] == healthy["database"] == healthy["durability"] == healthy["data folder"] == "ok"
        assert healthy["schema"] == "wrong", "nobody has made one"
        home.chmod(0o755)
        assert states(list_installation_findings(settings))["data folder"] == "warning"
        signalled(server, signal.SIGSTOP)
        assert states(list_installation_findings(settings))["server"] == "wrong"
        signalled(server, signal.SIGCONT)
        main = int((server.cluster.folder / "postmaster.pid").read_text().split()[0])
        signalled(server, signal.SIGSTOP)  # so that its children do not see it end
        os.kill(main, signal.SIGKILL)
        until(lambda: main not in find_server_processes(server.cluster), "it is gone")
        signalled(server, signal.SIGCONT)
        until(lambda: not find_server_processes(server.cluster), "they follow it")
        ended = states(list_installation_findings(settings))
        assert (ended["server"], ended["left over"]) == ("warning", "warning")
        version = server.cluster.folder / "PG_VERSION"
        theirs = version.read_text()
        version.write_text("9\n")
        assert states(list_installation_findings(settings))["server"] == "wrong"
        version.write_text(theirs)


class Disk(NamedTuple):
    total: int
    used: int
    free: int


@pytest.mark.parametrize(("free", "state"), [((64 << 20) - 1, "wrong"), (64 << 20, "warning"), (1 << 30, "ok")])
def test_space_is_told_before_it_is_gone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, free: int, state: str
) -> None:
    settings.data_dir.mkdir(mode=0o700)
    (settings.data_dir / "start.lock").touch()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(free, 0, free))
    assert states(list_installation_findings(settings))["disk"] == state


def test_a_named_database_is_examined(database_url: str, empty_database_url: str) -> None:
    assert set(states(examine_database(database_url)).values()) == {"ok", "warning"}
    assert states(examine_database(database_url))["workers"] == "warning", "nobody works here"
    assert states(examine_database(empty_database_url))["schema"] == "wrong"
    assert states(examine_database("postgresql://nobody@127.0.0.1:1/nothing")) == {"database": "wrong"}
    with psycopg.connect(database_url, autocommit=True) as db:
        db.execute("UPDATE alembic_version SET version_num = 'later'")
        newer = {one.what: one for one in examine_database(database_url)}["schema"]
        assert (newer.state, newer.do) == ("wrong", "start the newer version")
        db.execute(f'ALTER DATABASE "{db.info.dbname}" SET synchronous_commit = off')
        assert states(examine_database(database_url))["durability"] == "wrong"


def test_who_waits_for_a_lock_is_told(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the five seconds that it takes to be told, one is waited for."""
    locked = "LOCK TABLE people"
    waited, n = re.subn(r"interval '5 seconds'", "interval '1 second'", diagnosis._WAITING)
    assert n == 1
    monkeypatch.setattr(diagnosis, "_WAITING", waited)

    def wait() -> None:
        with psycopg.connect(database_url) as waiting:
            waiting.execute(locked)

    with psycopg.connect(database_url) as holder:
        holder.execute(locked)
        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda: states(examine_database(database_url))["locks"] == "warning", "somebody has waited for so long")
    thread.join()
    assert states(examine_database(database_url))["locks"] == "ok"


@pytest.mark.parametrize(("age", "state"), [(None, "warning"), (PATIENCE - 60, "ok"), (PATIENCE + 60, "warning")])
def test_a_worker_that_is_silent_is_told(settings: Settings, age: float | None, state: str) -> None:
    settings.data_dir.mkdir(mode=0o700)
    if age is not None:
        beat = settings.data_dir / BEAT_FILE
        beat.touch()
        os.utime(beat, (time.time() - age, time.time() - age))
    assert states(list_installation_findings(settings))["worker"] == state


READY: dict[str, object] = {"status": "ok", "parts": {"worker": {"state": "restarting", "reason": "it ended"}}}


@contextmanager
def answering(status: int, body: bytes) -> Iterator[int]:
    """A program on a port that answers every request alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (200, json.dumps(READY).encode(), {"service": "ok", "worker": "warning"}),
        (503, b'{"title": "The database cannot be reached", "parts": {}}', {"service": "wrong"}),
        (200, b"<html>", {"port": "wrong"}),
        (200, b"[]", {"port": "wrong"}),
    ],
)
def test_who_holds_the_port_is_told(settings: Settings, status: int, body: bytes, told: dict[str, str]) -> None:
    with answering(status, body) as port:
        found = states(list_installation_findings(settings.model_copy(update={"port": port})))
    assert found.items() >= told.items()


@pytest.fixture
def run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """The command as people run it: exit code and what it prints."""
    monkeypatch.setenv("PLUMBLINE_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("PLUMBLINE_PORT", str(settings.port))
    monkeypatch.delenv("PLUMBLINE_DATABASE_URL", raising=False)

    def run_it(*options: str) -> tuple[int, str]:
        answer = CliRunner().invoke(build_cli_app("doctor"), ["doctor", *options])
        return answer.exit_code, answer.output

    return run_it


def test_the_command_ends_with_1_where_something_is_wrong(run: Callable[..., tuple[int, str]], data_dir: Path) -> None:
    code, said = run()
    assert code == 0
    assert "look  data folder:" in said
    data_dir.mkdir()
    (data_dir / "start.lock").touch()
    (data_dir / "postgres").mkdir()
    (data_dir / "postgres" / "PG_VERSION").write_text("9\n")
    if os.geteuid() == 0:
        shutil.chown(data_dir / "postgres", 60906, 60906)
    code, said = run("--json")
    assert code == 1
    assert [one["what"] for one in json.loads(said) if one["state"] == "wrong"] == ["server"]
    shutil.rmtree(data_dir)
