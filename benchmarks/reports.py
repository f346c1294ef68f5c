"""What reports take: `python -m benchmarks.reports [--rows N] [--write docs/benchmarks-reports.md] [--with-jobs]`.

Every kind's cold time on campaigns of N judgments and of a tenth of them, as multiples of loading the same ratings in
the same run, in processor time of this process and of Postgres; and how a stored report answers beside an empty
request. On a throw-away Postgres with fsync on.
`--only KIND…` times these kinds alone; `--at-most KIND=ROWS` times one on smaller campaigns, and the table says so.
What is measured is told as it is, each line with the seconds since the start. Kinds that are jobs are computed by this
one process.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

# One thread per process for linear algebra, as in the service, set before numpy is imported: threads that wait for
# each other on a busy machine made a report seventeen times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from app.domain.errors import Invalid
from app.domain.recipe import NAMED
from app.reports import registry
from app.reports.inputs import recipe_ratings, snapshot
from app.reports.kit import request, store
from app.reports.kit.report import Report
from app.storage import embedded, migrate
from app.storage.db import APP_ROLE, Database
from benchmarks import pages, reports_asked, reports_data
from benchmarks.children import run
from benchmarks.processes import ProcessorClock, load_average, postmaster
from benchmarks.reports_asked import Asked
from benchmarks.reports_stored import EMPTY, GOALS, stored

GOAL: Final = 10.0
IMPORTED: Final[Mapping[str, int]] = {"da_sqm": 7, "da_sqm-2": 8, "xsts": 7, "xsts-2": 8, "mqm2": 7, "postedit": 7}
"""Seeds of the campaigns by protocol; the second campaign of a protocol is half as large."""
_begun = time.perf_counter()


class Page(NamedTuple):
    """What a run prints. answers: milliseconds of stored reports; empty if these were not requested."""

    found: Sequence[Cold]
    answers: Sequence[tuple[str, float]]
    sizes: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cold:
    """A kind at both sizes. load, seconds: medians or single runs, in seconds; why: the reason if there are none."""

    name: str
    long: bool
    sizes: tuple[int, int]
    load: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    why: str | None = None

    @property
    def exponent(self) -> float | None:
        """The exponent b in time ~ n^b between the two sizes."""
        small, large = self.seconds
        return log(large / small) / log(self.sizes[1] / self.sizes[0]) if small and large else None


def say(line: str) -> None:
    """Print progress at once, with the seconds since the start of the run."""
    print(f"{time.perf_counter() - _begun:8.1f} s  {line}", file=sys.stderr, flush=True)


def filled(url: str, folder: Path, n: int, names: Sequence[str]) -> None:
    """Import some campaigns of one size."""
    for name in names:
        protocol, size = name.removesuffix("-2"), n // 2 if name.endswith("-2") else n
        file = folder / f"{name}.jsonl"
        reports_data.campaign(file, protocol, size, IMPORTED[name])
        say(f"importing {_key(name, n)}")
        run("import", url, _key(name, n), "jsonl", protocol, str(file))
        file.unlink()


def _key(name: str, n: int) -> str:
    return f"{name}-{n}"


def loading(database: Database, clock: ProcessorClock, campaigns: Sequence[str]) -> float:
    """Return the seconds to read all ratings of some campaigns, the median of three."""
    took = []
    for _ in range(3):
        begun = clock()
        with database.transaction() as session:
            for campaign in campaigns:
                recipe_ratings.load_recipe_ratings(
                    session, snapshot.load_snapshot(session, campaign, None), NAMED["recommended"]
                )
        took.append(clock() - begun)
    return median(took)


def cold(
    database: Database, clock: ProcessorClock, kind: Report[Any, Any], campaigns: tuple[str, ...], repeats: int
) -> tuple[float, str | None]:
    """Return the seconds to make a report, including reading, with nothing stored; or why there is none."""
    asking = request.ReportRequest(kind, campaigns, request.parse_report_options(kind, {}))
    took = []
    for _ in range(repeats):
        begun = clock()
        try:
            with database.transaction() as session:
                found = store.look_up_report(session, asking)
                work = kind.prepare(session, found.about, asking.options)
            store.compute_report(work, on_progress=lambda _done, _total: None, should_stop=lambda: False)
        except Invalid as error:
            return 0.0, str(error.places[0].msg if error.places else error.detail or error.title())
        took.append(clock() - begun)
    return median(took), None


def timed(database: Database, clock: ProcessorClock, name: str, kind: Report[Any, Any], wanted: Asked) -> Cold:
    """Time one kind at both of its sizes: the median of three runs, or for a job a single run."""
    sizes, why = wanted.sizes(name), wanted.left_out(name, kind)
    if why is not None:
        return Cold(name, kind.long, sizes, why=why)
    load, seconds = [], []
    for n in sizes:
        about = tuple(_key(each, n) for each in reports_asked.about(name))
        took, why = cold(database, clock, kind, about, 1 if kind.long else 3)
        load.append(loading(database, clock, about))
        seconds.append(took)
        say(f"{name} at {n:,}: {why or f'{took:.2f} s, loading {load[-1]:.2f} s'}")
    return Cold(name, kind.long, sizes, tuple(load), tuple(seconds), why)


def table(page: Page) -> str:
    """Return both tables as Markdown; the second only if stored reports were requested."""
    small, large = page.sizes
    lines = [
        f"| kind | {small:,}, s | {large:,}, s | × loading, {small:,} | × loading, {large:,} | exponent | |",
        "|---|--:|--:|--:|--:|--:|---|",
        *(_row(one, page.sizes) for one in page.found),
    ]
    if page.answers:
        empty = dict(page.answers)[EMPTY]
        lines += ["", "| request | ms, median | × empty | goal |", "|---|--:|--:|---|"]
        lines += [
            f"| {what} | {ms:.2f} | {ms / empty:.1f} | {f'≤ {GOAL:g}' if what.endswith(GOALS) else ''} |"
            for what, ms in page.answers
        ]
    return "\n".join(lines)


def _row(one: Cold, sizes: tuple[int, int]) -> str:
    """Return a line of the first table. Each figure whose size differs from the heading names its own size."""
    capped = f"at most {one.sizes[1]:,}" if one.load and one.sizes != sizes else ""
    note = ", ".join(filter(None, (one.why or ("job" if one.long else ""), capped)))
    if one.why:
        return f"| {one.name} | | | | | | {note} |"
    at = ["" if here == there else f" (at {here:,})" for here, there in zip(one.sizes, sizes, strict=True)]
    ratio = [f"{s / base:.1f}" for s, base in zip(one.seconds, one.load, strict=True)]
    took = [f"{s:.2f}" for s in one.seconds]
    cells = [f"{cell}{size}" for cell, size in zip((*took, *ratio), (*at, *at), strict=True)]
    exponent = "" if one.exponent is None else f"{one.exponent:.2f}"
    return f"| {one.name} | {' | '.join((*cells, exponent, note))} |"


def measured(wanted: Asked, scratch: Path) -> Page:
    """Fill a throw-away database with what the run needs, and take the requested measurements."""
    with embedded.start_server(scratch / "data") as server:
        migrate.upgrade_schema(server.url("owner"))
        with closing(Database(server.url("owner"), role=APP_ROLE)) as database:
            for n, names in wanted.needed().items():
                filled(server.url("app"), scratch, n, names)
            clock = ProcessorClock(postmaster(server))
            found = [timed(database, clock, name, registry.ALL[name], wanted) for name in wanted.names]
            if wanted.only:
                return Page(found, (), wanted.sizes())
            campaign = _key(reports_asked.FIRST_ONE, wanted.rows)
            say(f"stored reports of {campaign}")
            return Page(found, stored(database, server.url("owner"), campaign, wanted.requests), wanted.sizes())


def main() -> None:
    """Measure, print the tables, and write them to a page if one is named."""
    wanted = reports_asked.read(None, __doc__)
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-") as scratch:
        Path(scratch).chmod(0o711)  # under root, the server runs as another user, who needs access
        shown = table(measured(wanted, Path(scratch)))
    print(shown)
    if wanted.write is not None:
        pages.write(wanted.write, f"The first table shows processor time. {load_average()}.\n\n{shown}\n")


if __name__ == "__main__":
    main()
