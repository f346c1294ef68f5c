"""The web service as commands start it: schema, socket, first link, and the parts that the supervisor keeps."""

from __future__ import annotations

import logging.config
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

from app.cli.serving import supervisor
from app.cli.serving.metrics_folder import metrics_folder
from app.cli.serving.parts import Postgres, ProcessLimits, SupervisedPart, SupervisedProcess
from app.cli.serving.web import FACTORY, GRACE, LOGGING, PEARMUT
from app.domain.errors import AppError
from app.services.access import tokens
from app.storage import embedded
from app.storage.db import APP_ROLE, Database, Session
from app.storage.schema_revisions import is_schema_current_at
from app.storage.server_checks import check_server_url

LINK_FILE = "first-admin-link"
ENDS = "It expires in a day. Use it to create your own token under Tokens; otherwise the next start creates a new link."
BACKLOG = 2048


class CannotListen(AppError):
    """The server cannot listen on this address."""


def serve_database(
    url: str,
    own: embedded.EmbeddedServer | None,
    role: str | None,
    server: socket.socket,
    *,
    answering: int = 1,
    with_worker: bool = True,
    pearmut: socket.socket | None = None,
    early: SupervisedProcess | None = None,
) -> None:
    """Serve a database on a listening socket until told to stop, and keep all that it takes running.

    own: the embedded Postgres, where that is the database. answering: the number of processes that answer requests.
    pearmut: a listening socket for Pearmut's own pages. early: the first process that answers, if it runs already.
    """
    parts: list[SupervisedPart] = [Postgres(embedded.ServerSupervisor(own.cluster))] if own else []
    names = ["web"] if answering == 1 else [f"web {i}" for i in range(1, answering + 1)]
    web = [early or make_web_process(server), *(make_web_process(server) for _ in names[1:])]
    if pearmut is not None:
        names.append("pearmut")
        web.append(make_web_process(pearmut, PEARMUT))
    for part, name in zip(web, names, strict=True):
        part.name = name
        part.complete({"PLUMBLINE_DATABASE_URL": url, "PLUMBLINE_DATABASE_ROLE": role or ""})
    parts += web
    with metrics_folder():
        run_parts([*parts, *([_worker(url)] if with_worker else [])], server)


def _worker(url: str) -> SupervisedProcess:
    """One worker as a process of its own, so that background work never slows an answer; however we end, it ends."""
    command = [sys.executable, "-m", "app.cli", "worker", "--line", "{line}"]
    # It waits for the database, and then does nothing: that is no sign of death.
    return SupervisedProcess(
        "worker", command, environment={"PLUMBLINE_DATABASE_URL": url}, limits=ProcessLimits(idle=None)
    )


MEMORY_IS_GIVEN_BACK = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "262144"}
"""What the C library is told. Each thread may have an arena that keeps what one report needed; with two in all,
managers cost 40 MB less. The arrays of a report are mapped alone and go back whole: else the limit from which on they
are rises with each that is freed, up to 32 MB; this saves another 15 MB.
"""


def make_web_process(server: socket.socket, application: str = FACTORY) -> SupervisedProcess:
    """A process that answers requests on a listening socket; it has to be told which database it serves."""
    command = [sys.executable, "-m", "app.cli.serving.web", "{line}", str(server.fileno()), application]
    environment = {name: os.environ.get(name, value) for name, value in MEMORY_IS_GIVEN_BACK.items()}
    return SupervisedProcess("web", command, environment=environment, descriptors=[server.fileno()])


@contextmanager
def start_process_early(server: socket.socket) -> Iterator[SupervisedProcess]:
    """A process that answers requests, started before there is a database; it ends if it is never told one."""
    with metrics_folder():  # a process reads where it keeps its counts when it imports the application
        web = make_web_process(server)
        web.start_early()
        try:
            yield web
        finally:
            web.abandon()


def prepare_database(url: str, *, upgrade: bool) -> str | None:
    """Have a database that can be served: durable, with the schema of this or a later version; the role to serve under.

    Raises ServerNotDurable, PostgresTooOld, or SchemaBehind where the schema is not to be upgraded.
    """
    check_server_url(url)
    role = APP_ROLE if embedded.prepare_serving_role(url) else None
    check_server_url(url, serving_role=role)
    if not (upgrade and is_schema_current_at(url)):
        from app.storage import migrate  # it loads Alembic, which would stay for as long as the service runs

        if upgrade:
            migrate.upgrade_schema(url)
        else:
            migrate.check_schema(url, or_later=True)
    return role


@contextmanager
def stop_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the process by way of every `finally`, so that what was started is stopped."""

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
    """A listening socket, so that whoever is told the address can come at once. Raises CannotListen."""
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


def origin_of(server: socket.socket) -> str:
    """The address of a bound socket as a browser writes it."""
    host, port = server.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104  (told, not bound)
    return f"http://{shown}:{port}"


def print_address(url: str, role: str | None, origin: str, data_dir: Path) -> None:
    """Say where we are and, where there is no admin yet, how to become one.

    The link is a secret: it goes to a terminal, else into a file that only we can read, and never into a log.
    """
    database = Database(url, size=2, role=role)
    try:
        with database.transaction() as session:
            _forget_ended(session, data_dir / LINK_FILE)
            issued = tokens.create_first_admin_token(session)
            link = f"{origin}/#token={issued.secret}" if issued else None
            # Within the transaction: a link that could not be handed over is no credential.
            shown = _hand_over(link, data_dir) if link else None
    finally:
        database.close()
    typer.echo(f"Plumbline at {origin} (documentation of the interface: {origin}/docs)")
    if shown:
        typer.echo(shown)


def _forget_ended(session: Session, file: Path) -> None:
    """Remove the file of a first admin's link that has ended."""
    try:
        tokens.authenticate_secret(session, file.read_text().strip().partition("#token=")[2])
    except tokens.BadCredential:
        file.unlink(missing_ok=True)
    except FileNotFoundError:
        pass


def _hand_over(link: str, data_dir: Path) -> str:
    if sys.stdout.isatty():
        return f"First admin: {link}\n{ENDS}"
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    embedded.write_private_file(data_dir / LINK_FILE, f"{link}\n")
    return f"The link of the first admin is in {data_dir / LINK_FILE}\n{ENDS}"


def run_parts(parts: Sequence[SupervisedPart], server: socket.socket) -> None:
    """Keep the parts running until told to stop; then nobody is let in any more, and what is under way is finished."""
    logging.config.dictConfig(LOGGING)
    try:
        supervisor.supervise_parts(parts)
    finally:
        server.close()
        supervisor.stop_parts(parts, GRACE + 1)
