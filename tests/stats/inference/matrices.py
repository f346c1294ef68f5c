"""CR2 and Satterthwaite's degrees of freedom by plain matrices over segments: the slow twin of the closed forms."""

from __future__ import annotations

import numpy as np

from app.stats.ratings import Floats


def working(document: Floats, correlation: float) -> Floats:
    """Covariance of segments that are alike within a document, shape (N, N)."""
    same = document[:, None] == document[None, :]
    return np.where(same, correlation, 0.0) + (1 - correlation) * np.eye(document.size)


def cr2(
    score: Floats, document: Floats, design: Floats, contrast: Floats, correlation: float, within: Floats | None = None
) -> tuple[float, float]:
    """Standard error and degrees of freedom of contrast·β̂ of the regression of `score` on `design` (N, K).

    A_D = (I − H_DD)^(−1/2); degrees (tr ΩΣ)²/tr((ΩΣ)²) with Σ from `correlation` within documents (and within `within`,
    where it is given, so that groups of one document are independent).

    Sources: Bell & McCaffrey 2002; Pustejovsky & Tipton 2018, eq. 4–11.
    """
    bread = np.linalg.inv(design.T @ design)
    hat = design @ bread @ design.T
    maker = np.eye(score.size) - hat
    rows = []
    for one in np.unique(document):
        here = np.flatnonzero(document == one)
        values, vectors = np.linalg.eigh(np.eye(here.size) - hat[np.ix_(here, here)])
        root = vectors @ np.diag(np.where(values > 1e-12, 1 / np.sqrt(np.maximum(values, 1e-300)), 0.0)) @ vectors.T
        rows.append(maker[here].T @ (root @ (design[here] @ (bread @ contrast))))
    pulls = np.array(rows)
    sigma = working(document, correlation)
    if within is not None:
        sigma = sigma * (within[:, None] == within[None, :])
    gram = pulls @ sigma @ pulls.T
    error = float(np.sqrt(((pulls @ score) ** 2).sum()))
    return error, float(np.trace(gram) ** 2 / (gram * gram).sum())


def of_documents(sums: Floats, weights: Floats) -> tuple[float, float, float]:
    """Σsums/Σweights, its error and degrees of freedom by matrices over documents: CR2, degrees under a correlation."""
    x, n = sums[weights > 0], weights[weights > 0] / min(1.0, weights[weights > 0].min())
    x = x * (n[0] / weights[weights > 0][0])
    maker = np.eye(n.size) - np.outer(n, np.ones(n.size)) / n.sum()
    pulls = np.diag(1 / np.sqrt(1 - n / n.sum()) / n.sum()) @ maker
    gram = pulls @ np.diag(n * 0.98 + n * n * 0.02) @ pulls.T
    error = float(np.sqrt(((pulls @ x) ** 2).sum()))
    return float(x.sum() / n.sum()), error, float(np.trace(gram) ** 2 / (gram * gram).sum())
