"""The segment scores behind a ranking. For many judgments a worker makes the table, and it is stored."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from app.domain.recipe import Recipe
from app.reports.inputs.exclusions_and_lock import parse_stored_recipe
from app.reports.inputs.expected_time import QUICK_JUDGMENTS
from app.reports.inputs.snapshot import CampaignSnapshot, load_snapshot
from app.reports.kit.report import ReportComputation, StoredReport, make_undivided_computation
from app.reports.ranking import report as ranking_report
from app.reports.ranking.input import load_ranking_input, make_ranking_key
from app.reports.ranking.renderings import render_segment_scores
from app.services.jobs import jobs
from app.services.jobs.jobs import JobInputsChanged, JobView
from app.storage import reports, staged_judgments
from app.storage.db import Database
from app.storage.reports import ReportKey

KIND = "segments"
BLOCK = 1 << 18


def find_or_queue_segment_scores(
    database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None
) -> Iterator[bytes] | StoredReport | JobView:
    """Return the table as CSV if it can be made quickly, the stored report if there is one, else the job that makes it.

    `unpack_segment_scores` reads the stored report.

    Raises the errors of `ranking_report.compute_ranking_with_fewest_draws`, and the error for which a worker has
    refused the recipe.
    """
    light = ranking_report.minimize_recipe_draws(recipe)
    with database.transaction(snapshot=True) as session:
        about = load_snapshot(session, campaign, as_of)
        key = _key(about, light)
        body = reports.find_report(session, key)
        is_long = staged_judgments.has_more_judgments_than(session, [about.campaign_id], QUICK_JUDGMENTS)
    if body is not None:
        return StoredReport.from_bytes(body, about.version)
    if not is_long:
        return render_segment_scores(
            ranking_report.compute_ranking_with_fewest_draws(database, campaign, recipe=recipe, as_of=as_of)
        )
    return jobs.request_job(
        database, jobs.JobRequest(KIND, key, {campaign: about.version}, {"recipe": light.as_json()})
    )


def unpack_segment_scores(body: bytes) -> Iterator[bytes]:
    """Yield the table of a stored report in pieces, because the whole table may need too much memory for a process."""
    packed = zlib.decompressobj()
    piece = packed.decompress(body, BLOCK)
    while piece:
        yield piece
        piece = packed.decompress(packed.unconsumed_tail, BLOCK)


def make_segment_scores_computation(database: Database, request: jobs.JobRequest) -> ReportComputation[bytes]:
    """Return the work that remains after the data are read.

    Raises JobInputsChanged, and the errors of `load_ranking_input`.
    """
    ((campaign, version),) = request.campaigns.items()
    with database.transaction() as session:
        about, light = load_snapshot(session, campaign, version), parse_stored_recipe(request.arguments["recipe"])
        if _key(about, light) != request.key:
            raise JobInputsChanged
        given = load_ranking_input(session, about, light)
    return make_undivided_computation(lambda: _pack(render_segment_scores(given.compute_ranking())))


def _pack(pieces: Iterator[bytes]) -> bytes:
    packing = zlib.compressobj()
    return b"".join([*map(packing.compress, pieces), packing.flush()])


def _key(about: CampaignSnapshot, light: Recipe) -> ReportKey:
    """Return the key of the table. It contains no names, because the table contains only keys."""
    return replace(make_ranking_key(about, light, ""), kind=KIND)
