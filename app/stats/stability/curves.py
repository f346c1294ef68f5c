"""Points and curves from the outcomes of studies: SRP is never shown alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from app.domain.errors import Invalid, Place
from app.stats.normalize import Method
from app.stats.ratings import Floats
from app.stats.stability.chunks import ChunkOutcome, SimulatedStudiesChunk, StabilitySimulator
from app.stats.stability.multiply_rated_documents import Indices
from app.stats.stability.pairs import ReportedPairs, choose_max_reported_rank_distance
from app.stats.stability.request import RaterAssignmentScheme, StabilityRequest, StudyDesign
from app.stats.stability.srp import (
    Order,
    compare_studies,
    compute_pooled_srp,
    estimate_srp_monte_carlo_error,
    find_better_of_pairs,
)
from app.stats.stability.study_significance import Claims

VACUOUS_SHARE = 0.5
MOST_REASONS = 3
"""Most numbers of documents of a design for which the reason is given in full."""
FIXED_POOL = "a fixed rater pool cannot show rater × system variance"


@dataclass(frozen=True, slots=True)
class StabilityPoint:
    """What studies of one design on one number of documents would find.

    srp: Stable Ranking Probability; mc_error: its standard error due to the finite number of simulated studies.
    n_pairs: ordered pairs of studies. mean_significant_pairs, share_without_significance: per study. kendall_tau,
    pearson: mean between studies, None if undefined. sign_error_rate: share of claims that contradict the full data,
    None without claims. retained_claims: mean |SB_e1 ∩ B_e2| (our own proposal). both_significant_srp: every claim of
    one study is significant in the other. full_data_tau: mean Kendall τ-b of a study with the full-data ranking.
    same_claims_as_full_data: share of studies whose claims are exactly those of the full data. claimed, contradicted:
    for each of the curve's pairs, shares of studies that claim it in the order of the full data, and in the reverse
    order.
    """

    documents: int
    studies: int
    document_sets: int
    srp: float
    mc_error: float | None
    n_pairs: int
    mean_significant_pairs: float
    share_without_significance: float
    kendall_tau: float | None
    pearson: float | None
    sign_error_rate: float | None
    retained_claims: float
    both_significant_srp: float
    full_data_tau: float | None
    same_claims_as_full_data: float
    claimed: tuple[float, ...]
    contradicted: tuple[float, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StabilityCurve:
    """Points of one design by number of documents, or the reason why there are none.

    pairs: the pairs whose claims are reported for each point, as codes of the systems, the better by the full data
    first.
    """

    design: StudyDesign
    points: tuple[StabilityPoint, ...]
    why: str | None = None
    pairs: tuple[tuple[int, int], ...] = ()


def compute_stability_curves(
    simulator: StabilitySimulator, outcomes: Iterable[tuple[int, ChunkOutcome]] | None = None
) -> tuple[StabilityCurve, ...]:
    """Compute every curve of a request.

    outcomes: of every chunk with its number, in any order; by default they are computed here. Only those of unfinished
    points are kept in memory.

    Raises Invalid if a design does not fit the data, unless the request is lenient. If the request left the document
    counts open, a design is refused only if it fits with none of them.
    """
    fitting, points, why = (
        _Fit(simulator),
        dict[tuple[StudyDesign, int], StabilityPoint](),
        _AssignmentReasons(simulator.request),
    )
    waiting: dict[tuple[object, int], list[tuple[SimulatedStudiesChunk, ChunkOutcome]]] = {}
    chunks = simulator.chunks
    if outcomes is None:
        outcomes = ((n, simulator.run_chunk(n)) for n in range(len(chunks)))
    for index, outcome in outcomes:
        chunk = chunks[index]
        why.note(chunk, outcome.why)
        held = waiting.setdefault((chunk.assignment, chunk.documents), [])
        held.append((chunk, outcome))
        if sum(c.last - c.first for c, _ in held) == simulator.request.n_document_sets:
            points.update(fitting.points(waiting.pop((chunk.assignment, chunk.documents))))
    curves = tuple(_curve(design, simulator.request, points, why, fitting) for design in simulator.request.designs)
    why.refuse_without_points(curves)
    return curves


def make_impossible_design_error(documents: int, why: str) -> Invalid:
    """Return the error for a design that is impossible with the raters of the data on a number of documents."""
    place = Place(("body", "designs"), f"{documents} documents: {why}")
    return Invalid("a design does not fit the data", places=(place,))


class _AssignmentReasons:
    """Reasons by assignment and number of documents: that of the first chunk with one, in any order of arrival."""

    def __init__(self, request: StabilityRequest) -> None:
        self._request = request
        self._found: dict[tuple[RaterAssignmentScheme, int], tuple[int, str]] = {}

    def note(self, chunk: SimulatedStudiesChunk, why: str | None) -> None:
        """Keep the reason of a chunk, if it has one. Raises Invalid if the request needs every point."""
        if why is None:
            return
        if requires_every_point(self._request):
            raise make_impossible_design_error(chunk.documents, why)
        at = chunk.assignment, chunk.documents
        self._found[at] = min(self._found.get(at, (chunk.index, why)), (chunk.index, why))

    def of(self, assignment: RaterAssignmentScheme) -> str | None:
        """Return the reasons in words, in full for the first few counts."""
        counts = [count for count in self._request.document_counts if (assignment, count) in self._found]
        reasons = [f"{count} documents: {self._found[assignment, count][1]}" for count in counts[:MOST_REASONS]]
        more = ", ".join(map(str, counts[MOST_REASONS:]))
        return "; ".join([*reasons, *([f"nor can studies of {more} documents be assigned"] if more else [])]) or None

    def refuse_without_points(self, curves: tuple[StabilityCurve, ...]) -> None:
        """Raise Invalid for the first curve without a point, unless the request is lenient."""
        for curve in curves:
            if not (curve.points or self._request.lenient):
                count = max(self._request.document_counts)
                raise make_impossible_design_error(count, self._found[curve.design.assignment, count][1])


def requires_every_point(request: StabilityRequest) -> bool:
    """Return whether a resolved request is refused if a single point is impossible."""
    return not (request.lenient or request.open_counts)


def _curve(
    design: StudyDesign,
    request: StabilityRequest,
    points: Mapping[tuple[StudyDesign, int], StabilityPoint],
    why: _AssignmentReasons,
    fitting: _Fit,
) -> StabilityCurve:
    curve_points = tuple(points[design, count] for count in request.document_counts if (design, count) in points)
    pairs = fitting.told[design.normalize].pairs if curve_points else ()
    return StabilityCurve(design, curve_points, why.of(design.assignment), pairs)


class _Fit:
    """Computes the figures of a point from its outcomes and the full data."""

    def __init__(self, simulator: StabilitySimulator) -> None:
        self.request, self.sign = simulator.request, 1 if simulator.document_rater_pools.higher_is_better else -1
        self.available = len(simulator.document_rater_pools.documents)
        self.truth = simulator.claims_of_full_data()
        systems = len(simulator.document_rater_pools.systems)
        reach = choose_max_reported_rank_distance(self.request, systems)
        self.told = {
            method: ReportedPairs.select_within_rank_distance(full.order, systems, reach)
            for method, full in self.truth.items()
        }

    def points(
        self, held: list[tuple[SimulatedStudiesChunk, ChunkOutcome]]
    ) -> Iterator[tuple[tuple[StudyDesign, int], StabilityPoint]]:
        """Yield the points of all normalizations of an assignment on one number of documents."""
        held.sort(key=lambda one: one[0].first)
        if any(outcome.why is not None for _, outcome in held):
            return
        chunk = held[0][0]
        means = np.concatenate([outcome.means for _, outcome in held], axis=1)
        claimed = np.concatenate([outcome.claims for _, outcome in held], axis=1)
        for row, method in enumerate(chunk.methods):
            design = StudyDesign(chunk.assignment, method)
            point = self.point(chunk.documents, means[row], claimed[row], method)
            yield (design, chunk.documents), point

    def point(self, documents: int, means: Floats, claimed: Claims, method: Method) -> StabilityPoint:
        """Compute the figures of n studies: means of shape (n, S), claims of shape (n, pairs)."""
        truth, (as_ordered, turned) = self.truth[method], self.told[method].claim_shares(claimed)
        order = find_better_of_pairs(means, self.sign)
        size = self._group_size(documents, len(means))
        groups = [
            compare_studies(means[at : at + size], claimed[at : at + size], order[at : at + size])
            for at in range(0, len(means), size)
        ]
        pairs = sum(group.n_pairs for group in groups)
        n_claims = np.abs(claimed).sum(axis=1, dtype=np.int64)
        wrong = int(((claimed * truth.order) < 0).sum())
        error = estimate_srp_monte_carlo_error(groups)
        sets = 1 if documents == self.available else self.request.n_document_sets
        return StabilityPoint(
            documents=documents,
            studies=len(means),
            document_sets=sets,
            srp=compute_pooled_srp(groups),
            mc_error=None if np.isnan(error) else error,
            n_pairs=pairs,
            mean_significant_pairs=float(n_claims.mean()),
            share_without_significance=float((n_claims == 0).mean()),
            kendall_tau=_mean_of([group.tau for group in groups]),
            pearson=_mean_of([group.pearson for group in groups]),
            sign_error_rate=wrong / int(n_claims.sum()) if n_claims.any() else None,
            retained_claims=sum(group.retained for group in groups) / pairs,
            both_significant_srp=sum(group.both for group in groups) / pairs,
            full_data_tau=_tau_with(order, truth.order),
            same_claims_as_full_data=float((claimed == truth.claims).all(axis=1).mean()),
            claimed=as_ordered,
            contradicted=turned,
            warnings=_warnings(documents, n_claims, self.request),
        )

    def _group_size(self, documents: int, studies: int) -> int:
        """Return how many studies are compared with each other: those of one document set, or all of them."""
        alike = self.request.pairs == "all" or documents == self.available
        return studies if alike else self.request.per_set


def _mean_of(parts: list[tuple[float, int]]) -> float | None:
    """Return the mean of correlations, clipped to [−1, 1] against rounding."""
    n = sum(count for _, count in parts)
    return min(1.0, max(-1.0, sum(total for total, _ in parts) / n)) if n else None


def _tau_with(order: Order, truth: Order) -> float | None:
    """Return the mean Kendall τ-b of the studies with one ranking, over those where it is defined."""
    untied = np.sqrt(np.abs(order).sum(axis=1, dtype=np.float64) * np.abs(truth).sum(dtype=np.float64))
    agree = order.astype(np.float64) @ truth.astype(np.float64)
    known = untied > 0
    return _mean_of([(float((agree[known] / untied[known]).sum()), int(known.sum()))])


def _warnings(documents: int, n_claims: Indices, request: StabilityRequest) -> tuple[str, ...]:
    warnings = []
    silent = float((n_claims == 0).mean())
    if silent >= VACUOUS_SHARE:
        warnings.append(
            f"vacuous: {100 * silent:.0f} % of the studies claim nothing, and such studies count as stable; judge more "
            "documents"
        )
    exact = documents < 63 and 2**documents <= request.permutations
    sides = 2 if request.two_sided else 1
    least = sides * 0.5**documents if exact else (1 if request.plus_one else 0) / (request.permutations + 1)
    if least > request.alpha:
        do = "draw larger studies" if exact else "request more permutations"
        warnings.append(
            f"no difference can be significant with {documents} documents: the smallest p is {least:g}; {do}"
        )
    return tuple(warnings)
