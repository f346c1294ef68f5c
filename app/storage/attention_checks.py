"""Queries about attention checks: their expected answers, their results, their repetitions, and results by rater."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.attention_checks import KIND
from app.storage.rater_results import load_rater_results_page, wrap_query_as_rater_results
from app.storage.sorting import (
    SortCursor,
    make_sort_orders,
    number_sort_term,
    text_sort_term,
    time_sort_term,
)

Row = sa.Row[Any]
FIRST = -1
"""The queue number of a check: before all tasks of plans."""
LAST = 2**31 - 1
"""Its number once its rater gives it back, if it preceded a pooled task: pooled tasks also come last then."""

# An item of a check shows one column: the n-th item shows the n-th. `g` is the segment, `i` the item.
SHOWN_TEXT = f"""coalesce(g.meta #>> ARRAY['{KIND}', 'columns', (i.position - 1)::text],
            CASE WHEN i.position = 1 THEN g.meta #>> ARRAY['{KIND}', 'text'] END)"""
SHOWN_PREFILL = f"g.meta #> ARRAY['{KIND}', 'prefill', (i.position - 1)::text]"
IS_CHECK = f"({{task}}.plan IS NULL AND {{task}}.state <> 'imported' AND {{task}}.meta -> '{KIND}' IS NOT NULL)"
"""Tells whether a task is an attention check. Format it with the table's alias. Imported tasks never match."""

_SEGMENTS = """
SELECT g.id, g.position, g.source, g.meta FROM items i
JOIN segments g ON g.campaign_id = :campaign AND g.document_id = i.document_id
WHERE i.campaign_id = :campaign AND i.task_id = :task AND i.position = 1 ORDER BY g.position"""
_TEXTS = f"""
SELECT d.key, max(CASE WHEN jsonb_typeof(g.meta #> ARRAY['{KIND}', 'columns']) = 'array'
                  THEN greatest(1, jsonb_array_length(g.meta #> ARRAY['{KIND}', 'columns'])) ELSE 1 END) AS n
FROM documents d JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id
WHERE d.campaign_id = :campaign AND d.kind = '{KIND}' AND g.meta -> '{KIND}' IS NOT NULL
GROUP BY d.key ORDER BY d.key COLLATE "C" """
_SETTLE = f"""
UPDATE tasks SET meta = jsonb_set(meta, ARRAY['{KIND}', 'result'], CAST(:result AS jsonb))
WHERE campaign_id = :campaign AND id = :task"""
# The same check again, with the next number of its try; its rater gets it before anything else.
_AGAIN = f"""
WITH copy AS (
    INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, meta, arm, queue, words, segments, presentation)
    SELECT campaign_id, :public_id, :key, rater_id, 'free', jsonb_build_object('{KIND}', CAST(:meta AS jsonb)), arm,
           {FIRST}, words, segments, presentation
    FROM tasks WHERE campaign_id = :campaign AND id = :task ON CONFLICT (campaign_id, key) DO NOTHING RETURNING id)
INSERT INTO items (campaign_id, task_id, key, position, document_id, first_segment, last_segment, role, screen, column_,
                   prefill, side_order, surplus_from)
SELECT i.campaign_id, copy.id, i.key, i.position, i.document_id, i.first_segment, i.last_segment, i.role, i.screen,
       i.column_, i.prefill, i.side_order, i.surplus_from
FROM items i CROSS JOIN copy WHERE i.campaign_id = :campaign AND i.task_id = :task"""
_OPEN = f"""campaign_id = :campaign AND rater_id = :rater AND state IN ('free', 'leased')
    AND {IS_CHECK.format(task="tasks")}"""
_WITHDRAW = (
    f"""UPDATE leases SET ended_at = statement_timestamp(), ended_how = 'withdrawn'
        WHERE campaign_id = :campaign AND ended_how IS NULL AND task_id IN (SELECT id FROM tasks WHERE {_OPEN})""",
    f"UPDATE tasks SET state = 'withdrawn', leased_until = NULL WHERE {_OPEN}",
)
# Only first tries: a rater who passes after a warning has been told what to look for.
_FIRST = f"t.meta #>> ARRAY['{KIND}', 'try'] = '1'"
_OUTCOME = f"t.meta #>> ARRAY['{KIND}', 'result', 'outcome']"
_SHARE = f"""
SELECT avg(({_OUTCOME} = 'passed')::int) FROM tasks t
WHERE t.campaign_id = :campaign AND t.rater_id = :rater AND t.state = 'handed_in' AND {IS_CHECK.format(task="t")}
  AND {_FIRST} AND {_OUTCOME} IN ('passed', 'failed')"""
_RESULTS = wrap_query_as_rater_results(
    f"""
SELECT r.key AS rater, x.key AS team, count(t.id) FILTER (WHERE {_FIRST}) AS checks,
       count(t.id) FILTER (WHERE {_FIRST} AND {_OUTCOME} = 'passed') AS passed,
       count(t.id) FILTER (WHERE {_FIRST} AND {_OUTCOME} = 'failed') AS failed, count(t.id) AS tries,
       max(t.handed_in_at) AS at
FROM enrolments e JOIN raters r ON r.campaign_id = :campaign AND r.id = e.rater_id
LEFT JOIN teams x ON x.campaign_id = :campaign AND x.id = e.team_id
LEFT JOIN tasks t ON t.campaign_id = :campaign AND t.rater_id = r.id AND t.state = 'handed_in'
     AND {IS_CHECK.format(task="t")}
WHERE e.campaign_id = :campaign AND e.state <> 'erased'
GROUP BY r.id, r.key, x.key""",
    checks=sa.BigInteger,
    passed=sa.BigInteger,
    failed=sa.BigInteger,
    tries=sa.BigInteger,
    at=sa.DateTime(timezone=True),
)
RESULT_ORDERS = make_sort_orders(
    {
        "rater": (None, text_sort_term),
        "team": (_RESULTS.c.team, text_sort_term),
        "checks": (_RESULTS.c.checks, number_sort_term),
        "passed": (_RESULTS.c.passed, number_sort_term),
        "failed": (_RESULTS.c.failed, number_sort_term),
        "at": (_RESULTS.c["at"], time_sort_term),
    }
)
"""The orders in which results of attention checks can be sorted."""
_STATES = {
    "none": _RESULTS.c.checks == 0,
    "passed": sa.and_(_RESULTS.c.passed > 0, _RESULTS.c.failed == 0),
    "failed": _RESULTS.c.failed > 0,
}


def load_segments_of_attention_check(session: Session, campaign_id: int, task_id: int) -> Sequence[Row]:
    """Return the segments of a check by position, with their expected answers in `meta`."""
    return session.execute(text(_SEGMENTS), {"campaign": campaign_id, "task": task_id}).all()


def count_texts_by_attention_check(session: Session, campaign_id: int) -> dict[str, int]:
    """Return how many texts each check shows, by key, without checks that have no expected answer."""
    rows = session.execute(text(_TEXTS), {"campaign": campaign_id})
    return {row.key: row.n for row in rows}


def store_attention_check_result(session: Session, campaign_id: int, task_id: int, result: str) -> None:
    """Store the result of a check. result: JSON."""
    session.execute(text(_SETTLE), {"campaign": campaign_id, "task": task_id, "result": result})


def insert_attention_check_retry(
    session: Session, campaign_id: int, task_id: int, values: Mapping[str, object]
) -> None:
    """Give a rater a check again. values: public_id, key and meta (JSON) of the task."""
    session.execute(text(_AGAIN), {"campaign": campaign_id, "task": task_id, **values})


def withdraw_open_attention_checks_of_rater(session: Session, campaign_id: int, rater_id: int) -> None:
    """Withdraw a rater's checks that are not handed in; no other rater could take them."""
    for statement in _WITHDRAW:
        session.execute(text(statement), {"campaign": campaign_id, "rater": rater_id})


def load_first_try_pass_share_of_rater(session: Session, campaign_id: int, rater_id: int) -> float | None:
    """Return the share of a rater's checks that were passed at the first try; None if there were none."""
    share = session.execute(text(_SHARE), {"campaign": campaign_id, "rater": rater_id}).scalar()
    return None if share is None else float(share)


def load_attention_results_by_rater(
    session: Session,
    campaign_id: int,
    *,
    after: SortCursor | None,
    limit: int,
    state: str | None = None,
    sort: str = "rater",
    words: Sequence[str] = (),
) -> Sequence[Row]:
    """Return enrolled raters after a cursor in a sort order: how many checks they handed in, with which results.

    state: only raters who met no checks, failed none or failed some. words: each is a part of the rater's or the team's
    key, ignoring case.
    """
    condition = None if state is None else _STATES[state]
    return load_rater_results_page(
        session,
        campaign_id,
        _RESULTS,
        order=RESULT_ORDERS[sort],
        after=after,
        limit=limit,
        words=words,
        condition=condition,
    )
