"""`plumbline serve` as people run it, with all that it starts; its parts are found as the system shows them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from app.storage import embedded
from app.storage.embedded import cluster as clusters
from app.storage.embedded.cluster import PostgresCluster
from tests.working import LIMIT, until

ROOT = Path(__file__).resolve().parents[2]
ORIGIN = re.compile(rb"(?:Plumbline at|As its manager:) (http://[\d.]+:\d+)")
SERVE = ("-m", "app.cli", "serve", "--port", "0")


@dataclass
class Supervised:
    """The service, its database included. server: our use of the database, which starts and stops nothing."""

    process: subprocess.Popen[bytes]
    origin: str
    server: embedded.EmbeddedServer
    log: Path
    statuses: list[int] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.server.url("owner")

    @property
    def cluster(self) -> PostgresCluster:
        return self.server.cluster

    def ready(self) -> dict[str, Any]:
        """What `/readyz` says; nothing where nobody answers."""
        with suppress(httpx.TransportError):
            answer = httpx.get(f"{self.origin}/readyz", timeout=5, trust_env=False)
            self.statuses.append(answer.status_code)
            return {"http": answer.status_code, **answer.json()}
        return {}

    def runs(self) -> bool:
        """Whether it is ready and every part runs."""
        found = self.ready()
        return found.get("http") == 200 and all(part["state"] == "running" for part in found["parts"].values())

    def web(self) -> list[int]:
        return self._children("app.cli.serving.web")

    def worker(self) -> list[int]:
        return self._children("worker")

    def computing(self) -> list[int]:
        """The processes that the worker computes with."""
        found = [child for pid in self.worker() for child in psutil.Process(pid).children(recursive=True)]
        return [child.pid for child in found if "tracker" not in " ".join(_told(child))]

    def _children(self, word: str) -> list[int]:
        return [child.pid for child in psutil.Process(self.process.pid).children() if word in _told(child)]

    def postgres(self) -> list[int]:
        return sorted(clusters.find_server_processes(self.cluster))

    def postmaster(self) -> list[int]:
        found = clusters.find_postmaster(self.cluster, clusters.find_server_processes(self.cluster))
        return [] if found is None else [found]

    def backends(self) -> list[int]:
        """Those of the database's processes that serve a connection of ours."""
        return [pid for pid in self.postgres() if b"postgres: plumbline" in _command(pid)]

    def said(self, word: str) -> list[dict[str, Any]]:
        """The lines of the log in which a word stands."""
        lines = [line for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [one for one in map(json.loads, lines) if word in one["message"]]

    def healed(self, what: str) -> float:
        """Wait until every part runs; how many seconds that took."""
        return until(self.runs, f"{what}: {self.ready()}; {self.log.read_text()[-3000:]}")


def _told(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def send(pids: Callable[[], list[int]], number: signal.Signals) -> list[int]:
    """Send some processes a signal."""
    found = pids()
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    return found


@contextmanager
def supervised(
    data_dir: Path, home: Path, *options: str, workers: int = 1, program: Sequence[str] = SERVE, **more: str
) -> Iterator[Supervised]:
    """The service on a data folder of its own, until it runs, and for the length of a block.

    program: what Python is called with, where it is not the command that serves.
    """
    home.mkdir(exist_ok=True)
    log = home / "log"
    environment = {name: value for name, value in os.environ.items() if name != "PLUMBLINE_DATABASE_URL"}
    environment |= {"PLUMBLINE_DATA_DIR": str(data_dir), "PLUMBLINE_WORKERS": str(workers), **more}
    command = [sys.executable, *program, *options]
    with log.open("ab") as errors:
        # In a session of its own: where the kernel weighs sessions, it does not share with those who use it.
        process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
    try:
        assert process.stdout is not None
        found = next(filter(None, map(ORIGIN.search, process.stdout)), None)
        assert found, log.read_text()[-2000:]
        with embedded.start_server(data_dir) as server:
            run = Supervised(process, found[1].decode(), server, log)
            run.healed("it runs")
            run.statuses.clear()
            yield run
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT)
    finally:
        if process.poll() is None:
            time.sleep(0.1)
            process.kill()
        process.communicate(timeout=LIMIT)
