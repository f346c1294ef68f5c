"""MQM 2.0 scores of systems: penalty points by words, raw and calibrated, and pass or fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.domain.recipe import NAMED, Recipe, ScoringChoice
from app.protocols.base import SpansWidget
from app.reports.inputs import data_hash, recipe_ratings
from app.reports.inputs.campaign import find_campaign_protocol
from app.reports.inputs.exclusions_and_lock import add_standing_exclusions, load_exclusions_and_lock
from app.reports.inputs.scores import ScoreDefinition
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit import text_formatting
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.reports.mqm2.view import MQM2SystemScore, MQM2View, make_caption, make_csv_rows, make_tables, plot_penalties
from app.stats import scoring
from app.stats.mqm2 import mqm2
from app.stats.mqm2.mqm2 import PassingThreshold
from app.stats.mqm2.systems import Mqm2SystemScore, mask_rows_with_word_counts, score_systems
from app.stats.ratings import Bools, Codes, Floats, RatingRole, Ratings
from app.stats.ratings import RatingLevel as Level
from app.stats.selection import drop_excluded_ratings, mask_excluded_rows
from app.storage import errors_without_weight, rating_metadata, system_descriptions
from app.storage.db import Session
from app.storage.segment_words import load_source_word_counts

OWN = "campaign"
UNKNOWN_WORDS = "segment whose source is unknown, and so its words"
NOTHING = (
    "there are no judgments yet that this report counts, or no source is known; collect judgments, and import sources"
)
NO_THRESHOLD = (
    "no threshold was given, so scores are not calibrated and there is no verdict; give `passing` and `points`"
)
BASE = NAMED["recommended"]


class MQM2Options(BaseModel):
    """The passing threshold, and the weights of errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    passing: Annotated[float, Field(ge=0, lt=mqm2.MAXIMUM)] | None = Field(
        None, description="Score at which a text passes (PT); with `points`.", examples=[90]
    )
    points: Annotated[float, Field(gt=0, le=1_000_000)] | None = Field(
        None, description="Penalty points per 1,000 words that are acceptable (APP); with `passing`.", examples=[10]
    )
    critical_fails: bool = Field(default=True, description="One critical error fails a system, whatever its score.")
    weights: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] | None = Field(
        None,
        description="A weight profile by name, or `campaign` for the campaign's own. Without: the campaign's own where "
        "its protocol is MQM 2.0, else `mqm2`.",
        examples=["mqm2"],
    )

    @property
    def passing_threshold(self) -> PassingThreshold | None:
        """The passing threshold; None if none is requested. Raises Invalid if only one of its two parts is given."""
        if self.passing is None or self.points is None:
            if self.passing is self.points:
                return None
            lacks = "passing" if self.passing is None else "points"
            raise Invalid("the query is not valid", places=(Place(("query", lacks), "passing and points go together"),))
        return PassingThreshold(self.passing, self.points)


@dataclass(frozen=True, slots=True)
class RatingsWithErrorCounts:
    """The rows that count.

    critical: number of critical errors in each. words: of each segment code. unknown: number of marks without a weight.
    """

    snapshot: CampaignSnapshot
    profile: str
    rows: Ratings
    critical: Codes
    words: Floats
    names: dict[str, str]
    data_hash: str
    dropped: list[dict[str, Any]]
    unknown: int


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: MQM2Options
) -> ReportComputation[MQM2View]:
    threshold, snapshot = options.passing_threshold, snapshots[0]
    counts = _count_errors(session, snapshot, _recipe(snapshot, options.weights))
    return make_undivided_computation(lambda: _view(counts, threshold, options))


def _recipe(snapshot: CampaignSnapshot, weights: str | None) -> Recipe:
    own = find_campaign_protocol(snapshot.campaign).weights == scoring.MQM2.name if weights is None else weights == OWN
    profile = None if own else weights or scoring.MQM2.name
    if profile is not None and profile not in scoring.PROFILES:
        there = f"there are {', '.join(sorted(scoring.PROFILES))}, and {OWN}"
        raise Invalid("the query is not valid", places=(Place(("query", "weights"), there),))
    return replace(BASE, scoring=ScoringChoice("spans", profile))


def _count_errors(session: Session, snapshot: CampaignSnapshot, recipe: Recipe) -> RatingsWithErrorCounts:
    rows, ids, read = recipe_ratings.load_ratings_with_judgment_ids(session, snapshot, recipe)
    excluding = add_standing_exclusions(
        recipe, load_exclusions_and_lock(session, snapshot.campaign_id, snapshot.version)
    )
    documents = rating_metadata.load_document_table(session, snapshot.campaign_id, rows.labels)
    known = system_descriptions.load_system_descriptions(session, snapshot.campaign_id)
    words = load_source_word_counts(session, snapshot.campaign_id, rows.labels)
    keep, dropped = _select_rows(rows, excluding, words)
    marks = errors_without_weight.load_errors_without_weight(
        session, snapshot.campaign_id, rows.judgment, ids, read.options.profile
    )
    return RatingsWithErrorCounts(
        snapshot=snapshot,
        profile=read.options.profile.name,
        rows=rows.where(keep),
        critical=_critical(session, snapshot, ids, read)[keep],
        words=words,
        names={key: one.name for key, one in known.items()},
        data_hash=data_hash.hash_report_data(drop_excluded_ratings(rows, excluding.exclude), documents, known),
        dropped=dropped,
        unknown=int(np.isin(marks.judgment, rows.judgment[keep]).sum()),
    )


def _critical(session: Session, snapshot: CampaignSnapshot, ids: rating_metadata.Ids, read: ScoreDefinition) -> Codes:
    """Count the critical errors in each row."""
    field = next(widget.field for widget in read.protocol.form if isinstance(widget, SpansWidget))
    errors = rating_metadata.load_marked_error_table(session, snapshot.campaign_id, ids, field=field, weigh={})
    serious = np.array([name.casefold() == mqm2.CRITICAL for name in errors.severities], dtype=np.bool_)
    marked = errors.row[serious[errors.severity]] if errors.row.size else errors.row
    return np.bincount(marked, minlength=ids.size).astype(np.int32)


def _select_rows(rows: Ratings, recipe: Recipe, words: Floats) -> tuple[Bools, list[dict[str, Any]]]:
    out = Counter[str]()
    keep = np.ones(len(rows), dtype=np.bool_)
    named = [(f"excluded {one.what}:{one.key}", mask_excluded_rows(rows, one)) for one in recipe.exclude]
    for why, left in (
        ("rating of a whole document", rows.kind != Level.SEGMENT),
        *named,
        ("role not scored", ~np.isin(rows.role, [RatingRole[name.upper()] for name in recipe.roles])),
        ("task rejected by quality control", ~rows.accepted),
        (UNKNOWN_WORDS, ~mask_rows_with_word_counts(rows, words)),
    ):
        out[why] += int((keep & left).sum())
        keep &= ~left
    return keep, [{"reason": why, "n": n} for why, n in out.items() if n]


def _view(counts: RatingsWithErrorCounts, threshold: PassingThreshold | None, options: MQM2Options) -> MQM2View:
    each = score_systems(
        counts.rows, counts.critical, counts.words, threshold=threshold, critical_fails=options.critical_fails
    )
    systems = [line for one in each if (line := _line(counts, one)) is not None]
    return MQM2View(
        campaigns={counts.snapshot.campaign.key: counts.snapshot.version},
        data_hash=counts.data_hash,
        basis=counts.snapshot.campaign.basis,
        dropped=counts.dropped,
        weights=counts.profile,
        maximum=mqm2.MAXIMUM,
        reference_words=mqm2.REFERENCE_WORDS,
        passing=options.passing,
        points=options.points,
        critical_fails=options.critical_fails,
        systems=sorted(systems, key=lambda one: (one.normed, one.system)),
        warnings=_warnings(counts, each, threshold),
    )


def _line(counts: RatingsWithErrorCounts, system: Mqm2SystemScore) -> MQM2SystemScore | None:
    if system.scored is None:
        return None
    key = counts.rows.labels.systems[system.system]
    return MQM2SystemScore(
        system=key,
        name=counts.names[key],
        words=round(system.words),
        n_segments=system.n_segments,
        n_ratings=system.n_ratings,
        critical=system.critical,
        penalty=system.scored.penalty,
        per_word=system.scored.per_word,
        normed=system.scored.normed,
        raw=system.scored.raw,
        calibrated=system.scored.calibrated,
        passed=system.scored.passed,
    )


def _warnings(
    counts: RatingsWithErrorCounts, each: Sequence[Mqm2SystemScore], threshold: PassingThreshold | None
) -> list[str]:
    if not each:
        return [NOTHING]
    warnings = [
        f"{counts.rows.labels.systems[one.system]}: its sources have no words, so it has no score; import its sources"
        for one in each
        if one.scored is None
    ]
    if threshold is None:
        warnings.append(NO_THRESHOLD)
    if counts.unknown:
        warnings.append(
            f"{text_formatting.pluralize(counts.unknown, 'marked error')} without a weight under {counts.profile}, "
            "counted as 0; choose `weights` that have one"
        )
    if any(one["reason"] == UNKNOWN_WORDS for one in counts.dropped):
        warnings.append(
            "segments without a source are left out because their words cannot be counted; import their sources"
        )
    if len({one.words for one in each}) > 1:
        warnings.append(
            "systems have different numbers of words, so they were judged on different texts; leave out "
            "documents that some lack"
        )
    return warnings


EXAMPLE: dict[str, Any] = {
    "campaigns": {"newstest2026": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "weights": scoring.MQM2.name,
    "maximum": mqm2.MAXIMUM,
    "reference_words": mqm2.REFERENCE_WORDS,
    "passing": 90.0,
    "points": 20.0,
    "critical_fails": True,
    "systems": [
        {
            "system": "A",
            "name": "A",
            "words": 250,
            "n_segments": 12,
            "n_ratings": 24,
            "critical": 0,
            "penalty": 6.5,
            "per_word": 0.026,
            "normed": 26.0,
            "raw": 97.4,
            "calibrated": 87.0,
            "passed": False,
        }
    ],
}
REPORT: Report[MQM2Options, MQM2View] = Report(
    name="mqm2",
    title="MQM 2.0 scores",
    summary="Penalty points of each system by words, raw and calibrated score, and whether it passes.",
    options=MQM2Options,
    result=MQM2View,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_penalties},
    caption=make_caption,
)
