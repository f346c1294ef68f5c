"""Input of reports on raters: ratings with their times, and the word counts of the judged texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from app.domain.errors import Invalid, Place
from app.domain.recipe import ScoringChoice
from app.reports.inputs.active_times import fill_missing_start_times
from app.reports.inputs.data_hash import hash_report_data
from app.reports.inputs.scores import load_scored_ratings, resolve_score_definition
from app.reports.inputs.snapshot import CampaignSnapshot
from app.stats.ranking.result import METHOD_VERSION
from app.stats.rating_metadata import DocumentTable, RatingEventTable
from app.stats.ratings import Codes, Floats, Ratings, encode_column_combinations
from app.storage import rating_metadata, ratings, system_descriptions
from app.storage.db import Session
from app.storage.query_planning import disable_nested_loops

On = Literal["score", "errors"]


class RaterReportHeader(BaseModel):
    """The data that a report on raters describes."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    campaign: str
    data_version: int
    data_hash: str = Field(description="Hash of the ratings that were read.")
    method_version: str
    protocol: str


@dataclass(frozen=True, slots=True)
class RatingsWithTimes:
    """Ratings with their times and word counts.

    words: of the source of each row, as the mean of its document; NaN if unknown. judgment_ids: the stored id of each
    row.
    """

    head: RaterReportHeader
    rows: Ratings
    events: RatingEventTable
    documents: DocumentTable
    words: Floats
    judgment_ids: npt.NDArray[np.int64]


def load_ratings_with_times(
    session: Session, snapshot: CampaignSnapshot, *, on: On = "score", activity: bool = True
) -> RatingsWithTimes:
    """Load the ratings of a campaign as they were given, with times and words.

    on: the score, or the number of marked errors as a penalty. activity: use recorded activity for answers without a
    start time of their own. Raises Invalid for `errors` if the protocol marks none.
    """
    loaded, profile = _load_ratings(session, snapshot, ratings.LOAD)
    rows = loaded.ratings
    documents = rating_metadata.load_document_table(session, snapshot.campaign_id, rows.labels)
    head = RaterReportHeader(
        campaign=snapshot.campaign.key,
        data_version=snapshot.version,
        data_hash=hash_report_data(
            rows, documents, system_descriptions.load_system_descriptions(session, snapshot.campaign_id)
        ),
        method_version=METHOD_VERSION,
        protocol=snapshot.campaign.protocol,
    )
    events = rating_metadata.load_rating_event_table(session, snapshot.campaign_id, profile, loaded.judgment_ids)
    if activity:
        events = fill_missing_start_times(session, snapshot, events, loaded.judgment_ids)
    rows = _score_by_error_count(rows) if on == "errors" else rows
    return RatingsWithTimes(head, rows, events, documents, _words(rows, documents), loaded.judgment_ids)


def load_control_ratings(session: Session, snapshot: CampaignSnapshot) -> tuple[Ratings, bool]:
    """Load the ratings that tests of control items use, and whether the campaign has any rating of a segment."""
    with disable_nested_loops(session):
        loaded, profile = _load_ratings(session, snapshot, ratings.CONTROLS)
    of_segments = ratings.has_segment_ratings(
        session, campaign_id=snapshot.campaign_id, profile_id=profile, version=snapshot.version
    )
    return loaded.ratings, of_segments


def _load_ratings(
    session: Session, snapshot: CampaignSnapshot, statement: str
) -> tuple[ratings.RatingsWithJudgmentIds, int]:
    """Load the ratings as they were given, and the profile that scored them."""
    read = resolve_score_definition(snapshot.campaign, ScoringChoice())
    return load_scored_ratings(session, snapshot, read, statement=statement)


def _score_by_error_count(rows: Ratings) -> Ratings:
    if (rows.n_errors < 0).any():
        what = "this protocol marks no errors"
        raise Invalid("the question does not fit the campaign", places=(Place(("query", "on"), what),))
    return replace(rows, score=rows.n_errors.astype(np.float64), higher_is_better=False, scale=None)


def _words(rows: Ratings, documents: DocumentTable) -> Floats:
    known = (documents.words >= 0) & (documents.segments > 0)
    mean = np.where(known, documents.words / np.maximum(documents.segments, 1), np.nan)
    return np.asarray(mean[rows.document], dtype=np.float64)


def encode_shown_documents(rows: Ratings) -> Codes:
    """Return a code for each document as shown to a rater: one per rater, task, document and system."""
    return encode_column_combinations(rows.rater, rows.task, rows.document, rows.system)
