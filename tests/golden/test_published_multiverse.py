"""Robustness, multiverse and gate of published campaigns, from the public files through Postgres.

Twins: plain Python on the raw scores as they are stored, and the ranking by each universe's own recipe.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.reports.gate.report import REPORT as GATE
from app.reports.inputs import recipe_ratings, snapshot
from app.reports.kit import request, store
from app.reports.kit.request import ReportRequest
from app.services.jobs import report_requests
from tests.spine import Spine, chosen
from tests.stats.robustness.twin import indicators, plain, scaled, wmt_da

pytestmark = pytest.mark.golden


def report(spine: Spine, kind: str, campaign: str, **query: str) -> Any:
    found = GATE if kind == "gate" else report_requests.get_report_kind_by_name(kind)
    body = store.find_or_compute_report(
        spine.database, ReportRequest(found, (campaign,), request.parse_report_options(found, query))
    ).body
    return json.loads(body)


def raw(spine: Spine, campaign: str) -> list[Any]:
    with spine.database.transaction() as session:
        return plain(
            recipe_ratings.load_recipe_ratings(
                session, snapshot.load_snapshot(session, campaign, None), chosen("wmt-da", {})
            )
        )


def test_degraded_references_change_the_ranking_as_plain_arithmetic_does(published: Spine) -> None:
    told = report(
        published, "robustness", "cs-en", recipe="wmt-da", changes="degraded,references,lowest", humans="HUMAN.0"
    )
    rows, human = raw(published, "cs-en"), {"HUMAN.0"}
    before = wmt_da(rows, human)
    for change in told["changes"]:
        if change["group"] != "degraded":
            continue
        after = wmt_da(scaled(rows, human, references=True, divisor=float(change["what"])), human)
        assert (change["after"]["systems"], change["after"]["clusters"]) == after
        assert (change["rank_changed"], change["cluster_changed"], change["swaps"]) == indicators(before, after)
    counts = {group["group"]: group["n"] for group in told["groups"]}
    assert counts == {"references": 1, "lowest": 1, "degraded": 5}


def test_a_universe_claims_what_the_ranking_by_its_recipe_claims(published: Spine) -> None:
    """One choice a dimension is one universe, and its shares are 0 or 1."""
    told = report(
        published, "multiverse", "hi-bn", recipe="wmt-da", normalize="z", tests="rank_sum:segment", adjust="holm"
    )
    choices = {"normalize": "z", "test": "rank_sum", "unit": "segment", "adjust": "holm", "alternative": "two-sided"}
    ranking = published.rank("hi-bn", "wmt-da", **choices)
    assert (told["n"], told["systems"]) == (1, [row["system"] for row in ranking["systems"]])
    theirs = {(row["better"], row["worse"]): float(row["significant"]) for row in ranking["pairs"]}
    assert {(pair["first"], pair["second"]): pair["first_better"] for pair in told["pairs"]} == theirs
    assert {pair["second_better"] for pair in told["pairs"]} == {0.0}


def test_unpaired_campaigns_list_paired_universes_without_counting_them(published: Spine) -> None:
    told = report(published, "multiverse", "hi-bn", recipe="wmt-da")
    counted = {c["choice"] for c in told["choices"] if c["dimension"] == "test"}
    assert counted == {"rank_sum:segment", "rank_sum_legacy:segment", "welch:segment", "welch:document"}
    assert told["n"] == 4 * 3 * 3
    whole = 2 * 6 * 15 * 4  # exclusions, normalizations, tests, adjustments
    assert told["n"] + sum(one["n"] for one in told["missing"]) == whole
    assert any("unpaired design" in one["reason"] for one in told["missing"])


def test_the_gate_says_what_the_published_order_says(published: Spine) -> None:
    asked_of = {"candidate": "HuaweiTSC.1", "baseline": "Online-G.7", "normalize": "none"}
    best = report(published, "gate", "hi-bn", **asked_of)
    assert (best["verdict"], best["paired"], best["replication"]["method"]) == ("better", False, "forecast")
    ranking = published.rank("hi-bn", "recommended", normalize="none")
    pair = next(p for p in ranking["pairs"] if {p["better"], p["worse"]} == {"HuaweiTSC.1", "Online-G.7"})
    assert best["difference"] == pytest.approx(pair["difference"], abs=1e-9)
    five = report(published, "gate", "ted", candidate="ref", baseline="Nemo")
    assert (five["verdict"], five["n_documents"]) == ("no_data", 5)
