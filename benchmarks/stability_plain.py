"""A careful researcher's plain numpy code for one set of studies: one study at a time, all pairs in one product.

Documents are assigned bucket by bucket. Masks are used to normalize scores per rater, and `reduceat` to sum by
document. One matrix of signs is multiplied by the differences of all pairs.
"""

from __future__ import annotations

import numpy as np

from app.design.design_inputs import Codes
from app.stats.ratings import Floats
from app.stats.stability.multiply_rated_documents import MultiplyRatedDocuments


def one_set(data: MultiplyRatedDocuments, studies: int, permutations: int, seed: int) -> tuple[Floats, Codes]:
    """Simulate studies of all documents; return means of systems, (n, S), and claims on all pairs, (n, pairs)."""
    rng = np.random.default_rng(seed)
    means, claimed = [], []
    for _ in range(studies):
        raters = dealt(data, rng)
        signs = rng.choice([-1.0, 1.0], size=(permutations, len(data.documents)))
        mean, claims = study(data, raters, signs)
        means.append(mean)
        claimed.append(claims)
    return np.array(means), np.array(claimed)


def dealt(data: MultiplyRatedDocuments, rng: np.random.Generator) -> Codes:
    """Assign a rater to each document and all its systems; a bucket's raters take turns at random; shape (D,)."""
    raters = np.empty(len(data.documents), dtype=np.int64)
    for bucket, pool in enumerate(data.pools):
        documents = rng.permutation(np.flatnonzero(data.bucket == bucket))
        rounds = [rng.permutation(pool) for _ in range(-(-len(documents) // len(pool)))]
        raters[documents] = np.concatenate(rounds)[: len(documents)]
    return raters


def study(data: MultiplyRatedDocuments, raters: Codes, signs: Floats) -> tuple[Floats, Codes]:
    """Return systems' means of z-scores, and claims on all pairs. raters : of each document. signs : shape (B, D)."""
    place = np.array([np.flatnonzero(data.pools[b] == r)[0] for b, r in zip(data.bucket, raters, strict=True)])
    score, rater = data.score[np.arange(len(data.document)), :, place[data.document]], raters[data.document]
    for code in np.unique(rater):
        own = rater == code
        sd = score[own].std(ddof=1)
        score[own] = (score[own] - score[own].mean()) / sd if sd > 0 else 0.0
    sums = np.add.reduceat(score, data.document_starts, axis=0)
    first, second = np.triu_indices(score.shape[1], k=1)
    apart = sums[:, second] - sums[:, first]  # penalties: lower is better
    observed = apart.sum(axis=0)
    hits = (np.abs(signs @ apart) >= np.abs(observed) - 1e-9 * np.maximum(1.0, np.abs(observed))).sum(axis=0)
    p = (hits + 1) / (len(signs) + 1)
    return sums.sum(axis=0) / len(score), np.where(p <= 0.05, np.sign(observed), 0).astype(np.int64)
