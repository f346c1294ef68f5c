"""POST /v1/campaigns/{c}/stability."""

from __future__ import annotations

import doctest
from collections.abc import Iterator

import httpx
import pytest

import app.api.kit.job_responses as waiting
from app.storage import embedded
from app.storage.db import Database
from tests.api.conftest import template_asked_for, template_by_admin
from tests.stats.stability.worlds import as_mqm, made_up
from tests.working import draining

PATH = "/v1/campaigns/thrice/stability"
SMALL = {"documents": [8], "studies": 20, "studies_per_document_set": 10, "permutations": 100}


@pytest.fixture
def worker(database: Database, admin: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Somebody who computes, and a client that waits for it, however long it takes."""
    monkeypatch.setattr(waiting, "LONGEST_WAIT", 300)
    admin.headers["Prefer"] = "wait=300"
    with draining(database):
        yield


@pytest.fixture(scope="module")
def judged_template(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """The name of a database with the campaign of `client`."""
    with template_by_admin(postgres, migrated_template, lambda admin, _: bring_judgments(admin)) as name:
        yield name


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_template: str) -> str:
    """Who asks for the campaign has it in the database from the start."""
    return template_asked_for(
        request, migrated_template, {"populated": "populated_template", "client": "judged_template"}
    )


@pytest.fixture
def client(admin: httpx.Client, worker: None) -> httpx.Client:
    """Who may do all, where a campaign of ten documents is judged and a worker computes."""
    return admin


def bring_judgments(admin: httpx.Client) -> None:
    assert admin.post("/v1/campaigns", json={"key": "thrice", "protocol": "mqm"}).status_code == 201
    content = as_mqm(made_up(1, documents=10))
    read = admin.post("/v1/campaigns/thrice/imports", params={"format": "mqm-tsv"}, content=content)
    assert read.status_code == 200, read.text


def test_the_same_request_is_the_same_answer_and_another_seed_another(client: httpx.Client) -> None:
    first = client.post(PATH, json=SMALL)
    assert first.status_code == 200, first.text
    told = first.json()
    assert [curve["design"]["grouping"] for curve in told["curves"]] == ["psxs", "system_balanced", "none"]
    assert told["curves"][0]["points"][0]["documents"] == 8
    again = client.post(PATH, json={**SMALL, "seed": 0})
    assert again.content == first.content
    tag = first.headers["ETag"]
    assert client.post(PATH, json=SMALL, headers={"If-None-Match": tag}).status_code == 304
    other = client.post(PATH, json={**SMALL, "seed": 1})
    assert other.headers["ETag"] != tag
    assert other.json()["curves"][2]["points"] != told["curves"][2]["points"]


def test_other_shapes_have_tags_of_their_own(client: httpx.Client) -> None:
    tags = {client.post(PATH, json=SMALL).headers["ETag"]}
    for media_type in ("text/csv", "application/x-tex", "text/markdown", "image/svg+xml"):
        found = client.post(PATH, json=SMALL, headers={"Accept": media_type})
        assert found.headers["Content-Type"].startswith(media_type)
        tags.add(found.headers["ETag"])
    power = client.post(PATH, json=SMALL, params={"picture": "power"}, headers={"Accept": "image/svg+xml"})
    tags.add(power.headers["ETag"])
    assert len(tags) == 6


def test_new_data_are_another_report(client: httpx.Client) -> None:
    before = client.post(PATH, json=SMALL)
    excluded = client.post("/v1/campaigns/thrice/exclusions", json={"rater": "r4", "reason": "never there"})
    assert excluded.status_code == 201, excluded.text
    after = client.post(PATH, json=SMALL)
    assert after.json()["data_version"] > before.json()["data_version"]
    old = client.post(PATH, json=SMALL, params={"as_of": before.json()["data_version"]})
    assert old.content == before.content
    said = (
        "the standing exclusion is not applied, because recipe srp-paper does not apply them; use a recipe that does, "
        "or compare with the ranking by this one"
    )
    assert [said in found.json()["warnings"] for found in (before, after, old)] == [False, True, False]
    taken = client.post(PATH, json={**SMALL, "recipe": "recommended"})
    assert taken.status_code == 200, taken.text
    assert (taken.json()["raters"], after.json()["raters"]) == (4, 5)
    assert not any("standing" in text for text in taken.json()["warnings"])


def test_who_only_views_may_ask_and_learns_nothing_of_the_raters(client: httpx.Client) -> None:
    token = client.post("/v1/tokens", json={"role": "viewer"}).json()["token"]
    found = client.post(PATH, json=SMALL, headers={"Authorization": f"Bearer {token}"})
    assert found.status_code == 200
    assert not any(f'"r{n}"' in found.text for n in range(5))


MISFITS: list[tuple[dict[str, object], str]] = [
    ({"designs": []}, "designs"),
    ({"designs": [{"grouping": "documents"}]}, "designs"),
    ({"designs": [{"balance": {"entropy": 0.9}}], **SMALL, "documents": [2]}, "designs"),
    ({"designs": [{"ratings_per_item": 4}], **SMALL}, "designs"),
    ({"documents": [11]}, "documents"),
    ({"studies": 1}, "studies"),
    ({"studies_per_document_set": 1}, "studies_per_document_set"),
    ({"recipe": "nothing"}, "recipe"),
    ({"alpha": 0}, "alpha"),
    ({"study": 5}, "study"),
]


def test_a_request_that_does_not_fit_is_refused_by_field(client: httpx.Client) -> None:
    for body, place in MISFITS:
        refused = client.post(PATH, json=body)
        assert refused.status_code == 422, refused.text
        assert place in refused.json()["errors"][0]["loc"]


def test_a_campaign_rated_once_says_why_nothing_can_be_simulated(
    admin: httpx.Client, populated: dict[str, str], worker: None
) -> None:
    refused = admin.post("/v1/campaigns/demo/stability", json=SMALL)
    assert refused.status_code == 422
    assert "not every output was rated by the same raters" in refused.json()["detail"]


def test_the_examples_of_the_module_are_true() -> None:
    assert doctest.testmod(waiting).failed == 0
