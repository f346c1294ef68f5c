"""The service of one checkout, which may be an older version: its processes, its requests, and what they take."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import httpx
import psycopg
from psycopg import sql

from app.storage import embedded
from app.storage.embedded import EmbeddedServer
from benchmarks.page_loads import free_port, wait_until_ready
from benchmarks.processes import Watched, postmaster, private_megabytes, processor_seconds
from benchmarks.sampling import Sampler

PATIENCE: Final = 3600.0
"""Seconds to wait for a report."""
AGAIN: Final = 0.2
"""Seconds between two requests for a report that is being computed; elapsed times are only as exact as this."""

STORED: Final = ("reports", "answers")
"""Tables of stored reports. Versions before 2026-11-23 stored them in `answers`, too."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds: processor time of the web process, the worker and Postgres, and elapsed time."""

    web: float
    worker: float
    postgres: float
    elapsed: float

    @property
    def processor(self) -> float:
        """The processor time of all three."""
        return self.web + self.worker + self.postgres


@dataclass(slots=True)
class VersionService:
    """A checkout with a `.venv`, a database server of its own, and while it runs, a web process and a worker."""

    checkout: Path
    server: EmbeddedServer
    folder: Path
    origin: str = ""
    secret: str = ""
    _web: subprocess.Popen[bytes] | None = None
    _worker: subprocess.Popen[bytes] | None = None
    _client: httpx.Client = field(default_factory=lambda: httpx.Client(trust_env=False, timeout=PATIENCE))

    @property
    def url(self) -> str:
        """The address of the database for its owner."""
        return self.server.url("owner")

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the web process."""
        host, _, port = self.origin.removeprefix("http://").partition(":")
        return host, int(port)

    @property
    def watched(self) -> Watched:
        """The processes that answer requests."""
        return Watched(self._pid(self._web), postmaster(self.server))

    @property
    def memory(self) -> float:
        """The private memory of the web process and its supervisor, in megabytes."""
        return private_megabytes(self._pid(self._web))

    @property
    def worker_memory(self) -> float:
        """The private memory of the worker and all processes that compute for it, in megabytes."""
        return private_megabytes(self._pid(self._worker))

    @property
    def command(self) -> list[str]:
        """The command `plumbline` of this checkout."""
        return [str(self.checkout / ".venv" / "bin" / "python"), "-c", "from app.cli import main; main()"]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its commands: none of our own settings."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("PLUMBLINE_")}
        return own | {"PLUMBLINE_DATABASE_URL": self.url, "PLUMBLINE_DATA_DIR": str(self.folder / "own")}

    def run(self, *arguments: str) -> str:
        """Run a command of this checkout and return its output. Raises CalledProcessError."""
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=self.checkout,
            env=self.environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout.strip()

    def start(self, workers: int = 1, *, worker: bool = True) -> None:
        """Start web processes and a worker that have computed nothing: without stored reports, on an empty folder."""
        shutil.rmtree(self.folder / "own", ignore_errors=True)
        port = free_port()
        self.origin = f"http://127.0.0.1:{port}"
        with (self.folder / "log").open("ab") as log:
            self._web = self._begin(log, "serve", "--no-worker", "--port", str(port), "--workers", str(workers))
            wait_until_ready(f"{self.origin}/readyz", self._web)
            with psycopg.connect(self.url, autocommit=True) as db:
                for table in STORED:
                    row = db.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone()
                    if row is not None and row[0]:
                        db.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
            if worker:
                self._worker = self._begin(log, "worker")
        if not self.secret:
            self.secret = self.run("token", "create", "--role", "admin")
        self.rest()

    def _begin(self, log: IO[bytes], *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self.command, *arguments], cwd=self.checkout, env=self.environment, stdout=log, stderr=log
        )

    def rest(self) -> None:
        """Wait until the processes take hardly any processor time."""
        before = self._taken()
        for _ in range(120):
            time.sleep(0.5)
            now = self._taken()
            if sum(now) - sum(before) < 0.05:
                return
            before = now

    def stop(self) -> None:
        """Stop the web processes and the worker, if they run; kill what does not stop."""
        running = [process for process in (self._web, self._worker) if process is not None]
        self._web = self._worker = None
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @staticmethod
    def _pid(process: subprocess.Popen[bytes] | None) -> int:
        if process is None:
            raise RuntimeError("the service does not run")
        return process.pid

    def _taken(self) -> tuple[float, float, float]:
        worker = 0.0 if self._worker is None else processor_seconds(self._worker.pid)
        return processor_seconds(self._pid(self._web)), worker, processor_seconds(postmaster(self.server))

    @contextmanager
    def spending(self) -> Iterator[list[Spent]]:
        """Measure a block; what it took is in the list afterwards."""
        before, began, spent = self._taken(), time.perf_counter(), list[Spent]()
        yield spent
        elapsed = time.perf_counter() - began
        web, worker, postgres = (now - then for now, then in zip(self._taken(), before, strict=True))
        spent.append(Spent(web, worker, postgres, elapsed))

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send a request until its answer is not "being computed"; return the JSON, if any. Raises HTTPStatusError."""
        headers = {"Authorization": f"Bearer {self.secret}"}
        while True:
            answer = self._client.request(method, f"{self.origin}{path}", headers=headers, json=body)
            answer.raise_for_status()
            if answer.status_code != httpx.codes.ACCEPTED:
                return answer.json() if "json" in answer.headers.get("content-type", "") else None
            time.sleep(AGAIN)

    def taken_by(self, method: str, path: str, body: object = None) -> Spent:
        """Return what a report takes until it arrives."""
        with self.spending() as spent:
            self.call(method, path, body)
        return spent[0]


@contextmanager
def installed(checkouts: Sequence[Path], folder: Path) -> Iterator[list[VersionService]]:
    """Start an empty database server for each checkout; whatever runs at the end is stopped."""
    with ExitStack() as opened:
        services = []
        for n, checkout in enumerate(checkouts):
            place = folder / str(n)
            place.mkdir(mode=0o711)
            server = opened.enter_context(embedded.start_server(place / "data"))
            services.append(VersionService(checkout.resolve(), server, place))
            opened.callback(services[-1].stop)
        yield services


class PeakMemory(Sampler):
    """The peak private memory of the web process and of the worker during a block, in megabytes, by samples."""

    def __init__(self, service: VersionService) -> None:
        super().__init__(0.5)  # not often, because the kernel walks through all pages of a process to tell its memory
        self.web = self.worker = 0.0
        self._service = service

    def take_sample(self) -> None:
        """Look at the memory of both."""
        self.web = max(self.web, self._service.memory)
        self.worker = max(self.worker, self._service.worker_memory)
