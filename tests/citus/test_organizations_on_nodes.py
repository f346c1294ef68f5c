"""Organizations on three nodes of Citus: made, migrated, at work all at once, and moved while raters judge."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from app.cli.kit.simulated_raters import SimulatedRaterSettings
from app.services.access import tokens
from app.storage import id_ranges, migrate, organization_schemas
from app.storage.current_organization import SPAN, organization_schema, use_organization
from app.storage.db import Database
from app.storage.migrate import LockedMigrationConnection
from tests.citus.cluster import DATABASE, CitusCluster
from tests.citus.conftest import ORGANIZATIONS
from tests.citus.serving import CitusService
from tests.faults.serving import Raters, Service, judging, service
from tests.load.server import Served, serving
from tests.load.test_rehearsal import DESIGN, LONG, SMALL, closed_and_ranked, figures, judged, set_up
from tests.organized import TWIN, within
from tests.spine import opened, plumbline
from tests.storage.test_current_organization import MANY
from tests.working import until

pytestmark = pytest.mark.soak

FIRST_WITH_CITUS = "2026_11_26_names_of_shards"
"""Revisions from here on can be applied to distributed tables."""
WHERE = """
SELECT s.schemaid::regnamespace::text, n.nodeport, count(*) FROM pg_dist_schema s
JOIN pg_dist_partition t ON t.colocationid = s.colocationid JOIN pg_dist_shard h ON h.logicalrelid = t.logicalrelid
JOIN pg_dist_placement p ON p.shardid = h.shardid JOIN pg_dist_node n ON n.groupid = p.groupid
GROUP BY 1, 2 ORDER BY 1"""
CHANGES = (
    """CREATE TABLE novel (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                           campaign_id bigint NOT NULL REFERENCES campaigns (id),
                           at timestamptz NOT NULL DEFAULT now())""",
    """CREATE TRIGGER novel_append_only BEFORE UPDATE OR DELETE ON novel
       FOR EACH ROW EXECUTE FUNCTION refuse_change()""",
    "ALTER TABLE campaigns ADD COLUMN novel int NOT NULL DEFAULT 3",
    "CREATE INDEX ix_novel ON campaigns (novel)",
    "ALTER TABLE campaigns ADD CONSTRAINT ck_novel CHECK (novel > 2) NOT VALID",
    "ALTER TABLE campaigns VALIDATE CONSTRAINT ck_novel",
)
CAMPAIGN = """
INSERT INTO campaigns (key, name, protocol, protocol_version, basis, state)
VALUES ('n', 'n', 'da', 1, 'source', 'open')"""
IDENTITIES = """
SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> ''
WHERE c.relnamespace = 'organization_{}'::regnamespace ORDER BY 1"""
PACE = SimulatedRaterSettings(workers=7, patience=LONG)
RATERS, ENOUGH = 8, 100
TURNS, SECONDS = 1, 5.0
# What holds on one server holds here; each file makes databases of its own on the three nodes.
PROMISES = (
    "tests/faults/test_acked.py",
    "tests/faults/test_exactly_once.py",
    "tests/faults/test_killed_imports.py",
    "tests/faults/test_many_raters.py",
    "tests/faults/test_same_bytes.py",
    "tests/load/test_crowd.py",
    "tests/storage/test_staged_judgments.py",
)
OF_ONE_SERVER = (
    "tests/faults/test_acked.py::test_a_frozen_database_is_told_to_everybody_and_nothing_confirmed_is_lost",
    "tests/faults/test_exactly_once.py::test_a_statement_that_looks_in_its_own_snapshot_is_caught",
    "tests/storage/test_staged_judgments.py::test_the_owner_can_purge_when_saying_so_in_the_transaction",
)
"""Tests that look themselves into what a single server does: which of its sessions wait for a lock, and a setting that
another server is told only if it is asked to; a test here does so."""


def test_organizations_lie_on_the_workers_in_turn_and_all_else_stays(cluster: CitusCluster) -> None:
    with psycopg.connect(cluster.coordinator.url()) as db:
        rows = db.execute(WHERE).fetchall()
        on_coordinator = db.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert [schema for schema, _, _ in rows] == [organization_schema(n + 1) for n in range(len(ORGANIZATIONS))]
    assert {port for _, port, _ in rows} == {node.port for node in cluster.nodes[1:]}
    assert {tables for _, _, tables in rows} == set(on_coordinator or ())
    migrate.check_schema(cluster.coordinator.url("plumbline"))


def test_what_a_migration_does_is_done_on_the_nodes_too(cluster: CitusCluster) -> None:
    """Back and forth over all revisions that can be; and what those to come may do."""
    url = cluster.coordinator.url("plumbline")
    migrate.downgrade_schema(url, FIRST_WITH_CITUS)
    migrate.upgrade_schema(url)
    migrate.check_schema(url)
    with LockedMigrationConnection(url, TWIN) as connection:
        for statement in CHANGES:
            connection.execute(text(statement))
        connection.commit()
        assert id_ranges.find_misnumbered_tables(connection, TWIN) == []
        connection.execute(text(CAMPAIGN))
        made = connection.execute(
            text("INSERT INTO novel (campaign_id) SELECT id FROM campaigns RETURNING id")
        ).scalar_one()
        assert TWIN * SPAN < made < (TWIN + 1) * SPAN
        connection.rollback()
        for statement in ("DROP TABLE novel", "ALTER TABLE campaigns DROP COLUMN novel"):
            connection.execute(text(statement))
        connection.commit()
    migrate.check_schema(url)


def test_an_organization_that_was_there_before_goes_to_a_node_with_all_that_it_has(
    cluster: CitusCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = cluster.coordinator.url("plumbline")
    with monkeypatch.context() as before:
        before.setattr(organization_schemas, "place_organization_on_citus_node", lambda *_: False)
        number = organization_schemas.add_organization(url, "older", "Older").number
    with use_organization(number), opened(url) as spine:
        spine.take("c", "mqm-tsv", MANY.encode())
        exported, ranking = spine.export("c"), spine.body("c", "google-mqm")
    for answer in ("is on a node", "was on a node already"):
        told = plumbline(url, "organizations", "distribute", "older")
        assert (told.returncode, told.stdout.decode().strip()) == (0, f"older {answer}"), told.stderr
    with use_organization(number), opened(url) as spine:
        assert spine.export("c") == exported
        assert spine.body("c", "google-mqm") == ranking
        spine.take("again", "mqm-tsv", MANY.encode())
        assert spine.rank("again", "google-mqm")["systems"] == json.loads(ranking)["systems"]
        spine.take("c", "mqm-tsv", MANY.encode())
        assert spine.export("c") == exported
    plumbline(url, "organizations", "remove", "older", "--with-all-data")
    with psycopg.connect(cluster.coordinator.url()) as db:
        assert db.execute("SELECT to_regnamespace(%s)", [organization_schema(number)]).fetchone() == (None,)


def test_what_owners_purge_is_gone_from_its_node(cluster: CitusCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command, and by hand where the node is told of it."""
    url = cluster.coordinator.url("plumbline")
    number = organization_schemas.add_organization(url, "purged", "Purged").number
    with use_organization(number), opened(within(url, number)) as spine:
        spine.take("c", "mqm-tsv", MANY.encode())
        [(rater, n), *_] = spine.ask(
            "SELECT r.key, count(*) FROM judgments j JOIN raters r ON r.id = j.rater_id GROUP BY 1 ORDER BY 2"
        )
        before = spine.counts()["judgments"]
        monkeypatch.setenv("PLUMBLINE_ORGANIZATION", "purged")
        erased = plumbline(url, "raters", "erase", rater, "--campaign", "c", "--yes")
        assert erased.returncode == 0, erased.stderr
        purged = plumbline(url, "raters", "purge", "c", rater, "--yes")
        assert purged.returncode == 0, purged.stderr
        assert spine.counts()["judgments"] == before - n
        assert spine.rank("c", "google-mqm")["systems"]
        checked = plumbline(url, "db", "check")
        assert checked.returncode == 0, checked.stderr
    with psycopg.connect(within(url, number)) as db:
        db.execute("SET LOCAL plumbline.purge = 'on'")
        with pytest.raises(psycopg.errors.RestrictViolation), db.transaction():
            db.execute("DELETE FROM audit_log")
        db.rollback()
        db.execute("SET LOCAL citus.propagate_set_commands = 'local'")
        db.execute("SET LOCAL plumbline.purge = 'on'")
        assert db.execute("DELETE FROM scores").rowcount > 0
        assert db.execute("DELETE FROM judgments").rowcount == before - n
        db.rollback()
    organization_schemas.remove_organization(url, "purged", patience=0)


def issue_owner_token(url: str, organization: int) -> str:
    """The secret of a new token for an organization."""
    database = Database(url, size=1, role="plumbline_app")
    try:
        with use_organization(organization), database.transaction() as session:
            return tokens.issue_token(session, role="admin", name="test").secret
    finally:
        database.close()


def test_four_organizations_rehearse_at_once(cluster: CitusCluster) -> None:
    """Simulated raters over HTTP, in each a campaign of one key; then every row has a number of its organization."""
    url = cluster.coordinator.url("plumbline")
    numbers = range(1, len(ORGANIZATIONS) + 1)

    def rehearse(number: int) -> tuple[list[str], int]:
        managed = set_up(Served(served.url, issue_owner_token(url, number)), "rehearsal", SMALL, DESIGN)
        planted, tally = judged(managed, SMALL, PACE)
        assert set(tally.by_status) <= {200, 503}
        order, _ = closed_and_ranked(managed, planted)
        assert tuple(order) == planted.true_ranking
        return order, tally.judgments - tally.revisions

    with serving(url, size=10) as served, ThreadPoolExecutor(len(numbers)) as pool:
        answers = list(pool.map(rehearse, numbers))
    for number, (_, judgments) in zip(numbers, answers, strict=True):
        counted = figures(within(url, number), "rehearsal")
        assert (counted["unfinished"], counted["fewest"], counted["most"]) == (0, 3, 3)
        assert counted["ratings"] == 3 * SMALL.outputs == judgments
        with psycopg.connect(within(url, number)) as db:
            for table, column in db.execute(IDENTITIES.format(number).encode()).fetchall():
                bounds = db.execute(f"SELECT min({column}), max({column}) FROM {table}".encode()).fetchone()
                assert bounds is not None
                assert bounds == (None, None) or {bound // SPAN for bound in bounds} == {number}, table
    sys.stdout.write(f"4 organizations, {sum(n for _, n in answers)} judgments\n")
    migrate.check_schema(url)


@pytest.mark.parametrize("mode", ["block_writes", "force_logical"])
def test_an_organization_moves_to_another_node_while_raters_judge(
    cluster: CitusCluster, tmp_path: Path, mode: str
) -> None:
    """Raters may wait, and say everything again until it is confirmed; what was confirmed is there."""
    run = CitusService.of(cluster.nodes, DATABASE, tmp_path)
    run.start()
    try:
        with use_organization(TWIN):
            raters = judging(run, RATERS, key=mode)
        raters.pause = 0.02
        raters.begin()
        try:
            wait_for_more(raters)
            schema, source = organization_schema(TWIN), run.home_node()
            (target,) = [node for node in cluster.nodes[1:] if node is not source]
            raters.waits[:] = []
            begun = time.monotonic()
            with psycopg.connect(cluster.coordinator.url(), autocommit=True) as db:
                db.execute("SELECT citus_schema_move(%s, '127.0.0.1', %s, %s)", [schema, target.port, mode])
            took = time.monotonic() - begun
            wait_for_more(raters)
            longest = max(raters.waits)
        finally:
            raters.end()
        assert run.home_node() is target
        assert raters.lost() == []
        assert set(raters.statuses) <= {200, 503}
        confirmed = sum(map(len, raters.acked.values()))
        sys.stdout.write(
            f"{mode}: moved in {took:.1f} s; longest wait {longest:.1f} s; {confirmed} confirmed, 0 lost; "
            f"told: {dict(raters.statuses)}\n"
        )
    finally:
        run.stop(signal.SIGKILL)


def wait_for_more(raters: Raters) -> None:
    """Until some more is acknowledged."""
    before = raters.statuses[200]
    until(lambda: raters.statuses[200] >= before + ENOUGH, f"more after {raters.statuses}")


def test_posts_per_second_with_one_two_and_three_nodes(cluster: CitusCluster, data_dir: Path, tmp_path: Path) -> None:
    """Only ratios say something, and only of what a step through Citus costs: all nodes share this machine."""
    numbers = range(1, len(ORGANIZATIONS) + 1)
    with service(data_dir, tmp_path / "plain") as plain:
        for key in ORGANIZATIONS:
            organization_schemas.add_organization(plain.url, key, key.title())
        for turn in range(TURNS):
            if turn:
                plain.start()
            of_one = measure_posts(plain, plain.url, turn, numbers)
            sys.stdout.write(f"one Postgres: {of_one:.0f} posts per second\n")
            plain.stop(signal.SIGTERM)
            for n in range(1, len(cluster.nodes) + 1):
                place_organizations(cluster, n)
                run = CitusService.of(cluster.nodes, DATABASE, tmp_path)
                run.start()
                rate = measure_posts(run, run.plain_url, turn * 10 + n, numbers)
                sys.stdout.write(f"{n} nodes of Citus: {rate:.0f}, {rate / of_one:.2f} of one Postgres\n")
                sys.stdout.flush()
                assert rate > 0
                run.stop(signal.SIGTERM)


def measure_posts(run: Service, url: str, turn: int, numbers: Sequence[int]) -> float:
    """Judgments that four raters of each organization are confirmed in a second."""
    crowds = []
    for number in numbers:
        with use_organization(number):
            crowds.append(judging(run, 4, key=f"pace-{turn}", url=within(url, number)))
    try:
        for raters in crowds:
            raters.begin()
        time.sleep(SECONDS / 2)
        before, begun = sum(raters.statuses[200] for raters in crowds), time.monotonic()
        time.sleep(SECONDS)
        return (sum(raters.statuses[200] for raters in crowds) - before) / (time.monotonic() - begun)
    finally:
        for raters in crowds:
            raters.end()


def place_organizations(cluster: CitusCluster, n: int) -> None:
    """Spread the organizations over the first nodes; the coordinator is one of them."""
    with psycopg.connect(cluster.coordinator.url(), autocommit=True) as db:
        db.execute(
            "SELECT citus_set_node_property('127.0.0.1', %s, 'shouldhaveshards', true)", [cluster.coordinator.port]
        )
        homes = {schema: port for schema, port, _ in db.execute(WHERE).fetchall()}
        for number in range(1, len(ORGANIZATIONS) + 1):
            schema, target = organization_schema(number), cluster.nodes[number % n].port
            if homes[schema] != target:
                db.execute("SELECT citus_schema_move(%s, '127.0.0.1', %s, 'block_writes')", [schema, target])


@pytest.mark.parametrize("file", PROMISES)
def test_promises_hold_on_a_cluster(cluster: CitusCluster, file: str) -> None:
    folders = os.pathsep.join(str(node.folder) for node in cluster.nodes)
    left_out = [f"--deselect={name}" for name in OF_ONE_SERVER if name.startswith(file)]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.citus.plugin",
        "-p",
        "no:cacheprovider",
        "-m",
        "not soak",
    ]
    ran = subprocess.run(
        [*command, *left_out, file],
        env={**os.environ, "CITUS_NODES": folders},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-6000:]
    sys.stdout.write(f"{file}: {ran.stdout.splitlines()[-1]}\n")
