"""Judgments by what they mark, as pages and as tables, and by day."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

import httpx
import pytest

LIST = "/v1/campaigns/{campaign}/judgments"


def errors(judgment):
    return judgment["payload"].get("errors", [])


@pytest.fixture
def judgments(admin: httpx.Client, populated: dict[str, str]):
    return admin.get(LIST.format(**populated), params={"limit": 200}).json()["items"]


def test_a_severity_and_the_beginning_of_a_category(admin, populated, judgments):
    def listed(**filters):
        return [one["id"] for one in admin.get(LIST.format(**populated), params=filters).json()["items"]]

    major = [one["id"] for one in judgments if any(error["severity"] == "major" for error in errors(one))]
    fluency = [one["id"] for one in judgments if any(error["category"].startswith("Flu") for error in errors(one))]
    assert (len(major), len(fluency) > 0) == (2, True)
    assert listed(severity="major") == major
    assert listed(category="Flu") == fluency
    assert listed(severity="major", category="Flu") == sorted(set(major) & set(fluency))
    assert listed(severity="major", system="B") == []
    assert listed(severity='" || true') == []


@pytest.mark.parametrize(("shape", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_tables_hold_the_same_judgments_as_the_pages(admin, populated, judgments, shape, delimiter):
    answer = admin.get(LIST.format(**populated), params={"format": shape, "severity": "minor"})
    rows = list(csv.DictReader(io.StringIO(answer.text, newline=""), delimiter=delimiter))
    expected = [one for one in judgments if any(error["severity"] == "minor" for error in errors(one))]
    assert [(int(row["id"]), row["rater"], row["systems"]) for row in rows] == [
        (one["id"], one["rater"], " ".join(one["systems"])) for one in expected
    ]


def test_days_count_every_judgment_once(admin, populated, judgments):
    answer = admin.get("/v1/campaigns/{campaign}/progress/days".format(**populated)).json()
    assert answer["complete"]
    assert answer["days"] == [{"day": datetime.now(UTC).date().isoformat(), "judgments": len(judgments)}]
