"""Robustness of a ranking when systems, references, raters, documents or domains are left out, degraded or inflated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any

from pydantic import Field, StringConstraints, TypeAdapter

from app.domain.errors import Invalid, Place
from app.reports.inputs.ratings_file_totals import list_sums_cache_key_parts
from app.reports.inputs.recipe_input import CampaignFactsUnderRecipe, RecipeAndSeedOptions
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import LocalChunkComputer, Report, ReportComputation, make_undivided_computation
from app.reports.robustness.charts import (
    plot_ranking_changes,
    plot_ranks_by_human_system_degradation,
    plot_ranks_by_lowest_system_inflation,
)
from app.reports.robustness.input import check_duckdb_if_campaigns_large, load_robustness_input
from app.reports.robustness.view import (
    RobustnessView,
    ScoreChangeEffectView,
    make_caption,
    make_csv_rows,
    make_tables,
    summarize_score_change_group,
)
from app.stats.robustness.reranking import ScoreChangeExperiments, ScoreChangeExperimentsFromRatings
from app.stats.robustness.score_changes import GROUPS, Group, ScoreChange
from app.storage.db import Session

AT_ONCE = 16
"""Number of changes per chunk."""
SUMMED_AT_ONCE = 4
"""Number of changes per chunk in a large campaign, where each takes a minute."""

_LINES: TypeAdapter[list[ScoreChangeEffectView]] = TypeAdapter(list[ScoreChangeEffectView])
KEYS_PATTERN = r"^([A-Za-z0-9._~:@+\-]{1,128}(,[A-Za-z0-9._~:@+\-]{1,128}){0,19})?$"
ALONE = "only one system is ranked, so its rank cannot change; rank at least two"
SUMMED = "made from sums by document and rater, because the campaign is large"
GROUPS_PATTERN = r"^[a-z_]{1,40}(,[a-z_]{1,40}){0,19}$"


class RobustnessOptions(RecipeAndSeedOptions):
    """The changes, and the recipe."""

    changes: Annotated[str, StringConstraints(pattern=GROUPS_PATTERN)] = Field(
        ",".join(GROUPS), description="Kinds of change, separated by commas.", examples=["references,lowest,rater"]
    )

    humans: Annotated[str, StringConstraints(pattern=KEYS_PATTERN)] = Field(
        "", description="Human translations, separated by commas; default: systems marked as human."
    )

    def list_score_change_groups(self) -> tuple[Group, ...]:
        """Return the requested kinds in a fixed order. Raises Invalid for an unknown kind."""
        return parse_score_change_groups(self.changes)


def parse_score_change_groups(text: str) -> tuple[Group, ...]:
    """Parse kinds of change from a comma-separated list into a fixed order. Raises Invalid for an unknown kind."""
    names = set(text.split(","))
    if names - set(GROUPS):
        what = f"there are: {', '.join(GROUPS)}"
        raise Invalid("the query is not valid", places=(Place(("query", "changes"), what),))
    return tuple(group for group in GROUPS if group in names)


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: RobustnessOptions
) -> ReportComputation[RobustnessView]:
    groups = options.list_score_change_groups()
    given = load_robustness_input(session, snapshots[0], options)
    inputs = given.facts
    if options.humans:
        inputs = replace(inputs, humans=parse_human_systems(options.humans, inputs))
    experiments = given.prepare_score_change_experiments(inputs.humans)
    changes, none = experiments.list_changes_and_missing_groups(groups)
    if not experiments.facts.order:
        return make_undivided_computation(lambda: make_robustness_view(inputs, experiments, groups, none, ()))
    summed = not isinstance(experiments, ScoreChangeExperimentsFromRatings)
    at_once = SUMMED_AT_ONCE if summed else AT_ONCE
    parts = [changes[at : at + at_once] for at in range(0, len(changes), at_once)]
    chunk = partial(_chunk, experiments, parts)
    return ReportComputation(
        len(parts),
        LocalChunkComputer(chunk) if summed else chunk,
        lambda done: make_robustness_view(
            inputs, experiments, groups, none, [one for part in done for one in decode_change_effects(part)]
        ),
    )


def parse_human_systems(text: str, *campaigns: CampaignFactsUnderRecipe) -> frozenset[str]:
    """Parse keys of systems from a comma-separated list. Raises Invalid for a key that none of the campaigns has."""
    keys = frozenset(text.split(","))
    for key in sorted(keys - {name for one in campaigns for name in one.names}):
        raise Invalid("the query is not valid", places=(Place(("query", "humans"), f"there is no system {key!r}"),))
    return keys


def _chunk(experiments: ScoreChangeExperiments, parts: Sequence[Sequence[ScoreChange]], number: int) -> bytes:
    return compute_and_encode_change_effects(experiments, parts[number])


def compute_and_encode_change_effects(experiments: ScoreChangeExperiments, changes: Sequence[ScoreChange]) -> bytes:
    """Compute the effects of some changes as bytes."""
    return _LINES.dump_json(
        [ScoreChangeEffectView.from_effect(effect) for effect in experiments.compute_change_effects(changes)]
    )


def decode_change_effects(part: bytes) -> list[ScoreChangeEffectView]:
    """Decode what `compute_and_encode_change_effects` wrote."""
    return _LINES.validate_json(part)


def make_robustness_view(
    inputs: CampaignFactsUnderRecipe,
    experiments: ScoreChangeExperiments,
    groups: Sequence[Group],
    reasons_without_changes: dict[Group, str],
    changes: Sequence[ScoreChangeEffectView],
) -> RobustnessView:
    """Make the report of one campaign."""
    recipe, order = experiments.recipe, experiments.facts.order
    return RobustnessView(
        campaigns=inputs.data_version_by_campaign,
        data_hash=inputs.data_hash,
        basis=inputs.snapshot.campaign.basis,
        dropped=[asdict(one) for one in experiments.dropped],
        warnings=list(_warnings(inputs, experiments)),
        recipe=recipe.name,
        recipe_hash=inputs.hash_requested_recipe(recipe),
        normalize=recipe.normalize,
        test=f"{recipe.test} by {recipe.unit}",
        seed=recipe.seed,
        systems=list(order),
        human_systems=sorted(inputs.humans & set(order)),
        groups=[summarize_score_change_group(group, changes, reasons_without_changes.get(group)) for group in groups],
        changes=list(changes),
    )


def _warnings(inputs: CampaignFactsUnderRecipe, experiments: ScoreChangeExperiments) -> Sequence[str]:
    order = experiments.facts.order
    if not order:
        return experiments.warnings
    warnings = [ALONE] if len(order) == 1 else []
    if not isinstance(experiments, ScoreChangeExperimentsFromRatings):
        warnings.append(SUMMED)
    if experiments.recipe.normalize == "none":
        warnings.append(
            "scores are not normalized by rater, so one system's scores do not affect the others; choose a "
            "recipe with normalize=z to see whether they would"
        )
    elif inputs.recipe.moments == "ratings":
        warnings.append(
            "raters' moments come from ratings and repeats, so changing reference rows has no effect; use moments=all "
            "to see one"
        )
    elif inputs.recipe.moments == "calibration":
        warnings.append(
            "raters' moments come from calibration items, so changing other rows has no effect; use moments=all to "
            "see one"
        )
    return warnings


_PLACES = {"systems": ["B", "A"], "ranks": [1.0, 2.0], "clusters": [1, 2]}
EXAMPLE: dict[str, Any] = {
    "campaigns": {"cs-en": 4},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "recipe": "wmt-da",
    "recipe_hash": "sha256:" + "5e" * 32,
    "normalize": "z",
    "test": "rank_sum by segment",
    "seed": 20261120,
    "systems": ["A", "B", "HUMAN"],
    "human_systems": ["HUMAN"],
    "groups": [
        {
            "group": "degraded",
            "meaning": "human systems and references degraded",
            "n": 1,
            "rank_changed": 1,
            "cluster_changed": 0,
            "both": 0,
            "largest_move": 1.0,
        }
    ],
    "changes": [
        {
            "group": "degraded",
            "what": "1.25",
            "rank_changed": True,
            "cluster_changed": False,
            "both": False,
            "swaps": 1,
            "largest_move": 1.0,
            "mover": "A",
            "before": {**_PLACES, "systems": ["A", "B"]},
            "after": _PLACES,
        }
    ],
}
REPORT: Report[RobustnessOptions, RobustnessView] = Report(
    name="robustness",
    title="Robustness",
    summary="Rankings after leaving out or changing systems, references, raters, documents or domains.",
    options=RobustnessOptions,
    result=RobustnessView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={
        "default": plot_ranking_changes,
        "degraded": plot_ranks_by_human_system_degradation,
        "inflated": plot_ranks_by_lowest_system_inflation,
    },
    caption=make_caption,
    long=True,
    extra_key=list_sums_cache_key_parts,
    check=check_duckdb_if_campaigns_large,
)
