"""The report on agreement between campaigns, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.agreement.between_campaign_variation import SystemVariationOverCampaigns, make_score_variation_table
from app.reports.agreement.tables import NONE, PLACES, label_statistic
from app.reports.agreement.view import AgreementStatistic
from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Cell, Table
from app.reports.kit.table_making import make_table


class ComparedCampaign(FrozenFiniteResultModel):
    """One campaign: of its units, means over its raters."""

    campaign: str
    protocol: str
    n_units: int
    n_raters: int
    mean: float | None
    turned: bool = Field(
        description="Whether the sign was reversed so that higher is better, because scores of another "
        "campaign run that way."
    )


class CampaignPairAgreement(FrozenFiniteResultModel):
    """Two campaigns on the units that both have."""

    campaign: tuple[str, str]
    n_units: int
    pearson: float | None
    tau_b: float | None
    tau_c: float | None = Field(description="Stuart's τ-c.")
    tau_systems: float | None = Field(description="τ-b between the rankings of systems on these units.")
    absolute: float | None = Field(description="Mean difference; null where the scales differ.")


class CampaignsAgreementView(ReportHeader):
    """How far campaigns on the same outputs agree."""

    complete: bool
    n_units: int = Field(description="Segments of one system that at least two campaigns have (all, with `complete`).")
    n_documents: int
    same_scale: bool
    chance_levels: int | None
    draws: int
    interval_level: float
    seed: int
    each: list[ComparedCampaign]
    statistics: list[AgreementStatistic]
    pairs: list[CampaignPairAgreement]
    repeated: list[SystemVariationOverCampaigns] = Field(
        default_factory=list, description="Campaigns as repetitions of one measurement: CV* of every system."
    )


def _figure(value: float | None) -> str:
    return text_formatting.format_number(value, PLACES)


def make_tables(view: CampaignsAgreementView) -> Sequence[TableSection]:
    """Make a table of pairs of campaigns and a table of the coefficients over all campaigns."""
    shown = []
    if view.pairs:
        shown.append(TableSection("Pairs of campaigns", _pairs(view), frozenset({0, 1})))
    if view.statistics:
        shown.append(TableSection("Campaigns as raters", _statistics(view), frozenset()))
    if view.repeated:
        shown.append(TableSection("Campaigns as repeated measurements", make_score_variation_table(view.repeated)))
    return shown


def _pairs(view: CampaignsAgreementView) -> Table:
    heads = ("Campaign", "Campaign", "Units", "Pearson", "τ-b", "τ-c", "τ of systems", "Difference")
    rows = []
    for pair in view.pairs:
        figures = (pair.pearson, pair.tau_b, pair.tau_c, pair.tau_systems, pair.absolute)
        rows.append((*pair.campaign, f"{pair.n_units:,}", *map(_figure, figures)))
    return make_table(heads, rows, 2)


def _statistics(view: CampaignsAgreementView) -> Table:
    heads = ("Coefficient", "Value", f"{view.interval_level:.0%} interval", "Expected", "Chance")
    rows = [
        (
            label_statistic(statistic),
            _figure(statistic.value),
            text_formatting.format_interval(statistic.interval, PLACES),
            _figure(statistic.expected),
            _figure(statistic.chance),
        )
        for statistic in view.statistics
    ]
    return make_table(heads, rows, 1)


CSV = (
    *("what", "campaign", "other_campaign", "statistic", "tolerance", "value", "interval_low", "interval_high"),
    *("expected", "chance", "n_units"),
)


def make_csv_rows(view: CampaignsAgreementView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per figure."""
    rows: list[tuple[Cell, ...]] = []
    for pair in view.pairs:
        figures = pair.model_dump(exclude={"campaign", "n_units"})
        for name, value in figures.items():
            rows.append(("pair", *pair.campaign, name, None, value, *NONE, None, None, pair.n_units))
    for statistic in view.statistics:
        ends = statistic.interval or NONE
        head = ("coefficient", *NONE, statistic.statistic, statistic.tolerance, statistic.value)
        rows.append((*head, *ends, statistic.expected, statistic.chance, view.n_units))
    rows += [
        ("system", one.system, None, "cv_star", None, one.cv, *NONE, None, None, one.n_units) for one in view.repeated
    ]
    return CSV, rows


def make_caption(view: CampaignsAgreementView) -> str:
    """Say what the figures are and which data they come from."""
    versions = ", ".join(f"{key} at {version}" for key, version in view.campaigns.items())
    return (
        f"{text_formatting.pluralize(view.n_units, 'unit')} of "
        f"{text_formatting.pluralize(view.n_documents, 'document')}, matched by key, position and source; "
        f"the score of a campaign is the mean over its raters. Data versions: {versions}; "
        f"method {view.method_version}."
    )
