"""The report on the multiverse, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.table import Alignment, Cell, Table
from app.reports.multiverse.charts import AnalysisChoiceBar, ClaimSharesOfPair, plot_claim_shares, plot_claims_by_choice
from app.stats.multiverse.shares import Kind as ClaimKind
from app.stats.multiverse.space import Dimension


class PairClaimsView(BaseModel):
    """One pair, the system that ranks higher under the base recipe first."""

    model_config = ConfigDict(frozen=True)

    first: str
    second: str
    base: str | None = Field(description="Which of the two the base recipe claims to be better; null for neither.")
    n: int = Field(description="Universes in which the pair was tested.")
    first_better: float | None = Field(description="Share of the tested universes that claim the first to be better.")
    second_better: float | None
    untested: int = Field(description="Universes that rank both but have too little data to test them.")
    first_ahead: float | None = Field(
        description="Share of the scorings, exclusions and normalizations in which the first has the better score."
    )
    second_ahead: float | None
    kind: ClaimKind | None = Field(
        description="One claim in every universe, one in some, each of both in some, or none in any."
    )
    hangs_on: Dimension | None = Field(description="Choice whose alternatives differ most in these shares.")
    spread: float | None = Field(description="Size of that difference: share of one claim minus share of the other.")


class AnalysisChoiceClaimsView(BaseModel):
    """One choice."""

    model_config = ConfigDict(frozen=True)

    dimension: Dimension
    choice: str
    n: int = Field(description="Universes with this choice.")
    claimed: float | None = Field(description="Mean share of the tested pairs for which these universes make a claim.")


class InapplicableUniversesView(BaseModel):
    """Universes that do not apply; they are counted nowhere else."""

    model_config = ConfigDict(frozen=True)

    choices: dict[str, str] = Field(description="Choices that rule them out.")
    n: int
    reason: str


class MultiverseView(ReportHeader):
    """Every analysis of the same judgments."""

    recipe: str = Field(description="Recipe whose remaining choices all universes share.")
    recipe_hash: str
    seed: int
    alpha: float
    systems: list[str] = Field(description="Best first under the base recipe.")
    n: int = Field(description="Number of universes.")
    pairs: list[PairClaimsView]
    choices: list[AnalysisChoiceClaimsView]
    missing: list[InapplicableUniversesView]


IN_WORDS: dict[ClaimKind, str] = {
    "always": "in every universe",
    "depends": "in some",
    "reversed": "both ways",
    "never": "in none",
}


def make_tables(view: MultiverseView) -> Sequence[TableSection]:
    """Make tables of pairs, of choices, and of universes that do not apply."""
    shown = [TableSection("Claims", _pairs_table(view), frozenset({0, 1}))] if view.pairs else []
    if view.choices:
        shown.append(TableSection("Choices", _choices_table(view), frozenset()))
    if view.missing:
        shown.append(TableSection("Universes that do not apply", _missing_table(view), frozenset()))
    return shown


def _pairs_table(view: MultiverseView) -> Table:
    headings = ("System", "Other", "Universes", "Better", "Worse", "Neither", "Claimed", "Depends on", "By recipe")
    sides: tuple[Alignment, ...] = ("left", "left", *("right",) * 4, "left", "left", "left")
    return Table(headings, sides, tuple(_pair_cells(one) for one in view.pairs))


def _pair_cells(pair: PairClaimsView) -> tuple[str, ...]:
    better, worse = pair.first_better, pair.second_better
    neither = None if better is None or worse is None else max(0.0, 1 - better - worse)
    base = "–" if pair.base is None else "better" if pair.base == pair.first else "worse"
    hangs = "–" if pair.hangs_on is None else f"{pair.hangs_on} ({text_formatting.format_number(pair.spread, 2)})"
    claimed = "–" if pair.kind is None else IN_WORDS[pair.kind]
    return (pair.first, pair.second, f"{pair.n:,}", *map(_share, (better, worse, neither)), claimed, hangs, base)


def _choices_table(view: MultiverseView) -> Table:
    rows, breaks = list[tuple[str, ...]](), set[int]()
    for choice in view.choices:
        if rows and rows[-1][0] != choice.dimension:
            breaks.add(len(rows))
        rows.append((choice.dimension, choice.choice, f"{choice.n:,}", _share(choice.claimed)))
    headings = ("Dimension", "Choice", "Universes", "Pairs claimed")
    return Table(headings, ("left", "left", "right", "right"), tuple(rows), frozenset(breaks))


def _missing_table(view: MultiverseView) -> Table:
    rows = tuple(
        (", ".join(f"{name} {value}" for name, value in one.choices.items()), f"{one.n:,}", one.reason)
        for one in view.missing
    )
    return Table(("Choices", "Universes", "Reason"), ("left", "right", "left"), rows)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


CSV = ("first", "second", "base", "n", "first_better", "second_better", "untested", "first_ahead", "second_ahead")
ORIGIN = ("kind", "hangs_on", "spread", "campaign", "data_version", "recipe", "recipe_hash", "seed")


def make_csv_rows(view: MultiverseView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per pair."""
    campaign, version = next(iter(view.campaigns.items()))
    origin = (campaign, version, view.recipe, view.recipe_hash, view.seed)
    rows = [(*(getattr(one, name) for name in CSV), one.kind, one.hangs_on, one.spread, *origin) for one in view.pairs]
    return (*CSV, *ORIGIN), rows


def make_caption(view: MultiverseView) -> str:
    """Say what the figures are and which data they come from."""
    version = next(iter(view.campaigns.values()))
    left_out = sum(one.n for one in view.missing)
    return (
        f"{text_formatting.pluralize(view.n, 'universe')}: all combinations of the choices; {left_out:,} more do not "
        f"apply and are not counted. A claim is a significant difference at level {view.alpha:g}. All else is as "
        f"in recipe {view.recipe}, data version "
        f"{version}, seed {view.seed}, method {view.method_version}."
    )


def plot_claim_matrix(view: MultiverseView) -> bytes:
    """Draw the share of universes in which the row is significantly better than the column."""
    pairs = [ClaimSharesOfPair(p.first, p.second, p.first_better, p.second_better) for p in view.pairs]
    notes = _notes(view)
    return plot_claim_shares(f"Multiverse analysis of {', '.join(view.campaigns)}", view.systems, pairs, notes)


def plot_claim_shares_by_choice(view: MultiverseView) -> bytes:
    """Draw how many pairs each choice claims."""
    bars = [AnalysisChoiceBar(one.dimension, one.choice, one.n, one.claimed) for one in view.choices]
    return plot_claims_by_choice(f"Multiverse analysis of {', '.join(view.campaigns)}", bars, _notes(view))


def _notes(view: MultiverseView) -> list[str]:
    return [*map(text_formatting.make_sentence, view.warnings), make_caption(view)]
