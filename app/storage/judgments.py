"""Judgments: one function adds one, many or imported ones; nothing changes or deletes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.merge import Check, require

# What was staged, with names turned into rows and the number of the revision that each answer will be. An answer equal
# to the latest one is no revision: sending it again changes nothing.
RESOLVE = """
CREATE TEMP TABLE resolved ON COMMIT DROP AS
SELECT j.n, nextval(pg_get_serial_sequence('judgments', 'id')) AS id, i.id AS item_id, g.id AS segment_id,
       t.rater_id, coalesce(j.revision, coalesce(had.revision, 0) + 1) AS revision,
       had.revision IS NOT NULL AS known, coalesce((extract(epoch FROM j.submitted_at) * 1000000)::bigint, 0) AS at_us
FROM staged_judgments j
JOIN tasks t ON t.campaign_id = :campaign AND t.key = j.task
JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id AND i.key = j.item
LEFT JOIN segments g ON g.campaign_id = :campaign AND g.document_id = i.document_id AND g.position = j.position
{history}
WHERE had.payload IS DISTINCT FROM j.payload"""

# The lookups into history cost as much as the rest together, so a campaign without judgments goes without.
HISTORY = """
LEFT JOIN LATERAL (SELECT x.revision, x.payload FROM judgments x
    WHERE x.item_id = i.id AND x.segment_id IS NOT DISTINCT FROM g.id AND x.rater_id = t.rater_id
      AND (j.revision IS NULL OR x.revision = j.revision)
    ORDER BY x.revision DESC LIMIT 1) had ON true"""
NO_HISTORY = "CROSS JOIN (SELECT NULL::int AS revision, NULL::jsonb AS payload) had"

TWICE = Check(
    """SELECT DISTINCT ON (r.item_id, r.segment_id, r.revision) j.file, j.line,
              j.item || coalesce(':' || j.position, '')
       FROM (SELECT *, count(*) OVER (PARTITION BY item_id, segment_id, rater_id, revision) AS times FROM resolved) r
       JOIN staged_judgments j USING (n) WHERE r.times > 1 ORDER BY r.item_id, r.segment_id, r.revision, j.line DESC""",
    "the same rater judged {} twice; give revisions or times",
)
OTHER_ANSWER = Check(
    """SELECT j.file, j.line, j.item || coalesce(':' || j.position, '')
       FROM resolved r JOIN staged_judgments j USING (n)
       WHERE r.known AND j.revision IS NOT NULL ORDER BY j.file, j.line""",
    "revision of {} is stored already with another answer",
)

APPEND = """
INSERT INTO judgments (id, campaign_id, item_id, segment_id, rater_id, revision, payload, started_at, submitted_at,
                       external_id, meta, version)
OVERRIDING SYSTEM VALUE
SELECT r.id, :campaign, r.item_id, r.segment_id, r.rater_id, r.revision, j.payload, j.started_at, j.submitted_at,
       j.external_id, j.meta, :version
FROM resolved r JOIN staged_judgments j USING (n)"""

SCORE = """
INSERT INTO scores (campaign_id, profile_id, judgment_id, item_id, segment_id, rater_id, revision, n_errors, version,
                    at_us, score, surplus)
SELECT :campaign, :profile, r.id, r.item_id, r.segment_id, r.rater_id, r.revision, j.n_errors, :version, r.at_us,
       j.score, false
FROM resolved r JOIN staged_judgments j USING (n)"""

VOID = """
INSERT INTO voids (campaign_id, judgment_id, reason, actor, version)
SELECT DISTINCT ON (x.id) :campaign, x.id, v.reason, v.actor, :version
FROM staged_voids v
JOIN tasks t ON t.campaign_id = :campaign AND t.key = v.task
JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id AND i.key = v.item
JOIN raters r ON r.campaign_id = :campaign AND r.key = v.rater
LEFT JOIN segments g ON g.campaign_id = :campaign AND g.document_id = i.document_id AND g.position = v.position
JOIN judgments x ON x.campaign_id = :campaign AND x.item_id = i.id AND x.rater_id = r.id
     AND x.segment_id IS NOT DISTINCT FROM g.id
ORDER BY x.id ON CONFLICT DO NOTHING"""


@dataclass(frozen=True, slots=True)
class Appended:
    """How many judgments were added, how many of them revise an earlier answer, and how many said nothing new."""

    added: int
    revisions: int
    unchanged: int


def resolve_staged(session: Session, campaign_id: int) -> Appended:
    """Find the row and the revision of every staged judgment, after `merge.declare` has created what they name.

    Raises Contradiction, with file and line, for two answers at one address or another answer to a stored revision.
    """
    history = HISTORY if _has_judgments(session, campaign_id) else NO_HISTORY
    session.execute(text(RESOLVE.format(history=history)), {"campaign": campaign_id})
    session.execute(text("ANALYZE resolved"))
    require(session, campaign_id, (TWICE, OTHER_ANSWER))
    staged, resolved, revisions = session.execute(
        text(
            """SELECT (SELECT count(*) FROM staged_judgments), count(*), count(*) FILTER (WHERE revision > 1)
               FROM resolved"""
        )
    ).one()
    return Appended(added=resolved, revisions=revisions, unchanged=staged - resolved)


def append_staged(session: Session, *, campaign_id: int, profile_id: int, version: int) -> None:
    """Add every resolved judgment with its score."""
    keys = {"campaign": campaign_id, "profile": profile_id, "version": version}
    session.execute(text(APPEND), keys)
    session.execute(text(SCORE), keys)


def void_staged(session: Session, *, campaign_id: int, version: int) -> int:
    """Set aside what the staged voids name; how many judgments that were not void before."""
    result = session.execute(text(VOID), {"campaign": campaign_id, "version": version})
    return int(getattr(result, "rowcount", 0))


def _has_judgments(session: Session, campaign_id: int) -> bool:
    query = text("SELECT EXISTS (SELECT FROM judgments WHERE campaign_id = :campaign)")
    return bool(session.execute(query, {"campaign": campaign_id}).scalar())


@dataclass(frozen=True, slots=True)
class Answer:
    """A stored payload with the texts that it was given on."""

    judgment_id: int
    payload: Mapping[str, object]
    source: str | None
    text: str | None


def answers(
    session: Session, campaign_id: int, *, version: int | None = None, field: str | None = None
) -> Iterator[Answer]:
    """Stored payloads with their texts, streamed.

    version: only those that this version added. field: only payloads where this list is not empty.
    """
    query = text(
        """SELECT j.id, j.payload, g.source, (SELECT o.text FROM credits c JOIN outputs o ON o.campaign_id = :campaign
                  AND o.system_id = c.system_id AND o.segment_id = g.id WHERE c.item_id = j.item_id LIMIT 1)
           FROM judgments j LEFT JOIN segments g ON g.id = j.segment_id
           WHERE j.campaign_id = :campaign AND (CAST(:version AS bigint) IS NULL OR j.version = :version)
             AND (CAST(:field AS text) IS NULL OR coalesce(j.payload -> :field, '[]') <> '[]'::jsonb)
           ORDER BY j.id"""
    )
    keys = {"campaign": campaign_id, "version": version, "field": field}
    rows = session.execute(query, keys, execution_options={"yield_per": 5000})
    for row in rows:
        yield Answer(*row)


def staged_at(session: Session, judgment_id: int) -> tuple[str, int]:
    """File and line that a judgment of the import under way came from."""
    query = text("SELECT j.file, j.line FROM resolved r JOIN staged_judgments j USING (n) WHERE r.id = :id")
    file, line = session.execute(query, {"id": judgment_id}).one()
    return file, line
