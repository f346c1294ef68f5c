"""Agreement of rater pairs on rankings of systems.

Source: expected/agreement_sxs2023.json, on the side-by-side MQM of WMT23 en-de (weights wmt24).
"""

from __future__ import annotations

import pytest

from app.stats.ratings import Ratings
from tests.stats.agreement.rater_kendall import compute_rater_kendall
from tests.stats.stability.worlds import expected, needs_public_data, side_by_side


class TestPublicData:
    pytestmark = needs_public_data

    def test_every_rater_pair_and_the_means_over_them_are_met(self) -> None:
        theirs = expected("agreement_sxs2023.json")["ende"]
        found = compute_rater_kendall(side_by_side())
        pairs = {f"{pair.first}-{pair.second}": pair for pair in found.pairs}
        ours = {frozenset(name.split("-")): pair for name, pair in pairs.items()}
        assert len(ours) == len(theirs["rater_pairs"]) == len(found.pairs)
        for name, wanted in theirs["rater_pairs"].items():
            pair = ours[frozenset(name.split("-"))]
            assert pair.documents == wanted["documents"]
            assert pair.single_documents == pytest.approx(wanted["tau_single_documents"], abs=1e-12)
            assert pair.all_documents == pytest.approx(wanted["tau_all_shared_documents"], abs=1e-12)
        means = theirs["mean_over_rater_pairs"]
        assert found.single_documents == pytest.approx(means["tau_single_documents"], abs=1e-12)
        assert found.all_documents == pytest.approx(means["tau_all_shared_documents"], abs=1e-12)


def ratings(rows: list[tuple[str, str, str, float]]) -> Ratings:
    system, document, rater, score = zip(*rows, strict=True)
    return Ratings.from_columns(
        system=system, document=document, position=[1] * len(rows), rater=rater, score=score, higher_is_better=True
    )


def test_a_document_that_one_rater_ranks_all_equal_is_left_out_and_counted() -> None:
    equal = [("A", "d1", "x", 1.0), ("B", "d1", "x", 1.0), ("A", "d1", "y", 1.0), ("B", "d1", "y", 2.0)]
    apart = [("A", "d2", "x", 1.0), ("B", "d2", "x", 2.0), ("A", "d2", "y", 1.0), ("B", "d2", "y", 2.0)]
    (pair,) = compute_rater_kendall(ratings(equal + apart)).pairs
    assert (pair.documents, pair.undefined, pair.single_documents, pair.all_documents) == (2, 1, 1.0, 1.0)


def test_only_what_both_rated_counts() -> None:
    both = [("A", "d1", "x", 1.0), ("B", "d1", "x", 2.0), ("A", "d1", "y", 1.0), ("B", "d1", "y", 2.0)]
    alone = [("A", "d2", "x", 9.0), ("C", "d1", "y", 0.0), ("A", "d3", "z", 1.0)]
    found = compute_rater_kendall(ratings(both + alone))
    assert [(p.first, p.second, p.documents) for p in found.pairs] == [("x", "y", 1)]
    assert found.all_documents == 1.0
