"""Paired permutation by document for all pairs of systems of many studies at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Self

import numpy as np
import numpy.typing as npt

from app.stats.ratings import Floats
from app.stats.testing.permutation import iterate_all_sign_patterns

Claims = npt.NDArray[np.int8]
Counts = npt.NDArray[np.int64]
_CACHE_BYTES = 1 << 19
_PIECE = 4096  # permutations drawn at once
_WORD = 8  # bytes
_COUNTED = 255 * _WORD  # permutations counted at once, so that no byte counter overflows
_HELD = 1 << 23  # signs, and permuted sums, in memory at once


@dataclass(frozen=True, slots=True)
class SignificanceRule:
    """When a difference is significant: p ≤ alpha, two-sided or for the better side; with or without +1."""

    alpha: float = 0.05
    two_sided: bool = True
    plus_one: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class PermutationPValues:
    """p of every pair (i, j), i < j: `first` that i is better, `second` that j is; the same array if two-sided."""

    first: Floats
    second: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SignPatternBatch:
    """Signs of documents, one bit each: 1 is +1, 0 is −1.

    packed: b patterns for each study, or n = 1 if all studies share them, shape (n, b, bytes); the first document in
    the highest bit. documents: D.
    """

    packed: npt.NDArray[np.uint8]
    documents: int

    @classmethod
    def pack(cls, signs: Floats) -> Self:
        """Pack signs of shape (n, b, D)."""
        return cls(np.packbits(signs > 0, axis=2), signs.shape[2])

    @property
    def n_patterns_per_study(self) -> int:
        """Number of patterns per study."""
        return int(self.packed.shape[1])

    def unpack(self, study: int, out: Floats | None = None) -> Floats:
        """Return the signs of one study, shape (b, D), written to `out` if given."""
        bits = np.unpackbits(self.packed[study], axis=1, count=self.documents).view(np.int8)
        bits *= 2
        bits -= 1
        signs = np.empty(bits.shape) if out is None else out
        np.copyto(signs, bits)
        return signs


def can_enumerate_all_signs(n_documents: int, permutations: int) -> bool:
    """Return whether the 2^D patterns of signs are no more than the requested permutations."""
    return n_documents < 63 and 2**n_documents <= permutations


def iterate_all_document_signs(n_documents: int) -> Iterator[SignPatternBatch]:
    """Yield every pattern of signs, in pieces that all studies share."""
    for flips in iterate_all_sign_patterns(n_documents, _PIECE):
        yield SignPatternBatch(np.packbits(flips > 0, axis=1)[None], n_documents)


def sample_document_signs(
    rng: np.random.Generator, studies: int, permutations: int, n_documents: int
) -> Iterator[SignPatternBatch]:
    """Yield fair, independent random signs for `studies` studies, in pieces that fit into memory."""
    row_bytes, most = 8 * ceil(n_documents / 64), max(1, min(_PIECE, _HELD // (studies * n_documents)))
    for start in range(0, permutations, most):
        rows = min(most, permutations - start)
        drawn = np.frombuffer(rng.bytes(studies * rows * row_bytes), dtype=np.uint8)
        yield SignPatternBatch(drawn.reshape(studies, rows, row_bytes), n_documents)


def compute_permutation_p_values(
    sums: Floats, signs: Iterable[SignPatternBatch], *, exact: bool, rule: SignificanceRule
) -> PermutationPValues:
    """Return the permutation p of every pair of systems in every study.

    Swapping two systems on a document changes the sign of its sum of differences. With the sums X of a study and one
    matrix of signs F, a permutation of every pair is therefore a difference of two rows of X·Fᵀ: systems are
    multiplied, not pairs.

    Parameters
    ----------
    sums : by document, larger is better, shape (n, V, S, D); V variants of a study share its signs.
    signs : pieces of patterns, of each study or shared by all.
    exact : the pieces are all 2^D patterns; p is then #/2^D, else (# + 1)/(B + 1), or #/B without `plus_one`.

    Returns
    -------
    Shape (n, V, S(S−1)/2) each, pairs in the order (0, 1), (0, 2), …

    Source: Riley et al. 2024, §5. Equality has a tolerance of 1e-9·max(1, |observed sum|).
    """
    n, variants, n_systems, _ = sums.shape
    tallies = _Tallies.of(_pair_differences(sums.sum(axis=3)).reshape(n * variants, -1), two_sided=rule.two_sided)
    total = 0
    for piece in signs:
        total += piece.n_patterns_per_study
        for start, permuted in _permute_sums(sums.reshape(n, variants * n_systems, -1), piece):
            rows = slice(start * variants, (start + len(permuted)) * variants)
            tallies.add(rows, permuted.reshape(len(permuted) * variants, n_systems, -1))
    add = 0 if exact or not rule.plus_one else 1
    first = ((tallies.beyond + add) / (total + add)).reshape(n, variants, -1)
    if rule.two_sided:
        return PermutationPValues(first, first)
    return PermutationPValues(first, ((tallies.reverse + add) / (total + add)).reshape(n, variants, -1))


def _permute_sums(sums: Floats, piece: SignPatternBatch) -> Iterator[tuple[int, Floats]]:
    """Yield the number of a first study and the permuted sums of it and the next ones, as many as the cache holds.

    sums : shape (n, rows, D). Yields shape (studies, rows, patterns), which the next iteration overwrites.
    """
    n, rows, documents = sums.shape
    step = max(1, min(piece.n_patterns_per_study, _COUNTED, _HELD // rows))
    at_once = min(n, max(1, _CACHE_BYTES // (8 * rows * step)))
    held = np.empty(at_once * rows * step)  # allocated once, because allocating and freeing such arrays is slow
    signs, shared = np.empty((piece.n_patterns_per_study, documents)), len(piece.packed) == 1
    if shared:
        piece.unpack(0, signs)
    for start in range(0, n, at_once):
        some = sums[start : start + at_once]
        for first in range(0, piece.n_patterns_per_study, step):
            own = signs[first : first + step]
            permuted = held[: len(some) * rows * len(own)].reshape(len(some), rows, len(own))
            for number, of_study in enumerate(some):
                if not shared:
                    piece.unpack(start + number, signs)
                np.matmul(of_study, own.T, out=permuted[number])
            yield start, permuted


@dataclass(frozen=True, slots=True, eq=False)
class _Tallies:
    """Numbers of permutations at or above, and at or below, the observed difference; shape (rows, pairs) each.

    least, most: what a permutation has to reach, or must not exceed.
    """

    beyond: Counts
    reverse: Counts
    least: Floats
    most: Floats
    two_sided: bool

    @classmethod
    def of(cls, observed: Floats, *, two_sided: bool) -> Self:
        """Return tallies of 0. observed : differences of the sums, shape (rows, pairs)."""
        tolerance = 1e-9 * np.maximum(1.0, np.abs(observed))
        least = (np.abs(observed) if two_sided else observed) - tolerance
        beyond, reverse = np.zeros(observed.shape, dtype=np.int64), np.zeros(observed.shape, dtype=np.int64)
        return cls(beyond, reverse, least, observed + tolerance, two_sided)

    def add(self, rows: slice, permuted: Floats) -> None:
        """Count the permuted sums of some rows, shape (rows, S, b); b is at most _COUNTED.

        Hits are one byte each, and eight are added at a time: adding 64-bit words adds each of their bytes separately.
        """
        n, n_systems, b = permuted.shape
        step = min(n, max(1, _CACHE_BYTES // (8 * n_systems * b)))
        differences = np.empty((step, n_systems - 1, b))
        reached = np.zeros((step, n_systems - 1, -(-b // _WORD) * _WORD), dtype=np.bool_)
        for at in range(0, n, step):
            here = slice(rows.start + at, min(rows.start + at + step, rows.stop))
            some, place = permuted[at : at + step], 0
            words = np.empty((2, len(some), self.least.shape[1]), dtype=np.uint64)
            for i in range(n_systems - 1):
                pairs = slice(place, place + n_systems - 1 - i)
                place = pairs.stop
                apart, hits = (held[: len(some), i:] for held in (differences, reached))
                np.subtract(some[:, i, None, :], some[:, i + 1 :, :], out=apart)
                if self.two_sided:
                    np.abs(apart, out=apart)
                else:
                    np.less_equal(apart, self.most[here, pairs, None], out=hits[..., :b])
                    np.add.reduce(hits.view(np.uint64), axis=-1, out=words[1, :, pairs])
                np.greater_equal(apart, self.least[here, pairs, None], out=hits[..., :b])
                np.add.reduce(hits.view(np.uint64), axis=-1, out=words[0, :, pairs])
            self.beyond[here] += _add_bytes(words[0])
            if not self.two_sided:
                self.reverse[here] += _add_bytes(words[1])


def _pair_differences(values: Floats) -> Floats:
    """Return the differences of all pairs on the last axis."""
    first, second = np.triu_indices(values.shape[-1], k=1)
    return np.asarray(values[..., first] - values[..., second], dtype=np.float64)


def _add_bytes(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
    """Return the sum of the eight bytes of each word."""
    return np.asarray(np.add.reduce(words[..., None].view(np.uint8), axis=-1, dtype=np.uint16), dtype=np.uint16)


def find_significant_claims(sums: Floats, p: PermutationPValues, rule: SignificanceRule) -> Claims:
    """Return the claim of each study on each pair: 1 the first is significantly better, −1 the second, 0 neither.

    sums : as for `compute_permutation_p_values`. A claim needs the better sum and p ≤ alpha.
    """
    sign = np.sign(np.round(_pair_differences(sums.sum(axis=3)), 10))
    claimed = np.where(sign > 0, p.first <= rule.alpha, (sign < 0) & (p.second <= rule.alpha))
    return np.asarray(sign * claimed, dtype=np.int8)
