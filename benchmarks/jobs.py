"""Stability as a job: `python -m benchmarks.jobs [--processes 2]`.

Figures 3–8 of Riley et al. 2024 on a synthetic campaign of their size, imported into a database of its own, asked for
as a job and computed by `plumbline worker`; the same asked twice, and with another seed. Meanwhile how long posting a
judgment takes over HTTP, in turns beside computing processes and beside the same ones paused, by a rater alone
and by sixteen at once who do nothing else; and how long the smallest durable transaction takes, without any service.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
from sqlalchemy import text

from app.cli.worker import choose_computing_process_count
from app.formats.base import InputFile
from app.reports.kit.report import StoredReport
from app.reports.kit.request import ReportRequest
from app.reports.stability.options import StabilityIn
from app.reports.stability.report import REPORT
from app.reports.stability.view import StabilityView
from app.services.data import imports
from app.services.jobs import jobs, report_requests
from app.services.jobs.jobs import JobView
from app.stats.stability.multiply_rated_documents import MultiplyRatedDocuments
from app.storage import embedded, migrate
from app.storage.db import Database
from benchmarks import hot_data
from benchmarks.hot import CLIENTS, load, posts, serving
from benchmarks.stability import campaign

HEAD = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata\n"
PATIENCE = 1800.0  # seconds
SECONDS = 2.0  # of posting in each turn
ROUNDS = 8


def table(data: MultiplyRatedDocuments, file: Path) -> None:
    """Write the campaign as an MQM file whose errors are minor or major according to its scores."""
    with file.open("w") as out:
        out.write(HEAD)
        assert data.errors is not None
        first = {int(d): n for n, d in reversed(list(enumerate(data.document.tolist())))}
        for n, d in enumerate(data.document.tolist()):
            pool = data.pools[data.bucket[d]]
            for s, system in enumerate(data.systems):
                for k, rater in enumerate(pool.tolist()):
                    row = [system, data.documents[d], str(n - first[d] + 1), str(n + 1), data.raters[rater]]
                    row += [f"Source {n}.", f"Target {n} of {system}."]
                    errors, score = int(data.errors[n, s, k]), int(data.score[n, s, k])
                    major = (score - errors) // 4
                    marked = ["Major"] * major + ["Minor"] * (errors - major)
                    for severity in marked or ["No-error"]:
                        out.write("\t".join([*row, "Accuracy" if marked else "No-error", severity, ""]) + "\n")


def ask(database: Database, seed: int) -> StoredReport | JobView:
    """Request all figures."""
    options = StabilityIn(designs="paper", seed=seed)
    return report_requests.find_or_queue_report(database, ReportRequest(REPORT, ("paper",), options))


@contextmanager
def worker(url: str, folder: Path, processes: int) -> Iterator[psutil.Process]:
    """Run a worker for the duration of a block."""
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": url, "PLUMBLINE_DATA_DIR": str(folder)}
    command = [sys.executable, "-m", "app.cli", "worker", "--processes", str(processes)]
    process = subprocess.Popen(command, env=environment)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(30)


def until_done(database: Database, job: JobView, look: Callable[[JobView], None]) -> JobView:
    """Poll a job until it has ended."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with database.transaction() as session:
            view = jobs.get_job(session, job.job)
        look(view)
        if view.has_ended:
            return view
        time.sleep(0.5)
    raise SystemExit("it takes too long")


def memory_of(process: psutil.Process) -> float:
    """Return the megabytes of the largest process of a worker."""
    everyone = [process, *process.children(recursive=True)]
    return float(max(one.memory_info().rss for one in everyone) / 1e6)


def once(database: Database, job: JobView, busy: psutil.Process) -> None:
    """Print the duration, memory and processor time of a job."""
    peak, spent = 0.0, 0.0

    def look(view: JobView) -> None:
        nonlocal peak, spent
        peak = max(peak, memory_of(busy))
        times = [one.cpu_times() for one in busy.children(recursive=True)]
        spent = max(spent, sum(one.user + one.system for one in times))
        print(f"\r{view.done} of {view.total} chunks, {view.seconds:.0f} s", end="", file=sys.stderr)

    view = until_done(database, job, look)
    print(file=sys.stderr)
    load = os.getloadavg()[0]
    print(f"{view.state}: {view.total} chunks, {view.seconds:.1f} s from the first, {spent:.0f} s of processor time")
    print(f"largest process {peak:.0f} MB; {load:.1f} processes wanted to run on {os.cpu_count()} cores")
    assert view.state == "done", view.error


def twice(database: Database) -> None:
    """Print how long the second answer takes, and how far another seed differs, in units of its error."""
    begun = time.perf_counter()
    first = ask(database, 1)
    assert isinstance(first, StoredReport)
    print(f"the second answer: {1e3 * (time.perf_counter() - begun):.0f} ms, {len(first.body) / 1e3:.0f} kB")
    other = ask(database, 2)
    assert isinstance(other, StoredReport)
    one, two = (StabilityView.model_validate_json(each.body) for each in (first, other))
    gaps = [
        abs(a.srp - b.srp) / (a.mc_error**2 + b.mc_error**2) ** 0.5
        for x, y in zip(one.curves, two.curves, strict=True)
        for a, b in zip(x.points, y.points, strict=True)
        if a.mc_error and b.mc_error
    ]
    far = sum(gap > 3 for gap in gaps)
    print(f"another seed: {len(gaps)} points, {far} beyond 3 combined errors, the largest {max(gaps):.1f}")


def beside(database: Database, n: int = 100) -> list[float]:
    """Return the milliseconds of repeated small durable transactions."""
    taken = []
    for _ in range(n):
        begun = time.perf_counter()
        with database.transaction() as session:
            session.execute(text("UPDATE beside SET n = n + 1"))
        taken.append(1e3 * (time.perf_counter() - begun))
        time.sleep(0.005)
    return taken


def _post_times(address: tuple[str, int], plans: Sequence[Sequence[Sequence[str]]], turn: int) -> list[float]:
    """Return the 99th percentile of the posts in one turn, in milliseconds."""
    return [1e3 * load(address, plans[turn % 2], SECONDS)["p99"]]


def in_turns(database: Database, url: str, busy: psutil.Process, plan: Mapping[str, str]) -> None:
    """Print the times of posts and transactions while other processes compute, and while these are paused."""
    with serving(url, 1) as address:
        for raters in (1, CLIENTS):
            some = list(plan.items())[:raters]
            asked = [[posts(task, secret, n) for task, secret in some] for n in (0, 1)]
            compared(
                f"a post, {raters} at once, p99",
                busy,
                partial(_post_times, address, asked),
                statistics.median,
            )
    compared("a durable transaction, p99", busy, lambda _: beside(database), p99)


def compared(
    what: str, busy: psutil.Process, measure: Callable[[int], list[float]], summed: Callable[[list[float]], float]
) -> None:
    """Measure in turn with computing and with paused processes, and print the comparison."""
    children = busy.children(recursive=True)
    computing, paused = [], []
    for turn in range(0, 2 * ROUNDS, 2):
        computing += measure(turn)
        for child in children:
            child.suspend()
        paused += measure(turn + 1)
        for child in children:
            child.resume()
    still, both = summed(paused), summed(computing)
    print(f"{what}: {still:.1f} ms at rest, {both:.1f} ms beside: {both / still:.1f} × (≤ 3)")


def p99(values: list[float]) -> float:
    """Return the 99th percentile."""
    return statistics.quantiles(values, n=100)[-1]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jobs", description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        with embedded.start_server(folder / "data") as server:
            url = server.url("owner")
            migrate.upgrade_schema(url)
            database = Database(url, size=4)
            measured(database, url, folder, asked.processes)
            database.close()


def measured(database: Database, url: str, folder: Path, processes: int) -> None:
    """Take all measurements on a database."""
    table(campaign(), folder / "paper.tsv")
    file = InputFile("paper.tsv", lambda: (folder / "paper.tsv").open("rb"))
    imports.import_local_files(
        database, "paper", format="mqm-tsv", files=[file], options={}, dry_run=False, skip_bad_lines=False, actor="-"
    )
    with database.transaction() as session:
        session.execute(text("CREATE TABLE beside AS SELECT 0 AS n"))
    with worker(url, folder, processes) as busy:
        for seed in (1, 2):
            job = ask(database, seed)
            assert isinstance(job, JobView)
            once(database, job, busy)
    twice(database)
    plan = hot_data.judged(url, "posts", CLIENTS)
    cores = os.cpu_count() or 1
    for n in sorted(
        {choose_computing_process_count(cores, beside_server=True), cores}
    ):  # as `plumbline serve` has it, and as a worker alone
        running = [job for seed in range(10 * n, 10 * n + 3) if isinstance(job := ask(database, seed), JobView)]
        with worker(url, folder, n) as busy:
            until_done_some(database, running[0])
            print(f"beside jobs, on {n} of {cores} cores:")
            in_turns(database, url, busy, plan)


def until_done_some(database: Database, job: JobView) -> None:
    """Wait until some chunks are computed."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with database.transaction() as session:
            if jobs.get_job(session, job.job).done:
                return
        time.sleep(0.2)


if __name__ == "__main__":
    main()
