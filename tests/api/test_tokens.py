from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from app.services.access import tokens
from app.storage.db import Database
from tests.working import LIMIT, until

Secrets = Callable[..., str]


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def make_campaign(client: httpx.Client, key: str) -> None:
    assert client.post("/v1/campaigns", json={"key": key, "protocol": "da"}).status_code == 201


def test_a_fresh_database_has_no_credential_at_all(anonymous: httpx.Client, database: Database) -> None:
    for guess in ("", "admin", "plb_000000000000_" + "A" * 43, "Bearer"):
        assert anonymous.get("/v1/me", headers=bearer(guess)).status_code == 401
    with database.transaction() as session:
        assert tokens.list_tokens(session, by=None, after=None, limit=10) == []


def test_the_first_admin_is_made_once(database: Database) -> None:
    with database.transaction() as session:
        first = tokens.create_first_admin_token(session)
    with database.transaction() as session:
        assert first is not None
        assert tokens.create_first_admin_token(session) is None


def test_the_first_admins_token_ends_in_a_day(database: Database, ask: Callable[..., None]) -> None:
    with database.transaction() as session:
        first = tokens.create_first_admin_token(session)
    assert first is not None
    ends = first.token.expires_at
    assert ends is not None
    assert timedelta(0) <= ends - first.token.created_at - timedelta(days=1) < timedelta(minutes=10)  # a busy machine
    for _ in range(2):  # its first use does not end it: who has read the file makes a token of their own by it
        with database.transaction() as session:
            assert tokens.authenticate_secret(session, first.secret).role == "admin"
    ask("UPDATE tokens SET expires_at = clock_timestamp() + interval '1 hour'")
    with database.transaction() as session:
        assert tokens.authenticate_secret(session, first.secret).role == "admin"
    ask("UPDATE tokens SET expires_at = clock_timestamp() + interval '1 microsecond'")
    with database.transaction() as session, pytest.raises(tokens.BadCredential):
        tokens.authenticate_secret(session, first.secret)


@pytest.mark.parametrize(
    ("then", "another"),
    [
        ("revoked_at = now()", True),
        ("expires_at = now() - interval '1 s'", True),
        ("expires_at = now() + interval '1 hour'", False),
        ("expires_at = NULL", False),
        ("role = 'manager'", True),
    ],
)
def test_an_admin_whose_token_ended_is_none_so_that_somebody_can_get_in_again(
    database: Database, ask: Callable[..., None], then: str, *, another: bool
) -> None:
    with database.transaction() as session:
        assert tokens.create_first_admin_token(session) is not None
    ask(f"UPDATE tokens SET {then}")
    with database.transaction() as session:
        assert (tokens.create_first_admin_token(session) is not None) is another


def test_of_two_starters_one_makes_the_first_admin(
    database: Database, ask_rows: Callable[[str], list[tuple[object, ...]]]
) -> None:
    """The second looks while the first has not committed, and waits for it."""

    def second() -> bool:
        with database.transaction() as session:
            return tokens.create_first_admin_token(session) is not None

    waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as session:
            assert tokens.create_first_admin_token(session) is not None
            other = pool.submit(second)
            until(lambda: other.done() or bool(ask_rows(waits)), "the second waits, or did not")
        assert other.result(LIMIT) is False


def test_without_a_credential_the_answer_says_which_is_needed(anonymous: httpx.Client) -> None:
    answer = anonymous.get("/v1/me")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("scheme", ["Basic", "Token", ""])
def test_only_bearer_is_a_scheme(anonymous: httpx.Client, secret: Secrets, scheme: str) -> None:
    assert anonymous.get("/v1/me", headers={"Authorization": f"{scheme} {secret()}"}).status_code == 401


def test_two_credentials_at_once_are_none(anonymous: httpx.Client, secret: Secrets) -> None:
    twice = [("Authorization", f"Bearer {secret()}"), ("Authorization", f"Bearer {secret()}")]
    assert anonymous.get("/v1/me", headers=twice).status_code == 401


def test_a_secret_is_shown_once_and_stored_only_as_its_hash(admin: httpx.Client, database: Database) -> None:
    made = admin.post("/v1/tokens", json={"role": "viewer", "name": "CI"}).json()
    rest = made["token"].removeprefix(f"plb_{made['prefix']}_")
    assert len(rest) == 43  # 256 bits

    listed = admin.get("/v1/tokens").text
    shown = admin.get(f"/v1/tokens/{made['prefix']}").text

    with database.transaction() as session:
        stored = str(tokens.tokens.load_token_by_prefix(session, made["prefix"]))
    assert all(rest not in text for text in (listed, shown, stored))


def test_a_secret_off_by_one_character_is_refused(anonymous: httpx.Client, secret: Secrets) -> None:
    good = secret()
    assert anonymous.get("/v1/me", headers=bearer(good)).status_code == 200
    for bad in (good[:-1], good + "A", good.replace(good[-3], "A" if good[-3] != "A" else "B"), good.upper()):
        assert anonymous.get("/v1/me", headers=bearer(bad)).status_code == 401


def test_a_revoked_token_is_refused_at_once_on_every_connection(
    admin: httpx.Client, anonymous: httpx.Client, secret: Secrets
) -> None:
    theirs = secret("viewer")
    assert admin.get("/v1/me", headers=bearer(theirs)).status_code == 200
    prefix = theirs.split("_")[1]
    assert admin.delete(f"/v1/tokens/{prefix}").status_code == 204
    assert admin.get("/v1/me", headers=bearer(theirs)).status_code == 401
    assert admin.delete(f"/v1/tokens/{prefix}").status_code == 204
    assert admin.get(f"/v1/tokens/{prefix}").json()["live"] is False


def test_an_expired_token_is_refused(anonymous: httpx.Client, secret: Secrets) -> None:
    past = secret(expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert anonymous.get("/v1/me", headers=bearer(past)).status_code == 401
    later = secret(expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert anonymous.get("/v1/me", headers=bearer(later)).status_code == 200


@pytest.mark.parametrize("end", ["2099-02-30T00:00:00Z", "2099-01-01T00:00:00", "4070908800", 4070908800, "2099-01-01"])
def test_an_end_that_is_no_time_is_refused(admin: httpx.Client, end: object) -> None:
    assert admin.post("/v1/tokens", json={"role": "viewer", "expires_at": end}).status_code == 422


def test_a_token_of_one_campaign_is_told_that_others_do_not_exist(admin: httpx.Client, secret: Secrets) -> None:
    make_campaign(admin, "ours")
    make_campaign(admin, "theirs")
    for role in ("viewer", "manager", "admin"):
        bound = bearer(secret(role, campaign="ours"))
        assert admin.get("/v1/campaigns/ours", headers=bound).status_code == 200
        theirs = admin.get("/v1/campaigns/theirs", headers=bound)
        nowhere = admin.get("/v1/campaigns/nowhere", headers=bound)
        assert theirs.status_code == nowhere.status_code == 404
        hidden = {"instance"}
        assert {k: v for k, v in theirs.json().items() if k not in hidden} == {
            k: v for k, v in nowhere.json().items() if k not in hidden
        }
        listed = admin.get("/v1/campaigns", headers=bound).json()
        assert [campaign["key"] for campaign in listed["items"]] == ["ours"]


@pytest.mark.parametrize(
    ("role", "rank", "import_", "make_campaign", "make_viewer", "make_manager"),
    [
        ("admin", 422, 422, 201, 201, 201),
        ("manager", 422, 422, 201, 201, 403),
        ("viewer", 422, 403, 403, 403, 403),
        ("coordinator", 403, 403, 403, 403, 403),
        ("frontend", 403, 403, 403, 403, 403),
    ],
)
def test_each_role_has_its_rights_and_no_more(
    admin: httpx.Client,
    secret: Secrets,
    role: str,
    rank: int,
    import_: int,
    make_campaign: int,
    make_viewer: int,
    make_manager: int,
) -> None:
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "mqm"})
    they = bearer(secret(role))
    # What is allowed is refused for its content here, so that the refusal shows how far it came.
    assert admin.get("/v1/campaigns/c/ranking?recipe=nonsense", headers=they).status_code == rank
    assert admin.post("/v1/campaigns/c/imports?format=mqm-tsv", headers=they, content=b"no").status_code == import_
    new = admin.post("/v1/campaigns", headers=they, json={"key": "new", "protocol": "da"})
    assert new.status_code == make_campaign
    assert admin.post("/v1/tokens", headers=they, json={"role": "viewer"}).status_code == make_viewer
    assert admin.post("/v1/tokens", headers=they, json={"role": "manager"}).status_code == make_manager
    assert admin.get("/v1/me", headers=they).json()["role"] == role


def test_nobody_gives_more_than_they_have(admin: httpx.Client, secret: Secrets) -> None:
    make_campaign(admin, "ours")
    make_campaign(admin, "theirs")
    ends = datetime.now(UTC) + timedelta(hours=1)
    bound = bearer(secret("manager", campaign="ours", expires_at=ends))

    def ask(**given: object) -> int:
        return admin.post("/v1/tokens", headers=bound, json={"role": "viewer", **given}).status_code

    soon = (ends - timedelta(minutes=1)).isoformat()
    late = (ends + timedelta(minutes=1)).isoformat()
    assert ask(campaign="ours", expires_at=soon) == 201
    assert ask(campaign="ours", expires_at=late) == 403
    assert ask(campaign="ours") == 403
    assert ask(campaign=None, expires_at=soon) == 403
    assert ask(campaign="theirs", expires_at=soon) == 404
    assert admin.post("/v1/campaigns", headers=bound, json={"key": "n", "protocol": "da"}).status_code == 403


def test_a_manager_sees_and_revokes_only_the_tokens_that_it_manages(admin: httpx.Client, secret: Secrets) -> None:
    make_campaign(admin, "ours")
    make_campaign(admin, "theirs")
    manager = secret("manager", campaign="ours")
    ours, theirs = secret("viewer", campaign="ours"), secret("viewer", campaign="theirs")
    they = bearer(manager)

    listed = admin.get("/v1/tokens", headers=they).json()["items"]

    assert [token["prefix"] for token in listed] == [ours.split("_")[1]]
    assert admin.delete(f"/v1/tokens/{theirs.split('_')[1]}", headers=they).status_code == 404
    assert admin.get("/v1/me", headers=bearer(theirs)).status_code == 200
    assert admin.delete(f"/v1/tokens/{manager.split('_')[1]}", headers=they).status_code == 204  # its own


def test_lists_come_in_pages(admin: httpx.Client) -> None:
    keys = [f"c{n}" for n in range(7)]
    for key in keys:
        make_campaign(admin, key)
    seen, cursor = [], None
    while True:
        page = admin.get("/v1/campaigns", params={"limit": 3, **({"cursor": cursor} if cursor else {})}).json()
        seen.append([campaign["key"] for campaign in page["items"]])
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [keys[:3], keys[3:6], keys[6:]]
    assert admin.get("/v1/campaigns?cursor=%2F").status_code == 422


def test_tokens_are_searched_filtered_and_sorted(admin: httpx.Client) -> None:
    make_campaign(admin, "c1")
    for role, name in (("viewer", "Wall screen"), ("viewer", "nightly"), ("frontend", "crowd page")):
        made = admin.post("/v1/tokens", json={"role": role, "campaign": "c1", "name": name}).json()
    admin.delete(f"/v1/tokens/{made['prefix']}")

    def names(**query: object) -> list[str]:
        found, cursor = [], {}
        while True:  # a page of one: places of an order hold
            page = admin.get("/v1/tokens", params={"limit": 1, **query, **cursor}).json()
            found += [one["name"] for one in page["items"]]
            if page["next"] is None:
                return found
            cursor = {"cursor": page["next"]}

    assert names(role="viewer", sort="-made") == ["nightly", "Wall screen"]
    assert names(role=["viewer", "frontend"], sort="made") == ["Wall screen", "nightly", "crowd page"]
    assert names(role=["viewer", "frontend"], live=True, sort="made") == ["Wall screen", "nightly"]
    assert names(live=False) == ["crowd page"]
    assert names(q="c1 SCREEN") == ["Wall screen"]


def test_no_secret_reaches_the_log_or_an_error(
    admin: httpx.Client, secret: Secrets, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    theirs = secret("viewer")
    answers = [
        admin.get("/v1/me", headers=bearer(theirs)),
        admin.get("/v1/me", headers=bearer(theirs + "x")),
        admin.get(f"/v1/me?{theirs}=1"),
        admin.get(f"/v1/campaigns?limit={theirs}"),
        admin.get(f"/v1/campaigns/{theirs}"),
        admin.get(f"/{theirs}"),
        admin.post("/v1/tokens", json={theirs: theirs}),
        admin.post("/v1/tokens", json={"role": theirs}),
        admin.post("/v1/session", json={"token": theirs + "x"}),
        admin.post("/v1/campaigns", json={"key": "k", "protocol": "da", "options": {theirs: theirs}}),
        admin.post("/v1/campaigns/k/imports", json={"format": "jsonl", "options": {theirs: theirs}}),
    ]
    rest = theirs.split("_", 2)[2]
    assert all(rest not in answer.text for answer in answers), [a.text for a in answers if rest in a.text]
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("plumbline", "uvicorn"))]
    assert ours
    assert not any(rest in line for line in ours)


def test_a_token_that_has_ended_already_is_not_made(admin: httpx.Client) -> None:
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    answer = admin.post("/v1/tokens", json={"role": "viewer", "expires_at": past})
    assert answer.status_code == 422
    assert [error["loc"] for error in answer.json()["errors"]] == [["body", "expires_at"]]
    soon = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
    assert admin.post("/v1/tokens", json={"role": "viewer", "expires_at": soon}).status_code == 201


def test_a_coordinators_token_is_for_a_team_of_its_campaign(admin: httpx.Client) -> None:
    make_campaign(admin, "ours")
    admin.put("/v1/campaigns/ours/teams/bonn", json={"name": "Bonn"})

    def ask(**given: object) -> httpx.Response:
        return admin.post("/v1/tokens", json={"role": "coordinator", "campaign": "ours", **given})

    made = ask(team="bonn")
    assert (made.status_code, made.json()["team"], made.json()["rater"]) == (201, "bonn", None)
    assert admin.get("/v1/me", headers=bearer(made.json()["token"])).json()["team"] == "bonn"
    assert ask(team="ulm").status_code == 404
    assert ask(team="bonn", role="viewer").status_code == 422
    assert ask(team="bonn", campaign=None).status_code == 422
