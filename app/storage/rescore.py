"""Compare stored scores with the answers from which they are derived, profile by profile, and correct them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.db import driver_connection
from app.storage.temporary_tables import enable_temporary_table_subqueries

_STORED = """
SELECT judgment_id, score, n_errors FROM scores WHERE campaign_id = :campaign AND profile_id = :profile
ORDER BY judgment_id"""
_ADDRESSES = """
SELECT j.id, t.key, i.key, g.position, r.key, j.revision
FROM judgments j JOIN items i ON i.id = j.item_id JOIN tasks t ON t.id = i.task_id JOIN raters r ON r.id = j.rater_id
LEFT JOIN segments g ON g.id = j.segment_id WHERE j.campaign_id = :campaign AND j.id = ANY(:ids) ORDER BY j.id"""
_CORRECT = """
UPDATE scores s SET score = r.score, n_errors = r.n_errors FROM corrected r
WHERE s.campaign_id = :campaign AND s.profile_id = :profile AND s.judgment_id = r.id"""


@dataclass(frozen=True, slots=True)
class StoredWeightProfile:
    """A weight profile of a campaign under which judgments are scored."""

    id: int
    name: str
    digest: str
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StoredScore:
    """The stored score of one judgment."""

    judgment_id: int
    score: float
    n_errors: int


def load_weight_profiles(session: Session, campaign_id: int) -> list[StoredWeightProfile]:
    """Return all profiles of a campaign, by id."""
    query = text("SELECT id, name, digest, weights FROM profiles WHERE campaign_id = :campaign ORDER BY id")
    return [StoredWeightProfile(*row) for row in session.execute(query, {"campaign": campaign_id})]


def stream_stored_scores(session: Session, campaign_id: int, profile_id: int) -> Iterator[StoredScore]:
    """Stream the stored scores of a profile, by judgment."""
    keys = {"campaign": campaign_id, "profile": profile_id}
    for row in session.execute(text(_STORED), keys, execution_options={"yield_per": 5000}):
        yield StoredScore(*row)


def describe_judgment_addresses(session: Session, campaign_id: int, ids: Iterable[int]) -> dict[int, str]:
    """Describe the positions of judgments in words: `task item:position rater revision`."""
    rows = session.execute(text(_ADDRESSES), {"campaign": campaign_id, "ids": list(ids)})
    return {row[0]: f"{row[1]} {row[2]}{'' if row[3] is None else f':{row[3]}'} {row[4]} {row[5]}" for row in rows}


def correct_stored_scores(session: Session, campaign_id: int, profile_id: int, rows: Iterable[StoredScore]) -> None:
    """Replace stored scores with derived ones."""
    enable_temporary_table_subqueries(session)
    session.execute(
        text("CREATE TEMP TABLE IF NOT EXISTS corrected (id bigint, score float8, n_errors int) ON COMMIT DROP")
    )
    session.execute(text("TRUNCATE corrected"))
    with driver_connection(session).cursor() as cursor, cursor.copy("COPY corrected FROM STDIN") as copy:
        for row in rows:
            copy.write_row((row.judgment_id, row.score, row.n_errors))
    session.execute(text(_CORRECT), {"campaign": campaign_id, "profile": profile_id})
