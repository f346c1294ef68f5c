"""`plumbline raters` on a database, and as the owner where something is deleted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from app.services.access import tokens
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.services.data import exports
from app.storage.db import APP_ROLE, Database
from app.storage.purge import SEALED, purge_rater_data
from app.storage.seals import judgment_hash_sql
from tests.spine import opened

Command = Callable[..., Any]


@pytest.fixture
def campaign(database_url: str) -> str:
    database = Database(database_url, size=1, role=APP_ROLE)
    with database.transaction() as session:
        campaigns.create_campaign(session, NewCampaign(key="c", protocol="da"), actor="test")
    database.close()
    return "c"


def _listed(command: Command, url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(command(url, "raters", "list", "c", "--json").stdout)["items"]
    return found


def test_raters_are_enrolled_listed_and_given_links(command: Command, database_url: str, campaign: str) -> None:
    assert command(database_url, "raters", "add", "c", "r1", "--capacity", "40", "--name", "Ada").returncode == 0
    assert command(database_url, "raters", "add", "c", "r2", "--person", "p2").returncode == 0
    again = command(database_url, "raters", "add", "c", "r1", "--capacity", "41")
    assert (again.returncode, b"enrolled already" in again.stderr) == (2, True)
    changed = command(database_url, "raters", "change", "c", "r1", "--state", "left", "--capacity", "39")
    assert changed.returncode == 0, changed.stderr
    (left,) = [one for one in _listed(command, database_url) if one["key"] == "r1"]
    assert (left["state"], left["capacity"], left["contact"]["name"]) == ("left", 39, "Ada")
    assert command(database_url, "raters", "change", "c", "r1", "--state", "gone").returncode == 2
    assert command(database_url, "teams", "put", "c", "bonn", "--name", "Agency in Bonn").returncode == 0
    back = command(
        database_url, "raters", "change", "c", "r1", "--state", "active", "--team", "bonn", "--capacity", "40"
    )
    assert back.returncode == 0, back.stderr
    assert b"Agency in Bonn" in command(database_url, "teams", "list", "c").stdout
    assert [
        one["raters"] for one in json.loads(command(database_url, "teams", "list", "c", "--json").stdout)["items"]
    ] == [1]
    assert command(database_url, "raters", "change", "c", "r1", "--team", "").returncode == 0
    assert [one["team"] for one in _listed(command, database_url)] == [None, None]
    listed = _listed(command, database_url)
    assert [(one["key"], one["capacity"], one["person"]) for one in listed] == [("r1", 40, None), ("r2", None, "p2")]
    assert b"40 items" in command(database_url, "raters", "list", "c").stdout
    link = command(database_url, "raters", "link", "c", "r1").stdout.decode().strip()
    secret = link.partition("#token=")[2]
    database = Database(database_url, size=1, role=APP_ROLE)
    with database.transaction() as session:
        assert tokens.authenticate_secret(session, secret).rater == "r1"
    database.close()


def test_an_unknown_unit_and_an_unknown_rater_are_one_line(command: Command, database_url: str, campaign: str) -> None:
    for arguments in (("add", "c", "r1", "--unit", "hours"), ("link", "c", "nobody"), ("erase", "nobody", "--yes")):
        answer = command(database_url, "raters", *arguments)
        assert answer.returncode == 2
        assert answer.stderr.startswith(b"plumbline: ")
        assert b"Traceback" not in answer.stderr


def test_a_purge_deletes_what_an_erased_rater_judged_and_leaves_the_hashes(
    command: Command, database_url: str, campaign: str
) -> None:
    columns = "\t".join(
        ["system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category", "severity"]
    )
    lines = [f"A\tnews.1\t{n}\t{n}\trater{n % 2}\tS {n}.\tT {n}.\tNo-error\tNo-error" for n in range(1, 5)]
    with opened(database_url) as spine:
        with spine.database.transaction() as session:
            campaigns.create_campaign(session, NewCampaign(key="m", protocol="mqm"), actor="test")
        spine.take("m", "mqm-tsv", "\n".join([columns, *lines, ""]).encode())
        with psycopg.connect(database_url) as owner:
            owner.execute(
                "INSERT INTO tutorial_answers (campaign_id, rater_id, document, position) "
                "SELECT campaign_id, id, 'tutorial', 1 FROM raters"
            )
        refused = command(database_url, "raters", "purge", "m", "rater1", "--yes")
        assert (refused.returncode, b"erase them first" in refused.stderr) == (2, True)
        assert command(database_url, "raters", "erase", "rater1", "--yes").stdout == b"m: rater1 erased\n"
        hashes = dict(
            spine.ask(
                f"SELECT 'judgment ' || j.id, encode({judgment_hash_sql('j')}, 'hex') "
                "FROM judgments j JOIN raters r ON r.id = j.rater_id WHERE r.key = 'rater1'"
            )
        )
        assert len(hashes) == 2
        purged = command(database_url, "raters", "purge", "m", "rater1", "--yes")
        assert purged.stdout == b"m: 2 answers of rater1 deleted\n", purged.stderr
        (said,) = spine.ask("SELECT what FROM audit_log WHERE action = 'rater purged'")
        assert json.loads(said[0]) == {"rater": "rater1", "rows": hashes, "versions": dict.fromkeys(hashes, 1)}
        left = b"".join(exports.export_campaign(spine.database, "m", "jsonl"))
        assert {line["rater"] for line in map(json.loads, left.splitlines()) if "payload" in line} == {"rater0"}
        kept = spine.ask("SELECT count(*) FROM judgments")
        assert kept == [(2,)]
        assert spine.ask("SELECT r.key FROM tutorial_answers t JOIN raters r ON r.id = t.rater_id") == [("rater0",)]


def test_the_serving_role_cannot_purge_and_the_seals_are_back_afterwards(
    command: Command, database_url: str, campaign: str
) -> None:
    command(database_url, "raters", "add", "c", "r1")
    command(database_url, "raters", "erase", "r1", "--yes")
    database = Database(database_url, size=1, role=APP_ROLE)
    with pytest.raises(psycopg.errors.InsufficientPrivilege), database.transaction() as session:
        purge_rater_data(session, 1, 1)
    database.close()
    assert command(database_url, "raters", "purge", "c", "r1", "--yes").returncode == 0
    with psycopg.connect(database_url) as connection:
        query = "SELECT DISTINCT tgenabled::text FROM pg_trigger WHERE tgname = ANY(%s)"
        assert connection.execute(query, ([f"{table}_append_only" for table in SEALED],)).fetchall() == [("O",)]
