"""A report on validation as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.reports.kit import captions
from app.reports.kit.charts.rates import RateLine, rates_picture
from app.reports.kit.report import ReportHead, Section
from app.reports.kit.table import Cell, Table
from app.stats.validation.rates import Rate, What, World


class KeptRateView(BaseModel):
    """A share over simulated studies, beside what the recipe promises."""

    model_config = ConfigDict(frozen=True)

    world: World = Field(
        description="null: no system is better; resampled: the campaign's ratings are the truth; else scores are drawn "
        "anew on the campaign's documents and raters, and no system is better."
    )
    what: What
    meaning: str
    expected: float | None = Field(description="What the recipe promises; null where it promises nothing.")
    bound: Literal["at most", "at least"]
    rate: float | None
    error: float | None = Field(description="Standard error from simulating finitely many studies.")
    n: int = Field(description="Studies in which it is defined.")
    kept: bool | None = Field(description="By a one-sided exact bound; null where there is nothing to say.")
    low: float | None = Field(None, description="One-sided exact bound at 99 %: the rate is no lower.")
    high: float | None = Field(None, description="One-sided exact bound at 99 %: the rate is no higher.")
    exact: bool = Field(
        default=False, description="Kept by construction: the test's own randomization makes this null."
    )

    @classmethod
    def of(cls, rate: Rate) -> KeptRateView:
        """From the statistics."""
        return cls(
            world=rate.world,
            what=rate.what,
            meaning=MEANING[rate.what],
            expected=rate.expected,
            bound=rate.bound,
            rate=rate.rate,
            error=rate.error,
            n=rate.n,
            kept=rate.kept,
            low=rate.low,
            high=rate.high,
            exact=rate.exact,
        )


class ValidationView(ReportHead):
    """Type I error and coverage of a recipe on a campaign's own design."""

    recipe: str
    recipe_hash: str
    normalize: str
    test: str
    adjust: str
    alpha: float
    seed: int
    studies: int = Field(description="Of each world.")
    units: int
    unit: Literal["document", "segment"] = Field(description="What studies draw.")
    exchanged: Literal["within", "between"] = Field(description="Where systems change places: in units, or between.")
    systems: list[str]
    rates: list[KeptRateView]


MEANING: dict[What, str] = {
    "p_below_0.01": "pairs with p ≤ .01 before adjustment",
    "p_below_0.05": "pairs with p ≤ .05 before adjustment",
    "p_below_0.1": "pairs with p ≤ .1 before adjustment",
    "p_below_0.5": "pairs with p ≤ .5 before adjustment",
    "pairs_claimed": "pairs claimed",
    "any_claim": "studies with any claim",
    "any_line": "studies with more than one cluster",
    "difference_interval": "intervals of differences that hold the truth",
    "score_interval": "intervals of scores that hold the truth",
    "rank_sets": "studies whose rank sets all hold the truth",
    "wrong_claims": "pairs claimed for the wrong system",
}
WORLDS: dict[World, str] = {
    "null": "No system is better",
    "resampled": "The campaign's ratings are the truth",
    "clean": "Scores drawn anew, no system is better",
    "topics": "Systems differ by topic, on average they do not",
    "rater_system": "Raters differ in their taste for systems",
    "skewed": "One system fails on 5 % of documents, and is as good on average",
    "weak_null": "Equal means, but documents treat one system unevenly",
    "peeking": "Asked four times while the campaign grows",
}
IF_WORLD: dict[World, str] = {
    "clean": "where scores are normal and no system is better",
    "topics": "where systems differ by topic (standard deviation .4)",
    "rater_system": "where raters differ in their taste for systems (standard deviation .3), so of new raters",
    "skewed": "where a system that is as good on average fails on 5 % of its documents",
    "weak_null": "where means are equal and documents treat one system unevenly",
    "peeking": "where the question is asked again after a quarter, a half and three quarters of the documents",
}


def tables(view: ValidationView) -> Sequence[Section]:
    """One table a world."""
    headings = ("Share of", "Promised", "Found", "Bounds", "Studies", "Kept")
    shown = []
    for world, title in WORLDS.items():
        rows = tuple(_cells(rate) for rate in view.rates if rate.world == world)
        if rows:
            table = Table(headings, ("left", "left", "right", "left", "right", "left"), rows)
            shown.append(Section(title, table, frozenset()))
    return shown


def _cells(rate: KeptRateView) -> tuple[str, ...]:
    promised = "–" if rate.expected is None else f"{rate.bound} {captions.number(rate.expected, 3)}"
    found = (captions.number(rate.rate, 3), _bounds(rate))
    return (rate.meaning, promised, *found, f"{rate.n:,}", _kept(rate))


def _ends(rate: KeptRateView) -> tuple[float, float] | None:
    return None if rate.low is None or rate.high is None else (rate.low, rate.high)


def _bounds(rate: KeptRateView) -> str:
    if rate.low is None or rate.high is None:
        return "–"
    return f"{captions.number(rate.low, 3)} to {captions.number(rate.high, 3)}"


def _kept(rate: KeptRateView) -> str:
    if rate.exact and rate.kept:
        return "by construction"
    return {None: "–", True: "yes", False: "no"}[rate.kept]


CSV = ("world", "what", "expected", "bound", "rate", "error", "n", "kept", "low", "high", "exact")
ORIGIN = ("campaign", "data_version", "recipe", "recipe_hash", "studies", "seed")


def csv(view: ValidationView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """One row a rate."""
    campaign, version = next(iter(view.campaigns.items()))
    origin = (campaign, version, view.recipe, view.recipe_hash, view.studies, view.seed)
    return (*CSV, *ORIGIN), [(*(getattr(rate, name) for name in CSV), *origin) for rate in view.rates]


def caption(view: ValidationView) -> str:
    """What the figures are, and from which data."""
    version = next(iter(view.campaigns.values()))
    how = f"of each {view.unit} change places" if view.exchanged == "within" else f"of whole {view.unit}s change hands"
    drawn = f"{view.units:,} {view.unit}s drawn from the campaign's with all their ratings"
    return (
        f"{view.studies:,} studies of each kind, each of {drawn}; where no system is better, the systems {how} at "
        f"random. Bounds are one-sided and exact, 99 % each: a promise counts as broken where one excludes it. Recipe "
        f"{view.recipe} (normalization {view.normalize}, {view.test}, adjustment {view.adjust}, level {view.alpha:g}), "
        f"data version {version}, seed {view.seed}, method {view.method_version}."
    )


def picture(view: ValidationView) -> bytes:
    """Every rate with its error, beside the promise."""
    lines = [
        RateLine(WORLDS[rate.world], rate.meaning, rate.expected, rate.bound, rate.rate, _ends(rate), rate.kept)
        for rate in view.rates
    ]
    told = [*map(captions.sentence, view.warnings), caption(view)]
    return rates_picture(f"What recipe {view.recipe} promises on {', '.join(view.campaigns)}", lines, told)
