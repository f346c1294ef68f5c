"""How raters use the scale on the same units, and the scores of systems: spread, ends, levels, and by length."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.reports.distributions.charts import plot_rater_histograms, plot_system_histograms
from app.reports.distributions.view import (
    RaterScoreSpread,
    ScoreDistributionsView,
    SystemScoreSpread,
    make_caption,
    make_csv_rows,
    make_tables,
    pseudonymize_raters,
)
from app.reports.inputs.raw_ratings import NOTHING, RawRatings, RawRatingsOptions, load_raw_ratings
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit import text_formatting
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.stats.agreement import score_distributions as spread
from app.stats.agreement.units import ValuesByUnit, make_document_units, make_segment_units
from app.stats.ratings import Floats
from app.storage.db import Session
from app.storage.segment_words import load_source_word_counts

FEW = 20


class ScoreDistributionsOptions(RawRatingsOptions):
    """Which scores, and of which raters."""

    unit: Literal["segment", "document"] = Field("segment", description="Scores of segments, or of whole documents.")
    between: Annotated[str, StringConstraints(max_length=1_000)] | None = Field(
        None,
        description="Raters, separated by commas: only these raters and the units that all of them rated. Not for "
        "viewers.",
    )


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: ScoreDistributionsOptions
) -> ReportComputation[ScoreDistributionsView]:
    ratings = load_raw_ratings(session, snapshots[0], options)
    make = make_segment_units if options.unit == "segment" else make_document_units
    units = make(ratings.rows, repeated=options.repeats)
    units = spread.select_raters_of_every_unit(units) if options.raters == "complete" else units
    named = tuple(filter(None, (options.between or "").split(",")))
    units = _restrict_to_common_units(units, named) if named else units
    words = _words(session, ratings, options)
    return make_undivided_computation(lambda: _view(ratings, units, words, options, named))


def _restrict_to_common_units(units: ValuesByUnit, named: tuple[str, ...]) -> ValuesByUnit:
    """Return the units that all named raters rated. Raises Invalid for an unknown rater."""
    unknown = [key for key in named if key not in units.raters]
    if unknown:
        what = f"there is no rater {unknown[0]!r} here"
        raise Invalid("the query is not valid", places=(Place(("query", "between"), what),))
    codes = [units.raters.index(key) for key in dict.fromkeys(named)]
    some = units.where(np.isin(units.rater, codes))
    return some.where((some.n_values_by_unit() == len(codes))[some.unit])


def _words(session: Session, ratings: RawRatings, options: ScoreDistributionsOptions) -> Floats | None:
    """Return the words of each segment code if the score is an unbounded penalty, else None."""
    if options.unit != "segment" or ratings.scale is not None or ratings.rows.higher_is_better:
        return None
    return load_source_word_counts(session, ratings.snapshot.campaign_id, ratings.rows.labels)


def _view(
    ratings: RawRatings,
    units: ValuesByUnit,
    words: Floats | None,
    options: ScoreDistributionsOptions,
    named: tuple[str, ...],
) -> ScoreDistributionsView:
    into = spread.make_histogram_bins(units.value, ratings.scale)
    common = units.with_two_or_more_values()
    raters = spread.compute_rater_score_distributions(units, into, ratings.scale) if common.n_units else ()
    of_units = None if words is None else words[units.place]
    systems = spread.compute_system_score_distributions(
        units, ratings.rows.labels.systems, into, ratings.scale, words=of_units
    )
    better = ratings.rows.higher_is_better
    ranks = spread.rank_values([one.mean for one in systems], higher_is_better=better)
    by_words = spread.rank_values([one.per_1000_words for one in systems], higher_is_better=better)
    means = [one.mean for one in raters]
    return ScoreDistributionsView(
        **ratings.report_header_fields,
        on=options.on,
        scoring=options.scoring,
        repeats=options.repeats,
        unit=options.unit,
        higher_is_better=better,
        between=list(named),
        n_units=units.n_units,
        n_common=common.n_units,
        consensus=float(spread.compute_unit_medians(common).mean()) if common.n_units else None,
        offset_sd=float(np.std(means, ddof=1)) if len(means) > 1 else None,
        bins=list(into.labels) if units.n_units else [],
        discrete=into.discrete,
        raters=[RaterScoreSpread.model_validate(asdict(one)) for one in raters],
        systems=[
            SystemScoreSpread.model_validate({**asdict(one), "rank": a, "rank_per_1000_words": b})
            for one, a, b in zip(systems, ranks, by_words, strict=True)
        ],
        warnings=_warnings(ratings, units, common),
    )


ALL_EQUAL = "all scores are equal, so correlations between raters are undefined; check whether raters used the scale"


def _warnings(ratings: RawRatings, units: ValuesByUnit, common: ValuesByUnit) -> list[str]:
    if not units.n_units:
        nobody = "no ratings remain after this choice of raters; choose raters=all, or fewer raters"
        return [nobody if len(ratings.rows) else NOTHING]
    if not common.n_units:
        return ["no unit was rated by two raters, so raters cannot be compared; have some rated twice"]
    shared = text_formatting.pluralize(common.n_units, "unit")
    few = (
        [f"raters share only {shared}, so their comparison is imprecise; have more rated twice"]
        if common.n_units < FEW
        else []
    )
    return few if np.ptp(units.value) else [*few, ALL_EQUAL]


_SHARES = [0.0, 0.25, 0.5, 0.25, 0.0]
EXAMPLE: dict[str, Any] = {
    "campaigns": {"demo": 4},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "on": "score",
    "scoring": "score",
    "repeats": "average",
    "unit": "segment",
    "higher_is_better": True,
    "between": [],
    "n_units": 40,
    "n_common": 20,
    "consensus": 3.1,
    "offset_sd": 0.2,
    "bins": ["1", "2", "3", "4", "5"],
    "discrete": True,
    "raters": [
        {
            "rater": "ana",
            "n": 20,
            "mean": 3.0,
            "sd": 0.7,
            "median": 3.0,
            "others": 3.2,
            "shift": 0.1,
            "correlation": 0.6,
            "at_minimum": 0.0,
            "at_maximum": 0.0,
            "shares": _SHARES,
        }
    ],
    "systems": [
        {
            "system": "A",
            "n_units": 20,
            "n": 30,
            "mean": 3.1,
            "mean_of_medians": 3.1,
            "at_minimum": 0.0,
            "at_maximum": 0.0,
            "shares": _SHARES,
            "rank": 1,
            "per_1000_words": None,
            "rank_per_1000_words": None,
        }
    ],
}
REPORT: Report[ScoreDistributionsOptions, ScoreDistributionsView] = Report(
    name="distributions",
    title="Distribution of scores",
    summary="Score distributions of raters on the same units, their shift from the consensus, and the scores of "
    "systems.",
    options=ScoreDistributionsOptions,
    result=ScoreDistributionsView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_rater_histograms, "systems": plot_system_histograms},
    caption=make_caption,
    naming=frozenset({"between"}),
    redact=pseudonymize_raters,
)
