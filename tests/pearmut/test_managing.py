"""Pearmut's dashboard on this store."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.services.access import tokens
from app.services.pearmut.loading import AddedCampaign
from app.storage.db import Database
from tests.pearmut.campaigns import FORM, Annotator, campaign

Add = Callable[..., AddedCampaign]


def token_of(added: AddedCampaign) -> dict[str, Any]:
    return {"campaign_id": added.name, "token": added.token}


def finish(pages: httpx.Client, added: AddedCampaign, n: int = 0) -> None:
    annotator = Annotator(pages, added.name, added.links[n].credential)
    for _ in range(20):
        shown = annotator.next()
        if shown["status"] == "goodbye":
            return
        if shown["status"] == "form":
            annotator.send(shown, ["German", 3, None])
            continue
        annotation = [
            {
                model: {"score": 80 + 5 * i if text.startswith("Gut") else 20 + 5 * i, "error_spans": []}
                for model, text in item["tgt"].items()
            }
            for i, item in enumerate(shown["payload"])
        ]
        assert annotator.send(shown, annotation).json() == "ok"
    raise AssertionError("there is no end")


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/dashboard-data", {}),
        ("/dashboard-results", {}),
        ("/reset-campaign", {"user_id": "ann"}),
        ("/note-user", {"user_id": "ann", "note": "x"}),
        ("/add-new-user", {}),
    ],
)
def test_all_of_the_dashboard_needs_the_token(
    pages: httpx.Client, added: AddedCampaign, path: str, more: dict[str, Any]
) -> None:
    for wrong in ("0123456789", added.links[0].credential, "plb_000000000000_" + "A" * 43):
        answer = pages.post(path, json={"campaign_id": added.name, "token": wrong, **more})
        assert (answer.status_code, answer.json()) == (400, "Invalid token")
    assert pages.post(path, json={"campaign_id": added.name, **more}).status_code == 400
    assert pages.post(path, json={**token_of(added), **more}).status_code == 200


@pytest.mark.parametrize("file", ["annotations", "campaigns", "progress"])
def test_downloads_need_the_token(pages: httpx.Client, added: AddedCampaign, file: str) -> None:
    assert pages.get(f"/download-{file}", params={"campaign_id": added.name}).status_code == 400
    assert pages.get(f"/download-{file}", params={"campaign_id": added.name, "token": "x"}).status_code == 400
    assert pages.get(f"/download-{file}", params=token_of(added)).status_code == 200


def test_progress_results_and_downloads_say_what_was_done(pages: httpx.Client, add: Add) -> None:
    added = add(campaign(data_goodbye=[FORM]))
    finish(pages, added)

    data = pages.post("/dashboard-data", json=token_of(added)).json()
    results = pages.post("/dashboard-results", json=token_of(added)).json()
    log = pages.get("/download-annotations", params=token_of(added)).json()[added.name]
    progress = pages.get("/download-progress", params=token_of(added)).json()[added.name]
    (loaded,) = pages.get("/download-campaigns", params=token_of(added)).json()

    ann, bob = data["data"]["ann"], data["data"]["bob"]
    assert ann["progress"] == ["completed"] * 3
    assert bob["progress"] == ["completed_foreign"] * 3
    assert (ann["progress_goodbye"], ann["time"], ann["threshold_passed"]) == (["completed"], 120, True)
    assert results == [
        {"model": "Best", "score": 82.5, "count": 6, "sig_better_than_next": True},
        {"model": "Worst", "score": 22.5, "count": 6, "sig_better_than_next": False},
    ]
    assert [line["item_i"] for line in log[-1:]] == ["goodbye_0"]
    assert log[0]["annotation"][0].keys() == {"Best", "Worst"}
    assert log[0]["item"][0]["tgt"]["Best"].startswith("Gut")
    assert progress["ann"]["token_correct"] == ann["token_correct"]
    assert loaded["info"]["users"] == ["ann", "bob"]
    assert added.token not in json.dumps([data, log, progress, loaded])


def test_a_reset_sets_aside_what_a_user_did_and_lets_them_begin_anew(
    pages: httpx.Client, added: AddedCampaign, database: Database
) -> None:
    finish(pages, added)
    assert pages.post("/reset-campaign", json={**token_of(added), "user_id": "ann"}).json() == "ok"

    data = pages.post("/dashboard-data", json=token_of(added)).json()["data"]["ann"]
    results = pages.post("/dashboard-results", json=token_of(added)).json()
    log = pages.get("/download-annotations", params=token_of(added)).json()[added.name]
    with database.transaction() as session:
        voids = session.connection().exec_driver_sql("SELECT count(*), min(reason) FROM voids").one()
    assert (data["progress"], data["time"], results) == ([None] * 3, 0, [])
    assert log[-1] == {"user_id": "ann", "annotation": "__RESET__"}
    assert tuple(voids) == (12, "reset on Pearmut's dashboard")

    finish(pages, added)
    assert pages.post("/dashboard-results", json=token_of(added)).json()[0]["count"] == 6


def test_notes_are_kept_and_new_users_get_documents(pages: httpx.Client, add: Add) -> None:
    added = add(campaign(info={"users": 1}))
    assert added.links[0].user == "user-1"
    pages.post("/note-user", json={**token_of(added), "user_id": "user-1", "note": "careful"})
    made = pages.post("/add-new-user", json={**token_of(added), "users": 2}).json()["users"]
    data = pages.post("/dashboard-data", json=token_of(added)).json()["data"]
    assert data["user-1"]["note"] == "careful"
    assert list(data) == ["user-1", "user-2", "user-3"]
    assert Annotator(pages, added.name, made["user-3"]).next()["status"] == "ok"


def test_campaigns_are_added_by_who_may_make_them_and_never_purged(pages: httpx.Client, database: Database) -> None:
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="manager").secret
    wrong = pages.post("/add-campaign", json={"campaign_data": campaign(), "token_main": "x"})
    bad = pages.post("/add-campaign", json={"campaign_data": {"campaign_id": "a"}, "token_main": secret})
    made = pages.post("/add-campaign", json={"campaign_data": campaign(), "token_main": secret})

    assert wrong.status_code == bad.status_code == 400
    assert "data: is required" in bad.json()["error"]
    (there,) = made.json()["campaigns"]
    assert there["campaign_id"] == "wmt pilot"
    assert pages.post("/dashboard-data", json=there).status_code == 200
    assert pages.post("/purge-campaign", json=there).status_code == 409


def test_a_manager_of_another_campaign_sees_nothing(pages: httpx.Client, add: Add) -> None:
    one, other = add(campaign()), add(campaign(campaign_id="other"))
    answer = pages.post("/dashboard-data", json={"campaign_id": one.name, "token": other.token})
    assert (answer.status_code, answer.json()) == (400, "Invalid token")


def test_without_pearmuts_files_the_pages_say_what_is_missing(pages: httpx.Client) -> None:
    answer = pages.get("/annotate")
    assert answer.status_code == 404
    assert "PLUMBLINE_PEARMUT_FILES" in answer.json()


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"campaign_id": 1}', b"\xff", b'{"campaign_id": "a", "user_id": "\\u0000"}']
)
@pytest.mark.parametrize("path", ["/get-next-item", "/get-i-item", "/log-response", "/dashboard-data", "/add-campaign"])
def test_bad_bodies_are_refused_by_a_text(empty_pages: httpx.Client, path: str, body: bytes) -> None:
    answer = empty_pages.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert isinstance(answer.json(), str)
