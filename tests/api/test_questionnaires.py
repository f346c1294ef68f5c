"""Questionnaires: asked before the first task and after the last one, kept by revision, erased with the rater."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.test_agreement_reports import as_csv

URL = "/v1/campaigns/c/questionnaires"
MINE = "/v1/me/questionnaires"
SECRET = "learnt in a very small village"
LEVEL = {
    "name": "level",
    "kind": "choice",
    "label": {"en": "How well?", "de": "Wie gut?"},
    "required": True,
    "options": [{"value": "B2", "label": {"en": "B2"}}, {"value": "C1", "label": {"en": "C1"}}],
    "group": True,
}
AGE = {"name": "years", "kind": "number", "label": {"en": "For how many years?"}, "minimum": 0, "maximum": 99}
WHERE = {"name": "where", "kind": "text", "label": {"en": "Where?"}}
USES = {**LEVEL, "name": "uses", "kind": "choices", "group": False, "required": False}
NOTE = {"name": "thanks", "kind": "note", "label": {"en": "Thank you."}}
ASKED = {"before": [NOTE, LEVEL, AGE, WHERE], "after": [USES]}
GIVEN = {"level": "C1", "years": 12, "where": SECRET}


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"})
    admin.put("/v1/campaigns/c/raters/r1", json={})
    assert admin.put(URL, json=ASKED, headers={"If-Match": "*"}).status_code == 200
    return admin


@pytest.fixture
def rater(manager: httpx.Client, secret: Callable[..., str]) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret('rater', campaign='c', rater='r1')}"}


def answer(client: httpx.Client, rater: dict[str, str], given: dict[str, Any], moment: str = "before") -> Any:
    return client.put(f"{MINE}/{moment}/answers", json={"answers": given}, headers=rater)


def test_no_task_is_given_before_the_questions_are_answered(manager, rater):
    lease = "/v1/campaigns/c/lease"
    assert manager.post(lease, headers=rater).json()["why"] == "questionnaire"
    before, after = manager.get(MINE, headers=rater).json()["items"]
    assert (before["moment"], before["outstanding"], before["answers"]) == ("before", True, None)
    assert (after["moment"], after["outstanding"]) == ("after", True)
    assert answer(manager, rater, GIVEN).json()["revision"] == 1
    assert manager.post(lease, headers=rater).json()["why"] == "wait"


def test_other_answers_are_a_new_revision_and_the_same_ones_are_none(manager, rater, ask_rows):
    assert [answer(manager, rater, one).json()["revision"] for one in (GIVEN, GIVEN, {"level": "B2"})] == [1, 1, 2]
    assert manager.get(MINE, headers=rater).json()["items"][0]["answers"] == {"level": "B2"}
    (row,) = manager.get(f"{URL}/answers").json()["items"]
    assert row == {"rater": "r1", "team": None, "before": {"level": "B2"}, "after": None}
    assert ask_rows("SELECT n FROM questionnaire_answers ORDER BY n") == [(1,), (2,)]


@pytest.mark.parametrize(
    ("given", "place", "why"),
    [
        ({}, "level", "must be answered"),
        ({"level": "A1"}, "level", "must be one of"),
        ({**GIVEN, "years": 120}, "years", "must be from 0 to 99"),
        ({**GIVEN, "years": True}, "years", "must be a number"),
        ({**GIVEN, "where": 5}, "where", "must be a text"),
        ({**GIVEN, "age": 5}, "age", "no such question"),
    ],
)
def test_an_answer_that_is_none_is_refused_by_its_name(manager, rater, given, place, why):
    refused = answer(manager, rater, given)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["loc"] == ["body", "answers", place]
    assert why in error["msg"]


def test_several_choices_are_kept_in_the_order_of_the_options(manager, rater):
    assert answer(manager, rater, {"uses": ["C1", "B2"]}, "after").json()["answers"] == {"uses": ["B2", "C1"]}
    assert answer(manager, rater, {"uses": ["C1", "C1"]}, "after").status_code == 422


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ({**LEVEL, "options": []}, "options"),
        ({**AGE, "group": True}, "group"),
        ({**WHERE, "minimum": 3}, "minimum"),
        ({**AGE, "minimum": 100}, "minimum"),
        ({**NOTE, "required": True}, "required"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(manager, question, place):
    refused = manager.put(URL, json={"before": [question]}, headers={"If-Match": "*"})
    assert refused.status_code == 422
    assert [one["loc"] for one in refused.json()["errors"]] == [["settings", "questionnaires", "before", 0, place]]


def test_questions_do_not_change_after_the_draft(manager, ask_rows):
    ask_rows("UPDATE campaigns SET state = 'planned' WHERE key = 'c' RETURNING key")
    late = manager.put(URL, json={}, headers={"If-Match": "*"})
    assert (late.status_code, late.json()["errors"][0]["loc"]) == (409, ["settings", "questionnaires"])


def test_what_was_answered_is_exported_and_read_again(manager, rater):
    answer(manager, rater, GIVEN)
    answer(manager, rater, {**GIVEN, "years": 13})
    lines = manager.get("/v1/campaigns/c/exports/jsonl").text
    manager.post("/v1/campaigns", json={"key": "d", "protocol": "da"})
    read = manager.post("/v1/campaigns/d/imports", params={"format": "jsonl"}, content=lines.encode())
    assert read.status_code == 200, read.text
    assert manager.get("/v1/campaigns/d/questionnaires").json() == manager.get(URL).json()
    again = manager.get("/v1/campaigns/d/exports/jsonl").text
    assert again.splitlines()[2:-1] == lines.splitlines()[2:-1]
    revisions = next(json.loads(line) for line in again.splitlines() if SECRET in line)["questionnaires"]["before"]
    assert [one["answers"]["years"] for one in revisions] == [12, 13]
    losses = manager.get("/v1/campaigns/c/exports/csv/losses").json()["losses"]
    assert losses["questionnaires that raters answered"] == 1


def test_the_answers_are_told_to_the_rater_and_erased_with_them(manager, rater):
    answer(manager, rater, GIVEN)
    assert SECRET in manager.get("/v1/me/export", headers=rater).text
    assert manager.delete("/v1/raters/r1?campaign=c").status_code == 200
    assert manager.get(f"{URL}/answers").json()["items"] == []
    assert SECRET not in manager.get("/v1/campaigns/c/exports/jsonl").text


def test_a_language_biography_can_be_asked(admin):
    asked = admin.get("/v1/questionnaires/language-biography").json()["questions"]
    assert {one["kind"] for one in asked} == {"text", "number", "choice"}
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"})
    put = admin.put(URL, json={"before": asked}, headers={"If-Match": "*"})
    assert (put.status_code, put.json()["before"]) == (200, asked)


REPORT = "/v1/campaigns/c/reports/rater_groups"
RATERS = ("ann", "bob", "cem", "dan", "eli", "fay", "gil")


@pytest.fixture
def judged(admin: httpx.Client, secret: Callable[..., str]) -> httpx.Client:
    """Seven raters judged the same: four answered C1, one B2, two nothing; C1 scores ten lower."""
    manager = admin
    manager.post("/v1/campaigns", json={"key": "c", "protocol": "da_sqm"})
    assert manager.put(URL, json=ASKED, headers={"If-Match": "*"}).status_code == 200
    for rater in RATERS:
        manager.put(f"/v1/campaigns/c/raters/{rater}", json={})
    for rater, level in zip(RATERS, ("C1", "C1", "C1", "C1", "B2"), strict=False):
        own = {"Authorization": f"Bearer {secret('rater', campaign='c', rater=rater)}"}
        assert answer(manager, own, {"level": level, "where": SECRET}).status_code == 200
    given = [
        (rater, f"d{d}", p, system, 80.0 - 20 * s + (3 * d + 5 * p + 2 * s) % 7 - 10 * (n < 4))
        for n, rater in enumerate(RATERS)
        for d in range(3)
        for p in (1, 2)
        for s, system in enumerate("AB")
    ]
    read = manager.post("/v1/campaigns/c/imports", params={"format": "wmt-da-sqm"}, content=as_csv(given))
    assert read.status_code == 200, read.text
    return manager


def test_raters_are_compared_by_their_answers_and_no_group_is_of_few(judged, secret):
    view = judged.get(REPORT).json()
    assert [(one["group"], one["raters"]) for one in view["groups"]] == [("B2 / (no answer)", 3), ("C1", 4)]
    assert [one["severity"] for one in view["groups"]] == pytest.approx([10, -10])
    (pair,) = view["pairs"]
    assert (pair["kendall"], pair["spa"], pair["pearson"]) == (1, 1, pytest.approx(1))
    assert judged.get(REPORT, params={"question": "level"}).json()["groups"] == view["groups"]
    viewer = {"Authorization": f"Bearer {secret('viewer', campaign='c')}"}
    assert judged.get(REPORT, headers=viewer).status_code == 403, "who may not read the answers"
    assert not [rater for rater in RATERS if rater in judged.get(REPORT).text]
    refused = judged.get(REPORT, params={"question": "where"})
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["query", "question"])
    for suffix in (".csv", ".tex", ".md", ".svg"):
        assert judged.get(REPORT + suffix).status_code == 200


def test_groups_follow_changed_answers_and_forget_erased_raters(judged, secret):
    groups = lambda: [(one["group"], one["raters"]) for one in judged.get(REPORT).json()["groups"]]  # noqa: E731
    before = groups()
    for rater in ("fay", "gil"):
        own = {"Authorization": f"Bearer {secret('rater', campaign='c', rater=rater)}"}
        answer(judged, own, {"level": "B2"})
    assert (before, groups()) == ([("B2 / (no answer)", 3), ("C1", 4)], [("B2", 3), ("C1", 4)])
    judged.delete("/v1/raters/eli?campaign=c")
    assert groups() == [("B2 / (no answer)", 3), ("C1", 4)]
