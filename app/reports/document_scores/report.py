"""Whether the score of a whole document says more than the scores of its segments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from app.reports.document_scores.charts import plot_score_scatter
from app.reports.document_scores.view import (
    DocumentScoreCorrelation,
    DocumentScoresView,
    make_caption,
    make_csv_rows,
    make_tables,
)
from app.reports.inputs.raw_ratings import (
    NOTHING,
    UNKNOWN_DOCUMENTS,
    BootstrapOptions,
    RawRatings,
    RawRatingsOptions,
    keep_raters_of_every_segment,
    load_raw_ratings,
)
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.stats.agreement import bootstrap
from app.stats.agreement.document_scores import (
    PARTS,
    DocumentAndSegmentScores,
    correlate_document_with_segment_scores,
    document_segment_score_pearson,
    join_document_and_segment_scores,
)
from app.stats.agreement.units import Repeated
from app.stats.document_lengths import LENGTHS, format_segment_count_range, mask_lengths_within
from app.stats.plain_values import interval_or_none
from app.stats.ratings import Bools, RatingRole, Ratings
from app.storage.db import Session

SHORT, LONG = 10, 20
CONTROLS = (RatingRole.REPEAT, RatingRole.DEGRADED, RatingRole.REFERENCE)
MOST_POINTS = 3_000
DRAWS_AT_ONCE = 100


class DocumentScoresOptions(RawRatingsOptions, BootstrapOptions):
    """Which documents are used, and how intervals are computed."""

    controls: Literal["drop", "keep"] = Field(
        "drop", description="Documents in which a rater met a control item (degraded, repeat, reference)."
    )
    repeats: Repeated = Field("latest", description="Which of several ratings of one text by one rater counts.")


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: DocumentScoresOptions
) -> ReportComputation[DocumentScoresView]:
    every = RawRatingsOptions(**{**options.model_dump(include=set(RawRatingsOptions.model_fields)), "roles": ALL_ROLES})
    ratings, whole_set = (
        keep_raters_of_every_segment(load_raw_ratings(session, snapshots[0], options), options),
        load_raw_ratings(session, snapshots[0], every),
    )
    return make_undivided_computation(lambda: _view(ratings, whole_set.rows, options))


ALL_ROLES = "rating,repeat,reference,degraded,calibration"


def _view(ratings: RawRatings, every: Ratings, options: DocumentScoresOptions) -> DocumentScoresView:
    rows, dropped = ratings.rows, list(ratings.dropped)
    if options.controls == "drop":
        clean = ~_with_controls(rows, every)
        if (~clean).any():
            dropped.append({"reason": "document with a control item", "n": int((~clean).sum())})
        rows = rows.where(clean)
    data = join_document_and_segment_scores(_combine_repeats(rows, options.repeats))
    for reason, n in (
        ("document score where segments lack a score", data.incomplete),
        ("document score without segment scores", data.alone),
    ):
        if n:
            dropped.append({"reason": reason, "n": n})
    head = {**ratings.report_header_fields, "dropped": dropped}
    return DocumentScoresView(
        **head,
        scoring=options.scoring,
        controls=options.controls,
        n=data.n_document_scores,
        draws=options.bootstrap,
        interval_level=options.level,
        seed=options.seed,
        correlations=list(_lines(data, options)),
        mean_difference=float((data.score - data.parts["mean"]).mean()) if data.n_document_scores else None,
        points=_points(data),
        warnings=_warnings(ratings, data),
    )


def _with_controls(rows: Ratings, every: Ratings) -> Bools:
    """Return the rows of a document in which the rater met a control item, of any system, in the same task."""
    n_tasks, n_raters = max(len(rows.labels.tasks), 1), max(len(rows.labels.raters), 1)

    def key(of: Ratings) -> Any:
        return (of.document.astype(np.int64) * n_raters + of.rater) * n_tasks + of.task

    return np.asarray(np.isin(key(rows), key(every)[np.isin(every.role, CONTROLS)]), dtype=np.bool_)


def _combine_repeats(rows: Ratings, repeats: Repeated) -> Ratings:
    """Return one score per text and rater; for `average`, every row gets the mean of the repeats."""
    if repeats == "latest" or not len(rows):
        return rows
    address = np.stack([getattr(rows, name) for name in ("kind", "rater", "system", "document", "segment")])
    text = np.unique(address, axis=1, return_inverse=True)[1].ravel()
    if repeats == "average":
        return rows.with_scores((np.bincount(text, weights=rows.score) / np.bincount(text))[text])
    first = np.full(int(text.max()) + 1, np.iinfo(np.int32).max)
    np.minimum.at(first, text, rows.nth)
    return rows.where(rows.nth == first[text])


def _lines(data: DocumentAndSegmentScores, options: DocumentScoresOptions) -> Iterator[DocumentScoreCorrelation]:
    if not data.n_document_scores:
        return
    sets = {
        "all": np.ones(data.n_document_scores, dtype=np.bool_),
        "short": data.length <= SHORT,
        "long": data.length > LONG,
    }
    for name, where in sets.items():
        if where.any():
            yield from (_line(data, name, part, where, options) for part in PARTS)
    for low, high in LENGTHS:
        where = mask_lengths_within(data.length, low, high)
        if where.any():
            yield _line(data, format_segment_count_range(low, high), "mean", where, options)


def _line(
    data: DocumentAndSegmentScores, documents: str, part: str, where: Bools, options: DocumentScoresOptions
) -> DocumentScoreCorrelation:
    coefficients = correlate_document_with_segment_scores(data, part, where)
    interval = None
    if options.bootstrap and coefficients.pearson is not None:
        of, held = document_segment_score_pearson(data, part, where), np.unique(data.document[where])
        drawn = [
            of(
                bootstrap.bootstrap_document_counts_of_subset(
                    held, data.n_documents, min(DRAWS_AT_ONCE, options.bootstrap - at), options.seed, i
                )
            )
            for i, at in enumerate(range(0, options.bootstrap, DRAWS_AT_ONCE))
        ]
        interval = interval_or_none(*bootstrap.percentile_interval(np.concatenate(drawn), options.level))
    return DocumentScoreCorrelation(
        documents=documents,
        part=part,
        n=coefficients.n,
        pearson=coefficients.pearson,
        interval=interval,
        spearman=coefficients.spearman,
        kendall=coefficients.kendall,
    )


def _points(data: DocumentAndSegmentScores) -> list[tuple[float, float]]:
    at = np.unique(
        np.linspace(0, max(data.n_document_scores - 1, 0), min(data.n_document_scores, MOST_POINTS)).astype(np.intp)
    )
    return [(float(data.parts["mean"][i]), float(data.score[i])) for i in at]


def _warnings(ratings: RawRatings, data: DocumentAndSegmentScores) -> list[str]:
    if not len(ratings.rows):
        return [NOTHING]
    if not len(ratings.rows.document_ratings()):
        return ["no document was scored as a whole, so there is nothing to compare; ask raters for document scores too"]
    if not data.n_document_scores:
        return ["no rater scored a document both as a whole and segment by segment; ask the same raters for both"]
    warnings = [] if ratings.rows.documents_known else [UNKNOWN_DOCUMENTS]
    if np.unique(data.document).size == 1:
        warnings.append("only one document: no intervals over documents; judge more documents")
    if np.ptp(data.score) == 0:
        warnings.append(
            "every document has the same score, so no correlation is defined; check whether raters used the scale"
        )
    return warnings


_LINE = {"part": "mean", "n": 240, "pearson": 0.88, "interval": [0.82, 0.92], "spearman": 0.85, "kendall": 0.7}
EXAMPLE: dict[str, Any] = {
    "campaigns": {"wmt22-en-cs": 4},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "scoring": "score",
    "controls": "drop",
    "n": 240,
    "draws": 1000,
    "interval_level": 0.95,
    "seed": 0,
    "correlations": [{"documents": "all", **_LINE}],
    "mean_difference": -1.2,
    "points": [[81.5, 80.0]],
}
REPORT: Report[DocumentScoresOptions, DocumentScoresView] = Report(
    name="document_scores",
    title="Document and segment scores",
    summary="Correlations of the document score with mean, extremes, first and last segments, by length.",
    options=DocumentScoresOptions,
    result=DocumentScoresView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_score_scatter},
    caption=make_caption,
)
