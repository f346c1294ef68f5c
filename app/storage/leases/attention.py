"""Insert an attention check before the next task when a rater leases; the draw depends on the number of hand-ins."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.attention_checks import KIND, ROLE, choose_attention_check
from app.storage.attention_checks import FIRST
from app.storage.recorder.judgments import Connection

# The rater's progress, and whether they have already met the check there. Only a hand-in changes the progress, so a
# repeated request draws the same check.
_STANDING = """
SELECT (SELECT count(*) FROM tasks t WHERE t.campaign_id = %(campaign)s AND t.rater_id = %(rater)s
          AND t.plan IS NOT NULL AND t.state = 'handed_in')
FROM tasks x WHERE x.campaign_id = %(campaign)s AND x.id = %(task)s AND x.plan IS NOT NULL"""
_MET = "SELECT FROM tasks WHERE campaign_id = %(campaign)s AND key = %(key)s"
# A person meets a check only once, whichever account they use.
_LEFT = f"""
SELECT d.id, d.key FROM documents d WHERE d.campaign_id = %(campaign)s AND d.kind = '{KIND}' AND EXISTS (
    SELECT FROM segments g WHERE g.campaign_id = %(campaign)s AND g.document_id = d.id
      AND g.meta -> '{KIND}' IS NOT NULL)
  AND NOT EXISTS (
    SELECT FROM items i JOIN tasks t ON t.campaign_id = %(campaign)s AND t.id = i.task_id
    WHERE i.campaign_id = %(campaign)s AND i.document_id = d.id AND t.rater_id IN (
        SELECT id FROM raters WHERE campaign_id = %(campaign)s AND (id = %(rater)s OR person_id = %(person)s)))
ORDER BY d.key COLLATE "C" """
# The check looks like the task that it precedes. It is credited to nobody, and it never counts.
_INSERT = f"""
WITH model AS (
    SELECT arm, words, segments, presentation, pooled OR rater_id IS NULL AS pooled FROM tasks
    WHERE campaign_id = %(campaign)s AND id = %(task)s),
shape AS (
    SELECT prefill, side_order FROM items WHERE campaign_id = %(campaign)s AND task_id = %(task)s
    ORDER BY position LIMIT 1),
texts AS (
    SELECT max(position) AS last, max(greatest(1, CASE WHEN jsonb_typeof(meta #> ARRAY['{KIND}', 'columns']) = 'array'
                                                  THEN jsonb_array_length(meta #> ARRAY['{KIND}', 'columns']) END))
           AS columns
    FROM segments WHERE campaign_id = %(campaign)s AND document_id = %(document)s),
made AS (
    INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, meta, arm, queue, words, segments, presentation)
    SELECT %(campaign)s, %(public_id)s, %(key)s, %(rater)s, 'free',
           jsonb_set(%(meta)s::jsonb, ARRAY['{KIND}', 'pooled'], to_jsonb(pooled)), arm, {FIRST}, words, segments,
           presentation FROM model
    RETURNING id, presentation),
shown AS (
    INSERT INTO items (campaign_id, task_id, key, position, document_id, first_segment, last_segment, role, screen,
                       column_, prefill, side_order, surplus_from)
    SELECT %(campaign)s, m.id, 'i' || n, n, %(document)s, 1, t.last, {ROLE},
           CASE WHEN m.presentation = 'side_by_side' THEN 1 ELSE n END,
           CASE WHEN m.presentation = 'side_by_side' THEN n ELSE 1 END, s.prefill, s.side_order,
           (SELECT max(v.n) FROM versions v WHERE v.campaign_id = %(campaign)s)
    FROM made m CROSS JOIN texts t CROSS JOIN shape s CROSS JOIN generate_series(1, t.columns) AS n
    RETURNING id)
SELECT m.id, (SELECT count(*) FROM shown) FROM made m"""


@dataclass(frozen=True, slots=True)
class AttentionCheckSampling:
    """How a campaign draws checks. rate: share of hand-ins after which a check comes."""

    rate: float
    seed: int


async def insert_due_attention_check(
    connection: Connection, keys: Mapping[str, Any], sampling: AttentionCheckSampling, task_id: int
) -> int | None:
    """Create the check, if any, that a rater is to meet before a task of a plan; return the id of its task.

    A check is never preceded by another check.

    The lease holds the campaign's lock, so a check is created only once. keys: campaign, rater and person.
    """
    standing = await (await connection.execute(_STANDING, {**keys, "task": task_id})).fetchone()
    if standing is None:
        return None
    handed_in = int(standing[0])
    key = f"{KIND}~{keys['rater']}~{handed_in}"
    place = (sampling.seed, int(keys["campaign"]), int(keys["rater"]), handed_in)
    if choose_attention_check(*place, rate=sampling.rate, n_checks=1) is None:
        return None
    if await (await connection.execute(_MET, {**keys, "key": key})).fetchone() is not None:
        return None
    left = await (await connection.execute(_LEFT, keys)).fetchall()
    n = choose_attention_check(*place, rate=sampling.rate, n_checks=len(left))
    if n is None:
        return None
    document_id, document = left[n]
    values = {
        **keys,
        "task": task_id,
        "document": document_id,
        "key": key,
        "public_id": f"t_{secrets.token_hex(16)}",
        "meta": _make_meta(str(document)),
    }
    made = await (await connection.execute(_INSERT, values)).fetchone()
    return int(made[0]) if made is not None else None


def _make_meta(document: str) -> str:
    return json.dumps({KIND: {"document": document, "try": 1}})
