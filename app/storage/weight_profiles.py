"""Weight profiles of a campaign, and the scores derived under each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage.db import driver_connection
from app.storage.query_planning import execute_full_scan
from app.storage.tables import profiles
from app.storage.temporary_tables import enable_temporary_table_subqueries

STORE = """
INSERT INTO scores (campaign_id, profile_id, judgment_id, item_id, segment_id, rater_id, revision, n_errors, version,
                    at_us, score, surplus)
SELECT j.campaign_id, :profile, j.id, j.item_id, j.segment_id, j.rater_id, j.revision, r.n_errors, j.version,
       coalesce((extract(epoch FROM j.submitted_at) * 1000000)::bigint, 0), r.score, j.surplus
FROM rescored r JOIN judgments j ON j.id = r.id AND j.campaign_id = :campaign
ON CONFLICT (profile_id, judgment_id) DO NOTHING"""


def ensure_weight_profile(
    session: Session, campaign_id: int, *, name: str, digest: str, weights: Mapping[str, object]
) -> int:
    """Return the id of this profile in this campaign; create it if it is missing, else write nothing."""
    query = sa.select(profiles.c.id).where(profiles.c.campaign_id == campaign_id, profiles.c.digest == digest)
    stored_id = session.execute(query).scalar_one_or_none()
    if stored_id is not None:
        return int(stored_id)
    values = {"campaign_id": campaign_id, "name": name, "digest": digest, "weights": weights}
    session.execute(insert(profiles).values(values).on_conflict_do_nothing(index_elements=["campaign_id", "digest"]))
    return int(session.execute(query).scalar_one())


# Use the index to find the first score of each profile: without scores, the query would read those of all campaigns.
_ANY_SCORE = text("""
SELECT EXISTS (SELECT FROM profiles p WHERE p.campaign_id = :campaign
               AND (SELECT min(s.judgment_id) FROM scores s WHERE s.profile_id = p.id) IS NOT NULL)""")


def has_any_scored_judgment(session: Session, campaign_id: int) -> bool:
    """Tell whether any judgment of this campaign has a score under any profile."""
    return bool(session.execute(_ANY_SCORE, {"campaign": campaign_id}).scalar())


def has_unscored_judgments(session: Session, campaign_id: int, profile_id: int) -> bool:
    """Tell whether any judgment lacks a score under this profile."""
    query = """
        SELECT EXISTS (SELECT FROM judgments j LEFT JOIN scores s ON s.judgment_id = j.id AND s.profile_id = :profile
                       WHERE j.campaign_id = :campaign AND s.judgment_id IS NULL)"""
    return bool(execute_full_scan(session, query, {"campaign": campaign_id, "profile": profile_id}).scalar())


def store_scores(session: Session, campaign_id: int, profile_id: int, rows: Iterable[tuple[int, float, int]]) -> None:
    """Store (judgment, score, number of errors) under a profile, with the address of each judgment."""
    enable_temporary_table_subqueries(session)
    session.execute(
        text("CREATE TEMP TABLE IF NOT EXISTS rescored (id bigint, score float8, n_errors int) ON COMMIT DROP")
    )
    session.execute(text("TRUNCATE rescored"))
    with driver_connection(session).cursor() as cursor, cursor.copy("COPY rescored FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    execute_full_scan(session, STORE, {"campaign": campaign_id, "profile": profile_id})
