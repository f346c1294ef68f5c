"""Marked errors that the weights do not know weigh 0, and whoever imports or ranks them is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from app.reports.gate import report as gate
from app.reports.kit import request, store
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.storage import embedded
from tests.services.data.test_imports import MQM, judgment, lines, void
from tests.spine import Spine, fresh

CRITICAL = MQM.replace("Style/Awkward\tMajor", "Other\tCritical", 1)
DO = "; add the kind to the weights, or choose others"
WARNING = f"no weight for critical/Other: 1 error counts 0{DO}"
PLAIN = {"normalize": "none"}


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("plain", "mqm-tsv", MQM.encode())
        found.take("critical", "mqm-tsv", CRITICAL.encode())
        for name, weights in (("wmt24", "wmt24"), ("own", {"Minor": 1, "Critical/Other": 9})):
            with found.database.transaction() as session:
                new = NewCampaign(key=name, protocol="mqm", options={"weights": weights})
                campaigns.create_campaign(session, new, actor="test")
            found.take(name, "mqm-tsv", CRITICAL.encode())
        yield found


def told(spine: Spine, campaign: str, as_of: int | None = None, **options: str) -> list[str]:
    """What a ranking says of weights."""
    warnings = spine.rank(campaign, "recommended", as_of, **PLAIN, **options)["warnings"]
    return [warning for warning in warnings if "weigh" in warning]


def mqm(system: str, document: str, *errors: tuple[str, str | None], **other: Any) -> dict[str, Any]:
    """An answer that marks errors of these severities and categories."""
    marked = [{"severity": severity, "category": category} for severity, category in errors]
    return judgment(system, document, payload={"protocol": "mqm", "errors": marked}, **other)


def test_an_import_reports_what_its_weights_do_not_know(spine: Spine) -> None:
    report = spine.take("dry", "mqm-tsv", CRITICAL.encode(), dry_run=True)
    assert report["notes"]["no weight for critical/Other: it weighs 0"] == 1


def test_a_ranking_warns_of_errors_that_weigh_nothing_for_want_of_a_weight(spine: Spine) -> None:
    assert told(spine, "critical") == [WARNING]
    assert told(spine, "plain") == []


def test_a_gate_warns_as_its_ranking_does(spine: Spine) -> None:
    for campaign, warnings in (("critical", [WARNING]), ("plain", [])):
        question = gate.GateOptions(candidate="A", baseline="B", normalize="none")
        body = store.find_or_compute_report(
            spine.database, request.ReportRequest(gate.REPORT, (campaign,), question)
        ).body
        assert [warning for warning in json.loads(body)["warnings"] if "weigh" in warning] == warnings


def test_weights_that_a_recipe_asks_for_are_looked_at_and_not_the_campaigns_own(spine: Spine) -> None:
    assert told(spine, "wmt24") == []
    assert told(spine, "wmt24", scoring="spans:freitag2021") == [WARNING]
    assert told(spine, "wmt24", scoring="spans:freitag2021:3") == [WARNING], "rows stand in another order under a cap"
    assert told(spine, "critical", scoring="spans:esa-mqm") == []


def test_a_weight_for_the_category_is_a_weight_where_none_is_for_the_severity(spine: Spine) -> None:
    n_major = CRITICAL.count("\tMajor\t")
    assert told(spine, "own") == [f"no weight for major/Style/Awkward: {n_major} errors count 0{DO}"]


def test_only_errors_of_judgments_that_count_are_counted_once_each(spine: Spine) -> None:
    bad = ("critical", None)
    rows = [mqm(s, f"d{d}", ("minor", "Other")) for d in range(1, 8) for s in "AB"]
    rows[0] = mqm("A", "d1", bad, ("critical", "Other"), bad, systems=["A", "B"], item="shared")
    rows[1] = mqm("C", "d1", bad)
    spine.take("counted", "jsonl", lines(*rows))
    assert told(spine, "counted") == [f"no weight for critical: 3 errors count 0{DO}", WARNING]
    assert told(spine, "counted", exclude="system:C") == [f"no weight for critical: 2 errors count 0{DO}", WARNING]
    spine.take("counted", "jsonl", lines(void("C", "d1"), mqm("A", "d1", bad, systems=["A", "B"], item="shared")))
    assert told(spine, "counted") == [f"no weight for critical: 1 error counts 0{DO}"], "revised, and set aside"
    assert told(spine, "counted", as_of=1) == [f"no weight for critical: 3 errors count 0{DO}", WARNING]


def test_many_kinds_of_errors_without_a_weight_are_summed_up(spine: Spine) -> None:
    kinds = [("critical", f"kind {n:02d}") for n in range(10)]
    spine.take("many", "jsonl", lines(*(mqm(s, f"d{d}", *kinds) for d in range(1, 8) for s in "AB")))
    warnings = told(spine, "many")
    assert warnings[0] == f"no weight for critical/kind 00: 14 errors count 0{DO}"
    assert warnings[8:] == [
        "no weight for 2 more kinds of errors: 28 errors count 0; add the kinds to the weights, or choose others"
    ]
