"""The data card: what the data of a campaign consist of, and how they are distributed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from pydantic import BaseModel, ConfigDict

from app.reports.card.charts import plot_system_document_coverage
from app.reports.card.view import (
    BucketSizeCount,
    CountRange,
    DataCardView,
    DomainRatingCounts,
    RaterRatingCounts,
    RoleRatingCounts,
    SystemRatingSummary,
    make_caption,
    make_csv_rows,
    make_tables,
)
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.timed_ratings import RatingsWithTimes, load_ratings_with_times
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.stats import data_card as stats
from app.stats.ratings import Codes, RatingRole, Ratings
from app.storage import system_descriptions
from app.storage.db import Session

NOTHING = "there are no ratings yet, so the card describes only the test set; collect or import judgments"
UNKNOWN_DOCUMENTS = "documents are unknown, so there are no counts by document; import them if there are any"
UNKNOWN_WORDS = "some sources are unknown, so words are not counted; import all sources"
MOST_COLUMNS = 100


class DataCardOptions(BaseModel):
    """No options: a card describes all data."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _prepare(
    session: Session,
    snapshots: tuple[CampaignSnapshot, ...],
    options: DataCardOptions,  # noqa: ARG001  (as every kind is asked)
) -> ReportComputation[DataCardView]:
    ratings = load_ratings_with_times(session, snapshots[0], activity=False)
    kinds = {
        key: one.kind
        for key, one in system_descriptions.load_system_descriptions(session, snapshots[0].campaign_id).items()
    }
    return make_undivided_computation(lambda: make_data_card_view(snapshots[0], ratings, kinds))


def make_data_card_view(
    snapshot: CampaignSnapshot, ratings: RatingsWithTimes, kinds: Mapping[str, str]
) -> DataCardView:
    """Make the card from loaded ratings. kinds: the kind of each system, by key."""
    rows, names, documents = stats.select_test_set_ratings(ratings.rows), ratings.rows.labels, ratings.documents
    test = np.array([kind == "test" for kind in documents.kind], dtype=np.bool_)
    lengths = np.where(test, documents.segments, 0)
    segments, known = int(lengths.sum()), snapshot.campaign.documents_known
    used = np.unique(rows.system)
    outputs = stats.count_ratings_per_output(rows)
    words = None if not segments or (documents.words[test] < 0).any() else int(documents.words[test].sum())
    columns, grid = _map(rows, lengths, used)
    return DataCardView(
        campaigns={snapshot.campaign.key: snapshot.version},
        data_hash=ratings.head.data_hash,
        basis=snapshot.campaign.basis,
        dropped=_count_dropped_rows(ratings.rows),
        warnings=_warnings(rows, known=known, words=words),
        protocol=snapshot.campaign.protocol,
        source_language=snapshot.campaign.source_language,
        target_language=snapshot.campaign.target_language,
        documents_known=known,
        higher_is_better=ratings.rows.higher_is_better,
        documents=int((lengths > 0).sum()) if known else None,
        segments=segments,
        words=words,
        segments_per_document=_make_spread_view(stats.summarize_nonzero_counts(lengths)) if known else None,
        systems=int(used.size),
        raters=np.unique(rows.rater).size,
        ratings=len(rows),
        judgments=np.unique(rows.judgment).size,
        ratings_per_output=_make_spread_view(stats.summarize_nonzero_counts(outputs)),
        outputs=int(used.size) * segments,
        rated_outputs=int(outputs.size),
        by_system=[
            SystemRatingSummary(
                system=names.systems[one.code],
                kind=kinds.get(names.systems[one.code], "mt"),
                ratings=one.ratings,
                documents=one.documents,
                segments=one.segments,
                rated=min(1.0, one.segments / segments) if segments else None,
                mean=one.mean,
            )
            for one in stats.count_ratings_by_group(rows, rows.system, len(names.systems))
        ],
        by_rater=[
            RaterRatingCounts(
                rater=names.raters[one.code],
                ratings=one.ratings,
                judgments=one.judgments,
                documents=one.documents,
                mean=one.mean,
            )
            for one in stats.count_ratings_by_group(rows, rows.rater, len(names.raters))
        ],
        by_domain=_domains(rows, ratings, lengths) if known else [],
        by_role=_roles(ratings.rows),
        buckets=_buckets(rows) if known else [],
        columns=columns,
        map=grid,
    )


def _map(rows: Ratings, lengths: Codes, used: Codes) -> tuple[list[int], list[list[float]]]:
    """Return the ratings per output of each system; neighbouring documents share a column if there are many."""
    there = np.flatnonzero(lengths > 0)
    if not there.size or not used.size:
        return [], []
    counts = stats.count_ratings_by_system_and_document(rows, int(used.max()) + 1, lengths.size)[np.ix_(used, there)]
    groups = np.array_split(np.arange(there.size), min(MOST_COLUMNS, there.size))
    sizes = [int(lengths[there[group]].sum()) for group in groups]
    grid = [[float(line[group].sum()) / size for group, size in zip(groups, sizes, strict=True)] for line in counts]
    return [int(group.size) for group in groups], grid


def _domains(rows: Ratings, ratings: RatingsWithTimes, lengths: Codes) -> list[DomainRatingCounts]:
    codes, labels = ratings.documents.domain_codes_and_labels()
    of_rows = codes[rows.document]
    return [
        DomainRatingCounts(
            domain=label,
            documents=int(((codes == n) & (lengths > 0)).sum()),
            segments=int(lengths[codes == n].sum()),
            ratings=int((of_rows == n).sum()),
        )
        for n, label in enumerate(labels)
        if (lengths[codes == n] > 0).any()
    ]


def _roles(rows: Ratings) -> list[RoleRatingCounts]:
    parts = []
    for role in RatingRole:
        mine = rows.role == role.value
        if mine.any():
            rejected = int((mine & ~rows.accepted).sum())
            parts.append(RoleRatingCounts(role=role.name.lower(), ratings=int(mine.sum()), rejected=rejected))
    return parts


def _buckets(rows: Ratings) -> list[BucketSizeCount]:
    sizes = Counter((one.raters, one.documents) for one in stats.count_documents_by_rater_set(rows))
    ordered = sorted(sizes.items(), key=lambda one: (-one[0][1], -one[0][0]))
    return [BucketSizeCount(raters=raters, documents=documents, buckets=n) for (raters, documents), n in ordered]


def _count_dropped_rows(rows: Ratings) -> list[dict[str, object]]:
    n = len(rows) - len(stats.select_test_set_ratings(rows))
    return [{"reason": "control, reference and calibration items", "n": n}] if n else []


def _warnings(rows: Ratings, *, known: bool, words: int | None) -> list[str]:
    warnings = [] if len(rows) else [NOTHING]
    warnings += [] if known else [UNKNOWN_DOCUMENTS]
    return warnings + ([] if words is not None else [UNKNOWN_WORDS])


def _make_spread_view(spread: stats.CountSummary | None) -> CountRange | None:
    return None if spread is None else CountRange(least=spread.least, median=spread.median, most=spread.most)


REPORT = Report(
    name="card",
    title="Data card",
    summary="Contents of the data: documents, segments, systems, raters, ratings and their distribution.",
    options=DataCardOptions,
    result=DataCardView,
    example={
        "campaigns": {"ted-ende": 7},
        "data_hash": "sha256:00",
        "basis": "source",
        "protocol": "mqm",
        "source_language": "en",
        "target_language": "de",
        "documents_known": True,
        "higher_is_better": False,
        "documents": 5,
        "segments": 529,
        "words": 8500,
        "segments_per_document": {"least": 65, "median": 100.0, "most": 157},
        "systems": 1,
        "raters": 1,
        "ratings": 529,
        "judgments": 529,
        "ratings_per_output": {"least": 1, "median": 1.0, "most": 1},
        "outputs": 529,
        "rated_outputs": 529,
        "by_system": [
            {
                "system": "ref",
                "kind": "human",
                "ratings": 529,
                "documents": 5,
                "segments": 529,
                "rated": 1.0,
                "mean": 0.9,
            }
        ],
        "by_rater": [{"rater": "r1", "ratings": 529, "judgments": 529, "documents": 5, "mean": 0.9}],
        "by_domain": [{"domain": "talks", "documents": 5, "segments": 529, "ratings": 529}],
        "by_role": [{"role": "rating", "ratings": 529, "rejected": 0}],
        "buckets": [{"raters": 1, "documents": 5, "buckets": 1}],
        "columns": [1, 1, 1, 1, 1],
        "map": [[1.0, 1.0, 1.0, 1.0, 1.0]],
    },
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_system_document_coverage},
    caption=make_caption,
)
