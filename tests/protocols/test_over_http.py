"""What front-ends made by others learn of the protocols."""

from __future__ import annotations

import httpx

from app.protocols import ALL

KINDS = {"slider", "choice", "count", "spans", "textedit", "link", "criteria", "texts", "preference"}


def test_every_protocol_is_told_with_its_widgets_forms_and_numbers(admin: httpx.Client) -> None:
    told = {one["name"]: one for one in admin.get("/v1/protocols").json()["items"]}
    assert list(told) == list(ALL)
    widgets = [
        w for one in told.values() for form in ("widgets", "document_widgets", "screen_widgets") for w in one[form]
    ]
    assert {widget["kind"] for widget in widgets} == KINDS
    for name, protocol in ALL.items():
        one = told[name]
        assert one == admin.get(f"/v1/protocols/{name}").json()
        assert one["ranks"] is protocol.ranks
        assert one["bases"] == list(protocol.bases)
        assert bool(one["screen_widgets"]) == (one["screen_payload"] is not None) == protocol.contrastive
        assert one["measures"][0]["higher_is_better"] is protocol.higher_is_better
        assert {w["field"] for w in one["widgets"]} <= set(one["payload"]["properties"])


def test_an_example_tells_the_errors_that_were_shown_ready_made(admin: httpx.Client) -> None:
    for name, protocol in ALL.items():
        shown = [example["prefill"] for example in admin.get(f"/v1/protocols/{name}").json()["examples"]]
        assert any(shown) == protocol.accepts_prefill
