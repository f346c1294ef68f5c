"""Judgments made elsewhere, of accounts that are one person: nobody fills the second rating of what they rated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.storage.db import Database
from tests.api.test_judgments_of_plans import named, send, whole
from tests.collecting import Collecting, collect

Ask = Callable[[str], list[tuple[Any, ...]]]
TYPE = "urn:plumbline:problem:judged-by-the-person"
STORED = "SELECT count(*) FROM judgments"


@pytest.fixture
def live(database: Database) -> Collecting:
    """Two ratings of each of two documents, dealt to two accounts of ann, and one to c."""
    persons = {"a": "ann", "b": "ann"}
    return collect(database, ratings=2, raters=("a", "b"), persons=persons, pooled=False)


def test_the_second_rating_of_what_another_account_judged_is_refused_at_its_place(
    admin: httpx.Client, live: Collecting, ask_rows: Ask
) -> None:
    assert send(admin, *whole("a", "doc1"))["planned"] == 4

    refused = send(admin, named("b", "doc2", 1, "sysA", 3), named("b", "doc1", 2, "sysB", 3), status=409)

    assert refused["type"] == TYPE
    assert [fault["loc"] for fault in refused["errors"]] == [["body", 1, "rater"]]
    assert ask_rows(STORED) == [(4,)]
    assert send(admin, *whole("b", "doc2"))["planned"] == 4, "what only one of them has is taken"
    assert send(admin, *whole("a", "doc1"))["unchanged"] == 4, "and what is known stays known"


def test_other_segments_of_a_text_are_not_what_the_other_account_judged(admin: httpx.Client, live: Collecting) -> None:
    assert send(admin, named("a", "doc1", 1, "sysA", 3))["judgments"] == 1
    assert send(admin, named("b", "doc1", 1, "sysA", 3), status=409)["type"] == TYPE
    assert send(admin, named("b", "doc1", 2, "sysA", 3))["judgments"] == 1


def test_what_another_account_is_at_is_refused_and_what_is_only_dealt_to_it_is_not(
    admin: httpx.Client, live: Collecting, ask_rows: Ask
) -> None:
    assert admin.post("/v1/campaigns/live/lease", headers=live.auth("a")).json()["task"] is not None
    ((document,),) = ask_rows(
        "SELECT DISTINCT d.key FROM tasks t JOIN items i ON i.task_id = t.id"
        " JOIN documents d ON d.id = i.document_id WHERE t.state = 'leased'"
    )
    other = {"doc1": "doc2", "doc2": "doc1"}[document]
    assert send(admin, *whole("b", document), status=409)["type"] == TYPE
    assert send(admin, *whole("b", other))["judgments"] == 4


def test_two_accounts_of_one_person_do_not_judge_one_output_in_one_request(
    admin: httpx.Client, live: Collecting, ask_rows: Ask
) -> None:
    refused = send(admin, named("a", "doc1", 1, "sysA", 3), named("b", "doc1", 1, "sysA", 4), status=409)
    assert [fault["loc"] for fault in refused["errors"]] == [["body", 1, "rater"]]
    assert ask_rows(STORED) == [(0,)]


def test_accounts_of_two_persons_judge_the_same(admin: httpx.Client, database: Database) -> None:
    """The control."""
    collect(database, ratings=2, raters=("a", "b"), persons={"a": "ann", "b": "ben"}, pooled=False)
    assert send(admin, *whole("a", "doc1"), *whole("b", "doc1"))["judgments"] == 8
