"""Forecasts whether the ranking would hold if no item was rated twice: from resampled documents and from components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import Field, StringConstraints, TypeAdapter

from app.domain.errors import Invalid
from app.reports.forecast.view import (
    IN_WORDS,
    Method,
    PairForecastLine,
    RankingForecastView,
    StudyForecastLine,
    make_caption,
    make_csv_rows,
    make_tables,
)
from app.reports.inputs.recipe_input import RecipeAndSeedOptions
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.variance_model_input import RatingsWithVarianceModel, load_ratings_with_variance_model
from app.reports.kit import text_formatting
from app.reports.kit.charts.variance import plot_replication_bars
from app.reports.kit.report import Report, ReportComputation
from app.reports.power.options import PowerOptions
from app.reports.power.planner import PowerPlanner
from app.stats.aggregate import ScoreMatrix, average_ratings_per_segment, make_score_matrix, round_scores
from app.stats.components.bootstrap import ParametricBootstrap
from app.stats.components.generalizability import (
    assign_confounded_variance_to_systems,
    compute_mean_raters_per_item,
    make_planning_components,
)
from app.stats.gate.failures import RARE, compute_chance_of_no_failure, compute_documents_to_see_failure
from app.stats.gate.gate import compute_system_difference_by_document
from app.stats.planning.pilot import forecast_srp_by_bootstrap, prepare_pilot_ratings
from app.stats.planning.power_and_cost import StudyLayout, VarianceComponents
from app.stats.planning.simulated_studies import WORLDS, Pool, RankingStabilityForecast, forecast_ranking_stability
from app.stats.ranking import caveats
from app.stats.ranking.design_checks import find_system_pairs_linked_by_raters, has_no_common_segments
from app.stats.ratings import Bools, Floats
from app.stats.replication_forecast import forecast_replication, forecast_replication_by_bootstrap
from app.storage.db import Session

METHODS: tuple[Method, ...] = ("document_bootstrap", "components_same_raters", "components_new_raters")
FIXED = (
    "a fixed rater pool cannot show rater × system variance, so other raters may agree less; use the forecast for new "
    "raters"
)
LABEL = "a forecast, not a simulation from repeated judgments of the same outputs"
UNLINKED = (
    "no rater links the two systems, even through other systems, so their difference may be due to their raters; have "
    "some raters judge both"
)
DRAWS = 1000
MOST_PAIRS = 2_000
MOST_REDRAWN = 60_000
"""With more ratings than this, the components are so well known that drawing them again adds nothing."""

_STUDIES: TypeAdapter[StudyForecastLine] = TypeAdapter(StudyForecastLine)
_PAIRS: TypeAdapter[list[PairForecastLine]] = TypeAdapter(list[PairForecastLine])


class RankingForecastOptions(RecipeAndSeedOptions):
    """The recipe that selects the rows (its normalization is not used), and the studies that are forecast."""

    alpha: Annotated[float, Field(ge=1e-6, lt=0.5)] = 0.05
    studies: Annotated[int, Field(ge=20, le=2000)] = Field(250, description="Number of studies drawn by documents.")
    scoring: Annotated[str, StringConstraints(max_length=80)] = Field(
        "", description="Overrides the recipe, as the option `scoring` of a ranking."
    )


@dataclass(frozen=True)
class StabilityForecaster:
    """A request for a forecast, with the ratings of the campaign."""

    options: RankingForecastOptions
    data: RatingsWithVarianceModel
    protocol: str

    @cached_property
    def segment_score_matrix(self) -> ScoreMatrix:
        """Segment scores of the systems."""
        domains = (
            self.data.inputs.documents.domain_codes_and_labels()[0] if any(self.data.inputs.documents.domain) else None
        )
        return make_score_matrix(
            average_ratings_per_segment(self.data.ratings), self.data.ratings.labels, domains=domains
        )

    @cached_property
    def system_pairs_linked_by_raters(self) -> Bools:
        """Which pairs of systems are linked by a chain of common raters, shape (S, S)."""
        return find_system_pairs_linked_by_raters(self.data.ratings, self.segment_score_matrix.systems)

    def compute_chunk(self, number: int) -> bytes:
        """Compute one method, or in the last chunk the pairs."""
        if number == len(METHODS):
            return _PAIRS.dump_json(self.forecast_system_pair_replication())
        method = METHODS[number]
        try:
            figures = self._bootstrap() if number == 0 else self._parametric("same" if number == 1 else "new")
        except Invalid as error:
            figures = {"why": error.detail or error.title()}
        return _STUDIES.dump_json(
            StudyForecastLine.model_validate({"method": method, "what": IN_WORDS[method], **figures})
        )

    def _rng(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self.data.inputs.recipe.seed, 3, number])

    def _bootstrap(self) -> dict[str, Any]:
        source = prepare_pilot_ratings(self.data.ratings)
        return asdict(
            forecast_srp_by_bootstrap(source, alpha=self.options.alpha, studies=self.options.studies, rng=self._rng(0))
        )

    def _parametric(self, pool: Pool, each: int | None = None) -> dict[str, Any]:
        """Simulate studies from components, with `each` ratings per item; by default as many as the campaign has."""
        planner = PowerPlanner(
            PowerOptions(recipe=self.options.recipe, seed=self.options.seed), self.data, self.protocol
        )
        if isinstance(planner.components, str):
            return {"why": planner.components}
        rows = self.data.rows
        if each is None:
            each = (
                max(1, round(compute_mean_raters_per_item(self.data.components_fit))) if self.data.components_fit else 1
            )
        layout = StudyLayout(
            max(rows.mean_sampled_units_per_system, 1),
            planner.segments_per_document,
            planner.n_raters,
            min(each, planner.n_raters),
        )
        layout = replace(layout, lengths=planner.document_lengths)
        rng = self._rng(1 if pool == "same" else 2)
        forecasts = [
            forecast_ranking_stability(
                components,
                layout,
                means=means,
                between=planner.between_systems_variance,
                systems=planner.n_systems,
                pool=pool,
                alpha=self.options.alpha,
                worlds=worlds,
                rng=rng,
            )
            for components, means, worlds in self._draw_worlds(planner, planner.components, rng)
        ]
        return {
            **average_forecasts_over_parameter_draws(forecasts),
            "studies": sum(one.worlds * one.studies for one in forecasts),
        }

    def _draw_worlds(
        self, planner: PowerPlanner, components: VarianceComponents, rng: np.random.Generator
    ) -> list[tuple[VarianceComponents, Floats | None, int]]:
        """Return each world's components and true means, drawn by their uncertainty if it can be estimated."""
        fitted, means = self.data.components_fit, planner.estimated_true_means
        if fitted is None or len(self.data.ratings) > MOST_REDRAWN:
            return [(components, means, WORLDS)]
        redraw, error = ParametricBootstrap(fitted), fitted.typical_contrast_error() ** 2 / 2
        between = planner.between_systems_variance
        spread = np.sqrt(between * error / (between + error)) if between + error > 0 else 0.0
        drawn = [
            make_planning_components(
                assign_confounded_variance_to_systems(fitted, redraw.simulate_component_estimates(rng)),
                source=components.source,
            )
            for _ in range(WORLDS)
        ]
        # The true means scatter around the estimates as far as the judgments leave them uncertain.
        return [(one, None if means is None else means + spread * rng.normal(size=means.size), 1) for one in drawn]

    def forecast_system_pair_replication(self) -> list[PairForecastLine]:
        """Forecast all pairs of systems that share segments, the better first; of many systems, only neighbours."""
        if not self.data.ratings.documents_known:
            return []
        matrix, sign = self.segment_score_matrix, self.data.ratings.better_sign
        order, paired = (
            np.argsort(-sign * round_scores(matrix.system_means()), kind="stable"),
            not has_no_common_segments(matrix),
        )
        n = order.size
        reach = n if n * (n - 1) // 2 <= MOST_PAIRS else 2
        at = [(int(order[i]), int(order[j])) for i in range(n) for j in range(i + 1, min(n, i + reach))]
        rng = self._rng(len(METHODS))
        return [self._pair(first, second, rng, paired=paired) for first, second in at]

    def _pair(self, first: int, second: int, rng: np.random.Generator, *, paired: bool) -> PairForecastLine:
        matrix = self.segment_score_matrix
        differences = compute_system_difference_by_document(
            matrix, first, second, self.data.ratings.better_sign, paired=paired
        )
        sums, counts = differences.sums, differences.weights
        analytic = forecast_replication(sums, counts, alpha=self.options.alpha)
        swapped = analytic.difference is not None and analytic.difference < 0
        if swapped:  # the order is reversed on the documents that both systems have
            first, second, sums = second, first, -sums
            analytic = forecast_replication(sums, counts, alpha=self.options.alpha)
        again = forecast_replication_by_bootstrap(sums, counts, rng=rng, alpha=self.options.alpha, draws=DRAWS)
        names = self.data.ratings.labels.systems
        if not self.system_pairs_linked_by_raters[first, second]:
            analytic = replace(analytic, same_direction=None, significant_again=None, why=UNLINKED)
            again = replace(again, same_direction=None, significant_again=None)
        return PairForecastLine(
            better=names[matrix.systems[first]],
            worse=names[matrix.systems[second]],
            difference=analytic.difference,
            error=analytic.standard_error,
            documents=analytic.documents,
            same_direction=analytic.same_direction,
            significant_again=analytic.significant_again,
            bootstrap_same_direction=again.same_direction,
            bootstrap_significant_again=again.significant_again,
            why=analytic.why,
        )


def average_forecasts_over_parameter_draws(forecasts: Sequence[RankingStabilityForecast]) -> dict[str, Any]:
    """Average the forecasts of possible worlds; low and high enclose nine tenths of their SRP values."""
    if len(forecasts) == 1:
        return asdict(forecasts[0])
    values = {name: [getattr(one, name) for one in forecasts] for name in asdict(forecasts[0])}
    srp = np.array(values["srp"])
    taus = [tau for tau in values["kendall_tau"] if tau is not None]
    low, high = np.quantile(srp, [0.05, 0.95])
    return {
        **{name: float(np.mean(values[name])) for name in AVERAGED},
        "mc_error": float(srp.std(ddof=1) / np.sqrt(srp.size)),
        "kendall_tau": float(np.mean(taus)) if taus else None,
        "low": float(low),
        "high": float(high),
    }


AVERAGED = ("srp", "mean_significant_pairs", "share_without_significance", "retained_claims")


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: RankingForecastOptions
) -> ReportComputation[RankingForecastView]:
    forecast = StabilityForecaster(
        options, load_ratings_with_variance_model(session, snapshots[0], options, 0), snapshots[0].campaign.protocol
    )
    chunks = len(METHODS) + 1 if len(forecast.data.ratings) else 0
    return ReportComputation(chunks, forecast.compute_chunk, lambda parts: _view(forecast, parts))


def _view(forecast: StabilityForecaster, parts: Sequence[bytes]) -> RankingForecastView:
    data = forecast.data
    planner = PowerPlanner(PowerOptions(), data, forecast.protocol)
    known = bool(parts) and not isinstance(planner.components, str)
    each = compute_mean_raters_per_item(data.components_fit) if data.components_fit else None
    return RankingForecastView(
        campaigns=data.inputs.data_version_by_campaign,
        data_hash=data.inputs.data_hash,
        basis=data.inputs.snapshot.campaign.basis,
        dropped=[asdict(one) for one in data.dropped],
        warnings=_warnings(forecast, each),
        recipe=data.inputs.recipe.name,
        alpha=forecast.options.alpha,
        documents=data.rows.mean_sampled_units_per_system,
        ratings_per_item=each,
        rated_twice=planner.fewest_ratings_of_any_output > 1,
        components_source=planner.components.source if known and not isinstance(planner.components, str) else None,
        seed=data.inputs.recipe.seed,
        studies=[_STUDIES.validate_json(part) for part in parts[: len(METHODS)]],
        pairs=_PAIRS.validate_json(parts[len(METHODS)]) if parts else [],
    )


def _warnings(forecast: StabilityForecaster, each: float | None) -> list[str]:
    if not len(forecast.data.ratings):
        return [forecast.data.no_fit_reason or ""]
    warnings = [LABEL, FIXED]
    if forecast.data.no_fit_reason:
        warnings.append(forecast.data.no_fit_reason)
    if each is not None and each > 1.5:
        warnings.append("outputs were rated several times: use the stability report, which simulates studies from them")
        own = f"these studies have {round(each)} ratings per item, as in the campaign"
        warnings.append(f"{own}; studies with one rating per item agree less")
    elif each is not None:
        warnings.append(
            "outputs were rated once, so differences between raters are partly attributed to other sources; have some "
            "rated twice"
        )
    if not forecast.data.ratings.documents_known:
        warnings.append("documents are unknown, so pairs are not forecast; import the documents if there are any")
    elif has_no_common_segments(forecast.segment_score_matrix):
        warnings.append(
            "no two systems share a segment, so pairs are forecast from each system's own documents; have systems "
            "judged on the same texts"
        )
    warnings += caveats.make_document_claim_caveats(forecast.data.ratings, forecast.segment_score_matrix)
    if forecast.data.ratings.documents_known:
        warnings += list_few_document_warnings(forecast.segment_score_matrix.n_documents)
    return [*warnings, *forecast.data.list_imbalance_warnings()]


def list_few_document_warnings(documents: int) -> list[str]:
    """Warn of what so few documents cannot forecast."""
    enough = compute_documents_to_see_failure(RARE, 0.05)
    if not 0 < documents < enough:
        return []
    hidden = compute_chance_of_no_failure(documents)
    those = text_formatting.pluralize(documents, "document")
    what = f"{those} can hide rare failures: if {RARE:.0%} of all documents fail, the probability that"
    why = f"none of these does is {hidden:.2f}, and a study that includes some finds another difference"
    return [f"{what} {why}; judge {enough} documents"]


def plot_pair_replication(view: RankingForecastView) -> bytes:
    """Draw the probability of each pair to be found again."""
    rows = [
        (f"{one.better} > {one.worse}", one.same_direction or 0.0, one.significant_again or 0.0)
        for one in view.pairs
        if one.same_direction is not None
    ]
    title = f"Replication forecast: {', '.join(view.campaigns)}"
    return plot_replication_bars(
        title, "Forecast for a study of the same size on new documents", rows, [*view.warnings, make_caption(view)]
    )


EXAMPLE: dict[str, Any] = {
    "campaigns": {"ted": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "method": "forecast",
    "recipe": "recommended",
    "alpha": 0.05,
    "documents": 30,
    "ratings_per_item": 1.0,
    "rated_twice": False,
    "components_source": "ted, own judgments",
    "seed": 20261120,
    "studies": [{"method": "document_bootstrap", "what": IN_WORDS["document_bootstrap"], "srp": 0.82, "studies": 250}],
    "pairs": [
        {
            "better": "A",
            "worse": "B",
            "difference": 1.2,
            "error": 0.4,
            "documents": 30,
            "same_direction": 0.98,
            "significant_again": 0.75,
            "bootstrap_same_direction": 0.98,
            "bootstrap_significant_again": 0.74,
        }
    ],
}
REPORT: Report[RankingForecastOptions, RankingForecastView] = Report(
    name="forecast",
    title="Replication forecast",
    summary="Stability without double ratings: resampled documents, and a forecast from variance components.",
    options=RankingForecastOptions,
    result=RankingForecastView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_pair_replication},
    caption=make_caption,
    long=True,
)
