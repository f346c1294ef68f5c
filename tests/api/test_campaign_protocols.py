"""The protocol of a campaign as data: written in a draft, previewed, taken from a built-in one, ranked by."""

from __future__ import annotations

import pytest

from app.api.campaign_protocols import OWN
from app.protocols import ALL
from tests.api.direct import anonymous as anonymous  # a fixture
from tests.api.protocol_families import one_of_each_family

URL = "/v1/campaigns/c"
WRITTEN = {"protocol": "custom", "options": OWN}


@pytest.fixture
def campaign(admin):
    """A draft with the outputs of two systems."""
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"})
    admin.put(f"{URL}/documents/d", json={"segments": [{"source": "Hello."}, {"source": "Bye."}]})
    for system in ("a", "b"):
        admin.put(f"{URL}/systems/{system}", json={})
        admin.put(f"{URL}/systems/{system}/outputs/d", json={"segments": ["Hallo.", "Tschüss."]})
    return admin


def put(client, body):
    return client.put(f"{URL}/protocol", json=body, headers={"If-Match": client.get(f"{URL}/protocol").headers["ETag"]})


def test_a_draft_with_texts_takes_a_protocol_that_is_written_for_it(campaign):
    shown = put(campaign, WRITTEN)
    assert shown.status_code == 200, shown.text
    assert [one["name"] for one in shown.json()["measures"]] == ["quality", "spans", "publish"]
    assert [form["level"] for form in shown.json()["forms"]] == ["segment", "screen"]
    again = campaign.get(f"{URL}/protocol")
    assert again.json() == shown.json()
    assert campaign.get(URL).json()["options"] == OWN
    assert campaign.put(f"{URL}/protocol", json=WRITTEN).status_code == 428
    assert campaign.put(f"{URL}/protocol", json=WRITTEN, headers={"If-Match": '"0"'}).status_code == 412


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"protocol": "none", "options": {}}, ["protocol"]),
        ({"protocol": "custom", "options": {}}, ["options", "parts"]),
        ({"protocol": "custom", "options": {"parts": []}}, ["options", "parts"]),
        ({"protocol": "custom", "options": {"parts": [{"kind": "slider"}]}}, ["options", "parts", 0, "slider", "name"]),
        ({"protocol": "da", "options": {"parts": []}}, ["options", "parts"]),
        *(
            (
                {"protocol": "custom", "options": {"parts": [{**OWN["parts"][1], "step": step}]}},
                ["options", "parts", 0, "slider"],
            )
            for step in (5e-324, 1e-300, 1e-5)
        ),
        (
            {
                "protocol": "rating",
                "options": {"criteria": [{"name": "a", "minimum": 0, "maximum": 1, "step": 5e-324}]},
            },
            ["options", "criteria", 0],
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_at_its_place_and_changes_nothing(campaign, body, place):
    before = campaign.get(f"{URL}/protocol").json()
    answer = put(campaign, body)
    assert answer.status_code == 422
    assert place in [error["loc"] for error in answer.json()["errors"]]
    assert campaign.get(f"{URL}/protocol").json() == before
    preview = campaign.post(f"{URL}/protocol/preview", json=body)
    assert preview.status_code in (404, 422)


def test_once_something_is_answered_the_protocol_stays(campaign):
    assert put(campaign, WRITTEN).status_code == 200
    payload = {"protocol": "custom", "errors": [], "scores": {"quality": 70, "publish": 1}}
    judged = {"rater": "r", "document": "d", "segment": 1, "system": "a", "payload": payload}
    sent = campaign.post(f"{URL}/judgments?declare=true", json=[judged], headers={"Idempotency-Key": "1"})
    assert sent.status_code == 200, sent.text
    refused = put(campaign, {"protocol": "da", "options": {}})
    assert refused.status_code == 409
    assert "judgments" in refused.json()["errors"][0]["msg"]
    ranking = campaign.get(f"{URL}/ranking", params={"scoring": "criterion:publish"})
    assert ranking.status_code == 200, ranking.text


def test_a_preview_shows_a_task_by_a_protocol_that_nobody_has_stored(campaign):
    shown = campaign.post(f"{URL}/protocol/preview?presentation=side_by_side", json=WRITTEN).json()
    kinds = [[widget["kind"] for widget in form["widgets"]] for form in shown["forms"]]
    assert kinds == [["spans", "criteria"], ["preference"]]
    assert campaign.get(URL).json()["protocol"] == "da"


@one_of_each_family
def test_a_built_in_protocol_is_a_start_for_one_of_ones_own(campaign, protocol):
    start = campaign.get(f"/v1/protocols/{protocol}/as-custom")
    if not ALL[protocol].ranks:
        assert start.status_code == 422
        return
    assert put(campaign, start.json()).status_code == 200
    assert campaign.get(f"{URL}/protocol").json()["forms"][0]["widgets"]
