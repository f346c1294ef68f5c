"""One cluster on disk: create it whole or not at all, start its server once, and stop it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.storage.embedded import binaries
from app.storage.embedded.account import OsAccount, choose_initdb_account
from app.storage.embedded.errors import PostgresMajorDiffers, ServerNotStarting, ServerNotStopping
from app.storage.embedded.folders import PORT, change_owner, change_owner_of_tree, fsync_folder
from app.storage.embedded.settings import ADMIN

START_SECONDS = 300  # crash recovery of a large database takes its time
STOP_SECONDS = 20
PAUSE = 0.05
PID_FILE = "postmaster.pid"
LOG = "postgres.log"
LOG_LIMIT = 16 << 20
Answer = Literal["accepts", "rejects", "silent"]


@dataclass(frozen=True, slots=True)
class PostgresCluster:
    """The place of a cluster, the account that runs its server, and the programs it uses.

    home: the data folder. sockets: the folder of the socket. programs: a Postgres folder that the account can run.
    """

    home: Path
    sockets: Path
    programs: Path
    account: OsAccount

    @property
    def folder(self) -> Path:
        """The cluster itself, which is Postgres's own data directory."""
        return get_cluster_folder(self.home)

    @property
    def log_file(self) -> Path:
        """The log of the server."""
        return self.home / LOG


def get_cluster_folder(home: Path) -> Path:
    """Return the cluster folder of a data folder."""
    return home / "postgres"


def ensure_cluster(cluster: PostgresCluster, passwords: dict[str, str]) -> None:
    """Create the cluster if it is missing, in a scratch folder that is then moved, so that it is never partial.

    The locale is C: order and case follow code points, which are the same in every version, so no update of the C
    library can break an index.

    Raises PostgresMajorDiffers if another version made the existing cluster, ServerNotStarting if initdb fails.
    """
    if cluster.folder.exists():
        _require_major(cluster)
        return
    for left_over in cluster.home.glob("new-*"):
        shutil.rmtree(left_over, ignore_errors=True)
    maker = choose_initdb_account(cluster.account)
    scratch = cluster.home / f"new-{os.urandom(8).hex()}"
    change_owner(cluster.home, maker)
    try:
        _initdb(cluster, maker, scratch, passwords)
        if maker != cluster.account:
            change_owner_of_tree(scratch, cluster.account)
    finally:
        change_owner(cluster.home, cluster.account)
    scratch.rename(cluster.folder)
    fsync_folder(cluster.home)


def _initdb(cluster: PostgresCluster, maker: OsAccount, scratch: Path, passwords: dict[str, str]) -> None:
    command: list[str | Path] = [cluster.programs / "initdb", "-D", scratch, "-U", ADMIN, "--auth-host=reject"]
    command += ["--no-locale", "--encoding=UTF8", "--data-checksums", "--no-instructions"]
    secret = os.memfd_create("password")
    try:
        if passwords:
            os.write(secret, passwords[ADMIN].encode())
            command += ["--auth-local=scram-sha-256", f"--pwfile=/proc/self/fd/{secret}"]
        else:
            command += ["--auth-local=peer"]
        answer = maker.run(command, cwd=cluster.home, pass_fds=[secret], timeout=START_SECONDS)
    finally:
        os.close(secret)
    if answer.returncode != 0:
        shutil.rmtree(scratch, ignore_errors=True)
        raise ServerNotStarting(f"initdb: {_last_lines(answer.stdout)}")


def read_cluster_version(folder: Path) -> str | None:
    """Return the major version of the Postgres that made a cluster, or None if there is no cluster."""
    file = folder / "PG_VERSION"
    return file.read_text(encoding="ascii").strip() if file.exists() else None


def _require_major(cluster: PostgresCluster) -> None:
    by = read_cluster_version(cluster.folder)
    ours = binaries.read_major_version(cluster.programs)
    if by != str(ours):
        raise PostgresMajorDiffers(
            f"{cluster.home} was made by Postgres {by}, this is Postgres {ours}. To move it: run "
            f"`plumbline db backup FILE` with the Postgres {by} that made it, start with an empty data folder, "
            f"and run `plumbline db restore FILE`"
        )


def query_server_status(cluster: PostgresCluster) -> Answer:
    """Ask the server on our socket: it accepts connections, rejects them for now, or does not answer within 3 s."""
    command: list[str | Path] = [cluster.programs / "pg_isready", "-q", "-h", cluster.sockets]
    command += ["-p", str(PORT), "-U", ADMIN, "-d", "postgres", "-t", "3"]
    answers: dict[int, Answer] = {0: "accepts", 1: "rejects"}
    return answers.get(cluster.account.run(command).returncode, "silent")


def is_server_ready(cluster: PostgresCluster) -> bool:
    """Tell whether a server accepts connections on our socket."""
    return query_server_status(cluster) == "accepts"


def find_server_processes(cluster: PostgresCluster) -> set[int]:
    """Return the server processes whose working directory is the cluster's folder.

    A process id in a file is no evidence: after a crash, the id may belong to another program.
    """
    pids = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == cluster.folder and (entry / "comm").read_text().strip() == "postgres":
                pids.add(int(entry.name))
        except OSError:
            continue  # ended meanwhile, or another user's
    return pids


def find_postmaster(cluster: PostgresCluster, pids: set[int]) -> int | None:
    """Return the process that started the others and accepts connections, or None if it has ended."""
    pid = _first_number(cluster.folder / PID_FILE)
    return pid if pid in pids else None


def start_server_without_waiting(cluster: PostgresCluster) -> None:
    """Begin to start the server unless one of its processes exists; do not wait. The caller holds the lock."""
    if not find_server_processes(cluster):
        _drop_foreign_pids(cluster)
        rotate_server_log(cluster)
        _pg_ctl(cluster, "start", "-W", "-l", LOG)


def start_server_unless_running(cluster: PostgresCluster) -> bool:
    """Start the server unless it runs; return True if this call started it. The caller holds the lock.

    Raises ServerNotStarting with the end of the log.
    """
    deadline = time.monotonic() + START_SECONDS
    attempts = 0
    while not is_server_ready(cluster):
        if time.monotonic() > deadline:
            raise ServerNotStarting(
                f"its processes {sorted(find_server_processes(cluster))} do not answer; see {cluster.log_file}"
            )
        if find_server_processes(cluster):  # left by a starter that was killed, or recovering, or about to end
            time.sleep(PAUSE)
            continue
        if attempts == 3:
            raise ServerNotStarting(_log_tail(cluster))
        attempts += 1
        _drop_foreign_pids(cluster)
        if _pg_ctl(cluster, "start", "-l", LOG, "-t", str(START_SECONDS)):
            return True
    return False


def _drop_foreign_pids(cluster: PostgresCluster) -> None:
    """Remove lock files whose process lives but is not this server, because Postgres would refuse to start.

    The process is another program that now has the number of a crashed server, or a zombie that nothing reaps. The
    files of a dead process are left to Postgres, which also looks for shared memory still in use. This code runs only
    if there is no server process in the folder.
    """
    for file in (cluster.folder / PID_FILE, cluster.sockets / f".s.PGSQL.{PORT}.lock"):
        pid = _first_number(file)
        if pid and Path("/proc/self").exists() and Path(f"/proc/{pid}").exists() and not find_server_processes(cluster):
            file.unlink(missing_ok=True)


def _first_number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="utf-8").split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def stop_server_process(cluster: PostgresCluster) -> None:
    """Stop the server if it runs: connections end, and committed data stay. The caller holds the lock.

    A server may not stop in time, for example during crash recovery. It is then stopped at once. This loses nothing
    either, because the next start replays the log.

    Raises ServerNotStopping.
    """
    for mode in ("fast", "immediate"):
        deadline = time.monotonic() + STOP_SECONDS
        if _first_number(cluster.folder / PID_FILE) in find_server_processes(cluster):
            _pg_ctl(cluster, "stop", "-m", mode, "-t", str(STOP_SECONDS))
        while remaining := find_server_processes(cluster):
            if time.monotonic() > deadline:
                break
            time.sleep(PAUSE)
        if not remaining:
            return
    raise ServerNotStopping(f"processes {sorted(find_server_processes(cluster))} remain; see {cluster.log_file}")


def _pg_ctl(cluster: PostgresCluster, *arguments: str) -> bool:
    """Run pg_ctl; return True if it succeeded. It uses a shell, so names are passed by environment and folder."""
    command: list[str | Path] = [cluster.programs / "pg_ctl", "-s", "-w", *arguments]
    try:
        answer = cluster.account.run(
            command, cwd=cluster.home, environment={"PGDATA": str(cluster.folder)}, timeout=START_SECONDS + 30
        )
    except subprocess.TimeoutExpired:
        return False
    return answer.returncode == 0


def rotate_server_log(cluster: PostgresCluster) -> None:
    """Keep one earlier log once the current one is large."""
    if cluster.log_file.exists() and cluster.log_file.lstat().st_size > LOG_LIMIT:
        cluster.log_file.replace(cluster.log_file.with_suffix(".log.1"))


def _log_tail(cluster: PostgresCluster) -> str:
    return f"{read_log_tail(cluster)} (see {cluster.log_file})"


def read_log_tail(cluster: PostgresCluster) -> str:
    """Return the end of the server's log as one line."""
    return _last_lines(
        cluster.log_file.read_text(encoding="utf-8", errors="replace") if cluster.log_file.exists() else "no log"
    )


def _last_lines(text: str, lines: int = 5) -> str:
    return " | ".join(text.strip().splitlines()[-lines:])
