"""All data stored about a rater, by kind, without naming a system, an item's role or another rater's answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text

from app.storage.db import Session

Row = sa.Row[Any]
BATCH = 2000
_HERE = "WHERE x.campaign_id = :campaign AND x.rater_id = :rater"
# For queries that must hide earlier answers; queries with neither mark show all rows, whatever their age.
_SINCE = {"at": "AND x.at >= :since", "recorded_at": "AND x.recorded_at >= :since"}

# Identifying data, for the rater only. A front-end acts for a pseudonym and needs nothing about the person behind it.
IDENTITY = "p.key AS person, e.external_id, k.name AS contact_name, k.email AS contact_email, k.note AS contact_note"
RATER = """
SELECT r.key, r.name, r.attributes, c.key AS campaign, e.state, e.capacity, e.capacity_unit, e.buckets, e.languages,
       e.created_at AS enrolled_at, e.erased_at, t.key AS team, i.platform{identity}
FROM raters r JOIN campaigns c ON c.id = r.campaign_id LEFT JOIN people p ON p.id = r.person_id
LEFT JOIN enrolments e ON e.rater_id = r.id LEFT JOIN teams t ON t.id = e.team_id
LEFT JOIN invitations i ON i.id = e.invitation_id LEFT JOIN contacts k ON k.rater_id = r.id
WHERE r.campaign_id = :campaign AND r.id = :rater"""

CREDENTIALS = "credentials"

# In the order of the export. A position in a task identifies what was shown there.
LISTS: Mapping[str, str] = MappingProxyType(
    {
        CREDENTIALS: f"""SELECT x.prefix, x.name, x.created_at, x.expires_at, x.revoked_at FROM tokens x
            {_HERE} ORDER BY x.id""",
        "consents": f"SELECT x.version, x.language, x.at FROM consents x {_HERE} ORDER BY x.version",
        "qualification": f"""SELECT x.n AS attempt, x.version, x.answers, x.share, x.passed, x.waived, x.at
            FROM qualification_attempts x {_HERE} {{at}} ORDER BY x.n""",
        "tutorial": f"""SELECT dense_rank() OVER (ORDER BY x.document) AS document, x.position AS segment, x.payload,
            x."right", x.at FROM tutorial_answers x {_HERE} {{at}} ORDER BY x.at, 1, x.position""",
        "questionnaires": f"""SELECT x.moment, x.n AS revision, x.answers, x.at FROM questionnaire_answers x
            {_HERE} {{at}} ORDER BY x.at, x.moment, x.n""",
        "tasks": f"""SELECT t.public_id AS task, x.leased_at, x.ended_at, x.ended_how, t.completion_code
            FROM leases x JOIN tasks t ON t.id = x.task_id {_HERE} ORDER BY x.leased_at, t.id""",
        "judgments": f"""SELECT t.public_id AS task, i.position AS item, g.position AS segment, x.revision, x.payload,
            x.guidelines, x.started_at, x.submitted_at, x.recorded_at
            FROM judgments x JOIN items i ON i.id = x.item_id JOIN tasks t ON t.id = i.task_id
            LEFT JOIN segments g ON g.id = x.segment_id {_HERE} {{recorded_at}} ORDER BY x.id""",
        "screens": f"""SELECT t.public_id AS task, x.screen, x.revision, x.payload, x.recorded_at
            FROM screen_judgments x JOIN tasks t ON t.id = x.task_id {_HERE} {{recorded_at}}
            ORDER BY x.recorded_at, x.screen""",
        "activity": f"""SELECT t.public_id AS task, x.session, x.seq, x.kind, x.at_ms, x.item, x.segment, x.received_at
            FROM activity x JOIN tasks t ON t.id = x.task_id {_HERE} ORDER BY x.received_at, x.session, x.seq""",
        # Answers to forms. Answers to documents name systems, and are among the judgments.
        "pearmut": f"""SELECT x.place, CASE WHEN jsonb_typeof(x.body -> 'annotation' -> 0) <> 'object'
            THEN x.body -> 'annotation' END AS answers, x.body ->> 'comment' AS comment, x.skipped, x.at
            FROM pearmut_answers x {_HERE} {{at}} ORDER BY x.id""",
        "messages": f"SELECT x.text, x.at, x.read_at FROM rater_messages x {_HERE} ORDER BY x.id",
        "hours": f"""SELECT x.kind, x.seconds, x.reason, x.at FROM hour_adjustments x {_HERE} ORDER BY x.id""",
        "comments": f"""SELECT t.public_id AS task, i.position AS item, g.position AS segment, x.screen, x.text, x.at
            FROM comments x JOIN tasks t ON t.id = x.task_id LEFT JOIN items i ON i.id = x.item_id
            LEFT JOIN segments g ON g.id = x.segment_id {_HERE} {{at}} ORDER BY x.id""",
        "flags": f"""SELECT t.public_id AS task, x.segment, x.reason, x.note, x.at, x.answer, x.answered_at
            FROM flags x JOIN tasks t ON t.id = x.task_id {_HERE} {{at}} ORDER BY x.id""",
    }
)


def stream_rater_rows(
    session: Session, query: str, campaign_id: int, rater_id: int, *, since: datetime | None = None
) -> Iterator[Row]:
    """Stream one of the queries above. since: omit answers, attempts and flags from before this time."""
    keys = {"campaign": campaign_id, "rater": rater_id, "since": since}
    query = query.format_map(dict.fromkeys(_SINCE, "") if since is None else _SINCE)
    yield from session.execute(text(query), keys, execution_options={"yield_per": BATCH})


def load_account_and_enrolment(session: Session, campaign_id: int, rater_id: int, *, identity: bool) -> Row:
    """Return a rater's account and enrolment. identity: include contact, external id and person."""
    query = RATER.format(identity=f", {IDENTITY}" if identity else "")
    return session.execute(text(query), {"campaign": campaign_id, "rater": rater_id}).one()
