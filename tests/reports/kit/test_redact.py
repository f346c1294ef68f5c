"""A viewer's report names no rater and no task, and loses nothing else."""

from __future__ import annotations

import json

import pytest

from app.reports.kit.redact import hide_names, hide_rater_and_task_keys, hide_raters
from app.reports.kit.report import StoredReport

REPORT = {
    "campaign": "rater-study",
    "systems": [{"system": "rater", "score": 0.5}],
    "pairs": [
        {
            "flips_without": ["rater:anna@x", "document:d1"],
            "influence": {"rater": {"key": "anna@x", "change": 0.25}, "document": {"key": "d1", "change": 1.0}},
        }
    ],
    "recipe": {"exclude": ["rater:bob", "task:HIT7:bob", "system:S"]},
    "warnings": ["constant raters dropped: rater:anna@x, rater:bob and 2 more"],
}


def test_raters_and_tasks_are_hidden_and_the_rest_stays() -> None:
    report = StoredReport(json.dumps(REPORT).encode(), "tag", 3)
    seen = hide_raters(report)
    assert b"anna" not in seen.body
    assert b"bob" not in seen.body
    plain = json.loads(seen.body)
    assert plain["campaign"] == "rater-study"
    assert plain["systems"] == REPORT["systems"]
    pair = plain["pairs"][0]
    assert pair["flips_without"] == ["rater:*", "document:d1"]
    assert pair["influence"] == {"rater": {"key": "*", "change": 0.25}, "document": {"key": "d1", "change": 1.0}}
    assert plain["recipe"]["exclude"] == ["rater:*", "task:*", "system:S"]
    assert plain["warnings"] == ["constant raters dropped: rater:*, rater:* and 2 more"]


def test_the_two_views_have_different_etags() -> None:
    report = StoredReport(b"{}", "tag", 3)
    assert hide_raters(report).etag != report.etag


def test_keys_of_raters_are_hidden_as_whole_words_whatever_stands_in_them() -> None:
    keys = ["zebra", "zebra-bert", "a.b+c", "élan"]
    assert hide_names("Drop zebra-bert; zebra-berta and zebras stay.", keys) == "Drop *; *-berta and zebras stay."
    assert hide_names("A.B+C, aXb+c, ÉLAN (task:zebra).", keys) == "*, aXb+c, * (task:*)."
    assert hide_names("Nobody.", keys) == "Nobody."


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("_zebra_ and __zebra-bert__ stay", "_*_ and __*__ stay"),
        ("drop_ÉLAN, zebra_2, zebra2 and xzebra", "drop_*, *_2, zebra2 and xzebra"),
    ],
)
def test_an_underscore_parts_words(text: str, seen: str) -> None:
    assert hide_names(text, ["zebra", "zebra-bert", "élan"]) == seen
    assert hide_rater_and_task_keys(f"_rater:zebra_ of {text}") == f"_rater:* of {text}"
