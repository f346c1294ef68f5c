"""Link one campaign's scores to another's scale through items judged in both, with the error that the link adds.

Sources: Kolen & Brennan 2014, §2.2 and §6.3 (mean and mean–sigma linking by common items). Standard errors come from a
bootstrap over the anchors' documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.stats.agreement.pairs import pearson
from app.stats.document_draws import bootstrap_document_sums
from app.stats.plain_values import interval_or_none, number_or_none
from app.stats.ratings import Codes, Floats

Link = Literal["mean", "mean_sigma"]
FEWEST = 20
"""Fewest anchors with which two campaigns are comparable."""


@dataclass(frozen=True, slots=True)
class CampaignLinkAnchors:
    """Items that were judged in both campaigns.

    base, other: mean over raters in each campaign, shape (n,). document: code of each, the unit that is resampled.
    human: whether it is a human translation.
    """

    base: Floats
    other: Floats
    document: Codes
    human: np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class ScaleLink:
    """A line that maps x to the base's scale, slope·x + intercept; None if it cannot be fitted.

    slopes, intercepts: of every draw. residual: SD of the anchors around the line (n − 2). by_kind: mean residual of
    human translations minus that of machine translations, with its interval; None if all anchors are of one kind. why:
    the reason if the campaigns are not comparable; a line may exist nevertheless.
    """

    n: int
    pearson: float | None
    slope: float | None
    intercept: float | None
    slopes: Floats
    intercepts: Floats
    residual: float | None
    by_kind: float | None
    by_kind_interval: tuple[float, float] | None
    why: str | None


def fit_scale_link(
    anchors: CampaignLinkAnchors, method: Link, *, draws: int, level: float, rng: np.random.Generator
) -> ScaleLink:
    """Fit the line from the other campaign's scores to the base's.

    `mean` maps the anchors' mean in the other campaign to that in the base; `mean_sigma` also maps the standard
    deviation.

    >>> a = CampaignLinkAnchors(np.array([1.0, 2, 3]), np.array([2.0, 4, 6]), np.arange(3), np.zeros(3, bool))
    >>> found = fit_scale_link(a, "mean_sigma", draws=0, level=.95, rng=np.random.default_rng(0))
    >>> found.slope, found.intercept
    (0.5, 0.0)
    """
    n = anchors.base.size
    none = np.empty(0)
    if not n:
        return ScaleLink(0, None, None, None, none, none, None, None, None, "no item is judged in both campaigns")
    documents, terms, kinds = np.unique(anchors.document).size, _line_terms(anchors), _kind_terms(anchors)
    slope, intercept = (float(v[0]) for v in _lines([np.ones((1, documents)) @ term for term in terms], method))
    if not np.isfinite(slope):
        why = "the anchors have constant scores in one of the two campaigns, so their spread cannot link them"
        return ScaleLink(n, None, None, None, none, none, None, None, None, why)
    drawn = bootstrap_document_sums(rng, documents, draws, [*terms, *kinds])
    slopes, intercepts = _lines(drawn[: len(terms)], method)
    off = anchors.base - (slope * anchors.other + intercept)
    kind, ends = _kinds(anchors, drawn[len(terms) :], slopes, intercepts, off, level)
    return ScaleLink(
        n=n,
        pearson=number_or_none(pearson(anchors.base, anchors.other)),
        slope=slope,
        intercept=intercept,
        slopes=slopes,
        intercepts=intercepts,
        residual=float(np.sqrt((off * off).sum() / (n - 2))) if n > 2 else None,
        by_kind=kind,
        by_kind_interval=ends,
        why=_reason_unfit(n, ends),
    )


def _reason_unfit(n: int, ends: tuple[float, float] | None) -> str | None:
    if n < FEWEST:
        return f"fewer than {FEWEST} anchors"
    if ends is not None and (ends[0] > 0 or ends[1] < 0):
        return (
            "human and machine translations among the anchors follow different lines, so no single line links the "
            "campaigns"
        )
    return None


def _line_terms(anchors: CampaignLinkAnchors) -> list[Floats]:
    """Sums that determine a line, by document: number of anchors, both scores, both squares; shape (D,) each."""
    base, other = anchors.base, anchors.other
    return [_sums(anchors, values) for values in (np.ones(base.size), base, other, base * base, other * other)]


def _lines(drawn: Sequence[Floats], method: Link) -> tuple[Floats, Floats]:
    """Slope and intercept in every draw, from the drawn terms; shape (B,) each, NaN without anchors."""
    weight, base, other, *squared = drawn
    usable = weight > 0
    total = np.where(usable, weight, 1.0)
    means = [base / total, other / total]
    slope = np.where(usable, 1.0, np.nan)
    if method == "mean_sigma":
        squares = [np.maximum(square / total - mean * mean, 0) for square, mean in zip(squared, means, strict=True)]
        fit = usable & (squares[1] > 1e-12) & (squares[0] > 1e-12)
        slope = np.sqrt(np.divide(squares[0], squares[1], out=np.full(weight.size, np.nan), where=fit))
    return np.asarray(slope), np.asarray(means[0] - slope * means[1], dtype=np.float64)


def _sums(anchors: CampaignLinkAnchors, values: Floats) -> Floats:
    """Sums over the anchors of each document, shape (D,)."""
    _, code = np.unique(anchors.document, return_inverse=True)
    return np.asarray(np.bincount(code, weights=values), dtype=np.float64)


def _kind_terms(anchors: CampaignLinkAnchors) -> list[Floats]:
    """Number of anchors and both scores by document: first human translations, then others; shape (D,) each."""
    values = (np.ones(anchors.base.size), anchors.base, anchors.other)
    return [_sums(anchors, np.where(own, value, 0.0)) for own in (anchors.human, ~anchors.human) for value in values]


def _kinds(
    anchors: CampaignLinkAnchors, drawn: Sequence[Floats], slopes: Floats, intercepts: Floats, off: Floats, level: float
) -> tuple[float | None, tuple[float, float] | None]:
    human = anchors.human
    if not human.any() or human.all():
        return None, None
    difference = float(off[human].mean() - off[~human].mean())
    parts = []
    for weight, base, other in (drawn[:3], drawn[3:]):
        total = base - slopes * other - intercepts * weight
        parts.append(np.divide(total, weight, out=np.full(weight.size, np.nan), where=weight > 0))
    return difference, percentile_interval_of_draws(parts[0] - parts[1], level)


def percentile_interval_of_draws(values: Floats, level: float) -> tuple[float, float] | None:
    """The central `level` interval of the finite draws; None if there are fewer than two."""
    held = values[np.isfinite(values)]
    if held.size < 2:
        return None
    low, high = np.quantile(held, [(1 - level) / 2, (1 + level) / 2])
    return interval_or_none(float(low), float(high))
