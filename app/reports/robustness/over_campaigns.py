"""Robustness of the rankings of several campaigns: counts over all, and by protocol, basis, style and platform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.domain.errors import Invalid
from app.reports.inputs.ratings_file_totals import list_sums_cache_key_parts
from app.reports.inputs.recipe_input import CampaignFactsUnderRecipe, RecipeAndSeedOptions
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import LocalChunkComputer, Report, ReportComputation, ReportHeader, TableSection
from app.reports.kit.table import Alignment, Cell, Table
from app.reports.robustness.chart_rendering import RankingChangeBarRow, plot_ranking_change_bars
from app.reports.robustness.charts import make_ranking_change_bar_row
from app.reports.robustness.input import check_duckdb_if_campaigns_large, load_robustness_input
from app.reports.robustness.report import (
    ALONE,
    GROUPS_PATTERN,
    KEYS_PATTERN,
    compute_and_encode_change_effects,
    decode_change_effects,
    parse_human_systems,
    parse_score_change_groups,
)
from app.reports.robustness.view import (
    HEADS,
    IN_WORDS,
    ScoreChangeEffectView,
    ScoreChangeGroupView,
    make_change_csv_cells,
    summarize_score_change_group,
)
from app.stats.robustness.reranking import ScoreChangeExperiments
from app.stats.robustness.reranking_sums import ScoreChangeExperimentsFromSums
from app.stats.robustness.score_changes import ScoreChange
from app.storage.db import Session

DEFAULT = ("references", "lowest", "highest", "degraded", "degraded_reference_rows", "inflated")
UNKNOWN = "unknown"


class RobustnessOverCampaignsOptions(RecipeAndSeedOptions):
    """The changes, and the recipe."""

    changes: Annotated[str, StringConstraints(pattern=GROUPS_PATTERN)] = Field(
        ",".join(DEFAULT), description="Kinds of change, separated by commas."
    )
    humans: Annotated[str, StringConstraints(pattern=KEYS_PATTERN)] = Field(
        "", description="Human translations, separated by commas; default: systems marked as human."
    )


class CampaignScoreChangeEffects(BaseModel):
    """One campaign: what it counts under, and what each change did."""

    model_config = ConfigDict(frozen=True)

    campaign: str
    protocol: str
    basis: str
    style: str = Field(description="Taken from the campaign's settings, like `platform`.")
    platform: str
    why: str | None = Field(None, description="Why its rankings could not be made.")
    changes: list[ScoreChangeEffectView]


class ScoreChangeTotalsView(BaseModel):
    """One kind of change over the campaigns that share something; `of` is what they share, `value` its value."""

    model_config = ConfigDict(frozen=True)

    of: str
    value: str
    what: str = Field(description="The factor, if there is one.")
    counts: ScoreChangeGroupView


class RobustnessOverCampaignsView(ReportHeader):
    """What the rankings of several campaigns depend on."""

    recipe: str
    of_campaigns: list[CampaignScoreChangeEffects]
    totals: list[ScoreChangeTotalsView]


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: RobustnessOverCampaignsOptions
) -> ReportComputation[RobustnessOverCampaignsView]:
    groups = parse_score_change_groups(options.changes)
    campaigns = [load_robustness_input(session, one, options) for one in snapshots]
    named = parse_human_systems(options.humans, *(one.facts for one in campaigns)) if options.humans else None
    prepared: list[
        tuple[CampaignFactsUnderRecipe, ScoreChangeExperiments | None, tuple[ScoreChange, ...], str | None]
    ] = []
    for given in campaigns:
        campaign = given.facts
        humans = campaign.humans if named is None else named.intersection(campaign.names)
        try:
            experiments = given.prepare_score_change_experiments(humans)
        except Invalid as error:
            prepared.append((campaign, None, (), error.detail or error.title()))
            continue
        changes, _ = experiments.list_changes_and_missing_groups(groups)
        why = None if experiments.facts.order else "; ".join(experiments.warnings)
        prepared.append((replace(campaign, humans=humans), experiments, changes, why))
    chunk = partial(_chunk, [(experiments, found) for _, experiments, found, _ in prepared])
    summed = any(isinstance(experiments, ScoreChangeExperimentsFromSums) for _, experiments, _, _ in prepared)
    return ReportComputation(
        len(prepared),
        LocalChunkComputer(chunk) if summed else chunk,
        lambda parts: _view(prepared, parts, options.recipe),
    )


def _chunk(work: Sequence[tuple[ScoreChangeExperiments | None, Sequence[ScoreChange]]], number: int) -> bytes:
    experiments, changes = work[number]
    return b"[]" if experiments is None else compute_and_encode_change_effects(experiments, changes)


def _view(
    prepared: Sequence[
        tuple[CampaignFactsUnderRecipe, ScoreChangeExperiments | None, tuple[ScoreChange, ...], str | None]
    ],
    parts: Sequence[bytes],
    recipe: str,
) -> RobustnessOverCampaignsView:
    shown = [
        _campaign(one, why, decode_change_effects(part)) for (one, _, _, why), part in zip(prepared, parts, strict=True)
    ]
    first = prepared[0][0]
    return RobustnessOverCampaignsView(
        campaigns={key: version for one, _, _, _ in prepared for key, version in one.data_version_by_campaign.items()},
        data_hash=" ".join(one.data_hash for one, _, _, _ in prepared),
        basis=" ".join(sorted({one.basis for one in shown})) or first.snapshot.campaign.basis,
        dropped=[
            {**asdict(line), "campaign": one.snapshot.campaign.key}
            for one, experiments, _, _ in prepared
            for line in (experiments.dropped if experiments is not None else ())
        ],
        warnings=list(_warnings(shown, [experiments for _, experiments, _, _ in prepared])),
        recipe=recipe,
        of_campaigns=shown,
        totals=list(_totals(shown)),
    )


def _warnings(
    shown: Sequence[CampaignScoreChangeEffects], by_campaign: Sequence[ScoreChangeExperiments | None]
) -> Iterator[str]:
    for campaign, experiments in zip(shown, by_campaign, strict=True):
        alone = experiments is not None and len(experiments.facts.order) == 1
        if why := ALONE if alone else campaign.why:
            yield f"{campaign.campaign}: {why}"


def _campaign(
    inputs: CampaignFactsUnderRecipe, why: str | None, changes: list[ScoreChangeEffectView]
) -> CampaignScoreChangeEffects:
    campaign = inputs.snapshot.campaign
    style, platform = (_setting(inputs, name) for name in ("style", "platform"))
    settings = {"protocol": campaign.protocol, "basis": campaign.basis, "style": style, "platform": platform}
    return CampaignScoreChangeEffects(campaign=campaign.key, why=why, changes=changes, **settings)


def _setting(inputs: CampaignFactsUnderRecipe, name: str) -> str:
    value = inputs.snapshot.campaign.settings.get(name)
    return value if isinstance(value, str) and value else UNKNOWN


def _totals(shown: Sequence[CampaignScoreChangeEffects]) -> Iterator[ScoreChangeTotalsView]:
    """Yield counts over all campaigns, then for each value of every property in which they differ."""
    yield from _sum_over_campaigns("all", "all", shown)
    for name in ("protocol", "basis", "style", "platform"):
        values = sorted({getattr(one, name) for one in shown})
        for value in values if len(values) > 1 else ():
            yield from _sum_over_campaigns(name, value, [one for one in shown if getattr(one, name) == value])


def _sum_over_campaigns(
    of: str, value: str, shown: Sequence[CampaignScoreChangeEffects]
) -> Iterator[ScoreChangeTotalsView]:
    changes = [change for one in shown for change in one.changes]
    kinds = dict.fromkeys((change.group, _factor(change)) for change in changes)
    for group, what in kinds:
        counts = summarize_score_change_group(group, [change for change in changes if _factor(change) == what])
        yield ScoreChangeTotalsView(of=of, value=value, what=what, counts=counts)


def _factor(change: ScoreChangeEffectView) -> str:
    return "" if ":" in change.what or change.group == "references" else change.what


def _total_name(total: ScoreChangeTotalsView) -> str:
    return f"{IN_WORDS[total.counts.group]}{f', d = {total.what}' if total.what else ''}"


def _tables(view: RobustnessOverCampaignsView) -> Sequence[TableSection]:
    """Make a table over all campaigns, and one for each property that differs between them."""
    headings, alignments = zip(*HEADS, strict=True)
    shown = []
    for of in dict.fromkeys(one.of for one in view.totals):
        own = [one for one in view.totals if one.of == of]
        first: tuple[Alignment, ...] = ("left",) if of != "all" else ()
        rows = tuple((*([one.value] if first else []), *_cells(one)) for one in own)
        heads = (*([of.capitalize()] if first else []), *headings)
        title = "Over all campaigns" if of == "all" else f"By {of}"
        shown.append(TableSection(title, Table(heads, (*first, *alignments), rows), frozenset()))
    return shown


def _cells(total: ScoreChangeTotalsView) -> tuple[str, ...]:
    counts = total.counts
    figures = (counts.n, counts.rank_changed, counts.cluster_changed, counts.both)
    return _total_name(total), *(f"{n:,}" for n in figures), f"{counts.largest_move or 0:g}"


def _csv(view: RobustnessOverCampaignsView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    heads = ("campaign", "protocol", "basis", "style", "platform", "group", "what", "rank_changed", "cluster_changed")
    rows = [
        (
            one.campaign,
            one.protocol,
            one.basis,
            one.style,
            one.platform,
            *make_change_csv_cells(change),
            change.why,
            view.recipe,
        )
        for one in view.of_campaigns
        for change in one.changes
    ]
    return (*heads, "both", "swaps", "largest_move", "mover", "order_after", "why", "recipe"), rows


def _picture(view: RobustnessOverCampaignsView) -> bytes:
    rows: list[RankingChangeBarRow] = [
        make_ranking_change_bar_row(one.counts, _total_name(one)) for one in view.totals if one.of == "all"
    ]
    return plot_ranking_change_bars(
        f"Robustness of {len(view.campaigns)} rankings", rows, [*view.warnings, f"recipe {view.recipe}"]
    )


EXAMPLE: dict[str, Any] = {
    "campaigns": {"cs-en": 4, "de-en": 2},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "reference",
    "recipe": "wmt-da",
    "of_campaigns": [
        {
            "campaign": "cs-en",
            "protocol": "da",
            "basis": "reference",
            "style": "SR+DC",
            "platform": "unknown",
            "changes": [],
        }
    ],
    "totals": [
        {
            "of": "all",
            "value": "all",
            "what": "1.25",
            "counts": {
                "group": "degraded",
                "meaning": "human systems and references degraded",
                "n": 25,
                "rank_changed": 21,
                "cluster_changed": 13,
                "both": 11,
                "largest_move": 3.0,
            },
        }
    ],
}
REPORT: Report[RobustnessOverCampaignsOptions, RobustnessOverCampaignsView] = Report(
    name="robustness",
    title="Robustness of several rankings",
    summary="How many rankings change if systems or references are left out or changed.",
    options=RobustnessOverCampaignsOptions,
    result=RobustnessOverCampaignsView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=_tables,
    csv=_csv,
    charts={"default": _picture},
    caption=lambda view: (
        "A ranking counts as changed if its order or its clusters differ from those of the same systems without the "
        f"change; "
        f"recipe {view.recipe}."
    ),
    over="campaigns",
    long=True,
    settings=frozenset({"style", "platform"}),
    extra_key=list_sums_cache_key_parts,
    check=check_duckdb_if_campaigns_large,
)
