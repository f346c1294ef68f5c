"""An open campaign in which raters judge, whose plan tests renew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from app.services.access import tokens
from app.storage.db import Database

LIVE = "/v1/campaigns/live"
SYSTEMS = ("sysA", "sysB")
RATERS = ("r1", "r2", "r3")
SCORES = {"A": 90, "B": 70, "C": 50}
Auth = Callable[[str], dict[str, str]]


def ok(answer: httpx.Response) -> Any:
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


def put_document(client: httpx.Client, d: int, systems: tuple[str, ...]) -> None:
    segments = [{"source": f"Source {d} {n} is here."} for n in (1, 2)]
    ok(client.put(f"{LIVE}/documents/d{d}", json={"position": d, "segments": segments}))
    for system in systems:
        put_outputs(client, d, system)


def put_outputs(client: httpx.Client, d: int, system: str) -> None:
    texts = [f"{system} says {d} {n}." for n in (1, 2)]
    ok(client.put(f"{LIVE}/systems/{system}/outputs/d{d}", json={"segments": texts}))


def open_live(
    admin: httpx.Client, *, raters: tuple[str, ...] = RATERS, before: Callable[[], None] = lambda: None, **design: Any
) -> None:
    ok(admin.post("/v1/campaigns", json={"key": "live", "protocol": "da", "target_language": "de"}))
    for system in SYSTEMS:
        ok(admin.put(f"{LIVE}/systems/{system}", json={}))
    for d in range(1, 7):
        put_document(admin, d, SYSTEMS)
    for rater in raters:
        ok(admin.put(f"{LIVE}/raters/{rater}", json={}))
    before()
    ok(admin.post(f"{LIVE}/plan", json={"seed": 3, "overlap": None, "task": {"max_segments": 2}, **design}))
    ok(admin.post(f"{LIVE}/open"))


def lease(client: httpx.Client, headers: dict[str, str]) -> Any:
    return ok(client.post(f"{LIVE}/lease", headers=headers))["task"]


def judge_task(client: httpx.Client, headers: dict[str, str], *, submit: bool = True) -> bool:
    task = lease(client, headers)
    if task is None:
        return False
    for item in task["items"]:
        for segment in item["segments"]:
            payload = {"protocol": "da", "score": SCORES[segment["text"][3]]}
            path = f"/v1/tasks/{task['task']}/judgments/{item['item']}/{segment['segment']}"
            ok(client.put(path, json=payload, headers=headers))
    if submit:
        ok(client.post(f"/v1/tasks/{task['task']}/submit", headers=headers))
    return True


def replan(client: httpx.Client, **body: Any) -> Any:
    return ok(client.post(f"{LIVE}/plan/replan", json={"reason": "test", **body}))


def finish(client: httpx.Client, auth: Auth, *raters: str) -> None:
    for rater in raters:
        while judge_task(client, auth(rater)):
            pass


def ranked(client: httpx.Client) -> dict[str, int]:
    found = ok(client.get(f"{LIVE}/ranking", params={"normalize": "none"}))
    return {one["system"]: one["n_ratings"] for one in found["systems"]}


def tokens_of(database: Database) -> Auth:
    """The headers of each rater, by one token."""
    known: dict[str, dict[str, str]] = {}

    def headers(rater: str) -> dict[str, str]:
        if rater not in known:
            with database.transaction() as session:
                secret = tokens.issue_token(session, role="rater", campaign="live", rater=rater).secret
            known[rater] = {"Authorization": f"Bearer {secret}"}
        return known[rater]

    return headers
