"""Templates: each makes a campaign that can be planned and previewed; what is sent goes before what they say."""

from __future__ import annotations

import httpx
import pytest

from app import protocols
from app.design import parse
from app.services.templates.templates import TEMPLATES
from tests.api.live_campaign import ok

BY_NAME = pytest.mark.parametrize("name", TEMPLATES)


def made(admin: httpx.Client, **body: object) -> dict[str, object]:
    answer = admin.post("/v1/campaigns", json={"key": "new", **body})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@BY_NAME
def test_a_template_sets_all_that_it_says(name: str, admin: httpx.Client) -> None:
    told = ok(admin.get(f"/v1/campaign-templates/{name}"))
    campaign = made(admin, template=name)
    for field in ("protocol", "basis", "options"):
        assert campaign[field] == told[field]
    settings = campaign["settings"]
    assert isinstance(settings, dict)
    assert settings.items() >= {**told["settings"], "template": name}.items()
    assert ok(admin.get("/v1/campaigns/new/guidelines"))["texts"] == {"en": told["guidelines"]}


@BY_NAME
def test_its_design_compiles_for_texts_of_three_systems_and_three_raters(name: str, admin: httpx.Client) -> None:
    made(admin, template=name, source_language="en", target_language="de")
    for s in range(3):
        ok(admin.put(f"/v1/campaigns/new/systems/s{s}", json={}))
    for d in range(6):
        sources = [{"source": f"Source {d} {n}."} for n in (1, 2)]
        ok(admin.put(f"/v1/campaigns/new/documents/d{d}", json={"position": d + 1, "segments": sources}))
        for s in range(3):
            texts = [f"System {s} says of {d} that {n} is so, and that it always was." for n in (1, 2)]
            ok(admin.put(f"/v1/campaigns/new/systems/s{s}/outputs/d{d}", json={"segments": texts}))
    ok(admin.post("/v1/campaigns/new/raters", json={"keys": ["r1", "r2", "r3"]}))
    design = ok(admin.get(f"/v1/campaign-templates/{name}"))["design"]
    plan = ok(admin.post("/v1/campaigns/new/plan", params={"dry_run": True}, json=design))
    assert plan["report"]["total"]["items"] >= 18
    shown = ok(admin.get("/v1/campaigns/new/preview"))
    assert shown["task"]["presentation"] == TEMPLATES[name].settings["presentation"]


@BY_NAME
def test_its_protocol_takes_its_options_and_its_basis(name: str) -> None:
    template = TEMPLATES[name]
    protocol = protocols.get_protocol(template.protocol)
    assert template.basis in protocol.bases
    protocol.options.model_validate(template.options)
    assert parse.parse_design(dict(template.design))
    assert template.settings["presentation"] != "side_by_side" or protocol.contrastive


def test_what_is_sent_goes_before_the_template(admin: httpx.Client) -> None:
    settings = {"lease_seconds": 600}
    campaign = made(admin, template="mqm-professionals", options={"weights": "wmt24"}, settings=settings, name="My own")
    assert campaign["options"] == {"weights": "wmt24"}
    assert campaign["name"] == "My own"
    assert isinstance(campaign["settings"], dict)
    assert campaign["settings"]["lease_seconds"] == 600
    assert campaign["settings"]["presentation"] == "document"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"template": "nothing"}, "template"),
        ({"template": "esa-crowd", "protocol": "mqm"}, "protocol"),
        ({}, "protocol"),
        ({"template": "esa-crowd", "options": {"colour": 1}}, "options"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(body: dict[str, object], place: str, admin: httpx.Client) -> None:
    answer = admin.post("/v1/campaigns", json={"key": "new", **body})
    assert answer.status_code == 422
    assert any(place in one["loc"] for one in answer.json()["errors"]), answer.text
    assert admin.get("/v1/campaigns/new").status_code == 404


def test_a_template_that_there_is_not_is_not_found(admin: httpx.Client) -> None:
    assert admin.get("/v1/campaign-templates/nothing").status_code == 404
