"""`plumbline worker`: work in the background."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from app.cli.kit import command_database
from app.cli.serving.supervisor_connection import ConnectionToSupervisor
from app.config import Settings, make_media_settings
from app.domain.errors import Unavailable
from app.jobs import worker as loop
from app.jobs.computing import THREADS
from app.services.campaigns.housekeeping import clean_up_expired_data
from app.services.every_organization import run_for_each_organization
from app.services.media.sweep import delete_unused_media
from app.services.webhooks.addresses import AllowedWebhookAddresses
from app.storage.embedded import write_private_file
from app.web.traces import start_tracing

BEAT_FILE = "worker.beat"
EVERY = 60.0
PATIENCE = 3 * EVERY


class NoWorkerAlive(Unavailable):
    """No worker of this data folder has sent a heartbeat lately."""

    published = "NotAlive"


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("worker")(run_worker)


def run_worker(
    once: Annotated[bool, typer.Option("--once", help="Do one round, then stop.")] = False,
    alive: Annotated[
        bool, typer.Option("--alive", help="Only check whether this data folder's worker is alive.")
    ] = False,
    processes: Annotated[
        int,
        typer.Option(
            min=0,
            max=256,
            help="Number of computing processes; 0: one per core, leaving one for a server on the same machine. With a "
            "Dask cluster, number of chunks asked for at a time; 0: one per thread of the cluster.",
        ),
    ] = 0,
    keen: Annotated[
        bool, typer.Option("--keen", help="Run at normal priority: for machines without a server.")
    ] = False,
    line: Annotated[int | None, typer.Option(hidden=True, help="Descriptor of the line to the supervisor.")] = None,
) -> None:
    """Compute long reports and delete expired data, until stopped."""
    if alive:
        return _require_alive()
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    loop.log.setLevel(logging.INFO)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    supervisor = None if line is None else ConnectionToSupervisor(line, told=lambda _: None, alone=stop.set)
    for name in THREADS:  # read when linear algebra is loaded, which happens only in computing processes
        os.environ.setdefault(name, "1")
    start_tracing(Settings.load().traces, "plumbline-worker")
    with command_database.upgrade_and_open_database(watched=True, all_organizations=True) as database:
        if once:
            run_for_each_organization(database, partial(clean_up_expired_data, database))
            delete_unused_media(database, make_media_settings(Settings.load()))
            return None
        beat = _beat()
        dask = Settings.load().dask_scheduler
        beside = supervisor is not None
        n = processes or (
            count_dask_threads(dask)
            if dask
            else choose_computing_process_count(os.cpu_count() or 1, beside_server=beside)
        )
        alive_now = supervisor.send_heartbeat if supervisor else lambda: None
        loop.run_worker(
            database,
            stop=stop,
            every=EVERY,
            beat=lambda: _sign(beat),
            alive=alive_now,
            processes=n,
            low_priority=not keen,
            webhook_addresses=AllowedWebhookAddresses.parse(Settings.load().webhook_allowed),
            media=make_media_settings(Settings.load()),
            dask_scheduler=dask,
        )
    return None


def choose_computing_process_count(cores: int, *, beside_server: bool) -> int:
    """Return the number of computing processes: one per core; beside a server, one core is left for raters' requests.

    Low priority alone is not enough: if all cores are busy, a process that waits for the disk also waits for its turn.

    >>> [choose_computing_process_count(cores, beside_server=True) for cores in (1, 2, 4)]
    [1, 1, 3]
    """
    return max(1, cores - 1) if beside_server else cores


def count_dask_threads(scheduler: str) -> int:
    """Return how many chunks a cluster computes at a time. Raises SchedulerAway, DaskNotInstalled."""
    from app.jobs.dask_cluster import DaskCluster  # loads computing code, which few workers need themselves

    cluster = DaskCluster(scheduler)
    try:
        return cluster.count_threads()
    finally:
        cluster.close()


def _sign(beat: Path) -> None:
    """Write the heartbeat file. If the disk is full or not writable, log this and go on working."""
    try:
        beat.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private_file(beat, f"{time.time()}\n")
    except OSError as error:
        loop.log.warning("no sign of life can be left in %s: %s", beat, error.strerror)


def _beat() -> Path:
    """Return the heartbeat file. It is in the data folder, so that installations have separate ones."""
    return Settings.load().data_dir / BEAT_FILE


def _require_alive() -> None:
    beat = _beat()
    if not beat.is_file() or time.time() - beat.stat().st_mtime > PATIENCE:
        raise NoWorkerAlive
