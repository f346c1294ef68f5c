"""What is split to count words is what came with its answers, not every source of the campaign."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from app.storage import progress
from app.storage.db import Database
from tests.collecting import collect


def split(url: str, campaign: int) -> int:
    """How many sources are split for the progress of a campaign."""
    query = progress._IMPORTED.replace(":campaign", str(campaign)).replace(":spaced", "true")
    with psycopg.connect(url) as db:
        row = db.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query.replace(':characters', '1')}".encode()).fetchone()
    assert row is not None
    told: Any = row[0] if isinstance(row[0], list) else json.loads(str(row[0]))
    nodes, found = [told[0]["Plan"]], []
    while nodes:
        node = nodes.pop()
        found += [node["Actual Rows"]] if node.get("Subplan Name") == "CTE sized" else []
        nodes += node.get("Plans", [])
    return int(sum(found))


@pytest.mark.parametrize("judged", [0, 1])
def test_only_sources_that_came_with_answers_are_split(database_url: str, judged: int) -> None:
    database = Database(database_url, size=2, role="plumbline_app")
    live = collect(database, documents=4, segments=3, pooled=False)
    database.close()
    with psycopg.connect(database_url) as db:
        db.execute(
            """WITH t AS (INSERT INTO tasks (campaign_id, public_id, key, rater_id, state)
                 SELECT c.id, 't_' || repeat('e', 32), 'elsewhere', r.id, 'imported'
                 FROM campaigns c JOIN raters r ON r.campaign_id = c.id ORDER BY r.id LIMIT 1
                 RETURNING campaign_id, id, rater_id),
               i AS (INSERT INTO items (campaign_id, task_id, key, position, document_id, role)
                 SELECT t.campaign_id, t.id, 'i', 1, (SELECT min(id) FROM documents), 0 FROM t
                 RETURNING campaign_id, id)
               INSERT INTO judgments (campaign_id, item_id, segment_id, rater_id, revision, payload, version)
               SELECT t.campaign_id, i.id, (SELECT min(id) FROM segments), t.rater_id, 1, '{}', 1 FROM t, i
               LIMIT %s""",
            (judged,),
        )
    assert split(database_url, live.id) == judged
