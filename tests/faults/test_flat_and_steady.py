"""The hot routes: more than can be served is told so in time; clocks and hours change nothing."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psycopg
import pytest

from app.services.access import tokens
from app.storage import embedded
from app.storage.db import Database
from tests.collecting import Collecting, collect
from tests.faults.again import Again
from tests.faults.serving import Service, service_at, web_process
from tests.patience import soon
from tests.spine import fresh
from tests.working import LIMIT

BURST = 256
SERVED = 40  # four for each connection of the pool are let in at once
HANGING = 15.0  # seconds; how fast it is, `benchmarks` says
GROWTH = 1.10


# The clock of the application's host is a year off, as `date` under it would say: there is no libfaketime on every
# machine, so `time` itself is told otherwise as the process starts.
OFF = """
import datetime, time
_time, _shift = time.time, {shift}
time.time = lambda: _time() + _shift
class _Off(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(time.time(), tz)
datetime.datetime = _Off
"""
LATE, EARLY = -400, 400  # days


def shifted(folder: Path, days: int) -> str:
    """Where Python looks for a module that tells it another time."""
    (folder / "sitecustomize.py").write_text(OFF.format(shift=days * 86400))
    return str(folder)


@pytest.fixture(scope="module")
def run(
    tmp_path_factory: pytest.TempPathFactory, postgres: embedded.EmbeddedServer, migrated_template: str
) -> Iterator[Service]:
    """A service on a host whose clock is late; nothing here may notice."""
    clock = shifted(tmp_path_factory.mktemp("late"), LATE)
    with (
        fresh(postgres, migrated_template) as spine,
        service_at(spine.url, tmp_path_factory.mktemp("home"), PYTHONPATH=clock) as found,
    ):
        yield found


def campaign(run: Service, raters: int, segments: int, key: str) -> Collecting:
    database = Database(run.url, size=1, role="plumbline_app")
    names = [f"r{n}" for n in range(raters)]
    live = collect(database, key=key, raters=names, documents=raters, segments=segments, pooled=False)
    database.close()
    return live


async def held(web: httpx.AsyncClient, again: Again, live: Collecting, rater: str) -> str:
    lease = await again.later(web, "POST", f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater))
    return f"/v1/tasks/{lease.json()['task']['task']}/judgments"


def client(run: Service, connections: int) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    return httpx.AsyncClient(base_url=run.origin, limits=limits, timeout=LIMIT, trust_env=False)


async def burst(run: Service, live: Collecting) -> tuple[list[httpx.Response], list[float]]:
    """Answers, and how long each took, to as many judgments at once."""
    async with client(run, BURST) as web:
        again = Again()
        urls = {rater: await held(web, again, live, rater) for rater in live.secrets}
        again.check()
        seconds: list[float] = []

        async def one(n: int) -> httpx.Response:
            rater = f"r{n % 4}"
            began = time.monotonic()
            answer = await web.put(
                f"{urls[rater]}/1/{n // 4 + 1}", json={"protocol": "da", "score": 1}, headers=live.auth(rater)
            )
            seconds.append(time.monotonic() - began)
            return answer

        return list(await asyncio.gather(*map(one, range(BURST)))), seconds


def test_a_burst_of_judgments_is_served_or_told_to_come_again(run: Service) -> None:
    keys = (f"burst-{n}" for n in itertools.count())

    def seconds_of_the_slowest() -> float:
        live = campaign(run, 4, 64, next(keys))
        answers, seconds = asyncio.run(burst(run, live))
        counts = Counter(answer.status_code for answer in answers)
        assert set(counts) <= {200, 503}
        assert all(answer.headers["retry-after"].isdigit() for answer in answers if answer.status_code == 503)
        with psycopg.connect(run.url) as db:
            stored = db.execute("SELECT count(*) FROM judgments WHERE campaign_id = %s", (live.id,)).fetchone()
        assert stored == (counts[200],)
        refused = [answer.json()["type"] for answer in answers if answer.status_code == 503]
        turned_away = sum(kind.endswith("too-busy") for kind in refused)
        assert BURST - turned_away >= SERVED, "places are given as they come; who has one and is late is told otherwise"
        return max(seconds) if counts[200] >= SERVED else math.inf

    assert soon(seconds_of_the_slowest, HANGING)


def test_a_database_that_is_held_up_is_told_of_in_time_and_not_hung_upon(run: Service) -> None:
    live = campaign(run, 1, 4, "held-up")
    with httpx.Client(base_url=run.origin, headers=live.auth("r0"), timeout=LIMIT, trust_env=False) as web:
        lease = web.post(f"/v1/campaigns/{live.key}/lease").json()["task"]["task"]
        url = f"/v1/tasks/{lease}/judgments/1/1"
        assert web.put(url, json={"protocol": "da", "score": 1}).status_code == 200

        def seconds_until_told() -> float:
            began = time.monotonic()
            answer = web.put(url, json={"protocol": "da", "score": 2})
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            return time.monotonic() - began

        with psycopg.connect(run.url) as db:
            db.execute("SELECT FROM campaigns FOR UPDATE")
            assert soon(seconds_until_told, HANGING / 3)
        assert web.put(url, json={"protocol": "da", "score": 2}).json()["revision"] == 2


def test_a_wrong_clock_on_the_host_changes_nothing(run: Service) -> None:
    _judging_and_leases_go_by_the_database(run)


@pytest.mark.soak
def test_a_clock_that_is_early_changes_nothing(database_url: str, tmp_path: Path) -> None:
    clock = shifted(tmp_path, EARLY)
    with service_at(database_url, tmp_path / "home", PYTHONPATH=clock) as run:
        _judging_and_leases_go_by_the_database(run)


def _judging_and_leases_go_by_the_database(run: Service) -> None:
    live = campaign(run, 2, 2, "clock")
    with httpx.Client(base_url=run.origin, headers=live.auth("r0"), timeout=LIMIT, trust_env=False) as web:
        leased = web.post(f"/v1/campaigns/{live.key}/lease").json()["task"]
        again = web.post(f"/v1/campaigns/{live.key}/lease").json()["task"]
        assert again["task"] == leased["task"]
        stored = web.put(f"/v1/tasks/{leased['task']}/judgments/1/1", json={"protocol": "da", "score": 1})
        assert stored.status_code == 200
        with psycopg.connect(run.url) as db:
            right = db.execute(
                """SELECT bool_and(t.leased_until BETWEEN now() + interval '1 hour' AND now() + interval '3 hours'),
                          bool_and(j.submitted_at BETWEEN now() - interval '1 minute' AND now()),
                          bool_and(j.recorded_at BETWEEN now() - interval '1 minute' AND now())
                   FROM judgments j JOIN tasks t USING (campaign_id) WHERE t.state = 'leased' AND campaign_id = %s""",
                (live.id,),
            ).fetchone()
            assert right == (True, True, True)
            run_out = "UPDATE tasks SET leased_until = now() - interval '1 second'"
            db.execute(f"{run_out} WHERE campaign_id = %s AND state = 'leased'", (live.id,))
        after = web.put(f"/v1/tasks/{leased['task']}/judgments/1/2", json={"protocol": "da", "score": 1})
        assert (after.status_code, after.json()["kept"]) == (200, None)
    _links_and_tokens_end_when_they_say(run, live)


def _links_and_tokens_end_when_they_say(run: Service, live: Collecting) -> None:
    database = Database(run.url, size=1, role="plumbline_app")
    with database.transaction() as session:
        admin = tokens.issue_token(session, role="admin").secret
    database.close()
    by = {"Authorization": f"Bearer {admin}"}
    with httpx.Client(base_url=run.origin, headers=by, timeout=LIMIT, trust_env=False) as web:
        given = web.post(f"/v1/campaigns/{live.key}/raters/r1/link", params={"days": 1}).json()
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        assert abs(datetime.fromisoformat(given["expires_at"]) - tomorrow) < timedelta(minutes=5)
        secret = given["link"].partition("token=")[2]
        shown = httpx.post(f"{run.origin}/v1/session", json={"token": secret}, trust_env=False, timeout=LIMIT)
        assert shown.status_code == 201
        for ends, status in ((tomorrow, 201), (tomorrow - timedelta(days=2), 422)):
            body = {"role": "viewer", "campaign": live.key, "expires_at": ends.isoformat()}
            assert web.post("/v1/tokens", json=body).status_code == status


def resident(pid: int) -> int:
    """Kilobytes that a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@pytest.mark.parametrize(("warm", "requests"), [(200, 200), pytest.param(10_000, 100_000, marks=pytest.mark.soak)])
def test_memory_stays_flat(run: Service, warm: int, requests: int) -> None:
    live = campaign(run, 8, 50, f"flat-{requests}")
    again = Again()

    async def some(number: int) -> None:
        async with client(run, 8) as web:

            async def one(rater: str) -> None:
                url = await held(web, again, live, rater)
                for n in range(number // 8):
                    place = f"{url}/{n % 2 + 1}/{n // 2 % 50 + 1}"
                    body = {"protocol": "da", "score": (n * 7) % 101}
                    answer = await again.later(web, "PUT", place, json=body, headers=live.auth(rater))
                    assert answer.status_code == 200, answer.text
                    if n % 50 == 0:
                        await web.post(f"{url.removesuffix('/judgments')}/heartbeat", json={}, headers=live.auth(rater))

            await asyncio.gather(*map(one, live.secrets))

    assert run.process is not None
    asyncio.run(some(warm))
    before = resident(web_process(run.process.pid))
    asyncio.run(some(requests))
    again.check()
    assert resident(web_process(run.process.pid)) < before * GROWTH
