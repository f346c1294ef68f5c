"""Reports: answered from the store, or computed once and stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.domain.recipe import Recipe
from app.domain.recipe_choices import FEWEST_PERMUTATIONS
from app.reports.kit import store
from app.reports.kit.report import StoredReport
from app.reports.ranking.captions import HUMANS_COUNT
from app.reports.source.data_hash import data_hash
from app.reports.source.recipe_ratings import load_marked
from app.reports.source.registration import (
    Registration,
    against_lock,
    as_asked,
    load_registration,
    with_standing_exclusions,
)
from app.reports.source.snapshot import Snapshot, snapshot
from app.stats.ranking.errors_without_weight import ErrorsWithoutWeight
from app.stats.ranking.ranking import rank
from app.stats.ranking.result import METHOD_VERSION, Ranking
from app.stats.ratings import Ratings
from app.stats.selection import without
from app.stats.side_tables import DocumentTable
from app.stats.testing.pair_tests import DRAWN_TESTS
from app.storage import reports, side_tables, texts
from app.storage.db import Database, Session

RANKING = "ranking"
"""The name of rankings among stored reports, and of the jobs that make them."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A ranking that is asked for: what it is about, its key, and its bytes where it is stored."""

    about: Snapshot
    recipe: Recipe
    key: reports.ReportKey
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Material:
    """All that a ranking is made of, read.

    names: digest of the names and domains that stand in it. unweighed: marked errors that the weights do not know.
    """

    about: Snapshot
    recipe: Recipe
    rows: Ratings
    words: Mapping[str, texts.SystemWords]
    documents: DocumentTable
    names: str
    stands: Registration
    unweighed: ErrorsWithoutWeight | None = None

    @property
    def key(self) -> reports.ReportKey:
        """Of the ranking that is made of it."""
        return _key(self.about, self.recipe, self.names)

    @property
    def used(self) -> Ratings:
        """The rows without what the recipe leaves out by name, withdrawn systems and standing exclusions among it."""
        return without(self.rows, with_standing_exclusions(self.recipe, self.stands).exclude)

    def ranked(self) -> Ranking:
        """The ranking as a value. Raises Invalid where the recipe does not fit the data."""
        ranked = rank(self.rows, with_standing_exclusions(self.recipe, self.stands), self.documents, self.unweighed)
        return as_asked(_told_of_humans(ranked, self.words), self.recipe, self.stands)

    def body(self) -> bytes:
        """The ranking as canonical JSON. Raises Invalid where the recipe does not fit the data."""
        ranked, campaign = self.ranked(), self.about.campaign
        head = {
            "campaign": campaign.key,
            "data_version": self.about.version,
            "data_hash": data_hash(self.used, self.documents, self.words),
            "protocol": campaign.protocol,
            "basis": campaign.basis,
            "source_language": campaign.source_language,
            "target_language": campaign.target_language,
            "locked": against_lock(ranked, self.stands),
        }
        result: dict[str, Any] = ranked.as_json()
        for system in result["systems"]:
            known = self.words[system["system"]]
            system.update(name=known.name, kind=known.kind)
        return json.dumps({**head, **result}, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _told_of_humans(ranked: Ranking, words: Mapping[str, texts.SystemWords]) -> Ranking:
    """The ranking with a note where p-values are adjusted for pairs with human translations, too."""
    adjusted = len(ranked.systems) > 1 and ranked.recipe.test != "none" and ranked.recipe.adjust != "none"
    if not adjusted or all(words[row.system].kind != "human" for row in ranked.systems):
        return ranked
    return replace(ranked, notes=(*ranked.notes, HUMANS_COUNT))


def ranking(database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None) -> StoredReport:
    """The ranking of a campaign under a recipe, as it stood at a data version or a time.

    Raises NotFound for an unknown campaign, Invalid where the recipe does not fit it.
    """
    with database.transaction(snapshot=True) as session:
        wanted = located(session, campaign, recipe, as_of)
    return made(database, wanted)


def located(session: Session, campaign: str, recipe: Recipe, as_of: int | datetime | None) -> Wanted:
    """What a ranking is about, and its bytes where it is stored. Raises as `snapshot`."""
    about = snapshot(session, campaign, as_of)
    key = _key(about, recipe, texts.names_digest(session, about.campaign_id))
    return Wanted(about, recipe, key, reports.find(session, key))


def made(database: Database, wanted: Wanted) -> StoredReport:
    """The ranking, from the store or computed here and stored. Raises Invalid where the recipe does not fit."""
    body = wanted.body
    if body is None:
        with database.transaction() as session:
            material = read(session, wanted.about, wanted.recipe)
        body = kept(database, material)
    return StoredReport.of(body, wanted.about.version)


def kept(database: Database, material: Material) -> bytes:
    """The ranking of what was read, computed and stored; its bytes, which may be those of somebody who was faster."""
    return store.store(database, material.key, material.body())


def segments_of(database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None) -> Ranking:
    """The ranking as a value, for its segment scores: nothing is drawn that they do not hang on, nothing is stored.

    Raises as `ranking`.
    """
    fewest = recipe.permutations if recipe.test not in DRAWN_TESTS else FEWEST_PERMUTATIONS
    light = replace(recipe, permutations=fewest, rank_sets=False, influence=False)
    return ranking_of(database, campaign, recipe=light, as_of=as_of)


def ranking_of(database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None) -> Ranking:
    """The ranking as a value, with its segment scores; nothing is stored."""
    with database.transaction() as session:
        material = read(session, snapshot(session, campaign, as_of), recipe)
    return material.ranked()


def read(session: Session, about: Snapshot, recipe: Recipe) -> Material:
    """Read all that a ranking is made of. Raises Invalid where the recipe's scores are not in the judgments."""
    loaded = load_marked(session, about, recipe)
    words, documents, names = _named(session, about.campaign_id, loaded.rows)
    stands = load_registration(session, about.campaign_id, about.version)
    return Material(about, recipe, loaded.rows, words, documents, names, stands, loaded.unweighed)


def _named(
    session: Session, campaign_id: int, rows: Ratings
) -> tuple[Mapping[str, texts.SystemWords], DocumentTable, str]:
    """Names and domains as they are now, with their digest; read anew where somebody changed them in between."""
    before, names = "", texts.names_digest(session, campaign_id)
    while before != names:
        before = names
        words = texts.system_words(session, campaign_id)
        documents = side_tables.documents(session, campaign_id, rows.labels)
        names = texts.names_digest(session, campaign_id)
    return words, documents, names


def _key(about: Snapshot, recipe: Recipe, names: str) -> reports.ReportKey:
    # The recipe's name is shown in the report, so two names of one analysis are two reports. So are names of systems
    # and domains: they have no data version, so that an older one, too, is told with those of today.
    return reports.ReportKey(
        campaign_id=about.campaign_id,
        kind=RANKING,
        data_version=about.version,
        recipe_hash=f"{recipe.name}@{recipe.hash}{about.unsettled}@{names}",
        seed=recipe.seed,
        method_version=METHOD_VERSION,
    )
