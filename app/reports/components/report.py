"""The sources of noise in ratings: variance components, adjusted means, rater effects, reliability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from app.reports.components import lines
from app.reports.components.charts import PICTURES, plot_variance_components
from app.reports.components.view import VarianceComponentsView, make_caption, make_csv_rows, make_tables
from app.reports.inputs.recipe_input import RecipeAndSeedOptions
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.variance_model_input import (
    MOST_DRAWS,
    Draw,
    RatingsWithVarianceModel,
    load_ratings_with_variance_model,
    parse_component_draw_chunks,
)
from app.reports.kit import text_formatting
from app.reports.kit.report import Report, ReportComputation
from app.stats.aggregate import round_scores
from app.stats.components.fit import VarianceComponentsFit
from app.stats.components.generalizability import (
    compute_mean_raters_per_item,
    estimate_system_variance,
    run_decision_studies,
)
from app.stats.components.terms import NAMES
from app.stats.ranking.design_checks import group_systems_linked_by_raters
from app.stats.ratings import Ratings
from app.storage.db import Session

STUDY_SIZES = (5, 10, 20, 40, 80, 160)
RATINGS_EACH = (1, 2, 3)
FEW_LEVELS, CROWDED, NEAR_END = 7, 0.6, 0.5
MOST_GROUPS = 5  # number of groups that a warning names


class VarianceComponentsOptions(RecipeAndSeedOptions):
    """The recipe that selects rows (its normalization and test are not used), and the number of draws for intervals."""

    draws: Annotated[int, Field(ge=0, le=MOST_DRAWS)] | None = Field(
        None, description="Draws of the parametric bootstrap; default: 20 to 100, fewer for large data; 0 for none."
    )


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: VarianceComponentsOptions
) -> ReportComputation[VarianceComponentsView]:
    model = load_ratings_with_variance_model(session, snapshots[0], options, options.draws)
    return ReportComputation(
        model.n_chunks,
        model.compute_component_draw_chunk,
        lambda parts: _view(model, parse_component_draw_chunks(parts)),
    )


def _view(model: RatingsWithVarianceModel, draws: Sequence[Draw]) -> VarianceComponentsView:
    rows, inputs = model.rows, model.inputs
    plain = VarianceComponentsView(
        campaigns=inputs.data_version_by_campaign,
        data_hash=inputs.data_hash,
        basis=inputs.snapshot.campaign.basis,
        dropped=[asdict(one) for one in model.dropped],
        warnings=_warnings(model),
        recipe=inputs.recipe.name,
        recipe_hash=inputs.hash_requested_recipe(inputs.recipe),
        higher_is_better=model.ratings.higher_is_better,
        n_ratings=len(rows),
        n_documents=len(rows.documents) if rows.documents_known else 0,
        n_segments=rows.n_segments,
        n_raters=len(rows.raters),
        draws=len(draws),
        seed=inputs.recipe.seed,
    )
    return plain if model.components_fit is None else _add_fit(plain, model.components_fit, model.ratings, draws)


def _add_fit(
    plain: VarianceComponentsView, fitted: VarianceComponentsFit, ratings: Ratings, draws: Sequence[Draw]
) -> VarianceComponentsView:
    of_pairs = lines.list_system_contrasts(fitted, ratings.better_sign)
    sizes = run_decision_studies(fitted, documents=STUDY_SIZES, ratings=RATINGS_EACH)
    return plain.model_copy(
        update={
            "ratings_per_item": compute_mean_raters_per_item(fitted),
            "components": lines.list_variance_components(fitted, draws),
            "system_variance": estimate_system_variance(fitted),
            "typical_error": fitted.typical_contrast_error() if len(fitted.means) > 1 else None,
            "degrees": min((int(one.degrees) for one in of_pairs if one.degrees is not None), default=None),
            "systems": lines.list_adjusted_system_means(fitted, ratings),
            "pairs": of_pairs,
            "raters": lines.list_rater_severities(fitted),
            "rater_system": lines.list_rater_system_effects(fitted),
            "study": lines.estimate_study_reliability(fitted),
            "decisions": [lines.make_decision_study_line(one) for one in sizes],
        }
    )


def _warnings(model: RatingsWithVarianceModel) -> list[str]:
    fitted = model.components_fit
    if fitted is None:
        return [model.no_fit_reason or ""]
    warnings = []
    if not fitted.converged:
        warnings.append(
            "the fit did not reach an optimum, so the components are approximate; fit again with more ratings before "
            "you plan with them"
        )
    if len(fitted.means) == 1:
        warnings.append("only one system was rated, so there are no differences; rate a second system")
    if len(fitted.rows.raters) == 1:
        warnings.append(
            "one rater: the results do not generalize to other raters; have others rate a part of the outputs"
        )
    if fitted.rows.repeats:
        warnings.append(
            f"{text_formatting.pluralize(fitted.rows.repeats, 'repeated rating')}, averaged with the first one, "
            "because the model has one rating per rater and output"
        )
    if compute_mean_raters_per_item(fitted) < 1 + 1e-9:
        warnings.append(
            "every output was rated once, so rater variance is confounded with that of documents and outputs; have "
            "some outputs rated twice"
        )
    if fitted.at_bound:
        warnings.append(
            "estimated as 0, which can also mean too few data, so look at the intervals: "
            f"{', '.join(NAMES[term] for term in fitted.at_bound)}"
        )
    return [
        *warnings,
        *_warn_disconnected(model.ratings),
        *model.list_imbalance_warnings(),
        *_warn_coarse_scores(model.ratings, fitted),
    ]


def _warn_disconnected(ratings: Ratings) -> list[str]:
    """Warn of systems not linked by any chain of raters: their differences may just as well come from the raters."""
    groups = group_systems_linked_by_raters(ratings)
    if len(groups) < 2:
        return []
    named = [", ".join(group) for group in groups[:MOST_GROUPS]] + ["…"] * (len(groups) > MOST_GROUPS)
    groups_text = " | ".join(named)
    message = (
        "no rater links these groups of systems, so differences between them may be due to raters; have some raters "
        f"judge systems of several groups: {groups_text}"
    )
    return [message]


def _warn_coarse_scores(ratings: Ratings, fitted: VarianceComponentsFit) -> list[str]:
    """Warn if normal errors fit badly: few levels, most ratings on one level, or means near an end."""
    scale = ratings.scale
    if scale is None or not scale.step or (scale.maximum - scale.minimum) / scale.step + 1 > FEW_LEVELS:
        return []
    _, count = np.unique(round_scores(ratings.score), return_counts=True)
    ends = np.minimum(fitted.means - scale.minimum, scale.maximum - fitted.means)
    if count.max() > CROWDED * len(ratings) or ends.min() < NEAR_END:
        return [
            (
                "the scale has few levels and most ratings are on one level or near an end: the order is reliable, "
                "p-values are approximate, so do not rely on one close to alpha"
            )
        ]
    return []


EXAMPLE: dict[str, Any] = {
    "campaigns": {"ende": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "recipe": "recommended",
    "recipe_hash": "sha256:" + "5e" * 32,
    "higher_is_better": False,
    "n_ratings": 3120,
    "n_documents": 30,
    "n_segments": 104,
    "n_raters": 10,
    "ratings_per_item": 3.0,
    "draws": 64,
    "seed": 20261120,
    "components": [
        {
            "term": "rater_system",
            "name": "rater × system",
            "variance": 0.152,
            "share": 0.003,
            "interval": [0.01, 0.47],
            "why": None,
        }
    ],
    "system_variance": 6.16,
    "typical_error": 0.573,
    "degrees": 9,
    "systems": [{"system": "A", "rank": 1, "mean": 2.72, "raw": 2.72, "error": 1.1, "n_ratings": 312}],
    "pairs": [],
    "raters": [{"rater": "r1", "severity": -1.9, "interval": [-3.5, -0.3], "n_ratings": 360}],
    "rater_system": [{"rater": "r1", "system": "A", "tendency": 0.1, "error": 0.3}],
    "study": None,
    "decisions": [],
}
REPORT: Report[VarianceComponentsOptions, VarianceComponentsView] = Report(
    name="components",
    title="Variance components",
    summary="Variance components, means adjusted for who rated what, tendencies of raters, reliability by study size.",
    options=VarianceComponentsOptions,
    result=VarianceComponentsView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_variance_components, **PICTURES},
    caption=make_caption,
    long=True,
)
