"""A preview is what raters get, made of the texts alone, for every protocol and presentation; nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app import protocols
from app.services.campaigns.campaigns import PRESENTATIONS
from tests.api.direct import anonymous as anonymous  # a fixture
from tests.api.live_campaign import LIVE, Auth, lease, ok
from tests.api.protocol_families import one_of_each_family
from tests.load.test_blind_sessions import options_for

PREVIEW = "/v1/campaigns/new/preview"


def draft(admin: httpx.Client, protocol: str, systems: int = 4, **more: Any) -> None:
    """A draft of two documents."""
    asked = {"options": options_for(protocol), "basis": protocols.get_protocol(protocol).bases[0]}
    ok(admin.post("/v1/campaigns", json={"key": "new", "protocol": protocol, **asked, **more}))
    for document in ("b", "a"):
        segments = [{"source": f"Source {document} {n}.", "references": {"ref": "Quelle."}} for n in (1, 2)]
        ok(admin.put(f"/v1/campaigns/new/documents/{document}", json={"position": 1, "segments": segments}))
        for s in range(systems):
            ok(admin.put(f"/v1/campaigns/new/systems/s{s}", json={}))
            texts = [f"System {s}, {document} {n}." for n in (1, 2)]
            ok(admin.put(f"/v1/campaigns/new/systems/s{s}/outputs/{document}", json={"segments": texts}))


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
@one_of_each_family
def test_every_protocol_can_be_looked_at_in_every_presentation(protocol: str, admin: httpx.Client, whole: bool) -> None:
    """whole: in each; otherwise in the one whose turn it is."""
    draft(admin, protocol)
    turn = sorted(protocols.ALL).index(protocol) % len(PRESENTATIONS)
    for presentation in PRESENTATIONS if whole else [list(PRESENTATIONS)[turn]]:
        answer = ok(admin.get(PREVIEW, params={"presentation": presentation}))
        assert answer["task"]["presentation"] == presentation
        assert answer["forms"]
        assert len(answer["task"]["items"]) == (3 if presentation == "side_by_side" else 1)
        assert "s0" not in str(answer)  # blind, as for raters


def test_it_shows_what_raters_get(live: httpx.Client, auth: Auth) -> None:
    headers = auth("r1")
    leased = lease(live, headers)
    sources = [text["source"] for text in leased["items"][0]["segments"]]
    document = f"d{sources[0].split()[1]}"
    shown = ok(live.get(f"{LIVE}/preview", params={"document": document}))
    assert [text["source"] for text in shown["task"]["items"][0]["segments"]] == sources
    assert shown["forms"] == ok(live.get(f"/v1/tasks/{leased['task']}/forms", headers=headers))["forms"]
    assert set(shown["task"]) == set(leased)


def test_nothing_is_stored(admin: httpx.Client, dump: Callable[[], str]) -> None:
    draft(admin, "esa")
    ok(admin.get(PREVIEW))  # how scores are read is noted once, as by any first look
    before = dump()
    for presentation in PRESENTATIONS:
        ok(admin.get(PREVIEW, params={"presentation": presentation, "document": "b"}))
    assert dump() == before


def test_the_presentation_of_the_settings_holds_and_the_first_document_is_shown(admin: httpx.Client) -> None:
    draft(admin, "esa", systems=2, settings={"presentation": "side_by_side"})
    task = ok(admin.get(PREVIEW))["task"]
    assert task["presentation"] == "side_by_side"
    assert [item["segments"][0]["source"] for item in task["items"]] == ["Source a 1."] * 2


@pytest.mark.parametrize(
    ("params", "status"),
    [({"document": "none"}, 404), ({"document": "a b"}, 422), ({"presentation": "upside_down"}, 422), ({}, 200)],
)
def test_what_there_is_not_is_named(params: dict[str, str], status: int, admin: httpx.Client) -> None:
    draft(admin, "da", systems=1)
    assert admin.get(PREVIEW, params=params).status_code == status


def test_a_campaign_without_outputs_says_so(admin: httpx.Client) -> None:
    draft(admin, "da", systems=0)
    answer = admin.get(PREVIEW)
    assert (answer.status_code, answer.json()["title"]) == (409, "The campaign has no texts with outputs yet")
