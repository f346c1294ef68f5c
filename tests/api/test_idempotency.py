from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest
import sqlalchemy as sa

from app.services.access import idempotency as replay
from app.storage import idempotency
from app.storage.db import Database

KEY = {"Idempotency-Key": "6f1a52b8"}
NEW = {"key": "k", "protocol": "da"}
THREADS = 30


def test_the_same_request_again_is_answered_byte_for_byte(admin: httpx.Client) -> None:
    first = admin.post("/v1/campaigns", json=NEW, headers=KEY)
    again = admin.post("/v1/campaigns", json=NEW, headers=KEY)
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert first.headers["Location"] == again.headers["Location"] == "/v1/campaigns/k"
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert admin.post("/v1/campaigns", json=NEW).status_code == 409


def test_another_request_under_the_key_is_refused(admin: httpx.Client) -> None:
    admin.post("/v1/campaigns", json=NEW, headers=KEY)
    assert admin.post("/v1/campaigns", json={**NEW, "key": "l"}, headers=KEY).status_code == 422
    assert admin.post("/v1/tokens", json={"role": "viewer"}, headers=KEY).status_code == 422
    assert admin.get("/v1/campaigns/l").status_code == 404


def test_a_key_belongs_to_its_token(admin: httpx.Client, secret: Callable[..., str]) -> None:
    other = {"Authorization": f"Bearer {secret()}"}
    assert admin.post("/v1/campaigns", json=NEW, headers=KEY).status_code == 201
    assert admin.post("/v1/campaigns", json={**NEW, "key": "l"}, headers={**KEY, **other}).status_code == 201


def test_two_tokens_that_chose_one_key_each_get_their_own_answer_again(
    admin: httpx.Client, secret: Callable[..., str]
) -> None:
    assert admin.post("/v1/campaigns", json=NEW).status_code == 201
    callers = [{"Authorization": f"Bearer {secret()}", **KEY} for _ in range(2)]

    def announce(caller: dict[str, str]) -> httpx.Response:
        return admin.post("/v1/campaigns/k/imports", json={"format": "mqm-tsv"}, headers=caller)

    first = [announce(caller) for caller in callers]
    assert first[0].json()["import"] != first[1].json()["import"]
    assert [announce(caller).content for caller in callers] == [answer.content for answer in first]


def test_a_failed_request_leaves_its_key_free(admin: httpx.Client) -> None:
    assert admin.post("/v1/campaigns", json={**NEW, "protocol": "none"}, headers=KEY).status_code == 422
    assert admin.post("/v1/campaigns", json=NEW, headers=KEY).status_code == 201


def test_an_answer_with_a_secret_is_not_kept(admin: httpx.Client, database: Database) -> None:
    first = admin.post("/v1/tokens", json={"role": "viewer"}, headers=KEY)
    again = admin.post("/v1/tokens", json={"role": "viewer"}, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 409)
    assert again.json()["title"].startswith("Already issued")
    secret = first.json()["token"].split("_", 2)[2]
    with database.transaction() as session:
        kept = session.execute(sa.text("SELECT t::text FROM idempotency t")).scalars().all()
    assert len(kept) == 1
    assert secret not in kept[0]
    assert secret.encode().hex() not in kept[0]


def test_a_key_is_forgotten_after_seven_days(admin: httpx.Client, database: Database) -> None:
    for age, status in ((timedelta(days=6, hours=23), 201), (timedelta(days=7, hours=1), 409)):
        headers = {"Idempotency-Key": f"aged-{status}"}
        campaign = {**NEW, "key": f"k{status}"}
        assert admin.post("/v1/campaigns", json=campaign, headers=headers).status_code == 201
        with database.transaction() as session:
            session.execute(sa.text("UPDATE idempotency SET created_at = :at"), {"at": datetime.now(UTC) - age})
        assert admin.post("/v1/campaigns", json=campaign, headers=headers).status_code == status


def test_thirty_at_once_are_one_creation_and_thirty_equal_answers(admin: httpx.Client) -> None:
    together = threading.Barrier(THREADS)

    def post(_: int) -> httpx.Response:
        together.wait(timeout=60)
        return admin.post("/v1/campaigns", json=NEW, headers=KEY)

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(post, range(THREADS)))

    assert Counter(a.status_code for a in answers) == {201: THREADS}
    assert len({a.content for a in answers}) == 1
    assert sum("Idempotent-Replayed" not in a.headers for a in answers) == 1


def test_an_import_under_a_key_happens_once(admin: httpx.Client, populated: dict[str, str]) -> None:
    body = admin.get("/v1/campaigns/demo/exports/jsonl").content
    admin.post("/v1/campaigns", json={"key": "copy", "protocol": "mqm"})
    path = "/v1/campaigns/copy/imports?format=jsonl"
    first = admin.post(path, content=body, headers=KEY)
    again = admin.post(path, content=body, headers=KEY)
    other = admin.post(path, content=body + b"\n", headers=KEY)
    assert (first.status_code, again.status_code, other.status_code) == (200, 200, 422), first.text
    assert first.content == again.content
    assert admin.get("/v1/campaigns/copy").json()["data_version"] == 1


def test_an_import_that_fails_under_a_key_leaves_nothing(
    admin: httpx.Client, populated: dict[str, str], database: Database
) -> None:
    def stored() -> dict[str, int]:
        with database.transaction() as session:
            tables = ("imports", "import_files", "import_chunks", "idempotency", "judgments", "versions", "audit_log")
            return {table: session.execute(sa.text(f"SELECT count(*) FROM {table}")).scalar_one() for table in tables}

    body = admin.get("/v1/campaigns/demo/exports/jsonl").content
    admin.post("/v1/campaigns", json={"key": "copy", "protocol": "mqm"})
    path, before = "/v1/campaigns/copy/imports?format=jsonl", stored()
    assert admin.post(path, content=body + b"no line\n", headers=KEY).status_code == 422
    assert admin.post(f"{path}&dry_run=true", content=body, headers=KEY).json()["dry_run"] is True
    assert stored() == before
    assert admin.post(path, content=body, headers=KEY).status_code == 200, "its key is free"
    after = stored()
    assert (after["judgments"] > before["judgments"], after["imports"]) == (True, before["imports"])


@pytest.mark.parametrize("broken", [False, True])
def test_looking_before_the_claim_instead_of_waiting_for_it_would_be_caught(
    admin: httpx.Client, monkeypatch: pytest.MonkeyPatch, *, broken: bool
) -> None:
    """The negative control of the thirty: a replay that looks first and claims afterwards loses answers."""
    if broken:

        def claims_nothing(*_: object) -> bool:
            return True

        monkeypatch.setattr(replay.idempotency, "claim_idempotency_key", claims_nothing)
        monkeypatch.setattr(replay.idempotency, "store_idempotent_response", lambda *_, **__: None)
    together = threading.Barrier(8)

    def post(_: int) -> int:
        together.wait(timeout=60)
        return admin.post("/v1/campaigns", json=NEW, headers=KEY).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = Counter(pool.map(post, range(8)))
    assert (statuses == {201: 8}) is not broken
    assert idempotency.KEPT == "7 days"
