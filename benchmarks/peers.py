"""Posts beside Pearmut's, in one run: `python -m benchmarks.peers [--write docs/benchmarks-hot.md]`.

Pearmut 1.1.6 runs in a virtual environment of its own (see `tests.formats.pearmut.program`). 16 connections, each a
rater who sends one answer after the other: to Pearmut's `/log-response` and to our judgment route, in turn. Processor
time is that of the process that answers, and of Postgres. Ours are on disk when they are answered; Pearmut's are
written to a file that nobody flushes, and its progress is written anew as a whole with each answer, so the length of
its campaign counts.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks import pages
from benchmarks.hot import CLIENTS, generate, posts, serving, throw_away
from benchmarks.pace import WARMED, Figures, campaign
from benchmarks.processes import Watched, children, load_average, postmaster, processor_seconds, serving_at
from tests.formats.pearmut.program import PearmutProgram

ITEMS: Final = 100
"""Documents per user of Pearmut."""
NAME: Final = "peers"


def file_of_campaign() -> dict[str, Any]:
    """Return a campaign for Pearmut: each user has one list of single segments."""
    tasks = [
        [[{"src": f"Source {user} {n}.", "tgt": {"s1": f"Output {user} {n}."}}] for n in range(ITEMS)]
        for user in range(CLIENTS)
    ]
    return {"info": {"assignment": "task-based", "protocol": "DA"}, "campaign_id": NAME, "data": tasks}


def answers(user: str) -> list[str]:
    """Return requests that answer each of a user's documents."""
    sent = []
    for n in range(ITEMS):
        payload = {"annotation": [{"s1": {"score": n % 101, "error_spans": []}}], "actions": [{"time": float(n)}]}
        body = json.dumps({"campaign_id": NAME, "user_id": user, "item_i": n, "payload": payload})
        head = "POST /log-response HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        sent.append(f"{head}Content-Length: {len(body)}\r\n\r\n{body}")
    return sent


@contextmanager
def pearmut(folder: Path) -> Iterator[tuple[tuple[str, int], int, list[str]]]:
    """Run Pearmut; yield its address, its process id and its users."""
    program = PearmutProgram(folder)
    program.write({"campaign.json": json.dumps(file_of_campaign()).encode()})
    program.run("add", "campaign.json")
    users = list(json.loads((folder / "data" / "progress" / f"{NAME}.json").read_bytes()))
    before = set(children(os.getpid()))
    with program.serving() as url:
        (pid,) = set(children(os.getpid())) - before
        at = urlsplit(url)
        yield (at.hostname or "localhost", at.port or 80), pid, users


def measured(address: tuple[str, int], plan: list[list[str]], seconds: float, pid: int) -> tuple[dict[str, Any], float]:
    """Return the figures of the load, and the processor seconds per answer."""
    before = processor_seconds(pid)
    figures = generate(address, plan, seconds)
    return figures, (processor_seconds(pid) - before) / (figures["rate"] * seconds * WARMED)


def table(folder: Path, seconds: float, repeats: int) -> Iterator[str]:
    """Yield the lines of the page's table."""
    theirs: list[tuple[dict[str, Any], float]] = []
    ours: list[Figures] = []
    with throw_away(folder) as (server, database), pearmut(folder / "pearmut") as (address, pid, users):
        raters = campaign(server.url("owner"), database, NAME, CLIENTS)
        with serving(server.url("owner"), 1) as at:
            watched = Watched(serving_at(at[1]), postmaster(server))
            for turn in range(repeats):
                theirs.append(measured(address, [answers(user) for user in users], seconds, pid))
                ours.append(hammered(at, watched, raters, seconds, turn))
    documents = f"{ITEMS * CLIENTS:,} documents"
    yield f"Posts arrive over {CLIENTS} connections without a pause. Pearmut's campaign has {documents}."
    yield f"{load_average()}."
    yield ""
    yield "| posts | per second | processor time per post, ms | p50, ms | p99, ms | status |"
    yield "|---|--:|--:|--:|--:|---|"
    middle = sorted(theirs, key=lambda one: one[1])[len(theirs) // 2]
    yield _row("Pearmut 1.1.6", middle[0], median(taken for _, taken in theirs))
    best = sorted(ours, key=lambda one: one.taken.whole)[len(ours) // 2]
    figures = {"rate": best.rate, "p50": best.p50, "p99": best.p99, "statuses": best.statuses}
    yield _row("our service, including Postgres", figures, median(one.taken.whole for one in ours))
    pairs = ", ".join(f"{taken / one.taken.whole:.1f}" for (_, taken), one in zip(theirs, ours, strict=True))
    yield ""
    yield f"Processor time of Pearmut, relative to our service, in {len(ours)} pairs of runs: {pairs}."


def hammered(at: tuple[str, int], watched: Watched, raters: Any, seconds: float, turn: int) -> Figures:
    """Send our posts, as `benchmarks.pace` hammers them, and return their figures."""
    before = watched.taken()
    counted = generate(at, [posts(rater.task, rater.secret, turn) for rater in raters], seconds)
    taken = watched.since(before).per(counted["rate"] * seconds * WARMED)
    return Figures(counted["rate"], taken, counted["p50"], counted["p99"], counted["statuses"])


def _row(what: str, figures: dict[str, Any], taken: float) -> str:
    told = ", ".join(f"{status}: {n:,}" for status, n in figures["statuses"].items())
    times = f"{figures['p50'] * 1e3:.1f} | {figures['p99'] * 1e3:.1f}"
    return f"| {what} | {figures['rate']:,.0f} | {taken * 1e3:.2f} | {times} | {told} |"


def main() -> None:
    """Measure, and print Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--seconds", type=float, default=6, help="of each run")
    parser.add_argument("--repeats", type=int, default=3, help="pairs of runs")
    parser.add_argument("--folder", type=Path, help="where the data folder goes (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help="page to put the table into, between the marks of `peers`")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=asked.folder) as folder:
        text = "\n".join(table(Path(folder), asked.seconds, asked.repeats)) + "\n"
    print(text)
    if asked.write:
        pages.write(asked.write, text, "peers")


if __name__ == "__main__":
    main()
