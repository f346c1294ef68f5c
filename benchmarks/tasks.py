"""What is timed, one function each; `python -m benchmarks.tasks NAME …` runs one and prints its figures as JSON.

Imports stand inside the functions: what the product needs to start belongs to the time of a cold start.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from benchmarks.children import HeldByChildren, peak_memory

Figures = Mapping[str, float | int]


def import_file(url: str, campaign: str, format: str, protocol: str, file: str) -> Figures:
    """Import one file into a new campaign, the way that the command line and the API do."""
    from app.formats.base import InputFile
    from app.services.campaigns import campaigns
    from app.services.data import imports

    with _database(url) as database:
        with database.transaction() as session:
            campaigns.create_campaign(
                session, campaigns.NewCampaign(key=campaign, protocol=protocol), actor="benchmark"
            )
        source = InputFile(Path(file).name, partial(_open, file))
        with HeldByChildren(os.getpid()) as readers:
            started = time.perf_counter()
            report = imports.run_import(
                database,
                campaign,
                format=format,
                files=[source],
                options={},
                dry_run=False,
                skip_bad_lines=False,
                actor="benchmark",
            )
            seconds = time.perf_counter() - started
    stored = report["stored"]
    assert isinstance(stored, dict)
    return {"seconds": seconds, "judgments": stored["judgments"], "memory": peak_memory(), "readers": readers.peak}


def load(url: str, campaign: str) -> Figures:
    """Load all ratings of a campaign, twice: in a fresh process, and once more when it is warm."""
    from app.domain.recipe import NAMED
    from app.reports.source import recipe_ratings, snapshot

    seconds = []
    with _database(url) as database:
        for _ in range(2):
            with database.transaction() as session:
                asked = snapshot.load_snapshot(session, campaign, None)
                started = time.perf_counter()
                rows = recipe_ratings.load_recipe_ratings(session, asked, NAMED["recommended"])
                seconds.append(time.perf_counter() - started)
    return {"seconds": seconds[0], "warm": seconds[1], "ratings": len(rows), "memory": peak_memory()}


def rank(url: str, campaign: str, seed: str, extras: str) -> Figures:
    """Answer a request for the ranking that nobody asked for before: load, rank, write as JSON, store.

    extras: `with` or `without` rank sets and the influence of single raters, documents and domains.
    """
    started = time.perf_counter()
    from dataclasses import replace

    from app.domain.recipe import NAMED
    from app.reports.ranking import report as ranking_report

    with _database(url) as database:
        database.ping()
        ready = time.perf_counter()
        more = extras == "with"
        recipe = replace(NAMED["recommended"], seed=int(seed), rank_sets=more, influence=more)
        body = ranking_report.find_or_compute_ranking(database, campaign, recipe=recipe).body
        done = time.perf_counter()
    answer = json.loads(body)
    return {"seconds": done - ready, "imports": ready - started, "n": answer["n_ratings"], "memory": peak_memory()}


def _open(file: str) -> IO[bytes]:
    return Path(file).open("rb")


@contextmanager
def _database(url: str) -> Iterator[Any]:
    from app.storage.db import Database

    database = Database(url)
    try:
        yield database
    finally:
        database.close()


TASKS: Mapping[str, Callable[..., Figures]] = {"import": import_file, "load": load, "rank": rank}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])))
