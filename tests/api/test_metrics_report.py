"""The report on automatic metrics: from stored scores to tables and a picture, and where there is little to say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from app.main import create_app
from app.reports.kit import request, store
from app.services.access import tokens
from app.services.data import metrics
from app.services.jobs import report_requests
from app.storage import embedded
from tests.api.conftest import OPTIONS, TestClient
from tests.api.test_agreement_reports import Row, as_csv
from tests.spine import Spine, fresh

NAN = re.compile(r"(?i)(?<![a-z])(nan|-?inf|infinity)(?![a-z])")
SYSTEMS = "ABCDE"


def rows(systems: str = SYSTEMS, raters: tuple[str, ...] = ("ann", "bob"), constant: bool = False) -> list[Row]:
    """Six documents of two segments; later systems are worse."""
    return [
        (rater, f"d{d}", p, system, 50.0 if constant else 90.0 - 7 * s + (3 * d + 5 * p + 11 * s * r) % 9)
        for r, rater in enumerate(raters)
        for d in range(6)
        for p in (1, 2)
        for s, system in enumerate(systems)
    ]


CAMPAIGNS = {
    "usual": rows(),
    "bare": rows(),
    "one-system": rows("A"),
    "one-rater": rows(raters=("ann",)),
    "constant": rows(constant=True),
}


@dataclass(frozen=True)
class World:
    client: Any
    spine: Spine
    secret: str

    def report(self, campaign: str = "usual", **query: str) -> Any:
        kind = report_requests.get_report_kind_by_name("metrics")
        given = {"permutations": "200", **query}
        asking = request.ReportRequest(kind, (campaign,), request.parse_report_options(kind, given))
        return json.loads(store.find_or_compute_report(self.spine.database, asking).body)


@pytest.fixture(scope="module")
def world(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[World]:
    with fresh(postgres, migrated_template) as spine:
        for key, given in CAMPAIGNS.items():
            spine.take(key, "wmt-da-sqm", as_csv(given))
        with psycopg.connect(spine.url) as db:
            db.execute("UPDATE documents SET domain = 'news' WHERE campaign_id = %s", (one_rater(db),))
        with spine.database.transaction() as session:
            secret = tokens.issue_token(session, role="viewer").secret
            for key, given in CAMPAIGNS.items():
                if key != "bare":
                    fill(session, key, given)
        with TestClient(create_app(spine.database, OPTIONS)) as client:
            yield World(client, spine, secret)


def one_rater(db: psycopg.Connection[Any]) -> int:
    ((campaign,),) = db.execute("SELECT id FROM campaigns WHERE key = 'one-rater'").fetchall()
    return int(campaign)


def fill(session: Any, campaign: str, given: list[Row]) -> None:
    """A metric that is a rater's own score, one that is the opposite, and one that knows systems only."""
    # Items count from 0 in these files.
    ann = [(s, d, p + 1, x) for rater, d, p, s, x in given if rater == "ann" and p is not None]
    alike = [metrics.MetricOutputScore(*one) for one in ann]
    metrics.put_metric_scores(session, campaign, "alike", metrics.MetricScoreSet(outputs=alike), actor="test")
    errors = [metrics.MetricOutputScore(s, d, p, 100 - x) for s, d, p, x in ann]
    metrics.put_metric_scores(
        session, campaign, "errors", metrics.MetricScoreSet(higher_is_better=False, outputs=errors), actor="test"
    )
    systems = {key: float(ord(key)) for key in sorted({one[0] for one in ann})}
    metrics.put_metric_scores(session, campaign, "systems", metrics.MetricScoreSet(systems=systems), actor="test")


def test_a_metric_is_judged_by_how_it_orders_systems_and_outputs(world: World) -> None:
    view = world.report()
    by_name = {one["metric"]: one for one in view["metrics"]}
    assert view["systems"] == list(SYSTEMS)
    alike, errors, systems = by_name["alike"], by_name["errors"], by_name["systems"]
    assert (alike["accuracy"], alike["n_pairs"], alike["n_outputs"], alike["n_items"]) == (1.0, 10, 60, 12)
    assert alike["spa"] > 0.9
    # Lower is better for this one, so it says just the same.
    same = ("spa", "accuracy", "pearson", "spearman", "kendall", "output_pearson", "acc_eq")
    assert [errors[name] for name in same] == pytest.approx([alike[name] for name in same])
    assert (systems["accuracy"], systems["spa"], systems["n_outputs"], systems["acc_eq"]) == (0.0, None, 0, None)
    assert systems["spearman"] == pytest.approx(-1.0)
    assert view["metrics"][-1]["metric"] == "systems"


def test_a_rater_alone_is_matched_exactly_by_their_own_scores(world: World) -> None:
    (line,) = [one for one in world.report("one-rater")["metrics"] if one["metric"] == "alike"]
    assert [line[name] for name in ("spa", "acc_eq", "output_pearson")] == pytest.approx([1.0, 1.0, 1.0])


def test_a_single_domain_weighs_as_none(world: World) -> None:
    by_domain = world.report("one-rater", recipe="wmt24-esa")["metrics"]
    (line,) = [one for one in by_domain if one["metric"] == "alike"]
    assert [line[name] for name in ("accuracy", "acc_eq", "output_pearson")] == pytest.approx([1.0, 1.0, 1.0])


def test_figures_are_followed_over_changes_of_the_human_scores(world: World) -> None:
    view = world.report()
    groups = {one["group"]: one for one in view["spread"] if one["metric"] == "alike"}
    assert (groups["system"]["n"], groups["rater"]["n"], groups["lowest"]["n"]) == (5, 2, 1)
    for one in groups.values():
        assert one["spa"][0] <= one["spa"][1]
    # Without anybody else the rater's own scores are what is ranked.
    assert groups["rater"]["spa"][1] == 1.0
    assert world.report(changes="none")["spread"] == []


def test_a_version_before_the_scores_has_none(world: World) -> None:
    kind = report_requests.get_report_kind_by_name("metrics")
    asking = request.ReportRequest(kind, ("usual",), request.parse_report_options(kind, {}), as_of=1)
    view = json.loads(store.find_or_compute_report(world.spine.database, asking).body)
    assert view["metrics"] == []
    assert any("no scores of automatic metrics" in said for said in view["warnings"])


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_little_data_has_a_clear_statement_in_every_shape_and_never_nan(world: World, campaign: str) -> None:
    view = world.report(campaign)
    assert view["warnings"] or campaign in {"usual", "one-rater", "constant"}
    for shape in ("", ".csv", ".md", ".tex", ".svg"):
        path = f"/v1/campaigns/{campaign}/reports/metrics{shape}?permutations=200"
        answer = world.client.get(path, headers={"Authorization": f"Bearer {world.secret}"})
        assert answer.status_code == 200, answer.text
        assert not NAN.search(answer.text)


def difficulty(world: World, campaign: str = "usual", **query: str) -> Any:
    kind = report_requests.get_report_kind_by_name("difficulty")
    asking = request.ReportRequest(kind, (campaign,), request.parse_report_options(kind, query))
    return json.loads(store.find_or_compute_report(world.spine.database, asking).body)


def test_the_map_of_documents_holds_the_scores_of_a_metric_where_it_is_asked_for(world: World) -> None:
    view = difficulty(world, metric="errors")
    assert (view["metric"], view["higher_is_better"], view["dropped"]) == ("errors", False, [])
    ann = [(d, s, 100 - x) for rater, d, p, s, x in rows() if rater == "ann"]
    names = [one["system"] for one in view["systems"]]
    assert sorted(names) == list(SYSTEMS)
    for line in view["documents"]:
        for name, mean, n in zip(names, line["means"], line["counts"], strict=True):
            theirs = [x for d, s, x in ann if (d, s) == (line["document"], name)]
            assert (mean, n) == (pytest.approx(sum(theirs) / 2), 2)
    means = [one["mean"] for one in view["documents"]]
    assert means == sorted(means), "fewest errors first"
    judged = difficulty(world, "one-rater")
    assert [one["means"] for one in difficulty(world, "one-rater", metric="alike")["documents"]] == [
        pytest.approx(one["means"]) for one in judged["documents"]
    ]
    assert judged["data_hash"] != difficulty(world, "one-rater", metric="alike")["data_hash"]


def test_a_metric_without_scores_of_outputs_gives_an_empty_map_and_says_why(world: World) -> None:
    view = difficulty(world, metric="systems")
    assert (view["documents"], view["systems"], view["coverage"]) == ([], [], None)
    assert "no scores of outputs" in view["warnings"][0]
    for shape in (".csv", ".md", ".tex", ".svg"):
        for metric in ("systems", "alike"):
            path = f"/v1/campaigns/usual/reports/difficulty{shape}?metric={metric}"
            answer = world.client.get(path, headers={"Authorization": f"Bearer {world.secret}"})
            assert answer.status_code == 200, answer.text
            assert not NAN.search(answer.text)


@pytest.mark.parametrize(
    ("query", "place"), [({"metric": "nobody"}, "metric"), ({"metric": "alike", "normalize": "z"}, "normalize")]
)
def test_a_map_of_no_such_metric_or_of_z_scores_of_one_is_refused(
    world: World, query: dict[str, str], place: str
) -> None:
    headers = {"Authorization": f"Bearer {world.secret}"}
    answer = world.client.get("/v1/campaigns/usual/reports/difficulty", params=query, headers=headers)
    assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, ["query", place])


def test_two_metrics_are_tested_against_each_other_and_areas_are_given(world: World) -> None:
    view = world.report(changes="none", swaps="50")
    # The metric that knows systems only has no outputs to exchange; the other two order everything alike.
    assert {(one["first"], one["second"]) for one in view["between"]} == {("alike", "errors")}
    assert [one["measure"] for one in view["between"]] == ["spa", "accuracy", "pearson", "output_pearson"]
    for one in view["between"]:
        assert one["value_first"] == pytest.approx(one["value_second"])
        assert (one["p_value"], one["p_adjusted"], one["n_segments"]) == (1.0, 1.0, 12)
    by_name = {one["metric"]: one for one in view["metrics"]}
    assert by_name["alike"]["n_apart"] == by_name["systems"]["n_apart"] > 0
    assert (by_name["alike"]["auc_better"], by_name["systems"]["auc_better"]) == (1.0, 0.0)
    assert world.report(changes="none", swaps="0")["between"] == []
