"""Rankings: found in the store, or computed and stored. Computed for their values alone, nothing is stored."""

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
from app.storage import reports, texts
from app.storage.db import Database, Session
from app.storage.ratings_files.engine import check_duckdb_installed


@dataclass(frozen=True, slots=True)
class RankingLookup:
    """What a request for a ranking comes to: what it is about, its key, and its bytes where it is stored.

    from_sums: it is, or is to be, made from sums over a file.
    """

    about: CampaignSnapshot
    recipe: Recipe
    key: reports.ReportKey
    body: bytes | None
    from_sums: bool = False

    def check_computable_here(self) -> None:
        """Raise LargeExtraNeeded where it is missing and cannot be made here, before a job is made for it."""
        if self.from_sums and self.body is None:
            check_duckdb_installed()


def find_or_compute_ranking(
    database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None
) -> StoredReport:
    """The ranking of a campaign under a recipe, as it stood at a data version or a time.

    Raises NotFound for an unknown campaign, Invalid where the recipe does not fit it.
    """
    with database.transaction(snapshot=True) as session:
        lookup = look_up_ranking(session, campaign, recipe, as_of)
    return compute_missing_ranking(database, lookup)


def look_up_ranking(session: Session, campaign: str, recipe: Recipe, as_of: int | datetime | None) -> RankingLookup:
    """The key of a ranking, and its bytes where it is stored. Raises as `load_snapshot`."""
    about = load_snapshot(session, campaign, as_of)
    from_sums = find_ratings_folder_for_sums(session, about, recipe) is not None
    key = make_ranking_key(
        about, recipe, texts.hash_system_and_document_descriptions(session, about.campaign_id), from_sums=from_sums
    )
    return RankingLookup(about, recipe, key, reports.find_report(session, key), from_sums)


def compute_missing_ranking(database: Database, lookup: RankingLookup) -> StoredReport:
    """The ranking that was found, else computed here and stored. Raises Invalid where the recipe does not fit.

    It is stored under the key of what was read, which is another where somebody changed a name in between.
    """
    body = lookup.body
    if body is None:
        with database.transaction() as session:
            given = load_ranking_input_or_sums(session, lookup.about, lookup.recipe)
        body = store.store_report(database, given.key, given.compute_ranking_json())
    return StoredReport.from_bytes(body, lookup.about.version)


def load_ranking_input_or_sums(
    session: Session, about: CampaignSnapshot, recipe: Recipe
) -> RankingInput | RankingInputFromSums:
    """All that a ranking is computed from: its ratings, or the file of them where the campaign is large.

    Raises as `load_ranking_input`, and LargeExtraNeeded.
    """
    folder = find_ratings_folder_for_sums(session, about, recipe)
    if folder is None:
        return load_ranking_input(session, about, recipe)
    return open_ranking_input_from_sums(session, about, recipe, folder)


def compute_ranking_for_segment_scores(
    database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None
) -> Ranking:
    """The ranking for its segment scores: nothing is drawn that they do not depend on, nothing is stored.

    Raises as `find_or_compute_ranking`.
    """
    return compute_ranking(database, campaign, recipe=minimize_recipe_draws(recipe), as_of=as_of)


def minimize_recipe_draws(recipe: Recipe) -> Recipe:
    """The recipe with as little drawn as can be: its segment scores are the same."""
    fewest = recipe.permutations if recipe.test not in DRAWN_TESTS else FEWEST_PERMUTATIONS
    return replace(recipe, permutations=fewest, rank_sets=False, influence=False)


def compute_ranking(
    database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None
) -> Ranking:
    """The ranking as a value, with its segment scores; nothing is stored. Raises as `find_or_compute_ranking`."""
    with database.transaction() as session:
        given = load_ranking_input(session, load_snapshot(session, campaign, as_of), recipe)
    return given.compute_ranking()
