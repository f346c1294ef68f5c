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


def test_words_of_the_source_or_of_the_output_that_was_judged(admin, populated, judgments):
    def listed(q, **filters):
        page = admin.get(LIST.format(**populated), params={"q": q, "limit": 200, **filters}).json()
        return [one["id"] for one in page["items"]]

    first = judgments[0]
    where = {"system": first["systems"][0], "document": first["document"]}
    base = f"/v1/campaigns/{populated['campaign']}"
    source = admin.get(f"{base}/documents/{where['document']}").json()["segments"][first["segment"] - 1]["source"]
    outputs = admin.get(f"{base}/systems/{where['system']}/outputs/{where['document']}").json()["segments"]
    word = outputs[first["segment"] - 1]["text"].split()[0].upper()
    assert first["id"] in listed(f"{word} {source.split()[-1]}")
    assert first["id"] in listed(word, **where)
    assert listed(f"{word} nothing-like-this") == []
    table = admin.get(LIST.format(**populated), params={"format": "csv", "q": word})
    assert [int(row["id"]) for row in csv.DictReader(io.StringIO(table.text, newline=""))] == listed(word)


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
