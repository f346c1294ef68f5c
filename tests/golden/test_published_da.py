"""WMT21 direct assessment, from the public files through Postgres to the published figures.

Sources: wmt21-news-systems, humaneval/facebook-wikipedia-2021 and humaneval/newstest2021-toen (official_*), and what an
independent implementation computed on them (expected/da_*.json).
"""

from __future__ import annotations

import gzip
import json
import random
from typing import Any

import numpy as np
import pytest

from app.reports.gate.report import REPORT as GATE
from app.reports.gate.view import GateView, make_tables
from app.reports.inputs import recipe_ratings, snapshot
from app.reports.kit.request import ReportRequest, parse_report_options
from app.reports.kit.store import find_or_compute_report
from app.stats.normalize import compute_moments_per_rater
from tests.spine import BN_HI, CS_EN, HI_BN, SHARED, Spine, chosen, expected, plumbline, shared, without_version

pytestmark = pytest.mark.golden
WIKIPEDIA = pytest.mark.parametrize("pair", ["bn-hi", "hi-bn"])
PATHS = {"bn-hi": BN_HI, "hi-bn": HI_BN}
RULES = {
    "wmt21": "official: wins over ANY system == number of lower-ranked systems",
    "paper": "knowles2021: significantly better than every lower-ranked system",
}


def wikipedia(pair: str) -> Any:
    return expected("da_wikipedia2021.json")[pair]


def table(path: str) -> list[list[str]]:
    """Rows of an official file, without its header."""
    text = (SHARED / "data" / path).read_text()
    return [[cell.strip('"') for cell in line.split()] for line in text.splitlines()[1:] if line.strip()]


def published_clusters(path: str) -> list[tuple[str, int]]:
    number, result = 1, []
    for row in table(path):
        result.append((row[7], number))
        number += row[6] == "True"
    return result


@WIKIPEDIA
def test_worker_means_are_met_by_the_stored_ratings(published: Spine, pair: str) -> None:
    with published.database.transaction() as session:
        asked = snapshot.load_snapshot(session, pair, None)
        ratings = recipe_ratings.load_recipe_ratings(session, asked, chosen("wmt-da", {}))
    moments = compute_moments_per_rater(ratings)
    theirs = wikipedia(pair)["workers"]
    assert sorted(theirs) == sorted(ratings.labels.raters)
    for name, worker in theirs.items():
        i = ratings.labels.raters.index(name)
        assert (moments.mean[i], moments.sd[i]) == pytest.approx((worker["mean"], worker["sd_ddof1"]), abs=1e-9)
        assert moments.n[i] == worker["n"]


@WIKIPEDIA
def test_scores_counts_wins_and_order_are_met(published: Spine, pair: str) -> None:
    rows = published.rank(pair, "wmt-da")["systems"]
    theirs = wikipedia(pair)["systems"]
    assert [row["system"] for row in rows] == [their["system"] for their in theirs]
    for row, their in zip(rows, theirs, strict=True):
        assert row["score"] == pytest.approx(their["z"], abs=1e-9)
        assert row["score"] == pytest.approx(their["published"]["z"], abs=3e-7)
        assert row["raw"] == pytest.approx(their["raw"], abs=1e-9)
        assert (row["n_segments"], row["n_ratings"]) == (their["n_segments"], their["published"]["n_all"])
        assert (row["wins"], row["losses"]) == (their["wins"], their["losses"])


@WIKIPEDIA
def test_every_p_value_is_met_in_both_directions(published: Spine, pair: str) -> None:
    theirs = wikipedia(pair)["p_values"]
    pairs = published.rank(pair, "wmt-da")["pairs"]
    assert len(pairs) == 36
    for row in pairs:
        assert row["p_value"] == pytest.approx(theirs[row["better"]][row["worse"]], abs=1e-9)
        assert row["p_reverse"] == pytest.approx(theirs[row["worse"]][row["better"]], abs=1e-9)


@WIKIPEDIA
@pytest.mark.parametrize("rule", RULES)
def test_clusters_are_the_documented_ones_by_each_rule(published: Spine, pair: str, rule: str) -> None:
    rows = published.rank(pair, "wmt-da", clusters=rule)["systems"]
    assert [row["cluster"] for row in rows] == wikipedia(pair)["cluster_of_each_system"][RULES[rule]]
    if rule == "wmt21":
        official = published_clusters(f"da_wikipedia2021_{pair}/official_clusters.csv")
        assert [(row["system"], row["cluster"]) for row in rows] == official


def test_the_two_rules_differ_on_hi_bn_only(published: Spine) -> None:
    """Control of the test above: a rule that is not applied would pass for one of the pairs."""
    drawn = {
        (pair, rule): [row["cluster"] for row in published.rank(pair, "wmt-da", clusters=rule)["systems"]]
        for pair in PATHS
        for rule in RULES
    }
    assert drawn["bn-hi", "wmt21"] == drawn["bn-hi", "paper"]
    assert drawn["hi-bn", "wmt21"] != drawn["hi-bn", "paper"]


def test_the_command_gives_the_same_ranking(published: Spine) -> None:
    answer = plumbline(published.url, "rank", "hi-bn", "--recipe", "wmt-da", "--clusters=paper", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == published.rank("hi-bn", "wmt-da", clusters="paper")


def newstest() -> Any:
    return expected("da_toen.json")["2021 cs-en"]


def test_newstest_is_met_from_raw_ratings(published: Spine) -> None:
    rows = published.rank("cs-en", "wmt-da")["systems"]
    raw = {row["system"]: row["raw"] for row in newstest()["from_published_segment_scores"]["systems"]}
    theirs = newstest()["from_ratings"]["systems"]
    assert [row["system"] for row in rows] == [their["system"] for their in theirs]
    for row, their in zip(rows, theirs, strict=True):
        assert row["raw"] == pytest.approx(raw[row["system"]], abs=1e-9)
        assert row["score"] == pytest.approx(their["z"], abs=1e-7)
        assert (row["n_segments"], row["wins"], row["losses"]) == (their["n_segments"], their["wins"], their["losses"])
        assert row["n_documents"] is None
    official = published_clusters("da_newstest2021_cs-en/official_clusters.csv")
    assert [(row["system"], row["cluster"]) for row in rows] == official


def test_newstest_p_values_are_within_one_per_cent_of_the_published(published: Spine) -> None:
    path = "da_newstest2021_cs-en/official_wilcoxon_pvalues.csv"
    names = [cell.strip('"') for cell in (SHARED / "data" / path).read_text().split("\n")[0].split()]
    cells = {(row[0], worse): float(cell) for row in table(path) for worse, cell in zip(names, row[1:], strict=True)}
    significant = {key: p for key, p in cells.items() if p != 0.12}  # the files' mark for "not significant"
    found = {(pair["better"], pair["worse"]): pair for pair in published.rank("cs-en", "wmt-da")["pairs"]}
    assert {key for key, pair in found.items() if pair["significant"]} == set(significant)
    for key, p in significant.items():
        assert found[key]["p_value"] == pytest.approx(p, rel=0.01)


def test_newstest_is_met_from_standardised_ratings(published: Spine) -> None:
    rows = published.rank("cs-en-z", "wmt-da", normalize="none")["systems"]
    theirs = newstest()["from_ratings"]["systems"]
    assert [row["system"] for row in rows] == [their["system"] for their in theirs]
    for row, their in zip(rows, theirs, strict=True):
        assert row["score"] == pytest.approx(their["z"], abs=1e-12)
        assert (row["n_segments"], row["wins"], row["losses"]) == (their["n_segments"], their["wins"], their["losses"])


def shuffled(data: bytes, seed: int) -> bytes:
    header, *rows = data.splitlines()
    random.Random(seed).shuffle(rows)
    return b"\n".join([header, *rows, b""])


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_a_shuffled_import_gives_the_same_bytes(published: Spine, seed: int) -> None:
    published.take(f"shuffled-{seed}", "wmt-da", shuffled(shared(CS_EN), seed))
    ours, theirs = (published.body(campaign, "wmt-da") for campaign in (f"shuffled-{seed}", "cs-en"))
    assert without_campaign(ours) == without_campaign(theirs)


def without_campaign(body: bytes) -> bytes:
    plain = json.loads(without_version(body))
    del plain["campaign"]
    return json.dumps(plain).encode()


def test_the_filtered_and_the_unfiltered_file_count_as_wmt_counts_them(published: Spine) -> None:
    """Rejected HITs leave the ranking, but a worker's moments rest on all rows of the unfiltered file."""
    header, *rows = shared(CS_EN).splitlines(keepends=True)
    hits = sorted({row.split()[0] for row in rows})
    rejected = set(hits[::4])
    good = [row for row in rows if row.split()[0] not in rejected]
    files = {
        "good.csv.gz": gzip.compress(header + b"".join(good)),
        "all.csv.gz": gzip.compress(header + b"".join(rows)),
    }
    told = published.take("filtered", "wmt-da", files, options={"accepted": "good.csv.gz"})
    assert told["stored"]["judgments"] == len(rows)
    ranking = published.rank("filtered", "wmt-da")
    ours = {row["system"]: row["score"] for row in ranking["systems"]}
    theirs = slow_z(rows, {row.split()[0] for row in good})
    assert ours == pytest.approx(theirs, abs=1e-9)
    alone = {row["system"]: row["score"] for row in published.rank("cs-en", "wmt-da")["systems"]}
    assert max(abs(ours[system] - alone[system]) for system in ours) > 1e-3, "rejecting HITs must matter here"


def slow_z(rows: list[bytes], accepted: set[bytes]) -> dict[str, float]:
    """The obvious way: worker moments over all rows, ranked rows of accepted HITs, means of segments, their mean."""
    cells = [row.decode().split() for row in rows]
    by_worker: dict[str, list[float]] = {}
    for row in cells:
        by_worker.setdefault(row[1], []).append(float(row[10]))
    segments: dict[tuple[str, str], list[float]] = {}
    for row in cells:
        scores = by_worker[row[1]]
        if row[8] in ("SYSTEM", "REPEAT") and row[0].encode() in accepted and np.std(scores) > 0:
            z = (float(row[10]) - np.mean(scores)) / np.std(scores, ddof=1)
            segments.setdefault((row[6], row[9]), []).append(float(z))
    systems: dict[str, list[float]] = {}
    for (system, _), given in segments.items():
        systems.setdefault(system.strip('"'), []).append(float(np.mean(given)))
    return {system: float(np.mean(given)) for system, given in systems.items()}


def test_a_gate_names_the_lower_ranked_system_where_that_one_is_significantly_better(published: Spine) -> None:
    """hi-bn: TRANSSION.3 has the higher mean, and by the one-sided rank sum Online-B.5 is the better one."""
    both = {"TRANSSION.3", "Online-B.5"}
    row = next(p for p in published.rank("hi-bn", "wmt-da")["pairs"] if {p["better"], p["worse"]} == both)
    theirs = wikipedia("hi-bn")["p_values"]["Online-B.5"]["TRANSSION.3"]
    options = {"candidate": "Online-B.5", "baseline": "TRANSSION.3", "recipe": "wmt-da"}
    asking = ReportRequest(GATE, ("hi-bn",), parse_report_options(GATE, options))
    view = GateView.model_validate_json(find_or_compute_report(published.database, asking).body)
    found = view.by_recipe
    assert found is not None
    assert (found.better, found.significant, found.significantly_better) == ("TRANSSION.3", False, "Online-B.5")
    assert (row["significant"], row["significant_reverse"]) == (False, True), "as the ranking has it"
    assert found.p_reverse == pytest.approx(theirs, abs=1e-9)
    assert found.p_reverse < 0.05 < 0.95 < found.p_value
    text = dict(make_tables(view)[0].table.rows)["By recipe"]
    assert text.startswith(f"TRANSSION.3 ranks higher, but Online-B.5 is significantly better, p {theirs:.4f} ")
