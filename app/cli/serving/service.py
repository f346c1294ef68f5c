"""The web service as commands start it: socket, database, and the supervised parts."""

from __future__ import annotations

import logging.config
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from app.cli.serving import supervisor
from app.cli.serving.prometheus_folder import create_prometheus_folder
from app.cli.serving.supervised_parts import HeartbeatTimeouts, PostgresWatcher, SupervisedPart, SupervisedProcess
from app.cli.serving.web import FACTORY, GRACE, LOGGING, PEARMUT
from app.config import Settings
from app.domain.errors import AppError
from app.storage import embedded
from app.storage.forked_process import run_in_forked_process

BACKLOG = 2048


class CannotListen(AppError):
    """The server cannot listen on this address."""


def run_service(
    url: str,
    embedded_postgres: embedded.EmbeddedServer | None,
    role: str | None,
    listener: socket.socket,
    *,
    web_processes: int = 1,
    with_worker: bool = True,
    pearmut: socket.socket | None = None,
    early_web_process: SupervisedProcess | None = None,
) -> None:
    """Serve a database on a listening socket until told to stop, and keep all needed parts running.

    embedded_postgres: None if another server has the database. web_processes: how many answer requests. pearmut: a
    listening socket for Pearmut's own pages. early_web_process: the first of them, if it is running already.
    """
    parts: list[SupervisedPart] = []
    if embedded_postgres:
        parts.append(PostgresWatcher(embedded.ServerSupervisor(embedded_postgres.cluster)))
    names = ["web"] if web_processes == 1 else [f"web {i}" for i in range(1, web_processes + 1)]
    web = [early_web_process or make_web_process(listener), *(make_web_process(listener) for _ in names[1:])]
    if pearmut is not None:
        names.append("pearmut")
        web.append(make_web_process(pearmut, PEARMUT))
    for part, name in zip(web, names, strict=True):
        part.name = name
        part.complete_environment({"PLUMBLINE_DATABASE_URL": url, "PLUMBLINE_DATABASE_ROLE": role or ""})
    parts += web
    with create_prometheus_folder():
        run_parts_until_stopped([*parts, *([_worker(url)] if with_worker else [])], listener)


def _worker(url: str) -> SupervisedProcess:
    """Make one worker process, so that background work never slows a response; it ends however we end."""
    command = [sys.executable, "-m", "app.cli", "worker", "--line", "{line}"]
    # It waits for the database while idle, so idleness does not mean that it is dead.
    return SupervisedProcess(
        "worker", command, environment={"PLUMBLINE_DATABASE_URL": url}, limits=HeartbeatTimeouts(idle=None)
    )


MEMORY_IS_GIVEN_BACK = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "262144"}
"""Settings for the C library.

Each thread may have an arena that keeps the memory of one report; with two arenas in all, managers cost 40 MB less.
With the fixed threshold, the arrays of a report are mapped separately and returned whole. Otherwise the threshold rises
with each freed array, up to 32 MB; this saves another 15 MB.
"""


def make_web_process(listener: socket.socket, application: str = FACTORY) -> SupervisedProcess:
    """Make a process that answers requests on a listening socket; the database must be set afterwards."""
    command = [sys.executable, "-m", "app.cli.serving.web", "{line}", str(listener.fileno()), application]
    environment = {name: os.environ.get(name, value) for name, value in MEMORY_IS_GIVEN_BACK.items()}
    return SupervisedProcess("web", command, environment=environment, descriptors=[listener.fileno()])


@contextmanager
def start_web_process_early(listener: socket.socket) -> Iterator[SupervisedProcess]:
    """Yield a web process that is started before the database exists; it ends if it gets no database."""
    with create_prometheus_folder():  # because a process reads the folder when it imports the application
        web = make_web_process(listener)
        web.start_awaiting_environment()
        try:
            yield web
        finally:
            web.abandon_early_start()


@contextmanager
def provide_database_url_and_server(settings: Settings) -> Iterator[tuple[str, embedded.EmbeddedServer | None]]:
    """Yield the address of the database: the one in the settings, else the embedded Postgres, with its server."""
    if settings.database_url:
        yield settings.database_url, None
        return
    with embedded.start_server(settings.data_dir, fork_to_connect=True) as server:
        yield server.url("owner"), server


def prepare_database_in_forked_process(url: str, origin: str, data_dir: Path, *, upgrade: bool) -> str | None:
    """Call `database_preparation.prepare_database_and_print_address` in a copy, so that its imports are freed again.

    SQLAlchemy, the tables and the driver would take 40 MB in the supervisor.
    """
    return run_in_forked_process(_prepare, url, origin, data_dir, upgrade)


def _prepare(url: str, origin: str, data_dir: Path, upgrade: bool) -> str | None:
    from app.cli.serving.database_preparation import prepare_database_and_print_address

    return prepare_database_and_print_address(url, origin, data_dir, upgrade=upgrade)


@contextmanager
def stop_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the process through every `finally`, so that everything started is also stopped."""

    def stop(*_: object) -> None:
        raise SystemExit(0)

    earlier = signal.signal(signal.SIGTERM, stop)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, earlier)


@contextmanager
def open_listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """Open a listening socket, so that clients can connect as soon as they have the address. Raises CannotListen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.set_inheritable(True)
    with server:
        try:
            server.bind((host, port))
            server.listen(BACKLOG)
        except OSError as error:
            raise CannotListen(f"{host}:{port}: {error.strerror or error}") from error
        yield server


def format_socket_origin(listener: socket.socket) -> str:
    """Return the address of a bound socket as a browser writes it."""
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104  (told, not bound)
    return f"http://{shown}:{port}"


def run_parts_until_stopped(parts: Sequence[SupervisedPart], listener: socket.socket) -> None:
    """Keep the parts running until told to stop; then accept no more requests, and finish those under way."""
    logging.config.dictConfig(LOGGING)
    try:
        supervisor.supervise_parts(parts)
    finally:
        listener.close()
        supervisor.stop_service_parts(parts, GRACE + 1)
