"""Killed in the middle of making a cluster, of freezing a plan, of two jobs: whole, or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from app.services.access import tokens
from app.storage import embedded
from app.storage.db import Database
from app.storage.embedded import binaries, folders
from app.storage.embedded.account import choose_initdb_account, choose_server_account
from app.storage.embedded.cluster import find_server_processes
from tests.faults.serving import Service, service
from tests.working import LIMIT, until

ROOT = Path(__file__).resolve().parents[2]
START = (
    "import sys; from pathlib import Path; from app.storage import embedded; embedded.start_server(Path(sys.argv[1]))"
)
KEY, PATH = "frozen", "/v1/campaigns/frozen"
PLANNED = ("plans", "tasks", "items", "bucket_raters")


def making(home: Path) -> list[int]:
    """The processes that make a cluster in the data folder: initdb, and what it runs."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(home).encode() in (entry / "cmdline").read_bytes() and (entry / "comm").read_text() == "initdb\n":
                found.append(int(entry.name))
    return found


def kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


# The starter alone is killed in every run in `storage/embedded/test_faults.py`.
@pytest.mark.parametrize(
    "victim", ["initdb", *(pytest.param(one, marks=pytest.mark.soak) for one in ("the starter", "both"))]
)
def test_killed_in_the_middle_of_making_the_cluster_the_next_start_makes_it(data_dir: Path, victim: str) -> None:
    with subprocess.Popen([sys.executable, "-c", START, str(data_dir)], cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        until(lambda: list(data_dir.glob("new-*/global")), "initdb has begun to write")
        assert not (data_dir / "postgres").exists(), "it came too late to mean anything"
        if victim != "initdb":
            process.kill()
        if victim != "the starter":
            kill(making(data_dir))
    with embedded.start_server(data_dir) as server, psycopg.connect(server.url()) as db:
        assert db.execute("SELECT current_user").fetchone() == ("plumbline",)
    assert find_server_processes(server.cluster) == set()


@pytest.mark.soak
def test_a_cluster_that_were_made_in_its_place_would_stay_half_made(data_dir: Path) -> None:
    """The negative control."""
    home = folders.prepare_data_folder(data_dir)
    account = choose_server_account(home / "postgres")
    folders.chown_data_folder(home, account)
    maker = choose_initdb_account(account)
    folders.change_owner(home, maker)
    programs = binaries.provide_runnable_program_folder(account, binaries.find_server_program_folder())
    command = [programs / "initdb", "-D", home / "postgres", "--no-locale"]
    making_it = threading.Thread(target=lambda: maker.run(command))
    making_it.start()
    while making_it.is_alive() and not (home / "postgres" / "global").exists():
        time.sleep(0.001)  # a moment later it has more than half
    kill(making(home))
    making_it.join(LIMIT)
    (home / "start.lock").touch()
    folders.change_owner_of_tree(home, account)
    if os.geteuid() == 0:
        (home / "pgpass").write_text("".join(f"*:*:*:{name}:x\n" for name in ("a", "b", "c")))
    with pytest.raises((embedded.ServerNotStarting, KeyError, OSError, embedded.PostgresMajorDiffers)):
        embedded.start_server(home)
    (home / "postgres").rename(home / "new-half")


def planned(url: str) -> dict[str, int]:
    """Rows of the plan, by table."""
    with psycopg.connect(url) as db:
        return {
            table: int((db.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() or (0,))[0])
            for table in PLANNED
        }


@contextmanager
def ready_to_freeze(run: Service) -> Iterator[httpx.Client]:
    """A campaign that lacks nothing but its plan."""
    database = Database(run.url, size=2)
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="admin").secret
    database.close()
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=run.origin, headers=headers, timeout=LIMIT, trust_env=False) as web:
        put(web, "POST", "/v1/campaigns", {"key": KEY, "protocol": "da", "target_language": "de"})
        for name in ("sysA", "sysB"):
            put(web, "PUT", f"{PATH}/systems/{name}", {})
        put(web, "PUT", f"{PATH}/documents/d1", {"position": 1, "segments": [{"source": "One is here."}]})
        for name in ("sysA", "sysB"):
            put(web, "PUT", f"{PATH}/systems/{name}/outputs/d1", {"segments": [f"{name} says one."]})
        put(web, "PUT", f"{PATH}/raters/r1", {})
        yield web


def put(web: httpx.Client, method: str, path: str, body: Any) -> None:
    answer = web.request(method, path, json=body)
    assert answer.is_success, answer.text


def freeze(web: httpx.Client) -> int:
    """The status of the request that freezes the plan, the same one however often it is sent; 0 where it was cut."""
    try:
        return web.post(f"{PATH}/plan", json={"seed": 1}, headers={"Idempotency-Key": "once"}).status_code
    except httpx.TransportError:
        return 0


@pytest.mark.soak
@pytest.mark.parametrize("victim", ["app", "postgres"])
def test_killed_in_the_middle_of_a_freeze_the_plan_is_not_there_and_the_same_request_makes_it_once(
    data_dir: Path, tmp_path: Path, victim: str
) -> None:
    with service(data_dir, tmp_path / "home") as run, ready_to_freeze(run) as web:
        with psycopg.connect(run.url) as holder:
            holder.execute("LOCK TABLE tasks IN SHARE MODE")  # the plan's first rows are written, these wait
            freezing = threading.Thread(target=freeze, args=(web,))
            freezing.start()
            until(lambda: waits(run.url), "it is in the middle")
            if victim == "app":
                run.stop(signal.SIGKILL)
            else:
                with suppress(psycopg.Error):
                    run.kill_postgres()
            freezing.join(LIMIT)
            with suppress(psycopg.Error):
                holder.rollback()
        if victim == "app":
            until(lambda: not waits(run.url), "what it had begun is given up")
            assert set(planned(run.url).values()) == {0}
            run.start()
        else:
            assert set(planned(run.url).values()) == {0}
        until(lambda: freeze(web) == 201, "the same request is carried out")
        once = planned(run.url)
        assert (once["plans"], once["tasks"] > 0) == (1, True)
        assert freeze(web) == 201
        assert planned(run.url) == once


def waits(url: str) -> bool:
    with psycopg.connect(url) as db:
        query = """SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                   AND datname = current_database() AND backend_type = 'client backend'"""
        return db.execute(query).fetchone() != (0,)


@pytest.mark.soak
@pytest.mark.parametrize("durable", [True, False])
def test_a_confirmed_plan_is_there_after_a_kill_but_with_commits_that_do_not_wait_for_the_disk(
    data_dir: Path, tmp_path: Path, durable: bool
) -> None:
    """Without: the negative control, set behind the service's back."""
    with service(data_dir, tmp_path / "home") as run, ready_to_freeze(run) as web:
        if not durable:
            with psycopg.connect(run.server.url("admin"), autocommit=True) as db:
                db.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
                db.execute("SELECT pg_reload_conf()")
                db.execute("ALTER ROLE plumbline SET synchronous_commit = off")
            time.sleep(1)
            run.kill_backends()
        until(lambda: freeze(web) == 201, "it is frozen")
        run.kill_postgres()
        assert (planned(run.url)["plans"] == 1) is durable
