"""After erasing a rater nothing says who they were; what they judged stays under the pseudonym."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

Secrets = Callable[..., str]
Dump = Callable[[], str]
# Everything that says who r0 is, planted where the service keeps such things.
IDENTITY = ("Ada Lovelace", "ada@example.org", "only mornings", "born-1815", "person-ada", "PID-ada", "xx-ADA")
BY_NAME = {"document": "news.1", "segment": 1, "system": "A", "payload": {"protocol": "mqm", "errors": []}}


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def enrol(client: httpx.Client, campaign: str, key: str, **given: Any) -> None:
    answer = client.put(f"/v1/campaigns/{campaign}/raters/{key}", json=given)
    assert answer.status_code == 200, answer.text


@pytest.fixture
def known(admin: httpx.Client, populated: dict[str, str]) -> str:
    """A rater who judged, with everything that the service can know of them; their token."""
    contact = {"name": "Ada Lovelace", "email": "ada@example.org", "note": "only mornings"}
    enrol(
        admin,
        "demo",
        "rater0",
        contact=contact,
        attributes={"year": "born-1815"},
        person="person-ada",
        languages=["xx-ADA"],
    )
    made = admin.post("/v1/campaigns/demo/raters/rater0/link").json()
    return str(made["link"].partition("#token=")[2])


def test_erasing_removes_who_a_rater_was_and_keeps_what_they_judged(
    admin: httpx.Client, known: str, dump: Dump, ask: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    ask("UPDATE enrolments SET external_id = 'PID-ada' WHERE rater_id = (SELECT id FROM raters WHERE key = 'rater0')")
    ranking = "/v1/campaigns/demo/ranking"
    before = admin.get(ranking).json()
    judged = admin.get("/v1/campaigns/demo/exports/jsonl").text.count('"rater":"rater0"')
    opened = admin.post("/v1/session", json={"token": known})
    cookie = {"Cookie": f"rater={admin.cookies['rater']}"}
    admin.cookies.clear()
    assert opened.status_code == 201
    stored = dump()
    assert [word for word in IDENTITY if word not in stored] == []  # the check itself can fail

    with caplog.at_level("DEBUG"):
        erased = admin.delete("/v1/raters/rater0")

    assert erased.json() == {"erased": [{"campaign": "demo", "rater": "rater0"}]}
    stored = dump()
    assert [word for word in IDENTITY if word in stored or word in caplog.text] == []
    staff = admin.headers["Authorization"]
    del admin.headers["Authorization"]
    for credential in (bearer(known), cookie):
        assert admin.get("/v1/me", headers=credential).status_code == 401
    admin.headers["Authorization"] = staff
    after = admin.get(ranking).json()
    assert after["data_version"] == before["data_version"] + 1
    assert after["systems"] == before["systems"]
    exported = admin.get("/v1/campaigns/demo/exports/jsonl").text
    assert exported.count('"rater":"rater0"') == judged > 0
    assert [word for word in IDENTITY if word in exported] == []
    shown = admin.get("/v1/campaigns/demo/raters/rater0").json()
    assert (shown["state"], shown["contact"], shown["attributes"], shown["languages"]) == ("erased", None, {}, [])
    log = admin.get("/v1/audit", params={"campaign": "demo"})
    assert log.json()["items"][0]["action"] == "rater erased"
    assert [word for word in IDENTITY if word in log.text] == []


def planted(table: str, campaign: str, kind: str) -> str:
    """A statement that stores a report or a job of a campaign."""
    columns = {
        "reports": "data_version, recipe_hash, seed, method_version, body) SELECT id, '{}', 1, 'x', 1, '1', 'planted'",
        "jobs": "public_id, key, request, state, workers) SELECT id, '{}', 'j', 'k', '\"planted\"', 'queued', '{{}}'",
    }[table]
    return f"INSERT INTO {table} (campaign_id, kind, {columns.format(kind)} FROM campaigns WHERE key = '{campaign}'"


# What an erasure takes along, and beside it what it must leave: (the statement that plants it, whether it goes).
KEPT_ANSWERS = {
    "an answer kept for the rater's token": (
        (
            "INSERT INTO idempotency (token_id, key, request_hash, body) SELECT t.id, 'k', sha256('x'), 'planted' "
            "FROM tokens t JOIN raters r ON r.id = t.rater_id WHERE r.key = 'rater0'"
        ),
        True,
    ),
    "one for somebody else's": (
        (
            "INSERT INTO idempotency (token_id, key, request_hash, body) SELECT id, 'k', sha256('x'), 'planted' "
            "FROM tokens WHERE role = 'admin' ORDER BY id LIMIT 1"
        ),
        False,
    ),
}
for table in ("reports", "jobs"):
    for of, key, kind, goes in (
        ("of the campaign", "demo", "ranking", True),
        ("that compares campaigns", "beside", "campaigns/xsts", True),
        ("of another campaign", "beside", "ranking", False),
    ):
        KEPT_ANSWERS[f"{table} {of}"] = (f"{table} {key} {kind}", goes)


@pytest.mark.parametrize("what", KEPT_ANSWERS)
def test_erasing_takes_along_the_answers_that_were_kept(
    admin: httpx.Client, known: str, ask: Callable[..., None], dump: Dump, what: str
) -> None:
    statement, goes = KEPT_ANSWERS[what]
    assert admin.post("/v1/campaigns", json={"key": "beside", "protocol": "da"}).status_code == 201
    ask(statement if statement.startswith("INSERT") else planted(*statement.split()))
    assert "planted" in dump() or b"planted".hex() in dump()
    assert admin.delete("/v1/raters/rater0").is_success
    left = dump()
    assert ("planted" not in left and b"planted".hex() not in left) is goes


def test_once_erased_a_rater_stays_erased(admin: httpx.Client, known: str) -> None:
    first = admin.delete("/v1/raters/rater0").json()
    version = admin.get("/v1/campaigns/demo").json()["data_version"]
    assert admin.delete("/v1/raters/rater0").json() == first
    assert admin.get("/v1/campaigns/demo").json()["data_version"] == version
    again = admin.put("/v1/campaigns/demo/raters/rater0", json={"contact": {"name": "Ada"}}, headers={"If-Match": "*"})
    assert again.status_code == 409
    assert admin.post("/v1/campaigns/demo/raters/rater0/link").status_code == 409
    assert admin.delete("/v1/raters/nobody").status_code == 404


def test_every_account_of_the_person_is_erased_and_they_stay_one_person(
    admin: httpx.Client, known: str, secret: Secrets, dump: Dump
) -> None:
    admin.post("/v1/campaigns", json={"key": "second", "protocol": "da"})
    enrol(admin, "second", "x9", person="person-ada", contact={"name": "Ada Lovelace"})
    enrol(admin, "second", "x8", person="person-bob")
    bound = bearer(secret("manager", campaign="demo"))
    assert admin.delete("/v1/raters/rater0", headers=bound).status_code == 403
    assert "Ada Lovelace" in dump()
    erased = admin.delete("/v1/raters/rater0", headers=bearer(secret("manager"))).json()["erased"]
    assert erased == [{"campaign": "demo", "rater": "rater0"}, {"campaign": "second", "rater": "x9"}]
    people = [
        admin.get(f"/v1/campaigns/{c}/raters/{r}").json()["person"] for c, r in (("demo", "rater0"), ("second", "x9"))
    ]
    assert people[0] == people[1] != "person-ada"
    assert admin.get("/v1/campaigns/second/raters/x8").json()["person"] == "person-bob"


def test_two_raters_of_one_key_are_not_taken_for_one(admin: httpx.Client, known: str, secret: Secrets) -> None:
    admin.post("/v1/campaigns", json={"key": "second", "protocol": "da"})
    enrol(admin, "second", "rater0", contact={"name": "Bob"})
    assert admin.delete("/v1/raters/rater0").status_code == 409
    theirs = bearer(secret("manager", campaign="second"))
    assert admin.delete("/v1/raters/rater0", params={"campaign": "demo"}, headers=theirs).status_code == 404
    erased = admin.delete("/v1/raters/rater0", headers=theirs).json()["erased"]
    assert erased == [{"campaign": "second", "rater": "rater0"}]
    assert admin.get("/v1/campaigns/demo/raters/rater0").json()["contact"]["name"] == "Ada Lovelace"


def test_a_rater_gets_everything_that_is_stored_about_them_and_nothing_else(
    admin: httpx.Client, known: str, secret: Secrets
) -> None:
    admin.put("/v1/campaigns/demo/consent", json={"en": "I agree."})
    they = bearer(known)
    admin.post("/v1/me/consent", json={"version": 1, "language": "en"}, headers=they)
    answer = admin.get("/v1/me/export", headers=they)
    assert answer.headers["Content-Type"] == "application/json"
    told = json.loads(answer.text)
    about = told["rater"]
    assert (about["key"], about["contact_email"], about["person"]) == ("rater0", "ada@example.org", "person-ada")
    assert about["attributes"] == {"year": "born-1815"}
    assert [(one["version"], one["language"]) for one in told["consents"]] == [(1, "en")]
    assert len(told["judgments"]) == 6  # two segments of three systems
    assert {tuple(sorted(one)) for one in told["judgments"]} == {
        tuple(
            sorted(
                (
                    "task",
                    "item",
                    "segment",
                    "revision",
                    "payload",
                    "guidelines",
                    "started_at",
                    "submitted_at",
                    "recorded_at",
                )
            )
        )
    }
    assert "rater1" not in answer.text
    assert known.split("_")[1] in answer.text  # the name of their credential, not its secret
    assert known.split("_", 2)[2] not in answer.text


def test_what_a_rater_exports_names_no_system(admin: httpx.Client, populated: dict[str, str]) -> None:
    for system in ("PLANTED-SYSTEM", "B"):
        body = [{**BY_NAME, "rater": "r1", "system": system}]
        sent = admin.post("/v1/campaigns/demo/judgments", params={"declare": "true"}, json=body)
        assert sent.status_code == 200, sent.text
    link = admin.post("/v1/campaigns/demo/raters/r1/link").json()["link"]
    text = admin.get("/v1/me/export", headers=bearer(link.partition("#token=")[2])).text
    assert len(json.loads(text)["judgments"]) == 2
    assert "PLANTED" not in text
    assert "news.1" not in text


def test_an_erasure_is_never_taken_for_a_purge(admin: httpx.Client, known: str) -> None:
    """A purge is the schema's owner's, on the command line (docs/decisions, 16)."""
    refused = admin.delete("/v1/raters/rater0", params={"campaign": "demo", "purge": "true"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["loc"] == ["query", "purge"]
    assert admin.get("/v1/me", headers=bearer(known)).status_code == 200, "nothing was erased"
