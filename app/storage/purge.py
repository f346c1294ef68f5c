"""Delete the judgments of an erased rater: only as the schema's owner, because the serving role may not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.attention_checks import KIND
from app.storage.attention_checks import IS_CHECK
from app.storage.citus_distribution import MIGRATION_SETTINGS
from app.storage.query_planning import execute_full_scan
from app.storage.seals import comparison_hash_sql, judgment_hash_sql, void_hash_sql

Row = sa.Row[Any]
# Triggers keep these tables append-only. The owner disables the triggers in this transaction, which blocks writers.
SEALED = ("judgments", "voids", "screen_judgments", "activity", "qualification_attempts")
_OF = "campaign_id = :campaign AND rater_id = :rater"
_THEIRS = f"campaign_id = :campaign AND judgment_id IN (SELECT id FROM judgments WHERE {_OF})"
_HASHES = f"""
SELECT 'judgment ' || id AS row, encode({judgment_hash_sql("j")}, 'hex') AS hash, version FROM judgments j WHERE {_OF}
UNION ALL SELECT 'void ' || judgment_id, encode({void_hash_sql("v")}, 'hex'), version FROM voids v WHERE {_THEIRS}
UNION ALL SELECT 'screen ' || task_id || ' ' || screen || ' ' || revision, encode({comparison_hash_sql("s")}, 'hex'),
                 version FROM screen_judgments s WHERE {_OF}
ORDER BY 1"""
_DELETIONS = (
    f"DELETE FROM scores WHERE {_THEIRS}",
    f"DELETE FROM voids WHERE {_THEIRS}",
    *(f"DELETE FROM {table} WHERE {_OF}" for table in SEALED if table != "voids"),
    f"DELETE FROM comments WHERE {_OF}",
    f"UPDATE tasks SET meta = meta #- ARRAY['{KIND}', 'result'] WHERE {_OF} AND {IS_CHECK.format(task='tasks')}",
    f"DELETE FROM flags WHERE {_OF}",
    f"DELETE FROM tutorial_answers WHERE {_OF}",
    f"DELETE FROM questionnaire_answers WHERE {_OF}",
    # A comparison may mention the campaign without being stored under it.
    "DELETE FROM reports WHERE campaign_id = :campaign OR kind LIKE 'campaigns/%'",
    "DELETE FROM jobs WHERE campaign_id = :campaign OR kind LIKE 'campaigns/%'",
)


def purge_rater_data(session: Session, campaign_id: int, rater_id: int) -> Sequence[Row]:
    """Delete the answers, activity, attempts and flags of a rater; return the SHA-256 of each sealed row.

    The seal of the row's version was computed from this hash, which must be kept so that the seal can be verified.
    """
    here = {"campaign": campaign_id, "rater": rater_id}
    for setting in ("lock_timeout = '5s'", *MIGRATION_SETTINGS):
        session.execute(text(f"SET LOCAL {setting}"))
    for table in SEALED:
        session.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER {table}_append_only"))
    hashes = session.execute(text(_HASHES), here).all()
    for statement in _DELETIONS:
        execute_full_scan(session, statement, here)
    for table in SEALED:
        session.execute(text(f"ALTER TABLE {table} ENABLE TRIGGER {table}_append_only"))
    return hashes
