"""Reports of every kind: found in the store by what they are a function of, or computed and stored.

The key of a report is its kind and the kind's version, the campaigns with the data version of each, the question and
its seed. The same key is the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from app.domain.errors import Invalid, Place
from app.reports.kit.redact import hidden
from app.reports.kit.report import Report, StoredReport, Work
from app.reports.kit.request import ReportRequest
from app.reports.source import named_recipes
from app.reports.source.snapshot import Snapshot, snapshot
from app.storage import reports
from app.storage.db import Database, Session
from app.storage.staging import json_text

Progress = Callable[[int, int], None]


class Stopped(Exception):
    """Whoever asked does not wait any longer; nothing is stored."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a question comes to: the key of its report, the data versions, and the report where it is stored."""

    key: reports.ReportKey
    about: tuple[Snapshot, ...]
    body: bytes | None

    def stored(self, body: bytes) -> StoredReport:
        """The report with its ETag."""
        return StoredReport(body, hashlib.sha256(body).hexdigest()[:32], self.about[0].version)


def find(session: Session, asking: ReportRequest) -> Lookup:
    """The key of a report, and its bytes where it is stored.

    Raises NotFound for an unknown campaign, Invalid for a version that cannot be.
    """
    if len(asking.campaigns) > 1 and isinstance(asking.as_of, int):
        what = "must be a time: each of several campaigns counts its own versions"
        raise Invalid("the query is not valid", places=(Place(("query", "as_of"), what),))
    about = with_settings(asking.kind, [snapshot(session, campaign, asking.as_of) for campaign in asking.campaigns])
    key = key_of(session, asking.kind, about, asking.asked)
    return Lookup(key, about, reports.find(session, key))


def with_settings(kind: Report[Any, Any], about: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    """The campaigns with those of their settings that a report of this kind reads, and no others."""
    return tuple(replace(one, campaign=replace(one.campaign, settings=_read(kind, one))) for one in about)


def _read(kind: Report[Any, Any], one: Snapshot) -> dict[str, object]:
    return {name: value for name, value in sorted(one.campaign.settings.items()) if name in kind.settings}


def _beside(session: Session, kind: Report[Any, Any], one: Snapshot) -> list[object]:
    """What a report reads that the data version does not count; empty for most, so that their keys stay as they are."""
    settings = _read(kind, one)
    more = [] if kind.beside is None else list(kind.beside(session, one))
    return [*([one.unsettled] if one.unsettled else []), *([settings] if settings else []), *more]


def key_of(session: Session, kind: Report[Any, Any], about: Sequence[Snapshot], asked: BaseModel) -> reports.ReportKey:
    """What a report is a pure function of. Raises NoSuchRecipe.

    A campaign's own recipe can be given other choices under its name: what it stands for now is in the key, and so are
    the settings that the kind reads.
    """
    versions = [[one.campaign.key, one.version] for one in about]
    named = [name for name in str(getattr(asked, "recipe", None) or "").split(",") if name]
    hashes = [named_recipes.find(session, one.campaign.key, name).hash for one in about for name in named]
    beside = [_beside(session, kind, one) for one in about]
    parts = [versions, asked.model_dump(mode="json"), hashes, *([beside] if any(beside) else [])]
    digest = hashlib.sha256(json_text(parts).encode()).hexdigest()
    return reports.ReportKey(
        campaign_id=about[0].campaign_id,
        kind=f"{kind.over}/{kind.name}",
        data_version=about[0].version,
        recipe_hash=f"sha256:{digest}",
        seed=int(getattr(asked, "seed", 0)),
        method_version=kind.version,
    )


def find_or_compute(
    database: Database,
    asking: ReportRequest,
    *,
    on_progress: Progress = lambda _done, _total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> StoredReport:
    """The report, from the store or computed here and stored.

    Raises NotFound for an unknown campaign, Invalid where the question does not fit it, Stopped.
    """
    with database.transaction(snapshot=True) as session:
        found = find(session, asking)
    if found.body is not None:
        return found.stored(found.body)
    with database.transaction() as session:
        work = asking.kind.prepare(session, found.about, asking.asked)
    body = compute(work, on_progress=on_progress, should_stop=should_stop)
    return found.stored(store(database, found.key, body))


def compute(work: Work[Any], *, on_progress: Progress, should_stop: Callable[[], bool]) -> bytes:
    """All chunks, one after the other, and their end. Raises Stopped."""
    parts = []
    for number in range(work.n_chunks):
        if should_stop():
            raise Stopped
        parts.append(work.chunk(number))
        on_progress(number + 1, work.n_chunks)
    return finish(work, parts)


def finish(work: Work[Any], parts: Sequence[bytes]) -> bytes:
    """The bytes of a report from those of its chunks, in order."""
    made: BaseModel | bytes = work.finish(parts)
    return made if isinstance(made, bytes) else made.model_dump_json().encode()


def store(database: Database, key: reports.ReportKey, body: bytes) -> bytes:
    """Store a report; the bytes that are stored under its key, which may be those of somebody who was faster."""
    with database.transaction() as session:
        reports.store(session, key, body)
        return reports.find(session, key) or body


def without_raters(kind: Report[Any, Any], report: StoredReport) -> StoredReport:
    """The report as viewers see it, without who the raters are, under an ETag of its own."""
    view = kind.view.model_validate_json(report.body)
    blind = kind.blind(view) if kind.blind else kind.view.model_validate(hidden(view.model_dump(mode="json")))
    return StoredReport(blind.model_dump_json().encode(), f"{report.etag}.blind", report.data_version)
