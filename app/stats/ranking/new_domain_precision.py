"""Errors of differences if whole domains are sampled: a domain favours the same system in all of its documents."""

from __future__ import annotations

import numpy as np

from app.stats.aggregate import ScoreMatrix
from app.stats.inference.by_document import EstimatePrecision, estimate_ratio_precision
from app.stats.testing.common_segments import CommonSegmentsByPair, iterate_pair_differences_in_batches


def estimate_precision_for_new_domains(shared: CommonSegmentsByPair, matrix: ScoreMatrix) -> EstimatePrecision | None:
    """Precision of the differences on common segments for new domains; None if fewer than two domains are known."""
    if matrix.domain is None:
        return None
    domains, of = np.unique(matrix.domain[matrix.starts], return_inverse=True)
    if domains.size < 2:
        return None
    gathered = np.eye(domains.size)[of]
    n = shared.difference.size
    error, degrees, effective = np.full(n, np.nan), np.zeros(n), np.zeros(n)
    count = np.zeros(n, dtype=np.intp)
    for pairs, differences, weights in iterate_pair_differences_in_batches(shared.by_document):
        known = estimate_ratio_precision(differences @ gathered, weights @ gathered)
        error[pairs], degrees[pairs], effective[pairs] = known.error, known.degrees, known.effective
        count[pairs] = known.documents
    return EstimatePrecision(error, degrees, count, effective)
