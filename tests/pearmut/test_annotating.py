"""Annotators on Pearmut's pages: what they are shown, what is kept of what they send, and how they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from app.services.data import exports
from app.services.pearmut.loading import AddedCampaign
from app.storage.db import Database
from tests.pearmut.campaigns import CHECK, DOCUMENTS, FORM, TUTORIAL, Annotator, campaign

Add = Callable[..., AddedCampaign]


def who(pages: httpx.Client, added: AddedCampaign, n: int = 0) -> Annotator:
    return Annotator(pages, added.name, added.links[n].credential)


def test_documents_go_round_once_and_the_code_comes_at_the_end(pages: httpx.Client, added: AddedCampaign) -> None:
    ann, bob = who(pages, added), who(pages, added, 1)
    shown = []
    for annotator in (ann, bob, ann):
        document = annotator.next()
        shown.append(document["info"]["item_i"])
        annotator.judge(document)

    ends = ann.next(), bob.next()

    assert sorted(shown) == [0, 1, 2]
    assert [end["status"] for end in ends] == ["goodbye", "goodbye"]
    assert ends[0]["progress"].count("completed") == 2
    assert ends[0]["progress"].count("completed_foreign") == 1
    assert ends[0]["token"] in ends[0]["info"]["instructions"]
    assert ends[0]["time"] == 60


def test_the_same_document_comes_again_until_it_is_answered(pages: httpx.Client, added: AddedCampaign) -> None:
    ann = who(pages, added)
    assert ann.next()["info"]["item_i"] == ann.next()["info"]["item_i"]


def test_pages_never_learn_whose_the_texts_are_unless_the_campaign_says_so(pages: httpx.Client, add: Add) -> None:
    blind = who(pages, add(campaign())).next()
    told = who(pages, add(campaign(campaign_id="told", info={"show_model_names": True}))).next()

    assert set(blind["payload"][0]["tgt"]) == {"s1", "s2"}
    assert "Best" not in json.dumps(blind)
    assert "Worst" not in json.dumps(blind)
    assert set(told["payload"][0]["tgt"]) == {"Best", "Worst"}


def test_judgments_are_of_the_systems_whose_texts_were_scored(
    pages: httpx.Client, added: AddedCampaign, database: Database
) -> None:
    ann = who(pages, added)
    while (shown := ann.next())["status"] == "ok":
        annotation = [
            {
                model: {
                    "score": 90 if text.startswith("Gut") else 20,
                    "error_spans": [{"start_i": 0, "end_i": 2, "severity": "minor", "category": None}],
                    "textfield": None,
                }
                for model, text in item["tgt"].items()
            }
            for item in shown["payload"]
        ]
        assert ann.send(shown, annotation).json() == "ok"

    lines = b"".join(exports.export_campaign(database, added.key, "jsonl")).splitlines()
    judged = [line for line in map(json.loads, lines) if line.get("type") == "judgment"]
    assert {(line["systems"][0], line["payload"]["score"]) for line in judged} == {("Best", 90), ("Worst", 20)}
    assert all(line["payload"]["errors"][0]["end"] == 3 for line in judged)
    assert len(judged) == 12


def test_what_is_sent_again_counts_once(pages: httpx.Client, added: AddedCampaign, database: Database) -> None:
    ann = who(pages, added)
    shown = ann.next()
    for _ in range(3):
        ann.judge(shown)

    with database.transaction() as session:
        counts = [
            session.connection().exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
            for table in ("judgments", "pearmut_answers")
        ]
    assert counts == [4, 1]
    assert ann.next()["info"]["item_i"] != shown["info"]["item_i"]


def test_what_is_sent_otherwise_later_is_a_revision_and_the_last_is_shown(
    pages: httpx.Client, added: AddedCampaign, database: Database
) -> None:
    ann = who(pages, added)
    shown = ann.next()
    ann.judge(shown, 50)
    ann.judge(shown, 60, comment="better")

    again = ann.item(shown["info"]["item_i"]).json()["payload_existing"]

    with database.transaction() as session:
        rows = session.connection().exec_driver_sql("SELECT max(revision), count(*) FROM judgments").one()
    assert tuple(rows) == (2, 8)
    assert again["annotation"][0]["s1"]["score"] == 60
    assert again["comment"] == "better"
    with database.transaction() as session:
        kept = session.connection().exec_driver_sql("SELECT text, screen IS NOT NULL FROM comments").all()
    assert [tuple(row) for row in kept] == [("better", True)]


def test_a_document_that_is_not_judged_as_a_whole_is_refused_by_its_place(
    pages: httpx.Client, added: AddedCampaign
) -> None:
    ann = who(pages, added)
    shown = ann.next()
    answer = {"score": 50, "error_spans": [], "textfield": None}
    half = ann.send(shown, [{"s1": answer, "s2": {**answer, "score": None}}, {"s1": answer, "s2": answer}])
    wrong = ann.send(shown, [{"s3": answer}, {}])
    odd = ann.send(shown, [{"s1": {**answer, "score": "high"}, "s2": answer}] * 2)

    assert half.status_code == wrong.status_code == odd.status_code == 400
    assert "payload.annotation.0" in half.json()
    assert "s3 was not shown" in wrong.json()


def test_a_skipped_document_is_kept_and_not_shown_again(pages: httpx.Client, added: AddedCampaign) -> None:
    ann = who(pages, added)
    shown = ann.next()
    none = {model: {"score": None, "error_spans": [], "textfield": None} for model in ("s1", "s2")}
    skip = [{"time": 1.0, "action": "load"}, {"time": 2.0, "action": "submit_skip"}]
    assert ann.send(shown, [none, none], actions=skip).json() == "ok"

    after = ann.next()

    assert after["info"]["item_i"] != shown["info"]["item_i"]
    assert after["progress"].count("completed") == 1


def test_welcome_comes_first_and_its_loud_rules_warn_on_the_page(pages: httpx.Client, add: Add) -> None:
    ann = who(pages, add(campaign(data_welcome=[FORM, TUTORIAL], data_goodbye=[FORM])))
    form = ann.next()
    assert (form["status"], form["info"]["item_i"]) == ("form", "welcome_0")
    assert ann.item(0).status_code == 400
    ann.send(form, ["German", 3, None])

    tutorial = ann.next()

    names = {text: name for name, text in tutorial["payload"][0]["tgt"].items()}
    rules = tutorial["payload"][0]["validation"]
    assert rules[names["Gut."]]["score_greaterthan"] == names["Schlecht."]
    assert tutorial["progress_welcome"] == ["completed", None]
    assert ann.item("welcome_0").json()["payload_existing"]["annotation"] == ["German", 3, None]


def test_forms_are_questionnaires_of_both_pages(pages: httpx.Client, add: Add, database_url: str) -> None:
    """Pearmut's page asks them itself, and what it sends is kept as answers; words alone ask nothing."""
    ann = who(pages, add(campaign(data_welcome=[FORM, TUTORIAL], data_goodbye=[FORM])))
    with psycopg.connect(database_url) as connection:
        ((asked,),) = connection.execute("SELECT settings -> 'questionnaires' FROM campaigns").fetchall()
    assert [one["kind"] for one in asked["before"]] == ["text", "number", "note"]
    ann.send(ann.next(), ["German", "not a number", None])
    with psycopg.connect(database_url) as connection:
        kept = connection.execute("SELECT moment, n, answers FROM questionnaire_answers").fetchall()
    assert kept == [("before", 1, {"welcome_1_1": "German"})]


def test_silent_rules_stay_here_and_decide_the_code(pages: httpx.Client, add: Add) -> None:
    users = [{"user_id": name, "token_pass": f"{name}-yes", "token_fail": f"{name}-no"} for name in ("ann", "bob")]
    given = campaign(info={"users": users, "assignment": "task-based"}, data=[[CHECK], [CHECK]])
    given["data"] = [[CHECK, DOCUMENTS[0]], [CHECK, DOCUMENTS[1]]]
    added = add(given)
    codes = []
    for n, score in enumerate((5, 95)):
        annotator = who(pages, added, n)
        check = annotator.next()
        assert check["info"]["item_i"] == 0
        assert "validation" not in check["payload"][0]
        annotator.judge(check, score, validations=[True])
        annotator.judge(annotator.next())
        codes.append(annotator.next()["token"])
    assert codes == ["ann-yes", "bob-no"]


def test_random_checks_come_between_documents_each_once(pages: httpx.Client, add: Add) -> None:
    added = add(campaign(data_random=[CHECK, CHECK], info={"data_random_prob": 1.0, "users": ["ann"]}))
    ann = who(pages, added)
    seen = []
    while (shown := ann.next())["status"] == "ok":
        seen.append(shown["info"]["item_i"])
        ann.judge(shown, 5)
    assert sorted(map(str, seen)) == ["0", "1", "2", "random_0", "random_1"]


def test_docs_per_user_ends_the_work(pages: httpx.Client, add: Add) -> None:
    ann = who(pages, add(campaign(info={"docs_per_user": 1})))
    ann.judge(ann.next())
    assert ann.next()["status"] == "goodbye"


def test_members_of_an_answer_of_another_kind_are_refused_by_their_place(
    pages: httpx.Client, added: AddedCampaign
) -> None:
    ann = who(pages, added)
    shown = ann.next()
    kinds = {"score": int, "error_spans": list, "sliders": dict, "textfield": str}
    for name, kind in kinds.items():
        for value in (False, 0, "", [], {}, "x", [1]):
            if type(value) is kind and value != [1]:
                continue
            annotation: list[dict[str, dict[str, object]]] = [
                {model: {"score": 75, "error_spans": [], "textfield": None} for model in item["tgt"]}
                for item in shown["payload"]
            ]
            next(iter(annotation[1].values()))[name] = value
            answer = ann.send(shown, annotation)
            assert (answer.status_code, "annotation" in answer.text) == (400, True), (name, value, answer.text)
    ann.judge(shown)


def test_nobody_sees_a_document_of_somebody_else(pages: httpx.Client, added: AddedCampaign) -> None:
    ann, bob = who(pages, added), who(pages, added, 1)
    shown = ann.next()
    ann.judge(shown)
    assert bob.item(shown["info"]["item_i"]).status_code == 400


@pytest.mark.parametrize("user", ["ann", "plb_000000000000_" + "A" * 43, ""])
def test_a_name_is_no_credential(pages: httpx.Client, added: AddedCampaign, user: str) -> None:
    answer = pages.post("/get-next-item", json={"campaign_id": added.name, "user_id": user})
    assert answer.status_code == 400
    assert isinstance(answer.json(), str)


def test_old_names_are_credentials_where_the_manager_says_so(pages: httpx.Client, add: Add) -> None:
    added = add(campaign(token="0123456789"), old_ids=True)
    ann = Annotator(pages, added.name, "ann")
    ann.judge(ann.next())
    assert added.token == "0123456789"
    data = pages.post("/dashboard-data", json={"campaign_id": added.name, "token": "0123456789"}).json()
    assert data["data"]["ann"]["progress"].count("completed") == 1


def test_an_address_that_tries_many_names_has_to_wait(pages: httpx.Client, added: AddedCampaign) -> None:
    statuses = [
        pages.post("/get-next-item", json={"campaign_id": added.name, "user_id": f"guess-{n}"}).status_code
        for n in range(40)
    ]
    assert statuses[0] == 400
    assert statuses[-1] == 429


def test_sliders_are_criteria(pages: httpx.Client, add: Add, database: Database) -> None:
    sliders = [
        {"name": "Fluency 1", "min": 0, "max": 5, "step": 1},
        {"name": "Adequacy", "min": 1, "max": 6, "step": 1},
    ]
    added = add(campaign(info={"protocol": "XSTSRP", "sliders": sliders, "users": ["ann"]}))
    ann = who(pages, added)
    shown = ann.next()
    answer: dict[str, Any] = {"score": None, "sliders": {"Fluency 1": 4, "Adequacy": 2}, "error_spans": []}
    assert ann.send(shown, [dict.fromkeys(item["tgt"], answer) for item in shown["payload"]]).json() == "ok"
    with database.transaction() as session:
        payload = session.connection().exec_driver_sql("SELECT payload FROM judgments LIMIT 1").scalar()
    assert sorted(payload["scores"].values()) == [2, 4]
