"""Whole campaigns that statistics do not know are walked once, not once for each of their rows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import text

from app.services.access.tokens import Caller
from app.services.campaigns import campaigns as campaign_service
from app.services.data import cloning as cloning_service
from app.services.data import metrics as metric_service
from app.services.people import raters
from app.services.plans import plans as plan_service
from app.stats.scoring import FREITAG2021
from app.storage import (
    arms,
    calibration_items,
    campaign_judgments,
    campaigns,
    cloning,
    embedded,
    errors_without_weight,
    exports,
    metric_scores,
    output_authors,
    plans,
    post_edits,
    progress,
    progress_counts,
    query_planner_statistics,
    query_planning,
    rating_metadata,
    segment_words,
    test_sets,
    weight_profiles,
)
from app.storage.db import Session
from app.storage.imports import staging
from benchmarks import reports_data
from tests.spine import Spine, fresh

Work = Callable[[Session, "Ids"], object]
COPIED = ("segments", "outputs", "metric_scores")  # the largest tables of a clone
REMOVED = ("Rows Removed by Filter", "Rows Removed by Join Filter", "Rows Removed by Index Recheck")


class Ids:
    """A campaign, its clone, and an empty one; rows: of the campaign in all tables."""

    def __init__(self, spine: Spine) -> None:
        self.of = dict(spine.ask("SELECT key, id FROM campaigns"))
        self.new, self.twin, self.empty = self.of["new"], self.of["twin"], self.of["empty"]
        counts = ", ".join(
            f"(SELECT count(*) FROM {table} WHERE campaign_id = {self.new})"
            for table in ("segments", "outputs", "items", "credits", "judgments", "scores", "metric_scores")
        )
        self.rows = sum(spine.ask(f"SELECT {counts}")[0])
        self.profile = spine.ask(f"SELECT min(id) FROM profiles WHERE campaign_id = {self.new}")[0][0]
        self.judged = [row[0] for row in spine.ask(f"SELECT id FROM judgments WHERE campaign_id = {self.new}")]
        self.system = spine.ask(f"SELECT min(id) FROM systems WHERE campaign_id = {self.new}")[0][0]


@pytest.fixture(scope="module")
def spine(
    postgres: embedded.EmbeddedServer, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Spine]:
    """A campaign that statistics know, and one that came after them, with a clone."""
    file = tmp_path_factory.mktemp("stale") / "da.jsonl"
    reports_data.campaign(file, "da", 700)
    with fresh(postgres, migrated_template) as found:
        found.take("known", "jsonl", file.read_bytes())
        with psycopg.connect(found.url, autocommit=True) as owner:
            for (table,) in found.ask("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
                owner.execute(f'ALTER TABLE "{table}" SET (autovacuum_enabled = off)'.encode())
            owner.execute("ANALYZE")
        found.take("new", "jsonl", file.read_bytes())
        draw = random.Random(1)
        segments = found.ask("SELECT count(*) FROM segments g JOIN campaigns c ON c.id = campaign_id AND c.key = 'new'")
        scores = {key: [draw.random() for _ in range(segments[0][0])] for key in reports_data.SYSTEMS}
        with found.database.transaction() as session:
            metric_service.put_metric_scores(
                session, "new", "comet", metric_service.MetricScoreSet(in_order=scores), actor="test"
            )
            how: dict[str, Any] = {"name": None, "series": None, "systems": True, "actor": "test"}
            cloning_service.clone_campaign(session, "new", key="twin", **how)
            campaign_service.create_campaign(
                session, campaign_service.NewCampaign(key="empty", protocol="da"), actor="test"
            )
            campaigns.take_next_data_version(
                session, campaigns.load_campaign(session, "empty").id, actor="test", what="test"
            )
        yield found


@pytest.fixture(scope="module")
def ids(spine: Spine) -> Ids:
    """What the campaigns are."""
    return Ids(spine)


@contextmanager
def explained(session: Session) -> Iterator[list[float]]:
    """What the busiest step of each statement looks at, by its plan as it is carried out under the settings of then."""
    found: list[float] = []

    def look(_: sa.Connection, cursor: Any, statement: str, parameters: Any, *__: object) -> None:
        if statement.split(None, 1)[0] in {"INSERT", "WITH", "SELECT"} and "_setting(" not in statement:
            with cursor.connection.transaction(force_rollback=True), cursor.connection.cursor() as probe:
                plan = probe.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).fetchone()[0]
            found.append(looked_at((plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"]))

    connection = session.connection()
    sa.event.listen(connection, "before_cursor_execute", look)
    yield found
    sa.event.remove(connection, "before_cursor_execute", look)


def looked_at(node: dict[str, Any]) -> float:
    """Rows that the busiest step of a plan gave and left aside, in all of its loops."""
    rows = node["Actual Rows"] + sum(node.get(removed, 0) for removed in REMOVED)
    return max(float(rows * node["Actual Loops"]), *map(looked_at, node.get("Plans", [])), 0.0)


WALKS: dict[str, Work] = {
    "copying into another campaign": lambda s, c: cloning.copy_campaign_rows(
        s, cloning.TEXTS + cloning.SYSTEM_TEXTS, source=c.new, target=c.empty, actor="test"
    ),
    "what is unchanged": lambda s, c: cloning.load_unchanged_output_keys(s, source=c.new, target=c.twin),
    "lengths": lambda s, c: cloning.count_document_segments(s, c.new),
    "exported segments": lambda s, c: list(exports.stream_export_rows(s, exports.SEGMENTS, c.new, 99)),
    "exported outputs": lambda s, c: list(exports.stream_export_rows(s, exports.OUTPUTS, c.new, 99)),
    "exported judgments": lambda s, c: list(
        exports.stream_export_rows(s, exports.JUDGMENTS, c.new, 99, profile=c.profile)
    ),
    "exported voids": lambda s, c: list(exports.stream_export_rows(s, exports.VOIDS, c.new, 99)),
    "exported metrics": lambda s, c: list(exports.stream_export_rows(s, exports.METRICS, c.new, 99)),
    "exported screens": lambda s, c: list(exports.stream_export_rows(s, exports.SHOWN, c.new, 99)),
    "streamed judgments": lambda s, c: list(
        campaign_judgments.stream_judgment_rows(s, c.new, c.profile, filters={"system": "system-03"})
    ),
    "judgments to set aside": lambda s, c: campaign_judgments.count_voidable_judgments(
        s, c.new, filters={"document": "doc-00001"}
    ),
    "counts of progress": lambda s, c: progress_counts.count_items_and_judgments(
        s, c.new, version=99, since=s.execute(text("SELECT now()")).scalar_one()
    ),
    "imported progress": lambda s, c: progress.load_imported_task_sizes(s, c.new, characters_per_word=None),
    "segments with metrics": lambda s, c: metric_scores.load_segments_with_scorable_flag(s, c.new),
    "metrics": lambda s, c: metric_scores.load_metrics_with_score_counts(s, c.new, 99),
    "scores of a metric": lambda s, c: metric_scores.load_metric_score_set(s, c.new, "comet", 2),
    "documents to plan": lambda s, c: plans.load_documents_to_plan(s, c.new),
    "marks to plan": lambda s, c: plans.load_output_hashes(s, c.new),
    "outputs to plan": lambda s, c: plans.load_outputs_by_position(s, c.new, {f"doc-{n:05d}" for n in range(9)}),
    "stream of the test set": lambda s, c: list(test_sets.stream_test_set(s, c.new)),
    "outline of the test set": lambda s, c: test_sets.load_test_document_sizes(s, c.new),
    "outputs of a system": lambda s, c: test_sets.load_system_documents_page(s, c.new, c.system, after=None, limit=99),
    "digests of outputs": lambda s, c: arms.load_output_digests(s, c.new),
    "digests of sources": lambda s, c: segment_words.load_source_digests(s, c.new),
    "sources of post-edits": lambda s, c: post_edits.load_source_texts(s, c.new),
    "references of post-edits": lambda s, c: post_edits.load_reference_texts(s, c.new),
    "outputs with authors": lambda s, c: output_authors.load_output_ids_and_texts(s, c.new),
    "outputs that are shown": lambda s, c: output_authors.load_system_document_pairs_in_tasks(s, c.new),
    "texts of pairs": lambda s, c: calibration_items.load_source_and_output_texts(s, c.new, reference=False),
    "documents of ratings": lambda s, c: rating_metadata._rows_by_key(s, rating_metadata.DOCUMENTS, c.new),
    "scores under another profile": lambda s, c: weight_profiles.store_scores(
        s,
        c.new,
        weight_profiles.ensure_weight_profile(s, c.new, name="other", digest="other", weights={}),
        ((n, 1.0, 0) for n in c.judged),
    ),
    "errors without a weight": lambda s, c: errors_without_weight.load_errors_without_weight(
        s, c.new, np.zeros(1, dtype=np.int32), np.array(c.judged[:1]), FREITAG2021
    ),
    "whether all is scored": lambda s, c: weight_profiles.has_unscored_judgments(s, c.new, c.profile),
}

TRAPPED = (
    "copying into another campaign",
    "what is unchanged",
    "exported judgments",
    "exported metrics",
    "exported screens",
    "judgments to set aside",
    "counts of progress",
    "imported progress",
    "marks to plan",
    "digests of outputs",
    "outputs that are shown",
    "whether all is scored",
)


@pytest.mark.parametrize("name", WALKS)
def test_a_campaign_without_statistics_is_walked_once(spine: Spine, ids: Ids, name: str) -> None:
    with spine.database.transaction() as session, explained(session) as looked:
        WALKS[name](session, ids)
        session.rollback()
    assert looked, "nothing was asked"
    assert max(looked) <= ids.rows, f"{max(looked):,.0f} rows looked at, of {ids.rows:,}"


SLOWEST = "exported judgments"  # two thirds of the time of all that are trapped


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak if name == SLOWEST else ()) for name in TRAPPED]
)
def test_without_it_the_same_is_walked_over_and_over(
    spine: Spine, ids: Ids, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_planning, "disable_nested_loops", lambda _: nullcontext())
    with spine.database.transaction() as session, explained(session) as looked:
        WALKS[name](session, ids)
        session.rollback()
    assert max(looked) > 2 * ids.rows, "the trap is there: the planner expects one row"


class StatementPlanned(Exception):
    """The statement was planned; it need not be carried out."""


@pytest.mark.parametrize("trapped", [True, False])
def test_the_slowest_would_be_planned_by_nested_loops(
    spine: Spine, ids: Ids, trapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Carried out, its trap takes ten seconds: the soak does."""
    if trapped:
        monkeypatch.setattr(query_planning, "disable_nested_loops", lambda _: nullcontext())
    plans: list[str] = []

    def look(_: sa.Connection, cursor: Any, statement: str, parameters: Any, *__: object) -> None:
        if statement.split(None, 1)[0] in {"WITH", "SELECT"} and "_setting(" not in statement:
            with cursor.connection.cursor() as probe:
                plans.append(str(probe.execute(f"EXPLAIN {statement}", parameters).fetchall()))
            raise StatementPlanned

    with spine.database.transaction() as session:
        connection = session.connection()
        sa.event.listen(connection, "before_cursor_execute", look)
        with pytest.raises(StatementPlanned):
            WALKS[SLOWEST](session, ids)
        sa.event.remove(connection, "before_cursor_execute", look)
        session.rollback()
    assert ("Nested Loop" in plans[0]) == trapped


def test_tasks_of_a_former_plan_are_deleted_without_a_look_at_other_campaigns(spine: Spine) -> None:
    looked = "SELECT seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'judgments'"
    by = Caller(token_id=0, prefix="", role="admin", name="test", campaign=None, expires_at=None)
    with spine.database.transaction() as session:
        rater = raters.Enrolment(attributes={})
        raters.put_rater(session, "twin", "planned", rater, given_fields=frozenset(), has_seen_version=None, by=by)
        compiled = partial(
            plan_service.compile_and_freeze_plan, session, "twin", {"seed": 1}, dry_run=False, actor="test"
        )
        compiled()
        before = session.execute(text(looked)).scalar_one()
        compiled()
        read = session.execute(text(looked)).scalar_one() - before
        session.rollback()
    assert read == 0, f"{read:,} rows read one after another"


KNOWN = "SELECT most_common_vals::text FROM pg_stats WHERE tablename = :table AND attname = 'campaign_id'"


def is_known(session: Session, table: str, campaign_id: int) -> bool:
    """Whether the statistics of a table know a campaign."""
    known = str(session.execute(text(KNOWN), {"table": table}).scalar_one())
    return str(campaign_id) in known.strip("{}").split(",")


@pytest.mark.parametrize("fewer", [0, 1])
def test_a_large_clone_refreshes_the_statistics(
    spine: Spine, ids: Ids, fewer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    how: dict[str, Any] = {"name": None, "series": None, "systems": True, "actor": "test"}
    counts = ", ".join(f"(SELECT count(*) FROM {name} WHERE campaign_id = {ids.new})" for name in COPIED)
    most = max(spine.ask(f"SELECT {counts}")[0])
    monkeypatch.setattr(query_planner_statistics, "MANY", most + fewer)
    with spine.database.transaction() as session:
        cloning_service.clone_campaign(session, "new", key="another", **how)
        another = campaigns.load_campaign(session, "another").id
        known = is_known(session, "outputs", another)
        session.rollback()
    assert known == (fewer == 0)


@pytest.mark.parametrize("fewer", [0, 1])
def test_a_large_plan_refreshes_the_statistics_so_that_raters_may_come_at_once(
    spine: Spine, ids: Ids, fewer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    by = Caller(token_id=0, prefix="", role="admin", name="test", campaign=None, expires_at=None)
    planned = f"SELECT count(*) FROM items WHERE campaign_id = {ids.twin}"
    with spine.database.transaction() as session:
        rater = raters.Enrolment(attributes={})
        raters.put_rater(session, "twin", "planned", rater, given_fields=frozenset(), has_seen_version=None, by=by)
        freeze = partial(plan_service.compile_and_freeze_plan, session, "twin", {"seed": 1}, actor="test")
        with session.begin_nested() as first:
            freeze(dry_run=False)
            n = session.execute(text(planned)).scalar_one()
            first.rollback()
        monkeypatch.setattr(query_planner_statistics, "MANY", n + fewer)
        freeze(dry_run=False)
        known = is_known(session, "items", ids.twin)
        session.rollback()
    assert n > 0
    assert known == (fewer == 0)


def settings(session: Session) -> list[str]:
    """The settings that walking changes, as they are."""
    return [str(session.execute(text(f"SHOW {name}")).scalar_one()) for name in query_planning.SETTINGS]


def test_what_comes_after_a_walk_is_planned_as_before(spine: Spine) -> None:
    with spine.database.transaction() as session:
        before = settings(session)
        with query_planning.disable_nested_loops(session):
            assert settings(session) == ["off", "off"]
            with query_planning.disable_nested_loops(session):
                pass
            assert settings(session) == ["off", "off"], "one within another ends nothing"
        assert settings(session) == before
        assert before[0] == "on"


def test_derived_scores_are_checked_without_loops_too(spine: Spine, ids: Ids) -> None:
    with spine.database.transaction() as session:
        seen: list[str] = []

        def look(_: sa.Connection, cursor: Any, statement: str, *__: object) -> None:
            if "INSERT INTO scores" in statement:
                seen.append(cursor.connection.execute("SHOW enable_nestloop").fetchone()[0])

        sa.event.listen(session.connection(), "before_cursor_execute", look)
        WALKS["scores under another profile"](session, ids)
        sa.event.remove(session.connection(), "before_cursor_execute", look)
        session.rollback()
    assert seen == ["off"], "the trigger that looks for what scores name plans by the settings of the statement"


def test_a_walk_that_fails_leaves_nothing_behind(spine: Spine) -> None:
    with spine.database.transaction() as session:
        before = settings(session)
        with pytest.raises(sa.exc.DBAPIError), session.begin_nested():
            query_planning.execute_full_scan(session, "SELECT 1 / :zero", {"zero": 0})
        assert settings(session) == before


def test_a_walk_within_an_import_ends_nothing_of_the_imports_own(spine: Spine) -> None:
    with spine.database.transaction() as session:
        staging.create_staging_tables(session)
        query_planning.execute_full_scan(session, "SELECT 1", {})
        assert settings(session) == ["off", "off"]
