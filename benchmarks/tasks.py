"""The timed tasks, one function each; `python -m benchmarks.tasks NAME …` runs one and prints its figures as JSON.

Imports are inside the functions, because the imports that the product needs are part of a cold start.
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
    """Import one file into a new campaign, in the same way as the command line and the API."""
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
            report = imports.import_local_files(
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
    """Load all ratings of a campaign twice: in the fresh process, and again when it is warm."""
    from app.domain.recipe import NAMED
    from app.reports.inputs import recipe_ratings, snapshot

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
    """Answer a request for a ranking that is not stored yet: load, rank, write as JSON, store.

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


def rank_file(folder: str) -> Figures:
    """Rank a file of ratings by `recommended`, as a worker does: the whole report as JSON, without a database."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in every worker
    from datetime import UTC, datetime

    import numpy as np

    from app.domain.recipe import NAMED
    from app.reports.inputs.campaign import CampaignInfo
    from app.reports.inputs.exclusions_and_lock import ExclusionsAndLock
    from app.reports.inputs.snapshot import CampaignSnapshot
    from app.reports.ranking.from_sums import RankingInputFromSums
    from app.stats.rating_metadata import DocumentTable
    from app.storage.system_descriptions import SystemDescription

    file = _open_made_up_file(folder)
    n = len(file.labels.documents)
    campaign = CampaignInfo(
        key="made-up",
        name="made up",
        series=None,
        protocol="da",
        protocol_version=1,
        options={},
        source_language="cs",
        target_language="en",
        basis="other",
        state="closed",
        settings={},
        documents_known=True,
        data_version=1,
        settings_version=1,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    given = RankingInputFromSums(
        about=CampaignSnapshot(campaign, 1, 1),
        recipe=NAMED["recommended"],
        file=file,
        words={key: SystemDescription(key, "mt") for key in file.labels.systems},
        documents=DocumentTable((None,) * n, ("test",) * n, np.ones(n, np.int32), np.ones(n, np.int32)),
        names="",
        exclusions_and_lock=ExclusionsAndLock((), None),
        counts_errors=False,
    )
    answer = json.loads(given.compute_ranking_json())
    return {"processor": time.process_time(), "n": answer["n_ratings"], "memory": peak_memory()}


def study_file(folder: str) -> Figures:
    """Sum a file of ratings by document, system and rater for stability curves, and compute two points.

    Each point has 250 studies, of 100 and 1,000 documents, normalized by z.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy as np

    from app.domain.recipe import NAMED
    from app.reports.inputs.ratings_file_totals import SummableRatingsFile
    from app.stats.stability.block_sums import sum_ratings_over_blocks
    from app.stats.stability.chunks import StabilitySimulator
    from app.stats.stability.curves import compute_stability_curves
    from app.stats.stability.request import RaterAssignmentScheme, StabilityRequest, StudyDesign

    source = SummableRatingsFile(_open_made_up_file(folder), NAMED["srp-paper"])
    ranked, _ = source.summarize_ranked_ratings_by_rater_and_system()
    sums = sum_ratings_over_blocks(
        source.iterate_blocks_with_error_counts(),
        np.unique(ranked.system),
        centre=source.compute_ranked_rater_moments().overall,
        labels=source.file.labels,
        higher_is_better=True,
    )
    summed, asked = (
        time.process_time(),
        StabilityRequest((StudyDesign(RaterAssignmentScheme(), "z"),), (100, 1000), seed=1),
    )
    resolved = asked.resolve(len(sums.data.documents), len(sums.data.systems))
    [curve] = compute_stability_curves(StabilitySimulator(sums, resolved))
    return {
        "summed": summed,
        "processor": time.process_time(),
        "documents": len(sums.data.documents),
        "srp": curve.points[-1].srp,
        "memory": peak_memory(),
    }


def change_file(folder: str) -> Figures:
    """Prepare `recommended` on a file of ratings and leave out the lowest system, as in a robustness report."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy as np

    from app.domain.recipe import NAMED
    from app.reports.inputs.ratings_file_totals import RatingsFileWithScoreChanges
    from app.stats.rating_metadata import DocumentTable
    from app.stats.robustness.reranking_sums import ScoreChangeExperimentsFromSums

    file = _open_made_up_file(folder)
    file.close()
    n = len(file.labels.documents)
    documents = DocumentTable((None,) * n, ("test",) * n, np.ones(n, np.int32), np.ones(n, np.int32))
    experiments = ScoreChangeExperimentsFromSums.from_sums(
        RatingsFileWithScoreChanges(file.folder, file.metadata), NAMED["recommended"], frozenset(), documents
    )
    settled = time.process_time()
    changes, _ = experiments.list_changes_and_missing_groups(("lowest",))
    [effect] = experiments.compute_change_effects(changes)
    assert effect.difference is not None
    return {
        "settled": settled,
        "processor": time.process_time(),
        "swaps": effect.difference.swaps,
        "memory": peak_memory(),
    }


def _open_made_up_file(folder: str) -> Any:
    from app.storage.rating_codes import RatingsMetadata
    from app.storage.ratings_files.reading import RatingsFile

    frame = RatingsMetadata(higher_is_better=True, scale=None, criterion=None, documents_known=True)
    return RatingsFile.open(Path(folder), frame)


def report_large(url: str, campaign: str, folder: str, how: str, name: str) -> Mapping[str, Any]:
    """Compute a report on a campaign in Postgres: from sums over an existing file (`there`), or in `memory`."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from app.reports import registry
    from app.reports.kit import store
    from app.reports.kit.request import ReportRequest
    from app.storage.ratings_folder import RatingsFolder

    report = {**registry.ALL, **registry.WITH_OWN_ROUTES}[f"campaign/{name}"]
    asked = {
        "stability": {"designs": [{"normalize": "z"}], "documents": [100, 1000], "recipe": "recommended"},
        "robustness": {"changes": "lowest,highest", "recipe": "recommended"},
    }[name]
    with _database(url) as database:
        database.ratings_folder = None if how == "memory" else RatingsFolder(Path(folder), 1)
        started, spent = time.perf_counter(), time.process_time()
        options = report.options.model_validate(asked)
        body = store.find_or_compute_report(database, ReportRequest(report, (campaign,), options)).body
        seconds, processor = time.perf_counter() - started, time.process_time() - spent
    answer = json.loads(body)
    return {"seconds": seconds, "processor": processor, "memory": peak_memory(), "answer": answer}


def rank_large(url: str, campaign: str, folder: str, how: str) -> Mapping[str, Any]:
    """Rank a campaign in Postgres: from sums, with a file `written` first or already `there`, or in `memory`."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from dataclasses import replace

    from app.domain.recipe import NAMED
    from app.reports.ranking import report as ranking_report
    from app.storage.ratings_folder import RatingsFolder

    seed = {"written": 1, "there": 2, "memory": 2}[how]
    recipe = replace(NAMED["recommended"], seed=seed, rank_sets=False, influence=False)
    with _database(url) as database:
        database.ratings_folder = None if how == "memory" else RatingsFolder(Path(folder), 1)
        started, spent = time.perf_counter(), time.process_time()
        body = ranking_report.find_or_compute_ranking(database, campaign, recipe=recipe).body
        seconds, processor = time.perf_counter() - started, time.process_time() - spent
    answer = json.loads(body)
    return {
        "seconds": seconds,
        "processor": processor,
        "memory": peak_memory(),
        "judgments": answer["n_ratings"],
        "data_hash": answer["data_hash"],
        "scores": [system["score"] for system in answer["systems"]],
    }


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


TASKS: Mapping[str, Callable[..., Mapping[str, Any]]] = {
    "import": import_file,
    "load": load,
    "rank": rank,
    "rank_file": rank_file,
    "rank_large": rank_large,
    "study_file": study_file,
    "change_file": change_file,
    "report_large": report_large,
}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])))
