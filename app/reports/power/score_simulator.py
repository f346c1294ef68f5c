"""What a planner simulates besides normal pairs: scores of another distribution, and clusters."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from app.reports.inputs.variance_model_input import RatingsWithVarianceModel
from app.reports.power.options import PowerOptions
from app.stats.planning.non_normal_scores import (
    estimate_number_of_clusters,
    make_non_normal_study_sampler,
    make_normal_study_sampler,
    simulate_non_normal_detection_counts,
)
from app.stats.planning.power_and_cost import StudyLayout, VarianceComponents
from app.stats.planning.score_sampling import (
    CannotSimulateScores,
    MarginalDistribution,
    ScoreSampler,
    fit_marginal,
    make_score_sampler,
)
from app.stats.planning.simulated_studies import StudyTooLarge, simulate_detection_counts
from app.stats.ratings import Floats

Shares = dict[str, float | None]


@dataclass(frozen=True)
class ScoreSimulator:
    """Simulated scores. shape, scores: None for normal scores. why: the reason if they cannot be simulated."""

    components: VarianceComponents
    shape: MarginalDistribution | None = None
    scores: ScoreSampler | None = None
    why: str | None = None

    @property
    def warnings(self) -> list[str]:
        """Warnings about the simulated scores."""
        if self.why is not None:
            return [f"no studies are simulated: {self.why}"]
        if self.scores is None:
            return []
        warnings = [
            (
                "the closed form, intervals and SRP assume normal scores; simulated power and clusters do not, so "
                "trust these where they differ"
            )
        ]
        if not self.scores.latent.fits:
            warnings.append(
                "the components exceed the variance of single ratings, so they are scaled down; check that they "
                "are of this scale"
            )
        return warnings

    def simulate_power(
        self, layout: StudyLayout, *, difference: float, alpha: float, studies: int, rng: np.random.Generator
    ) -> Shares:
        """Return simulated power and its error; empty if it cannot be simulated. Raises TooLarge."""
        if self.why is not None:
            return {}
        if self.scores is None:
            n_claims, n = simulate_detection_counts(
                self.components, layout, difference=difference, alpha=alpha, studies=studies, rng=rng
            )
        else:
            n_claims, n = simulate_non_normal_detection_counts(
                self.scores, layout, difference=difference, alpha=alpha, studies=studies, rng=rng
            )
        share = n_claims / n
        return {"simulated": share, "simulated_error": sqrt(share * (1 - share) / n)}

    def simulate_type_i_error(
        self, layout: StudyLayout, *, alpha: float, studies: int, rng: np.random.Generator
    ) -> Shares:
        """Return the share of studies of equal systems, with normal scores, that find one better, and its error.

        Raises TooLarge.
        """
        if self.why is not None or layout.documents < 2:
            return {}
        # In equal systems, finding the first better is as likely as finding the second better.
        n_claims, n = simulate_detection_counts(
            self.components, layout, difference=0.0, alpha=alpha, studies=studies, rng=rng
        )
        share = 2 * n_claims / n
        return {"size": share, "size_error": 2 * sqrt(share / 2 * (1 - share / 2) / n)}

    def simulate_expected_clusters(
        self,
        options: PowerOptions,
        layout: StudyLayout,
        *,
        means: Floats | None,
        between_variance: float,
        systems: int,
        rng: np.random.Generator,
    ) -> Shares:
        """Return the expected clusters and their error; empty if not requested or too large to simulate."""
        if options.clusters == "none" or self.why is not None:
            return {}
        try:
            expected = estimate_number_of_clusters(
                make_normal_study_sampler(self.components, layout)
                if self.scores is None
                else make_non_normal_study_sampler(self.scores, layout),
                layout,
                means=means,
                between=between_variance,
                systems=systems,
                rule=options.clusters,
                alpha=options.alpha,
                holm=options.adjust == "holm",
                studies=options.studies,
                rng=rng,
            )
        except StudyTooLarge:
            return {}
        return {"clusters": expected.mean, "clusters_error": expected.error}


def make_score_simulator(
    options: PowerOptions, components: VarianceComponents, planning_ratings: RatingsWithVarianceModel, difference: float
) -> ScoreSimulator:
    """Return the requested score distribution, fitted to single ratings, or the reason why it cannot be simulated."""
    if options.scores == "normal":
        return ScoreSimulator(components)
    ratings = planning_ratings.ratings
    try:
        shape = fit_marginal(options.scores, ratings.score)
        scores = make_score_sampler(components, shape, better_sign=ratings.better_sign, fixed_panel=options.fixed_panel)
        scores.shifts_for_difference(difference)
    except CannotSimulateScores as error:
        return ScoreSimulator(components, why=error.detail)
    return ScoreSimulator(components, shape, scores)
