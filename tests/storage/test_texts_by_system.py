"""Answers of a campaign that statistics do not know yet are read by key, not by reading all outputs for each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from app.storage import embedded
from app.storage.db import Session
from app.storage.staged_judgments import ANSWERS
from benchmarks import reports_data
from tests.spine import Spine, fresh

COLUMNS = {"campaign_id", "system_id", "segment_id"}
UNKNOWN = 32_000  # no campaign has this number


@pytest.fixture(scope="module")
def spine(
    postgres: embedded.EmbeddedServer, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Spine]:
    file = tmp_path_factory.mktemp("answers") / "postedit.jsonl"
    reports_data.campaign(file, "postedit", 1500)
    with fresh(postgres, migrated_template) as found:
        for key in ("one", "two"):
            found.take(key, "jsonl", file.read_bytes())
        with psycopg.connect(found.url) as owner:
            owner.execute("ANALYZE outputs, credits, items, segments, judgments")
        yield found


def looked_up_by(session: Session, query: str) -> set[str]:
    """The columns that outputs are looked up by."""
    keys = {"campaign": UNKNOWN}
    plan = session.execute(text(f"EXPLAIN (FORMAT JSON) {query}"), keys).scalar_one()
    waiting: list[Any] = [(json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]]
    while waiting:
        node = waiting.pop()
        if node.get("Relation Name") == "outputs":
            return COLUMNS & set(re.findall(r"\w+", node.get("Index Cond", "")))
        waiting += node.get("Plans", [])
    raise AssertionError("no outputs in the plan")


def test_a_text_is_found_by_system_and_segment_in_a_campaign_without_statistics(spine: Spine) -> None:
    answers = ANSWERS.format(conditions="")
    by_constant = answers.replace("o.campaign_id = j.campaign_id", "o.campaign_id = :campaign")
    with spine.database.transaction() as session:
        assert looked_up_by(session, by_constant) < COLUMNS, "the trap is there: the planner expects one output"
        assert looked_up_by(session, answers) == COLUMNS
