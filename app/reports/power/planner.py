"""The planner's computation: closed forms, and simulations in chunks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import sqrt
from typing import TypedDict

import numpy as np

from app.domain.errors import Invalid
from app.reports.inputs.variance_model_input import Draw, parse_component_draw_chunks
from app.reports.power.score_simulator import ScoreSimulator, make_score_simulator
from app.reports.power.sizes import StudySizes
from app.reports.power.view import PowerVarianceComponents, StudyDesignLine, StudySizePower
from app.stats.components.generalizability import (
    assign_confounded_variance_to_systems,
    estimate_system_variance,
    make_planning_components,
    make_planning_components_from_fit,
)
from app.stats.planning import power_and_cost
from app.stats.planning.pilot import PilotRatings, estimate_power_by_resampling, prepare_pilot_ratings
from app.stats.planning.power_and_cost import Grouping, NoVarianceComponents, StudyLayout, VarianceComponents
from app.stats.planning.raters import compute_raters_needed, minimum_raters_for_unlimited_documents
from app.stats.planning.simulated_studies import PlannedClaimRule, StudyTooLarge, forecast_ranking_stability
from app.stats.ratings import Floats

FEWEST_FOR_SIZE = 1_000
"""Minimum number of simulated studies of equal systems; claims are rare, so more studies are needed than for power."""

SRP_WORLDS, SRP_WORLDS_OF_MANY, MANY_ITEMS = 6, 3, 10_000
Drawing = dict[str, float | None]


class _Aim(TypedDict):
    difference: float
    systems: int
    alpha: float
    power: float


@dataclass(frozen=True)
class PowerPlanner(StudySizes):
    """A request about a campaign, with everything that follows from both without simulation."""

    @cached_property
    def components(self) -> VarianceComponents | str:
        """The given components, else the campaign's own, else published ones of its protocol; or why there are none."""
        own_components = self.options.parse_given_components()
        if own_components is not None:
            return own_components
        key = self.planning_ratings.inputs.snapshot.campaign.key
        if self.planning_ratings.components_fit is not None:
            return make_planning_components_from_fit(
                self.planning_ratings.components_fit,
                source=key + (", own judgments" if self.uses_campaign_components else ", pilot"),
            )
        if self.pilot is not None:
            return f"the pilot {key} cannot be used: {self.pilot.no_fit_reason}"
        try:
            return power_and_cost.get_default_variance_components(self.protocol)
        except NoVarianceComponents as error:
            return f"{error.title()} ({error.detail})"

    @property
    def has_measured_components(self) -> bool:
        """Whether the components are estimated from available judgments."""
        return self.options.components is None and self.planning_ratings.components_fit is not None

    @property
    def uses_campaign_components(self) -> bool:
        """Whether the components are the campaign's own."""
        return self.has_measured_components and self.pilot is None

    @property
    def alpha_per_pair(self) -> float:
        """The alpha of one pair."""
        return self.options.alpha / self.n_pairs if self.options.adjust == "holm" else self.options.alpha

    @cached_property
    def feasible_designs(self) -> tuple[tuple[Grouping, int], ...]:
        """The designs for which there are enough raters."""
        return tuple(one for one in self.options.list_designs() if one[1] <= self.n_raters)

    @cached_property
    def document_counts(self) -> tuple[int, ...]:
        """The numbers of documents."""
        return self.options.list_document_counts(self.mean_documents_per_system)

    @cached_property
    def n_planned_documents(self) -> int:
        """The campaign's number of documents, else the middle one of those requested."""
        return self.mean_documents_per_system or self.document_counts[len(self.document_counts) // 2]

    def make_study_layout(self, design: tuple[Grouping, int], documents: int) -> StudyLayout:
        """Return the layout of one size of one design."""
        grouping, each = design
        return StudyLayout(
            documents,
            self.segments_per_document,
            self.n_raters,
            each,
            grouping,
            self.options.fixed_panel,
            self.document_lengths,
        )

    @property
    def recipe_claim_rule(self) -> PlannedClaimRule:
        """How the ranking makes claims: with the requested correction, and by sign flips of documents or not."""
        recipe = self.data.inputs.recipe
        return PlannedClaimRule(
            self.options.adjust == "holm", recipe.test == "permutation" and recipe.unit == "document"
        )

    @property
    def fewest_documents_for_any_claim(self) -> int:
        """The number of documents below which that recipe can claim nothing."""
        if not self.recipe_claim_rule.sign_flips:
            return 1
        return power_and_cost.compute_fewest_documents_for_significance(
            self.n_pairs if self.options.adjust == "holm" else 1, self.options.alpha
        )

    @cached_property
    def difference_to_detect(self) -> float:
        """The requested difference, else what the first design detects with the campaign's number of documents."""
        if self.options.difference is not None or isinstance(self.components, str) or not self.feasible_designs:
            return self.options.difference or 0.0
        own = self.make_study_layout(self.feasible_designs[0], self.n_planned_documents)
        variance = power_and_cost.compute_contrast_variance(self.components, own)
        return power_and_cost.compute_detectable_difference(
            variance, alpha=self.alpha_per_pair, power=self.options.power
        )

    @cached_property
    def score_simulator(self) -> ScoreSimulator:
        """The scores of simulated studies. There must be components."""
        if isinstance(self.components, str):
            raise Invalid(self.components)
        return make_score_simulator(self.options, self.components, self.planning_ratings, self.difference_to_detect)

    @cached_property
    def _points(self) -> list[tuple[int, int]]:
        return [(i, documents) for i in range(len(self.feasible_designs)) for documents in self.document_counts]

    @property
    def n_chunks(self) -> int:
        """The number of draws of components, if these come from judgments, plus one chunk per design."""
        if isinstance(self.components, str):
            return 0
        return self._n_draws + len(self.feasible_designs)

    @property
    def _n_draws(self) -> int:
        return self.planning_ratings.n_chunks if self.has_measured_components else 0

    def compute_chunk(self, number: int) -> bytes:
        """Compute a chunk of either kind."""
        if number < self._n_draws:
            return self.planning_ratings.compute_component_draw_chunk(number)
        design = number - self._n_draws
        return json.dumps([self._drawing(design, documents) for documents in self.document_counts]).encode()

    def decode_component_draws(self, chunks: Sequence[bytes]) -> list[Draw]:
        """Return the drawn components."""
        return parse_component_draw_chunks(chunks[: self._n_draws])

    def _drawing(self, design: int, documents: int) -> Drawing:
        """Return one point's power by simulated and by resampled studies, and its SRP."""
        if isinstance(self.components, str):
            return {}
        layout, seed = self.make_study_layout(self.feasible_designs[design], documents), self.data.inputs.recipe.seed
        rng = np.random.default_rng([seed, 2, design, documents])
        return {
            **self._simulate_studies(layout, rng),
            **self._resample_studies(layout, rng),
            **self._clusters(layout, np.random.default_rng([seed, 4, design, documents])),
        }

    def _clusters(self, layout: StudyLayout, rng: np.random.Generator) -> Drawing:
        """Simulate clusters with a separate seed, so that requesting them changes no other figure."""
        return self.score_simulator.simulate_expected_clusters(
            self.options,
            layout,
            means=self.estimated_true_means,
            between_variance=self.between_systems_variance,
            systems=self.n_systems,
            rng=rng,
        )

    def _simulate_studies(self, layout: StudyLayout, rng: np.random.Generator) -> Drawing:
        components, n = self.components, self.options.studies
        if isinstance(components, str) or layout.documents < 2:
            return {}
        try:
            power = self.score_simulator.simulate_power(
                layout, difference=self.difference_to_detect, alpha=self.alpha_per_pair, studies=n, rng=rng
            )
            size = self.score_simulator.simulate_type_i_error(
                layout, alpha=self.alpha_per_pair, studies=max(n, FEWEST_FOR_SIZE), rng=rng
            )
            if layout.documents < self.fewest_documents_for_any_claim:
                power, size = dict.fromkeys(power, 0.0), dict.fromkeys(size, 0.0)
            ahead = forecast_ranking_stability(
                components,
                layout,
                means=self.estimated_true_means,
                between=self.between_systems_variance,
                systems=self.n_systems,
                alpha=self.options.alpha,
                rule=self.recipe_claim_rule,
                worlds=SRP_WORLDS if layout.documents * self.n_systems <= MANY_ITEMS else SRP_WORLDS_OF_MANY,
                rng=rng,
            )
        except StudyTooLarge:
            return {}
        return {
            **power,
            **size,
            "srp": ahead.srp,
            "srp_error": ahead.mc_error,
            "significant_pairs": ahead.mean_significant_pairs,
        }

    def _resample_studies(self, layout: StudyLayout, rng: np.random.Generator) -> Drawing:
        source = self.find_ratings_to_resample(layout)
        if source is None or layout.documents < 2:
            return {}
        if layout.documents < self.fewest_documents_for_any_claim:
            return {"resampled": 0.0, "resampled_error": 0.0}
        power, error = estimate_power_by_resampling(
            source,
            difference=self.difference_to_detect,
            documents=layout.documents,
            alpha=self.alpha_per_pair,
            studies=self.options.studies,
            rng=rng,
        )
        return {"resampled": power, "resampled_error": error}

    @cached_property
    def fewest_ratings_of_any_output(self) -> int:
        """The number of ratings per item that every output of the campaign has."""
        rows = self.planning_ratings.rows
        outputs = rows.segment * len(rows.systems) + rows.system
        return int(np.unique(outputs, return_counts=True)[1].min()) if len(rows) else 0

    def find_ratings_to_resample(self, layout: StudyLayout) -> PilotRatings | None:
        """Return ratings to resample if they were, or can be, assigned as in the design; else None."""
        if not self.has_measured_components or layout.ratings_per_item > self.fewest_ratings_of_any_output:
            return None
        try:
            pilot_ratings = prepare_pilot_ratings(
                self.planning_ratings.ratings, grouping=layout.grouping, ratings_per_item=layout.ratings_per_item
            )
        except Invalid:
            return None
        return pilot_ratings if pilot_ratings.rated_anew or layout.grouping == "psxs" else None

    @property
    def between_systems_variance(self) -> float:
        """The variance between systems: from judgments, else published, else the square of the difference to find."""
        if self.planning_ratings.components_fit is not None:
            return estimate_system_variance(self.planning_ratings.components_fit)
        return power_and_cost.BETWEEN.get(self.protocol, self.difference_to_detect**2)

    @property
    def estimated_true_means(self) -> Floats | None:
        """Estimates of the true means of the judged systems: adjusted means, shrunk according to their error."""
        fitted = self.planning_ratings.components_fit
        if fitted is None or len(fitted.means) != self.n_systems:
            return None
        between, error = estimate_system_variance(fitted), fitted.typical_contrast_error() ** 2 / 2
        reliability = between / (between + error) if between + error > 0 else 0.0
        middle = float(fitted.means.mean())
        sign = self.planning_ratings.ratings.better_sign
        return np.asarray(sign * (middle + reliability * (fitted.means - middle)), dtype=np.float64)

    def make_design_lines(self, chunks: Sequence[bytes]) -> list[StudyDesignLine]:
        """Return every design with its points."""
        if isinstance(self.components, str):
            return []
        fitted = self.planning_ratings.components_fit
        draws = (
            [
                make_planning_components(assign_confounded_variance_to_systems(fitted, draw))
                for draw in self.decode_component_draws(chunks)
            ]
            if fitted is not None
            else []
        )
        drawings: list[Drawing] = [one for part in chunks[self._n_draws :] for one in json.loads(part)]
        by_point = dict(zip(self._points, drawings, strict=True))
        return [self._design(i, self.components, draws, by_point) for i in range(len(self.feasible_designs))]

    def _design(
        self,
        i: int,
        components: VarianceComponents,
        draws: Sequence[VarianceComponents],
        by_point: dict[tuple[int, int], Drawing],
    ) -> StudyDesignLine:
        design = self.feasible_designs[i]
        base = self.make_study_layout(design, 1)
        needed = self._find_needed_documents(components, base)
        bill = None if needed is None else self._cost(replace(base, documents=needed))
        panel = compute_raters_needed(components, replace(base, documents=self.n_planned_documents), **self._aim)
        return StudyDesignLine(
            grouping=design[0],
            ratings_per_item=design[1],
            documents_needed=needed,
            needed_interval=self._needed_interval(draws, base),
            hours_needed=None if bill is None else bill.judging_hours + bill.onboarding_hours,
            price_needed=None if bill is None else bill.price,
            raters_needed=panel.least,
            raters_told=panel.note,
            raters_at_least=minimum_raters_for_unlimited_documents(components, base, **self._aim),
            floor=power_and_cost.compute_standard_error_floor(components, base),
            points=[
                self._point(components, draws, self.make_study_layout(design, d), by_point[i, d])
                for d in self.document_counts
            ],
        )

    def _find_needed_documents(self, components: VarianceComponents, base: StudyLayout) -> int | None:
        documents = power_and_cost.compute_documents_needed(components, base, **self._aim)
        return None if documents is None else max(documents, self.fewest_documents_for_any_claim)

    @property
    def _aim(self) -> _Aim:
        """The arguments of the closed forms; alpha is that of all pairs, because they divide it by their number."""
        alpha = self.alpha_per_pair * self.n_pairs
        return {
            "difference": self.difference_to_detect,
            "systems": self.n_systems,
            "alpha": alpha,
            "power": self.options.power,
        }

    def _needed_interval(
        self, draws: Sequence[VarianceComponents], base: StudyLayout
    ) -> tuple[int | None, int | None] | None:
        if not draws:
            return None
        documents = sorted(
            n if (n := self._find_needed_documents(draw, base)) is not None else np.inf for draw in draws
        )
        low, high = (documents[round(at * (len(documents) - 1))] for at in (0.025, 0.975))
        return (None if np.isinf(low) else int(low)), (None if np.isinf(high) else int(high))

    def _cost(self, layout: StudyLayout) -> power_and_cost.StudyCost:
        return power_and_cost.compute_study_cost(
            layout, self.study_cost_assumptions, systems=self.n_systems, words_per_segment=self.words_per_segment
        )

    def _point(
        self, components: VarianceComponents, draws: Sequence[VarianceComponents], layout: StudyLayout, drawing: Drawing
    ) -> StudySizePower:
        variance = power_and_cost.compute_contrast_variance(components, layout)
        powers = [self._power(layout, power_and_cost.compute_contrast_variance(draw, layout)) for draw in draws]
        bill = self._cost(layout)
        drawn_here = {name: drawing.get(name) for name in _DRAWN}
        return StudySizePower(
            documents=layout.documents,
            standard_error=sqrt(variance),
            detectable=power_and_cost.compute_detectable_difference(
                variance, alpha=self.alpha_per_pair, power=self.options.power
            ),
            power=self._power(layout, variance),
            interval=_interval(powers),
            raters_needed=compute_raters_needed(components, layout, **self._aim).least,
            hours=bill.judging_hours + bill.onboarding_hours,
            price=bill.price,
            **drawn_here,
        )

    def _power(self, layout: StudyLayout, variance: float) -> float:
        if layout.documents < self.fewest_documents_for_any_claim:
            return 0.0
        return power_and_cost.compute_z_test_power(self.difference_to_detect, variance, alpha=self.alpha_per_pair)

    def make_variance_components_view(self) -> PowerVarianceComponents | None:
        """Return the components used."""
        return None if isinstance(self.components, str) else PowerVarianceComponents(**asdict(self.components))


CLUSTERS = ("clusters", "clusters_error")
_DRAWN = (
    "simulated",
    "simulated_error",
    "size",
    "size_error",
    "resampled",
    "resampled_error",
    "srp",
    "srp_error",
    "significant_pairs",
    *CLUSTERS,
)


def _interval(values: Sequence[float]) -> tuple[float, float] | None:
    if not values:
        return None
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
