"""Judgments written for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from app import formats
from app.formats.base import JudgmentRow, LineLocation, OutputRow, Record, VoidedJudgmentRow
from tests.formats.conftest import Write

HERE = LineLocation("", 0)


def judgment(**other: Any) -> JudgmentRow:
    said: dict[str, Any] = {
        "task": "t1",
        "item": "A:d1",
        "systems": ("A",),
        "document": "d1",
        "position": 1,
        "rater": "r1",
        "payload": {"protocol": "da", "score": 50.0},
    }
    return JudgmentRow(HERE, **{**said, **other})


def written(write: Write, *records: Record, lost: Counter[str] | None = None) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(write("csv", records, lost).decode())))


def test_a_judgment_is_a_row(write: Write) -> None:
    at = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
    errors = [{"severity": "minor", "note": 'a "b", c'}]
    payload = {"protocol": "esa", "score": 0, "errors": errors}
    (row,) = written(write, judgment(payload=payload, systems=("A", "B"), submitted_at=at, revision=2))
    assert (row["system"], row["score"], row["n_errors"], row["revision"]) == ("A+B", "0", "1", "2")
    assert row["errors"] == '[{"note":"a \\"b\\", c","severity":"minor"}]'
    assert row["submitted_at"] == "2026-11-20T09:30:00Z"
    assert (row["started_at"], row["scores"], row["void"]) == ("", "", "")


def test_scores_of_whole_items_and_of_criteria_have_their_place(write: Write) -> None:
    (row,) = written(write, judgment(position=None, payload={"protocol": "rating", "scores": {"b": 1.0, "a": 2.5}}))
    assert (row["position"], row["score"], row["scores"]) == ("", "", '{"a":2.5,"b":1.0}')


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_cell_that_a_spreadsheet_would_run_is_neutralized_and_counted(write: Write, start: str) -> None:
    lost: Counter[str] = Counter()
    (row,) = written(write, judgment(external_id=f"{start}cmd|' /C calc'!A0"), lost=lost)
    assert row["external_id"] == f"'{start}cmd|' /C calc'!A0"
    assert sum(lost.values()) == 1


def test_a_key_that_looks_like_a_formula_is_neutralized_and_a_negative_score_is_not(write: Write) -> None:
    (row,) = written(write, judgment(rater="-r1", payload={"protocol": "da", "score": -1.5}))
    assert (row["rater"], row["score"]) == ("'-r1", "-1.5")


def test_a_void_stands_beside_its_judgment_and_the_order_of_records_is_irrelevant(write: Write) -> None:
    void = VoidedJudgmentRow(HERE, "t1", "A:d1", 1, "r1", "clicked through", "manager")
    other = judgment(item="B:d1", systems=("B",))
    rows = written(write, void, other, judgment())
    assert [(row["system"], row["void"]) for row in rows] == [("A", "clicked through"), ("B", "")]
    assert rows == written(write, judgment(), other, void)


def test_what_has_no_column_is_counted(write: Write) -> None:
    lost: Counter[str] = Counter()
    written(write, OutputRow(HERE, "A", "d1", 1, "=text"), judgment(), lost=lost)
    assert lost == {"texts, and what is known of systems, documents and raters": 1}


def test_it_cannot_be_read() -> None:
    assert formats.get_format("csv").read is None
