"""Input of reports on rater agreement: ratings as they were given, which of them count, and how scores are derived."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.domain.recipe import ScoringChoice
from app.domain.recipe_choices import LARGEST_SEED
from app.domain.recipe_field_parsing import InvalidRecipeValue, parse_recipe_option
from app.protocols.base import SpansWidget
from app.reports.inputs.data_hash import hash_report_data
from app.reports.inputs.scores import ScoreDefinition, load_scored_ratings, resolve_score_definition
from app.reports.inputs.snapshot import CampaignSnapshot, make_report_header_fields
from app.stats.agreement.score_distributions import select_raters_of_every_unit
from app.stats.agreement.units import Repeated, make_segment_units
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.rating_metadata import DocumentTable, ErrorTable
from app.stats.ratings import Bools, Floats, RatingRole, Ratings, ScoreScale
from app.storage import rating_metadata, system_descriptions
from app.storage.db import Session

On = Literal["score", "severity", "errors"]
ROLES = tuple(role.name.lower() for role in RatingRole)
RANKED = "rating,repeat"
GRAVE = {"minor": 1.0, "major": 2.0, "critical": 3.0}
"""Level of the worst severity in a text; other severities, and texts without errors, are 0."""
STEPS = 100
NOTHING = "there are no ratings yet that this report counts; collect or import judgments"
UNKNOWN_DOCUMENTS = (
    "documents are unknown: intervals treat each imported unit as a document; import the documents if there are any"
)


BootstrapDraws = Annotated[int, Field(ge=0, le=20_000, description="Number of draws of documents; 0 for none.")]
IntervalLevel = Annotated[float, Field(gt=0.5, lt=1, description="Level of the intervals.")]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


class RawRatingsOptions(BaseModel):
    """Which scores, of which rows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    on: On = Field(
        "score", description="The score, the worst severity of the errors marked in a text, or how many were marked."
    )
    scoring: Annotated[str, StringConstraints(max_length=80)] = Field(
        "score", description="As in a recipe: score, spans, spans:PROFILE, criterion:NAME.", examples=["spans:wmt24"]
    )
    roles: Annotated[str, StringConstraints(pattern=r"^[a-z]{1,20}(,[a-z]{1,20}){0,4}$")] = Field(
        RANKED, description=f"Rows with these roles, separated by commas: {', '.join(ROLES)}."
    )
    repeats: Repeated = Field("average", description="Which of several ratings of one text by one rater counts.")
    raters: Literal["all", "complete"] = Field(
        "all", description="All raters, or only those who rated every rated text."
    )


class BootstrapOptions(BaseModel):
    """How intervals are computed."""

    bootstrap: BootstrapDraws = 1_000
    level: IntervalLevel = 0.95
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class RawRatings:
    """The rows that count, one per judgment, with their scale and documents.

    scale: of the values, None if unbounded; on a continuous scale a step is a hundredth. ids: of the judgments.
    """

    snapshot: CampaignSnapshot
    reading: ScoreDefinition
    rows: Ratings
    ids: rating_metadata.Ids
    documents: DocumentTable
    scale: ScoreScale | None
    data_hash: str
    dropped: tuple[dict[str, Any], ...]

    @property
    def report_header_fields(self) -> dict[str, Any]:
        """The fields with which every view begins."""
        return make_report_header_fields(self.snapshot, self.data_hash, self.dropped)


def load_raw_ratings(session: Session, snapshot: CampaignSnapshot, options: RawRatingsOptions) -> RawRatings:
    """Load the ratings that count. Raises Invalid if the options do not fit the campaign."""
    read = resolve_score_definition(snapshot.campaign, _scoring(options.scoring))
    loaded, _ = load_scored_ratings(session, snapshot, read)
    rows = loaded.ratings
    documents = rating_metadata.load_document_table(session, snapshot.campaign_id, rows.labels)
    hashed = hash_report_data(
        rows, documents, system_descriptions.load_system_descriptions(session, snapshot.campaign_id)
    )
    keep, dropped = _select_rows(rows, options)
    raw = RawRatings(
        snapshot,
        read,
        rows.where(keep),
        loaded.judgment_ids[keep],
        documents,
        _add_scale_steps(rows.scale),
        hashed,
        dropped,
    )
    return _choose_values(session, raw, options.on)


def keep_raters_of_every_segment(raw: RawRatings, options: RawRatingsOptions) -> RawRatings:
    """If only complete raters are requested, leave out raters who did not rate every segment that was rated."""
    if options.raters != "complete":
        return raw
    units = select_raters_of_every_unit(make_segment_units(raw.rows, repeated=options.repeats))
    keep = np.isin(raw.rows.rater, np.unique(units.rater))
    out = [{"reason": "rater who did not rate every segment", "n": int((~keep).sum())}] if not keep.all() else []
    return replace(raw, rows=raw.rows.where(keep), ids=raw.ids[keep], dropped=(*raw.dropped, *out))


def _scoring(text: str) -> ScoringChoice:
    try:
        scoring = parse_recipe_option("scoring", [text])
    except InvalidRecipeValue as error:
        raise Invalid("the query is not valid", places=(Place(("query", "scoring"), str(error)),)) from None
    if not isinstance(scoring, ScoringChoice):
        raise TypeError("scoring is not a scoring")
    return scoring


def _add_scale_steps(scale: ScoreScale | None) -> ScoreScale | None:
    """Give a continuous scale as many steps as a slider from 0 to 100, because chance needs a number of values."""
    if scale is None or scale.step or not np.isfinite(scale.maximum - scale.minimum):
        return scale
    return replace(scale, step=(scale.maximum - scale.minimum) / STEPS)


def _select_rows(rows: Ratings, options: RawRatingsOptions) -> tuple[Bools, tuple[dict[str, Any], ...]]:
    named = options.roles.split(",")
    if unknown := [name for name in named if name not in ROLES]:
        what = f"no role {unknown[0]}; there are {', '.join(ROLES)}"
        raise Invalid("the query is not valid", places=(Place(("query", "roles"), what),))
    once = mask_first_rows_of_judgments(rows)
    roles = np.isin(rows.role, [RatingRole[name.upper()] for name in named])
    counts = (
        ("another system's credit for the same judgment", int((~once).sum())),
        ("role not asked for", int((once & ~roles).sum())),
        ("task rejected by quality control", int((once & roles & ~rows.accepted).sum())),
    )
    return once & roles & rows.accepted, tuple({"reason": why, "n": n} for why, n in counts if n)


def _choose_values(session: Session, raw: RawRatings, on: On) -> RawRatings:
    if on == "score":
        return raw
    rows = raw.rows
    if (rows.n_errors < 0).any() or find_spans_field(raw) is None:
        what = f"{raw.reading.protocol.name} marks no errors"
        raise Invalid("the question does not fit the campaign", places=(Place(("query", "on"), what),))
    if on == "errors":
        counted = replace(rows, score=rows.n_errors.astype(np.float64), higher_is_better=False, scale=None)
        return replace(raw, rows=counted, scale=None)
    worst = find_worst_severity_by_row(load_marked_errors(session, raw), len(rows))
    scale = ScoreScale(0.0, max(2.0, float(worst.max(initial=0.0))), 1.0)
    return replace(raw, rows=replace(rows, score=worst, higher_is_better=False, scale=scale), scale=scale)


def find_spans_field(raw: RawRatings) -> str | None:
    """Return the field of the payload that holds marked errors; None if the protocol marks none."""
    return next((widget.field for widget in raw.reading.protocol.form if isinstance(widget, SpansWidget)), None)


def load_marked_errors(session: Session, raw: RawRatings) -> ErrorTable:
    """Load the marked errors of the rows. The protocol must mark errors."""
    field = find_spans_field(raw) or "errors"
    return rating_metadata.load_marked_error_table(session, raw.snapshot.campaign_id, raw.ids, field=field, weigh={})


def find_worst_severity_by_row(errors: ErrorTable, n_rows: int) -> Floats:
    """Return 0 none, 1 minor, 2 major or 3 critical for each row, including errors of weight 0; shape (n_rows,)."""
    grave = np.array([GRAVE.get(name.casefold(), 0.0) for name in errors.severities] or [0.0])
    worst = np.zeros(n_rows)
    np.maximum.at(worst, errors.row, grave[errors.severity] if errors.row.size else np.empty(0))
    return worst
