"""A list of raters is checked whole: each fault is named by its place, and all are enrolled or nobody."""

from __future__ import annotations

import httpx

from app.services.people.enrolment import MOST


def enrolled(client: httpx.Client, key: str) -> list[str]:
    return [one["key"] for one in client.get(f"/v1/campaigns/{key}/raters?limit=200").json()["items"]]


def test_each_fault_of_a_list_is_named_and_nobody_is_enrolled(admin: httpx.Client) -> None:
    client = admin
    assert client.post("/v1/campaigns", json={"key": "list", "protocol": "esa"}).status_code == 201
    here = "/v1/campaigns/list/raters"
    assert client.put(f"{here}/there", json={}).status_code == 200
    assert client.put(f"{here}/gone", json={"state": "left"}).status_code == 200
    for query in ("", "?dry_run=true"):
        answer = client.post(here + query, json={"keys": ["r1", "has space", "there", "r1", "..", "gone", "é"]})
        assert answer.status_code == 422
        said = {tuple(one["loc"]): one["msg"] for one in answer.json()["errors"]}
        assert sorted(said) == [("body", "keys", n) for n in (1, 2, 3, 4, 5, 6)]
        assert "is not a valid key" in said["body", "keys", 1]
        assert "'there' is enrolled already" in said["body", "keys", 2]
        assert "twice, first as number 1" in said["body", "keys", 3]
        assert "has left" in said["body", "keys", 5]
    assert client.post(here, json={"keys": ["r1"], "team": "none"}).json()["errors"][0]["loc"] == ["body", "team"]
    assert enrolled(client, "list") == ["gone", "there"]
    assert client.post(f"{here}?dry_run=true", json={"keys": ["r1"]}).status_code == 200
    assert enrolled(client, "list") == ["gone", "there"]
    made = client.post(here, json={"keys": ["r2", "r1"], "capacity": 5, "languages": ["de"]})
    assert (made.status_code, made.json()) == (201, {"enrolled": ["r2", "r1"], "dry_run": False, "warnings": []})
    assert enrolled(client, "list") == ["gone", "r1", "r2", "there"]
    assert client.get(f"{here}/r1").json()["capacity"] == 5
    assert client.post(here, json={"keys": []}).status_code == 422
    assert client.post(f"{here}?dry_run=true", json={"keys": [f"n{n}" for n in range(MOST)]}).status_code == 200
    assert client.post(f"{here}?dry_run=true", json={"keys": [f"n{n}" for n in range(MOST + 1)]}).status_code == 422
