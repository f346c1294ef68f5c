"""The worker: periodic tasks and long computations. You can run any number of workers, on any machines."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

from app.domain.errors import AppError, Unavailable
from app.jobs.queue_worker import QueueWorker
from app.jobs.webhook_sender import WebhookSender
from app.services.campaigns.housekeeping import clean_up_expired_data
from app.services.every_organization import run_for_each_organization
from app.services.jobs import jobs
from app.services.media.media_settings import MediaSettings
from app.services.media.sweep import delete_unused_media
from app.services.webhooks.addresses import ONLY_PUBLIC, AllowedWebhookAddresses
from app.storage.db import Database

JOBS_EVERY = 2.0  # seconds between checks for work that no worker is doing
IDLE = 60.0  # seconds after which an idle process ends
log = logging.getLogger("plumbline.worker")

MEDIA_EVERY = 3600.0  # seconds


class ComputingStopped(Unavailable):
    """The part of this worker that computes has ended; its log says why."""

    published = "NothingComputes"


class WebhookSendingStopped(Unavailable):
    """The part of this worker that sends webhooks has ended; its log says why."""

    published = "NothingSends"


def run_worker(
    database: Database,
    *,
    stop: threading.Event,
    every: float,
    beat: Callable[[], None],
    alive: Callable[[], None] = lambda: None,
    processes: int = 1,
    low_priority: bool = True,
    webhook_addresses: AllowedWebhookAddresses = ONLY_PUBLIC,
    media: MediaSettings | None = None,
    dask_scheduler: str | None = None,
) -> None:
    """Compute reports, and sweep every `every` seconds, until told to stop.

    beat: called after each round that reached the database, so that a check can tell a working worker from a stuck one.
    alive: called before each round. If the database is away for a while, or full, the worker waits. low_priority:
    compute with spare processor time only. webhook_addresses: where webhooks may go, besides public addresses. media:
    where media are, so that files of no campaign can be deleted. dask_scheduler: address of the cluster that computes
    the chunks of reports; `processes` is then how many are requested at a time.

    Raises ComputingStopped or WebhookSendingStopped if a thread ends unexpectedly; a supervisor then starts another
    worker.
    """
    worker = QueueWorker(
        database, processes=processes, stop=stop, low_priority=low_priority, dask_scheduler=dask_scheduler
    )
    computing = threading.Thread(target=worker.run, name="jobs")
    sender = WebhookSender(database, stop=stop, allowed=webhook_addresses)
    sending = threading.Thread(target=sender.run, name="webhooks")
    computing.start()
    sending.start()
    due = media_due = time.monotonic()
    try:
        while not stop.is_set():
            if not computing.is_alive():
                raise ComputingStopped
            if not sending.is_alive():
                raise WebhookSendingStopped
            alive()
            try:
                jobs.recover_stalled_jobs(database)
                if time.monotonic() >= due:
                    _tidy(database)
                    if database.ratings_folder is not None:
                        _log_counts({"files of ratings": database.ratings_folder.delete_stale_files()})
                    due = time.monotonic() + every
                    beat()
                if media is not None and time.monotonic() >= media_due:
                    media_due = time.monotonic() + MEDIA_EVERY
                    _log_counts(delete_unused_media(database, media))
            except AppError as error:
                log.warning("waiting for the database: %s", error.title())
            worker.processes.end_idle_processes(IDLE)
            stop.wait(JOBS_EVERY)
    finally:
        stop.set()
        computing.join()
        sending.join()


def _tidy(database: Database) -> None:
    for counts in run_for_each_organization(database, partial(clean_up_expired_data, database)):
        _log_counts(counts)


def _log_counts(counts: Mapping[str, int] | None) -> None:
    if counts and any(counts.values()):
        log.info("let go of %s", ", ".join(f"{n} {what}" for what, n in counts.items() if n))
