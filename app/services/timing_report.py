"""Reports on time and on revisions, for managers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from app.reports.kit.report import StoredReport
from app.reports.source.judged_ratings import Head, Judged, judged
from app.reports.source.snapshot import Snapshot
from app.services.judged import kept
from app.stats.plain import number
from app.stats.quality.pairing import first_rows
from app.stats.quality.report import of_rows
from app.stats.ratings import Codes, Floats, Kind, Ratings
from app.stats.side_tables import Events
from app.stats.timing.timing import Revisions, Trimmed, pace_slope, revisions, trimmed, words_per_hour
from app.storage.db import Database, Session

SHORT, LONG = 10, 20
"""Segments up to which a document is short, and from which it is long (G-3)."""
NO_TIMES = "no judgment tells when it was begun and handed in"
NO_SCORES = "no segment is scored yet, so nothing was revised"


@dataclass(frozen=True, slots=True)
class Duration:
    """Trimmed durations of one kind of unit."""

    what: str
    times: Trimmed | None


@dataclass(frozen=True, slots=True)
class RaterTime:
    """One rater. n: judgments with a time. hours: their sum. times: trimmed seconds of one. words_per_hour: of the
    sources. slope: change of log seconds a word over a hundred judgments, negative is faster; slope_p of it."""

    rater: str
    n: int
    hours: float
    times: Trimmed | None
    words_per_hour: float | None
    slope: float | None
    slope_p: float | None


@dataclass(frozen=True, slots=True)
class RaterRevisions:
    """How often one rater changed answers."""

    rater: str
    revisions: Revisions


class TimingView(Head):
    """Durations from begun to handed in, values outside the 10th to 90th percentile of their kind left out (G-3)."""

    durations: list[Duration]
    raters: list[RaterTime]
    warnings: list[str]


class RevisionsView(Head):
    """Answers whose score changed after it was first given (G-4)."""

    overall: Revisions
    raters: list[RaterRevisions]
    warnings: list[str]


def timing(database: Database, campaign: str, *, as_of: int | datetime | None = None) -> StoredReport:
    """How long judging takes, by kind of unit and by rater. Raises NotFound for an unknown campaign."""

    def make(session: Session, about: Snapshot) -> TimingView:
        return _timing(judged(session, about))

    return kept(database, campaign, kind="timing", asked="", as_of=as_of, make=make)


def revised(database: Database, campaign: str, *, as_of: int | datetime | None = None) -> StoredReport:
    """How often answers are revised, in all and by rater. Raises NotFound for an unknown campaign."""

    def make(session: Session, about: Snapshot) -> RevisionsView:
        return _revisions(judged(session, about))

    return kept(database, campaign, kind="revisions", asked="", as_of=as_of, make=make)


def _timing(read: Judged) -> TimingView:
    once = first_rows(read.rows)
    rows, events, words = read.rows.where(once), of_rows(read.events, once), read.words[once]
    known = (events.started >= 0) & (events.submitted > events.started)
    seconds = np.where(known, (events.submitted - events.started) / 1e6, np.nan)
    raters = [_rater(rows, events, seconds, words, code) for code in np.unique(rows.rater[known]).tolist()]
    warnings = [] if known.any() else [NO_TIMES]
    if known.any() and not known.all():
        warnings.append(f"{int((~known).sum())} of {known.size} judgments have no time of their own")
    return TimingView(**read.head.model_dump(), durations=_durations(rows, seconds), raters=raters, warnings=warnings)


def _rater(rows: Ratings, events: Events, seconds: Floats, words: Floats, code: int) -> RaterTime:
    mine = np.flatnonzero((rows.rater == code) & ~np.isnan(seconds))
    mine = mine[np.argsort(events.submitted[mine], kind="stable")]
    spent, shown = seconds[mine], words[mine]
    slope = pace_slope(spent, shown)
    return RaterTime(
        rater=rows.labels.raters[code],
        n=mine.size,
        hours=float(spent.sum()) / 3600,
        times=trimmed(spent),
        words_per_hour=words_per_hour(shown, spent),
        slope=None if slope is None else number(slope[0]),
        slope_p=None if slope is None else number(slope[1]),
    )


def _durations(rows: Ratings, seconds: Floats) -> list[Duration]:
    """One segment score, one document score, a shown document (by length) and a task, as sums of their judgments."""
    segment = rows.kind == Kind.SEGMENT
    shown, size = _sums(seconds, unit_codes(rows))
    task, _ = _sums(seconds, _coded(rows.rater, rows.task))
    found = (
        ("segment score", seconds[segment & ~np.isnan(seconds)]),
        ("document score", seconds[~segment & ~np.isnan(seconds)]),
        ("document", shown),
        (f"document of at most {SHORT} segments", shown[size <= SHORT]),
        (f"document of at least {LONG} segments", shown[size >= LONG]),
        ("task", task),
    )
    return [Duration(what, trimmed(values)) for what, values in found if values.size]


def unit_codes(rows: Ratings) -> Codes:
    """Code of the document that each judgment belongs to, as one rater was shown it of one system in one task."""
    return _coded(rows.rater, rows.task, rows.document, rows.system)


def _coded(*columns: Codes) -> Codes:
    """One code a distinct combination."""
    return np.unique(np.stack(columns), axis=1, return_inverse=True)[1].ravel().astype(np.int32)


def _sums(seconds: Floats, unit: Codes) -> tuple[Floats, Codes]:
    """Seconds and number of judgments of the units whose every judgment has a time."""
    size = np.bincount(unit)
    total = np.bincount(unit, weights=seconds).astype(np.float64)
    whole = ~np.isnan(total)
    return total[whole], size[whole].astype(np.int32)


def _revisions(read: Judged) -> RevisionsView:
    once = first_rows(read.rows) & (read.rows.kind == Kind.SEGMENT)
    rows, events = read.rows.where(once), of_rows(read.events, once)
    units = unit_codes(rows)
    found = []
    for code in np.unique(rows.rater).tolist():
        mine = rows.rater == code
        told = revisions(of_rows(events, mine), rows.score[mine], units[mine])
        found.append(RaterRevisions(rows.labels.raters[code], told))
    overall = revisions(events, rows.score, units)
    warnings = [] if found else [NO_SCORES]
    return RevisionsView(**read.head.model_dump(), overall=overall, raters=found, warnings=warnings)
