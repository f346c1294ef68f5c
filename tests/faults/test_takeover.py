"""The machine of the database is lost while raters judge, and the second server of deploy/ha takes over."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.storage import migrate
from app.storage.db import Database
from app.storage.embedded.roles import find_or_create_serving_role
from tests.faults.archived import free_port
from tests.faults.patroni_machines import PROGRAMS, PatroniMachines, find_program
from tests.faults.serving import ServiceElsewhere, judging
from tests.working import until

RATERS = 12
WAIT_AT_MOST = 30.0  # seconds
LOSSES = 2


@pytest.fixture
def machines(scratch: Path, bin_dir15: Path) -> Iterator[PatroniMachines]:
    if missing := [package for program, package in PROGRAMS.items() if find_program(program) is None]:
        pytest.skip(f"not installed (Debian's packages): {', '.join(missing)}")
    folder = scratch / f"machines-{free_port()}"
    folder.mkdir(mode=0o711)
    made = PatroniMachines(folder, bin_dir15)
    try:
        if (port := made.taken_port()) is not None:
            pytest.skip(f"the port {port} is taken on all addresses")
        try:
            made.start()
        except AssertionError:
            sys.stderr.write(made.logs())
            raise
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder)


@pytest.mark.soak
@pytest.mark.parametrize("port", [5432, 6432], ids=["haproxy", "pgbouncer"])
def test_another_server_takes_over_and_nothing_confirmed_is_lost(
    machines: PatroniMachines, port: int, tmp_path: Path
) -> None:
    """The machine that was lost comes back as the standby of the other, and takes over in turn."""
    url = machines.url(port)
    assert find_or_create_serving_role(url) == "plumbline_app"
    migrate.upgrade_schema(url)
    database = Database(url, size=1, role="plumbline_app")
    with database.transaction() as session:
        assert session.execute(sa.text("SELECT current_user, current_setting('timezone')")).one() == (
            "plumbline_app",
            "UTC",
        )
    database.close()
    run = ServiceElsewhere.at(url, tmp_path)
    run.start()
    draw = random.Random(int(os.environ.get("SEED", "7")))
    try:
        raters = judging(run, RATERS)
        raters.pause = 0.05
        raters.begin()
        try:
            for _ in range(LOSSES):
                until(machines.is_synchronous, "there is a synchronous standby")
                begun = raters.statuses[200]
                until(lambda begun=begun: raters.statuses[200] > begun + 200, "they judge")
                time.sleep(draw.uniform(1, 4))
                lost = machines.primary()
                assert lost is not None
                before, raters.waits[:] = raters.statuses[200], []
                lost.kill()
                killed = time.monotonic()
                until(lambda before=before: raters.statuses[200] > before + 200, "they go on")
                took, longest = time.monotonic() - killed, max(raters.waits)
                sys.stdout.write(
                    f"{lost.name} was lost after {before} answers; the longest wait was {longest:.1f} s, "
                    f"200 more answers after {took:.1f} s\n"
                )
                assert longest <= WAIT_AT_MOST
                machines.start_machine(lost)
        finally:
            raters.end()
        assert raters.lost() == []
        sys.stdout.write(f"{sum(map(len, raters.acked.values()))} confirmed, 0 lost; told: {dict(raters.statuses)}\n")
        migrate.check_schema(url)
    finally:
        run.stop(signal.SIGKILL)
