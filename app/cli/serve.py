"""`plumbline serve`: runs the web service, with its own database unless the settings name one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from app.cli.serving.service import (
    format_socket_origin,
    open_listening_socket,
    prepare_database_in_forked_process,
    provide_database_url_and_server,
    run_service,
    start_web_process_early,
    stop_on_sigterm,
)
from app.config import Settings
from app.pearmut.files import ABSENT, find_pearmut_package_files


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=256, help="Processes that answer requests.")] = None,
    no_migrate: Annotated[
        bool, typer.Option("--no-migrate", help="Do not migrate; refuse to start if the schema is outdated.")
    ] = False,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Do not start a worker.")] = False,
) -> None:
    """Serve until stopped, with one worker. A process that ends or hangs is restarted."""
    settings = Settings.load()
    with (
        stop_on_sigterm(),
        open_listening_socket(host or settings.host, settings.port if port is None else port) as server,
        _listening_for_pearmut(settings, host or settings.host) as pearmut,
        start_web_process_early(server) as web,  # takes longer than getting a database, new or old
        provide_database_url_and_server(settings) as (url, own),
    ):
        origin = settings.public_url or format_socket_origin(server)
        role = prepare_database_in_forked_process(url, origin, settings.data_dir, upgrade=not no_migrate)
        if pearmut is not None:
            typer.echo(f"Pearmut's pages at {settings.pearmut_url or format_socket_origin(pearmut)}")
        run_service(
            url,
            own,
            role,
            server,
            web_processes=workers or settings.workers,
            with_worker=not no_worker,
            pearmut=pearmut,
            early_web_process=web,
        )


@contextmanager
def _listening_for_pearmut(settings: Settings, host: str) -> Iterator[socket.socket | None]:
    """Open the socket for Pearmut's own pages, if they are served. Raises CannotListen, PearmutFilesNotFound."""
    if settings.pearmut_port is None:
        yield None
        return
    files = find_pearmut_package_files(settings.pearmut_files)
    with open_listening_socket(host, settings.pearmut_port) as server:
        if files.folder is None:
            typer.echo(ABSENT, err=True)
        yield server
