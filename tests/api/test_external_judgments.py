"""Judgments made elsewhere: by name, all or none, once however often they are sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.spine import row_counts

JUDGMENTS = "/v1/campaigns/demo/judgments"
RANKING = "/v1/campaigns/demo/ranking"
MINOR = {"side": "target", "start": 0, "end": 4, "severity": "minor", "category": "Fluency"}


def one(rater: str = "rater1", segment: int | None = 1, errors: int = 0, **other: Any) -> dict[str, Any]:
    """A judgment of system A."""
    said = {"rater": rater, "document": "news.1", "segment": segment, "system": "A"}
    return {**said, "payload": {"protocol": "mqm", "errors": [MINOR] * errors}, **other}


def sent(admin: httpx.Client, *judgments: dict[str, Any], **params: Any) -> httpx.Response:
    return admin.post(JUDGMENTS, json=list(judgments), params=params)


def score_of(admin: httpx.Client, system: str) -> float:
    ranked = admin.get(RANKING, params={"recipe": "google-mqm", "permutations": "100"}).json()
    return float(next(line["score"] for line in ranked["systems"] if line["system"] == system))


def test_judgments_by_name_are_ranked_under_one_new_version(admin: httpx.Client, populated: dict[str, str]) -> None:
    version, before = admin.get("/v1/campaigns/demo").json()["data_version"], score_of(admin, "A")

    told = sent(admin, *(one(segment=n, errors=2) for n in (1, 2, 3)))

    assert told.status_code == 200, told.text
    none = {"systems": 0, "documents": 0, "raters": 0, "segments": 0}
    assert told.json() == {
        "judgments": 3,
        "revisions": 0,
        "unchanged": 0,
        "planned": 0,
        "handed_in": 0,
        "created": none,
        "data_version": version + 1,
    }
    assert score_of(admin, "A") != before
    assert admin.get("/v1/campaigns/demo").json()["data_version"] == version + 1


def test_the_same_answer_again_changes_nothing_and_another_is_a_revision(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    first = sent(admin, one(errors=2)).json()
    again = sent(admin, one(errors=2)).json()
    other = sent(admin, one(errors=0)).json()

    assert (again["judgments"], again["unchanged"]) == (0, 1)
    assert again["data_version"] == first["data_version"]
    assert (other["judgments"], other["revisions"], other["data_version"]) == (1, 1, first["data_version"] + 1)


def test_what_bears_a_known_external_id_counts_once_and_may_not_say_something_else(
    admin: httpx.Client, populated: dict[str, str], database_url: str
) -> None:
    first = sent(admin, one(external_id="x1", errors=1), one(segment=2, external_id="x2")).json()
    stored = row_counts(database_url)

    again = sent(admin, one(segment=2, external_id="x2"), one(external_id="x1", errors=1))
    assert (again.json()["unchanged"], again.json()["data_version"]) == (2, first["data_version"])
    for changed in (one(external_id="x1", errors=0), one(segment=3, external_id="x1", errors=1)):
        told = sent(admin, one(segment=3), changed)
        assert (told.status_code, told.json()["errors"][0]["loc"]) == (409, ["body", 1, "external_id"])
    assert row_counts(database_url) == stored


def test_a_request_sent_by_many_at_once_is_stored_once(
    admin: httpx.Client, populated: dict[str, str], database_url: str
) -> None:
    before = row_counts(database_url)["judgments"]
    with ThreadPoolExecutor(4) as threads:
        told = list(threads.map(lambda _: sent(admin, one(external_id="x")).json(), range(4)))
    assert sorted(one["judgments"] for one in told) == [0, 0, 0, 1]
    assert row_counts(database_url)["judgments"] == before + 1


def test_an_idempotency_key_answers_as_the_first_time(admin: httpx.Client, populated: dict[str, str]) -> None:
    key = {"Idempotency-Key": "j"}
    first, again = (admin.post(JUDGMENTS, json=[one()], headers=key) for _ in range(2))
    assert first.content == again.content
    assert again.headers["Idempotent-Replayed"] == "true"
    assert admin.post(JUDGMENTS, json=[one(errors=1)], headers=key).status_code == 422


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"rater": "nobody"}, ["rater"]),
        ({"document": "news.9"}, ["document"]),
        ({"system": "Z"}, ["system"]),
        ({"segment": 77}, ["segment"]),
        ({"segment": 0}, ["segment"]),
        ({"payload": {"protocol": "da", "score": 5}}, ["payload", "protocol"]),
        ({"payload": {"protocol": "mqm", "errors": [{"severity": 7}]}}, ["payload", "errors", 0, "severity"]),
        ({"payload": {"protocol": "mqm", "errors": [{**MINOR, "end": 999}]}}, ["payload", "errors", 0, "end"]),
        ({"external_id": "twice"}, ["external_id"]),
        ({"submitted_at": "yesterday"}, ["submitted_at"]),
        ({"typo": 1}, ["typo"]),
    ],
)
def test_one_that_is_wrong_is_named_and_none_is_stored(
    admin: httpx.Client, populated: dict[str, str], database_url: str, wrong: dict[str, Any], place: list[str | int]
) -> None:
    before = row_counts(database_url)

    told = sent(admin, one(external_id="twice"), {**one(segment=2), **wrong})

    assert told.status_code == 422, told.text
    assert told.json()["errors"][0]["loc"][: 2 + len(place)] == ["body", 1, *place], told.text
    assert row_counts(database_url) == before


def test_two_answers_at_one_address_need_times_of_their_own_and_the_refusal_says_so(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    first, second = "2025-11-20T12:00:00Z", "2025-11-20T12:00:01Z"
    told = sent(admin, one(submitted_at=first), one(errors=1, submitted_at=first))
    assert told.status_code == 422, told.text
    assert "twice; give each answer a time of its own" in told.text
    apart = sent(admin, one(submitted_at=first), one(errors=1, submitted_at=second))
    assert (apart.status_code, apart.json()["judgments"]) == (200, 2), apart.text


def test_of_a_body_that_is_wrong_throughout_only_the_first_hundred_faults_are_told(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    unknown = {"protocol": "mqm", "errors": [], **{f"x{n}": 0 for n in range(10)}}
    told = sent(admin, *({**one(system=f"S{n}"), "payload": unknown} for n in range(300)))

    assert (told.status_code, told.json()["detail"]) == (422, "the first 100 faults")
    assert [fault["loc"] for fault in told.json()["errors"]] == [
        ["body", n // 10, "payload", f"x{n % 10}"] for n in range(100)
    ]


def test_names_that_nobody_declared_are_created_where_that_is_asked(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    new = one(rater="new", system="D", document="news.2", segment=3)

    assert sent(admin, new).status_code == 422
    told = sent(admin, new, declare=True)

    assert told.status_code == 200, told.text
    assert told.json()["created"] == {"systems": 1, "documents": 1, "raters": 1, "segments": 1}


def test_names_of_any_length_and_with_any_sign_of_a_key_stay_apart(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    long, signs = "x" * 128, [("a:b", "c"), ("a", "b:c"), ("a~", "b"), ("a", "~b")]
    names = [(long, long), (long, long[:-1] + "y"), *signs]
    judgments = [{**one(), "system": system, "document": document} for system, document in names]

    told = sent(admin, *judgments, declare=True)

    assert told.status_code == 200, told.text
    assert told.json()["judgments"] == len(names)


def test_only_managers_and_front_ends_of_the_campaign_send_judgments(
    admin: httpx.Client, populated: dict[str, str], secret: Callable[..., str]
) -> None:
    admin.post("/v1/campaigns", json={"key": "other", "protocol": "mqm"})
    refused = ((403, "viewer", None), (404, "manager", "other"), (404, "frontend", "other"), (403, "coordinator", None))
    for status, role, campaign in refused:
        headers = {"Authorization": f"Bearer {secret(role, campaign=campaign)}"}
        assert admin.post(JUDGMENTS, content=json.dumps([one()]), headers=headers).status_code == status
    manager = {"Authorization": f"Bearer {secret('manager', campaign='demo')}"}
    assert admin.post(JUDGMENTS, json=[one()], headers=manager).status_code == 200
    assert admin.post(JUDGMENTS, json=[], headers=manager).status_code == 422
