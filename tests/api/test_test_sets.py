"""Documents, systems and outputs, put one by one."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest

CAMPAIGN = "/v1/campaigns/new"
DOCUMENT = {
    "domain": "talks",
    "position": 3,
    "segments": [
        {"source": " The dog barked. ", "references": {"refA": "Der Hund bellte."}, "meta": {"speaker": "A"}},
        {"source": None},
    ],
}


@pytest.fixture
def new(admin: httpx.Client) -> httpx.Client:
    made = admin.post("/v1/campaigns", json={"key": "new", "protocol": "esa", "target_language": "de"})
    assert made.status_code == 201, made.text
    return admin


def _put(client: httpx.Client, path: str, body: dict[str, Any], status: int = 200) -> Any:
    answer = client.put(f"{CAMPAIGN}{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.fixture
def filled(new: httpx.Client) -> httpx.Client:
    _put(new, "/documents/d1", DOCUMENT)
    _put(new, "/systems/A", {"lab": "X", "tags": ["online"]})
    _put(new, "/systems/A/outputs/d1", {"segments": ["Der Hund bellte.", None]})
    return new


def test_a_document_is_given_back_as_it_was_put_without_white_space_at_its_ends(new: httpx.Client) -> None:
    put = _put(new, "/documents/d1", DOCUMENT)

    assert (put["created"], put["changed"], put["repaired"], put["data_version"]) == (True, True, 1, 1)
    got = new.get(f"{CAMPAIGN}/documents/d1").json()
    assert (got["key"], got["name"], got["domain"], got["position"]) == ("d1", "d1", "talks", 3)
    assert got["segments"][0] == {
        "source": "The dog barked.",
        "references": {"refA": "Der Hund bellte."},
        "meta": {"speaker": "A"},
    }
    assert got["segments"][1]["source"] is None


def test_documents_of_one_kind_are_listed_alone(filled: httpx.Client) -> None:
    known = {"text": "Der Hund bellte.", "reasons": {"en": "x"}}
    _put(filled, "/documents/a", {"kind": "tutorial", "segments": [{"source": "x", "meta": {"tutorial": known}}]})
    listed = {
        kind: [one["key"] for one in filled.get(f"{CAMPAIGN}/documents{query}").json()["items"]]
        for kind, query in (("", ""), ("test", "?kind=test"), ("tutorial", "?kind=tutorial&limit=1"))
    }
    assert listed == {"": ["a", "d1"], "test": ["d1"], "tutorial": ["a"]}
    assert filled.get(f"{CAMPAIGN}/documents?kind=other").status_code == 422


def test_putting_the_same_again_changes_nothing(filled: httpx.Client) -> None:
    version = filled.get(CAMPAIGN).json()["data_version"]
    again = [
        _put(filled, "/documents/d1", DOCUMENT),
        _put(filled, "/systems/A", {"lab": "X", "tags": ["online"]}),
        _put(filled, "/systems/A/outputs/d1", {"segments": ["Der Hund bellte.\n", None]}),
    ]

    assert [put["changed"] for put in again] == [False, False, False]
    assert filled.get(CAMPAIGN).json()["data_version"] == version


def test_what_is_known_of_a_document_can_change_under_its_outputs_but_not_its_texts(filled: httpx.Client) -> None:
    moved = _put(filled, "/documents/d1", {**DOCUMENT, "domain": "news"})
    other = {**DOCUMENT, "segments": [{"source": "A cat."}, {"source": None}]}

    refused = _put(filled, "/documents/d1", other, status=409)

    assert (moved["created"], moved["changed"]) == (False, True)
    assert "outputs stand on" in refused["detail"]
    assert filled.get(f"{CAMPAIGN}/documents/d1").json()["domain"] == "news"


def test_outputs_come_back_with_the_hash_of_their_texts_and_their_prefill(filled: httpx.Client) -> None:
    span = {"start": 4, "end": 8, "severity": "minor", "prefill": "p1"}
    _put(filled, "/systems/A/outputs/d1", {"segments": ["Der Hund bellt.", None], "prefill": [[span], None]})

    first, second = filled.get(f"{CAMPAIGN}/systems/A/outputs/d1").json()["segments"]

    assert first["sha256"] == hashlib.sha256(b"Der Hund bellt.").hexdigest()
    assert {name: first["prefill"][0][name] for name in span} == span
    assert second == {"text": None, "sha256": None, "prefill": None, "alignment": None}


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"segments": ["one"]}, ["body", "segments"]),
        ({"segments": ["one", "two"], "prefill": [None]}, ["body", "prefill"]),
        (
            {"segments": ["one", None], "prefill": [[{"start": 0, "end": 9, "severity": "minor"}], None]},
            ["body", "prefill", 0, 0, "end"],
        ),
        (
            {"segments": ["one", None], "prefill": [None, [{"start": 0, "end": 1, "severity": "minor"}]]},
            ["body", "prefill", 1],
        ),
        (
            {"segments": ["one", None], "prefill": [[{"start": 0, "end": 1, "severity": "awful"}], None]},
            ["body", "prefill", 0, 0, "severity"],
        ),
    ],
)
def test_outputs_that_do_not_fit_are_refused_with_their_place_and_nothing_changes(
    filled: httpx.Client, body: dict[str, Any], loc: list[str | int]
) -> None:
    before = filled.get(f"{CAMPAIGN}/systems/A/outputs/d1").json()

    refused = _put(filled, "/systems/A/outputs/d1", body, status=422)

    assert loc in [error["loc"] for error in refused["errors"]]
    assert filled.get(f"{CAMPAIGN}/systems/A/outputs/d1").json() == before


def test_outputs_of_several_systems_are_read_at_once(filled: httpx.Client) -> None:
    _put(filled, "/systems/B", {})
    path, one = f"{CAMPAIGN}/documents/d1/outputs", f"{CAMPAIGN}/systems/A/outputs/d1"
    both = filled.get(path, params={"system": ["B", "A", "A"]}).json()["systems"]
    assert list(both) == ["B", "A"]
    assert both["A"] == filled.get(one).json()["segments"]
    assert [output["text"] for output in both["B"]] == [None, None]
    assert filled.get(path, params={"system": ["A", "nobody"]}).status_code == 404
    assert filled.get(path).status_code == 422
    assert filled.get(path, params={"system": [f"s{n}" for n in range(101)]}).status_code == 422


def test_unknown_names_are_404(filled: httpx.Client) -> None:
    _put(filled, "/systems/Z/outputs/d1", {"segments": ["a", "b"]}, status=404)
    _put(filled, "/systems/A/outputs/d9", {"segments": ["a", "b"]}, status=404)
    assert filled.get(f"{CAMPAIGN}/documents/d9").status_code == 404
    assert filled.get(f"{CAMPAIGN}/systems/Z").status_code == 404


def test_a_draft_lets_go_of_what_it_has_from_the_outputs_up(filled: httpx.Client) -> None:
    in_use = [filled.delete(f"{CAMPAIGN}{path}").status_code for path in ("/documents/d1", "/systems/A")]
    gone = [
        filled.delete(f"{CAMPAIGN}{path}").status_code
        for path in ("/systems/A/outputs/d1", "/documents/d1", "/systems/A")
    ]

    assert in_use == [409, 409]
    assert gone == [204, 204, 204]
    assert filled.get(f"{CAMPAIGN}/documents").json() == {"items": [], "next": None}
    assert filled.get(f"{CAMPAIGN}/systems").json() == {"items": [], "next": None}


def test_texts_that_were_judged_stay_as_they_are(admin: httpx.Client, populated: dict[str, str]) -> None:
    outputs = admin.get("/v1/campaigns/demo/systems/A/outputs/news.1").json()["segments"]
    other = admin.put("/v1/campaigns/demo/systems/A/outputs/news.1", json={"segments": ["another" for _ in outputs]})
    deleted = admin.delete("/v1/campaigns/demo/systems/A/outputs/news.1")

    assert (other.status_code, deleted.status_code) == (409, 409)
    assert admin.get("/v1/campaigns/demo/systems/A/outputs/news.1").json()["segments"] == outputs


def test_a_closed_campaign_takes_no_texts(filled: httpx.Client, ask: Any) -> None:
    ask("UPDATE campaigns SET state = 'closed' WHERE key = 'new'")

    refused = _put(filled, "/documents/d2", DOCUMENT, status=409)

    assert "closed" in refused["title"]


def test_a_system_s_outputs_are_listed_by_document_page_by_page(filled: httpx.Client) -> None:
    for key in ("d2", "d3"):
        _put(filled, f"/documents/{key}", DOCUMENT)
    _put(filled, "/systems/A/outputs/d3", {"segments": ["Eins.", "Zwei."]})

    first = filled.get(f"{CAMPAIGN}/systems/A/outputs", params={"limit": 1}).json()
    assert first["items"] == [{"document": "d1", "segments": 2, "outputs": 1}]
    rest = filled.get(f"{CAMPAIGN}/systems/A/outputs", params={"cursor": first["next"]}).json()
    assert rest == {"items": [{"document": "d3", "segments": 2, "outputs": 2}], "next": None}
    assert filled.get(f"{CAMPAIGN}/systems/B/outputs").status_code == 404
