"""The input of a ranking, and the ranking as it is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.domain.recipe import Recipe
from app.reports.inputs.data_hash import hash_report_data
from app.reports.inputs.exclusions_and_lock import (
    ExclusionsAndLock,
    add_standing_exclusions,
    compare_ranking_with_lock,
    load_exclusions_and_lock,
    present_ranking_under_requested_recipe,
)
from app.reports.inputs.ratings_file_totals import FROM_SUMS
from app.reports.inputs.recipe_ratings import load_ratings_and_errors_without_weight
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.store import make_report_key_from_parts
from app.reports.ranking.captions import HUMANS_COUNT
from app.stats.ranking.errors_without_weight import ErrorsWithoutWeight
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import METHOD_VERSION, Ranking
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import RatingLabels, Ratings
from app.stats.selection import drop_excluded_ratings
from app.storage import rating_metadata, system_descriptions
from app.storage.db import Session
from app.storage.reports import ReportKey

RANKING = "ranking"
"""The name of rankings among stored reports, and of the jobs that compute them."""


@dataclass(frozen=True, slots=True)
class RankingInput:
    """Everything from which a ranking is computed.

    names: digest of names and domains. errors_without_weight: marked errors for which the weight table has no weight.
    """

    about: CampaignSnapshot
    recipe: Recipe
    rows: Ratings
    words: Mapping[str, system_descriptions.SystemDescription]
    documents: DocumentTable
    names: str
    exclusions_and_lock: ExclusionsAndLock
    errors_without_weight: ErrorsWithoutWeight | None = None

    @property
    def report_key(self) -> ReportKey:
        """The key of the ranking."""
        return make_ranking_key(self.about, self.recipe, self.names)

    @property
    def included_rows(self) -> Ratings:
        """The rows without what the recipe excludes by name, including withdrawn systems and standing exclusions."""
        return drop_excluded_ratings(self.rows, add_standing_exclusions(self.recipe, self.exclusions_and_lock).exclude)

    def compute_ranking(self) -> Ranking:
        """Compute the ranking as a value. Raises Invalid if the recipe does not fit the data."""
        ranking = rank_systems(
            self.rows,
            add_standing_exclusions(self.recipe, self.exclusions_and_lock),
            self.documents,
            self.errors_without_weight,
        )
        return present_ranking_under_requested_recipe(
            add_human_translation_pairs_note(ranking, self.words), self.recipe, self.exclusions_and_lock
        )

    def compute_ranking_json(self) -> bytes:
        """Compute the ranking as canonical JSON. Raises Invalid if the recipe does not fit the data."""
        data_hash = hash_report_data(self.included_rows, self.documents, self.words)
        return encode_ranking(self.compute_ranking(), self.about, self.exclusions_and_lock, self.words, data_hash)


def encode_ranking(
    ranking: Ranking,
    snapshot: CampaignSnapshot,
    exclusions_and_lock: ExclusionsAndLock,
    system_descriptions: Mapping[str, system_descriptions.SystemDescription],
    data_hash: str,
) -> bytes:
    """Encode a ranking as canonical JSON, with facts that only the storage knows."""
    campaign = snapshot.campaign
    head = {
        "campaign": campaign.key,
        "data_version": snapshot.version,
        "data_hash": data_hash,
        "protocol": campaign.protocol,
        "basis": campaign.basis,
        "source_language": campaign.source_language,
        "target_language": campaign.target_language,
        "locked": compare_ranking_with_lock(ranking, exclusions_and_lock),
    }
    fields: dict[str, Any] = ranking.as_json()
    for system in fields["systems"]:
        description = system_descriptions[system["system"]]
        system.update(name=description.name, kind=description.kind)
    return json.dumps({**head, **fields}, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def load_ranking_input(session: Session, snapshot: CampaignSnapshot, recipe: Recipe) -> RankingInput:
    """Load everything from which a ranking is computed, with the present names and domains.

    session: not a snapshot of the database, because scores under new weights are derived and stored.

    Raises Invalid if the recipe's scores cannot be derived from the judgments.
    """
    loaded = load_ratings_and_errors_without_weight(session, snapshot, recipe)
    words, documents, names = load_system_and_document_descriptions(session, snapshot.campaign_id, loaded.rows.labels)
    exclusions_and_lock = load_exclusions_and_lock(session, snapshot.campaign_id, snapshot.version)
    return RankingInput(
        snapshot, recipe, loaded.rows, words, documents, names, exclusions_and_lock, loaded.errors_without_weight
    )


def load_system_and_document_descriptions(
    session: Session, campaign_id: int, labels: RatingLabels
) -> tuple[Mapping[str, system_descriptions.SystemDescription], DocumentTable, str]:
    """Load the present names and domains with their digest; load again if they changed in between."""
    before, names = "", system_descriptions.hash_system_and_document_descriptions(session, campaign_id)
    while before != names:
        before = names
        words = system_descriptions.load_system_descriptions(session, campaign_id)
        documents = rating_metadata.load_document_table(session, campaign_id, labels)
        names = system_descriptions.hash_system_and_document_descriptions(session, campaign_id)
    return words, documents, names


def make_ranking_key(
    snapshot: CampaignSnapshot, recipe: Recipe, names_digest: str, *, from_sums: bool = False
) -> ReportKey:
    """Return the key of a ranking. names_digest: of names and domains. from_sums: the ranking is made from sums.

    The report shows the recipe's name, so two names for the same analysis give two reports. The same holds for names of
    systems and domains: no data version covers them, and the ranking of an older version shows the present ones.
    """
    parts = [recipe.name, recipe.hash, snapshot.unversioned_settings, names_digest, *([FROM_SUMS] if from_sums else [])]
    return make_report_key_from_parts(
        snapshot.campaign_id, RANKING, snapshot.version, parts, seed=recipe.seed, method_version=METHOD_VERSION
    )


def add_human_translation_pairs_note(
    ranking: Ranking, system_descriptions: Mapping[str, system_descriptions.SystemDescription]
) -> Ranking:
    """Add a note to the ranking if p-values are adjusted for pairs with human translations, too."""
    adjusted = len(ranking.systems) > 1 and ranking.recipe.test != "none" and ranking.recipe.adjust != "none"
    if not adjusted or all(system_descriptions[row.system].kind != "human" for row in ranking.systems):
        return ranking
    return replace(ranking, notes=(*ranking.notes, HUMANS_COUNT))
