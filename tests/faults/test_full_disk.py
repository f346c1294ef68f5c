"""On a full disk the service says so, loses nothing that it confirmed, and goes on once there is space."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from app.storage import embedded
from tests.faults.serving import Raters, Service, judging, service_here
from tests.working import until

SIZE = "120m"
# More of the log than the piece of 16 MB that is being written has room for.
LOGGED = "SELECT pg_logical_emit_message(false, 'test', repeat('x', 1 << 20)) FROM generate_series(1, 20)"


@pytest.fixture
def small_disk(scratch: Path) -> Iterator[Path]:
    """A disk of 120 megabytes in memory."""
    disk = scratch / "small-disk"
    disk.mkdir(mode=0o711)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0711", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield disk
    embedded.stop_server(disk / "data")
    unmount = ["umount", str(disk)]
    until(lambda: subprocess.run(unmount, capture_output=True).returncode == 0, "the disk is still in use")
    disk.rmdir()


def fill(disk: Path) -> Path:
    """Take all the space that is left."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 65536)
    return filler


@contextmanager
def judged_throughout(run: Service) -> Iterator[Raters]:
    """Raters who judge before, during and after what happens in the block; nothing that was confirmed is lost by it."""
    raters = judging(run, 4)
    raters.begin()
    try:
        until(lambda: raters.statuses[200] > 50, "it never began")
        yield raters
        before = raters.statuses[200]
        until(lambda: raters.statuses[200] > before + 50, f"it did not go on: {raters.statuses}")
    finally:
        raters.end()
    assert raters.lost() == []
    assert set(raters.statuses) <= {200, 503, 507}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk")
def test_a_full_disk_is_told_and_nothing_confirmed_is_lost(small_disk: Path) -> None:
    with service_here(small_disk / "data") as run, judged_throughout(run) as raters:
        # Postgres ends where its log cannot be written. It takes space for 16 MB of it at a time: a new piece has
        # room for all of this, whatever making the cluster and the schema took of the one before.
        with psycopg.connect(run.server.url("admin"), autocommit=True) as db:
            db.execute("SELECT pg_switch_wal()")
        switched = raters.statuses[200]
        until(lambda: raters.statuses[200] > switched + 10, "it does not go on in the new one")
        filler = fill(small_disk)
        until(lambda: raters.statuses[507] + raters.statuses[503] > 10, f"never full: {raters.statuses}")
        filler.unlink()


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk")
def test_a_database_whose_log_has_no_room_either_is_started_again_and_has_all_that_was_confirmed(
    small_disk: Path,
) -> None:
    with service_here(small_disk / "data") as run, judged_throughout(run) as raters:
        filler = fill(small_disk)
        with pytest.raises(psycopg.OperationalError), psycopg.connect(run.server.url("admin")) as db:
            db.execute(LOGGED)
        with pytest.raises(psycopg.OperationalError):  # the control: it has ended, and cannot begin
            psycopg.connect(run.server.url("admin")).close()
        told = raters.statuses[507] + raters.statuses[503]
        until(lambda: raters.statuses[507] + raters.statuses[503] > told + 10, f"not told: {raters.statuses}")
        filler.unlink()
        embedded.start_server(run.data_dir).close()  # we hold it already, so this stops nothing
