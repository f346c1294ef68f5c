"""Finds reports in the store, or computes and stores them.

The key of a report consists of its name and version, the campaigns with the data version of each, the options and the
seed. The same key always gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from app.domain.errors import Invalid, Place
from app.reports.inputs import named_recipes
from app.reports.inputs.snapshot import CampaignSnapshot, load_snapshot
from app.reports.kit.redact import hide_rater_and_task_keys
from app.reports.kit.report import Report, ReportComputation, StoredReport
from app.reports.kit.request import ReportRequest
from app.storage import reports
from app.storage.db import Database, Session
from app.storage.imports.staging import format_canonical_json

Progress = Callable[[int, int], None]
Execute = Callable[[ReportComputation[Any]], Iterator[bytes]]
"""Computes the chunks of work in any processes, and yields their bytes in order."""


class RequestAborted(Exception):
    """The requester no longer waits, so nothing is stored."""


@dataclass(frozen=True, slots=True)
class ReportLookupResult:
    """The result of looking up a report: its key, the data versions, and the report if it is stored."""

    key: reports.ReportKey
    about: tuple[CampaignSnapshot, ...]
    body: bytes | None

    def make_stored_report(self, body: bytes) -> StoredReport:
        """Return the report with its ETag."""
        return StoredReport.from_bytes(body, self.about[0].version)


def look_up_report(session: Session, request: ReportRequest) -> ReportLookupResult:
    """Return the key of a report, and its bytes if it is stored.

    Raises NotFound for an unknown campaign, and Invalid for an impossible version.
    """
    if len(request.campaigns) > 1 and isinstance(request.as_of, int):
        what = "must be a time: each of several campaigns counts its own versions"
        raise Invalid("the query is not valid", places=(Place(("query", "as_of"), what),))
    about = filter_settings_read_by_report(
        request.report, [load_snapshot(session, campaign, request.as_of) for campaign in request.campaigns]
    )
    key = compute_report_key(session, request.report, about, request.options)
    return ReportLookupResult(key, about, reports.find_report(session, key))


def filter_settings_read_by_report(
    report: Report[Any, Any], snapshots: Sequence[CampaignSnapshot]
) -> tuple[CampaignSnapshot, ...]:
    """Return the campaigns with only those settings that this report reads."""
    return tuple(replace(each, campaign=replace(each.campaign, settings=_read(report, each))) for each in snapshots)


def _read(report: Report[Any, Any], each: CampaignSnapshot) -> dict[str, object]:
    return {name: value for name, value in sorted(each.campaign.settings.items()) if name in report.settings}


def _extra_key(session: Session, report: Report[Any, Any], each: CampaignSnapshot) -> list[object]:
    """Return what the report reads besides the data version; it is empty for most, whose keys thus stay the same."""
    settings = _read(report, each)
    more = [] if report.extra_key is None else list(report.extra_key(session, each))
    return [
        *([each.unversioned_settings] if each.unversioned_settings else []),
        *([settings] if settings else []),
        *more,
    ]


def compute_report_key(
    session: Session, report: Report[Any, Any], snapshots: Sequence[CampaignSnapshot], options: BaseModel
) -> reports.ReportKey:
    """Return the key of a report, which covers everything that determines it. Raises NoSuchRecipe.

    The choices behind the name of a campaign's own recipe can change. Therefore the key contains the hash of the
    current recipe, and the settings that the report reads.
    """
    versions = [[each.campaign.key, each.version] for each in snapshots]
    named = [name for name in str(getattr(options, "recipe", None) or "").split(",") if name]
    place = (report.options_in, "recipe")
    recipes = [
        named_recipes.resolve_recipe(session, each.campaign.key, name, place=place)
        for each in snapshots
        for name in named
    ]
    hashes = [recipe.hash for recipe in recipes]
    extra = [_extra_key(session, report, each) for each in snapshots]
    parts = [versions, options.model_dump(mode="json"), hashes, *([extra] if any(extra) else [])]
    kind, seed = f"{report.over}/{report.name}", int(getattr(options, "seed", 0))
    return make_report_key_from_parts(
        snapshots[0].campaign_id, kind, snapshots[0].version, parts, seed=seed, method_version=report.version
    )


def make_report_key_from_parts(
    campaign_id: int, kind: str, data_version: int, parts: object, *, seed: int, method_version: str
) -> reports.ReportKey:
    """Make the key of a result that is a function of these plain values at a data version."""
    digest = hashlib.sha256(format_canonical_json(parts).encode()).hexdigest()
    return reports.ReportKey(campaign_id, kind, data_version, f"sha256:{digest}", seed, method_version)


def compute_chunks_serially(computation: ReportComputation[Any]) -> Iterator[bytes]:
    """Compute the chunks in this process, one after the other."""
    return map(computation.chunk, range(computation.n_chunks))


def find_or_compute_report(
    database: Database,
    request: ReportRequest,
    *,
    on_progress: Progress = lambda _done, _total: None,
    should_stop: Callable[[], bool] = lambda: False,
    execute: Execute = compute_chunks_serially,
) -> StoredReport:
    """Return the report from the store, or compute and store it.

    on_progress: called with the number of chunks done and the total, unless the report is already stored. should_stop:
    called after every chunk. execute: computes the chunks; it does not affect the result.

    Raises NotFound for an unknown campaign, Invalid if the options do not fit it, and RequestAborted.
    """
    with database.transaction(snapshot=True) as session:
        lookup = look_up_report(session, request)
    if lookup.body is not None:
        return lookup.make_stored_report(lookup.body)
    with database.transaction() as session:  # no snapshot, because scores under new weights are derived and stored
        work = request.report.prepare(session, lookup.about, request.options)
    body = compute_report(work, on_progress=on_progress, should_stop=should_stop, execute=execute)
    return lookup.make_stored_report(store_report(database, lookup.key, body))


def compute_report(
    computation: ReportComputation[Any],
    *,
    on_progress: Progress,
    should_stop: Callable[[], bool],
    execute: Execute = compute_chunks_serially,
) -> bytes:
    """Compute all chunks and the final step. Raises RequestAborted."""
    parts: list[bytes] = []
    if computation.n_chunks:
        on_progress(0, computation.n_chunks)
    with closing(_run_work(execute, computation)) as computed:
        for part in computed:
            if should_stop():
                raise RequestAborted
            parts.append(part)
            on_progress(len(parts), computation.n_chunks)
    return assemble_report_from_chunks(computation, parts)


def _run_work(execute: Execute, computation: ReportComputation[Any]) -> Generator[bytes, None, None]:
    """Yield the chunks; closing this generator releases its processes."""
    yield from execute(computation)


def assemble_report_from_chunks(computation: ReportComputation[Any], chunks: Sequence[bytes]) -> bytes:
    """Return the bytes of a report from those of its chunks, in order."""
    made: BaseModel | bytes = computation.finish(chunks)
    return made if isinstance(made, bytes) else made.model_dump_json().encode()


def store_report(database: Database, key: reports.ReportKey, body: bytes) -> bytes:
    """Store a report and return the bytes stored under its key, which another process may have written first."""
    with database.transaction() as session:
        reports.store_report(session, key, body)
        return reports.find_report(session, key) or body


def redact_report_for_viewers(report: Report[Any, Any], stored: StoredReport) -> StoredReport:
    """Return the report as viewers see it, without raters' identities and under a different ETag."""
    if not report.names_raters:
        return stored
    view = report.result.model_validate_json(stored.body)
    redacted = (
        report.redact(view)
        if report.redact
        else report.result.model_validate(hide_rater_and_task_keys(view.model_dump(mode="json")))
    )
    return StoredReport(redacted.model_dump_json().encode(), f"{stored.etag}.blind", stored.data_version)
