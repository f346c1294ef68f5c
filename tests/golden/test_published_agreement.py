"""Agreement between raters over HTTP, from the public files to figures that an independent implementation computed.

Sources: expected/agreement_sxs2023.json and agreement_wmt23_zhen_8raters.json, under the conventions of
expected/README.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from app.reports.inputs import recipe_ratings, snapshot
from tests.golden.asking import GOLDEN, Asked, level, near, quality
from tests.spine import chosen, expected, shared

pytestmark = [*GOLDEN, pytest.mark.usefixtures("sxs", "zhen")]
PLAIN = {"bootstrap": "0"}


Judged = tuple[str, str, int, str]
"""System, document, position and rater."""


def scores_by_weights(asked: Asked, campaign: str, scoring: str) -> dict[Judged, float]:
    """Scores of single ratings."""
    with asked.database.transaction() as session:
        rows = recipe_ratings.load_recipe_ratings(
            session, snapshot.load_snapshot(session, campaign, None), chosen("recommended", {"scoring": scoring})
        )
    names = rows.labels
    return {
        (names.systems[s], names.documents[d], int(names.segment_position[g]), names.raters[r]): float(score)
        for s, d, g, r, score in zip(rows.system, rows.document, rows.segment, rows.rater, rows.score, strict=True)
    }


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
        scores = scores_by_weights(asked, "sxs", "spans:wmt24")
        by_line = np.array(list(in_order_of_lines(scores)))
        wanted = theirs["same_translation_twice"]
        assert np.corrcoef(by_line.T)[0, 1] == near(wanted["inter_pearson"])
        assert np.abs(by_line[:, 0] - by_line[:, 1]).mean() == near(wanted["inter_mean_abs_difference"])
        by_key = np.array(list(in_order_of_lines(scores, by_key=True)))
        assert own["n"] == len(by_key)
        assert own["pearson"] == near(np.corrcoef(by_key.T)[0, 1])
        assert own["pearson"] != near(wanted["inter_pearson"])

    def test_scores_of_zero(self, asked: Asked, theirs: Any) -> None:
        ours = asked.report("sxs", "distributions", scoring="spans:wmt24")
        n = sum(one["n"] for one in ours["systems"])
        zero = sum(one["at_minimum"] * one["n"] for one in ours["systems"]) / n
        assert zero == near(theirs["fraction_zero_score"])

    def test_attention_checks(self, asked: Asked) -> None:
        """The file's own `HOTW-test` rows: 220 errors found and 25 missed in all (Riley et al. 2024, data of en-de)."""
        lines = [line.split("\t") for line in shared("sxs_mqm2023_ende/ratings.tsv.gz").decode().splitlines()]
        rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
        theirs = Counter((row["rater"], row["category"]) for row in rows if row["severity"] == "HOTW-test")
        ours = {name: one.attention for name, one in quality(asked, "sxs").items() if one.attention is not None}
        found = {(name, "Found"): one.found for name, one in ours.items()}
        missed = {(name, "Missed"): one.missed for name, one in ours.items()}
        assert {key: n for key, n in {**found, **missed}.items() if n} == theirs
        assert (sum(found.values()), sum(missed.values())) == (220, 25)


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
        documents = asked.report("zhen", "difficulty")["documents"]
        assert sorted(one["document"] for one in documents) == sorted(theirs["documents"])
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
        assert len(means) == theirs["systems"]
