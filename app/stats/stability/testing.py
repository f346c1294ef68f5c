"""Paired permutation by document for all pairs of systems of many studies at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from app.stats.ratings import Floats
from app.stats.testing.permutation import all_patterns

Claims = npt.NDArray[np.int8]
Tallies = npt.NDArray[np.int64]
_CACHE_BYTES = 1 << 19
_PIECE = 4096  # permutations at once: counts of a piece fit 16 bits
_HELD = 1 << 23  # signs, and permuted sums, that are held at once


@dataclass(frozen=True, slots=True)
class SignificanceRule:
    """When a difference counts: p ≤ alpha, of two sides or of the better one; with or without +1."""

    alpha: float = 0.05
    two_sided: bool = True
    plus_one: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class PValues:
    """p of every pair (i, j), i < j: `first` that i is better, `second` that j is; the same array for two sides."""

    first: Floats
    second: Floats


def is_enumerated(n_documents: int, permutations: int) -> bool:
    """Whether all 2^D patterns of signs are no more than the permutations asked for."""
    return n_documents < 63 and 2**n_documents <= permutations


def all_signs(n_documents: int) -> Iterator[Floats]:
    """Every pattern of signs, in pieces of shape (1, b, D)."""
    for flips in all_patterns(n_documents, _PIECE):
        yield (2.0 * flips - 1.0)[None]


def drawn_signs(rng: np.random.Generator, studies: int, permutations: int, n_documents: int) -> Iterator[Floats]:
    """Random signs in pieces of shape (studies, b, D), none larger than is held at once; fair and independent."""
    row_bytes, most = 8 * ceil(n_documents / 64), max(1, min(_PIECE, _HELD // (studies * n_documents)))
    for start in range(0, permutations, most):
        rows = min(most, permutations - start)
        drawn = np.frombuffer(rng.bytes(studies * rows * row_bytes), dtype=np.uint8).reshape(studies, rows, row_bytes)
        signs = np.unpackbits(drawn, axis=2, count=n_documents).astype(np.float64)
        signs *= 2.0
        signs -= 1.0
        yield signs


def p_values(sums: Floats, signs: Iterable[Floats], *, exact: bool, rule: SignificanceRule) -> PValues:
    """Permutation p of every pair of systems in every study.

    Swapping two systems on a document changes the sign of its sum of differences, so with the sums X of a study and
    one matrix of signs F a permutation of every pair is a difference of two rows of X·Fᵀ.

    Parameters
    ----------
    sums : by document, larger is better, shape (n, V, S, D); V variants of a study share its signs.
    signs : pieces of shape (n, b, D), or (1, b, D) for signs that all studies share.
    exact : the pieces are all 2^D patterns; p is then #/2^D, else (# + 1)/(B + 1), or #/B without `plus_one`.

    Returns
    -------
    Shape (n, V, S(S−1)/2) each, pairs in the order (0, 1), (0, 2), …

    Source: Riley et al. 2024, §5. Equality has a tolerance of 1e-9·max(1, |observed sum|).
    """
    n, variants, n_systems, _ = sums.shape
    observed = _apart(sums.sum(axis=3))
    beyond = np.zeros(observed.shape, dtype=np.int64)
    reverse = beyond if rule.two_sided else np.zeros(observed.shape, dtype=np.int64)
    total = 0
    step = max(1, _HELD // (variants * n_systems))
    for piece in signs:
        total += piece.shape[1]
        for study in range(n):
            flat, own = sums[study].reshape(variants * n_systems, -1), piece[study if len(piece) > 1 else 0]
            for at in range(0, len(own), step):
                permuted = (flat @ own[at : at + step].T).reshape(variants, n_systems, -1)
                _count(permuted, observed[study], beyond[study], reverse[study], two_sided=rule.two_sided)
    add = 0 if exact or not rule.plus_one else 1
    first = (beyond + add) / (total + add)
    return PValues(first, first if rule.two_sided else (reverse + add) / (total + add))


def _apart(values: Floats) -> Floats:
    """Differences of all pairs of the last axis."""
    first, second = np.triu_indices(values.shape[-1], k=1)
    return np.asarray(values[..., first] - values[..., second], dtype=np.float64)


def _count(permuted: Floats, observed: Floats, beyond: Tallies, reverse: Tallies, *, two_sided: bool) -> None:
    """Add to the counts of one study: permuted of shape (V, S, b), the others of shape (V, pairs)."""
    variants, n_systems, b = permuted.shape
    step = max(1, _CACHE_BYTES // (8 * n_systems * b))
    tolerance = 1e-9 * np.maximum(1.0, np.abs(observed))
    least = (np.abs(observed) if two_sided else observed) - tolerance
    for at in range(0, variants, step):
        some = slice(at, at + step)
        place = 0
        for i in range(n_systems - 1):
            pairs = slice(place, place + n_systems - 1 - i)
            place = pairs.stop
            apart = permuted[some, i, None, :] - permuted[some, i + 1 :, :]
            if two_sided:
                np.abs(apart, out=apart)
            else:
                most = (observed + tolerance)[some, pairs, None]
                reverse[some, pairs] += _tally(apart <= most)
            beyond[some, pairs] += _tally(apart >= least[some, pairs, None])


def _tally(hits: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint16]:
    return np.asarray(np.add.reduce(hits.view(np.uint8), axis=-1, dtype=np.uint16), dtype=np.uint16)


def claims(sums: Floats, p: PValues, rule: SignificanceRule) -> Claims:
    """What each study claims of each pair: 1 the first is significantly better, −1 the second, 0 neither.

    sums : as for `p_values`. A claim needs the better sum, and p ≤ alpha.
    """
    sign = np.sign(np.round(_apart(sums.sum(axis=3)), 10))
    claimed = np.where(sign > 0, p.first <= rule.alpha, (sign < 0) & (p.second <= rule.alpha))
    return np.asarray(sign * claimed, dtype=np.int8)
