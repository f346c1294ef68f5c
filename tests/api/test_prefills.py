"""Errors of one campaign's raters are shown ready made in another, without whose they are."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

NEXT = "/v1/campaigns/next"


@pytest.fixture
def cloned(admin: httpx.Client, populated: dict[str, str]) -> httpx.Client:
    """A second round over the outputs of the first, which are judged."""
    made = admin.post("/v1/campaigns/demo/clone", json={"key": "next"})
    assert made.status_code == 201, made.text
    seen = made.headers.get("ETag") or admin.get(NEXT).headers["ETag"]
    changed = admin.patch("/v1/campaigns/next", json={"name": "Second round"}, headers={"If-Match": seen})
    assert changed.status_code == 200, changed.text
    return admin


def _post(client: httpx.Client, campaign: str, body: dict[str, Any], status: int = 200) -> Any:
    answer = client.post(f"/v1/campaigns/{campaign}/prefills", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.fixture
def second(admin: httpx.Client, populated: dict[str, str]) -> httpx.Client:
    """A campaign of re-annotation with the same texts."""
    made = admin.post("/v1/campaigns", json={"key": "second", "protocol": "mqm_reannotation", "target_language": "de"})
    assert made.status_code == 201, made.text
    document = admin.get("/v1/campaigns/demo/documents/news.1").json()
    segments = [{"source": one["source"]} for one in document["segments"]]
    assert admin.put("/v1/campaigns/second/documents/news.1", json={"segments": segments}).status_code == 200
    for system in "AB":
        assert admin.put(f"/v1/campaigns/second/systems/{system}", json={}).status_code == 200
        outputs = admin.get(f"/v1/campaigns/demo/systems/{system}/outputs/news.1").json()["segments"]
        texts = [one["text"] for one in outputs]
        texts = texts if system == "A" else ["new", *texts[1:]]
        put = admin.put(f"/v1/campaigns/second/systems/{system}/outputs/news.1", json={"segments": texts})
        assert put.status_code == 200, put.text
    return admin


def test_errors_of_unchanged_outputs_are_shown_with_ids_and_without_names(second: httpx.Client) -> None:
    found = _post(second, "second", {"from": "demo"})

    assert (found["outputs"], found["raters"]) == (7, 2)
    shown = second.get("/v1/campaigns/second/systems/A/outputs/news.1").json()["segments"]
    assert [len(one["prefill"]) for one in shown] == [1, 1, 1, 0]
    assert shown[0]["prefill"][0]["prefill"] == "p1"
    assert "rater" not in str(shown)
    assert second.get("/v1/campaigns/second/systems/B/outputs/news.1").json()["segments"][0]["prefill"] is None


def test_only_the_errors_of_a_named_rater_are_taken(second: httpx.Client) -> None:
    found = _post(second, "second", {"from": "demo", "rater": "rater0"})

    assert found["outputs"] == 4
    assert found["left"]["another rater"] == 6


def test_what_shows_no_errors_or_is_the_same_campaign_is_refused(cloned: httpx.Client) -> None:
    made = cloned.post("/v1/campaigns", json={"key": "da", "protocol": "da", "target_language": "de"})
    assert made.status_code == 201
    _post(cloned, "da", {"from": "demo"}, 409)
    assert _post(cloned, "next", {"from": "next"}, 422)["errors"][0]["loc"] == ["body", "from"]


def test_where_the_errors_come_from_goes_out_and_in_again_with_the_same_bytes(second: httpx.Client) -> None:
    _post(second, "second", {"from": "demo"})
    out = second.get("/v1/campaigns/second/exports/jsonl").content
    binary = {"Content-Type": "application/octet-stream"}

    body = {"key": "again", "name": "second", "protocol": "mqm_reannotation", "target_language": "de"}
    assert second.post("/v1/campaigns", json=body).status_code == 201
    said = second.post("/v1/campaigns/again/imports", params={"format": "jsonl"}, content=out, headers=binary)

    assert said.status_code == 200, said.text
    assert out.count(b'"prefill_origin":{') == 7
    assert second.get("/v1/campaigns/again/exports/jsonl").content == out


def test_what_is_set_aside_is_nobodys_word(second: httpx.Client) -> None:
    """The next rater by key is asked, and where all is set aside nobody is."""
    of_first = {"filter": {"rater": "rater0"}, "reason": "did not read"}
    assert second.post("/v1/campaigns/demo/judgments/void", json=of_first).json()["judgments"] > 0
    found = _post(second, "second", {"from": "demo"})
    of_next = _post(second, "second", {"from": "demo", "rater": "rater1"})
    assert found["raters"] == 1
    assert (found["outputs"], found["errors"]) == (of_next["outputs"], of_next["errors"])
    assert _post(second, "second", {"from": "demo", "rater": "rater0"})["outputs"] == 0
    _post(second, "second", {"from": "demo"})
    assert any(one["prefill"] for one in second.get("/v1/campaigns/second/systems/A/outputs/news.1").json()["segments"])
    rest = {"filter": {"system": "A"}, "reason": "shown wrongly"}
    assert second.post("/v1/campaigns/demo/judgments/void", json=rest).json()["judgments"] > 0
    _post(second, "second", {"from": "demo"})
    shown = second.get("/v1/campaigns/second/systems/A/outputs/news.1").json()["segments"]
    assert [one["prefill"] for one in shown] == [None] * len(shown)
