"""Told to stop, the service finishes what is under way, loses nothing that it confirmed, and is gone in time."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg
import pytest

from app.cli.serving.service import GRACE
from tests.patience import soon
from tests.working import LIMIT, until

UNDER_WAY = 6
IN_GOOD_TIME = 6.0  # seconds after it was told to stop: well before what is under way would be cut off
TOKEN = re.compile(r"#token=(\S+)")


@dataclass
class Run:
    """A server with clients that never stop, and requests whose second half is still to come."""

    process: subprocess.Popen[bytes]
    origin: str
    token: str
    name: str
    acked: list[str] = field(default_factory=list)
    other: list[int] = field(default_factory=list)
    sent: dict[str, float] = field(default_factory=dict)
    rest: threading.Event = field(default_factory=threading.Event)
    begun: threading.Barrier = field(default_factory=lambda: threading.Barrier(UNDER_WAY + 1, timeout=60))

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.origin, headers=headers, timeout=LIMIT, trust_env=False)

    def keep_posting(self, name: str) -> None:
        """Make campaigns until nobody answers."""
        with self.client() as client:
            for n in range(2000):
                key = f"{self.name}-{name}-{n}"
                try:
                    answer = client.post("/v1/campaigns", json={"key": key, "protocol": "da"})
                except httpx.TransportError:
                    return
                if answer.status_code == 201:
                    self.acked.append(key)
                else:
                    self.other.append(answer.status_code)

    def post_in_two_halves(self, name: str) -> int:
        """The status of a request that is under way when the signal comes; 0 where the line was cut."""

        def halves() -> Iterator[bytes]:
            yield f'{{"key": "{self.name}-{name}'.encode()
            self.begun.wait()
            self.rest.wait(60)
            yield b'", "protocol": "da"}'
            self.sent[name] = time.monotonic()

        with self.client() as client:
            try:
                answer = client.post("/v1/campaigns", content=halves(), headers={"Content-Type": "application/json"})
            except httpx.TransportError:
                self.sent.setdefault(name, time.monotonic())  # who is cut off early is owed an answer all the same
                return 0
        return answer.status_code


Start = Callable[[], Run]


@pytest.fixture
def start(database_url: str, tmp_path: Path) -> Iterator[Start]:
    """Start the service; it may be started again once it has ended."""
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": database_url, "PLUMBLINE_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "app.cli", "serve", "--port", "0", "--no-worker"]
    root = Path(__file__).resolve().parents[2]
    started: list[subprocess.Popen[bytes]] = []

    def run() -> Run:
        with (tmp_path / "log").open("ab") as log:
            process = subprocess.Popen(command, env=environment, cwd=root, stdout=subprocess.PIPE, stderr=log)
        started.append(process)
        assert process.stdout is not None
        found = re.search(rb"Plumbline at (http://\S+)", process.stdout.readline())
        assert found
        token = TOKEN.search((tmp_path / "first-admin-link").read_text())
        assert token
        one = Run(process, found[1].decode(), token[1], f"run{len(started)}")
        with one.client() as client:
            assert client.get("/readyz").status_code == 200
        return one

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=LIMIT)


def signalled(run: Run, how: Callable[[], None]) -> tuple[list[int], list[bool], float]:
    """What the requests under way are answered, which were whole in good time, and how long the process then takes."""
    with ThreadPoolExecutor(UNDER_WAY + 3) as pool:
        for n in range(3):
            pool.submit(run.keep_posting, f"busy{n}")
        halves: list[Future[int]] = [pool.submit(run.post_in_two_halves, f"half{n}") for n in range(UNDER_WAY)]
        run.begun.wait()
        time.sleep(0.3)
        until(lambda: len(run.acked) > 3, "some is confirmed before the signal")
        told = time.monotonic()
        how()
        time.sleep(0.3)
        run.rest.set()
        answers = [half.result(LIMIT) for half in halves]
        run.process.wait(LIMIT)
        seconds = time.monotonic() - told
        return answers, [run.sent[f"half{n}"] < told + IN_GOOD_TIME for n in range(UNDER_WAY)], seconds


def follow(run: Run, read: list[str]) -> None:
    """A stream to its end, line by line, as they come."""
    accept = {"Accept": "text/event-stream"}
    with (
        run.client() as client,
        client.stream("GET", f"/v1/campaigns/{run.name}/progress/stream", headers=accept) as it,
    ):
        read.extend(it.iter_lines())


def stored(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {key for (key,) in connection.execute("SELECT key FROM campaigns").fetchall()}


def test_what_is_under_way_has_eight_seconds() -> None:
    assert GRACE - 2 == IN_GOOD_TIME


def test_what_is_under_way_is_finished_and_what_was_confirmed_is_there(start: Start, database_url: str) -> None:
    """A stream without end ends, too, and before what is under way would be cut off."""

    def ended() -> float:
        run, read = start(), list[str]()
        with run.client() as client:
            assert client.post("/v1/campaigns", json={"key": run.name, "protocol": "da"}).status_code == 201
        with ThreadPoolExecutor(1) as pool:
            following = pool.submit(follow, run, read)
            until(lambda: "event: progress" in read, "the stream has begun")
            answers, in_time, seconds = signalled(run, lambda: run.process.send_signal(signal.SIGTERM))
            following.result(LIMIT)  # the whole answer came: nobody cut the line
        assert run.process.returncode == 0
        assert len(run.acked) > 3
        assert not run.other
        halves = {f"{run.name}-half{n}" for n, status in enumerate(answers) if status == 201}
        assert {*run.acked, *halves} <= stored(database_url)
        owed = {f"{run.name}-half{n}" for n, whole in enumerate(in_time) if whole}
        assert owed <= halves, answers  # of the others the machine stood still for as long as the service waits
        return seconds if len(halves) == UNDER_WAY else math.inf

    assert soon(ended, IN_GOOD_TIME)


@pytest.mark.soak
def test_a_process_that_just_goes_is_caught(start: Start, database_url: str) -> None:
    """The negative control: what is under way is lost, though nothing that was confirmed."""
    run = start()
    answers, _, _ = signalled(run, run.process.kill)
    assert answers == [0] * UNDER_WAY
    assert set(run.acked) <= stored(database_url)
