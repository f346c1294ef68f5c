"""Raters beside managers: `python -m benchmarks.managers [--raters N] [--sizes N …] [--write docs/scaling.md]`.

Raters post every 30 s, and their pages send heartbeats, as in `benchmarks.pace`. Then the same with managers: some
watch the progress of the raters' campaign, and each of the others opens page after page of a campaign, every five
seconds: all lists that a campaign has, and all reports that need no further choice, of campaigns of several sizes and
of the raters' own. The raters' p99 is told with managers and without, in turn, and what the web process holds before
and after. A worker runs beside it, as people start it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from app.services.access import tokens
from app.storage.db import Database
from app.storage.embedded import EmbeddedServer
from benchmarks import pages, synthetic
from benchmarks.children import ROOT, run
from benchmarks.hot import Sent, request, serving, throw_away
from benchmarks.hot_load import BEGAN, EVENTS
from benchmarks.pace import (
    COMING,
    HALF_A_MINUTE,
    PER_SECOND,
    Figures,
    Pace,
    campaign,
    timetable,
    told,
)
from benchmarks.processes import Watched, load_average, postmaster, private_megabytes, serving_at

THINKS: Final = 5.0
"""Seconds between two pages that a manager opens."""
EACH: Final = 2
"""Managers per campaign."""
RATERS: Final = "pace"
PROBE: Final = "probe"
PROBE_EVERY: Final = 0.1
"""Seconds between two probes."""
SLOW: Final = 0.05
"""Seconds; one of the limits in the histogram of flushes."""
RATIO_GOAL: Final = 1.5
MEMORY_GOAL: Final = 300
PLACE: Final = "/v1/campaigns/{campaign}/"
STREAM: Final = f"{PLACE}progress/stream"


def addresses() -> dict[str, str]:
    """Return what a manager can open without further choices in a campaign, by address: `list` or `report`."""
    document = json.loads((ROOT / "openapi.json").read_text(encoding="utf-8"))
    shared = document["components"]["parameters"]
    found: dict[str, str] = {}
    for path, operations in document["paths"].items():
        if not path.startswith(PLACE) or path.count("{") > 1 or path == STREAM or "get" not in operations:
            continue
        given = operations["get"].get("parameters", [])
        parameters = [shared[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in given]
        if not any(one["in"] == "query" and one.get("required") for one in parameters):
            found[path] = "list" if any(one["name"] == "cursor" for one in parameters) else "report"
    return found


@dataclass(slots=True)
class Managers:
    """The managers and what they open. campaigns: several managers go through each of them."""

    secret: str
    campaigns: Sequence[str]
    streams: int
    draw: random.Random = field(default_factory=lambda: random.Random(11))  # noqa: S311  (no secret)

    def sent(self, first: int, seconds: float) -> tuple[int, list[Sent]]:
        """Return the number of clients and their requests. first: the number of the first client."""
        sent: list[Sent] = []
        for client in range(first, first + self.streams):
            text = request("GET", STREAM.format(campaign=RATERS), self.secret)
            sent.append((0.0, client, "stream", f"{text[:-2]}Accept: text/event-stream\r\n\r\n"))
        client = first + self.streams
        for key in self.campaigns:
            for _ in range(EACH):
                sent += self._visit(key, client, seconds)
                client += 1
        return client - first, sent

    def _visit(self, key: str, client: int, seconds: float) -> Iterator[Sent]:
        found = list(addresses().items())
        self.draw.shuffle(found)
        at, n = self.draw.uniform(0.0, THINKS), 0
        while at < seconds:
            path, kind = found[n % len(found)]
            yield at, client, f"{kind} of {key}", request("GET", path.format(campaign=key), self.secret)
            at, n = at + THINKS, n + 1


@dataclass(frozen=True, slots=True)
class Run:
    """One run: figures of raters, and of managers' requests by kind. memory: of the web process at the end, in MB.

    livez: figures of requests that do nothing. slow: the share of flushes of judgments that took longer than SLOW from
    start to commit. Any other delay of a post is not due to the database.
    """

    raters: Figures
    livez: Mapping[str, Any]
    managers: Mapping[str, Mapping[str, Any]]
    memory: float
    slow: float


def beside(pace: Pace, seconds: float, managers: Managers | None) -> Run:
    """Run raters with or without managers, who start when all raters have come."""
    coming = len(pace.raters) / PER_SECOND
    sent = timetable(pace.raters, seconds, HALF_A_MINUTE, pace.draw, beats=True, coming=coming)
    asked = list(probes(len(pace.raters), seconds))
    clients = len(pace.raters) + 1
    if managers is not None:
        more, theirs = managers.sent(clients, seconds)
        clients, asked = clients + more, asked + theirs
    sent += [(at + coming, client, kind, text) for at, client, kind, text in asked]
    before = flushes(pace.address)
    posts, figures = pace.timed(sorted(sent), clients, seconds, coming)
    quick, flushed = (now - then for now, then in zip(flushes(pace.address), before, strict=True))
    opened = {kind: one for kind, one in figures.items() if kind not in {"post", "beat", PROBE, COMING, BEGAN}}
    memory = private_megabytes(pace.watched.web)
    return Run(posts, figures[PROBE], opened, memory, 1 - quick / flushed)


def flushes(address: tuple[str, int]) -> tuple[float, float]:
    """Return the service's counts of flushes of judgments so far: those that took at most SLOW, and all."""
    told = httpx.get(f"http://{address[0]}:{address[1]}/metrics", trust_env=False, timeout=60).text
    counts = {
        name: float(count)
        for name, _, count in (line.rpartition(" ") for line in told.splitlines())
        if name.startswith("plumbline_flush_seconds_")
    }
    name = 'plumbline_flush_seconds_bucket{kind="judgments",le="%s"}'
    return counts[name % SLOW], counts[name % "+Inf"]


def probes(client: int, seconds: float) -> Iterator[Sent]:
    """Yield requests that do nothing, from one client: their duration shows how long the process was busy."""
    text = request("GET", "/livez", "")
    for n in range(int(seconds / PROBE_EVERY)):
        yield n * PROBE_EVERY, client, PROBE, text


def tables(pairs: Sequence[tuple[Run, Run]], at_first: float) -> Iterator[str]:
    """Yield the lines of the page: raters without and with managers, then the managers' requests."""
    yield "| raters' posts | per second | p50, ms | p99, ms | commits over 50 ms | status | web process afterward, MB |"
    yield "|---|--:|--:|--:|--:|---|--:|"
    for alone, looked_at in pairs:
        yield _row("without managers", alone)
        yield _row("with managers", looked_at)
    ratios = [looked_at.raters.p99 / alone.raters.p99 for alone, looked_at in pairs]
    held = max(looked_at.memory for _, looked_at in pairs)
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    yield ""
    shown = f"{median(ratios):.2f} times as high as without them"
    yield f"With managers, p99 is {shown} (pairs: {each}; goal ≤ {RATIO_GOAL:g})."
    alone, beside_them = (median(pair[n].livez["p99"] for pair in pairs) * 1e3 for n in (0, 1))
    shown = f"{alone:.0f} ms without managers and {beside_them:.0f} ms with them"
    yield f"The p99 of `/livez`, requested ten times per second, is {shown}."
    told_memory = f"{at_first:.0f} MB at first and at most {held:.0f} MB (goal ≤ {MEMORY_GOAL})"
    yield f"The web process and its supervisor held {told_memory}."
    yield ""
    yield "| what the managers opened | times | p50, ms | p99, ms | status |"
    yield "|---|--:|--:|--:|---|"
    for kind, one in sorted(pairs[-1][1].managers.items()):
        if kind == EVENTS:
            yield f"| events that arrived | {one['n']:,} | | | |"
        else:
            times = f"{one['p50'] * 1e3:.0f} | {one['p99'] * 1e3:.0f}"
            yield f"| {kind} | {one['n']:,} | {times} | {told(one['statuses'])} |"


def _row(what: str, run: Run) -> str:
    one = run.raters
    times = f"{one.p50 * 1e3:.1f} | {one.p99 * 1e3:.1f}"
    return f"| {what} | {one.rate:,.0f} | {times} | {run.slow:.1%} | {told(one.statuses)} | {run.memory:.0f} |"


def fill(server: EmbeddedServer, folder: Path, sizes: Sequence[int]) -> list[str]:
    """Import a campaign of MQM judgments for each size, and return their keys."""
    keys = []
    for size in sizes:
        file, n = folder / "mqm.tsv", synthetic.whole(size)
        synthetic.mqm_tsv(file, n)
        keys.append(f"{size:,} judgments".replace(",", "").replace(" ", "-"))
        run("import", server.url("app"), keys[-1], "mqm-tsv", "mqm", str(file))
        file.unlink()
    return keys


@contextmanager
def working(url: str, folder: Path) -> Iterator[None]:
    """Run a worker on a database, as `plumbline serve` does."""
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": url, "PLUMBLINE_DATA_DIR": str(folder)}
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "app.cli", "worker"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def viewer(database: Database) -> str:
    """Return the secret of somebody who can see everything."""
    with database.transaction() as session:
        return tokens.issue_token(session, role="manager", name="bench").secret


def measure(server: EmbeddedServer, database: Database, folder: Path, asked: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the page."""
    keys = fill(server, folder, asked.sizes)
    raters = campaign(server.url("owner"), database, RATERS, asked.raters)
    managers = Managers(viewer(database), [RATERS, *keys], asked.streams)
    (folder / "worker").mkdir()
    with serving(server.url("owner"), 1) as address, working(server.url("owner"), folder / "worker"):
        pace = Pace(address, Watched(serving_at(address[1]), postmaster(server)), raters)
        at_first = private_megabytes(pace.watched.web)
        pace.settle()
        pairs = [
            (beside(pace, asked.seconds, None), beside(pace, asked.seconds, managers)) for _ in range(asked.repeats)
        ]
    *most, last = (f"{size:,}" for size in asked.sizes)
    sizes = " and ".join(filter(None, (", ".join(most), last)))
    each = "each send a post every 30 s and a heartbeat every 20 s"
    yield f"In each run, {len(raters):,} raters {each}. One web process and a worker are running."
    opening = EACH * len(managers.campaigns)
    watching = f"In the runs with managers, {asked.streams} managers watch progress"
    yield f"{watching}, and {opening} others each open a page every {THINKS:g} s."
    yield f"These pages belong to the raters' campaign and to campaigns with {sizes} MQM judgments. {load_average()}."
    yield ""
    yield from tables(pairs, at_first)


def main() -> None:
    """Measure, and print Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.managers", description=__doc__)
    parser.add_argument("--raters", type=int, default=1_000, help="raters with a task each")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="judgments of the campaigns")
    parser.add_argument("--streams", type=int, default=20, help="managers who watch the progress")
    parser.add_argument("--seconds", type=float, default=60, help="of each run")
    parser.add_argument("--repeats", type=int, default=2, help="pairs of runs")
    parser.add_argument("--folder", type=Path, help="where the data folder goes (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help="page to put the tables into, between the marks of `managers`")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=asked.folder) as folder,
        throw_away(Path(folder)) as (server, database),
    ):
        text = "\n".join(measure(server, database, Path(folder), asked)) + "\n"
    print(text)
    if asked.write:
        pages.write(asked.write, text, "managers")


if __name__ == "__main__":
    main()
