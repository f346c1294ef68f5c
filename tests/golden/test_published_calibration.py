"""Raters of WMT22 on identical items, over HTTP, against figures of an independent implementation.

Sources: expected/calibration_wmt22.json, under the conventions of expected/README.md; the table of Knowles & Lo's data
recomputed (annotators, spread of their means, split halves).
"""

from __future__ import annotations

from itertools import chain
from statistics import fmean, stdev
from typing import Any

import pytest

from app.formats.base import JudgmentRow
from app.services.data import exports
from tests.golden.asking import GOLDEN, NEAR, Asked, level, near
from tests.spine import expected

pytestmark = [*GOLDEN, pytest.mark.usefixtures("cal")]
LANGUAGES = ("eng-ces", "eng-deu", "eng-hrv", "eng-jpn", "eng-zho", "zho-eng")
EACH = [one if n % 5 == 0 else pytest.param(one, marks=pytest.mark.soak) for n, one in enumerate(LANGUAGES)]
"""In every run one with repeats and one without, one out of English and one into it; all in the soak."""
PLAIN = {"bootstrap": "0"}

Item = tuple[str, str, int]
"""System, document and segment."""


@pytest.mark.parametrize("languages", EACH)
def test_raters_systems_and_z_on_identical_items(asked: Asked, languages: str) -> None:
    theirs = expected("calibration_wmt22.json")[languages]
    ours = asked.report(f"cal-{languages}", "calibration", raters="complete", repeats="latest")
    raters = {one["rater"]: one for one in ours["raters"]}

    assert (ours["items"], ours["agreed"], ours["n_items"]) == ("common", "panel", theirs["items"])
    assert ours["consensus"] == pytest.approx(theirs["consensus_mean_of_item_medians"], abs=NEAR)
    assert set(raters) == set(theirs["per_annotator_on_shared_items"])
    for name, wanted in theirs["per_annotator_on_shared_items"].items():
        found = (raters[name]["mean"], raters[name]["sd"], raters[name]["shift"], raters[name]["correlation"])
        assert found == pytest.approx(tuple(wanted.values()), abs=NEAR)
    for name, wanted in theirs["system_means_on_shared_items"].items():
        (system,) = [one for one in ours["systems"] if one["system"] == name]
        assert system["raw"] == pytest.approx(wanted["raw"], abs=NEAR)
        assert system["z"] == pytest.approx(wanted["z"], abs=NEAR)
    assert any("no calibration set" in one for one in ours["warnings"])


def test_severity_is_a_trait_where_several_documents_are_shared(asked: Asked) -> None:
    table = {
        "eng-ces": (27, 61, 50.8, 92.8, 8.49, 0.91),
        "eng-deu": (15, 93, 76.5, 99.3, 7.63, 0.94),
        "eng-hrv": (13, 100, 71.2, 96.9, 7.81, 0.93),
    }
    for languages, (n, items, low, high, sd, halves) in table.items():
        everybody = asked.report(f"cal-{languages}", "calibration")["severity"]
        assert (everybody["n_raters"], everybody["n_items"]) == (n, items)
        report = asked.report(f"cal-{languages}", "calibration", raters="complete")
        complete = report["severity"]
        assert complete["sd"] == pytest.approx(sd, abs=0.06)
        assert complete["split_half"] == pytest.approx(halves, abs=0.03)
        # The table's ends are of all ratings, repeats counted as often as they were given; ours of each item once.
        given = _given(asked, languages)
        every = [fmean(chain.from_iterable(items.values())) for items in given.values()]
        assert (min(every), max(every)) == pytest.approx((low, high), abs=0.051)
        assert stdev(every) == pytest.approx(sd, abs=0.0051)
        theirs = [given[one["rater"]] for one in report["raters"]]
        shared_by_all = set.intersection(*map(set, theirs))
        assert (len(theirs), len(shared_by_all)) == (complete["n_raters"], complete["n_items"])
        once = [fmean(fmean(items[item]) for item in shared_by_all) for items in theirs]
        assert (complete["lowest"], complete["highest"]) == pytest.approx((min(once), max(once)), abs=1e-9)
        assert complete["sd"] == pytest.approx(stdev(once), abs=1e-9)


def _given(asked: Asked, languages: str) -> dict[str, dict[Item, list[float]]]:
    """All scores of segments by rater and item, as they are stored."""
    found: dict[str, dict[Item, list[float]]] = {}
    with asked.database.transaction(snapshot=True) as session:
        for one in exports.load_campaign_records(session, f"cal-{languages}"):
            if isinstance(one, JudgmentRow) and one.position is not None:
                item = one.systems[0], one.document, one.position
                found.setdefault(one.rater, {}).setdefault(item, []).append(float(one.payload["score"]))
    return found


TIMED = {
    "segment": "seconds_per_segment",
    "document_score": "seconds_per_document_score",
    "all_segments": "seconds_per_annotator_total_of_items",
}
KEYS = {"median": "median", "low": "p10", "high": "p90", "mean": "trimmed_mean", "sd": "trimmed_sd"}


def test_seconds_of_what_counts(asked: Asked) -> None:
    """Published times are binary fractions of a second; a stored one is at most half a microsecond off, a duration of
    two of them one. Sums of a rater's up to a hundred durations, some 2,500 s, are at most 4.1 microseconds off."""
    pairs = ",".join(f"cal-{languages}" for languages in LANGUAGES)
    ours = asked.compare("protocols", pairs, repeats="latest", bootstrap="0")
    for languages, one in zip(LANGUAGES, ours["protocols"], strict=True):
        theirs = expected("calibration_wmt22.json")[languages]
        found = {line["what"]: line for line in one["times"]}
        for what, name in TIMED.items():
            wanted, line = theirs[name], found[what]
            assert (line["n"], line["kept"]) == (wanted["n"], wanted["trimmed_n"])
            off = NEAR * (5 if what == "all_segments" else 1)
            for key, their in KEYS.items():
                assert line[key] == pytest.approx(wanted[their], abs=off, rel=0), (languages, what, key)
        segment = found["segment"]
        assert (one["n_timed"], one["seconds"], one["seconds_sd"]) == (segment["n"], segment["mean"], segment["sd"])


class TestAgreement:
    @pytest.fixture(params=EACH)
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
                for table in ("chance_agreement_Pe", "published_Pe"):
                    assert one["chance"] == near(expected("calibration_wmt22.json")[table][t])

    def test_what_there_is_is_counted(self, asked: Asked, languages: str, theirs: Any, ours: Any) -> None:
        parts = asked.report(f"cal-{languages}", "composition")
        assert (parts["n_judgments"], parts["n_raters"]) == (theirs["rows"], theirs["annotators"])
        units = {one["level"]: one["n_units"] for one in ours["levels"]}
        assert (units["segments"], units["documents"]) == (theirs["items"], theirs["documents"])
        plain = {"normalize": "none", "test": "none", "clusters": "none", "repeats": "pool"}
        ranking = asked.get(f"/v1/campaigns/cal-{languages}/ranking", plain)
        of_segments = sum(one["n_ratings"] for one in ranking["systems"])
        assert of_segments == theirs["segment_rows"]
        assert parts["n_judgments"] - of_segments == theirs["document_score_rows"]

    def test_alphas(self, theirs: Any, ours: Any) -> None:
        for name, key in (("segments", "segment_krippendorff"), ("documents", "document_krippendorff")):
            found = level(ours, name)
            (shown,) = [one for one in ours["levels"] if one["level"] == name]
            keys = (("alpha_interval", None), ("alpha_ratio", None), ("alpha_nominal", 15.0))
            for wanted, at in zip(("interval", "ratio", "nominal_t15"), keys, strict=True):
                assert found[at]["value"] == near(theirs[key][wanted]["alpha"])
                assert (shown["n_units"], shown["n_values"]) == (
                    theirs[key][wanted]["units"],
                    theirs[key][wanted]["values"],
                )

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
