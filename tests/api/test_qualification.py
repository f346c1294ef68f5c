"""The test before the first task: judged by its version, answered once too often by nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app.services.people import raters
from app.storage.db import Database

URL = "/v1/campaigns/c/qualification"
MINE = "/v1/me/qualification"
PLAIN = {"protocol": "esa", "errors": [], "score": 90}
JUDGED = {
    "source": "The dog barked.",
    "text": "Der Hund bellte.",
    "payload": PLAIN,
    "tolerance": {"score": 10},
    "reasons": {"en": "SECRET-REASON"},
}
CHOSEN = {"question": "What?", "choices": ["good", "bad"], "choice": "bad", "reasons": {"en": "it is bad"}}


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "esa"})
    admin.put("/v1/campaigns/c/raters/r1", json={})
    return admin


@pytest.fixture
def rater(manager: httpx.Client, secret: Callable[..., str]) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret('rater', campaign='c', rater='r1')}"}


@pytest.fixture
def blocked(database: Database) -> Callable[[], str | None]:
    def ask() -> str | None:
        with database.transaction() as session:
            campaign_id = raters.campaigns.load_campaign(session, "c").id
            return raters.find_rater_block_reason(
                session, campaign_id, raters.raters.load_rater(session, campaign_id, "r1").id
            )

    return ask


def put(client: httpx.Client, items: list[dict[str, Any]], **given: Any) -> httpx.Response:
    return client.put(URL, json={"items": items, "pass_mark": 1.0, "attempts": 2, **given})


def attempt(
    client: httpx.Client, rater: dict[str, str], *answers: dict[str, Any], version: int = 1, **headers: str
) -> httpx.Response:
    body = {"version": version, "answers": list(answers)}
    return client.post(f"{MINE}/attempts", json=body, headers={**rater, **headers})


def scored(score: float) -> dict[str, Any]:
    return {"payload": {**PLAIN, "score": score}}


def test_nobody_who_has_not_passed_gets_a_task(
    manager: httpx.Client, rater: dict[str, str], blocked: Callable[[], str | None]
) -> None:
    assert (manager.get(MINE, headers=rater).status_code, blocked()) == (404, None)
    assert put(manager, [JUDGED, CHOSEN]).status_code == 200
    assert blocked() == "qualification"
    failed = attempt(manager, rater, scored(90), {"choice": "good"}).json()
    assert (failed["share"], failed["passed"], failed["attempts_left"]) == (0.5, False, 1)
    assert [(one["item"], one["right"]) for one in failed["items"]] == [(1, True), (2, False)]
    assert failed["items"][1]["reasons"] == {"en": "it is bad"}
    assert blocked() == "qualification"
    passed = attempt(manager, rater, scored(81), {"choice": "bad"}).json()
    assert (passed["share"], passed["passed"], passed["attempt"]) == (1.0, True, 2)
    assert blocked() is None


@pytest.mark.parametrize(("score", "right"), [(80, True), (79, False), (100, True), (79.999, False), (0, False)])
def test_a_judgment_is_right_within_its_tolerance(
    manager: httpx.Client, rater: dict[str, str], score: float, *, right: bool
) -> None:
    put(manager, [JUDGED])
    assert attempt(manager, rater, scored(score)).json()["passed"] is right


def test_marked_errors_count_by_the_measure_that_is_named(manager: httpx.Client, rater: dict[str, str]) -> None:
    major = {"side": "target", "start": 0, "end": 3, "severity": "major"}
    item = {**JUDGED, "payload": {**PLAIN, "errors": [major]}, "tolerance": {"spans": 0.5}}
    assert put(manager, [item]).status_code == 200
    assert attempt(manager, rater, scored(90)).json()["passed"] is False
    marked = {"payload": {**PLAIN, "errors": [{**major, "start": 4, "end": 8}], "score": 3}}
    assert attempt(manager, rater, marked).json()["passed"] is True


def test_a_rater_sees_no_answer_and_no_reason_before_trying(manager: httpx.Client, rater: dict[str, str]) -> None:
    put(manager, [JUDGED, CHOSEN])
    seen = manager.get(MINE, headers=rater)
    assert seen.json()["items"][1]["choices"] == ["good", "bad"]
    for hidden in ("SECRET-REASON", "reasons", "payload", "tolerance", '"choice"', '"answer'):
        assert hidden not in seen.text
    assert "SECRET-REASON" in manager.get(URL).text
    assert manager.get(URL, headers=rater).status_code == 403


def test_attempts_are_bounded_also_when_they_come_at_once(manager: httpx.Client, rater: dict[str, str]) -> None:
    put(manager, [CHOSEN], attempts=3)
    with ThreadPoolExecutor(12) as pool:
        tries = [pool.submit(attempt, manager, rater, {"choice": "good"}) for _ in range(12)]
        statuses = Counter(one.result().status_code for one in tries)
    assert statuses == {201: 3, 409: 9}
    assert manager.get(MINE, headers=rater).json()["attempts_left"] == 0


def test_the_same_attempt_under_one_key_counts_once(manager: httpx.Client, rater: dict[str, str]) -> None:
    put(manager, [CHOSEN])
    key = {"Idempotency-Key": "mine"}
    first = attempt(manager, rater, {"choice": "good"}, **key)
    assert attempt(manager, rater, {"choice": "good"}, **key).content == first.content
    assert manager.get(MINE, headers=rater).json()["attempts_left"] == 1


@pytest.mark.parametrize(
    ("answers", "loc"),
    [
        ([], ["body", "answers"]),
        ([{"choice": "bad"}], ["body", "answers"]),
        ([{"choice": "bad"}, {"choice": "bad"}], ["body", "answers", 0, "payload"]),
        ([scored(101), {"choice": "bad"}], ["body", "answers", 0, "payload", "score"]),
        (
            [{"payload": {"protocol": "da", "score": 1}}, {"choice": "bad"}],
            ["body", "answers", 0, "payload", "protocol"],
        ),
        ([scored(90), {"choice": "worse"}], ["body", "answers", 1, "choice"]),
    ],
)
def test_what_cannot_be_judged_is_named_and_does_not_count(
    manager: httpx.Client, rater: dict[str, str], answers: list[dict[str, Any]], loc: list[str | int]
) -> None:
    put(manager, [JUDGED, CHOSEN])
    answer = attempt(manager, rater, *answers)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["loc"] == loc
    assert manager.get(MINE, headers=rater).json()["attempts_left"] == 2


@pytest.mark.parametrize(
    ("item", "loc"),
    [
        ({**CHOSEN, "choice": "worse"}, ["choice"]),
        ({"question": "?"}, []),
        ({**JUDGED, "choice": "good", "choices": ["good"]}, []),
        ({**JUDGED, "tolerance": None}, ["tolerance"]),
        ({**JUDGED, "tolerance": {"length": 1}}, ["tolerance", "length"]),
        ({**JUDGED, "payload": {"protocol": "esa", "score": 200}}, ["payload", "score"]),
    ],
)
def test_a_test_that_cannot_be_judged_is_refused(manager: httpx.Client, item: dict[str, Any], loc: list[str]) -> None:
    answer = put(manager, [CHOSEN, item])
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["loc"] == ["body", "items", 1, *loc]
    assert manager.get(URL).status_code == 404


def test_who_passed_an_earlier_version_has_passed(
    manager: httpx.Client, rater: dict[str, str], blocked: Callable[[], str | None]
) -> None:
    put(manager, [CHOSEN])
    assert put(manager, [CHOSEN]).json()["version"] == 1
    attempt(manager, rater, {"choice": "bad"})
    assert put(manager, [JUDGED]).json()["version"] == 2
    assert blocked() is None
    assert attempt(manager, rater, scored(90), version=2).status_code == 409
    result = manager.get(f"{URL}/results").json()["items"][0]
    assert (result["rater"], result["passed"], result["version"], result["best"]) == ("r1", True, 1, 1.0)


def test_answers_to_a_version_that_is_gone_are_refused_and_a_new_one_has_attempts_of_its_own(
    manager: httpx.Client, rater: dict[str, str]
) -> None:
    put(manager, [CHOSEN], attempts=1)
    attempt(manager, rater, {"choice": "good"})
    assert attempt(manager, rater, {"choice": "bad"}).status_code == 409
    put(manager, [CHOSEN, CHOSEN], attempts=1)
    assert attempt(manager, rater, {"choice": "bad"}).status_code == 409
    assert attempt(manager, rater, {"choice": "bad"}, {"choice": "bad"}, version=2).status_code == 201


def test_a_manager_spares_a_rater_the_test_with_a_reason(
    manager: httpx.Client, rater: dict[str, str], blocked: Callable[[], str | None]
) -> None:
    waive = "/v1/campaigns/c/raters/r1/qualification/waive"
    assert manager.post(waive, json={"reason": "known"}).status_code == 404
    put(manager, [CHOSEN])
    assert manager.post(waive, json={"reason": ""}).status_code == 422
    assert manager.post(waive, json={"reason": "known"}, headers=rater).status_code == 403
    assert blocked() == "qualification"
    assert manager.post(waive, json={"reason": "known"}).status_code == 204
    assert blocked() is None
    assert manager.post(waive, json={"reason": "known"}).status_code == 409
    result = manager.get(f"{URL}/results").json()["items"][0]
    assert (result["waived"], result["attempts"], result["best"], result["passed"]) == ("known", 0, None, True)
    log = manager.get("/v1/audit", params={"campaign": "c"}).json()["items"]
    assert [row["action"] for row in log[:2]] == ["qualification waived", "qualification put"]


def test_one_key_for_two_raters_of_a_front_end_is_not_one_request(
    manager: httpx.Client, secret: Callable[..., str]
) -> None:
    manager.put("/v1/campaigns/c/raters/r2", json={})
    put(manager, [CHOSEN])
    through = {"Authorization": f"Bearer {secret('frontend', campaign='c')}", "Idempotency-Key": "same"}
    first = attempt(manager, {**through, "Plumbline-Rater": "r1"}, {"choice": "bad"})
    other = attempt(manager, {**through, "Plumbline-Rater": "r2"}, {"choice": "bad"})
    assert (first.status_code, other.status_code) == (201, 422)
    passed = [one["passed"] for one in manager.get(f"{URL}/results").json()["items"]]
    assert passed == [True, False]


def test_tags_in_the_test_are_laid_out_where_the_campaign_lays_texts_out(manager, rater):
    put(manager, [{**JUDGED, "text": "Der <b>Hund</b> bellte."}, CHOSEN])
    assert "markup" not in manager.get(MINE, headers=rater).json()["items"][0]
    etag = manager.get("/v1/campaigns/c").headers["ETag"]
    settings = {"settings": {"markup": True}}
    assert manager.patch("/v1/campaigns/c", json=settings, headers={"If-Match": etag}).status_code == 200
    judged, chosen = manager.get(MINE, headers=rater).json()["items"]
    assert judged["markup"]["source"] is None
    assert (judged["markup"]["text"]["shown"], judged["markup"]["text"]["elements"]) == (
        "Der Hund bellte.",
        [["b", 4, 8]],
    )
    assert chosen["markup"] == {"source": None, "text": None}
