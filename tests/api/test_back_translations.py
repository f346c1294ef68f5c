"""What raters of one campaign write becomes the outputs of another, with who wrote it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.direct import anonymous as anonymous  # a fixture

BT, MSTS = "/v1/campaigns/bt", "/v1/campaigns/msts"


def _ok(answer: httpx.Response) -> Any:
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


def _judge(client: httpx.Client, *texts: tuple[str, str, int, str], campaign: str = "bt", **payload: object) -> None:
    rows = [
        {
            "rater": rater,
            "system": system,
            "document": "d1",
            "segment": segment,
            "payload": {"protocol": "back_translation", "text": text, **payload},
        }
        for rater, system, segment, text in texts
    ]
    _ok(client.post(f"/v1/campaigns/{campaign}/judgments", json=rows))


@pytest.fixture
def written(admin: httpx.Client) -> httpx.Client:
    """Two systems on two segments, back-translated by one rater; and an empty campaign that is to judge these."""
    about = {"source_language": "en", "target_language": "sw"}
    _ok(admin.post("/v1/campaigns", json={"key": "bt", "protocol": "back_translation", "basis": "none", **about}))
    _ok(
        admin.post(
            "/v1/campaigns", json={"key": "msts", "protocol": "bt_msts", "basis": "reference", "target_language": "en"}
        )
    )
    segments = [{"source": "The bridge is closed."}, {"source": "Go home."}]
    _ok(admin.put(f"{BT}/documents/d1", json={"segments": segments, "domain": "news"}))
    for system in "AB":
        _ok(admin.put(f"{BT}/systems/{system}", json={"name": f"System {system}"}))
        texts = [f"{system} moja", f"{system} mbili"]
        _ok(admin.put(f"{BT}/systems/{system}/outputs/d1", json={"segments": texts}))
    for rater in ("bt1", "bt2"):
        _ok(admin.put(f"{BT}/raters/{rater}", json={}))
    _judge(admin, ("bt1", "A", 1, "The bridge is shut."), ("bt1", "A", 2, "Go."), link="https://example.org/bt/1")
    _judge(admin, ("bt1", "B", 1, "The bridge is open."))
    return admin


def _pass(client: httpx.Client, status: int = 200, **body: object) -> Any:
    answer = client.post(f"{BT}/back-translations", json={"to": "msts", **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def _outputs(client: httpx.Client, system: str) -> list[str | None]:
    return [one["text"] for one in _ok(client.get(f"{MSTS}/systems/{system}/outputs/d1"))["segments"]]


def test_texts_become_outputs_of_the_same_systems_beside_their_sources(written: httpx.Client) -> None:
    found = _pass(written)

    assert (found["outputs"], found["systems"], found["documents"], found["raters"]) == (3, 2, 1, 1)
    assert _outputs(written, "A") == ["The bridge is shut.", "Go."]
    assert _outputs(written, "B") == ["The bridge is open.", None]
    document = _ok(written.get(f"{MSTS}/documents/d1"))
    assert document["domain"] == "news"
    assert [(one["source"], one["references"]) for one in document["segments"]] == [
        (None, {"source": "The bridge is closed."}),
        (None, {"source": "Go home."}),
    ]
    assert _ok(written.get(f"{MSTS}/systems/A"))["name"] == "System A"


def test_a_text_of_a_segment_that_the_other_campaign_has_not_is_left(written: httpx.Client) -> None:
    _ok(written.put(f"{MSTS}/documents/d1", json={"segments": [{"references": {"source": "The bridge is closed."}}]}))

    found = _pass(written)

    assert (found["outputs"], found["left"]) == (2, {"segment not there": 1})
    assert _outputs(written, "A") == ["The bridge is shut."]


def test_who_wrote_an_output_and_where_it_is_kept_stay_with_it(written: httpx.Client) -> None:
    _pass(written)

    first = _ok(written.get(f"{MSTS}/back-translations", params={"limit": 2}))
    rest = _ok(written.get(f"{MSTS}/back-translations", params={"limit": 2, "cursor": first["next"]}))

    found = {(one["system"], one["position"]): one for one in first["items"] + rest["items"]}
    assert len(found) == 3
    assert found["A", 1] == {
        "system": "A",
        "document": "d1",
        "position": 1,
        "rater": "bt1",
        "link": "https://example.org/bt/1",
        "from": "bt",
    }
    assert found["B", 1]["link"] is None
    assert rest["next"] is None


def test_again_it_takes_what_is_new_and_what_was_revised(written: httpx.Client) -> None:
    _pass(written)
    unchanged = _pass(written)
    _judge(written, ("bt1", "B", 2, "Stay home."), ("bt1", "A", 2, "Go home now."))

    found = _pass(written)

    assert (unchanged["outputs"], unchanged["unchanged"]) == (0, 3)
    assert (found["outputs"], found["unchanged"]) == (2, 2)
    assert _outputs(written, "A") == ["The bridge is shut.", "Go home now."]
    assert _outputs(written, "B") == ["The bridge is open.", "Stay home."]
    assert len(_ok(written.get(f"{MSTS}/back-translations"))["items"]) == 4


def test_of_several_back_translators_one_is_taken_and_the_rest_is_counted(written: httpx.Client) -> None:
    _judge(written, ("bt2", "A", 1, "A second opinion."))

    first = _pass(written)
    second = _pass(written, rater="bt2")

    assert first["left"] == {"voided, or by another back-translator": 1}
    assert second["left"] == {"another rater's": 3}
    assert _outputs(written, "A") == ["A second opinion.", "Go."]


def test_a_text_that_was_set_aside_is_not_taken(written: httpx.Client) -> None:
    _ok(
        written.post(f"{BT}/judgments/void", json={"filter": {"rater": "bt1", "system": "A"}, "reason": "machine-made"})
    )

    found = _pass(written)

    assert (found["outputs"], found["systems"]) == (1, 1)


def test_outputs_that_a_task_shows_stay(written: httpx.Client) -> None:
    _pass(written)
    _ok(written.put(f"{MSTS}/raters/r1", json={}))
    _ok(written.post(f"{MSTS}/plan", json={"seed": 1}))
    _judge(written, ("bt1", "A", 1, "Something else."))

    found = _pass(written)

    assert found["left"]["shown by a task already"] >= 1
    assert _outputs(written, "A")[0] == "The bridge is shut."


@pytest.mark.parametrize(
    ("body", "status"),
    [({"to": "bt"}, 422), ({"to": "nowhere"}, 404), ({"to": "msts", "rater": "a b"}, 422), ({}, 422)],
)
def test_what_cannot_be_is_refused(written: httpx.Client, body: dict[str, str], status: int) -> None:
    assert written.post(f"{BT}/back-translations", json=body).status_code == status


def test_a_campaign_whose_raters_write_nothing_has_nothing_to_give(written: httpx.Client) -> None:
    answer = written.post(f"{MSTS}/back-translations", json={"to": "bt"})

    assert answer.status_code == 409
    assert "bt_msts" in answer.json()["detail"]


def test_texts_in_another_language_than_the_outputs_are_refused(written: httpx.Client) -> None:
    made = {"key": "other", "protocol": "bt_msts", "basis": "reference", "target_language": "fr"}
    _ok(written.post("/v1/campaigns", json=made))

    assert "en there, fr here" in _pass(written, 409, to="other")["detail"]


def test_who_wrote_the_outputs_goes_out_and_in_again_with_the_same_bytes(written: httpx.Client) -> None:
    _pass(written)
    out = written.get(f"{MSTS}/exports/jsonl").content
    body = {"key": "again", "name": "msts", "protocol": "bt_msts", "basis": "reference", "target_language": "en"}
    _ok(written.post("/v1/campaigns", json=body))

    said = written.post(
        "/v1/campaigns/again/imports",
        params={"format": "jsonl"},
        content=out,
        headers={"Content-Type": "application/octet-stream"},
    )

    assert said.status_code == 200, said.text
    assert out.count(b'"written":{') == 3
    assert written.get("/v1/campaigns/again/exports/jsonl").content == out
    listed = [_ok(written.get(f"{c}/back-translations"))["items"] for c in (MSTS, "/v1/campaigns/again")]
    assert listed[0] == listed[1]
