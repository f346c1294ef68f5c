"""The gate's answer, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from operator import attrgetter
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.reports.gate.chart import GateChartContent, plot_gate_chart
from app.reports.gate.earlier_looks import Promise
from app.reports.kit import text_formatting
from app.reports.kit.columns import Column, File, make_csv_headings_and_rows
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.table import Cell, Table
from app.stats.gate.failures import SystemFailures
from app.stats.gate.gate import Claim, Verdict

Two = Annotated[list[float], Field(min_length=2, max_length=2)]


class ReplicationView(BaseModel):
    """Would a study run again show the same?"""

    model_config = ConfigDict(frozen=True)

    same_direction: float | None = Field(description="Probability that it finds the same system better.")
    significant_again: float | None = Field(description="Probability that the claim also holds in it.")
    method: str = Field(description="simulated, if several raters rated outputs; else a forecast.")
    documents: int
    studies: int | None = Field(None, description="Number of simulated studies; null for a forecast.")
    why: str | None = Field(None, description="Why a probability is missing.")


class RecipePairVerdict(BaseModel):
    """Result of the recipe's own test for the pair, in its ranking of all systems."""

    model_config = ConfigDict(frozen=True)

    test: str
    better: str = Field(description="Which of the two ranks higher.")
    p_value: float | None = Field(description="p of the test, if one-sided for the higher-ranked system being better.")
    p_reverse: float | None = Field(None, description="p of the other direction of a one-sided test.")
    p_adjusted: float | None
    significant: bool = Field(description="The higher-ranked one is significantly better, as in the ranking.")
    significantly_better: str | None = Field(
        None, description="System that is significantly better, which may be the lower-ranked one; null for neither."
    )


class FailureShareView(BaseModel):
    """How many of so many fail."""

    model_config = ConfigDict(frozen=True)

    found: int
    n: int
    high: float = Field(description="Exact one-sided upper bound of the share, at alpha.")


class SystemFailuresView(BaseModel):
    """Failures of one system."""

    model_config = ConfigDict(frozen=True)

    documents: FailureShareView = Field(description="Documents with at least one failure in any segment.")
    segments: FailureShareView = Field(
        description="Its bound treats segments as independent, which those of one document are not."
    )

    @classmethod
    def from_failures(cls, failures: SystemFailures) -> SystemFailuresView:
        """Make the view of the statistics of failures."""
        return cls(
            documents=FailureShareView(**asdict(failures.documents)),
            segments=FailureShareView(**asdict(failures.segments)),
        )


class FailuresView(BaseModel):
    """Rare failures, which the mean does not show."""

    model_config = ConfigDict(frozen=True)

    by: str = Field(description="What counts as a failure.")
    candidate: SystemFailuresView
    baseline: SystemFailuresView


class GateView(ReportHeader):
    """May the candidate replace the baseline?"""

    data_version: int
    candidate: str
    baseline: str
    claim: Claim
    margin: float | None
    alpha: float = Field(description="Level of each one-sided test.")
    holds: bool
    verdict: Verdict
    p_value: float | None = Field(description="One-sided; the larger of two for equivalence.")
    difference: float | None = Field(description="Positive if the candidate is better.")
    interval: Two | None = Field(description="Its ends are the one-sided bounds at alpha.")
    interval_level: float
    new_raters_interval: Two | None = Field(
        None, description="Interval of the difference for new raters, too, two-sided at 1 − alpha; null if unknown."
    )
    new_domains_interval: Two | None = Field(
        None, description="Interval of the difference if whole domains are drawn; null if domains are unknown."
    )
    unit: str = Field(description="raw, the protocol's unit, or z.")
    higher_is_better: bool
    paired: bool = Field(description="Over segments that both have.")
    n_documents: int
    n_segments: int
    skewness: float | None = Field(None, description="Skewness of the differences of documents; bounds allow for it.")
    failures: FailuresView | None = Field(None, description="null if nothing defines a failure.")
    max_critical: float | None = Field(
        None, description="Largest share of documents that may fail, if one was requested."
    )
    planned_documents: int | None = Field(None, description="Number of documents that was fixed in advance.")
    earlier_looks: list[int] = Field(
        default_factory=list, description="Data versions at which the same two were compared before."
    )
    promise: Promise = Field(
        "one look", description="none: alpha does not hold because of earlier comparisons on less data."
    )
    replication: ReplicationView | None
    min_replication: float | None
    srp: float | None = Field(description="Stable Ranking Probability of all systems; null if nothing was re-rated.")
    srp_mc_error: float | None
    srp_significant_pairs: float | None = Field(
        description="Mean number that a simulated study finds; SRP is never shown alone."
    )
    by_recipe: RecipePairVerdict | None
    recipe: str
    recipe_hash: str
    normalize: str
    seed: int
    population: str


CLAIMS: dict[Claim, str] = {"better": "better than", "not_worse": "not worse than", "equivalent": "equivalent to"}
VERDICTS: dict[Verdict, str] = {
    "better": "better",
    "worse": "worse",
    "not_worse": "not worse",
    "equivalent": "equivalent",
    "inconclusive": "inconclusive",
    "no_data": "too little data",
}
EXIT: dict[Verdict, int] = {"inconclusive": 3, "no_data": 3}


def gate_exit_code(view: GateView) -> int:
    """Return the exit code of the command: 0 if the claim holds, 1 if it does not, 3 if nothing can be said."""
    return 0 if view.holds else EXIT.get(view.verdict, 1)


def make_claim_sentence(view: GateView) -> str:
    """Return the claim as a sentence."""
    margin = "" if view.margin is None else f" (margin {view.margin:g})"
    return f"{view.candidate} is {CLAIMS[view.claim]} {view.baseline}{margin}"


def _domain_lines(view: GateView, places: int) -> list[tuple[str, str]]:
    if view.new_domains_interval is None:
        return []
    return [(f"{1 - view.alpha:.0%} interval, new domains", _format_interval(view.new_domains_interval, places))]


def make_tables(view: GateView) -> Sequence[TableSection]:
    """Make one table with each figure and its name."""
    places = text_formatting.choose_decimals([view.difference, *(view.interval or ())])
    rows = [
        ("Claim", make_claim_sentence(view)),
        ("Verdict", f"{'holds' if view.holds else 'does not hold'}: {VERDICTS[view.verdict]}"),
        ("Difference", text_formatting.format_number(view.difference, places)),
        (f"{view.interval_level:.0%} interval", _interval(view, places)),
        (f"{1 - view.alpha:.0%} interval, new raters too", _format_interval(view.new_raters_interval, places)),
        *_domain_lines(view, places),
        ("p", text_formatting.format_p_value(view.p_value)),
        *_failures(view),
        ("Level", _level(view)),
        *_replication(view),
        ("SRP", _srp(view)),
        ("By recipe", _by_recipe(view)),
        ("Documents", f"{view.n_documents:,}"),
        ("Segments", f"{view.n_segments:,}"),
    ]
    return [TableSection("Gate", Table(("", "Value"), ("left", "left"), tuple(rows)), frozenset())]


def _interval(view: GateView, places: int) -> str:
    return _format_interval(view.interval, places)


def _format_interval(interval: Sequence[float] | None, places: int) -> str:
    if interval is None:
        return "–"
    return (
        f"{text_formatting.format_number(interval[0], places)} to {text_formatting.format_number(interval[1], places)}"
    )


def _failures(view: GateView) -> list[tuple[str, str]]:
    failures = view.failures
    if failures is None:
        return []
    limit = "" if view.max_critical is None else f" (at most {_chance(view.max_critical)} allowed)"
    return [
        ("Documents that fail, candidate", f"{_share(failures.candidate.documents)}{limit}"),
        ("Documents that fail, baseline", _share(failures.baseline.documents)),
        ("Segments that fail", f"{_share(failures.candidate.segments)}; baseline {_share(failures.baseline.segments)}"),
    ]


def _share(share: FailureShareView) -> str:
    return f"{share.found:,} of {share.n:,}, up to {text_formatting.format_number(100 * share.high, 1)} % of all"


def _level(view: GateView) -> str:
    if view.promise == "none":
        return f"{view.alpha:g}, not guaranteed: compared before on less data"
    fixed = "" if view.planned_documents is None else f", fixed at {view.planned_documents:,} documents"
    return f"{view.alpha:g} at one look{fixed}"


def _replication(view: GateView) -> list[tuple[str, str]]:
    replication = view.replication
    if replication is None:
        return [("If repeated", "–")]
    limit = "" if view.min_replication is None else f" (at least {_chance(view.min_replication)} required)"
    return [
        ("If repeated: same direction", f"{_chance(replication.same_direction)} ({replication.method})"),
        ("If repeated: claim holds", f"{_chance(replication.significant_again)} ({replication.method}){limit}"),
    ]


def _chance(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _srp(view: GateView) -> str:
    if view.srp is None:
        return "–"
    pairs = text_formatting.format_number(view.srp_significant_pairs, 1)
    return f"{text_formatting.format_number(view.srp, 3)}, {pairs} significant pairs per study"


def _by_recipe(view: GateView) -> str:
    comparison = view.by_recipe
    if comparison is None:
        return "–"
    if comparison.p_value is None:
        return f"{comparison.better} ranks higher, not testable ({comparison.test})"
    if comparison.significantly_better not in (None, comparison.better):
        p = text_formatting.format_p_value(_reverse(comparison))
        other = comparison.significantly_better
        return f"{comparison.better} ranks higher, but {other} is significantly better, p {p} ({comparison.test})"
    verdict = "significant" if comparison.significant else "not significant"
    p = text_formatting.format_p_value(comparison.p_adjusted)
    return f"{comparison.better} ranks higher, {verdict}, p {p} ({comparison.test})"


def _reverse(comparison: RecipePairVerdict) -> float | None:
    """Return p for the lower-ranked system being better: its own or, if adjusted, that of both directions."""
    alone = comparison.p_adjusted == comparison.p_value
    return comparison.p_reverse if alone and comparison.p_reverse is not None else comparison.p_adjusted


def _end(which: int) -> Callable[[GateView], float | None]:
    """Return a function that gives the low or the high end of the interval."""
    return lambda view: None if view.interval is None else view.interval[which]


def _replication_column(name: str) -> Callable[[GateView], Cell]:
    """Return a function that gives a figure of the forecast of replication."""
    return lambda view: None if view.replication is None else getattr(view.replication, name)


def _failing(system: str, value: Callable[[FailureShareView], float | None]) -> Callable[[GateView], float | None]:
    """Return a function that gives a figure of the documents on which the candidate or the baseline fails."""
    return lambda view: None if view.failures is None else value(getattr(view.failures, system).documents)


def _share_of(share: FailureShareView) -> float | None:
    return share.found / share.n if share.n else None


COLUMNS: Sequence[Column[GateView]] = (
    *(Column(key=key) for key in ("candidate", "baseline", "claim", "margin", "alpha", "holds", "verdict")),
    Column(key="p_value", value=lambda view: text_formatting.format_p_value_for_csv(view.p_value)),
    Column(key="difference"),
    Column(key="interval_low", value=_end(0)),
    Column(key="interval_high", value=_end(1)),
    Column(key="same_direction", value=_replication_column("same_direction")),
    Column(key="significant_again", value=_replication_column("significant_again")),
    Column(key="replication_method", value=_replication_column("method")),
    Column(key="srp"),
    Column(key="candidate_failing", value=_failing("candidate", _share_of)),
    Column(key="candidate_failing_up_to", value=_failing("candidate", attrgetter("high"))),
    Column(key="baseline_failing", value=_failing("baseline", _share_of)),
    Column(key="baseline_failing_up_to", value=_failing("baseline", attrgetter("high"))),
    *(Column(key=key) for key in ("promise", "n_documents", "n_segments")),
    Column(key="campaign", value=lambda view: next(iter(view.campaigns))),
    *(Column(key=key) for key in ("data_version", "recipe", "recipe_hash", "seed")),
)


def make_csv_rows(view: GateView) -> File:
    """Make a single row."""
    return make_csv_headings_and_rows(COLUMNS, [view])


def make_caption(view: GateView) -> str:
    """Say what the figures are and which data they come from."""
    direction = "higher" if view.higher_is_better else "lower"
    unit = "the protocol's unit" if view.unit == "raw" else f"{view.unit} of raters"
    return (
        f"The difference is positive where the candidate is better, in {unit} ({direction} scores are better); the "
        f"ends of the interval are one-sided bounds at {view.alpha:g}. {_failure_sentence(view)}"
        f"Population: {view.population}. "
        f"Recipe {view.recipe} (normalization {view.normalize}), data version {view.data_version}, seed {view.seed}, "
        f"method {view.method_version}."
    )


def _failure_sentence(view: GateView) -> str:
    return "" if view.failures is None else f"A document fails by {view.failures.by}. "


def plot_gate_interval(view: GateView) -> bytes:
    """Draw the interval against 0 and the margin."""
    low, high = view.interval or (None, None)
    drawn = GateChartContent(
        title=make_claim_sentence(view),
        verdict=f"{'Holds' if view.holds else 'Does not hold'}: {VERDICTS[view.verdict]}",
        holds=view.holds,
        difference=view.difference,
        low=low,
        high=high,
        margin=view.margin,
        two_sided=view.claim == "equivalent",
        notes=[*map(text_formatting.make_sentence, view.warnings), make_caption(view)],
    )
    return plot_gate_chart(drawn)
