"""Killed at any point, an import has stored nothing or all of it, and the next one works."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.services.data.test_imports import MQM_HEADER
from tests.spine import Spine, opened, row_counts
from tests.working import until

SEED = 20261120
# What an importing process does: everything in one transaction or, as the negative control, one transaction a file.
IMPORT = r"""
import re, sys
from functools import partial
from pathlib import Path
from app.formats.base import InputFile
from app.services.data import imports
from app.storage.db import Database
from app.storage.current_organization import use_organization
url, mode, *files = sys.argv[1:]
database = Database(url, size=2)
inputs = [InputFile(Path(f).name, partial(open, f, "rb")) for f in files]
how = dict(format="mqm-tsv", options={}, dry_run=False, skip_bad_lines=False, actor="test")
print("ready", flush=True)
for batch in [inputs] if mode == "whole" else [[one] for one in inputs]:
    with use_organization(int((re.findall(r"organization_(\d+)", url) or [0])[0])):
        imports.import_local_files(database, "c", files=batch, **how)
    if mode != "whole":
        sys.stdin.read()  # until it is killed: else it may have come to its end before anybody looks
"""
EMPTY = {"alembic_version": 1}
WAITING = """SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
AND backend_type = 'client backend'"""


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Some 5,000 judgments in twenty files."""
    for n in range(20):
        rows = (
            f"{s}\td{n}\t{p}\t{p}\tr{n % 3}\tSource {n} {p}.\tTarget {s} {n} {p}.\tNo-error\tNo-error\t\n"
            for p in range(1, 26)
            for s in "ABCDEFGHIJ"
        )
        (tmp_path / f"{n:02d}.tsv").write_text(MQM_HEADER + "".join(rows))
    return sorted(tmp_path.glob("*.tsv"))


def importing(url: str, mode: str, files: list[Path]) -> subprocess.Popen[bytes]:
    """A process that has begun to import."""
    command = [sys.executable, "-c", IMPORT, url, mode, *map(str, files)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n", process.stderr.read() if process.stderr else b""
    return process


def wait_until_alone(url: str) -> None:
    """Wait until the server has noticed that the client is gone."""
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

    def alone() -> bool:
        with psycopg.connect(url) as connection:
            row = connection.execute(f"{others} AND state <> 'idle' AND backend_type = 'client backend'").fetchone()
        return row == (0,)

    until(alone, "the backend of a killed client ends")


def killed_after(url: str, mode: str, files: list[Path], seconds: float) -> None:
    """Kill a process after so many seconds of importing, whether or not it has committed by then."""
    with importing(url, mode, files) as process:
        time.sleep(seconds)
        process.kill()
    wait_until_alone(url)


def killed_before_it_commits(url: str, files: list[Path]) -> None:
    """Kill a process that waits for a table which somebody holds, and so cannot have committed."""
    with psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE judgments IN SHARE MODE")
        with importing(url, "whole", files) as process, psycopg.connect(url, autocommit=True) as watch:
            until(lambda: watch.execute(WAITING).fetchone() is not None, "it comes to the table")
            process.kill()
    wait_until_alone(url)


def stored(url: str) -> dict[str, int]:
    return {table: n for table, n in row_counts(url).items() if n}


@pytest.mark.parametrize("kills", [2, pytest.param(16, marks=pytest.mark.soak)])
def test_an_import_killed_at_any_point_has_stored_nothing_or_everything(
    spine: Spine, files: list[Path], kills: int
) -> None:
    whole, seconds = imported(spine, files)
    empty(spine.url)
    killed_before_it_commits(spine.url, files)
    assert stored(spine.url) == EMPTY
    delays, parts = random.Random(SEED), kills - 1
    for part in range(parts):
        # One delay from each part of the time, so that kills come early and late.
        killed_after(spine.url, "whole", files, (part + delays.random()) / parts * seconds)
        # How long an import takes depends on what else the machine does: only the rows tell whether it had committed.
        assert stored(spine.url) in (EMPTY, whole)
        empty(spine.url)
    assert imported(spine, files)[0] == whole


@pytest.mark.soak
def test_an_import_that_commits_by_batches_is_caught(spine: Spine, files: list[Path]) -> None:
    """Negative control: killed in the middle, this one leaves what is neither nothing nor everything."""
    whole, _ = imported(spine, files)
    empty(spine.url)
    with importing(spine.url, "batches", files) as process:
        until(lambda: "judgments" in stored(spine.url), "it has stored something")
        process.kill()
    wait_until_alone(spine.url)
    left = stored(spine.url)
    assert left not in (EMPTY, whole)
    assert 0 < left["judgments"] < 5_000


def imported(spine: Spine, files: list[Path]) -> tuple[dict[str, int], float]:
    """What an import that nobody kills leaves, by table, and the seconds that it took."""
    began = time.monotonic()
    spine.take("c", "mqm-tsv", {file.name: file.read_bytes() for file in files})
    seconds = time.monotonic() - began
    left = stored(spine.url)
    assert left["judgments"] == 5_000
    return left, seconds


def empty(url: str) -> None:
    """Start again: everything but the schema goes, as only the owner can."""
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")  # where there are nodes, to them, too
        connection.execute("SET LOCAL plumbline.purge = 'on'")
        connection.execute("TRUNCATE campaigns, people, seals CASCADE")


def test_one_bad_line_of_many_files_stores_nothing(spine: Spine, files: list[Path], command: Command) -> None:
    with files[-1].open("a") as last:
        last.write("A\td1\t1\n")
    before = spine.counts()
    answer = command(spine.url, "import", "c", *files, "--format", "mqm-tsv")
    assert answer.returncode == 2
    assert b"19.tsv:252: " in answer.stderr
    assert spine.counts() == before
