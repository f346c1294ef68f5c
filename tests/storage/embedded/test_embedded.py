"""One command on an empty folder has a server."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from app.cli import worker
from app.cli.serving import database_preparation
from app.storage import embedded
from app.storage.embedded import folders
from app.storage.embedded.account import choose_server_account
from app.storage.embedded.cluster import PostgresCluster, find_server_processes

ROOT = Path(__file__).resolve().parents[2]
STARTER = """
import sys
from pathlib import Path
from app.storage import embedded
server = embedded.start_server(Path(sys.argv[1]))
print(server.started, flush=True)
sys.stdin.read()
{end}
"""


def starter(data_dir: Path, end: str = "server.close()") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", STARTER.format(end=end), str(data_dir)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def is_open(path: Path) -> bool:
    """Whether others may do anything with a file; with one that the server has removed meanwhile they may not."""
    try:
        return bool(mode(path) & 0o077)
    except FileNotFoundError:
        return False


def postmasters(cluster: PostgresCluster) -> set[int]:
    """The server processes whose parent is no server process."""
    found = find_server_processes(cluster)
    status: dict[int, str] = {}
    for pid in found:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a child may end while it is looked at
            status[pid] = Path(f"/proc/{pid}/status").read_text()
    return {pid for pid, told in status.items() if int(told.split("PPid:")[1].split()[0]) not in found}


def test_an_empty_folder_has_a_server_that_is_closed_to_others_after_one_call(data_dir: Path) -> None:
    before = time.perf_counter()
    with embedded.start_server(data_dir) as server:
        sys.stdout.write(f"served after {time.perf_counter() - before:.2f} s\n")
        assert ask(server.url(), "SELECT current_user") == "plumbline"
        assert server.started
        # Folders are closed to others, and no address holds a secret.
        folders = [data_dir, data_dir / "postgres", server.cluster.sockets]
        assert [mode(folder) for folder in folders] == [0o700, 0o700, 0o700]
        assert not [path for path in data_dir.rglob("*") if path.is_file() and is_open(path)]
        if os.geteuid() == 0:
            secret = (data_dir / "pgpass").read_text().splitlines()[1].split(":")[4]
            assert len(secret) > 40
            assert secret not in server.url()


def test_there_is_no_network_address_and_commits_are_durable(postgres: embedded.EmbeddedServer) -> None:
    wanted = {"listen_addresses": "", "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
    wanted |= {"data_checksums": "on", "server_encoding": "UTF8", "TimeZone": "UTC", "max_connections": "100"}
    assert {name: ask(postgres.url(), f"SHOW {name}") for name in wanted} == wanted


@pytest.mark.parametrize("role", ["owner", "app"])
def test_neither_owner_nor_serving_role_has_any_power_over_the_server(
    postgres: embedded.EmbeddedServer, role: embedded.Role
) -> None:
    query = "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls FROM pg_roles"
    assert ask(postgres.url(role), f"{query} WHERE rolname = current_user") is False


@pytest.mark.parametrize("n", [3, pytest.param(6, marks=pytest.mark.soak)])
def test_starters_at_once_have_one_server_and_the_last_one_stops_it(data_dir: Path, n: int) -> None:
    starters = [starter(data_dir) for _ in range(n)]
    answers = [process.stdout.readline().strip() for process in starters if process.stdout]
    assert sorted(answers) == ["False"] * (n - 1) + ["True"]
    with embedded.start_server(data_dir) as server:
        assert len(postmasters(server.cluster)) == 1
        for process in starters:
            process.communicate("")
        assert ask(server.url(), "SELECT 1") == 1
    assert find_server_processes(server.cluster) == set()


def test_a_server_outlives_a_user_that_ends_without_a_word(data_dir: Path) -> None:
    process = starter(data_dir, end="import os; os._exit(1)")
    process.communicate("")
    with embedded.start_server(data_dir) as server:
        assert not server.started
        assert ask(server.url(), "SELECT 1") == 1


def test_a_server_started_to_stay_stays_until_it_is_stopped(data_dir: Path) -> None:
    with embedded.start_server(data_dir, keep=True):
        pass
    with embedded.start_server(data_dir) as server:
        assert not server.started
    embedded.stop_server(data_dir)
    assert find_server_processes(server.cluster) == set()
    with embedded.start_server(data_dir) as server:
        assert server.started
    assert find_server_processes(server.cluster) == set()


def test_a_path_too_long_for_a_socket_gets_a_short_private_one_that_all_starters_agree_on(data_dir: Path) -> None:
    deep = data_dir.parent / ("d" * 100)
    with embedded.start_server(deep) as server, embedded.start_server(deep) as joined:
        assert ask(server.url(), "SELECT 1") == 1
        assert not joined.started
        assert mode(server.cluster.sockets) == 0o700
    server.cluster.sockets.rmdir()


def test_a_name_full_of_special_characters_is_a_name_like_any_other(data_dir: Path) -> None:
    odd = data_dir.parent / "a b'c\"d,$(touch x)%20é"
    with embedded.start_server(odd) as server:
        assert ask(server.url("app"), "SELECT current_user") == "plumbline_app"
    server.cluster.sockets.rmdir()  # libpq cannot have the comma, so the socket lies outside


def test_a_folder_with_other_things_in_it_is_left_alone(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o755)
    (data_dir / "letter.txt").touch()
    with pytest.raises(embedded.BadDataFolder, match="not empty"):
        embedded.start_server(data_dir)
    assert mode(data_dir) == 0o755
    (data_dir / "letter.txt").unlink()


def test_a_folder_that_held_only_signs_of_another_database_takes_a_server(data_dir: Path) -> None:
    """`serve` with a named database leaves the first admin's link there, and its worker the sign of life."""
    data_dir.mkdir()
    signs = {database_preparation.LINK_FILE, worker.BEAT_FILE, "users.lock"}
    for name in signs:
        (data_dir / name).write_text(name)
    (data_dir / f".{worker.BEAT_FILE}.0123456789abcdef").touch()  # of a worker that was killed as it wrote
    (data_dir / "worker.beat.txt").touch()
    with pytest.raises(embedded.BadDataFolder, match="not empty"):
        embedded.start_server(data_dir)
    (data_dir / "worker.beat.txt").unlink()
    with embedded.start_server(data_dir) as server:
        assert ask(server.url(), "SELECT 1") == 1
    assert {name for name in signs if (data_dir / name).read_text() == name} == signs
    assert mode(data_dir) == 0o700


@pytest.mark.parametrize("now", ["gone", "a file", "open to others", "a link"])
def test_a_socket_folder_that_is_not_private_any_more_is_not_used_again(data_dir: Path, now: str) -> None:
    """What the data folder remembers lies where others can write; it is made anew under another name."""
    deep = data_dir.parent / ("d" * 100)
    deep.mkdir(mode=0o700)
    account = choose_server_account(deep / "postgres")
    noted = folders.make_socket_folder(deep, account)
    assert folders.make_socket_folder(deep, account) == noted, "what is well is used again"
    noted.rmdir()
    if now == "a file":
        noted.touch(mode=0o700)
        folders.change_owner(noted, account)
    elif now == "open to others":
        noted.mkdir()
        noted.chmod(0o755)
        folders.change_owner(noted, account)
    elif now == "a link":
        noted.symlink_to(deep)
        folders.change_owner(noted, account)
    fresh = folders.make_socket_folder(deep, account)
    assert fresh != noted
    assert (mode(fresh), fresh.lstat().st_uid) == (0o700, account.uid)
    assert folders.make_socket_folder(deep, account) == fresh
    for left in (noted, fresh):
        if left.is_dir() and not left.is_symlink():
            left.rmdir()
        else:
            left.unlink(missing_ok=True)
