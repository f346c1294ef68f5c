"""Start and stop the embedded server."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote

from app.storage.embedded import binaries, cluster, folders, settings
from app.storage.embedded.account import choose_server_account
from app.storage.embedded.cluster import PostgresCluster
from app.storage.forked_process import run_in_forked_process
from app.storage.processes import is_process_suspended

Role = Literal["owner", "app", "admin"]
_LOGINS: dict[Role, str] = {"owner": settings.OWNER, "app": settings.APP, "admin": settings.ADMIN}
KEPT = "kept"


@dataclass(slots=True)
class EmbeddedServer:
    """A running server, as seen by one of its users.

    started: whether this call of `start_server` started it.
    """

    cluster: PostgresCluster
    started: bool
    _users: int = field(repr=False)  # descriptor of a file on which every user holds a lock; -1 after close

    @property
    def data_dir(self) -> Path:
        """The data folder."""
        return self.cluster.home

    def url(self, role: Role = "owner", database: str = settings.DATABASE) -> str:
        """Return a libpq address without a secret in it.

        role: `owner` migrates, and serves under SET ROLE; `app` can only serve; `admin` is the superuser.
        """
        address = f"postgresql://{_LOGINS[role]}@:{folders.PORT}/{quote(database, safe='')}"
        address += f"?host={quote(str(self.cluster.sockets), safe='')}"
        if not self.cluster.account.is_current_account:
            address += f"&passfile={quote(str(self.cluster.home / settings.PASSWORDS), safe='')}"
        return address

    def close(self) -> None:
        """End our use; the last user stops the server, unless it was started with `keep`."""
        if self._users == -1:
            return
        with _lock_home(self.cluster.home):
            if _is_last(self._users) and not (self.cluster.home / KEPT).exists():
                cluster.stop_server_process(self.cluster)
            os.close(self._users)
            self._users = -1

    def stop(self) -> None:
        """Stop the server, even if others use it."""
        with _lock_home(self.cluster.home):
            _take_down(self.cluster)
            if self._users != -1:
                os.close(self._users)
                self._users = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start_server(
    data_dir: Path, *, bin_dir: Path | None = None, keep: bool = False, fork_to_connect: bool = False
) -> EmbeddedServer:
    """Return a server on this data folder: create, start or join it as needed. Parallel calls start only one.

    bin_dir: folder of the Postgres programs; by default the wheel's, else the machine's.
    keep: the server keeps running when its last user leaves, until `stop_server`.
    fork_to_connect: load the driver only in a forked copy of this process, which ends; for single-threaded processes.

    Raises BadDataFolder, PostgresMajorDiffers, DatabasePasswordsLost, PostgresNotFound or ServerNotStarting.
    """
    tools = binaries.find_server_program_folder(bin_dir)
    home = folders.prepare_data_folder(data_dir)
    with _lock_home(home):
        server_cluster = _open(home, tools)
        passwords = settings.read_or_make_passwords(
            home, server_cluster.account, fresh=not server_cluster.folder.exists()
        )
        cluster.ensure_cluster(server_cluster, passwords)
        started = not cluster.is_server_ready(server_cluster) and _bring_up(server_cluster)
        server = EmbeddedServer(server_cluster, started, _join(home))
        try:
            given = server.url("admin", "postgres"), passwords
            run_in_forked_process(_create_roles, *given) if fork_to_connect else _create_roles(*given)
        except BaseException:
            if started:
                cluster.stop_server_process(server_cluster)
            os.close(server._users)
            raise
        if started or keep:
            _note_kept(home, keep=keep)
        return server


def _create_roles(url: str, passwords: dict[str, str]) -> None:
    from app.storage.embedded import roles  # this import loads the driver

    roles.ensure_roles_and_database(url, passwords)


def _bring_up(server_cluster: PostgresCluster) -> bool:
    settings.write_server_settings(server_cluster.folder, server_cluster.sockets, server_cluster.account)
    cluster.rotate_server_log(server_cluster)
    return cluster.start_server_unless_running(server_cluster)


def stop_server(data_dir: Path, *, bin_dir: Path | None = None) -> None:
    """Stop the server of a data folder, even if others use it; do nothing if none runs."""
    tools = binaries.find_server_program_folder(bin_dir)
    home = folders.prepare_data_folder(data_dir)
    with _lock_home(home):
        if cluster.get_cluster_folder(home).exists():
            _take_down(_open(home, tools))


def find_running_server_url(data_dir: Path, *, bin_dir: Path | None = None) -> str | None:
    """Return the owner's address of a server that accepts connections, or None. Starts and changes nothing."""
    home = data_dir.expanduser().resolve()
    if not (home / folders.LOCK).exists() or not cluster.get_cluster_folder(home).exists():
        return None
    server_cluster = PostgresCluster(
        home,
        folders.find_socket_folder(home),
        binaries.find_server_program_folder(bin_dir),
        choose_server_account(cluster.get_cluster_folder(home)),
    )
    there = cluster.find_server_processes(server_cluster)
    if not there or any(map(is_process_suspended, there)) or not cluster.is_server_ready(server_cluster):
        return None
    return EmbeddedServer(server_cluster, started=False, _users=-1).url("owner")


def _open(home: Path, tools: Path) -> PostgresCluster:
    account = choose_server_account(cluster.get_cluster_folder(home))
    folders.chown_data_folder(home, account)
    programs = binaries.provide_runnable_program_folder(account, tools)
    return PostgresCluster(home, folders.make_socket_folder(home, account), programs, account)


def _take_down(server_cluster: PostgresCluster) -> None:
    cluster.stop_server_process(server_cluster)
    (server_cluster.home / KEPT).unlink(missing_ok=True)


def _note_kept(home: Path, *, keep: bool) -> None:
    if keep:
        folders.write_private_file(home / KEPT, "started to stay until it is stopped\n")
    else:
        (home / KEPT).unlink(missing_ok=True)


@contextmanager
def _lock_home(home: Path) -> Iterator[None]:
    """Allow one starter or stopper at a time; if its process is killed, the lock is free at once."""
    handle = _open_lock(home / folders.LOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _join(home: Path) -> int:
    handle = _open_lock(home / folders.USERS)
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


def _is_last(users: int) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
