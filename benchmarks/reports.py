"""What reports take: `python -m benchmarks.reports [--rows N] [--write docs/benchmarks-reports.md] [--with-jobs]`.

Every kind's cold time on campaigns of N judgments and of a tenth of them, as multiples of loading the same ratings in
the same run; and how a stored report answers beside an empty request. On a throw-away Postgres with fsync on.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import log10
from pathlib import Path
from statistics import median
from typing import Any, Final

# One thread a process for the linear algebra, before anything imports numpy, as in the service: threads that wait for
# each other on a busy machine made a report seventeen times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import httpx
import numpy as np

from app.domain.errors import Invalid
from app.domain.recipe import NAMED
from app.services import asked, kinds, reports, tokens
from app.services.kinds._base import Kind
from app.storage import embedded, migrate
from app.storage.db import APP_ROLE, Database
from benchmarks import reports_data
from benchmarks.children import run
from benchmarks.hot import MARKS, serving

ROWS: Final = 140_000
GOAL: Final = 2.0
REQUESTS: Final = 200
ON: Final[Mapping[str, tuple[str, ...]]] = {
    "campaign/postediting": ("postedit",),
    "campaigns/postediting_da": ("postedit", "da_sqm"),
    "campaigns/xsts": ("xsts",),
    "campaigns/linking": ("xsts", "xsts-2"),
    "campaigns/agreement": ("da_sqm", "da_sqm-2"),
    "campaigns/protocols": ("da_sqm", "da_sqm-2"),
    "campaigns/ui": ("da_sqm", "da_sqm-2"),
    "campaigns/robustness": ("da_sqm", "da_sqm-2"),
}
"""Campaigns that a kind is about, by protocol; else the first one."""
NO_DATA: Final = "preferences"
"""Preferences come from screens, not from judgments: there are none here."""
STORED: Final = ("card", "distributions", "agreement")
FIRST: Final = "first in a process"
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Cold:
    """A kind at both sizes. load, seconds: medians or single runs, in seconds; why: what it refused."""

    name: str
    long: bool
    load: tuple[float, ...]
    seconds: tuple[float, ...]
    why: str | None = None

    @property
    def exponent(self) -> float | None:
        """b of time ~ n^b between the two sizes."""
        small, large = self.seconds
        return log10(large / small) if small and large else None


def filled(url: str, folder: Path, n: int) -> dict[str, str]:
    """Import all campaigns of one size; their keys."""
    keys = {}
    for name, seed in (("da_sqm", 7), ("da_sqm-2", 8), ("xsts", 7), ("xsts-2", 8), ("postedit", 7)):
        protocol, size = name.removesuffix("-2"), n // 2 if name.endswith("-2") else n
        file, key = folder / f"{name}.jsonl", f"{name}-{n}"
        reports_data.campaign(file, protocol, size, seed)
        print(f"importing {key}", file=sys.stderr)
        run("import", url, key, "jsonl", protocol, str(file))
        file.unlink()
        keys[name] = key
    return keys


def loading(database: Database, campaigns: Sequence[str]) -> float:
    """Seconds of reading all ratings of some campaigns, median of three."""
    took = []
    for _ in range(3):
        begun = time.perf_counter()
        with database.transaction() as session:
            for campaign in campaigns:
                reports.load(session, reports.question(session, campaign, None), NAMED["recommended"])
        took.append(time.perf_counter() - begun)
    return median(took)


def cold(
    database: Database, kind: Kind[Any, Any], campaigns: tuple[str, ...], repeats: int
) -> tuple[float, str | None]:
    """Seconds until a report is made, its reading included, nothing stored; or why there is none."""
    asking = asked.Asking(kind, campaigns, asked.asked_of(kind, {}))
    took = []
    for _ in range(repeats):
        begun = time.perf_counter()
        try:
            with database.transaction() as session:
                found = asked.find(session, asking)
                work = kind.prepare(session, found.about, asking.asked)
            asked.computed(work, on_progress=lambda _done, _total: None, should_stop=lambda: False)
        except Invalid as error:
            return 0.0, str(error.places[0].msg if error.places else error.detail or error.title())
        took.append(time.perf_counter() - begun)
    return median(took), None


def kinds_timed(
    database: Database, keys: Sequence[Mapping[str, str]], *, jobs: bool, without: Sequence[str]
) -> list[Cold]:
    """Every kind on the campaigns that fit it, at each size."""
    found = []
    for name, kind in sorted(kinds.ALL.items()):
        left = "its data are screens, not judgments" if kind.name == NO_DATA else "a job with progress"
        if kind.name == NO_DATA or (kind.long and not jobs):
            found.append(Cold(name, kind.long, (), (), f"{left}: not timed here"))
            continue
        if name in without:
            found.append(Cold(name, kind.long, (), (), "left out of this run"))
            continue
        load, seconds, why = [], [], None
        for of in keys:
            about = tuple(of[each] for each in ON.get(name, ("da_sqm",)))
            took, why = cold(database, kind, about, 1 if kind.long else 3)
            load.append(loading(database, about))
            seconds.append(took)
        print(f"{name}: {seconds} {why or ''}", file=sys.stderr)
        found.append(Cold(name, kind.long, tuple(load), tuple(seconds), why))
    return found


def stored(database: Database, url: str, campaign: str, requests: int) -> list[tuple[str, float]]:
    """Milliseconds of an empty request and of stored reports on one server, medians, taken in turn."""
    with database.transaction() as session:
        secret = tokens.issue(session, role="manager", name="bench").secret
    for name in STORED:
        kind = kinds.ALL[f"campaign/{name}"]
        query = {"bootstrap": "0"} if name == "agreement" else {}
        asked.report(database, asked.Asking(kind, (campaign,), asked.asked_of(kind, query)))
    reports.ranking(database, campaign, recipe=NAMED["recommended"])
    with serving(url, 1) as (host, port), httpx.Client(base_url=f"http://{host}:{port}", trust_env=False) as client:
        known = {"Authorization": f"Bearer {secret}"}
        wanted: dict[str, Callable[[], httpx.Response]] = {"empty: /livez": lambda: client.get("/livez")}
        for name in STORED:
            path = f"/v1/campaigns/{campaign}/reports/{name}" + ("?bootstrap=0" if name == "agreement" else "")
            tag = {**known, "If-None-Match": client.get(path, headers=known).headers["etag"]}
            wanted[f"{name}, 200"] = partial(client.get, path, headers=known)
            wanted[f"{name}, 304"] = partial(client.get, path, headers=tag)
            wanted[f"{name}, {FIRST}"] = partial(_anew, client, path, known)
        path = f"/v1/campaigns/{campaign}/ranking"
        tag = {**known, "If-None-Match": client.get(path, headers=known).headers["etag"]}
        wanted["ranking, 200"] = partial(client.get, path, headers=known)
        wanted["ranking, 304"] = partial(client.get, path, headers=tag)
        wanted[f"ranking, {FIRST}"] = partial(_anew, client, path, known)
        wanted["credential only: /v1/me"] = partial(client.get, "/v1/me", headers=known)
        took: dict[str, list[float]] = {what: [] for what in wanted}
        for _ in range(requests):
            for what, get in wanted.items():
                begun = time.perf_counter()
                answer = get()
                took[what].append(time.perf_counter() - begun)
                assert answer.status_code == (304 if what.endswith("304") else 200), answer.text
    return [(what, 1000 * float(np.median(each))) for what, each in took.items()]


def _anew(client: httpx.Client, path: str, known: Mapping[str, str]) -> httpx.Response:
    """A stored report in words that this service has not seen, so that it looks for it in the store."""
    return client.get(path, headers={**known, "Accept": f"application/json, x/{next(_numbers)};q=0.1"})


def table(found: Sequence[Cold], answers: Sequence[tuple[str, float]], sizes: Sequence[int]) -> str:
    """Both tables as Markdown."""
    small, large = sizes
    lines = [
        f"| kind | {small:,}, s | {large:,}, s | × loading, {small:,} | × loading, {large:,} | exponent | |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for one in found:
        note = one.why or ("job" if one.long else "")
        if one.why:
            lines.append(f"| {one.name} | | | | | | {note} |")
            continue
        ratio = [f"{s / base:.1f}" for s, base in zip(one.seconds, one.load, strict=True)]
        cells = [f"{one.seconds[0]:.2f}", f"{one.seconds[1]:.2f}", *ratio, f"{one.exponent:.2f}", note]
        lines.append(f"| {one.name} | {' | '.join(cells)} |")
    empty = dict(answers)["empty: /livez"]
    lines += ["", "| request | ms, median | × empty | goal |", "|---|--:|--:|---|"]
    lines += [
        f"| {what} | {ms:.2f} | {ms / empty:.1f} | {f'≤ {GOAL:g}' if what.endswith(('200', '304')) else ''} |"
        for what, ms in answers
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print the tables, and put them into a page where one is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="judgments of a campaign")
    parser.add_argument("--requests", type=int, default=REQUESTS, help="of each kind of request")
    parser.add_argument("--with-jobs", action="store_true", help="time the kinds that are jobs, too")
    parser.add_argument("--without", nargs="*", default=[], help="kinds that are left out, as campaign/arms")
    parser.add_argument("--write", type=Path, help="page to put the tables into, between its marks")
    given = parser.parse_args()
    sizes = given.rows // 10, given.rows
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-") as scratch:
        Path(scratch).chmod(0o711)  # under root the server runs as another user, who must get through
        with embedded.start(Path(scratch) / "data") as server:
            migrate.upgrade(server.url("owner"))
            with closing(Database(server.url("owner"), role=APP_ROLE)) as database:
                keys = [filled(server.url("app"), Path(scratch), n) for n in sizes]
                found = kinds_timed(database, keys, jobs=given.with_jobs, without=given.without)
                answers = stored(database, server.url("owner"), keys[1]["da_sqm"], given.requests)
    shown = table(found, answers, sizes)
    print(shown)
    if given.write is not None:
        before, _, rest = given.write.read_text(encoding="utf-8").partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        given.write.write_text(f"{before}{MARKS[0]}\n{shown}\n\n{MARKS[1]}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
