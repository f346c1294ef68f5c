"""Appends imported and external judgments; nothing changes or deletes them.

Raters' own answers are written in `app/storage/recorder/judgments.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.attention_checks import ROLE as ATTENTION
from app.stats.ratings import RatingRole
from app.storage import comments, seals
from app.storage.attention_checks import SHOWN_TEXT
from app.storage.imports import staging
from app.storage.imports.merge import MergeCheckQuery, require_merge_checks_pass
from app.storage.optional_filters import join_optional_conditions
from app.storage.temporary_tables import reads_temporary_tables_as_subqueries

# The staged judgments, with names turned into ids and each answer's future revision number, in one table, so that later
# statements need not join the million rows of a large import again. An answer equal to the latest one is not a
# revision: sending it again changes nothing. The same answer with a different time is a revision, so that the result
# does not depend on which answer came first.
RESOLVE = """
SELECT {number}j.n, i.item_id, g.id AS segment_id, i.rater_id,
       coalesce(j.revision, coalesce(had.revision, 0) + 1) AS revision, had.revision IS NOT NULL AS known,
       coalesce((extract(epoch FROM j.submitted_at) * 1000000)::bigint, 0) AS at_us, j.revision AS said, j.file, j.line,
       j.item, j.position, j.payload, j.started_at, j.submitted_at, j.external_id, j.score, j.n_errors,
       j.target_end, j.source_end, {comments}
FROM staged_judgments j
JOIN placed i ON i.n = j.item
LEFT JOIN segments g ON g.campaign_id = :campaign AND g.document_id = i.document_id AND g.position = j.position
{history}
WHERE had.payload IS DISTINCT FROM j.payload OR j.revision IS NULL AND had.submitted_at <> j.submitted_at"""
RESOLVED = "CREATE TEMP TABLE resolved ON COMMIT DROP AS"
# A Citus node would number the rows by its own sequence.
NUMBERED_AFTER = "WITH answers AS MATERIALIZED ({resolve}) SELECT {number}a.* FROM answers a"
SEQUENCE = "SELECT pg_get_serial_sequence('judgments', 'id')"

# The lookups of history cost as much as all the rest, so new items skip them, and so does an import into a campaign
# without judgments. An answer stored with exactly this time is known, even if a later answer follows it.
HISTORY = """
LEFT JOIN LATERAL (SELECT x.revision, x.payload, x.submitted_at FROM judgments x
    WHERE NOT i.is_new AND x.item_id = i.item_id AND x.segment_id IS NOT DISTINCT FROM g.id AND x.rater_id = i.rater_id
      AND (j.revision IS NULL OR x.revision = j.revision)
    ORDER BY coalesce(x.submitted_at = j.submitted_at, false) AND x.payload = j.payload DESC, x.revision DESC LIMIT 1
) had ON true"""
NO_HISTORY = """
CROSS JOIN (SELECT NULL::int AS revision, NULL::jsonb AS payload, NULL::timestamptz AS submitted_at) had"""

# Several answers at one address without revision numbers are numbered by their times. If two have the same time, or one
# has none, they keep the same number, and TWICE reports them.
BY_TIME = """
UPDATE resolved SET revision = resolved.revision + later.steps
FROM (SELECT r.n, dense_rank() OVER (PARTITION BY r.item_id, r.segment_id, r.rater_id, r.revision
                                     ORDER BY r.submitted_at) - 1 AS steps
      FROM resolved r WHERE r.said IS NULL AND r.submitted_at IS NOT NULL) later
WHERE resolved.n = later.n AND later.steps > 0"""

ANY_TWICE = """
SELECT EXISTS (SELECT FROM resolved GROUP BY item_id, segment_id, rater_id, revision HAVING count(*) > 1)"""
TWICE = MergeCheckQuery(
    """SELECT DISTINCT ON (r.item_id, r.segment_id, r.revision) r.file, r.line,
              i.item || coalesce(':' || r.position, '')
       FROM (SELECT *, count(*) OVER (PARTITION BY item_id, segment_id, rater_id, revision) AS times FROM resolved) r
       JOIN staged_items i ON i.n = r.item
       WHERE r.times > 1 ORDER BY r.item_id, r.segment_id, r.revision, r.line DESC""",
    "the same rater judged {} twice; give each answer a time of its own, or a revision where the format has them",
)
OTHER_ANSWER = MergeCheckQuery(
    """SELECT r.file, r.line, i.item || coalesce(':' || r.position, '')
       FROM resolved r JOIN staged_items i ON i.n = r.item
       WHERE r.known AND r.said IS NOT NULL ORDER BY r.file, r.line""",
    "revision of {} is stored already with another answer",
)

APPEND = """
INSERT INTO judgments (id, campaign_id, item_id, segment_id, rater_id, revision, payload, started_at, submitted_at,
                       recorded_at, external_id, meta, version)
OVERRIDING SYSTEM VALUE
SELECT id, :campaign, item_id, segment_id, rater_id, revision, payload, started_at, submitted_at, now(), external_id,
       meta, :version
FROM resolved"""

# The same rows again, for their hashes: rows returned by the insert would be written out and read again.
APPENDED = """
SELECT id, item_id, segment_id, rater_id, revision, payload, false AS surplus, started_at, submitted_at,
       now() AS recorded_at, external_id, meta, NULL::int AS guidelines FROM resolved"""

SCORE = """
INSERT INTO scores (campaign_id, profile_id, judgment_id, item_id, segment_id, rater_id, revision, n_errors, version,
                    at_us, score, surplus)
SELECT :campaign, :profile, id, item_id, segment_id, rater_id, revision, n_errors, :version, at_us, score, false
FROM resolved"""

# A void covers all revisions of one rater at one address, including future ones.
_MEANT = """
staged_voids v
JOIN tasks t ON t.campaign_id = :campaign AND t.key = v.task
JOIN items i ON i.campaign_id = :campaign AND i.task_id = t.id AND i.key = v.item
JOIN raters r ON r.campaign_id = :campaign AND r.key = v.rater
LEFT JOIN segments g ON g.campaign_id = :campaign AND g.document_id = i.document_id AND g.position = v.position
JOIN judgments x ON x.campaign_id = :campaign AND x.item_id = i.id AND x.rater_id = r.id
     AND x.segment_id IS NOT DISTINCT FROM g.id AND (v.position IS NULL) = (g.id IS NULL)"""
NEW_VOIDS = (
    f"SELECT EXISTS (SELECT FROM {_MEANT} LEFT JOIN voids w ON w.judgment_id = x.id WHERE w.judgment_id IS NULL)"
)
VOID = f"""
INSERT INTO voids (campaign_id, judgment_id, reason, actor, version)
SELECT DISTINCT ON (x.id) :campaign, x.id, v.reason, v.actor, :version FROM {_MEANT}
ORDER BY x.id, v.file COLLATE "C", v.line ON CONFLICT DO NOTHING"""
STILL_VOID = """
INSERT INTO voids (campaign_id, judgment_id, reason, actor, version)
SELECT DISTINCT ON (r.id) :campaign, r.id, w.reason, w.actor, :version
FROM voids w JOIN judgments x ON x.campaign_id = :campaign AND x.id = w.judgment_id
JOIN judgments r ON r.campaign_id = :campaign AND r.item_id = x.item_id AND r.rater_id = x.rater_id
     AND r.segment_id IS NOT DISTINCT FROM x.segment_id AND x.id <> r.id AND r.version = :version
WHERE w.campaign_id = :campaign
ORDER BY r.id, x.revision ON CONFLICT DO NOTHING"""
NOTHING_THERE = MergeCheckQuery(
    f"""SELECT v.file, v.line, v.task || ' ' || v.item || coalesce(':' || v.position, '') FROM staged_voids v
        WHERE NOT EXISTS (SELECT FROM (SELECT v.file, v.line FROM {_MEANT}) m WHERE m.file = v.file AND m.line = v.line)
        ORDER BY v.file, v.line""",
    "there is no judgment {} to set aside",
)

# Materialized, because a planner without statistics would first join all outputs of a system to each of its items. The
# ranges limit the read to possible rows; otherwise it would read the whole campaign. A degraded copy, or a reference in
# place of an output, is shown with its own text, not the output's.
OTHER_TEXT = f"({RatingRole.REFERENCE.value}, {RatingRole.DEGRADED.value})"
REACHING_OUT = f"""
WITH marked AS MATERIALIZED (
    SELECT r.id, r.item_id, r.segment_id, r.source_end, CASE WHEN i.role NOT IN {OTHER_TEXT} THEN r.target_end END
           AS target_end FROM resolved r JOIN staged_items i ON i.n = r.item
    WHERE (r.target_end > 0 OR r.source_end > 0) AND r.segment_id IS NOT NULL),
shown AS MATERIALIZED (
    SELECT m.*, c.system_id FROM marked m LEFT JOIN credits c ON c.campaign_id = :campaign AND c.item_id = m.item_id
         AND c.item_id BETWEEN (SELECT min(item_id) FROM marked) AND (SELECT max(item_id) FROM marked))
SELECT DISTINCT s.id FROM shown s JOIN segments g ON g.campaign_id = :campaign AND g.id = s.segment_id
LEFT JOIN outputs o ON o.campaign_id = :campaign AND o.system_id = s.system_id AND o.segment_id = s.segment_id
     AND o.system_id = ANY (ARRAY(SELECT DISTINCT system_id FROM shown))
     AND o.segment_id BETWEEN (SELECT min(segment_id) FROM marked) AND (SELECT max(segment_id) FROM marked)
WHERE s.target_end > char_length(o.text) OR s.source_end > char_length(g.source) ORDER BY s.id LIMIT :most"""

# Texts that an import brings for stored segments; found before `merge.create_entities_from_staging` stores the texts.
TOLD = """
CREATE TEMP TABLE told ON COMMIT DROP AS
SELECT o.file, o.line, g.id AS segment_id, s.id AS system_id, o.text, o.led FROM staged_outputs o
JOIN systems s ON s.campaign_id = :campaign AND s.key = o.system
JOIN documents d ON d.campaign_id = :campaign AND d.key = o.document
JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = o.position
WHERE NOT EXISTS (SELECT FROM outputs x WHERE x.campaign_id = :campaign AND x.system_id = s.id AND x.segment_id = g.id)
UNION ALL
SELECT w.file, w.line, g.id, NULL, w.source, w.led FROM staged_segments w
JOIN documents d ON d.campaign_id = :campaign AND d.key = w.document
JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = w.position
WHERE w.source IS NOT NULL AND g.source IS NULL"""
JUDGED_BLIND = f"""
SELECT t.file, t.line, i.key || ':' || g.position, j.payload, t.system_id IS NULL, t.text, t.led
FROM told t JOIN judgments j ON j.campaign_id = :campaign AND j.segment_id = t.segment_id
JOIN segments g ON g.id = t.segment_id JOIN items i ON i.id = j.item_id
LEFT JOIN credits c ON c.campaign_id = :campaign AND c.item_id = j.item_id AND c.system_id = t.system_id
WHERE NOT EXISTS (SELECT FROM resolved r WHERE r.id = j.id)
  AND (t.system_id IS NULL OR c.system_id IS NOT NULL AND i.role NOT IN {OTHER_TEXT})
ORDER BY t.file COLLATE "C", t.line, j.id"""


_ITS_OUTPUTS = """FROM credits c
  JOIN outputs o ON o.campaign_id = j.campaign_id AND o.system_id = c.system_id AND o.segment_id = g.id"""
ANSWERS = f"""SELECT j.id, j.payload, g.source, CASE i.role
  WHEN {RatingRole.REFERENCE.value} THEN (SELECT f.text FROM reference_texts f WHERE f.campaign_id = j.campaign_id
    AND f.segment_id = g.id AND f.name = coalesce(i.reference, i.meta ->> 'reference'))
  WHEN {RatingRole.DEGRADED.value} THEN coalesce(j.meta ->> 'shown', (SELECT v.text {_ITS_OUTPUTS}
    JOIN variants v ON v.campaign_id = j.campaign_id AND v.output_id = o.id AND v.name = i.variant
         AND v.kind <> 'prefill' WHERE c.item_id = j.item_id ORDER BY o.id LIMIT 1))
  WHEN {ATTENTION} THEN {SHOWN_TEXT}
  ELSE (SELECT o.text {_ITS_OUTPUTS} WHERE c.item_id = j.item_id LIMIT 1) END
FROM judgments j JOIN items i ON i.campaign_id = j.campaign_id AND i.id = j.item_id
LEFT JOIN segments g ON g.id = j.segment_id
WHERE j.campaign_id = :campaign {{conditions}} ORDER BY j.id"""
"""Texts are found by the judgment's campaign, not by the constant: for a campaign missing from the statistics, the
planner expects one row, and would read all outputs of the campaign for each judgment."""


@dataclass(frozen=True, slots=True)
class AppendedJudgmentCounts:
    """How many judgments were added, how many of these revise an earlier answer, and how many were unchanged."""

    added: int
    revisions: int
    unchanged: int


def resolve_staged_judgment_revisions(session: Session, campaign_id: int, *, history: bool) -> AppendedJudgmentCounts:
    """Find the row and the revision of each staged judgment, after `merge.create_entities_from_staging`.

    history: whether the campaign had judgments before this import. Raises ImportContradiction, with file and line, for
    two answers at one address or a different answer to a stored revision.
    """
    sequence = session.execute(text(SEQUENCE)).scalar_one()
    number, apart = f"nextval('{sequence}') AS id, ", reads_temporary_tables_as_subqueries(session)
    parts = {"history": HISTORY if history else NO_HISTORY, "comments": comments.SET_APART}
    resolve = RESOLVE.format(number="" if apart else number, **parts)
    if apart:
        resolve = NUMBERED_AFTER.format(resolve=resolve, number=number)
    session.execute(text(f"{RESOLVED} {resolve}"), {"campaign": campaign_id})
    staging.analyze_tables_by_small_sample(session, "resolved (n, item_id, segment_id)")
    if session.execute(text(ANY_TWICE)).scalar():
        session.execute(text(BY_TIME))
        require_merge_checks_pass(session, campaign_id, (TWICE,))
    if history:
        require_merge_checks_pass(session, campaign_id, (OTHER_ANSWER,))
    staged, resolved, revisions = session.execute(
        text(
            """SELECT (SELECT count(*) FROM staged_judgments), count(*), count(*) FILTER (WHERE revision > 1)
               FROM resolved"""
        )
    ).one()
    return AppendedJudgmentCounts(added=resolved, revisions=revisions, unchanged=staged - resolved)


def append_staged_judgments(session: Session, *, campaign_id: int, profile_id: int | None, version: int) -> None:
    """Add all resolved judgments with their scores; without a profile, the caller stores the scores separately.

    The code that takes the version seals it at the end (`seals.seal_collected_version`).
    """
    keys = {"campaign": campaign_id, "profile": profile_id, "version": version}
    session.execute(text(APPEND), keys)
    seals.collect_hashes_in_temporary_table(session, APPENDED)
    if profile_id is not None:
        session.execute(text(SCORE), keys)


def load_judgment_ids_being_merged(session: Session) -> list[int]:
    """Return the ids of the judgments that are being merged."""
    return list(session.execute(text("SELECT id FROM resolved ORDER BY id")).scalars())


def has_new_staged_voids(session: Session, campaign_id: int) -> bool:
    """Tell whether a staged void names a stored judgment that is not void yet."""
    return bool(session.execute(text(NEW_VOIDS), {"campaign": campaign_id}).scalar())


def require_judgments_of_staged_voids(session: Session, campaign_id: int) -> None:
    """Raise ImportContradiction, with file and line, for a staged void that names no stored judgment."""
    require_merge_checks_pass(session, campaign_id, (NOTHING_THERE,))


def apply_staged_voids(session: Session, *, campaign_id: int, version: int) -> int:
    """Void the judgments of the staged voids and new revisions of void ones; return how many were not void before."""
    keys = {"campaign": campaign_id, "version": version}
    seals.collect_hashes_in_temporary_table(session)
    statements = (seals.hash_collecting_insert_sql(seals.VOID, sql) for sql in (VOID, STILL_VOID))
    return sum(int(getattr(session.execute(text(sql), keys), "rowcount", 0)) for sql in statements)


def has_more_judgments_than(session: Session, campaign_ids: Sequence[int], n: int) -> bool:
    """Tell whether campaigns together have more than n judgments, revisions included; the query counts no further."""
    query = text("SELECT count(*) FROM (SELECT FROM judgments WHERE campaign_id = ANY(:campaigns) LIMIT :most) j")
    return int(session.execute(query, {"campaigns": list(campaign_ids), "most": n + 1}).scalar_one()) > n


def has_judgments(session: Session, campaign_id: int) -> bool:
    """Tell whether a campaign has any judgment, void ones included."""
    query = text("SELECT EXISTS (SELECT FROM judgments WHERE campaign_id = :campaign)")
    return bool(session.execute(query, {"campaign": campaign_id}).scalar())


@dataclass(frozen=True, slots=True)
class AnswerWithTexts:
    """A stored payload with the texts that were judged."""

    judgment_id: int
    payload: Mapping[str, object]
    source: str | None
    text: str | None


def stream_answers_with_texts(
    session: Session, campaign_id: int, *, among: Sequence[int] | None = None
) -> Iterator[AnswerWithTexts]:
    """Stream stored payloads with their texts. among: ids of the judgments to load; None for all."""
    keys = {"campaign": campaign_id, "among": None if among is None else list(among)}
    query = ANSWERS.format(conditions=join_optional_conditions({"among": "j.id = ANY(:among)"}, keys))
    for row in session.execute(text(query), keys, execution_options={"yield_per": 5000}):
        yield AnswerWithTexts(*row)


def find_judgments_marking_beyond_text(session: Session, campaign_id: int, most: int) -> list[int]:
    """Return the first judgments of the current import that mark something beyond the end of their text."""
    return list(session.execute(text(REACHING_OUT), {"campaign": campaign_id, "most": most}).scalars())


@dataclass(frozen=True, slots=True)
class JudgmentAwaitingText:
    """A judgment stored before its text, and the place in the import with the text. of_source: the text is a source.

    led: number of characters removed from the start of the text; positions marked earlier still count them.
    """

    file: str
    line: int
    address: str
    payload: Mapping[str, object]
    of_source: bool
    text: str
    led: int


def stage_texts_of_textless_segments(session: Session, campaign_id: int) -> None:
    """Note which staged texts are new for stored segments; call this before `merge.create_entities_from_staging`."""
    session.execute(text(TOLD), {"campaign": campaign_id})
    session.execute(text("ANALYZE told"))


def stream_judgments_awaiting_text(session: Session, campaign_id: int) -> Iterator[JudgmentAwaitingText]:
    """Stream judgments of earlier imports whose texts the current import brings, by file and line."""
    keys = {"campaign": campaign_id}
    for row in session.execute(text(JUDGED_BLIND), keys, execution_options={"yield_per": 5000}):
        yield JudgmentAwaitingText(*row)


def find_import_file_and_line(session: Session, judgment_id: int) -> tuple[str, int]:
    """Return the file and line of a judgment of the current import."""
    query = text("SELECT file, line FROM resolved WHERE id = :id")
    file, line = session.execute(query, {"id": judgment_id}).one()
    return file, line
