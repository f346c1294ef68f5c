"""The work of a request, cut into chunks: each is a pure function of (data, request, chunk number).

The result of a chunk does not depend on the machine or on the order of computing. Draws are keyed by what they are for,
not by their order: a curve is the same alone and among others, all designs use the same document sets, and all
normalizations of an assignment use the same studies.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.design.assignment import draw_documents_from_buckets
from app.design.design_inputs import Codes
from app.design.simulate import simulate_rater_assignments
from app.domain.errors import Invalid
from app.stats.normalize import Method
from app.stats.ratings import Floats
from app.stats.stability.multiply_rated_documents import DocumentRaterPools, MultiplyRatedDocuments
from app.stats.stability.request import RaterAssignmentScheme, StabilityRequest
from app.stats.stability.srp import Order, find_better_of_pairs
from app.stats.stability.studies import (
    RaterDocumentSums,
    compute_normalized_document_sums,
    gather_study_ratings,
    make_full_data_study,
    sum_ratings_over_segments,
)
from app.stats.stability.study_significance import (
    Claims,
    SignificanceRule,
    can_enumerate_all_signs,
    compute_permutation_p_values,
    find_significant_claims,
    iterate_all_document_signs,
    sample_document_signs,
)

STABILITY_VERSION = "stability-2"
"""Version of the report. 2 added the claims of each pair; chunks did not change, so jobs begun under 1 continue."""
STUDIES_OF_A_CHUNK = 250
STUDIES_AT_ONCE = 50
_FULL_PERMUTATIONS = 10_000
_MOST_RATINGS = 2_000_000  # item ratings in memory at once
_CACHED_RATINGS = 1 << 14


@dataclass(frozen=True, slots=True)
class SimulatedStudiesChunk:
    """Studies of one assignment on one number of documents, for the document sets `first` to `last` − 1."""

    index: int
    assignment: RaterAssignmentScheme
    methods: tuple[Method, ...]
    documents: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class ChunkOutcome:
    """Results of the studies of a chunk.

    means: of every system, in the unit of the method, shape (methods, n, S). claims: of every pair, shape (methods, n,
    S(S−1)/2), see `study_significance.find_significant_claims`. why: the reason if the assignment is impossible; there
    are no studies then.
    """

    means: Floats
    claims: Claims
    why: str | None = None

    def to_bytes(self) -> bytes:
        """Serialize the outcome; equal outcomes give equal bytes."""
        out = io.BytesIO()
        for array in (self.means, self.claims, np.frombuffer((self.why or "").encode(), dtype=np.uint8)):
            np.save(out, array, allow_pickle=False)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, body: bytes) -> ChunkOutcome:
        """Read what `to_bytes` wrote."""
        buffer = io.BytesIO(body)
        means, claimed, why = (np.load(buffer, allow_pickle=False) for _ in range(3))
        return cls(means, claimed, why.tobytes().decode() or None)


@dataclass(frozen=True, slots=True, eq=False)
class FullDataClaims:
    """Full-data results of each pair, shape (pairs,): which system has the better mean, and which is claimed better."""

    order: Order
    claims: Claims


def split_simulated_studies_into_chunks(request: StabilityRequest) -> tuple[SimulatedStudiesChunk, ...]:
    """Return the chunks of a resolved request; those of one point are adjacent."""
    chunks: list[SimulatedStudiesChunk] = []
    at_once = max(1, STUDIES_OF_A_CHUNK // request.per_set)
    for assignment, methods in request.normalizations_by_assignment().items():
        for documents in request.document_counts:
            for first in range(0, request.n_document_sets, at_once):
                last = min(first + at_once, request.n_document_sets)
                chunks.append(SimulatedStudiesChunk(len(chunks), assignment, methods, documents, first, last))
    return tuple(chunks)


@dataclass(frozen=True)
class StabilitySimulator:
    """A data set, or sums of one, and a resolved request, prepared once for any number of chunks."""

    data: MultiplyRatedDocuments | RaterDocumentSums
    request: StabilityRequest

    @property
    def document_rater_pools(self) -> DocumentRaterPools:
        """The documents that studies are drawn from, and their raters."""
        return self.rater_document_sums.data

    @cached_property
    def rater_document_sums(self) -> RaterDocumentSums:
        """Sums of the ratings by item."""
        return self.data if isinstance(self.data, RaterDocumentSums) else sum_ratings_over_segments(self.data)

    @cached_property
    def chunks(self) -> tuple[SimulatedStudiesChunk, ...]:
        """All chunks of the request."""
        return split_simulated_studies_into_chunks(self.request)

    def run_chunk(self, index: int) -> ChunkOutcome:
        """Compute a chunk; the outcome holds a reason if a bucket has too few raters for the ratings per item."""
        chunk = self.chunks[index]
        pieces: list[tuple[Floats, Claims]] = []
        for number in range(chunk.first, chunk.last):
            try:
                pieces.extend(self._simulate_document_set(chunk, number))
            except Invalid as error:
                return self._make_empty_outcome(chunk, error.detail or error.title())
        means, claimed = zip(*pieces, strict=True)
        return ChunkOutcome(np.concatenate(means, axis=1), np.concatenate(claimed, axis=1))

    def _make_empty_outcome(self, chunk: SimulatedStudiesChunk, why: str) -> ChunkOutcome:
        n_systems = len(self.document_rater_pools.systems)
        means = np.zeros((len(chunk.methods), 0, n_systems))
        return ChunkOutcome(
            means, np.zeros((len(chunk.methods), 0, n_systems * (n_systems - 1) // 2), dtype=np.int8), why
        )

    def _simulate_document_set(self, chunk: SimulatedStudiesChunk, number: int) -> Iterator[tuple[Floats, Claims]]:
        """Simulate the studies of one document set, some at a time."""
        request = self.request
        documents = self.draw_document_set(chunk.documents, number)
        studies = min(request.per_set, request.studies - number * request.per_set)
        held = len(documents) * len(self.document_rater_pools.systems) * chunk.assignment.ratings
        step = max(1, min(STUDIES_AT_ONCE, _MOST_RATINGS // held))
        for piece, start in enumerate(range(0, studies, step)):
            n = min(step, studies - start)
            yield self._simulate_studies(chunk, number, piece, documents, n)

    def _simulate_studies(
        self, chunk: SimulatedStudiesChunk, number: int, piece: int, documents: Codes, n: int
    ) -> tuple[Floats, Claims]:
        raters = self._raters(chunk, number, piece, documents, n)
        sums = self._sum_by_document(chunk, documents, raters)
        means = sums.sum(axis=2) / self.rater_document_sums.n_segments[documents].sum()
        signed, request = self._orient_sums(sums), self.request
        exact = can_enumerate_all_signs(len(documents), request.permutations)
        shared = request.signs == "document_set"
        if exact:
            signs = iterate_all_document_signs(len(documents))
        else:
            rng = self._rng("signs", chunk.documents, number, *(() if shared else (piece,)))
            signs = sample_document_signs(rng, 1 if shared else n, request.permutations, len(documents))
        p = compute_permutation_p_values(signed, signs, exact=exact, rule=self.significance_rule)
        return means.transpose(1, 0, 2), find_significant_claims(signed, p, self.significance_rule).transpose(1, 0, 2)

    def _sum_by_document(self, chunk: SimulatedStudiesChunk, documents: Codes, raters: Codes) -> Floats:
        """Return sums by document, shape (n, V, D, S), for a few studies at a time, whose arrays stay in the cache.

        With all studies at once, a quarter of the processor time of a set was spent on allocating and freeing memory.
        """
        n, of_study = len(raters), raters[0].size
        sums = np.empty((n, len(chunk.methods), *raters.shape[1:3]))
        step = max(1, _CACHED_RATINGS // of_study)
        for at in range(0, n, step):
            studies = gather_study_ratings(self.rater_document_sums, documents, raters[at : at + step])
            for variant, method in enumerate(chunk.methods):
                sums[at : at + step, variant] = compute_normalized_document_sums(studies, method)
        return sums

    def claims_of_full_data(self) -> dict[Method, FullDataClaims]:
        """Return the claims of all ratings together under each requested normalization, tested as in the studies.

        Uses at least 10 000 permutations, because there is only one study.
        """
        request, whole = self.request, make_full_data_study(self.rater_document_sums)
        methods = tuple(dict.fromkeys(design.normalize for design in request.designs))
        sums = np.stack([compute_normalized_document_sums(whole, method) for method in methods], axis=1)
        signed = self._orient_sums(sums)
        many, n = max(request.permutations, _FULL_PERMUTATIONS), signed.shape[-1]
        exact = can_enumerate_all_signs(n, many)
        signs = iterate_all_document_signs(n) if exact else sample_document_signs(self._rng("full data"), 1, many, n)
        claimed = find_significant_claims(
            signed,
            compute_permutation_p_values(signed, signs, exact=exact, rule=self.significance_rule),
            self.significance_rule,
        )[0]
        order = find_better_of_pairs(signed[0].sum(axis=2) / whole.n_segments.sum(), 1)
        return {method: FullDataClaims(order[i], claimed[i]) for i, method in enumerate(methods)}

    @property
    def significance_rule(self) -> SignificanceRule:
        """The rule by which a difference is significant."""
        return SignificanceRule(self.request.alpha, self.request.two_sided, self.request.plus_one)

    def _orient_sums(self, sums: Floats) -> Floats:
        """Make larger sums better, in place, and move documents to the last axis: (n, V, D, S) to (n, V, S, D)."""
        if not self.document_rater_pools.higher_is_better:
            np.negative(sums, out=sums)
        return sums.transpose(0, 1, 3, 2)

    def draw_document_set(self, count: int, number: int) -> Codes:
        """Return the documents of a set, ascending; the same for every design."""
        bucket = self.document_rater_pools.bucket
        sizes = np.bincount(bucket, minlength=len(self.document_rater_pools.pools)).astype(np.int64)
        of_buckets = np.split(np.argsort(bucket, kind="stable"), np.cumsum(sizes)[:-1])
        (drawn,) = draw_documents_from_buckets(self._rng("documents", count, number), sizes, count, 1)
        return np.sort(np.concatenate([of_buckets[b][chosen] for b, chosen in enumerate(drawn)]))

    def _raters(self, chunk: SimulatedStudiesChunk, number: int, piece: int, documents: Codes, n: int) -> Codes:
        assignment = chunk.assignment
        entropy = "even" if assignment.entropy is None else f"{assignment.entropy:.6f}"
        rng = self._rng(f"{assignment.grouping}/{entropy}/{assignment.ratings}", chunk.documents, number, piece)
        return simulate_rater_assignments(
            rng,
            grouping=assignment.grouping,
            bucket_of_document=self.document_rater_pools.bucket[documents],
            n_systems=len(self.document_rater_pools.systems),
            pools=self.document_rater_pools.pools,
            n_raters=len(self.document_rater_pools.raters),
            studies=n,
            entropy=assignment.entropy,
            ratings=assignment.ratings,
        )

    def _rng(self, what: str, *numbers: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64([self.request.seed, zlib.crc32(what.encode()), *numbers]))
