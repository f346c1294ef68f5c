"""The embedded server after kills, with stale files, and on folders that are not for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import psycopg
import pytest

from app.storage import embedded
from app.storage.embedded import cluster
from app.storage.embedded.cluster import find_server_processes

ROOT = Path(__file__).resolve().parents[2]
START = (
    "import sys; from pathlib import Path; from app.storage import embedded; embedded.start_server(Path(sys.argv[1]))"
)


def tables(server: embedded.EmbeddedServer) -> int:
    with psycopg.connect(server.url()) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert row is not None
    return int(row[0])


def make_table(server: embedded.EmbeddedServer, name: str) -> None:
    with psycopg.connect(server.url()) as connection:
        connection.execute(f"CREATE TABLE {name} ()")


@pytest.fixture(scope="module")
def stopped(scratch: Path) -> embedded.EmbeddedServer:
    """A server that was started, given one table and stopped; whoever changes its files sets them right again."""
    with embedded.start_server(scratch / "stopped") as server:
        make_table(server, "kept")
    return server


@pytest.fixture
def bystander(stopped: embedded.EmbeddedServer) -> Iterator[subprocess.Popen[bytes]]:
    """A living process of the server's user that is no server, named in postmaster.pid."""
    account = stopped.cluster.account
    ours = account.is_current_account
    process = subprocess.Popen(
        ["sleep", "600"], user=None if ours else account.uid, group=None if ours else account.gid, cwd="/"
    )
    folder = stopped.cluster.folder
    pid_file = folder / "postmaster.pid"
    pid_file.write_text(f"{process.pid}\n{folder}\n1700000000\n5432\n\n\n  1 1\nready\n")
    yield process
    pid_file.unlink(missing_ok=True)
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    "delays", [(0.25, 0.55, 0.9), pytest.param((0.25, 0.4, 0.55, 0.7, 0.9, 1.2), marks=pytest.mark.soak)], ids=len
)
def test_a_starter_killed_at_any_moment_leaves_nothing_that_stops_the_next(
    data_dir: Path, delays: tuple[float, ...]
) -> None:
    command = [sys.executable, "-c", START, str(data_dir)]
    seen = set()
    for delay in delays:
        with subprocess.Popen(command, cwd=ROOT) as process:
            time.sleep(delay)
            process.kill()
        names = {path.name.split("-")[0] for path in data_dir.glob("*")}
        seen.add("made" if "postgres" in names else "half made" if "new" in names else "nothing")
    assert seen - {"made"}, "no kill came early enough to mean anything"
    with embedded.start_server(data_dir) as server:
        make_table(server, "first")
        assert tables(server) == 1
    assert not list(data_dir.glob("new-*"))


@pytest.mark.parametrize("victims", ["postmaster", "all"])
def test_a_killed_server_comes_back_with_its_data(stopped: embedded.EmbeddedServer, victims: str) -> None:
    with embedded.start_server(stopped.data_dir) as server:
        pid = int((server.cluster.folder / "postmaster.pid").read_text().split()[0])
        children = find_server_processes(server.cluster) - {pid}
        os.kill(pid, signal.SIGKILL)
        for child in children if victims == "all" else ():
            with suppress(ProcessLookupError):  # it has seen its parent die
                os.kill(child, signal.SIGKILL)
        with embedded.start_server(stopped.data_dir) as again:
            assert again.started
            assert tables(again) == 1


def test_a_half_made_cluster_is_made_again(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "start.lock").touch()
    (data_dir / "new-0123" / "base").mkdir(parents=True)
    with embedded.start_server(data_dir) as server:
        assert tables(server) == 0
    assert not (data_dir / "new-0123").exists()


def test_postgres_itself_takes_a_living_bystander_for_a_server(
    stopped: embedded.EmbeddedServer, bystander: subprocess.Popen[bytes]
) -> None:
    """The control of the next two tests: without our care the server does not start."""
    cluster = stopped.cluster
    answer = cluster.account.run(
        [cluster.programs / "pg_ctl", "-w", "-D", cluster.folder, "-l", "log", "start"], cwd=cluster.home
    )
    assert answer.returncode != 0


def test_a_living_bystander_in_the_pid_file_does_not_stop_a_start(
    stopped: embedded.EmbeddedServer, bystander: subprocess.Popen[bytes]
) -> None:
    with embedded.start_server(stopped.data_dir) as server:
        assert server.started
        assert tables(server) == 1
    assert bystander.poll() is None


def test_stopping_never_signals_a_bystander(
    stopped: embedded.EmbeddedServer, bystander: subprocess.Popen[bytes]
) -> None:
    embedded.stop_server(stopped.data_dir)
    assert bystander.poll() is None


def test_a_server_that_cannot_start_says_why(stopped: embedded.EmbeddedServer) -> None:
    local = stopped.cluster.folder / "local.conf"
    before = local.read_text() if local.exists() else ""
    local.write_text("no_such_setting = 1\n")
    try:
        with pytest.raises(embedded.ServerNotStarting, match="no_such_setting"):
            embedded.start_server(stopped.data_dir)
    finally:
        local.write_text(before)


@pytest.mark.parametrize(("starts_at", "tried"), [(1, 1), (3, 3), (4, 3)])
def test_a_start_that_fails_is_tried_three_times_in_all(
    stopped: embedded.EmbeddedServer, monkeypatch: pytest.MonkeyPatch, starts_at: int, tried: int
) -> None:
    tries = []

    def start(*_command: object) -> bool:
        tries.append(len(tries) + 1)
        assert len(tries) <= 4, "it goes on"
        return len(tries) == starts_at

    monkeypatch.setattr(cluster, "_pg_ctl", start)
    with pytest.raises(embedded.ServerNotStarting) if starts_at > 3 else nullcontext():
        assert cluster.start_server_unless_running(stopped.cluster)
    assert tries == [1, 2, 3][:tried]


def test_a_folder_of_another_major_version_is_refused_with_the_way_to_move_it(data_dir: Path, bin_dir15: Path) -> None:
    with embedded.start_server(data_dir, bin_dir=bin_dir15):
        pass
    with pytest.raises(embedded.PostgresMajorDiffers, match=r"Postgres 15.*db backup.*db restore"):
        embedded.start_server(data_dir)
    with embedded.start_server(data_dir, bin_dir=bin_dir15) as server:
        assert server.started


def test_lost_passwords_are_named(data_dir: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only under root are there passwords")
    with embedded.start_server(data_dir):
        pass
    (data_dir / "pgpass").rename(data_dir.parent / "pgpass")
    with pytest.raises(embedded.DatabasePasswordsLost, match="pgpass"):
        embedded.start_server(data_dir)
