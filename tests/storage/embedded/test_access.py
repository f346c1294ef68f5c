"""Root and other users; nobody but the one who started the server gets in."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import psycopg
import pytest

from app.storage import embedded
from app.storage.embedded import binaries, settings
from app.storage.embedded.account import OsAccount
from app.storage.embedded.cluster import find_server_processes
from tests.scratch import PREFIX, walkable_folder
from tests.working import until

RunAs = Callable[[int, Callable[[], object]], object]
NOBODY = 65534
STRANGER = 61183  # a number that no user of the machine has


def connect(url: str) -> str:
    """The user that the server takes us for, or why it does not."""
    try:
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT current_user").fetchone()
    except psycopg.OperationalError as error:
        return str(error)
    return str(row[0]) if row else ""


def open_folders(server: embedded.EmbeddedServer) -> None:
    for path in (server.data_dir, server.cluster.sockets, *server.cluster.sockets.glob(".s.PGSQL.*")):
        path.chmod(0o777)


def owners(paths: Iterable[Path]) -> set[int]:
    """Whose files and processes these are, but for what has ended since."""
    found = set()
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            found.add(path.lstat().st_uid)
    return found


def test_another_user_cannot_connect(postgres: embedded.EmbeddedServer, run_as: RunAs) -> None:
    for role in ("owner", "app", "admin"):
        assert "Permission denied" in str(run_as(STRANGER, lambda role=role: connect(postgres.url(role))))
    assert isinstance(run_as(STRANGER, lambda: list(postgres.data_dir.iterdir())), PermissionError)


def test_another_user_cannot_connect_even_through_open_folders(data_dir: Path, run_as: RunAs) -> None:
    with embedded.start_server(data_dir) as server:
        open_folders(server)
        for uid in (STRANGER, NOBODY, server.cluster.account.uid):
            for role in ("owner", "app", "admin"):
                answer = str(run_as(uid, lambda role=role: connect(server.url(role))))
                assert "no password supplied" in answer
        # The control: with authentication off, the same attempt succeeds.
        (server.cluster.folder / "pg_hba.conf").write_text("local all all trust\n")
        with psycopg.connect(server.url("admin")) as connection:
            connection.execute("SELECT pg_reload_conf()")
        until(lambda: run_as(STRANGER, lambda: connect(server.url())) == "plumbline", "a reload takes a moment")


def test_a_user_who_is_not_root_has_a_server_of_their_own(data_dir: Path, run_as: RunAs) -> None:
    data_dir.mkdir()
    os.chown(data_dir, NOBODY, NOBODY)
    if run_as(NOBODY, lambda: os.access(binaries.find_server_program_folder() / "postgres", os.X_OK)) is not True:
        pytest.skip("the programs lie where other users cannot reach them")

    def life() -> tuple[str, int, int]:
        with embedded.start_server(data_dir) as server:
            found = connect(server.url()), len(list(data_dir.glob("pgpass"))), data_dir.stat().st_mode & 0o777
        assert find_server_processes(server.cluster) == set()
        return found

    assert run_as(NOBODY, life) == ("plumbline", 0, 0o700)
    shutil.rmtree(data_dir)


def test_peer_authentication_refuses_another_user_even_through_open_folders(data_dir: Path, run_as: RunAs) -> None:
    data_dir.mkdir()
    os.chown(data_dir, NOBODY, NOBODY)
    if run_as(NOBODY, lambda: os.access(binaries.find_server_program_folder() / "postgres", os.X_OK)) is not True:
        pytest.skip("the programs lie where other users cannot reach them")

    def begin() -> str:
        server = embedded.start_server(data_dir, keep=True)
        open_folders(server)
        return server.url("admin")

    url = str(run_as(NOBODY, begin))
    refusals = {uid: run_as(uid, lambda: connect(url)) for uid in (1, 0)}
    assert all("Peer authentication failed" in str(answer) for answer in refusals.values())
    assert run_as(NOBODY, lambda: connect(url)) == "plumbline_admin"
    run_as(NOBODY, lambda: embedded.stop_server(data_dir))
    with pytest.raises(embedded.BadDataFolder, match="belongs to user nobody"):
        embedded.start_server(data_dir)
    shutil.rmtree(data_dir)


def test_under_root_a_user_without_a_name_runs_the_server(data_dir: Path, run_as: RunAs) -> None:
    with embedded.start_server(data_dir) as server:
        assert server.cluster.account.uid not in {0, NOBODY}
        account = {server.cluster.account.uid}
        assert owners(server.cluster.folder.rglob("*")) == account
        assert owners(Path(f"/proc/{pid}") for pid in find_server_processes(server.cluster)) == account


def test_under_root_a_folder_closed_to_the_servers_user_is_refused(data_dir: Path, run_as: RunAs) -> None:
    closed = data_dir.parent / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(embedded.BadDataFolder, match=f"lies in {closed}, which .* /var/lib/plumbline"):
        embedded.start_server(closed / "data")
    assert closed.stat().st_uid == 0


def test_where_shared_memory_is_closed_to_the_servers_user_another_kind_is_used(
    data_dir: Path, run_as: RunAs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres's own choice would end in "could not open shared memory segment"."""
    closed, opened = data_dir.parent / "closed", data_dir.parent / "opened"
    for folder, mode, kind in ((closed, 0o1770, "sysv"), (opened, 0o1777, "posix")):
        folder.mkdir()
        folder.chmod(mode)
        monkeypatch.setattr(settings, "SHARED", folder)
        settings.write_server_settings(data_dir.parent, folder, OsAccount(STRANGER, STRANGER))
        assert f"\ndynamic_shared_memory_type = {kind}\n" in (data_dir.parent / "postgresql.conf").read_text()
    monkeypatch.setattr(settings, "SHARED", closed)
    with embedded.start_server(data_dir) as server, psycopg.connect(server.url("admin", "postgres")) as connection:
        assert connection.execute("SHOW dynamic_shared_memory_type").fetchone() == ("sysv",)
        parallel = "SET debug_parallel_query = on; SELECT count(*) FROM pg_class"
        assert connection.execute(parallel).nextset()


def test_the_tests_pass_over_a_folder_that_is_closed_to_the_servers_user(data_dir: Path, run_as: RunAs) -> None:
    closed = data_dir.parent / "closed"
    closed.mkdir(mode=0o700)
    assert walkable_folder([closed, data_dir.parent]).parent == data_dir.parent
    assert list(closed.iterdir()) == []
    with pytest.raises(pytest.UsageError, match="in none of"):
        walkable_folder([closed])


@pytest.mark.parametrize("error", [FileNotFoundError("gone meanwhile"), embedded.ServerNotStopping("it hangs")])
def test_what_a_killed_test_run_left_fails_no_test(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    room = data_dir.parent / "room"
    room.mkdir(mode=0o711)
    ended = subprocess.Popen(["true"])
    ended.wait()
    left, ours = room / f"{PREFIX}{ended.pid}-left", room / f"{PREFIX}{os.getpid()}-ours"
    for folder in (left, ours):
        (folder / "server").mkdir(parents=True)
        (folder / "server" / "start.lock").touch()
    tried = []

    def stop(folder: Path) -> None:
        tried.append(folder)
        raise error

    monkeypatch.setattr(embedded, "stop_server", stop)
    handle = os.open(room, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    first = walkable_folder([room])
    assert tried == [], "while another process sweeps, this one does not"
    os.close(handle)
    second = walkable_folder([room])
    assert tried == [left / "server"]
    assert set(room.iterdir()) == {ours, first, second}


def test_programs_out_of_reach_are_copied_whole(data_dir: Path, run_as: RunAs) -> None:
    wheel = binaries.find_server_program_folder().parents[1]
    if wheel.name != binaries.WHEEL:
        pytest.skip("the wheel with the programs is not installed")
    hidden, copies = data_dir.parent / "hidden", data_dir.parent / "copies"
    hidden.mkdir(mode=0o700)
    install = binaries.find_server_program_folder().parent.name
    shutil.copytree(wheel / install, hidden / wheel.name / install)
    shutil.copytree(wheel.parent / f"{wheel.name}.libs", hidden / f"{wheel.name}.libs")
    account = OsAccount(STRANGER, STRANGER)
    programs = binaries.provide_runnable_program_folder(account, hidden / wheel.name / install / "bin", copies)
    assert programs.is_relative_to(copies)
    for program in binaries.SERVER_PROGRAMS:
        assert "PostgreSQL" in account.run([programs / program, "--version"]).stdout
    assert binaries.provide_runnable_program_folder(account, programs) == programs
