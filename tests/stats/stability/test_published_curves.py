"""Curves of SRP on the side-by-side MQM of WMT23 en-de.

Source: expected/srp_ende.json, computed by an independent implementation. "double 5 documents" is left out: it samples
signs where 2⁵ patterns can be enumerated, and then nothing can be significant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from app.stats.stability.chunks import StabilitySimulator
from app.stats.stability.curves import StabilityCurve, StabilityPoint, compute_stability_curves
from app.stats.stability.request import METHODS, RaterAssignmentScheme, StabilityRequest, StudyDesign
from tests.stats.stability.worlds import expected, needs_public_data, side_by_side_arrays

pytestmark = needs_public_data
NORMALIZED = {"none": "raw", "mean": "mean", "error": "error", "z": "z", "error_rate": "error_rate_mode"}
GROUPED = {"psxs": "psxs", "system_balanced": "system", "none": "none"}
Compared = tuple[str, float]


def simulated(
    designs: Sequence[StudyDesign], documents: Sequence[int], sets: int, **how: Any
) -> tuple[StabilityCurve, ...]:
    how = {"studies": 50 * sets, "per_set": 50, "seed": 1, **how}
    request = StabilityRequest(tuple(designs), documents=tuple(documents), **how)
    return compute_stability_curves(StabilitySimulator(side_by_side_arrays(), request.resolve(30, 10)))


def apart(point: StabilityPoint, srp: float, error: float) -> float:
    """Distance in combined standard errors."""
    assert point.mc_error is not None
    return abs(point.srp - srp) / float((point.mc_error**2 + error**2) ** 0.5)


def of_groupings(sets: int, documents: Sequence[int], methods: Sequence[str]) -> Iterator[Compared]:
    designs = [StudyDesign(RaterAssignmentScheme(g), m) for g in GROUPED for m in methods]
    for curve in simulated(designs, documents, sets):
        grouping, method = curve.design.assignment.grouping, curve.design.normalize
        for point in curve.points:
            theirs = expected("srp_ende.json")["curves"][GROUPED[grouping]][str(point.documents)][NORMALIZED[method]]
            distance = apart(point, theirs["srp"], theirs["se_over_document_sets"])
            assert point.mean_significant_pairs == pytest.approx(theirs["mean_significant_pairs"], rel=0.1)
            yield f"{grouping} {method} {point.documents}", distance


def of_entropies(sets: int, methods: Sequence[str]) -> Iterator[Compared]:
    theirs = {float(entropy): given for entropy, given in expected("srp_ende.json")["load_balancing"].items()}
    designs = [StudyDesign(RaterAssignmentScheme("psxs", h), m) for h in theirs for m in methods]
    for curve in simulated(designs, [30], sets):
        assert curve.design.assignment.entropy is not None
        wanted = theirs[curve.design.assignment.entropy][NORMALIZED[curve.design.normalize]]
        distance = apart(curve.points[0], wanted["srp"], wanted["se_over_document_sets"])
        yield f"entropy {curve.design.assignment.entropy} {curve.design.normalize}", distance


def of_ratings(sets: int) -> Iterator[Compared]:
    """One rating of n documents against two of n/2: documents drawn for every study, all studies compared."""
    for k, name, documents in ((1, "single", (10, 20, 30)), (2, "double", (10, 15))):
        designs = [
            StudyDesign(RaterAssignmentScheme(ratings=k), "none"),
            StudyDesign(RaterAssignmentScheme(ratings=k), "z"),
        ]
        for curve in simulated(designs, documents, sets, per_set=1, pairs="all"):
            for point in curve.points:
                given = f"{name} {point.documents} documents (budget {k * point.documents})"
                theirs = expected("srp_ende.json")["ratings_per_item_resampled_documents"][given]
                method = NORMALIZED[curve.design.normalize]
                yield f"{given} {method}", apart(point, theirs[method], theirs[f"{method}_se"])


def check(compared: Iterator[Compared]) -> int:
    """No point further than 4 combined standard errors, and no more than one in sixty further than 3."""
    distances = dict(compared)
    far = {name: distance for name, distance in distances.items() if distance > 3}
    assert max(distances.values()) <= 4, far
    assert len(far) * 60 <= max(60, len(distances)), far
    return len(distances)


def test_a_few_points_of_every_kind_are_met() -> None:
    assert check(of_groupings(10, [10, 20], ["none", "z"])) == 12
    assert check(of_entropies(4, ["none"])) == 5
    assert check(of_ratings(2)) == 10


def test_one_sided_and_without_the_one_are_met() -> None:
    theirs = expected("srp_ende.json")["sensitivity"]
    for name, how in (("one-sided", {"two_sided": False}), ("p without +1", {"plus_one": False})):
        designs = [StudyDesign(RaterAssignmentScheme(g), m) for g in ("psxs", "none") for m in ("none", "z")]
        for curve in simulated(designs, [20], 10, **how):
            point = curve.points[0]
            wanted = theirs[name][curve.design.assignment.grouping][NORMALIZED[curve.design.normalize]]
            assert point.mc_error is not None
            assert abs(point.srp - wanted) <= 4 * point.mc_error


@pytest.mark.soak
def test_all_points_are_met_with_fifty_document_sets() -> None:
    def everything() -> Iterator[Compared]:
        yield from of_groupings(50, [10, 15, 20, 25, 30], [*METHODS, "error_rate"])
        yield from of_entropies(50, METHODS)
        yield from of_ratings(50)

    assert check(everything()) == 75 + 20 + 10
