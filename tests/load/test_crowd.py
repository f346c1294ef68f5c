"""Thirty-two raters at once, some killed, some asleep past their lease: nobody has another's task, nothing is lost."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psycopg
import pytest

from app.cli.kit.simulated_raters import RehearsalTally, SimulatedRaterSettings, run_simulated_raters
from app.client.campaign_client import CampaignClient
from app.simulation import RaterModel, encode_rater_model, make_rater_model_template
from app.storage.db import Database
from app.storage.leases import leases
from tests.collecting import Collecting, collect
from tests.load.server import Served, serving

RATERS = tuple(f"r{n:02}" for n in range(1, 33))
KILLED, ASLEEP = RATERS[:6], RATERS[6:12]
SLEEP = 2.0  # seconds; their leases are made to run out meanwhile
SYSTEMS = ("sysA", "sysB", "sysC")

TWICE_HELD = """
SELECT count(*) FROM leases a JOIN leases b ON b.task_id = a.task_id AND b.n > a.n
WHERE a.ended_at IS NULL OR b.leased_at < a.ended_at"""
# Of what counts: every address is one rater's, who handed the task in; and nobody judged an output twice.
OF_OTHERS = """
SELECT count(*) FROM tasks t JOIN items i ON i.task_id = t.id JOIN judgments j ON j.item_id = i.id
WHERE t.state = 'handed_in' AND NOT j.surplus AND j.rater_id <> t.rater_id"""
INCOMPLETE = """
SELECT count(*) FROM tasks t JOIN items i ON i.task_id = t.id JOIN segments s ON s.document_id = i.document_id
WHERE t.state = 'handed_in' AND NOT EXISTS (
    SELECT FROM judgments j WHERE j.item_id = i.id AND j.segment_id = s.id AND j.rater_id = t.rater_id
      AND NOT j.surplus)"""
TWICE_JUDGED = """
SELECT count(*) FROM (
    SELECT FROM tasks t JOIN items i ON i.task_id = t.id JOIN groups g ON g.id = i.group_id
    JOIN credits c ON c.item_id = i.id WHERE t.state = 'handed_in'
    GROUP BY g.unit, c.system_id, t.rater_id HAVING count(*) > 1) x"""


def one(url: str, query: str, values: tuple[object, ...] = ()) -> int:
    """The number that a query comes to, as the owner."""
    with psycopg.connect(url) as connection:
        row = connection.execute(query, values).fetchone()
    assert row is not None
    return int(row[0])


def run_out(url: str, raters: tuple[str, ...]) -> int:
    """Let the leases of some raters run out, by the clock of the database, each by itself; how many there were."""
    mine = "state = 'leased' AND rater_id IN (SELECT id FROM raters WHERE key = ANY(%s))"
    ran_out = 0
    with psycopg.connect(url, autocommit=True) as connection:
        for (task,) in connection.execute(f"SELECT id FROM tasks WHERE {mine}", (list(raters),)).fetchall():
            found = connection.execute(
                f"UPDATE tasks SET leased_until = statement_timestamp() - interval '1 second' WHERE id = %s AND {mine}",
                (task, list(raters)),
            )
            ran_out += found.rowcount
    return ran_out


def model(managed: CampaignClient, tempers: Mapping[str, Mapping[str, object]]) -> RaterModel:
    """Raters as they are drawn, but for what is said of some."""
    drawn = make_rater_model_template(
        managed.fetch_campaign_for_simulation(),
        managed.fetch_outputs_for_simulation(),
        managed.list_active_raters(),
        seed=3,
    )
    changed = {key: temper.model_copy(update=dict(tempers.get(key, {}))) for key, temper in drawn.raters.items()}
    return drawn.model_copy(update={"raters": changed})


def only(found: RaterModel, raters: tuple[str, ...]) -> RaterModel:
    """The same model without the others."""
    return found.model_copy(update={"raters": {key: found.raters[key] for key in raters}})


def kill_some(url: str, served: Served, found: RaterModel, path: Path) -> None:
    """Raters in a process of their own, which is killed while they judge."""
    path.write_bytes(encode_rater_model(only(found, KILLED)))
    command = [sys.executable, "-m", "app.cli", "simulate", found.campaign, "--raters", str(path)]
    command += ["--server", served.url, "--speed", "60"]
    environment = {**os.environ, "PLUMBLINE_TOKEN": served.secret}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 60
        while one(url, "SELECT count(*) FROM judgments") < 2 * len(KILLED) and time.monotonic() < until:
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        process.kill()
        process.communicate()
    assert one(url, "SELECT count(*) FROM tasks WHERE state = 'leased'") > 0


async def with_sleepers(url: str, served: Served, found: RaterModel, links: Mapping[str, str]) -> RehearsalTally:
    """All others judge; some fall asleep, and their leases run out before they wake."""
    awake = tuple(rater for rater in RATERS if rater not in KILLED)
    working = asyncio.create_task(
        run_simulated_raters(
            served.url, only(found, awake), links, SimulatedRaterSettings(workers=len(RATERS), patience=4 * SLEEP)
        )
    )
    ran_out = n = 0
    while n < SLEEP / 0.2 or not (ran_out or working.done()):  # where the machine is slow they have no lease so soon
        await asyncio.sleep(0.2)
        ran_out += await asyncio.to_thread(run_out, url, ASLEEP)
        n += 1
    assert ran_out > 0
    return await working


def check(url: str, live: Collecting) -> None:
    """Everything is handed in once, by who judged it."""
    assert one(url, "SELECT count(*) FROM tasks WHERE state = 'handed_in'") == len(live.tasks)
    assert one(url, "SELECT count(*) FROM tasks WHERE state IN ('free', 'leased')") == 0
    assert {query: one(url, query) for query in (TWICE_HELD, OF_OTHERS, INCOMPLETE, TWICE_JUDGED)} == dict.fromkeys(
        (TWICE_HELD, OF_OTHERS, INCOMPLETE, TWICE_JUDGED), 0
    )


def crowd(url: str, path: Path, documents: int) -> None:
    database = Database(url, size=2, role="plumbline_app")
    live = collect(database, raters=RATERS, documents=documents, segments=2, systems=SYSTEMS, ratings=2)
    database.close()
    with serving(url, size=10) as served:
        managed = served.managed(live.key)
        asleep = {rater: {"pauses_after": 2, "pause_seconds": SLEEP} for rater in ASLEEP}
        found = model(managed, asleep)
        kill_some(url, served, found, path)
        run_out(url, KILLED)
        links = managed.renew_rater_tokens(RATERS)
        tally = asyncio.run(with_sleepers(url, served, found, links))
        back = asyncio.run(
            run_simulated_raters(
                served.url, only(found, KILLED), links, SimulatedRaterSettings(workers=len(KILLED), patience=1)
            )
        )

    check(url, live)
    acked = one(
        url,
        "SELECT count(*) FROM judgments j JOIN raters r ON r.id = j.rater_id WHERE r.key <> ALL(%s)",
        (list(KILLED),),
    )
    assert acked == tally.judgments
    assert one(url, "SELECT count(*) FROM leases WHERE ended_how = 'expired'") >= len(KILLED)
    assert set(tally.by_status) | set(back.by_status) <= {200, 409, 412}


@pytest.mark.soak  # `faults.test_many_raters` does so with eight
def test_thirty_two_raters_some_killed_some_asleep_finish_everything_once(database_url: str, tmp_path: Path) -> None:
    crowd(database_url, tmp_path / "killed.json", documents=8)


@pytest.mark.soak
def test_thirty_two_raters_finish_a_larger_campaign(database_url: str, tmp_path: Path) -> None:
    crowd(database_url, tmp_path / "killed.json", documents=300)


@pytest.mark.soak
def test_leases_that_do_not_look_who_has_a_task_are_found_out(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: without the lock, and taking what others have, tasks are held twice."""
    monkeypatch.setattr(leases, "LOCK_LEASING", "SELECT %(lock)s::bigint")
    taken = leases.TAKE.replace("AND state = 'free' AND coalesce(rater_id = %(rater)s, true)", "")
    assert taken != leases.TAKE
    monkeypatch.setattr(leases, "TAKE", taken)
    database = Database(database_url, size=2, role="plumbline_app")
    live = collect(database, raters=RATERS, documents=6, segments=1, systems=SYSTEMS, ratings=2)
    database.close()
    with serving(database_url, size=10) as served:
        managed = served.managed(live.key)
        found = model(managed, {})
        asyncio.run(
            run_simulated_raters(
                served.url, found, live.secrets, SimulatedRaterSettings(workers=len(RATERS), patience=0.0)
            )
        )

    assert one(database_url, TWICE_HELD) > 0
    with pytest.raises(AssertionError):
        check(database_url, live)
