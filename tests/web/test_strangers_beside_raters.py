"""Raters judge while strangers do what they can: slow bodies on many connections, and texts that are the worst to read.

Everything stays on loopback, in number and in time bounded. `STRANGERS_SECONDS` changes how long the long test lasts.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from statistics import quantiles
from threading import Thread

import httpx
import pytest
from starlette.types import ASGIApp

from app.cli.serving.background_server import serve_on_free_port
from app.storage.db import Database
from app.web.admission import AdmissionSlot
from app.web.rate_limits import UnauthenticatedLimits
from tests.collecting import Collecting, collect
from tests.patience import soon
from tests.working import LIMIT

Address = tuple[str, int]
Serving = Callable[..., AbstractContextManager[Address]]
RATERS = tuple(f"r{n}" for n in range(1, 5))
WORST = b"[" * 40 + b'"' + b'\\"' * 30_000
HEAD = "POST /v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
DRIP, AGAIN = 0.5, 0.2  # seconds between two bytes, and before somebody who was sent away comes again
PAUSE = 0.02  # seconds between two judgments of a rater
SECONDS = float(os.environ.get("STRANGERS_SECONDS", "120"))


async def slow(address: Address, until: float) -> None:
    """A body that never comes to its end, again and again."""
    while time.monotonic() < until:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(*address)
            try:
                writer.write(HEAD.format(len(WORST)).encode())
                while time.monotonic() < until and not reader.at_eof():
                    writer.write(b"[")
                    with suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(1 << 16), DRIP)
            finally:
                writer.close()
        await asyncio.sleep(AGAIN)


async def worst(address: Address, until: float) -> None:
    """A whole body that is the worst to read, again and again."""
    while time.monotonic() < until:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(*address)
            try:
                writer.write(HEAD.format(len(WORST)).encode() + WORST)
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1 << 16), LIMIT)
            finally:
                writer.close()
        await asyncio.sleep(AGAIN)


def attack(address: Address, connections: int, readers: int, seconds: float) -> None:
    """All of them for so long."""

    async def all_of_them() -> None:
        until = time.monotonic() + seconds
        slowly = (slow(address, until) for _ in range(connections))
        await asyncio.gather(*slowly, *(worst(address, until) for _ in range(readers)))

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * connections + 200)), hard))
    asyncio.run(all_of_them())


@dataclass
class Judged:
    """What raters were told: seconds of each answer, and statuses other than of success."""

    seconds: list[float] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)

    @property
    def p99(self) -> float:
        """Seconds that 99 in 100 answers took at most."""
        return quantiles(self.seconds, n=100)[-1]


def judge(address: Address, live: Collecting, seconds: float) -> Judged:
    """All raters judge for so long, each the first segment of their task, now one way and now another."""
    found = Judged()

    def one(rater: str) -> None:
        url = f"http://{address[0]}:{address[1]}"
        with httpx.Client(base_url=url, headers=live.auth(rater), timeout=LIMIT, trust_env=False) as client:
            task = client.post(f"/v1/campaigns/{live.key}/lease").json()["task"]
            item = task["items"][0]
            path = f"/v1/tasks/{task['task']}/judgments/{item['item']}/{item['segments'][0]['segment']}"
            until, n = time.monotonic() + seconds, 0
            while time.monotonic() < until:
                n += 1
                started = time.perf_counter()
                told = client.put(path, json={"protocol": "da", "score": n % 100})
                found.seconds.append(time.perf_counter() - started)
                if not told.is_success:
                    found.refused.append(told.status_code)
                time.sleep(PAUSE)

    with ThreadPoolExecutor(len(RATERS)) as pool:
        for done in [pool.submit(one, rater) for rater in RATERS]:
            done.result()
    return found


@contextmanager
def thread(*attacked: object) -> Iterator[None]:
    """Strangers beside whatever happens meanwhile."""
    strangers = Thread(target=attack, args=attacked)
    strangers.start()
    time.sleep(DRIP)
    yield
    strangers.join()


def test_raters_judge_beside_slow_strangers(
    make_app: Callable[..., ASGIApp], serving: Serving, database: Database
) -> None:
    live = collect(database, raters=RATERS, documents=len(RATERS), pooled=False)
    with serving(make_app(strangers=UnauthenticatedLimits())) as address:
        judge(address, live, 0.5)

        def slower() -> float:
            """How many times as long an answer takes beside strangers; none is refused."""
            before = judge(address, live, 1.0)
            with thread(address, 40, 2, 2.0):
                beside = judge(address, live, 1.0)
            assert (before.refused, beside.refused) == ([], [])
            return beside.p99 / before.p99

        assert soon(slower, 30), "strangers and raters share an interpreter here, so this is no figure"


def test_without_their_budget_strangers_shut_raters_out(
    make_app: Callable[..., ASGIApp], serving: Serving, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    live = collect(database, raters=RATERS, documents=len(RATERS), pooled=False)
    with serving(make_app()) as address:
        judge(address, live, 0.2)
        monkeypatch.setattr(AdmissionSlot, "pause", lambda _: None)
        tasks = [f"/v1/tasks/{task}" for task in live.tasks]
        with thread(address, 40, 0, 1.5), httpx.Client(base_url=f"http://{address[0]}:{address[1]}") as client:
            told = [client.get(tasks[0], headers=live.auth(RATERS[0])).status_code for _ in range(10)]
    assert 503 in told


@pytest.mark.soak
def test_raters_beside_a_thousand_strangers_for_two_minutes(database_url: str) -> None:
    """Takes 4 minutes."""
    database = Database(database_url, size=2, role="plumbline_app")
    live = collect(database, raters=RATERS, documents=len(RATERS), pooled=False)
    database.close()
    with serve_on_free_port(database_url, "plumbline_app") as origin:
        host, _, port = origin.removeprefix("http://").partition(":")
        address = (host, int(port))
        judge(address, live, 5.0)
        before = judge(address, live, SECONDS / 2)
        strangers = multiprocessing.get_context("spawn").Process(target=attack, args=(address, 1000, 10, SECONDS + 5))
        strangers.start()
        time.sleep(3.0)
        beside = judge(address, live, SECONDS)
        strangers.join(LIMIT)
        after = judge(address, live, SECONDS / 4)
    for name, found in (("before", before), ("beside", beside), ("after", after)):
        print(f"{name}: p99 {1e3 * found.p99:.1f} ms of {len(found.seconds)}, refused {found.refused}")  # noqa: T201
    print(f"ratio {beside.p99 / before.p99:.2f}")  # noqa: T201  (the figures)
    assert (before.refused, beside.refused, after.refused) == ([], [], [])
    assert beside.p99 <= 3 * before.p99
