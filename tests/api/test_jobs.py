"""Jobs over HTTP: 202 and where to look, the same job for the same question, progress, cancelling, the report."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from app.services.jobs.jobs import NO_WORKER
from app.storage.db import Database
from tests.stats.stability.worlds import as_mqm, made_up
from tests.working import drained

PATH = "/v1/campaigns/thrice/stability"
SMALL = {"documents": [5, 8], "studies": 20, "studies_per_document_set": 10, "permutations": 100}
NOW = {"Prefer": "wait=0"}


@pytest.fixture
def client(admin: httpx.Client) -> httpx.Client:
    assert admin.post("/v1/campaigns", json={"key": "thrice", "protocol": "mqm"}).status_code == 201
    content = as_mqm(made_up(1, documents=8))
    read = admin.post("/v1/campaigns/thrice/imports", params={"format": "mqm-tsv"}, content=content)
    assert read.status_code == 200, read.text
    return admin


def asked(client: httpx.Client, **changes: object) -> httpx.Response:
    answer = client.post(PATH, json={**SMALL, **changes}, headers=NOW)
    assert answer.status_code == 202, answer.text
    return answer


def test_who_does_not_wait_is_told_of_a_job_and_finds_its_report_there(
    client: httpx.Client, database: Database
) -> None:
    first = asked(client)
    job, place = first.json(), first.headers["Location"]
    assert (job["state"], job["total"], job["waiting"], first.headers["Retry-After"]) == (
        "queued",
        None,
        NO_WORKER,
        "2",
    )
    assert client.get(f"{place}/report").status_code == 202

    drained(database)

    done = client.get(place)
    told = done.json()
    assert (told["state"], told["done"], told["workers"]) == ("done", told["total"], {"here": told["total"]})
    assert "Retry-After" not in done.headers
    found = client.get(done.headers["Location"])
    again = client.post(PATH, json=SMALL)
    assert (found.status_code, again.status_code) == (200, 200)
    assert found.content == again.content
    assert found.headers["ETag"] == again.headers["ETag"]
    assert client.get(f"{place}/report", headers={"If-None-Match": found.headers["ETag"]}).status_code == 304
    tags = set()
    for picture, status in (("documents", 200), ("power", 200), ("of-nothing", 422)):
        drawn = client.get(f"{place}/report", params={"picture": picture}, headers={"Accept": "image/svg+xml"})
        assert drawn.status_code == status, picture
        tags.add(drawn.headers.get("ETag"))
    assert len(tags) == 3
    picture = client.get(f"{place}/report", params={"picture": "power"}, headers={"Accept": "image/svg+xml"})
    assert b"<svg" in picture.content


def test_the_same_question_is_the_same_job_also_when_it_is_asked_at_once(client: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as threads:
        jobs = {answer.json()["job"] for answer in threads.map(lambda _: asked(client), range(16))}
    assert len(jobs) == 1
    assert asked(client, seed=1).json()["job"] not in jobs
    listed = client.get("/v1/campaigns/thrice/jobs").json()["items"]
    assert [one["job"] for one in listed][1:] == [*jobs]


def test_jobs_are_listed_page_by_page_the_newest_first(client: httpx.Client) -> None:
    made = [asked(client, seed=seed).json()["job"] for seed in range(3)]
    first = client.get("/v1/campaigns/thrice/jobs", params={"limit": 2}).json()
    assert [one["job"] for one in first["items"]] == made[:0:-1]
    second = client.get("/v1/campaigns/thrice/jobs", params={"limit": 2, "cursor": first["next"]}).json()
    assert ([one["job"] for one in second["items"]], second["next"]) == (made[:1], None)


def test_progress_only_grows(client: httpx.Client, database: Database, ask_rows: Callable[..., list[object]]) -> None:
    place = asked(client).headers["Location"]
    seen = [(client.get(place).json()["done"], 0)]
    while drained(database, most=1):
        job = client.get(place).json()
        counted = ask_rows("SELECT count(*) FROM chunk_results")
        assert job["state"] == "done" or counted == [(job["done"],)]
        seen.append((job["done"], job["total"]))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] > 2


def test_a_cancelled_job_is_not_computed_and_can_be_asked_for_again(client: httpx.Client, database: Database) -> None:
    place = asked(client).headers["Location"]
    drained(database, most=2)
    done = client.get(place).json()["done"]
    assert done >= 1
    assert client.delete(place).json()["state"] == "cancelled"
    assert drained(database) == 0
    assert client.get(f"{place}/report").status_code == 409
    assert client.delete(place).status_code == 200

    again = asked(client)
    assert (again.headers["Location"], again.json()["state"], again.json()["done"]) == (place, "queued", done)
    drained(database)
    assert client.get(place).json()["state"] == "done"


def test_a_question_that_does_not_fit_is_refused_when_a_worker_has_found_out(
    client: httpx.Client, database: Database
) -> None:
    place = asked(client, documents=[9]).headers["Location"]
    drained(database)
    job = client.get(place).json()
    assert (job["state"], job["error"]["errors"][0]["loc"]) == ("failed", ["body", "documents"])
    refused = client.post(PATH, json={**SMALL, "documents": [9]})
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["body", "documents"])
    assert client.get(f"{place}/report").status_code == 422


def test_nobody_sees_a_job_of_another_campaign(client: httpx.Client, secret: Callable[..., str]) -> None:
    place = asked(client).headers["Location"]
    assert client.post("/v1/campaigns", json={"key": "other", "protocol": "mqm"}).status_code == 201
    for role, status in (("viewer", 404), ("manager", 404), ("rater", 403)):
        given = {"rater": "r1"} if role == "rater" else {}
        if given:
            assert client.put("/v1/campaigns/other/raters/r1", json={}).status_code == 200
        caller = {"Authorization": f"Bearer {secret(role, campaign='other', **given)}"}
        for method, path in (("GET", place), ("GET", f"{place}/report"), ("DELETE", place)):
            answer = client.request(method, path, headers=caller)
            assert answer.status_code == (403 if (role, method) == ("viewer", "DELETE") else status)
        listed = client.get("/v1/campaigns/thrice/jobs", headers=caller)
        assert listed.status_code == 404 or role == "rater"
    viewer = {"Authorization": f"Bearer {secret('viewer', campaign='thrice')}"}
    assert client.get(place, headers=viewer).status_code == 200
    assert client.delete(place, headers=viewer).status_code == 403


def test_who_is_bound_to_a_campaign_is_not_told_which_others_it_is_compared_with(
    client: httpx.Client, secret: Callable[..., str]
) -> None:
    alone = asked(client).json()["job"]
    assert client.post("/v1/campaigns", json={"key": "secret", "protocol": "mqm"}).status_code == 201
    params = {"campaigns": "thrice,secret"}
    compared = client.get("/v1/comparisons/robustness", params=params, headers=NOW)
    assert compared.status_code == 202, compared.text
    bound = {"Authorization": f"Bearer {secret('manager', campaign='thrice')}"}

    listed = [
        [one["job"] for one in client.get("/v1/campaigns/thrice/jobs", headers=headers).json()["items"]]
        for headers in ({}, bound)
    ]

    assert listed == [[compared.json()["job"], alone], [alone]]


def test_erasing_a_rater_takes_jobs_with_it(client: httpx.Client, database: Database) -> None:
    place = asked(client).headers["Location"]
    drained(database, most=2)
    rater = client.get("/v1/campaigns/thrice/raters").json()["items"][0]["key"]
    assert client.delete(f"/v1/raters/{rater}", params={"campaign": "thrice"}).status_code == 200
    assert client.get(place).status_code == 404
    drained(database)
    assert client.get(place).status_code == 404


def test_more_than_a_job_may_take_is_refused(client: httpx.Client, database: Database) -> None:
    # One study of a document set: 20 chunks of 250 for each of 8 numbers of documents, for each of 64 designs.
    designs = [{"grouping": "none", "balance": {"entropy": 0.5 + n / 200}} for n in range(64)]
    many = {"designs": designs, "documents": list(range(1, 9)), "studies": 10_000, "studies_per_document_set": 250}
    place = asked(client, **many).headers["Location"]
    drained(database)
    job = client.get(place).json()
    assert job["state"] == "failed"
    assert "20,000" in job["error"]["detail"]
