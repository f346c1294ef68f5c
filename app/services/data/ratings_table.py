"""The ratings of a campaign as CSV, the input of every analysis: one row per (judgment, system), at full precision."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from app.domain.recipe import ScoringChoice
from app.domain.spreadsheet_cells import escape_formula
from app.reports.inputs.scores import hash_campaign_score_profile, resolve_score_definition
from app.services.campaigns.campaigns import get_campaign
from app.stats.ratings import RatingRole, Ratings
from app.storage import campaigns, exports, ratings
from app.storage.db import Session

COLUMNS = ("system", "document", "position", "rater", "task", "judgment", "role", "accepted", "score", "n_errors")
BATCH = 5000


def stream_ratings_csv(session: Session, campaign: str) -> Iterator[bytes]:
    """Stream the ratings under the campaign's own profile; only column names if nothing has been judged.

    Nothing is written, so the transaction may be read-only. `position` is empty for a score of a whole document.
    `judgment` numbers judgments: identical outputs that were judged once share one. The number of errors is −1 if no
    errors are asked for.
    """
    row, view = campaigns.load_campaign(session, campaign), get_campaign(session, campaign)
    read = resolve_score_definition(view, ScoringChoice())
    metadata = ratings.RatingsMetadata(
        higher_is_better=read.measure.higher_is_better,
        scale=read.measure.scale,
        criterion=None,
        documents_known=view.documents_known,
        standardised=read.options.standardised,
    )
    yield _lines([COLUMNS])
    profile = exports.find_weight_profile_id_by_digest(session, row.id, hash_campaign_score_profile(view))
    if profile is None:
        return
    loaded = ratings.load_ratings(
        session, campaign_id=row.id, profile_id=profile, version=row.data_version, metadata=metadata
    )
    held: list[tuple[object, ...]] = []
    for cells in _rows(loaded.ratings):
        held.append(cells)
        if len(held) >= BATCH:
            yield _lines(held)
            held = []
    if held:
        yield _lines(held)


def _rows(rows: Ratings) -> Iterator[tuple[object, ...]]:
    names = rows.labels
    for i in range(len(rows)):
        segment = int(rows.segment[i])
        yield (
            escape_formula(names.systems[rows.system[i]]),
            escape_formula(names.documents[rows.document[i]]),
            "" if segment < 0 else int(names.segment_position[segment]),
            escape_formula(names.raters[rows.rater[i]]),
            escape_formula(names.tasks[rows.task[i]]),
            int(rows.judgment[i]),
            RatingRole(int(rows.role[i])).name.lower(),
            "true" if rows.accepted[i] else "false",
            repr(float(rows.score[i])),
            int(rows.n_errors[i]),
        )


def _lines(rows: Iterable[Iterable[object]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()
