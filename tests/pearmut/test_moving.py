"""A running Pearmut moves: users, codes, notes and answers, and every old link goes on where it was."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.errors import Invalid
from app.services.access.tokens import THE_OPERATOR
from app.services.pearmut.running_campaign_import import (
    NoPearmutFolder,
    RunningCampaignImportResult,
    import_running_campaign,
    read_running_campaigns,
)
from app.storage.db import Database
from tests.pearmut.campaigns import DOCUMENTS, FORM, Annotator, campaign

NAME = "wmt"


def answers(score: float) -> list[dict[str, Any]]:
    mark = {"start_i": 0, "end_i": 2, "severity": "minor", "category": None}
    one = {"score": score, "sliders": None, "error_spans": [mark], "textfield": None}
    return [{"Best": one, "Worst": {**one, "score": score - 10}} for _ in range(2)]


def line(user: str, place: int | str, annotation: object, at: float, document: object) -> dict[str, Any]:
    actions = [{"time": at, "action": "load"}, {"time": at + 30, "action": "submit"}]
    return {"annotation": annotation, "actions": actions, "item": document, "user_id": user, "item_i": place}


def user(progress: list[str | None], code: str, **more: Any) -> dict[str, Any]:
    base = {"progress": progress, "progress_welcome": [None], "progress_goodbye": [], "time": 30}
    return {**base, "token_correct": f"{code}1", "token_incorrect": f"{code}0", "note": None, **more}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Half a campaign: ann answered the form, one document twice and another; bob had his reset."""
    given = campaign(campaign_id=NAME, token="0123456789", data_welcome=[FORM])
    log = [
        line("ann", "welcome_0", ["German", 3, None], 10.0, FORM),
        line("ann", 2, answers(50), 100.0, DOCUMENTS[2]),
        line("bob", 1, answers(40), 150.0, DOCUMENTS[1]),
        {"user_id": "bob", "annotation": "__RESET__"},
        line("ann", 2, answers(60), 200.0, DOCUMENTS[2]),
        line("ann", 0, answers(70), 300.0, DOCUMENTS[0]),
    ]
    done, foreign = "completed", "completed_foreign"
    progress = {
        "ann": user([done, None, done], "a", progress_welcome=[done], note="careful"),
        "bob": user([foreign, None, foreign], "b"),
    }
    for name, files in {
        "campaigns": (f"{NAME}.json", json.dumps(given)),
        "progress": (f"{NAME}.json", json.dumps(progress)),
        "annotations": (f"{NAME}.jsonl", "".join(json.dumps(entry) + "\n" for entry in log)),
    }.items():
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / "data" / name / files[0]).write_text(files[1])
    return tmp_path


def move(database: Database, folder: Path, *, old_ids: bool = True) -> RunningCampaignImportResult:
    (running,) = read_running_campaigns(folder)
    with database.transaction() as session:
        return import_running_campaign(session, running, by=THE_OPERATOR, actor="test", old_ids=old_ids)


def test_what_was_done_is_counted_on_both_sides(database: Database, folder: Path) -> None:
    moved = move(database, folder)
    assert (moved.lines, moved.reset, moved.again) == (4, 1, 0)
    ann, bob = moved.users
    assert (ann.user, ann.done_before, ann.done_now, ann.goes_on_at) == ("ann", 2, 2, 1)
    assert (bob.user, bob.done_before, bob.done_now, bob.goes_on_at) == ("bob", 0, 0, "welcome_0")


def test_old_links_go_on_at_the_next_document_and_nothing_is_judged_twice(
    database: Database, folder: Path, pages: httpx.Client
) -> None:
    move(database, folder)
    ann, bob = Annotator(pages, NAME, "ann"), Annotator(pages, NAME, "bob")
    shown = ann.next()
    assert (shown["info"]["item_i"], shown["time"]) == (1, 120)
    assert ann.item(2).json()["payload_existing"]["annotation"][0]["s1"]["score"] in (60, 50)
    bob.send(bob.next(), ["Czech", 1, None])
    ann.judge(shown)

    ends = ann.next(), bob.next()

    assert [end["token"] for end in ends] == ["a1", "b1"]
    with database.transaction() as session:
        rows = session.connection().exec_driver_sql(
            "SELECT count(*), count(DISTINCT (item_id, segment_id)), max(revision) FROM judgments"
        )
        assert tuple(rows.one()) == (16, 12, 2)


def test_the_old_dashboard_says_the_same(database: Database, folder: Path, pages: httpx.Client) -> None:
    move(database, folder)
    token = {"campaign_id": NAME, "token": "0123456789"}
    data = pages.post("/dashboard-data", json=token).json()["data"]
    log = pages.get("/download-annotations", params=token).json()[NAME]
    before = [json.loads(entry) for entry in (folder / f"data/annotations/{NAME}.jsonl").read_text().splitlines()]
    kept = [entry for entry in before if entry["user_id"] == "ann"]
    assert data["ann"]["note"] == "careful"
    assert data["ann"]["progress"] == ["completed", None, "completed"]
    assert data["bob"]["progress"] == ["completed_foreign", None, "completed_foreign"]

    def said(entries: list[dict[str, Any]]) -> list[str]:
        return sorted(json.dumps([entry["item_i"], entry["annotation"]], sort_keys=True) for entry in entries)

    assert said(log) == said(kept)


def test_old_names_are_no_credentials_unless_the_manager_says_so(
    database: Database, folder: Path, pages: httpx.Client
) -> None:
    moved = move(database, folder, old_ids=False)
    assert pages.post("/get-next-item", json={"campaign_id": NAME, "user_id": "ann"}).status_code == 400
    new = Annotator(pages, NAME, moved.added.links[0].credential)
    assert new.next()["info"]["item_i"] == 1
    assert sum(moved.added.unused.values()) == 3


def test_a_task_based_campaign_keeps_each_users_documents(
    database: Database, folder: Path, pages: httpx.Client
) -> None:
    file = folder / f"data/campaigns/{NAME}.json"
    given = json.loads(file.read_text())
    given["info"] |= {"assignment": "task-based"}
    given["data"] = {"bob": copy.deepcopy(DOCUMENTS[:2]), "ann": copy.deepcopy(DOCUMENTS)}
    file.write_text(json.dumps(given))
    moved = move(database, folder)
    assert {one.user: (one.done_now, one.documents) for one in moved.users} == {"ann": (2, 3), "bob": (0, 2)}
    assert Annotator(pages, NAME, "ann").next()["info"]["item_i"] == 1


def test_a_line_that_fits_nothing_is_named_and_nothing_is_stored(database: Database, folder: Path) -> None:
    with (folder / f"data/annotations/{NAME}.jsonl").open("a") as log:
        log.write(json.dumps(line("ann", 7, answers(10), 400.0, DOCUMENTS[0])) + "\n")
    with pytest.raises(Invalid) as refused:
        move(database, folder)
    assert refused.value.places[0].loc == (f"{NAME}.jsonl", 7)
    with database.transaction() as session:
        assert session.connection().exec_driver_sql("SELECT count(*) FROM campaigns").scalar() == 0


def test_a_folder_without_pearmut_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoPearmutFolder):
        read_running_campaigns(tmp_path)
