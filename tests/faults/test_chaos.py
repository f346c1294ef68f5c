"""A random fault every few seconds under everything that people do: nothing lost, nothing twice, healed.

`CHAOS_SECONDS`, `CHAOS_EVERY` and `CHAOS_SEED` change how long, how often and which; 1800, 20 and 20261122 by default.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from app.services.access import tokens
from app.storage import embedded
from app.storage.db import Database
from app.storage.processes import is_process_suspended
from tests.collecting import collect
from tests.faults.serving import Raters
from tests.faults.supervised import Supervised, send, supervised
from tests.faults.test_full_disk import LOGGED, fill
from tests.services.data.test_imports import MQM_HEADER
from tests.stats.stability.worlds import as_mqm, made_up
from tests.working import until

SECONDS = float(os.environ.get("CHAOS_SECONDS", "1800"))
EVERY = float(os.environ.get("CHAOS_EVERY", "20"))
SEED = int(os.environ.get("CHAOS_SEED", "20261122"))
DISK = "2g"  # on a fast machine, half an hour of imports takes one and a half
FULL_FOR = 5.0  # seconds
RATERS, PAUSE = 16, 0.2  # and the seconds that each thinks
# Seconds after which a rater who is refused asks again. A process that starts while the database is away knows nobody
# yet, and lets strangers of one address ask 50 times a second.
AGAIN = 0.5
PATIENCE = 900.0  # seconds, on the slowest machine
HEALS_WITHIN, ALIVE_WITHIN = 30.0, 1.0  # seconds, on a machine that is not busy; four times as long is borne
KILL, STOP = signal.SIGKILL, signal.SIGSTOP
# Asked from a process of its own, which goes before others: how long the answer takes is then the service's doing.
ALIVE = """
import os, sys, time, http.client
if os.geteuid() == 0:
    os.nice(-10)
port = int(sys.argv[1])
while True:
    begun = time.monotonic()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        line.request("GET", "/livez")
        told = line.getresponse().status
    except OSError as error:
        told = type(error).__name__
    except http.client.HTTPException as error:
        told = type(error).__name__
    line.close()
    print(time.time(), round(time.monotonic() - begun, 4), told, flush=True)
    time.sleep(0.2)
"""


@dataclass
class Fault:
    """What is done to the service, until its cause has ended; returned are the processes that were sent a signal."""

    name: str
    do: Callable[[Supervised, Path, random.Random], object]


def one(pids: list[int], draw: random.Random, number: signal.Signals) -> object:
    """Send one of some processes a signal; none where there is none now."""
    chosen = [draw.choice(pids)] if pids else []
    return send(lambda: chosen, number)


def ended_backends(run: Supervised) -> None:
    with psycopg.connect(run.server.url("admin"), connect_timeout=5) as db:
        db.execute(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"""
        )


def full_disk(run: Supervised, disk: Path, *, logged: bool = False) -> None:
    filler = fill(disk)
    if logged:
        with (
            suppress(psycopg.Error),
            psycopg.connect(run.server.url("admin"), connect_timeout=5, autocommit=True) as db,
        ):
            while True:  # until it ends
                db.execute(LOGGED)
    time.sleep(FULL_FOR)
    filler.unlink()


def helpers(run: Supervised) -> list[int]:
    """The database's processes that serve nobody: checkpoints, the log, the vacuum."""
    return sorted(set(run.postgres()) - set(run.backends()) - set(run.postmaster()))


FAULTS = (
    Fault("kill a web process", lambda run, _, draw: one(run.web(), draw, KILL)),
    Fault("stop a web process", lambda run, _, draw: one(run.web(), draw, STOP)),
    Fault("kill the worker", lambda run, _, draw: one(run.worker(), draw, KILL)),
    Fault("stop the worker", lambda run, _, draw: one(run.worker(), draw, STOP)),
    Fault("kill what computes", lambda run, _, draw: one(run.computing(), draw, KILL)),
    Fault("stop what computes", lambda run, _, draw: one(run.computing(), draw, STOP)),
    Fault("kill all of Postgres", lambda run, *_: send(run.postgres, KILL)),
    Fault("kill the postmaster", lambda run, *_: send(run.postmaster, KILL)),
    Fault("kill a backend", lambda run, _, draw: one(run.backends(), draw, KILL)),
    Fault("end all backends", lambda run, *_: ended_backends(run)),
    Fault("stop all of Postgres", lambda run, *_: send(run.postgres, STOP)),
    Fault("stop a backend", lambda run, _, draw: one(run.backends(), draw, STOP)),
    Fault("stop a helper of Postgres", lambda run, _, draw: one(helpers(run), draw, STOP)),
    Fault("full disk", lambda run, disk, _: full_disk(run, disk)),
    Fault("full disk, and the log wants more", lambda run, disk, _: full_disk(run, disk, logged=True)),
)


@dataclass
class Desk:
    """A manager who imports, plans and asks for reports, each over and over, and asks again until it is answered."""

    origin: str
    secret: str
    stopping: threading.Event = field(default_factory=threading.Event)
    statuses: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    imported: dict[str, int] = field(default_factory=dict)
    planned: set[str] = field(default_factory=set)
    reports: Counter[str] = field(default_factory=Counter)
    asked: int = 0

    def call(self, web: httpx.Client, method: str, path: str, **how: Any) -> httpx.Response | None:
        """Ask until it is answered for good; the same request is carried out once. None where it is time to stop."""
        self.asked += 1
        headers = {"Idempotency-Key": f"chaos-{threading.get_ident()}-{self.asked}", **how.pop("headers", {})}
        while not self.stopping.is_set():
            try:
                answer = web.request(method, f"{self.origin}{path}", headers=headers, **how)
            except httpx.TransportError:
                time.sleep(0.2)
                continue
            self.statuses[answer.status_code] += 1
            if answer.status_code == 500:
                self.broken.append(f"{method} {path}: {answer.text}")
            if answer.status_code < 500:
                return answer
            time.sleep(0.2)
        return None

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.secret}"}
        return httpx.Client(timeout=60, trust_env=False, headers=headers)

    def importing(self) -> None:
        with self.client() as web:
            n = 0
            while not self.stopping.is_set():
                n += 1
                key = f"import-{n}"
                if self.made(web, key, "mqm") and self.read(web, key, mqm_rows(n)):
                    self.imported[key] = 300
                time.sleep(0.2)

    def made(self, web: httpx.Client, key: str, protocol: str) -> bool:
        body = {"key": key, "protocol": protocol, "target_language": "de"}
        answer = self.call(web, "POST", "/v1/campaigns", json=body)
        return self.well(answer, 201)

    def read(self, web: httpx.Client, key: str, content: bytes) -> bool:
        answer = self.call(web, "POST", f"/v1/campaigns/{key}/imports", params={"format": "mqm-tsv"}, content=content)
        return self.well(answer, 200)

    def well(self, answer: httpx.Response | None, wanted: int) -> bool:
        if answer is not None and answer.status_code != wanted:
            self.broken.append(f"{answer.request.method} {answer.url.path}: {answer.status_code} {answer.text[:300]}")
        return answer is not None and answer.status_code == wanted

    def planning(self) -> None:
        with self.client() as web:
            n = 0
            while not self.stopping.is_set():
                n += 1
                key = f"plan-{n}"
                path = f"/v1/campaigns/{key}"
                steps: list[tuple[str, str, Any, int]] = [
                    ("POST", "/v1/campaigns", {"key": key, "protocol": "da", "target_language": "de"}, 201)
                ]
                steps += [("PUT", f"{path}/systems/{name}", {}, 201) for name in ("sysA", "sysB")]
                for d in (1, 2, 3):
                    texts = [{"source": f"Source {d} {i} is here."} for i in (1, 2)]
                    steps.append(("PUT", f"{path}/documents/d{d}", {"position": d, "segments": texts}, 201))
                    for name in ("sysA", "sysB"):
                        said = {"segments": [f"{name} says {d} {i}." for i in (1, 2)]}
                        steps.append(("PUT", f"{path}/systems/{name}/outputs/d{d}", said, 201))
                steps += [("PUT", f"{path}/raters/r{i}", {}, 201) for i in (1, 2)]
                steps += [("POST", f"{path}/plan", {"seed": n}, 201), ("POST", f"{path}/open", None, 200)]
                if all(self.step(web, *step) for step in steps):
                    self.planned.add(key)

    def step(self, web: httpx.Client, method: str, path: str, body: Any, wanted: int) -> bool:
        """One step of a plan; what was carried out and not answered is there already."""
        answer = self.call(web, method, path, **({} if body is None else {"json": body}))
        if answer is not None and method == "PUT" and answer.status_code in {200, 204, 412}:
            return True
        return self.well(answer, wanted)

    def reporting(self) -> None:
        with self.client() as web:
            if not (self.made(web, "thrice", "mqm") and self.read(web, "thrice", as_mqm(made_up(1, documents=8)))):
                return
            seed = 0
            while not self.stopping.is_set():
                seed += 1
                body = {"documents": [5, 8], "studies": 40, "studies_per_document_set": 10, "permutations": 4000}
                how = {"json": {**body, "seed": seed}, "headers": {"Prefer": "wait=0"}}
                answer = self.call(web, "POST", "/v1/campaigns/thrice/stability", **how)
                while (answer is not None and answer.status_code == 202) or (
                    answer is not None and answer.json().get("state") in {"queued", "running"}
                ):
                    time.sleep(0.5)
                    answer = self.call(web, "GET", answer.headers.get("Location", answer.request.url.path))
                if answer is not None:
                    self.reports[str(answer.json().get("state", answer.status_code))] += 1


def mqm_rows(n: int) -> bytes:
    rows = (
        f"{s}\td{d}\t{p}\t{p}\tr1\tSource {n} {d} {p}.\tTarget {s} {d} {p}.\tNo-error\tNo-error\t\n"
        for d in range(10)
        for p in range(1, 11)
        for s in "ABC"
    )
    return (MQM_HEADER + "".join(rows)).encode()


@pytest.fixture
def disk(scratch: Path) -> Iterator[Path]:
    """A disk in memory that can be filled without harm to others."""
    found = scratch / "chaos-disk"
    found.mkdir(mode=0o711)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0711", "tmpfs", str(found)]
    mounted = subprocess.run(mount, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield found
    embedded.stop_server(found / "data")
    until(lambda: subprocess.run(["umount", str(found)], capture_output=True).returncode == 0, "it is still in use")
    found.rmdir()


@contextmanager
def asked_whether_alive(origin: str, to: Path) -> Iterator[None]:
    """Ask `/livez` for the length of a block, and write down how long each answer took."""
    with to.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-c", ALIVE, origin.rpartition(":")[2]], stdout=out)
        try:
            yield
        finally:
            process.kill()
            process.wait()


@dataclass
class Chaos:
    """One run. healed: of each fault its name, and the seconds from its end until people judge, and until all runs."""

    run: Supervised
    disk: Path
    raters: Raters
    desk: Desk
    healed: list[tuple[str, float, float]] = field(default_factory=list)

    def strike(self, fault: Fault, draw: random.Random) -> None:
        struck = fault.do(self.run, self.disk, draw)
        ended, judged = time.monotonic(), self.raters.statuses[200]
        until(
            lambda: self.raters.statuses[200] > judged + RATERS, f"nobody judges after: {fault.name}", within=PATIENCE
        )
        served = time.monotonic() - ended
        if isinstance(struck, list):
            until(
                lambda: not any(map(is_process_suspended, struck)), f"stands still after: {fault.name}", within=PATIENCE
            )
        until(self.run.runs, f"after: {fault.name}; {self.run.ready()}", within=PATIENCE)
        self.healed.append((fault.name, round(served, 1), round(time.monotonic() - ended, 1)))

    def figures(self, alive: Path) -> dict[str, Any]:
        """What came of it."""
        lines = [line.split() for line in alive.read_text().splitlines()]
        took = sorted(float(line[1]) for line in lines if len(line) == 3)
        by_fault: dict[str, list[tuple[float, float]]] = {}
        for name, served, whole in self.healed:
            by_fault.setdefault(name, []).append((served, whole))
        return {
            "faults": len(self.healed),
            "kinds": len(by_fault),
            "healed, s": {
                name: {"n": len(all_), "judged": max(one[0] for one in all_), "most": max(one[1] for one in all_)}
                for name, all_ in sorted(by_fault.items())
            },
            "judgments": sum(map(len, self.raters.acked.values())),
            "raters' answers": dict(self.raters.statuses),
            "manager's answers": dict(self.desk.statuses),
            "imports": len(self.desk.imported),
            "plans": len(self.desk.planned),
            "reports": dict(self.desk.reports),
            "livez": {
                "asked": len(took),
                "median": took[len(took) // 2],
                "p99": took[int(len(took) * 0.99)],
                "most": took[-1],
                "over 1 s": [line for line in lines if len(line) == 3 and float(line[1]) >= 1],
                "told": dict(Counter(line[2] for line in lines if len(line) == 3)),
            },
        }


def begun(run: Supervised) -> tuple[Raters, Desk]:
    """Sixteen raters at work, and a manager who imports, plans and asks for reports."""
    database = Database(run.url, size=2, role="plumbline_app")
    names = [f"judge{n}" for n in range(RATERS)]  # of no other campaign: answers are looked for by rater
    live = collect(database, raters=names, documents=RATERS, segments=20, pooled=False)
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="admin").secret
    database.close()
    return Raters(run, live, pause=PAUSE, again=AGAIN), Desk(run.origin, secret)  # type: ignore[arg-type]  # it asks only where it is


def stored_once(run: Supervised, desk: Desk) -> list[str]:
    """What was confirmed and is not stored exactly once."""
    with psycopg.connect(run.url) as db:
        counts = dict(
            db.execute(
                """SELECT c.key, count(j.id) FROM campaigns c LEFT JOIN judgments j ON j.campaign_id = c.id
                   GROUP BY 1"""
            ).fetchall()
        )
        plans = dict(
            db.execute(
                "SELECT c.key, count(*) FROM campaigns c JOIN plans p ON p.campaign_id = c.id GROUP BY 1"
            ).fetchall()
        )
    wrong = [f"{key}: {counts.get(key)} of {n}" for key, n in desk.imported.items() if counts.get(key) != n]
    return wrong + [f"{key}: {plans.get(key)} plans" for key in desk.planned if plans.get(key) != 1]


def chaos(disk: Path, home: Path, seconds: float, every: float, seed: int) -> dict[str, Any]:
    """Let faults strike for so many seconds; the figures of it. Fails where anything is lost, twice, or not healed."""
    draw, alive = random.Random(seed), home / "alive"
    with supervised(disk / "data", home, workers=2) as run:
        raters, desk = begun(run)
        state = Chaos(run, disk, raters, desk)
        threads = [threading.Thread(target=what) for what in (desk.importing, desk.planning, desk.reporting)]
        with asked_whether_alive(run.origin, alive):
            raters.begin()
            for thread in threads:
                thread.start()
            try:
                until(lambda: raters.statuses[200] > 50, "it never began")
                bag: list[Fault] = []
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    bag = bag or draw.sample(FAULTS, len(FAULTS))  # each kind in turn, in an order of its own
                    fault, struck = bag.pop(), time.monotonic()
                    state.strike(fault, draw)
                    with (home / "faults").open("a") as noted:
                        noted.write(f"{time.time():.1f} {state.healed[-1]}\n")
                    time.sleep(max(0.0, min(every - (time.monotonic() - struck), end - time.monotonic())))
            finally:
                desk.stopping.set()
                raters.end()
                for thread in threads:
                    thread.join(120)
        found = state.figures(alive)
        (home / "figures.json").write_text(json.dumps(found, indent=1))
        assert raters.lost() == []
        assert (stored_once(run, desk), desk.broken) == ([], [])
        assert set(raters.statuses) <= {200, 503, 507}, raters.statuses
        assert not run.said("Exception in ASGI")
    return found


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk")
def test_nothing_is_lost_or_stays_broken_whatever_strikes(disk: Path, tmp_path: Path) -> None:
    found = chaos(disk, tmp_path, SECONDS, EVERY, SEED)
    print(json.dumps(found, indent=1))  # noqa: T201  (the figures)
    assert found["judgments"] > SECONDS
    assert max(seconds["most"] for seconds in found["healed, s"].values()) < 4 * HEALS_WITHIN
    assert found["livez"]["told"] == {"200": found["livez"]["asked"]}
    assert found["livez"]["most"] < 4 * ALIVE_WITHIN
