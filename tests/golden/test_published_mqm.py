"""MQM of TED 2021 en-de, from the public file through Postgres to the published figures.

Sources: wmt-mqm-human-evaluation, ted/ende (official_*), and expected/mqm_ted.json.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable

import pytest

from app.reports.ranking import report as ranking_report
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.stats.ranking.result import SegmentScoreTable
from tests.spine import TED, Spine, chosen, expected, plumbline, shared

pytestmark = pytest.mark.golden
Scores = dict[tuple[str, str, int], float]


def expected_means() -> list[tuple[str, float]]:
    systems = expected("mqm_ted.json")["ende"]["systems_ranked"]
    return [(their["system"].replace("ref.A", "ref"), their["mqm"]) for their in systems]


def published_segments() -> Scores:
    """Official averages, named by talk and position as the data name them."""
    rows = [line.split("\t") for line in shared("mqm_ted_ende/mqm_ted_ende.tsv.gz").decode().split("\n")[1:-1]]
    place = {int(row[3]): (row[1], int(row[2])) for row in rows}
    lines = shared("mqm_ted_ende/official_avg_seg_scores.tsv.gz").decode().splitlines()[1:]
    cells = [line.split() for line in lines]
    return {(s.replace("ref-A", "ref"), *place[int(i)]): -float(x) for s, x, i in cells if x != "None"}


def by_name(table: SegmentScoreTable) -> Scores:
    codes = zip(table.system, table.document, table.position, table.score, strict=True)
    return {(table.systems[s], table.documents[d], int(p)): float(score) for s, d, p, score in codes}


def assert_same(ours: Scores, theirs: Scores) -> None:
    assert len(theirs) == 7406
    assert ours.keys() == theirs.keys()
    assert max(abs(ours[key] - theirs[key]) for key in ours) < 1e-9


def test_fourteen_system_means_are_met(published: Spine) -> None:
    ranking = published.rank("ted", "google-mqm")
    assert [row["system"] for row in ranking["systems"]] == [name for name, _ in expected_means()]
    for row, (_, mean) in zip(ranking["systems"], expected_means(), strict=True):
        assert row["score"] == pytest.approx(mean, abs=1e-9)
        assert (row["n_segments"], row["n_documents"], row["n_ratings"]) == (529, 5, 529)
    assert ranking["higher_is_better"] is False


def test_7406_segment_averages_are_met(published: Spine) -> None:
    ranking = ranking_report.compute_ranking(published.database, "ted", recipe=chosen("google-mqm", {}))
    assert_same(by_name(ranking.segments), published_segments())


def test_the_command_gives_the_same_means_and_segment_averages(published: Spine) -> None:
    means = plumbline(published.url, "rank", "ted", "--recipe", "google-mqm", "--json")
    assert means.returncode == 0, means.stderr
    assert json.loads(means.stdout) == published.rank("ted", "google-mqm")
    asked = ("rank", "ted", "--recipe", "google-mqm", "--csv", "--table", "segments")
    rows = list(csv.DictReader(io.StringIO(plumbline(published.url, *asked).stdout.decode())))
    assert_same(
        {(r["system"], r["document"], int(r["position"])): float(r["score"]) for r in rows}, published_segments()
    )


def test_recommended_names_what_five_documents_cannot_show(published: Spine) -> None:
    ranking = published.rank("ted", "recommended")
    assert not any(pair["testable"] for pair in ranking["pairs"])
    assert ranking["documents_needed"] == 12  # 1 + log2(91 / .05) = 11.8


def slow_means(weigh: Callable[[str, str], float], cap: float = math.inf) -> dict[str, float]:
    """System means straight from the rows: a sum a segment, one rater a segment, 529 segments a system."""
    rows = [line.split("\t") for line in shared("mqm_ted_ende/mqm_ted_ende.tsv.gz").decode().split("\n")[1:-1]]
    sums: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        sums.setdefault((row[0], row[1], row[2]), []).append(weigh(row[8], row[7]))
    systems: dict[str, list[float]] = {}
    for (system, _, _), weights in sums.items():
        systems.setdefault(system, []).append(min(math.fsum(weights), cap))
    return {system: math.fsum(given) / len(given) for system, given in systems.items()}


def esa_mqm(severity: str, category: str) -> float:
    return 0.1 if "Punctuation" in category else {"Minor": 1.0, "Major": 5.0}.get(severity, 0.0)


def freitag2021(severity: str, category: str) -> float:
    return 0.1 if (severity, category) == ("Minor", "Fluency/Punctuation") else esa_mqm(severity, category.lower())


@pytest.mark.parametrize(
    ("scoring", "weigh", "cap"),
    [
        ("spans", freitag2021, math.inf),
        ("spans:freitag2021:5", freitag2021, 5.0),
        ("spans:esa-mqm", esa_mqm, math.inf),
        ("spans:esa-mqm:7.5", esa_mqm, 7.5),
    ],
)
def test_other_weights_derived_on_demand_are_those_computed_from_the_rows(
    published: Spine, scoring: str, weigh: Callable[[str, str], float], cap: float
) -> None:
    rows = published.rank("ted", "google-mqm", scoring=scoring)["systems"]
    assert {row["system"]: row["score"] for row in rows} == pytest.approx(slow_means(weigh, cap), abs=1e-9)


def test_weights_derived_on_demand_equal_those_of_a_campaign_that_has_them(published: Spine) -> None:
    with published.database.transaction() as session:
        campaigns.create_campaign(
            session, NewCampaign(key="own", protocol="mqm", options={"weights": "esa-mqm"}), actor="test"
        )
    published.take("own", "mqm-tsv", shared(TED))
    derived = published.rank("ted", "google-mqm", scoring="spans:esa-mqm")
    own = published.rank("own", "google-mqm")
    assert (derived["systems"], derived["pairs"], derived["data_hash"]) == (
        own["systems"],
        own["pairs"],
        own["data_hash"],
    )
