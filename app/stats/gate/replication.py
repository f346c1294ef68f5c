"""Would a repeated study give the same result? Simulated from outputs that several raters rated.

Every simulated study draws as many documents as each bucket has, with replacement, and chooses one rater per item with
the allocator of real campaigns. So a bucket keeps its raters, and a study has one rating per item, however many the
campaign has.
"""

from __future__ import annotations

import numpy as np

from app.design.simulate import simulate_rater_assignments
from app.domain.errors import Invalid
from app.stats.gate.gate import GateRule, decide_claim
from app.stats.normalize import Method
from app.stats.ratings import Ratings
from app.stats.replication_forecast import ReplicationChances, forecast_replication
from app.stats.stability.chunks import StabilitySimulator
from app.stats.stability.curves import StabilityPoint, compute_stability_curves
from app.stats.stability.multiply_rated_documents import MultiplyRatedDocuments, extract_multiply_rated_documents
from app.stats.stability.request import RaterAssignmentScheme, StabilityRequest, StudyDesign
from app.stats.stability.studies import (
    RaterDocumentSums,
    compute_normalized_document_sums,
    gather_study_ratings,
    sum_ratings_over_segments,
)

STUDIES = 250
SIMULATED = "simulated"
ENOUGH = 0.8
"""Share of the documents that must be multiply rated for simulated studies to represent the campaign."""
FEWEST = 6


def select_multiply_rated_documents(ratings: Ratings, documents: int) -> MultiplyRatedDocuments | None:
    """Select the multiply-rated part of an analysis; None if too few of its documents are multiply rated.

    documents : number of documents on which the analysis compares systems.
    """
    try:
        data = extract_multiply_rated_documents(ratings)
    except Invalid:
        return None
    n = len(data.documents)
    return data if n >= FEWEST and n >= ENOUGH * documents else None


def simulate_ranking_stability(
    data: MultiplyRatedDocuments, method: Method, *, alpha: float, seed: int
) -> StabilityPoint:
    """SRP and related figures from studies with one rating per item on all these documents, balanced pSxS."""
    design = StudyDesign(RaterAssignmentScheme("psxs"), method)
    stability_request = StabilityRequest(
        (design,), documents=(len(data.documents),), studies=STUDIES, alpha=alpha, seed=seed
    )
    request = stability_request.resolve(len(data.documents), len(data.systems))
    return compute_stability_curves(StabilitySimulator(data, request))[0].points[0]


def simulate_replication_chances(
    data: MultiplyRatedDocuments,
    pair: tuple[int, int],
    method: Method,
    rule: GateRule,
    *,
    difference: float,
    seed: int,
    studies: int = STUDIES,
) -> ReplicationChances:
    """Shares of simulated studies that find the same direction, and in which the claim holds again.

    Parameters
    ----------
    pair : codes of candidate and baseline in `data.systems`. method : normalization within each study.
    difference : found by the gate, positive if the candidate is better. It must use the same normalization, because
        raw scores may order the two the other way round.

    Returns
    -------
    The chances; same_direction is None if the gate found no difference.
    """
    rng = np.random.Generator(np.random.PCG64([seed, 0x6A7E]))
    items = sum_ratings_over_segments(data)
    buckets = [np.flatnonzero(data.bucket == bucket) for bucket in range(len(data.pools))]
    same = n_holds = 0
    for _ in range(studies):
        documents = np.sort(np.concatenate([rng.choice(own, size=own.size) for own in buckets]))
        differences = _study(rng, items, documents, pair, method)
        decision = decide_claim(differences, items.n_segments[documents], rule)
        same += decision.difference is not None and decision.difference * difference > 0
        n_holds += decision.holds
    error, why = None, None if difference else "the systems are equal: there is no direction to replicate"
    direction = same / studies if difference else None
    return ReplicationChances(direction, n_holds / studies, difference, error, len(data.documents), SIMULATED, why)


def _study(
    rng: np.random.Generator, items: RaterDocumentSums, documents: np.ndarray, pair: tuple[int, int], method: Method
) -> np.ndarray:
    """Differences of document sums in one simulated study, positive if the candidate is better, shape (D,)."""
    data = items.data
    raters = simulate_rater_assignments(
        rng,
        grouping="psxs",
        bucket_of_document=data.bucket[documents],
        n_systems=len(data.systems),
        pools=data.pools,
        n_raters=len(data.raters),
        studies=1,
        entropy=None,
        ratings=1,
    )
    sums = compute_normalized_document_sums(gather_study_ratings(items, documents, raters), method)[0]
    sign = 1.0 if data.higher_is_better else -1.0
    return np.asarray(sign * (sums[:, pair[0]] - sums[:, pair[1]]), dtype=np.float64)


def forecast_claim_replication(sums: np.ndarray, weights: np.ndarray, rule: GateRule) -> ReplicationChances:
    """Forecast the replication chances in closed form, from the documents of the actual study."""
    return forecast_replication(sums, weights, claim=rule.claim, margin=rule.margin, alpha=rule.alpha, two_sided=False)
