"""The audit log: written with what it records, seen by whom it concerns, and no byte of it changes unnoticed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest

from app.services.campaigns import audit, campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.storage.db import Database
from tests.api.conftest import populate
from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture

Ask = Callable[..., None]


def actions(client: httpx.Client, **query: str) -> list[tuple[str | None, str]]:
    return [(e["campaign"], e["action"]) for e in client.get("/v1/audit", params=query).json()["items"]]


def seals(database: Database) -> dict[str | None, audit.AuditChainVerification]:
    with database.transaction() as session:
        return {seal.campaign: seal for seal in audit.verify_audit_chains(session)}


def test_what_was_done_stands_in_the_log(admin: httpx.Client, database_url: str) -> None:
    populated = populate(admin, database_url)
    tag = {"If-Match": admin.get("/v1/campaigns/demo").headers["ETag"]}
    admin.patch("/v1/campaigns/demo", json={"name": "N"}, headers=tag)
    admin.post("/v1/tokens", json={"role": "viewer", "campaign": "demo"})
    for _ in range(2):  # a second revocation changes nothing
        admin.delete(f"/v1/tokens/{populated['prefix']}")

    logged = actions(admin)

    of_demo = [action for campaign, action in reversed(logged) if campaign == "demo"]
    assert [a for a in of_demo if "import" in a or "campaign" in a or "token" in a] == [
        "campaign made",
        "import committed",
        "campaign changed",
        "token made",
    ]
    assert [action for campaign, action in logged if campaign is None].count("token revoked") == 1
    me = admin.get("/v1/me").json()["prefix"]
    assert {e["actor"] for e in admin.get("/v1/audit").json()["items"]} == {f"token:{me}", "operator"}


def test_exclusions_and_locks_stand_in_the_log_without_the_name_of_a_person(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    body = {"rater": "rater1", "reason": "rater1 left"}
    made = admin.post("/v1/campaigns/demo/exclusions", json=body)
    assert made.status_code == 201, made.text
    lifted = admin.delete(made.headers["Location"], params={"reason": "rater1 is back"})
    assert lifted.status_code in {200, 204}, lifted.text
    locked = admin.post("/v1/campaigns/demo/lock", json={"recipe": "google-mqm", "reason": "rater1 asked"})
    assert locked.status_code in {200, 201}, locked.text
    logged = admin.get("/v1/audit?campaign=demo")
    found = [entry["action"] for entry in logged.json()["items"]]
    assert found[:3] == ["campaign locked", "exclusion lifted", "exclusion made"]
    assert "rater1" not in logged.text


def test_stored_recipes_and_judgments_by_name_stand_in_the_log_once_for_each_change(
    admin: httpx.Client, populated: dict[str, str], database: Database
) -> None:
    before = len(actions(admin, campaign="demo"))
    for alpha in (0.01, 0.01, 0.1):
        stored = admin.put("/v1/campaigns/demo/recipes/mine", json={"name": "google-mqm", "alpha": alpha})
        assert stored.status_code == 200, stored.text
    judgment = {
        "rater": "newcomer",
        "document": "elsewhere",
        "segment": 1,
        "system": "A",
        "payload": {"protocol": "mqm", "errors": []},
    }
    for _ in range(2):  # the same answer again changes nothing
        sent = admin.post("/v1/campaigns/demo/judgments?declare=true", json=[judgment])
        assert sent.status_code == 200, sent.text
    logged = admin.get("/v1/audit?campaign=demo").json()["items"]
    found = [(e["action"], e["what"].get("what", e["what"].get("revision"))) for e in logged[: len(logged) - before]]
    assert found == [("judgments recorded", "judgments made elsewhere"), ("recipe stored", 2), ("recipe stored", 1)]
    assert logged[0]["what"]["judgments"] == 1
    assert "newcomer" not in str(logged)
    assert not seals(database)["demo"].faults


def test_browser_sessions_stand_in_the_log_of_their_campaign_and_never_their_secrets(
    admin: httpx.Client,
    anonymous: httpx.Client,
    populated: dict[str, str],
    secret: Callable[..., str],
    database: Database,
) -> None:
    for campaign in ("demo", None):
        token = secret("manager", campaign=campaign) if campaign else secret("manager")
        opened = anonymous.post("/v1/session", json={"token": token})
        assert opened.status_code in {200, 201}, opened.text
        proof = {"Sec-Fetch-Site": "same-origin", "X-CSRF-Token": opened.json()["csrf"]}
        assert anonymous.delete("/v1/session", headers=proof).status_code == 204
        logged = admin.get("/v1/audit").json()["items"]
        assert [(e["campaign"], e["action"]) for e in logged[:2]] == [
            (campaign, "session closed"),
            (campaign, "session opened"),
        ]
        assert logged[0]["actor"] == logged[1]["actor"] == f"token:{token.split('_')[1]}"
        assert token not in str(logged)
    assert not any(seal.faults for seal in seals(database).values())


def test_what_fails_leaves_nothing(admin: httpx.Client, populated: dict[str, str]) -> None:
    before = actions(admin)
    assert admin.post("/v1/campaigns", json={"key": "demo", "protocol": "mqm"}).status_code == 409
    bad = admin.post("/v1/campaigns/demo/imports", params={"format": "mqm-tsv"}, content=b"nothing of the kind")
    assert bad.status_code == 422
    dry = admin.post("/v1/campaigns/demo/imports?format=mqm-tsv&dry_run=true", content=b"system\n")
    assert dry.status_code == 422
    assert actions(admin) == before


def test_pages_go_from_the_newest_to_the_first(admin: httpx.Client, populated: dict[str, str]) -> None:
    whole = admin.get("/v1/audit").json()["items"]
    found, cursor = [], {}
    for _ in range(len(whole)):
        page = admin.get("/v1/audit", params={"limit": "2", **cursor}).json()
        found += page["items"]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert found == whole
    assert len(whole) >= 4
    action, *_ = whole[0]["action"].split()
    searched = admin.get("/v1/audit", params={"q": f"{action.upper()} {whole[0]['actor']}"}).json()["items"]
    assert whole[0] in searched
    assert all(action in str(one) for one in searched)
    assert not admin.get("/v1/audit", params={"q": f"{action} nothing-like-this"}).json()["items"]


def test_a_manager_sees_its_campaigns_and_an_admin_all(
    admin: httpx.Client, populated: dict[str, str], secret: Callable[..., str]
) -> None:
    admin.post("/v1/campaigns", json={"key": "other", "protocol": "da"})
    assert {campaign for campaign, _ in actions(admin)} == {None, "demo", "other"}
    assert {campaign for campaign, _ in actions(admin, campaign="demo")} == {"demo"}

    admin.headers["Authorization"] = f"Bearer {secret('manager')}"
    assert {campaign for campaign, _ in actions(admin)} == {"demo", "other"}
    admin.headers["Authorization"] = f"Bearer {secret('manager', campaign='demo')}"
    assert {campaign for campaign, _ in actions(admin)} == {"demo"}
    assert admin.get("/v1/audit?campaign=other").status_code == 404
    assert admin.get("/v1/audit?campaign=nowhere").status_code == 404


def test_a_chain_holds_however_many_write_to_it_at_once(database: Database) -> None:
    with database.transaction() as session:
        campaigns.create_campaign(session, NewCampaign(key="demo", protocol="da"), actor="test")
        campaign_id = campaigns.campaigns.load_campaign(session, "demo").id

    def write(i: int) -> None:
        with database.transaction() as session:
            if i % 2:  # as those do who change the campaign itself
                campaigns.campaigns.load_campaign(session, "demo", lock=True)
            audit.record_action(session, campaign_id, actor="test", action="tried", what={"i": i})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(60)))

    seal = seals(database)["demo"]
    assert (seal.rows, seal.faults) == (61, ())


FLIPS = {
    "its text": "UPDATE audit_log SET what = overlay(what placing 'X' from 3 for 1)",
    "its actor": "UPDATE audit_log SET actor = 'nobody'",
    "its time": "UPDATE audit_log SET at = at + interval '1 microsecond'",
    "its hash": "UPDATE audit_log SET hash = set_byte(hash, 7, get_byte(hash, 7) # 1)",
}


@pytest.mark.parametrize("flip", FLIPS)
def test_a_row_that_was_changed_is_named(
    admin: httpx.Client, populated: dict[str, str], database: Database, ask: Ask, flip: str
) -> None:
    assert all(not seal.faults for seal in seals(database).values())
    ask("SET plumbline.purge = on", f"{FLIPS[flip]} WHERE n = 2 AND campaign_id IS NOT NULL")
    assert "row 2 was changed after it was written" in seals(database)["demo"].faults
    assert not seals(database)[None].faults


def test_rows_that_are_gone_are_named(
    admin: httpx.Client, populated: dict[str, str], database: Database, ask: Ask
) -> None:
    ask("SET plumbline.purge = on", "DELETE FROM audit_log WHERE n = 1 AND campaign_id IS NOT NULL")
    assert "rows 1 to 1 are missing" in seals(database)["demo"].faults


def test_neither_the_service_nor_the_owner_by_accident_can_change_it(
    admin: httpx.Client, populated: dict[str, str], database_url: str
) -> None:
    statements = ("UPDATE audit_log SET actor = 'me'", "DELETE FROM audit_log", "TRUNCATE audit_log")
    for role, refusal in (
        ("plumbline_app", psycopg.errors.InsufficientPrivilege),
        ("plumbline", psycopg.errors.RestrictViolation),
    ):
        for statement in statements:
            with psycopg.connect(database_url) as connection:
                connection.execute(f"SET ROLE {role}")
                with pytest.raises(refusal):
                    connection.execute(statement)
                connection.rollback()


def test_the_command_prints_the_seals_and_exits_1_where_one_is_broken(
    admin: httpx.Client, populated: dict[str, str], database_url: str, ask: Ask, command: Command
) -> None:
    good = command(database_url, "audit", "--check")
    assert good.returncode == 0, good.stderr
    assert b"demo: " in good.stdout
    ask("SET plumbline.purge = on", "UPDATE audit_log SET actor = 'x' WHERE n = 1 AND campaign_id IS NOT NULL")
    bad = command(database_url, "audit", "--check")
    assert bad.returncode == 1
    assert b"plumbline: demo: row 1 was changed after it was written" in bad.stderr
