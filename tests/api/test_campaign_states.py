"""Campaigns are opened, paused and closed, cloned, and fed with judgments of outputs that did not change."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

DEMO = "/v1/campaigns/demo"


def _post(client: httpx.Client, path: str, body: Any = None, status: int = 200) -> Any:
    answer = client.post(path, json=body) if body is not None else client.post(path)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_draft_without_a_plan_does_not_open(admin: httpx.Client, populated: dict[str, str]) -> None:
    refused = _post(admin, f"{DEMO}/open", status=409)

    assert "compile a plan first" in refused["detail"]
    assert admin.get(DEMO).json()["state"] == "draft"


@pytest.mark.parametrize(
    ("before", "step", "after"),
    [
        ("planned", "open", "open"),
        ("paused", "open", "open"),
        ("closed", "open", "open"),
        ("open", "open", "open"),
        ("open", "pause", "paused"),
        ("open", "close", "closed"),
        ("paused", "close", "closed"),
        ("planned", "pause", None),
        ("planned", "close", None),
        ("closed", "pause", None),
    ],
)
def test_steps_lead_where_they_should_and_nowhere_else(
    admin: httpx.Client, populated: dict[str, str], ask: Any, before: str, step: str, after: str | None
) -> None:
    ask(f"UPDATE campaigns SET state = '{before}' WHERE key = 'demo'")

    answer = admin.post(f"{DEMO}/{step}")

    assert answer.status_code == (409 if after is None else 200), answer.text
    assert admin.get(DEMO).json()["state"] == (after or before)


def test_a_step_makes_the_settings_that_somebody_saw_old(
    admin: httpx.Client, populated: dict[str, str], ask: Any
) -> None:
    ask("UPDATE campaigns SET state = 'open' WHERE key = 'demo'")
    seen = admin.get(DEMO).headers["ETag"]

    closed = admin.post(f"{DEMO}/close")

    assert closed.headers["ETag"] != seen
    assert admin.patch(DEMO, json={"name": "x"}, headers={"If-Match": seen}).status_code == 412


def test_a_clone_has_the_test_set_and_the_rules_but_no_judgments(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    for kind in ("guidelines", "consent"):
        changed = admin.put(f"{DEMO}/{kind}", json={"en": f"Other {kind}."})
        assert (changed.status_code, changed.json()["version"]) == (200, 2), changed.text
    made = _post(admin, f"{DEMO}/clone", {"key": "next", "name": "Next year"}, 201)

    assert (made["state"], made["name"], made["protocol"], made["series"]) == ("draft", "Next year", "mqm", "wmt")
    assert admin.get("/v1/campaigns/next/documents/news.1").json() == admin.get(f"{DEMO}/documents/news.1").json()
    for system in "ABC":
        path = f"systems/{system}/outputs/news.1"
        assert admin.get(f"/v1/campaigns/next/{path}").json() == admin.get(f"{DEMO}/{path}").json()
    assert admin.get("/v1/campaigns/next/recipes/strict").json()["recipe"]["alpha"] == 0.01
    for kind in ("guidelines", "consent"):
        assert admin.get(f"/v1/campaigns/next/{kind}").json()["texts"] == {"en": f"Other {kind}."}
    assert [one["n_ratings"] for one in _ranked(admin, "next", {})] in ([], [0, 0, 0])
    _post(admin, f"{DEMO}/clone", {"key": "next"}, 409)


def test_a_clone_can_leave_the_systems_behind(admin: httpx.Client, populated: dict[str, str]) -> None:
    _post(admin, f"{DEMO}/clone", {"key": "next", "systems": False}, 201)

    assert admin.get("/v1/campaigns/next/systems").json()["items"] == []
    assert len(admin.get("/v1/campaigns/next/documents").json()["items"]) == 1


def test_a_clone_takes_what_metrics_gave_its_systems_as_it_last_was(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    """Sets that others took the place of stay behind; without its systems nothing can be scored."""
    outputs = [{"system": s, "document": "news.1", "segment": n, "score": n / 7} for s in "AB" for n in (1, 3)]
    for name, body in (
        ("comet", {"systems": {"A": 0.5}, "outputs": outputs[:1]}),
        ("comet", {"systems": {"A": 0.7, "C": 0.2}, "outputs": outputs}),
        ("ter", {"higher_is_better": False, "systems": {"B": 31.25}}),
    ):
        assert admin.put(f"{DEMO}/metrics/{name}", json=body).status_code == 200

    _post(admin, f"{DEMO}/clone", {"key": "next"}, 201)
    _post(admin, f"{DEMO}/clone", {"key": "bare", "systems": False}, 201)

    scores = _metric_lines(admin, "demo")
    assert len(scores) == 7
    assert _metric_lines(admin, "next") == scores
    assert _metric_lines(admin, "bare") == []
    version = admin.get("/v1/campaigns/next").json()["data_version"]
    listed = admin.get("/v1/campaigns/next/metrics").json()["items"]
    assert [(one["metric"], one["data_version"]) for one in listed] == [("comet", version), ("ter", version)]


def _metric_lines(client: httpx.Client, campaign: str) -> list[str]:
    """What automatic metrics gave, as the whole campaign is exported."""
    answer = client.get(f"/v1/campaigns/{campaign}/exports/jsonl")
    assert answer.status_code == 200, answer.text
    return [line for line in answer.text.splitlines() if '"type":"metric"' in line]


def test_judgments_of_unchanged_outputs_are_carried_over_once(admin: httpx.Client, populated: dict[str, str]) -> None:
    _post(admin, f"{DEMO}/clone", {"key": "next"}, 201)
    texts = [one["text"] for one in admin.get(f"{DEMO}/systems/B/outputs/news.1").json()["segments"]]
    changed = admin.put("/v1/campaigns/next/systems/B/outputs/news.1", json={"segments": [texts[0], *["new"] * 3]})
    assert changed.status_code == 200, changed.text

    first = _post(admin, "/v1/campaigns/next/carry-over", {"from": "demo"})
    again = _post(admin, "/v1/campaigns/next/carry-over", {"from": "demo"})

    assert (first["judgments"], first["left"]) == (9, {"output changed or not there": 3})
    assert (again["judgments"], again["data_version"]) == (0, first["data_version"])
    options = {"recipe": "google-mqm", "standing": "false"}
    before = {one["system"]: one["score"] for one in _ranked(admin, "demo", options)}
    after = {one["system"]: (one["score"], one["n_segments"]) for one in _ranked(admin, "next", options)}
    assert after["A"] == (before["A"], 4)
    assert after["B"][1] == 1


def test_what_is_set_aside_stays_behind(admin: httpx.Client, populated: dict[str, str]) -> None:
    """Here it would count again: an export names what is set aside, by a void or as surplus, after the judgments."""
    voided = _post(admin, f"{DEMO}/judgments/void", {"filter": {"rater": "rater1"}, "reason": "asleep"})["judgments"]
    _post(admin, f"{DEMO}/clone", {"key": "next"}, 201)

    done = _post(admin, "/v1/campaigns/next/carry-over", {"from": "demo"})

    assert voided == 6
    assert (done["judgments"], done["left"]) == (12 - voided, {"set aside": voided})


def test_a_plan_says_that_documents_were_judged_already(admin: httpx.Client, populated: dict[str, str]) -> None:
    """Nothing else would tell that raters are asked, and paid, for what was carried over."""
    _post(admin, f"{DEMO}/clone", {"key": "next"}, 201)
    assert admin.put("/v1/campaigns/next/raters/r1", json={}).status_code == 200
    before = _post(admin, "/v1/campaigns/next/plan?dry_run=true", {"seed": 1})["report"]["notes"]
    _post(admin, "/v1/campaigns/next/carry-over", {"from": "demo"})

    notes = _post(admin, "/v1/campaigns/next/plan?dry_run=true", {"seed": 1})["report"]["notes"]

    (added,) = set(notes) - set(before)
    assert added.startswith("documents that already have judgments, imported or copied: 1; ")


def _ranked(client: httpx.Client, campaign: str, options: dict[str, str]) -> list[dict[str, Any]]:
    answer = client.get(f"/v1/campaigns/{campaign}/ranking", params=options)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["systems"]
    return found


def test_campaigns_that_judge_otherwise_carry_nothing_over(admin: httpx.Client, populated: dict[str, str]) -> None:
    made = admin.post("/v1/campaigns", json={"key": "da", "protocol": "da", "target_language": "de"})
    assert made.status_code == 201

    assert "protocol" in _post(admin, "/v1/campaigns/da/carry-over", {"from": "demo"}, 409)["detail"]
    assert _post(admin, f"{DEMO}/carry-over", {"from": "demo"}, 422)["errors"][0]["loc"] == ["body", "from"]
    _post(admin, f"{DEMO}/carry-over", {"from": "nowhere"}, 404)
