"""Input of reports on variance components: the ratings that a recipe counts, and their model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.reports.inputs.recipe_input import NOTHING, RecipeAndSeedOptions, RecipeInput, load_recipe_input
from app.reports.inputs.snapshot import CampaignSnapshot
from app.stats.components.bootstrap import ParametricBootstrap, choose_default_number_of_draws
from app.stats.components.fit import ModelNotEstimable, VarianceComponentsFit, fit_variance_components_to_rows
from app.stats.components.generalizability import find_confounded_system_terms
from app.stats.components.observations import ModelObservations, make_model_observations
from app.stats.components.terms import NAMES
from app.stats.ratings import Ratings
from app.stats.selection import DroppedRowCount, select_rows_by_recipe
from app.storage.db import Session

DRAWS_OF_A_CHUNK = 10
MOST_DRAWS = 500
Draw = Mapping[str, float]


@dataclass(frozen=True)
class RatingsWithVarianceModel:
    """The ratings that a recipe counts, and their model, which is fitted when first needed.

    draws: number of draws of the parametric bootstrap, each a pure function of the recipe's seed and the draw's number.
    """

    inputs: RecipeInput
    ratings: Ratings
    dropped: tuple[DroppedRowCount, ...]
    draws: int

    @cached_property
    def rows(self) -> ModelObservations:
        """The rows of the model."""
        return make_model_observations(self.ratings)

    @cached_property
    def _fit_or_reason(self) -> VarianceComponentsFit | str:
        if not len(self.ratings):
            return NOTHING
        try:
            return fit_variance_components_to_rows(self.rows)
        except ModelNotEstimable as error:
            return f"no model: {error.detail or error.title()}"

    @property
    def components_fit(self) -> VarianceComponentsFit | None:
        """The fit; None if `no_fit_reason` gives a reason."""
        return None if isinstance(self._fit_or_reason, str) else self._fit_or_reason

    @property
    def no_fit_reason(self) -> str | None:
        """The reason why there is no fit."""
        return self._fit_or_reason if isinstance(self._fit_or_reason, str) else None

    def list_imbalance_warnings(self) -> list[str]:
        """Warn where the campaign differs from studies of its size in which all systems are rated on every document."""
        warnings = []
        own, of_a_system = self.rows.n_sampled_units, self.rows.mean_sampled_units_per_system
        if of_a_system < own:
            units = "documents" if self.rows.documents_known else "segments"
            warnings.append(
                f"on average, a system was rated on {of_a_system:,} of {own:,} {units}, so figures for a study of the "
                f"campaign's size are for {of_a_system:,} {units} with all systems on each; compare them with studies "
                "of that size"
            )
        return warnings + [
            f"{NAMES[one.term]} is {one.why} and is taken to be as large, which is too much for studies in which the "
            "systems share documents and raters; let the same raters rate all systems of a document to separate the two"
            for one in (find_confounded_system_terms(self.components_fit) if self.components_fit is not None else ())
        ]

    @property
    def n_chunks(self) -> int:
        """The number of chunks of draws."""
        return -(-self.draws // DRAWS_OF_A_CHUNK) if len(self.ratings) else 0

    def compute_component_draw_chunk(self, number: int) -> bytes:
        """Return the components estimated from some drawn studies."""
        if self.components_fit is None:
            return b"[]"
        redraw, first = ParametricBootstrap(self.components_fit), number * DRAWS_OF_A_CHUNK
        numbers = range(first, min(first + DRAWS_OF_A_CHUNK, self.draws))
        seeds = [np.random.default_rng([self.inputs.recipe.seed, 1, draw]) for draw in numbers]
        return json.dumps([redraw.simulate_component_estimates(rng) for rng in seeds]).encode()


def load_ratings_with_variance_model(
    session: Session, snapshot: CampaignSnapshot, options: RecipeAndSeedOptions, draws: int | None
) -> RatingsWithVarianceModel:
    """Load the ratings that a recipe counts. Raises the errors of `load_recipe_input`."""
    inputs = load_recipe_input(session, snapshot, options)
    selection = select_rows_by_recipe(inputs.rows, inputs.recipe)
    ratings = selection.ratings.where(selection.ranked)
    return RatingsWithVarianceModel(
        inputs, ratings, selection.dropped, choose_default_number_of_draws(len(ratings)) if draws is None else draws
    )


def parse_component_draw_chunks(chunks: Sequence[bytes]) -> list[Draw]:
    """Return the draws that the chunks computed."""
    return [draw for part in chunks for draw in json.loads(part)]
