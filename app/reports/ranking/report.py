"""Finds rankings in the store, or computes and stores them; rankings computed only as values are not stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from app.domain.recipe import Recipe
from app.domain.recipe_choices import FEWEST_PERMUTATIONS
from app.reports.inputs.snapshot import CampaignSnapshot, load_snapshot
from app.reports.kit import store
from app.reports.kit.report import StoredReport
from app.reports.ranking.from_sums import (
    RankingInputFromSums,
    find_ratings_folder_for_sums,
    open_ranking_input_from_sums,
)
from app.reports.ranking.input import RankingInput, load_ranking_input, make_ranking_key
from app.stats.ranking.result import Ranking
from app.stats.testing.pair_tests import DRAWN_TESTS
from app.storage import reports, system_descriptions
from app.storage.db import Database, Session
from app.storage.ratings_files.duckdb_engine import check_duckdb_installed


@dataclass(frozen=True, slots=True)
class RankingLookup:
    """The result of looking up a ranking: its campaign, its key, and its bytes if it is stored.

    from_sums: the ranking is, or would be, made from sums over a file.
    """

    about: CampaignSnapshot
    recipe: Recipe
    key: reports.ReportKey
    body: bytes | None
    from_sums: bool = False

    def check_duckdb_if_needed(self) -> None:
        """Raise DuckdbNotInstalled if the ranking is missing and cannot be computed here, before a job is created."""
        if self.from_sums and self.body is None:
            check_duckdb_installed()


def find_or_compute_ranking(
    database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None
) -> StoredReport:
    """Return the ranking of a campaign under a recipe, as it was at a data version or a time.

    Raises NotFound for an unknown campaign, and Invalid if the recipe does not fit it.
    """
    with database.transaction(snapshot=True) as session:
        lookup = look_up_ranking(session, campaign, recipe, as_of)
    return compute_ranking_unless_stored(database, lookup)


def look_up_ranking(session: Session, campaign: str, recipe: Recipe, as_of: int | datetime | None) -> RankingLookup:
    """Return the key of a ranking, and its bytes if it is stored. Raises the errors of `load_snapshot`."""
    about = load_snapshot(session, campaign, as_of)
    from_sums = find_ratings_folder_for_sums(session, about, recipe) is not None
    key = make_ranking_key(
        about,
        recipe,
        system_descriptions.hash_system_and_document_descriptions(session, about.campaign_id),
        from_sums=from_sums,
    )
    return RankingLookup(about, recipe, key, reports.find_report(session, key), from_sums)


def compute_ranking_unless_stored(database: Database, lookup: RankingLookup) -> StoredReport:
    """Return the ranking if it was found, else compute and store it. Raises Invalid if the recipe does not fit.

    It is stored under the key of the data that were read, which differs if a name was changed in between.
    """
    body = lookup.body
    if body is None:
        with database.transaction() as session:
            given = load_ranking_input_or_sums(session, lookup.about, lookup.recipe)
        body = store.store_report(database, given.report_key, given.compute_ranking_json())
    return StoredReport.from_bytes(body, lookup.about.version)


def load_ranking_input_or_sums(
    session: Session, snapshot: CampaignSnapshot, recipe: Recipe
) -> RankingInput | RankingInputFromSums:
    """Load everything from which a ranking is computed: its ratings, or their file if the campaign is large.

    Raises the errors of `load_ranking_input`, and DuckdbNotInstalled.
    """
    folder = find_ratings_folder_for_sums(session, snapshot, recipe)
    if folder is None:
        return load_ranking_input(session, snapshot, recipe)
    return open_ranking_input_from_sums(session, snapshot, recipe, folder)


def compute_ranking_with_fewest_draws(
    database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None
) -> Ranking:
    """Compute the ranking for its segment scores, with as few random draws as possible; nothing is stored.

    Raises the errors of `compute_ranking`.
    """
    return compute_ranking(database, campaign, recipe=minimize_recipe_draws(recipe), as_of=as_of)


def minimize_recipe_draws(recipe: Recipe) -> Recipe:
    """Return the recipe with as few random draws as possible; its segment scores are the same."""
    fewest = recipe.permutations if recipe.test not in DRAWN_TESTS else FEWEST_PERMUTATIONS
    return replace(recipe, permutations=fewest, rank_sets=False, influence=False)


def compute_ranking(
    database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None
) -> Ranking:
    """Compute the ranking as a value, with its segment scores; nothing is stored.

    Raises NotFound for an unknown campaign, and Invalid if the recipe does not fit it.
    """
    with database.transaction() as session:
        given = load_ranking_input(session, load_snapshot(session, campaign, as_of), recipe)
    return given.compute_ranking()
