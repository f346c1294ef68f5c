"""Agreement of raters over HTTP, from the public files to figures that an independent implementation computed.

Sources: expected/agreement_sxs2023.json, agreement_wmt23_zhen_8raters.json, esa_wmt23.json, calibration_wmt22.json and
qc_mturk2021.json, under the conventions of expected/README.md.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from app.main import create_app
from app.services import asked as services
from app.services import campaigns, tokens
from app.services.kinds._base import Kind
from app.storage import embedded
from app.storage.db import Database
from tests.api.conftest import OPTIONS, TestClient
from tests.spine import CS_EN, SHARED, Spine, expected, fresh, shared

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not beside the repository: shared/data"),
]
NEAR = 1e-6
LANGUAGES = ("eng-ces", "eng-deu", "eng-hrv", "eng-jpn", "eng-zho", "zho-eng")
PLAIN = {"bootstrap": "0"}


@dataclass(frozen=True)
class Asked:
    """A running application; a report is made first, as a worker would, and then fetched."""

    client: Any
    token: str
    database: Database

    def report(self, campaign: str, kind: str, **query: str) -> Any:
        self._make(services.kind_of(kind), (campaign,), query)
        return self._get(f"/v1/campaigns/{campaign}/reports/{kind}", query)

    def compare(self, kind: str, campaigns: str, **query: str) -> Any:
        self._make(services.kind_of(kind, "campaigns"), tuple(campaigns.split(",")), query)
        return self._get(f"/v1/comparisons/{kind}", {"campaigns": campaigns, **query})

    def _make(self, kind: Kind[Any, Any], campaigns: tuple[str, ...], query: Mapping[str, str]) -> None:
        services.report(self.database, services.Asking(kind, campaigns, services.asked_of(kind, query)))

    def _get(self, path: str, query: Mapping[str, str]) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Prefer": "wait=0"}
        answer = self.client.get(path, params=query, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def asked(postgres: embedded.Server, migrated_template: str) -> Iterator[Asked]:
    with fresh(postgres, migrated_template) as spine:
        fill(spine)
        with spine.database.transaction() as session:
            token = tokens.issue(session, role="admin").secret
        with TestClient(create_app(spine.database, OPTIONS)) as client:
            yield Asked(client, token, spine.database)


def fill(spine: Spine) -> None:
    spine.take("sxs", "table", shared("sxs_mqm2023_ende/ratings.tsv.gz"), options={"map": "sxs-mqm"})
    with spine.database.transaction() as session:
        # Its own scores, which exports give, under the weights of the published figures.
        new = campaigns.NewCampaign(key="sxs-wmt24", protocol="mqm", options={"weights": "wmt24"})
        campaigns.create(session, new, actor="test")
    spine.take("sxs-wmt24", "table", shared("sxs_mqm2023_ende/ratings.tsv.gz"), options={"map": "sxs-mqm"})
    spine.take("zhen", "table", shared("mqm_wmt23_zhen_calibration/ratings.tsv.gz"), options={"map": "mqm-spans"})
    files = {name: shared(f"da_sqm_wmt22_calibration/{name}.gz") for name in ("calibration.csv", "mapping.csv")}
    spine.take("cal", "wmt-da-sqm", files, options={"mapping": "mapping.csv", "split": "language_pair"})
    esa = {name: shared(f"esa_wmt23_ende/{name}.gz") for name in ("annotations.tsv", "texts.tsv")}
    spine.take("esa", "table", esa, options={"map": "esa-annotations", "split": "protocol"})
    spine.take("cs-en", "wmt-da", shared(CS_EN))


def level(report: Any, name: str) -> dict[tuple[str, float | None], Any]:
    """Coefficients of a level by key and tolerance."""
    (found,) = [one for one in report["levels"] if one["level"] == name]
    return {(one["statistic"], one["tolerance"]): one for one in found["statistics"]}


def near(value: float) -> Any:
    return pytest.approx(value, abs=NEAR)


Judged = tuple[str, str, int, str]
"""System, document, position and rater."""


def scores_over_http(asked: Asked, campaign: str) -> dict[Judged, float]:
    """Scores of single ratings, as the flat export has them."""
    headers = {"Authorization": f"Bearer {asked.token}"}
    answer = asked.client.get(f"/v1/campaigns/{campaign}/exports/ratings-csv", headers=headers)
    assert answer.status_code == 200, answer.text
    rows = csv.DictReader(io.StringIO(answer.text))
    return {(r["system"], r["document"], int(r["position"]), r["rater"]): float(r["score"]) for r in rows}


def in_order_of_lines(score: Mapping[Judged, float], *, by_key: bool = False) -> Iterator[tuple[float, float]]:
    """Both scores of the two names of one translation by two raters, those first who stand first in the file."""
    lines = shared("sxs_mqm2023_ende/ratings.tsv.gz").decode().splitlines()
    head = lines[0].split("\t")
    raters: dict[tuple[str, str, int], dict[str, None]] = {}
    for line in lines[1:]:
        row = dict(zip(head, line.split("\t"), strict=True))
        if row["system"].startswith("GPT4-5shot"):
            place = (row["system"], row["doc"], int(row["docSegId"]))
            raters.setdefault(place, {})[row["rater"]] = None
    for place, names in raters.items():
        for one, other in combinations(sorted(names) if by_key else names, 2):
            yield score[*place, one], score[*place, other]


class TestSideBySide:
    @pytest.fixture
    def theirs(self) -> Any:
        return expected("agreement_sxs2023.json")["ende"]

    @pytest.fixture
    def ours(self, asked: Asked) -> Any:
        same = "GPT4-5shot_with_refA,GPT4-5shot_with_ONLINE-W"
        return asked.report("sxs", "agreement", scoring="spans:wmt24", same=same, **PLAIN)

    def test_every_rater_pair(self, theirs: Any, ours: Any) -> None:
        found = {frozenset(one["rater"]): one for one in ours["pairs"]}
        assert len(found) == len(theirs["rater_pairs"])
        for name, wanted in theirs["rater_pairs"].items():
            one = found[frozenset(name.split("-"))]
            assert (one["n_documents"], one["n_units"]) == (wanted["documents"], wanted["segments"])
            assert one["tau_single_documents"] == near(wanted["tau_single_documents"])
            assert one["tau_all_documents"] == near(wanted["tau_all_shared_documents"])
            assert one["pearson"] == near(wanted["segment_pearson"])
            assert one["tau_b"] == near(wanted["segment_tau_b"])

    def test_means_over_rater_pairs_and_alpha(self, theirs: Any, ours: Any) -> None:
        means, found = theirs["mean_over_rater_pairs"], level(ours, "segments")
        assert found["tau_single_documents", None]["value"] == near(means["tau_single_documents"])
        assert found["tau_all_documents", None]["value"] == near(means["tau_all_shared_documents"])
        assert found["mean_pearson", None]["value"] == near(means["segment_pearson"])
        assert np.mean([one["tau_b"] for one in ours["pairs"]]) == near(means["segment_tau_b"])
        assert found["alpha_interval", None]["value"] == near(theirs["krippendorff_interval_segments"])

    def test_worst_severity(self, asked: Asked, theirs: Any) -> None:
        ours = asked.report("sxs", "agreement", on="severity", **PLAIN)
        assert level(ours, "segments")["fleiss", None]["value"] == near(theirs["fleiss_kappa_worst_severity"])
        found = {frozenset(one["rater"]): one for one in ours["pairs"]}
        for name, wanted in theirs["cohen_worst_severity_by_pair"].items():
            one = found[frozenset(name.split("-"))]
            assert one["n_units"] == wanted["n"]
            assert one["kappa"] == near(wanted["kappa"])
            assert one["weighted_kappa"] == near(wanted["quadratic_weighted_kappa"])

    def test_the_same_translation_twice(self, theirs: Any, ours: Any) -> None:
        wanted = theirs["same_translation_twice"]
        own = {one["what"]: one for one in ours["own"]}
        assert own["same_output"]["n"] == wanted["pairs"]
        assert own["same_output"]["pearson"] == near(wanted["intra_pearson"])
        assert own["same_output"]["absolute"] == near(wanted["intra_mean_abs_difference"])
        assert own["same_output"]["identical"] == near(wanted["identical_scores"])
        assert own["same_output_other_rater"]["absolute"] == near(wanted["inter_mean_abs_difference"])

    def test_pearson_of_two_raters_hangs_on_the_order_of_the_file(self, asked: Asked, theirs: Any, ours: Any) -> None:
        """The same pairs: put in the order of the file's lines they give the published figure, by key ours."""
        own = {one["what"]: one for one in ours["own"]}["same_output_other_rater"]
        by_line = np.array(list(in_order_of_lines(scores_over_http(asked, "sxs-wmt24"))))
        wanted = theirs["same_translation_twice"]
        assert np.corrcoef(by_line.T)[0, 1] == near(wanted["inter_pearson"])
        assert np.abs(by_line[:, 0] - by_line[:, 1]).mean() == near(wanted["inter_mean_abs_difference"])
        by_key = np.array(list(in_order_of_lines(scores_over_http(asked, "sxs-wmt24"), by_key=True)))
        assert own["n"] == len(by_key)
        assert own["pearson"] == near(np.corrcoef(by_key.T)[0, 1])
        assert own["pearson"] != near(wanted["inter_pearson"])

    def test_scores_of_zero(self, asked: Asked, theirs: Any) -> None:
        ours = asked.report("sxs", "distributions", scoring="spans:wmt24")
        n = sum(one["n"] for one in ours["systems"])
        zero = sum(one["at_minimum"] * one["n"] for one in ours["systems"]) / n
        assert zero == near(theirs["fraction_zero_score"])


class TestEightRaters:
    @pytest.fixture
    def theirs(self) -> Any:
        return expected("agreement_wmt23_zhen_8raters.json")

    def test_agreement(self, asked: Asked, theirs: Any) -> None:
        ours = asked.report("zhen", "agreement", scoring="spans:wmt24", **PLAIN)
        found = level(ours, "segments")
        (segments,) = [one for one in ours["levels"] if one["level"] == "segments"]
        assert (segments["n_units"], segments["n_raters"]) == (theirs["items"], theirs["raters"])
        assert segments["n_documents"] == len(theirs["documents"])
        assert found["alpha_interval", None]["value"] == near(theirs["krippendorff_interval"])
        assert found["mean_pearson", None]["value"] == near(theirs["pairwise_segment_pearson_mean"])
        assert found["tau_all_documents", None]["value"] == near(theirs["pairwise_system_tau_mean"])

    def test_raters_on_the_same_items(self, asked: Asked, theirs: Any) -> None:
        ours = asked.report("zhen", "distributions", scoring="spans:wmt24")
        assert ours["consensus"] == near(theirs["consensus_mean_of_item_medians"])
        found = {one["rater"]: one for one in ours["raters"]}
        assert set(found) == set(theirs["rater_mean_sd"])
        for name, wanted in theirs["rater_mean_sd"].items():
            assert found[name]["mean"] == near(wanted["mean"])
            assert found[name]["sd"] == near(wanted["sd_ddof1"])
            assert found[name]["shift"] == near(theirs["rater_shift_to_consensus"][name])
        means = {one["system"]: one["mean"] for one in ours["systems"]}
        assert means == near(theirs["system_means"])


class TestCalibration:
    @pytest.fixture(params=LANGUAGES)
    def languages(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def theirs(self, languages: str) -> Any:
        return expected("calibration_wmt22.json")[languages]

    @pytest.fixture
    def ours(self, asked: Asked, languages: str) -> Any:
        return asked.report(f"cal-{languages}", "agreement", levels="100", repeats="latest", **PLAIN)

    def test_kappas_with_tolerance(self, theirs: Any, ours: Any) -> None:
        names = {
            "segments": "segment_tolerance_kappa",
            "documents": "document_score_tolerance_kappa",
            "averaged": "document_average_of_segments_tolerance_kappa",
        }
        for name, key in names.items():
            found = level(ours, name)
            (pairs,) = {one["n_pairs"] for one in ours["levels"] if one["level"] == name}
            for t, wanted in theirs[key].items():
                one = found["kappa", float(t)]
                assert (pairs, one["chance"]) == (wanted["pairs"], wanted["chance"])
                assert one["observed"] == near(wanted["observed"])
                assert one["value"] == near(wanted["kappa"])

    def test_alphas(self, theirs: Any, ours: Any) -> None:
        for name, key in (("segments", "segment_krippendorff"), ("documents", "document_krippendorff")):
            found = level(ours, name)
            (shown,) = [one for one in ours["levels"] if one["level"] == name]
            keys = (("alpha_interval", None), ("alpha_ratio", None), ("alpha_nominal", 15.0))
            for wanted, at in zip(("interval", "ratio", "nominal_t15"), keys, strict=True):
                assert found[at]["value"] == near(theirs[key][wanted]["alpha"])
                assert shown["n_values"] == theirs[key][wanted]["values"]

    def test_complete_annotators(self, asked: Asked, languages: str, theirs: Any) -> None:
        query = {"raters": "complete", "repeats": "latest"}
        ours = asked.report(f"cal-{languages}", "agreement", bins="5", units="segments", **query, **PLAIN)
        found = level(ours, "segments")
        assert found["fleiss", None]["value"] == near(theirs["fleiss_kappa_5_equal_bins"])
        assert found["mean_pearson", None]["value"] == near(theirs["mean_pairwise_pearson"])
        standardized = asked.report(f"cal-{languages}", "agreement", normalize="z", units="segments", **query, **PLAIN)
        alpha = level(standardized, "segments")["alpha_interval", None]["value"]
        assert alpha == near(theirs["segment_krippendorff_after_worker_z"])
        use = asked.report(f"cal-{languages}", "distributions", **query)
        assert use["consensus"] == near(theirs["consensus_mean_of_item_medians"])
        raters = {one["rater"]: one for one in use["raters"]}
        assert len(raters) == theirs["annotators_with_every_item"]
        means = {one["system"]: one["mean"] for one in use["systems"]}
        assert means == near({name: one["raw"] for name, one in theirs["system_means_on_shared_items"].items()})
        for name, wanted in theirs["per_annotator_on_shared_items"].items():
            one = raters[name]
            assert one["mean"] == near(wanted["mean"])
            assert one["sd"] == near(wanted["sd_ddof1"])
            assert one["shift"] == near(wanted["shift_to_consensus"])
            assert one["correlation"] == near(wanted["pearson_with_mean_of_others"])

    def test_repeats(self, theirs: Any, ours: Any) -> None:
        wanted = theirs.get("intra_annotator_repeats")
        own = [one for one in ours["own"] if one["what"] == "repeats" and one["rater"] is None]
        if not wanted or not wanted["pairs"]:
            assert own == []
            return
        assert own[0]["n"] == wanted["pairs"]
        assert own[0]["absolute"] == near(wanted["mean_abs_difference"])
        assert own[0]["kappa"] == near(wanted["tolerance_kappa_t15"])

    def test_document_scores_against_their_segments(self, asked: Asked, languages: str, theirs: Any) -> None:
        ours = asked.report(f"cal-{languages}", "document_scores", bootstrap="0", controls="keep")
        found = {one["part"]: one for one in ours["correlations"] if one["documents"] == "all"}
        assert ours["n"] == theirs["document_score_pairs"]
        for part, wanted in theirs["document_score_vs_segments_pearson"].items():
            assert found[part]["pearson"] == near(wanted)


class TestErrorSpans:
    def test_agreement_of_campaigns(self, asked: Asked) -> None:
        for name, wanted in expected("esa_wmt23.json")["agreement"].items():
            if " vs " not in name:
                continue
            first, second = name.split(" vs ")
            ours = asked.compare("agreement", f"esa-{first},esa-{second}", levels="100", bootstrap="0")
            (pair,) = ours["pairs"]
            assert pair["n_units"] == wanted["items"]
            assert pair["pearson"] == near(wanted["pearson"])
            assert pair["tau_b"] == near(wanted["kendall_tau_b"])
            assert pair["tau_c"] == near(wanted["kendall_tau_c"])
            found = {(one["statistic"], one["tolerance"]): one for one in ours["statistics"]}
            for t, kappa in wanted.get("tolerance_kappa", {}).items():
                assert found["kappa", float(t)]["value"] == near(kappa)

    def test_three_campaigns_together(self, asked: Asked) -> None:
        ours = asked.compare("agreement", "esa-ESA-1,esa-ESA-2,esa-ESA-IAA", complete="true", bootstrap="0")
        found = {(one["statistic"], one["tolerance"]): one for one in ours["statistics"]}
        wanted = expected("esa_wmt23.json")["agreement"]["three ESA ratings"]
        assert ours["n_units"] == wanted["items"]
        assert found["alpha_interval", None]["value"] == near(wanted["krippendorff_interval"])

    def test_campaigns_as_repetitions_of_one_measurement(self, asked: Asked) -> None:
        """ESA-1 and ESA-2 judged the same outputs whole, so the scores are the published means (PB-15, CV*)."""
        means = {name: expected("esa_wmt23.json")["protocols"][name]["system_means"] for name in ("ESA-1", "ESA-2")}
        lines = asked.compare("agreement", "esa-ESA-1,esa-ESA-2", bootstrap="0")["repeated"]
        assert {one["system"] for one in lines} == set(means["ESA-1"])
        for one in lines:
            a, b = (one["scores"][f"esa-{name}"] for name in means)
            assert (a, b) == (near(means["ESA-1"][one["system"]]), near(means["ESA-2"][one["system"]]))
            assert one["cv"] == pytest.approx(
                1.125 * abs(a - b) / np.sqrt(2) * np.sqrt(np.pi / 2) / ((a + b) / 2) * 100
            )


def test_repeats_of_33_workers(asked: Asked) -> None:
    ours = asked.report("cs-en", "agreement", **PLAIN)
    own = {one["rater"]: one for one in ours["own"] if one["what"] == "repeats"}
    for name, worker in expected("qc_mturk2021.json")["workers"].items():
        assert own[name]["n"] == worker["repeat_pairs"]
        assert own[name]["absolute"] == near(worker["repeat_mean_abs_difference"])
