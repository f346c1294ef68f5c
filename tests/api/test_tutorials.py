"""The tutorial before the first task: known answers are told only once an answer is given, and count nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.direct import anonymous as anonymous  # a fixture

TEXTS = "/v1/campaigns/c/documents/tutorial"
MINE = "/v1/me/tutorial"
KNOWN = {
    "text": "Der Hund bellte.",
    "payload": {"protocol": "da", "score": 90},
    "tolerance": {"score": 10},
    "reasons": {"en": "SECRET-REASON"},
}


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"})
    admin.put("/v1/campaigns/c/raters/r1", json={})
    return admin


@pytest.fixture
def rater(manager: httpx.Client, secret: Callable[..., str]) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret('rater', campaign='c', rater='r1')}"}


def put(client: httpx.Client, *metas: dict[str, Any]) -> httpx.Response:
    segments = [{"source": "The dog barked.", "meta": meta} for meta in metas]
    return client.put(TEXTS, json={"kind": "tutorial", "segments": segments})


def answer(client: httpx.Client, rater: dict[str, str], n: int, score: object) -> httpx.Response:
    body = {"payload": {"protocol": "da", "score": score}}
    return client.put(f"{MINE}/answers/{n}", json=body, headers=rater)


def test_an_answer_is_told_to_be_right_or_not_and_the_first_one_is_kept(manager, rater):
    assert put(manager, {"tutorial": KNOWN}, {"tutorial": {"text": "Er bellte."}}).status_code == 200
    shown = manager.get(MINE, headers=rater)
    assert "SECRET" not in shown.text
    assert shown.json()["outstanding"] is True
    assert [(one["item"], one["text"], one["known"]) for one in shown.json()["items"]] == [
        (1, "Der Hund bellte.", True),
        (2, "Er bellte.", False),
    ]
    wrong, better = answer(manager, rater, 1, 20).json(), answer(manager, rater, 1, 85).json()
    assert (wrong["right"], wrong["reasons"], wrong["payload"]["score"]) == (False, {"en": "SECRET-REASON"}, 90)
    assert better["right"] is True
    assert answer(manager, rater, 2, 50).json() == {
        "item": 2,
        "right": None,
        "payload": None,
        "reasons": {},
        "warnings": [],
        "again": False,
    }
    assert manager.get(MINE, headers=rater).json()["outstanding"] is False
    (result,) = manager.get("/v1/campaigns/c/tutorial/results").json()["items"]
    assert (result["rater"], result["answered"], result["marked"], result["right"]) == ("r1", 2, 1, 0)
    assert '"score": 20' in manager.get("/v1/me/export", headers=rater).text
    manager.put("/v1/campaigns/c/raters/r2", json={})
    told = manager.get("/v1/campaigns/c/tutorial/results").json()["items"]
    assert [(one["rater"], one["answered"]) for one in told] == [("r1", 2), ("r2", 0)]


def test_what_cannot_be_an_answer_is_refused_by_its_place_and_not_kept(manager, rater):
    put(manager, {"tutorial": KNOWN})
    refused = answer(manager, rater, 1, 101)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["loc"] == ["body", "payload", "score"]
    assert answer(manager, rater, 2, 50).status_code == 404
    assert manager.get(MINE, headers=rater).json()["items"][0]["answered"] is False


@pytest.mark.parametrize(
    ("known", "place"),
    [
        ({**KNOWN, "payload": {"protocol": "da", "score": 101}}, ["payload", "score"]),
        ({**KNOWN, "payload": {"protocol": "mqm", "errors": []}}, ["payload", "protocol"]),
        ({**KNOWN, "text": None}, ["text"]),
        ({**KNOWN, "tolerance": {"speed": 1}}, ["tolerance", "speed"]),
        ({**KNOWN, "tolerance": {"score": -0.5}}, ["tolerance", "score"]),
        ({**KNOWN, "hint": "x"}, ["hint"]),
        ({**KNOWN, "rules": [{"measure": "score", "least": 95}]}, ["rules", 0]),
    ],
)
def test_a_tutorial_that_knows_no_possible_answer_is_refused_by_its_place(manager, known, place):
    refused = put(manager, {}, {"tutorial": known})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["loc"] == ["body", "segments", 1, "meta", "tutorial", *place]


def test_a_segment_without_a_text_of_its_own_shows_an_output_and_no_name(manager, rater):
    put(manager, {})
    assert manager.get(MINE, headers=rater).json()["items"] == []
    manager.put("/v1/campaigns/c/systems/secret-sys", json={})
    outputs = "/v1/campaigns/c/systems/secret-sys/outputs/tutorial"
    assert manager.put(outputs, json={"segments": ["Ein Hund."]}).status_code == 200
    shown = manager.get(MINE, headers=rater)
    assert [one["text"] for one in shown.json()["items"]] == ["Ein Hund."]
    assert "secret-sys" not in shown.text


def test_no_plan_has_a_tutorial_and_whoever_has_judged_need_not_begin_with_it(manager, rater):
    put(manager, {"tutorial": KNOWN})
    refused = manager.post("/v1/campaigns/c/plan?dry_run=true", json={"seed": 1})
    assert refused.status_code == 409  # nothing to judge


def test_tags_in_a_tutorial_are_laid_out_where_the_campaign_lays_texts_out(manager, rater):
    put(manager, {"tutorial": {"text": "Der <b>Hund</b> bellte."}})
    assert "markup" not in manager.get(MINE, headers=rater).json()["items"][0]
    etag = manager.get("/v1/campaigns/c").headers["ETag"]
    settings = {"settings": {"markup": True}}
    assert manager.patch("/v1/campaigns/c", json=settings, headers={"If-Match": etag}).status_code == 200
    (item,) = manager.get(MINE, headers=rater).json()["items"]
    assert item["text"] == "Der <b>Hund</b> bellte."
    assert item["markup"]["source"] is None
    (layout,) = item["markup"]["columns"]
    assert (layout["shown"], layout["elements"]) == ("Der Hund bellte.", [["b", 4, 8]])


def test_a_campaign_without_a_tutorial_has_nothing_outstanding(manager, rater):
    assert manager.get(MINE, headers=rater).json() == {"outstanding": False, "protocol": "da", "items": []}


SIDE_BY_SIDE = {
    "columns": ["Der Hund bellte.", "Die Katze bellte."],
    "rules": [
        {"measure": "score", "least": 70, "warning": {"en": "The first text is right."}},
        {"column": 1, "above": 2, "warning": {"en": "The second text has another animal."}},
    ],
    "retry": True,
    "reasons": {"en": "SECRET-REASON"},
}


def scores(client: httpx.Client, rater: dict[str, str], *given: int) -> httpx.Response:
    body = {"payloads": [{"protocol": "da", "score": score} for score in given]}
    return client.put(f"{MINE}/answers/1", json=body, headers=rater)


def test_columns_are_answered_until_the_rules_are_kept_and_the_first_answer_counts(manager, rater):
    assert put(manager, {"tutorial": SIDE_BY_SIDE}).status_code == 200
    (shown,) = manager.get(MINE, headers=rater).json()["items"]
    assert (shown["columns"], shown["known"]) == (SIDE_BY_SIDE["columns"], True)
    wrong = scores(manager, rater, 60, 80).json()
    assert (wrong["right"], wrong["again"], wrong["reasons"]) == (False, True, {})
    assert [one["en"] for one in wrong["warnings"]] == [
        "The first text is right.",
        "The second text has another animal.",
    ]
    assert manager.get(MINE, headers=rater).json()["outstanding"] is True
    right = scores(manager, rater, 90, 10).json()
    assert (right["right"], right["again"], right["reasons"]) == (True, False, {"en": "SECRET-REASON"})
    assert manager.get(MINE, headers=rater).json()["outstanding"] is False
    (result,) = manager.get("/v1/campaigns/c/tutorial/results").json()["items"]
    assert (result["marked"], result["right"]) == (1, 0)
    assert scores(manager, rater, 90).json()["errors"][0]["loc"] == ["body", "payloads"]
    assert scores(manager, rater, 90, 101).json()["errors"][0]["loc"] == ["body", "payloads", 1, "score"]


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"text": "Der Hund."}, ["columns"]),
        ({"rules": [{"column": 3, "above": 1}]}, ["rules", 0, "column"]),
        ({"rules": [{"above": 1}]}, ["rules", 0, "above"]),
        ({"rules": [{"measure": "speed", "most": 1}]}, ["rules", 0, "measure"]),
        ({"rules": [{"marks": "Hund"}]}, ["rules", 0, "marks"]),
        ({"rules": [{"measure": "score"}]}, ["rules", 0]),
        ({"rules": []}, ["retry"]),
        ({"rules": [{"measure": "score", "least": 101}]}, ["rules", 0, "least"]),
        ({"rules": [{"measure": "score", "most": -1}]}, ["rules", 0, "most"]),
        ({"rules": [{"measure": "score", "least": 60}, {"measure": "score", "most": 50}]}, ["rules", 1, "most"]),
        ({"rules": [{"above": 2}, {"column": 2, "above": 1}]}, ["rules", 1, "above"]),
        ({"rules": [{"above": 2}, {"column": 2, "measure": "score", "least": 100}]}, ["rules", 0, "above"]),
    ],
)
def test_rules_that_cannot_be_kept_are_refused_by_their_place(manager, changed, place):
    refused = put(manager, {"tutorial": {**SIDE_BY_SIDE, **changed}})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["loc"] == ["body", "segments", 0, "meta", "tutorial", *place]


MARKED = {"text": "Der Hund schwieg.", "rules": [{"marks": "schwieg", "severity": "major"}]}
OWN = {"parts": [{"kind": "spans", "severities": [{"name": "minor", "weight": 1}, {"name": "major", "weight": 5}]}]}


@pytest.mark.parametrize(("protocol", "options"), [("mqm", {}), ("esa", {}), ("custom", OWN)])
def test_words_must_be_marked_whatever_the_protocol_is(admin, secret, protocol, options):
    admin.post("/v1/campaigns", json={"key": "c", "protocol": protocol, "options": options})
    admin.put("/v1/campaigns/c/raters/r1", json={})
    headers = {"Authorization": f"Bearer {secret('rater', campaign='c', rater='r1')}"}
    made = put(admin, {"tutorial": MARKED})
    assert made.status_code == 200, made.text
    rest = {"esa": {"score": 20}}.get(protocol, {})
    category = {"category": "accuracy"} if protocol == "mqm" else {}

    def right(start: int, end: int, severity: str) -> bool:
        mark = {"start": start, "end": end, "severity": severity, **category}
        body = {"payload": {"protocol": protocol, "errors": [mark], **rest}}
        answer = admin.put(f"{MINE}/answers/1", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return bool(answer.json()["right"])

    assert [right(9, 16, "major"), right(9, 16, "minor"), right(0, 8, "major")] == [True, False, False]


@pytest.mark.parametrize(
    ("rule", "place"),
    [
        ({"marks": "bellte"}, ["rules", 0, "marks"]),
        ({"marks": "schwieg", "severity": "odd"}, ["rules", 0, "severity"]),
        ({"marks": "schwieg", "category": "Colour"}, ["rules", 0, "category"]),
        ({"measure": "spans", "most": 4}, []),
        ({"marks": "schwieg", "category": "Fluency"}, []),
        ({"marks": "schwieg", "category": "Punctuation"}, []),
    ],
)
def test_marks_that_nobody_can_set_are_refused_by_their_place(admin, rule, place):
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "mqm"})
    made = put(admin, {"tutorial": {"text": "Der Hund schwieg.", "rules": [rule]}})
    assert made.status_code == (422 if place else 200), made.text
    if place:
        assert made.json()["errors"][0]["loc"] == ["body", "segments", 0, "meta", "tutorial", *place]


def test_bounds_between_two_steps_of_a_scale_are_refused_in_one_rule_as_in_two(admin):
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "sqm"})
    bounds = [{"least": 2.2, "most": 2.8}], [{"least": 2.2}, {"most": 2.8}]
    places = [["rules", 0, "least"], ["rules", 1, "most"]]
    for each, place in zip(bounds, places, strict=True):
        rules = [{"measure": "score", **one} for one in each]
        refused = put(admin, {"tutorial": {"text": "Der Hund schwieg.", "rules": rules}})
        assert refused.status_code == 422, refused.text
        assert refused.json()["errors"][0]["loc"] == ["body", "segments", 0, "meta", "tutorial", *place]


@pytest.mark.parametrize("category", ["Fluency", "punctuation", "Fluency/Punctuation"])
def test_a_category_holds_for_those_below_it(admin, secret, category):
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "mqm"})
    admin.put("/v1/campaigns/c/raters/r1", json={})
    headers = {"Authorization": f"Bearer {secret('rater', campaign='c', rater='r1')}"}
    rule = {"marks": "schwieg", "category": category}
    assert put(admin, {"tutorial": {"text": "Der Hund schwieg.", "rules": [rule]}}).status_code == 200

    def right(marked: str) -> bool:
        mark = {"start": 9, "end": 16, "severity": "minor", "category": marked}
        body = {"payload": {"protocol": "mqm", "errors": [mark]}}
        return bool(admin.put(f"{MINE}/answers/1", json=body, headers=headers).json()["right"])

    assert [right("Fluency/Punctuation"), right("Accuracy/Omission")] == [True, False]


def test_a_known_mark_must_lie_within_its_source(admin):
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "mqm"})
    mark = {"side": "source", "start": 0, "end": 99, "severity": "minor", "category": "Other"}
    known = {"text": "Er.", "payload": {"protocol": "mqm", "errors": [mark]}, "tolerance": {"spans": 1}}
    refused = put(admin, {"tutorial": known})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["loc"][3:] == ["meta", "tutorial", "payload", "errors", 0, "end"]
