"""The report on the quality of raters' work, for managers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import datetime

from pydantic import Field

from app.domain.recipe import Scoring
from app.protocols.base import Spans
from app.reports.kit.report import StoredReport
from app.reports.source.judged_ratings import Head, Judged, On, judged
from app.reports.source.scores import reading
from app.reports.source.snapshot import Snapshot
from app.services.judged import kept
from app.stats.quality.report import AlikePair, Choices, RaterQuality, quality
from app.stats.quality.seeded import attention, span_hits
from app.storage import seeded
from app.storage.db import Database, Session
from app.storage.imports.staging import json_text


class QualityView(Head):
    """Evidence on each rater; the verdict is that of the control items alone, and flags decide nothing."""

    on: On
    choices: Choices
    higher_is_better: bool
    unit: str
    n_judgments: int
    counts: dict[str, int]
    raters: list[RaterQuality]
    warnings: list[str]
    alike: list[AlikePair] = Field(default=[], description="Pairs of raters whose answers are too much alike.")


def report(
    database: Database, campaign: str, *, choices: Choices, on: On = "score", as_of: int | datetime | None = None
) -> StoredReport:
    """Evidence on every rater of a campaign as it stood at a data version.

    Raises NotFound for an unknown campaign, Invalid where the choices do not fit it.
    """

    def make(session: Session, about: Snapshot) -> QualityView:
        return _view(session, about, judged(session, about, on=on), choices, on)

    digest = hashlib.sha256(json_text([asdict(choices), on]).encode()).hexdigest()
    return kept(database, campaign, kind="quality", asked=digest, as_of=as_of, make=make)


def _view(session: Session, about: Snapshot, read: Judged, choices: Choices, on: On) -> QualityView:
    found = quality(read.rows, read.events, read.words, choices)
    return QualityView(
        **read.head.model_dump(),
        on=on,
        choices=choices,
        higher_is_better=found.higher_is_better,
        unit=found.unit,
        n_judgments=found.n_judgments,
        counts=found.counts,
        raters=list(_with_seeded(session, about, read, found.raters)),
        warnings=list(found.warnings),
        alike=list(found.alike),
    )


def _with_seeded(
    session: Session, about: Snapshot, read: Judged, raters: tuple[RaterQuality, ...]
) -> Iterator[RaterQuality]:
    """The evidence with what is known of errors that were put into texts."""
    checks = attention(seeded.checks(session, about.campaign_id, read.judgment_ids))
    form = reading(about.campaign, Scoring()).protocol.form
    field = next((widget.field for widget in form if isinstance(widget, Spans)), None)
    texts = [] if field is None else seeded.degraded(session, about.campaign_id, read.judgment_ids, field=field)
    hits = span_hits(texts)
    for one in raters:
        yield replace(one, attention=checks.get(one.rater), span_hits=hits.get(one.rater))
