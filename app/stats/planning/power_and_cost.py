"""What a design can detect, before rating: variance of a system contrast, power, detectable difference, cost.

Source: generalizability theory as in Brennan 2001; docs/reports/planner.md has the formulas. The components come from a
pilot (`app/stats/components`) or from earlier campaigns on the same scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, log2, sqrt
from types import MappingProxyType
from typing import Literal

import scipy

from app.domain.errors import Invalid

Grouping = Literal["psxs", "system_balanced", "none"]
GROUPINGS: tuple[Grouping, ...] = ("psxs", "system_balanced", "none")


class NoVarianceComponents(Invalid):
    """There are no variance components for this scale: run a pilot, or give values of your own."""

    published = "NoComponents"


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variance components of single segment ratings, in squares of the protocol's unit; at least 0.

    doc_system, segment_system: of a system on a document and on a segment. rater, rater_system, rater_doc,
    rater_segment, rater_doc_system: of raters. residual: the rest. source: where they come from, shown with every plan.
    """

    doc_system: float
    segment_system: float
    rater: float
    rater_system: float
    rater_doc: float
    rater_segment: float
    rater_doc_system: float
    residual: float
    source: str = "given"

    def __post_init__(self) -> None:
        if min(self._values()) < 0:
            raise Invalid("a variance component is below 0")

    def _values(self) -> tuple[float, ...]:
        rated = (self.rater, self.rater_system, self.rater_doc, self.rater_segment, self.rater_doc_system)
        return (self.doc_system, self.segment_system, *rated, self.residual)


# REML estimates (`app/stats/components`) on the public side-by-side MQM of WMT23 (Song et al. 2025), weights wmt24.
ZH_EN = VarianceComponents(1.284, 4.803, 6.375, 0.680, 2.144, 5.771, 0.960, 8.028, "MQM, WMT23 zh-en, weights wmt24")
EN_DE = VarianceComponents(0.112, 9.811, 7.854, 0.153, 0.370, 7.365, 1.511, 10.340, "MQM, WMT23 en-de, weights wmt24")


def _mean(first: VarianceComponents, second: VarianceComponents, source: str) -> VarianceComponents:
    a, b = first._values(), second._values()
    ds, gs, r, rs, rd, rg, rds, e = ((x + y) / 2 for x, y in zip(a, b, strict=True))
    return VarianceComponents(ds, gs, r, rs, rd, rg, rds, e, source)


DEFAULTS: Mapping[str, VarianceComponents] = MappingProxyType(
    {
        "mqm": _mean(ZH_EN, EN_DE, "MQM, mean of WMT23 zh-en and en-de, weights wmt24"),
        # REML estimates on the scores of a public ESA campaign.
        "esa": VarianceComponents(19.2, 64.7, 45.9, 6.2, 4.5, 19.5, 39.9, 116.5, "ESA 0–100"),
    }
)


BETWEEN: Mapping[str, float] = MappingProxyType({"mqm": (2.561 + 6.329) / 2, "esa": 61.8})
"""Variance between systems in the campaigns behind DEFAULTS."""


MOST_DOCUMENTS = 1_000_000_000
"""Largest number of documents that is reported."""

ROUNDING = 1e-9
"""Share of a needed number that is not rounded up, or a layout might need one more than it has."""


@dataclass(frozen=True, slots=True)
class StudyLayout:
    """The study to be bought. documents, segments: number of documents and mean number of segments in each.

    ratings_per_item, raters: numbers. fixed_panel: claims are about these raters only, so rater × system does not
    count. lengths: segments of the existing documents, from which studies draw theirs; empty if all are equally long.
    """

    documents: int
    segments: float
    raters: int
    ratings_per_item: int = 1
    grouping: Grouping = "psxs"
    fixed_panel: bool = False
    lengths: tuple[int, ...] = ()

    @property
    def length_imbalance(self) -> float:
        """D·Σn²/(Σn)² of the lengths, 1 if they are equal; so many uneven documents tell as much as one even one."""
        n = self.lengths
        return len(n) * sum(one * one for one in n) / sum(n) ** 2 if n else 1.0

    def __post_init__(self) -> None:
        if min(self.lengths, default=1) < 1:
            raise Invalid("a document has at least one segment")
        if min(self.documents, self.segments, self.raters, self.ratings_per_item) <= 0:
            raise Invalid("documents, segments, raters and ratings per item must be above 0")
        if self.grouping not in GROUPINGS:
            raise Invalid(f"grouping: must be one of {', '.join(GROUPINGS)}")


@dataclass(frozen=True, slots=True)
class PowerForecast:
    """What a layout can detect.

    standard_error: of a contrast of two systems. detectable: the difference found with the requested power, with alpha
    split over the pairs. floor: the standard error that no number of documents can lower.
    """

    standard_error: float
    detectable: float
    power: float
    floor: float
    pairs: int
    alpha_each: float
    source: str


def get_default_variance_components(protocol: str) -> VarianceComponents:
    """Return the components of a protocol's scale.

    Raises NoVarianceComponents for scales without known ones (XSTS, DA, SQM …); those of another scale are never used
    instead.
    """
    components = DEFAULTS.get(protocol)
    if components is None:
        raise NoVarianceComponents(f"there are none for {protocol}; known are {', '.join(DEFAULTS)}")
    return components


def compute_contrast_variance(components: VarianceComponents, layout: StudyLayout) -> float:
    """Variance of the difference of two systems' means on new documents, with new raters unless the panel is fixed.

    V = 2[σ²_SD/D + σ²_rs/R + σ²_rds/(DK) + σ²_e/(DKm)], σ²_SD = σ²_ds + σ²_gs/m; system-balanced adds
    2σ²_RD(1−1/R)/(DK), σ²_RD = σ²_rd + σ²_rg/m; no grouping adds 2(σ²_r+σ²_rs)(1−1/R)/(DK) to that. If documents differ
    in length, effects of documents and of their raters count by D/uneven documents, and segments by their number; then
    (uneven − 1)·2(σ²_rs + σ²_r where system-balanced)(1−1/R)/(DK) is added to the first two.

    Source: Brennan 2001; Kish 1965, §11.7 (uneven weights). Simulated studies agree with it
    (tests/stats/planning/test_simulated_studies.py).

    >>> c = VarianceComponents(0.36, 0, 0.64, 0.09, 0.25, 0, 0.16, 1.44)
    >>> [round(compute_contrast_variance(c, StudyLayout(60, 5, 6, grouping=g)), 5) for g in GROUPINGS]
    [0.05693, 0.06388, 0.08416]
    """
    c, d, m, r = components, layout.documents, layout.segments, layout.raters
    times, u = d * layout.ratings_per_item, layout.length_imbalance
    variance = (u * c.doc_system + c.segment_system / m) / d
    variance += (u * c.rater_doc_system + c.residual / m) / times
    if not layout.fixed_panel:
        variance += c.rater_system / r
    others = (1 - 1 / r) / times
    if layout.grouping != "none":
        # The raters of long documents count for more than 1/R, and severity does not cancel over outputs of different
        # lengths.
        taste = 0.0 if layout.fixed_panel else c.rater_system
        variance += (u - 1) * (taste + (c.rater if layout.grouping == "system_balanced" else 0.0)) * others
    if layout.grouping != "psxs":
        variance += (u * c.rater_doc + c.rater_segment / m) * others
    if layout.grouping == "none":
        variance += u * (c.rater + c.rater_system) * others
    return 2 * variance


def compute_z_test_power(difference: float, variance: float, *, alpha: float = 0.05) -> float:
    """Chance that a two-sided z test at `alpha` finds a true difference, including the wrong tail.

    >>> round(compute_z_test_power(0.0, 1.0), 3), round(compute_z_test_power(2.8016, 1.0), 3)
    (0.05, 0.8)
    """
    if variance <= 0:
        return 1.0 if difference else alpha
    z, at = float(-scipy.special.ndtri(alpha / 2)), abs(difference) / sqrt(variance)
    return float(scipy.special.ndtr(at - z) + scipy.special.ndtr(-at - z))


def compute_detectable_difference(variance: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest difference that a two-sided z test at `alpha` finds with this power: (z_{1−α/2} + z_power)·√V.

    z, because a plan has no degrees of freedom yet; the ranking of judged data uses Student's t (docs/statistics.md).

    >>> round(compute_detectable_difference(1.0), 4)
    2.8016
    """
    return float(scipy.special.ndtri(1 - alpha / 2) + scipy.special.ndtri(power)) * sqrt(variance)


def forecast_power(
    components: VarianceComponents, layout: StudyLayout, *, systems: int, alpha: float = 0.05, power: float = 0.8
) -> PowerForecast:
    """What a layout can detect for any pair; alpha is split over all pairs, a conservative bound for Holm.

    Raises Invalid below two systems, or if alpha or power is not between 0 and 1.
    """
    if systems < 2:
        raise Invalid("a contrast needs two systems")
    if not (0 < alpha < 1 and 0 < power < 1):
        raise Invalid("alpha and power must lie between 0 and 1")
    pairs = systems * (systems - 1) // 2
    variance = compute_contrast_variance(components, layout)
    return PowerForecast(
        standard_error=sqrt(variance),
        detectable=compute_detectable_difference(variance, alpha=alpha / pairs, power=power),
        power=power,
        floor=compute_standard_error_floor(components, layout),
        pairs=pairs,
        alpha_each=alpha / pairs,
        source=components.source,
    )


def compute_standard_error_floor(components: VarianceComponents, layout: StudyLayout) -> float:
    """Standard error of a contrast with infinitely many documents: √(2σ²_rs/R), 0 for a fixed panel."""
    return 0.0 if layout.fixed_panel else sqrt(2 * components.rater_system / layout.raters)


def compute_documents_needed(
    components: VarianceComponents,
    layout: StudyLayout,
    *,
    difference: float,
    systems: int,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int | None:
    """Documents for which the detectable difference is at most `difference`; None if it takes more than a billion.

    All terms but the floor fall as 1/D, so D follows in closed form. `layout.documents` does not matter.

    Parameters
    ----------
    difference : above 0, in the unit of the components' square roots, that is of the scores.
    systems : at least 2; alpha is split over all of their pairs, as in `forecast_power`.
    """
    pairs = systems * (systems - 1) // 2
    wanted = (difference / compute_detectable_difference(1.0, alpha=alpha / pairs, power=power)) ** 2
    rest = wanted - compute_standard_error_floor(components, layout) ** 2
    single = replace(layout, documents=1)
    falling = compute_contrast_variance(components, single) - compute_standard_error_floor(components, layout) ** 2
    if rest <= 0 or falling > MOST_DOCUMENTS * rest:
        return None
    return max(1, ceil(falling / rest * (1 - ROUNDING)))


FEWEST_DOCUMENTS = 6
"""With fewer documents a ranking does not test a pair."""


def compute_fewest_documents_for_significance(pairs: int, alpha: float) -> int:
    """Documents needed for sign flips by document to make a pair significant: 1 + log₂(pairs/α), at least 6.

    pairs : the factor of p under Holm; 1 without correction.

    >>> [compute_fewest_documents_for_significance(pairs, 0.05) for pairs in (3, 45, 1)]
    [7, 11, 6]
    """
    return max(FEWEST_DOCUMENTS, ceil(1 + log2(pairs / alpha)))


@dataclass(frozen=True, slots=True)
class StudyCostAssumptions:
    """The cost of a rating.

    seconds_per_word: of source and output shown (WMT25 planned with .8). overhead: share added for control items and
    repeats. onboarding_hours: of each rater. hourly: pay per hour, None if unknown.
    """

    seconds_per_word: float = 0.8
    overhead: float = 0.1
    onboarding_hours: float = 1.0
    hourly: float | None = None


@dataclass(frozen=True, slots=True)
class StudyCost:
    """Hours of judging and of onboarding, and their price in the unit of `StudyCostAssumptions.hourly`."""

    judging_hours: float
    onboarding_hours: float
    price: float | None


def compute_study_cost(
    layout: StudyLayout, assumptions: StudyCostAssumptions, *, systems: int, words_per_segment: float
) -> StudyCost:
    """Hours and price of a layout: seconds/word × words × systems × ratings, plus overhead and onboarding.

    words_per_segment: of the source and one output together.

    >>> paid = StudyCostAssumptions(hourly=20.0)
    >>> compute_study_cost(StudyLayout(30, 10, 5), paid, systems=6, words_per_segment=40).price
    452.0
    """
    shown = layout.documents * layout.segments * layout.ratings_per_item * systems * words_per_segment
    judging = shown * assumptions.seconds_per_word * (1 + assumptions.overhead) / 3600
    onboarding = assumptions.onboarding_hours * layout.raters
    price = None if assumptions.hourly is None else round((judging + onboarding) * assumptions.hourly, 2)
    return StudyCost(judging, onboarding, price)
