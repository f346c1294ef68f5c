"""The report on agreement, as it is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Literal

from pydantic import Field

from app.reports.kit.report import ReportHeader
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.stats.agreement.units import Level

Interval = tuple[float, float]


class AgreementStatistic(FrozenFiniteResultModel):
    """One coefficient of one level. Null: not defined on these data."""

    statistic: str = Field(description="Key of the coefficient; docs/reports/agreement.md has its formula and source.")
    tolerance: float | None = Field(None, description="Scores that differ by at most this much agree.")
    value: float | None
    interval: Interval | None = Field(
        None, description="Over documents: percentiles of draws; the jackknife for τ over all documents."
    )
    expected: float | None = Field(
        None,
        description="Value expected under a model of units and raters fitted to the same scores; null if undefined.",
    )
    observed: float | None = Field(
        None, description="Observed share of agreeing pairs, for coefficients corrected for chance."
    )
    chance: float | None = Field(None, description="Share expected to agree by chance.")
    word: str | None = Field(None, description="Label of Landis & Koch 1977; do not quote it without the value.")


class AgreementVarianceComponents(FrozenFiniteResultModel):
    """Variances of a model of units and raters, by REML on all pairs of the level."""

    unit: float
    rater: float
    residual: float


class AgreementByDocumentLengthLine(FrozenFiniteResultModel):
    """Agreement on documents of some length."""

    segments: str
    n_units: int
    n_pairs: int
    tolerance: float | None
    kappa: float | None
    alpha: float | None = Field(description="Krippendorff's α, interval metric.")
    absolute: float | None = Field(description="Mean absolute difference of two raters.")


class CompleteBlockView(FrozenFiniteResultModel):
    """The largest complete block, on which two-way intraclass correlations rest."""

    n_units: int
    rater: list[str]


class LevelAgreementView(FrozenFiniteResultModel):
    """Agreement on segments, whole documents, or means of a document's segments."""

    level: Level
    n_units: int = Field(description="Units with at least two raters.")
    n_single: int = Field(description="Units with one rater, which are left out.")
    n_values: int
    n_pairs: int
    n_raters: int
    n_documents: int
    categories: int | None = Field(description="Categories of the categorical coefficients; null if not computed.")
    statistics: list[AgreementStatistic]
    by_length: list[AgreementByDocumentLengthLine]
    components: AgreementVarianceComponents | None
    block: CompleteBlockView | None


class RaterPairLine(FrozenFiniteResultModel):
    """Two raters on the segments that both rated."""

    rater: tuple[str, str]
    n_units: int
    n_documents: int
    pearson: float | None
    tau_b: float | None
    tau_single_documents: float | None = Field(None, description="Mean over documents of τ of the system rankings.")
    undefined_documents: int | None = Field(None, description="Documents left out because a ranking is constant.")
    tau_all_documents: float | None = Field(None, description="τ of the rankings over all documents that both rated.")
    mean_difference: float = Field(description="Mean of the first minus that of the second.")
    absolute: float
    identical: float
    kappa: float | None = Field(description="Cohen's κ, with each rater's own margins.")
    weighted_kappa: float | None = Field(description="The same with quadratic weights.")


class RaterSelfAgreement(FrozenFiniteResultModel):
    """How far raters agree with themselves, or what to compare that with."""

    what: Literal["repeats", "same_output", "same_output_other_rater"]
    rater: str | None = Field(None, description="Key of the rater; null for all together.")
    n: int
    absolute: float
    identical: float
    tolerance: float
    within: float
    kappa: float | None
    pearson: float | None
    tau_b: float | None


class SpanAgreementLine(FrozenFiniteResultModel):
    """One figure of the agreement of marked errors."""

    statistic: Literal["character_f1", "overlap", "same_severity", "same_category"]
    value: float | None
    interval: Interval | None


class SpanAgreementView(FrozenFiniteResultModel):
    """Whether raters mark the same stretches."""

    n_pairs: int = Field(description="Pairs of two raters on one text.")
    n_marks: int
    n_skipped: int = Field(description="Marks without a place, or of a severity other than minor, major and critical.")
    n_both_empty: int = Field(description="Pairs in which neither marked anything.")
    figures: list[SpanAgreementLine]


class AgreementView(ReportHeader):
    """How far raters agree."""

    on: str
    scoring: str
    protocol: str
    repeats: str
    normalize: str
    tolerances: list[float]
    chance_levels: int | None = Field(
        description="Number of values of the scale in the closed form of chance agreement."
    )
    draws: int
    interval_level: float
    seed: int
    levels: list[LevelAgreementView]
    pairs: list[RaterPairLine]
    own: list[RaterSelfAgreement]
    spans: SpanAgreementView | None


def pseudonymize_raters(view: AgreementView) -> AgreementView:
    """Return the view with raters numbered in an order that reveals nothing."""
    keys = {rater for pair in view.pairs for rater in pair.rater}
    keys |= {line.rater for line in view.own if line.rater is not None}
    keys |= {rater for one in view.levels if one.block for rater in one.block.rater}
    name = make_pseudonymizer(keys, view.data_hash)
    return view.model_copy(
        update={
            "pairs": sorted(
                (p.model_copy(update={"rater": (name(p.rater[0]), name(p.rater[1]))}) for p in view.pairs),
                key=lambda p: p.rater,
            ),
            "own": sorted(
                (o.model_copy(update={"rater": name(o.rater)}) if o.rater else o for o in view.own),
                key=lambda o: (o.what, o.rater or ""),
            ),
            "levels": [_pseudonymize_block(one, name) for one in view.levels],
        }
    )


def make_pseudonymizer(keys: set[str], salt: str) -> Callable[[str], str]:
    """Return a function that gives every key a number derived from the digest of the data.

    All representations of one report use the same numbers.
    """
    order = sorted(keys, key=lambda key: hashlib.sha256(f"{salt}\0{key}".encode()).digest())
    width = len(str(len(order)))
    names = {key: f"rater {i:0{width}}" for i, key in enumerate(order, 1)}
    return names.__getitem__


def _pseudonymize_block(level: LevelAgreementView, name: Callable[[str], str]) -> LevelAgreementView:
    if level.block is None:
        return level
    block = level.block.model_copy(update={"rater": sorted(map(name, level.block.rater))})
    return level.model_copy(update={"block": block})
