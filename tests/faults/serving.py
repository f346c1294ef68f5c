"""A service with a Postgres of its own, to be killed in every way; and raters who never stop judging."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import psycopg

from app.storage import embedded, migrate
from app.storage.db import Database
from app.storage.embedded.cluster import find_server_processes
from tests.collecting import Collecting, collect
from tests.load.server import serving
from tests.patience import as_served
from tests.working import LIMIT, until

ROOT = Path(__file__).resolve().parents[2]
POOL = 10  # connections, as a service has them
LOGIN = re.compile(rb"Plumbline at (http://[\d.]+:(\d+))")


def web_process(service: int) -> int:
    """The process that answers for a service that has one."""
    (found,) = [one for one in psutil.Process(service).children() if "app.cli.serving.web" in one.cmdline()]
    return found.pid


@dataclass
class Service:
    """Postgres and the application, each in processes of its own."""

    data_dir: Path
    home: Path
    server: embedded.EmbeddedServer
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.server.url("owner")

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the application, on the port that it had."""
        own = {"PLUMBLINE_DATABASE_URL": self.url, "PLUMBLINE_DATA_DIR": str(self.home), **self.environment}
        command = [sys.executable, "-m", "app.cli", "serve", "--port", str(self.port), "--no-worker"]
        with (self.home / "log").open("ab") as log:
            self.process = process = subprocess.Popen(
                command, env={**os.environ, **own}, cwd=ROOT, stdout=subprocess.PIPE, stderr=log
            )
        assert process.stdout is not None
        found = LOGIN.search(process.stdout.readline())
        assert found, (self.home / "log").read_text()[-2000:]
        self.port = int(found[2])
        # The line is printed once the port is held; connections wait there for the application, as long as that takes.
        httpx.get(f"{self.origin}/livez", trust_env=False, timeout=LIMIT).raise_for_status()

    def stop(self, how: signal.Signals) -> float:
        """Send the application a signal; seconds until it and its children are gone."""
        assert self.process is not None
        process = self.process
        process.send_signal(how)
        took = until(lambda: process.poll() is not None, "it is gone")
        begun = time.monotonic()
        process.communicate(timeout=LIMIT)  # until nobody that it began holds its output any more
        return took + time.monotonic() - begun

    def kill_postgres(self) -> None:
        """End every process of the database as a power cut does, and start it again."""
        for pid in find_server_processes(self.server.cluster):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        embedded.start_server(self.data_dir).close()  # we hold it already, so this stops nothing

    def kill_backends(self) -> None:
        """End every other connection to the database."""
        with psycopg.connect(self.url) as db:
            db.execute(
                """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()
                   AND backend_type = 'client backend'"""
            )


class ServiceElsewhere(Service):
    """An application on a database that somebody else runs."""

    address: str

    @classmethod
    def at(cls, url: str, home: Path) -> ServiceElsewhere:
        """Of a database by its address; home: for its files."""
        run = cls(home, home, None)  # type: ignore[arg-type]  # its server is only asked for its address
        run.address = url
        return run

    @property
    def url(self) -> str:
        return self.address


@contextmanager
def service(data_dir: Path, home: Path, **environment: str) -> Iterator[Service]:
    """A migrated database and the application on it."""
    home.mkdir(exist_ok=True)
    server = embedded.start_server(data_dir)
    try:
        migrate.upgrade_schema(server.url("owner"))
        with running(Service(data_dir, home, server, environment=environment)) as run:
            yield run
    finally:
        server.stop()


@contextmanager
def service_here(data_dir: Path) -> Iterator[Service]:
    """A migrated database and the application on it, in a thread: for what happens to the database alone."""
    with embedded.start_server(data_dir) as server:
        migrate.upgrade_schema(server.url("owner"))
        with as_served(), serving(server.url("owner"), size=POOL) as served:
            yield Service(data_dir, data_dir, server, port=urlsplit(served.url).port or 0)


@contextmanager
def service_at(url: str, home: Path, **environment: str) -> Iterator[Service]:
    """The application on a migrated database of a server that nobody stops."""
    home.mkdir(exist_ok=True)
    run = ServiceElsewhere.at(url, home)
    run.environment = environment
    with running(run):
        yield run


@contextmanager
def running(run: Service) -> Iterator[Service]:
    """The application for the length of a block, whatever happens in it."""
    run.start()
    try:
        yield run
    finally:
        if run.process is not None and run.process.poll() is None:
            run.process.kill()
            run.process.communicate(timeout=LIMIT)


Place = tuple[str, int, int]  # rater, item, segment


@dataclass
class Raters:
    """Raters in threads, each with a task of its own. acked: scores by address, in the order of their revisions.

    They use http.client: httpx would take more of the processor for a request than the service does.
    pause: seconds that each thinks between two answers. again: seconds after which a refused request is sent again.
    waits: seconds until each request was answered for good.
    """

    run: Service
    live: Collecting
    acked: dict[Place, list[float]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    stopping: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)
    pause: float = 0.0
    again: float = 0.05
    waits: list[float] = field(default_factory=list)

    def begin(self) -> None:
        for rater in self.live.secrets:
            self.threads.append(threading.Thread(target=self._judge, args=(rater,)))
            self.threads[-1].start()

    def end(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join(LIMIT)
            assert not thread.is_alive()

    def _judge(self, rater: str) -> None:
        with closing(HTTPConnection(urlsplit(self.run.origin).netloc, timeout=5)) as line:
            leased = self._until(line, rater, "POST", f"/v1/campaigns/{self.live.key}/lease", None, None)
            if leased is None:
                return
            assert leased[0] == HTTPStatus.OK, leased
            url = f"/v1/tasks/{leased[1]['task']['task']}/judgments"
            for n in range(100_000):
                item, segment = n % self.live.n_items + 1, n // self.live.n_items % self.live.n_segments + 1
                history = self.acked.setdefault((rater, item, segment), [])
                score = float(n % 100) + (0.5 if len(history) % 2 else 0.0)
                body = {"protocol": "da", "score": score}
                answer = self._until(line, rater, "PUT", f"{url}/{item}/{segment}", body, len(history))
                if answer is None:
                    return
                if answer[0] == 200:
                    assert answer[1]["revision"] == len(history) + 1
                    history.append(score)
                self.stopping.wait(self.pause)

    def _until(
        self, line: HTTPConnection, rater: str, method: str, url: str, body: object, seen: int | None
    ) -> tuple[int, Any] | None:
        """Send the same request until it is answered for good; None where it is time to stop."""
        headers = self.live.auth(rater)
        if seen is not None:
            headers |= {"Content-Type": "application/json", "If-Match": f'"{seen}"'}
        begun = time.monotonic()
        while not self.stopping.is_set():
            try:
                line.request(method, url, None if body is None else json.dumps(body), headers)
                answer = line.getresponse()
                content = answer.read()
            except (OSError, HTTPException):
                line.close()  # the next request opens it again
                time.sleep(0.05)
                continue
            self.statuses[answer.status] += 1
            if answer.status < 500 and answer.status != HTTPStatus.TOO_MANY_REQUESTS:
                self.waits.append(time.monotonic() - begun)
                return answer.status, json.loads(content)
            time.sleep(self.again)
        return None

    def lost(self) -> list[Place]:
        """Addresses whose acknowledged answers are not all stored, each once and in order."""
        with psycopg.connect(self.run.url) as db:
            db.execute("SET work_mem = '512MB'")  # a test's small disk may have no room left to sort on
            rows = db.execute(
                """SELECT r.key, i.position, g.position, array_agg((j.payload ->> 'score')::float8 ORDER BY j.revision)
                   FROM judgments j JOIN raters r ON r.id = j.rater_id JOIN items i ON i.id = j.item_id
                   JOIN segments g ON g.id = j.segment_id WHERE j.campaign_id = %s GROUP BY 1, 2, 3""",
                (self.live.id,),
            ).fetchall()
        stored = {(row[0], row[1], row[2]): row[3] for row in rows}
        # At most one more is stored than was acknowledged: the one under way when the raters were told to stop.
        return [
            place
            for place, scores in self.acked.items()
            if stored.get(place, [])[: len(scores)] != scores or len(stored.get(place, [])) > len(scores) + 1
        ]


def judging(run: Service, raters: int, key: str = "live", url: str = "") -> Raters:
    """Raters on a new campaign in which each has a task. url: where it is, if not where the service's own are."""
    database = Database(url or run.url, size=2, role="plumbline_app")
    names = [f"r{n}" for n in range(raters)]
    live = collect(database, key=key, raters=names, documents=raters, segments=20, pooled=False)
    database.close()
    return Raters(run, live)
