"""Time and memory of an earlier version and of this one: `python -m benchmarks.versions --before CHECKOUT`.

Each measurement is taken in turn from another checkout, with a `.venv` of its own, and from this one, on one machine.
Both answer over HTTP, on campaigns that their own commands have imported from the same files. Before each part, both
are started anew, and stored reports are deleted.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import psycopg

from benchmarks import hot_data, pages, reports_data, serve, synthetic
from benchmarks.children import ROOT
from benchmarks.hot import CLIENTS, keep_time
from benchmarks.managers import PROBE, probes
from benchmarks.pace import PAUSES, Pace, Rater
from benchmarks.processes import load_average
from benchmarks.version_service import PeakMemory, Spent, VersionService, installed

LARGE, SMALL, EDITED, PACE = "large", "small", "edited", "pace"
"""Keys of campaigns: of MQM judgments, of direct assessments, of post-edits, and one whose raters post."""
SEGMENTS: Final = f"/v1/campaigns/{LARGE}/ranking/segments"
CHANGES: Final = 120
LOOKS: Final = 4
MANAGERS: Final = 4
"""Clients that request segment scores again and again."""
STUDIES: Final = 1000
SMALLEST: Final = 0.1
"""Processor time is counted in ticks of 0.01 s, so the ratio of a smaller figure says little."""
Figures = Mapping[str, float]
"""What was measured, by its name on the page."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Judgments of the campaigns, raters who post, seconds of each run, and changes of a campaign."""

    large: int = 1_000_000
    small: int = 140_000
    edited: int = 14_000
    raters: int = 2_000
    seconds: float = 60.0
    changes: int = CHANGES


def start(service: VersionService, _: Sizes) -> Iterator[Figures]:
    """Measure how long commands take to start."""
    service.start()
    service.call("GET", f"/v1/campaigns/{SMALL}/ranking")
    service.stop()
    environment = service.environment
    yield {
        "`plumbline --help`, s": serve.until_done([*service.command, "--help"], environment, service.checkout),
        "`plumbline rank` of a stored ranking, s": serve.until_done(
            [*service.command, "rank", SMALL], environment, service.checkout
        ),
        "`plumbline serve` on an empty folder, until ready, s": serve.until_ready(
            service.folder, [*service.command, "serve", "--port", "0"], service.checkout
        ),
    }


def managers(service: VersionService, sizes: Sizes) -> Iterator[Figures]:
    """Measure what managers request from the largest campaign, and what others notice of it."""
    service.start()
    at_first = service.memory
    with PeakMemory(service) as peak:
        for n in range(LOOKS):
            spent = service.taken_by("GET", f"/v1/campaigns/{LARGE}/progress")
            which = "first look" if n == 0 else "further look"
            yield {f"progress, {which}: processor time of Postgres, s": spent.postgres}
        for name in ("quality", "ingest"):
            for which in ("first", "second"):
                spent = service.taken_by("GET", f"/v1/campaigns/{LARGE}/reports/{name}")
                yield {
                    f"{name} report, {which} request: processor time of the web process, s": spent.web,
                    f"{name} report, {which} request: processor time, s": spent.processor,
                    f"{name} report, {which} request: elapsed, s": spent.elapsed,
                }
        for which in ("first", "second"):
            spent = service.taken_by("GET", SEGMENTS)
            yield {
                f"segment scores, {which} request: processor time of the web process, s": spent.web,
                f"segment scores, {which} request: processor time, s": spent.processor,
            }
        alone = probed(service, sizes.seconds / 3)
        with segment_requests(service):
            beside = probed(service, sizes.seconds / 3)
    yield {
        "`/livez` alone: p99, ms": alone,
        f"`/livez` beside {MANAGERS} clients that request segment scores: p99, ms": beside,
        "memory of the web process at first, MB": at_first,
        "peak memory of the web process, MB": peak.web,
        "memory of the web process afterward, MB": service.memory,
        "peak memory of the worker, MB": peak.worker,
    }


def probed(service: VersionService, seconds: float) -> float:
    """Return the p99 of requests that do nothing, ten per second, in milliseconds."""
    figures = keep_time(service.address, 1, list(probes(0, seconds)))[PROBE]
    assert set(figures["statuses"]) == {"200"}, figures
    return float(figures["p99"]) * 1e3


@contextmanager
def segment_requests(service: VersionService) -> Iterator[None]:
    """Let some clients request segment scores during a block, each as soon as it has its answer."""
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            service.call("GET", SEGMENTS)

    with ThreadPoolExecutor(MANAGERS) as pool:
        asking = [pool.submit(ask) for _ in range(MANAGERS)]
        try:
            yield
        finally:
            done.set()
    for client in asking:
        client.result()


def reports(service: VersionService, sizes: Sizes) -> Iterator[Figures]:
    """Measure long reports: the processor time of all processes together, and the time until they arrive."""
    service.start()
    path, about = f"/v1/campaigns/{SMALL}", f"{sizes.small:,} judgments"
    yield made(f"components of {about}", service.taken_by("GET", f"{path}/reports/components"))
    yield made(f"power of {about}", service.taken_by("GET", f"{path}/reports/power"))
    asked = {"designs": [{"normalize": "z"}], "documents": [sizes.small // 1400], "studies": STUDIES, "seed": 1}
    yield made(f"stability of {about}, {STUDIES:,} studies", service.taken_by("POST", f"{path}/stability", asked))
    edited = service.taken_by("GET", f"/v1/campaigns/{EDITED}/reports/postediting")
    yield made(f"post-editing report, {sizes.edited:,} judgments", edited)


def made(what: str, spent: Spent) -> Figures:
    """Return the figures of a long report."""
    return {f"{what}: processor time, s": spent.processor, f"{what}: elapsed, s": spent.elapsed}


def stored(service: VersionService, sizes: Sizes) -> Iterator[Figures]:
    """Count the stored rankings of a campaign that changes, and whose ranking is requested after each change."""
    service.start(worker=False)
    path, excluded = f"/v1/campaigns/{EDITED}/exclusions", None
    for _ in range(sizes.changes):
        if excluded is None:
            excluded = service.call("POST", path, {"system": "system-02", "reason": "withdrawn"})["exclusion"]
        else:
            service.call("DELETE", f"{path}/{excluded}?reason=back")
            excluded = None
        service.call("GET", f"/v1/campaigns/{EDITED}/ranking")
    counts = [count_rankings(service, "0 s")]
    for later in ("2 hours", "31 days"):
        count_rankings(service, later)
        service.run("worker", "--once")
        counts.append(count_rankings(service, "0 s"))
    what = f"stored rankings after {sizes.changes} changes"
    yield dict(zip((what, f"{what}, two hours later", f"{what}, a month later"), counts, strict=True))


def count_rankings(service: VersionService, older: str) -> int:
    """Count a version's stored rankings after making all stored reports older by an interval."""
    with psycopg.connect(service.url, autocommit=True) as db:
        db.execute("UPDATE reports SET created_at = created_at - %s::interval", (older,))
        row = db.execute("SELECT count(*) FROM reports WHERE kind = 'ranking'").fetchone()
    assert row is not None
    return int(row[0])


def posting(service: VersionService, sizes: Sizes) -> Iterator[Figures]:
    """Measure posts from raters who pause, and from connections that never pause, with one and two web processes."""
    raters = [Rater(task, secret) for task, secret in held(service, sizes.raters).items()]
    for workers in (1, 2):
        service.start(workers, worker=False)
        pace = Pace(service.address, service.watched, raters)
        if workers == 1:
            pace.settle()
            human = pace.human(len(raters), sizes.seconds, PAUSES)
            assert set(human.statuses) == {"200"}, human.statuses
            yield {
                f"a post from one of {sizes.raters:,} raters who pause: processor time, ms": human.taken.whole * 1e3,
                f"a post from one of {sizes.raters:,} raters who pause: p99, ms": human.p99 * 1e3,
            }
        hammered = pace.hammered(sizes.seconds / 6, workers)
        assert set(hammered.statuses) == {"200"}, hammered.statuses
        if workers == 1:
            yield {"a post without pauses: processor time, ms": hammered.taken.whole * 1e3}
        processes = f"{workers} web process{'es' * (workers > 1)}"
        yield {f"posts per second from {CLIENTS} connections, {processes}": hammered.rate}
        service.stop()


def held(service: VersionService, raters: int) -> Mapping[str, str]:
    """Return the secrets of raters by the tasks that they hold; the campaign is created when first needed."""
    return hot_data.judged(service.url, f"{PACE}-{time.monotonic_ns()}", raters)


PARTS: Final[Mapping[str, Callable[[VersionService, Sizes], Iterator[Figures]]]] = {
    "start": start,
    "managers": managers,
    "reports": reports,
    "stored": stored,
    "posting": posting,
}
ONCE: Final = frozenset({"stored"})
"""Parts whose counts are the same in every run."""


@dataclass(slots=True)
class Taken:
    """Figures of both versions, by name, in the order of the runs."""

    before: dict[str, list[float]] = field(default_factory=dict)
    now: dict[str, list[float]] = field(default_factory=dict)

    def note(self, side: str, figures: Figures) -> None:
        """Add figures of one version, and print them. side: `before` or `now`."""
        taken: dict[str, list[float]] = getattr(self, side)
        for what, figure in figures.items():
            taken.setdefault(what, []).append(figure)
            print(f"{time.strftime('%H:%M:%S')} {side:6} {what}: {rounded(figure)}", file=sys.stderr, flush=True)

    def table(self) -> Iterator[str]:
        """Yield the lines of a table; the ratio is of medians."""
        yield "| what | before | now | before ÷ now |"
        yield "|---|--:|--:|--:|"
        for what, old in self.before.items():
            new = self.now[what]
            yield f"| {what} | {', '.join(map(rounded, old))} | {', '.join(map(rounded, new))} | {ratio_of(old, new)} |"


def rounded(figure: float) -> str:
    """Format a figure: counts and all from a hundred on without decimal places, others with two."""
    return f"{figure:,.0f}" if figure >= 100 or isinstance(figure, int) else f"{figure:.2f}"


def ratio_of(old: Sequence[float], new: Sequence[float]) -> str:
    """Format the ratio of the medians; empty if one of them is too small to measure."""
    if min(median(old), median(new)) < SMALLEST:
        return ""
    ratio = median(old) / median(new)
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"


def fill(services: Sequence[VersionService], sizes: Sizes, folder: Path) -> None:
    """Import the campaigns into both versions, from the same files and by their own commands."""
    files = {key: folder / f"{key}.file" for key in (LARGE, SMALL, EDITED)}
    synthetic.mqm_tsv(files[LARGE], synthetic.whole(sizes.large))
    reports_data.campaign(files[SMALL], "da_sqm", sizes.small)
    reports_data.campaign(files[EDITED], "postedit", sizes.edited)
    for service in services:
        for key, file in files.items():
            service.run("import", key, str(file), "--format", "mqm-tsv" if key == LARGE else "jsonl")
        with psycopg.connect(service.url, autocommit=True) as db:
            db.execute("VACUUM ANALYZE")  # what autovacuum would do a minute later
    for file in files.values():
        file.unlink()


def measure(services: Sequence[VersionService], sizes: Sizes, parts: Sequence[str], repeats: int) -> Taken:
    """Take each part from both versions in turn."""
    taken = Taken()
    for part in parts:
        for _ in range(1 if part in ONCE else repeats):
            for side, service in zip(("before", "now"), services, strict=True):
                for figures in PARTS[part](service, sizes):
                    taken.note(side, figures)
                service.stop()
    return taken


def main() -> None:
    """Measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="another checkout with a .venv, to compare with")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--repeats", type=int, default=2, help="pairs of runs")
    for name, default in (("large", 1_000_000), ("small", 140_000), ("edited", 14_000)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"judgments of the campaign `{name}`")
    parser.add_argument("--raters", type=int, default=2_000, help="raters who post")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the longest run")
    parser.add_argument("--changes", type=int, default=CHANGES, help="of the campaign whose rankings are counted")
    parser.add_argument("--folder", type=Path, help="where the data folders go (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help="page to put the table into, between the marks of `versions`")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sizes = Sizes(asked.large, asked.small, asked.edited, asked.raters, asked.seconds, asked.changes)
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=asked.folder)))
        folder.chmod(0o711)  # under root, the servers run as another user, who needs access
        services = opened.enter_context(installed([asked.before, ROOT], folder))
        for service in services:
            service.start(worker=False)  # creates the tables
            service.stop()
        load = load_average()
        fill(services, sizes, folder)
        taken = measure(services, sizes, asked.only, asked.repeats)
    text = "\n".join([f"{load}.", "", *taken.table()]) + "\n"
    print(text)
    if asked.write:
        pages.write(asked.write, text, "versions")


if __name__ == "__main__":
    main()
