"""From files through Postgres to rankings: judgments that come one a row, several campaigns from one import."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from app.domain.errors import Forbidden, Invalid
from tests.spine import SHARED, Spine, expected, shared

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not beside the repository: shared/data"),
]
PLAIN = {"normalize": "none", "test": "none", "clusters": "none"}


@pytest.fixture(scope="module")
def spine(published: Spine) -> Spine:
    return published


def means(ranking: dict[str, Any]) -> dict[str, float]:
    return {row["system"]: row["raw"] for row in ranking["systems"]}


def test_one_import_makes_one_campaign_for_each_protocol(spine: Spine, esa: dict[str, Any]) -> None:
    campaigns = esa["stored"]["campaigns"]
    assert sorted(campaigns) == sorted(f"esa-{name}" for name in expected("esa_wmt23.json")["protocols"])
    rows = spine.ask("SELECT key, protocol, series FROM campaigns WHERE series = 'esa' ORDER BY key")
    assert {(key, protocol) for key, protocol, _ in rows} >= {("esa-ESA-1", "esa"), ("esa-MQM-1", "mqm")}


@pytest.mark.parametrize("name", ["ESA-1", "ESA-2", "ESAAI-1", "MQM-1", "MQM-IAA"])
def test_error_spans_rank_by_the_published_means(spine: Spine, esa: dict[str, Any], name: str) -> None:
    assert esa["dry_run"] is False
    theirs = expected("esa_wmt23.json")["protocols"][name]["system_means"]
    sign = -1.0 if name.startswith("MQM") else 1.0
    ranking = spine.rank(f"esa-{name}", "recommended", repeats="pool", **PLAIN)
    assert {s: sign * m for s, m in means(ranking).items()} == pytest.approx(theirs, abs=1e-9)
    assert ranking["higher_is_better"] is (sign > 0)


def test_the_errors_of_esa_can_be_weighed_instead(spine: Spine, esa: dict[str, Any]) -> None:
    assert esa["dry_run"] is False
    by_score = spine.rank("esa-ESA-1", "recommended", **PLAIN)
    by_errors = spine.rank("esa-ESA-1", "recommended", scoring="spans", **PLAIN)
    assert (by_score["higher_is_better"], by_errors["higher_is_better"]) == (True, False)
    assert {row["system"] for row in by_errors["systems"]} == {row["system"] for row in by_score["systems"]}
    assert all(0 <= row["raw"] < 25 for row in by_errors["systems"])


@pytest.mark.usefixtures("sxs")
def test_side_by_side_mqm_ranks_by_the_published_means(spine: Spine) -> None:
    theirs = expected("mqm_sxs2023.json")["ende"]["system_means"]
    for ours, name in (("wmt24", "wmt24"), ("freitag2021", "google2021")):
        ranking = spine.rank("sxs", "recommended", scoring=f"spans:{ours}", **PLAIN)
        assert means(ranking) == pytest.approx(theirs[name], abs=1e-9)


@pytest.mark.usefixtures("zhen")
def test_eight_raters_of_mqm_rank_by_the_published_means(spine: Spine) -> None:
    ranking = spine.rank("zhen", "recommended", scoring="spans:wmt24", **PLAIN)
    theirs = expected("agreement_wmt23_zhen_8raters.json")["system_means"]
    assert means(ranking) == pytest.approx(theirs, abs=1e-9)


def test_document_scores_and_persons_are_stored_beside_segment_scores(spine: Spine, cal: dict[str, Any]) -> None:
    assert sum(one["judgments"] for one in cal["stored"]["campaigns"].values()) == 10751
    ((whole, persons),) = spine.ask(
        """SELECT (SELECT count(*) FROM judgments j JOIN campaigns c ON c.id = j.campaign_id
                   WHERE c.series = 'cal' AND j.segment_id IS NULL),
                  (SELECT count(DISTINCT r.person_id) FROM raters r JOIN campaigns c ON c.id = r.campaign_id
                   WHERE c.series = 'cal')"""
    )
    assert (whole, persons) == (1139, 80)
    ranking = spine.rank("cal-eng-hrv", "recommended", **PLAIN)
    assert sum(row["n_ratings"] for row in ranking["systems"]) == 1300, "scores of documents are not ranked"
    files = {name: shared(f"da_sqm_wmt22_calibration/{name}.gz") for name in ("calibration.csv", "mapping.csv")}
    options = {"mapping": "mapping.csv", "split": "language_pair"}
    again = spine.take("cal", "wmt-da-sqm", files, options=options)
    assert {one["judgments"] for one in again["stored"]["campaigns"].values()} == {0}


def test_a_split_import_is_all_or_nothing(spine: Spine) -> None:
    before = spine.counts()
    whole = gzip.decompress((SHARED / "data/da_sqm_wmt22_calibration/calibration.csv.gz").read_bytes())
    header, *rows = whole.splitlines(keepends=True)
    good = b"".join([header, *rows[::20]])
    bad = good + b"engces1,A,1,TGT,zzz,zza,101,d,False,1,2\r\n"
    with pytest.raises(Invalid):
        spine.take("bad", "wmt-da-sqm", bad, options={"split": "language_pair"})
    report = spine.take("dry", "wmt-da-sqm", good, options={"split": "language_pair"}, dry_run=True)
    assert len(report["stored"]["campaigns"]) == 6
    assert spine.counts() == before


def test_a_credential_for_one_campaign_cannot_split_files_into_others(spine: Spine) -> None:
    before = spine.counts()
    with pytest.raises(Forbidden):
        spine.take("one", "wmt-da-sqm", b"x", options={"split": "language_pair"}, bound=True)
    assert spine.counts() == before
