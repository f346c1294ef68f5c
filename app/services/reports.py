"""Reports: answered from the store, or computed once and stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from app.domain.errors import Invalid, Place
from app.domain.recipe import Recipe
from app.domain.recipe_choices import FEWEST_PERMUTATIONS
from app.services.campaigns import CampaignView, get
from app.services.captions import HUMANS_COUNT
from app.services.registered import Registered, against_lock, applied, as_asked, registered
from app.services.scores import Reading, derive, reading
from app.stats.pair_tests import DRAWN_TESTS
from app.stats.ranking import rank
from app.stats.ratings import COLUMNS, Codes, Kind, Ratings
from app.stats.result import METHOD_VERSION, Ranking
from app.stats.selection import without
from app.stats.side_tables import Documents
from app.stats.unweighed import Unweighed
from app.storage import campaigns, ratings, reports, side_tables, texts, unweighed
from app.storage.db import Database, Session
from app.storage.rating_codes import Ints

RANKING = "ranking"
"""The name of rankings among stored reports, and of the jobs that make them."""


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report as canonical JSON bytes, and what it was computed from.

    etag: of the report itself; a representation adds its own name to it.
    """

    body: bytes
    etag: str
    data_version: int


@dataclass(frozen=True, slots=True)
class Question:
    """A campaign at a data version."""

    campaign: CampaignView
    campaign_id: int
    version: int

    @property
    def unsettled(self) -> str:
        """What a campaign without data may still change without a data version; empty once each change is one."""
        if self.version:
            return ""
        one = self.campaign
        told = [one.protocol, dict(one.options), one.source_language, one.target_language, one.basis]
        return "+" + hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A ranking that is asked for: what it is about, its key, and its bytes where it is stored."""

    about: Question
    recipe: Recipe
    key: reports.ReportKey
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Material:
    """All that a ranking is made of, read.

    names: digest of the names and domains that stand in it. unweighed: marked errors that the weights do not know.
    """

    about: Question
    recipe: Recipe
    rows: Ratings
    words: Mapping[str, texts.SystemWords]
    documents: Documents
    names: str
    stands: Registered
    unweighed: Unweighed | None = None

    @property
    def key(self) -> reports.ReportKey:
        """Of the ranking that is made of it."""
        return _key(self.about, self.recipe, self.names)

    @property
    def used(self) -> Ratings:
        """The rows without what the recipe leaves out by name, withdrawn systems and standing exclusions among it."""
        return without(self.rows, applied(self.recipe, self.stands).exclude)

    def ranked(self) -> Ranking:
        """The ranking as a value. Raises Invalid where the recipe does not fit the data."""
        ranked = rank(self.rows, applied(self.recipe, self.stands), self.documents, self.unweighed)
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
    """What a ranking is about, and its bytes where it is stored. Raises as `question`."""
    about = question(session, campaign, as_of)
    key = _key(about, recipe, texts.names_digest(session, about.campaign_id))
    return Wanted(about, recipe, key, reports.find(session, key))


def made(database: Database, wanted: Wanted) -> StoredReport:
    """The ranking, from the store or computed here and stored. Raises Invalid where the recipe does not fit."""
    body = wanted.body
    if body is None:
        with database.transaction() as session:
            material = read(session, wanted.about, wanted.recipe)
        body = kept(database, material)
    return StoredReport(body, hashlib.sha256(body).hexdigest()[:32], wanted.about.version)


def kept(database: Database, material: Material) -> bytes:
    """The ranking of what was read, computed and stored; its bytes, which may be those of somebody who was faster."""
    body, key = material.body(), material.key
    with database.transaction() as session:
        reports.store(session, key, body)
        return reports.find(session, key) or body


def question(session: Session, campaign: str, as_of: int | datetime | None) -> Question:
    """Which data a report speaks about: the version asked for, or the last one by a time.

    Raises NotFound for an unknown campaign, Invalid for a version that there is not, or not yet.
    """
    row = campaigns.get(session, campaign)
    version = int(row.data_version)
    if isinstance(as_of, datetime):
        version = campaigns.version_at(session, row.id, as_of)
    elif as_of is not None:
        if not 0 <= as_of <= version:
            what = "must be 0 or more" if as_of < 0 else f"the latest data version is {version}"
            raise Invalid("there is no such data version", places=(Place(("query", "as_of"), what),))
        version = as_of
    return Question(get(session, campaign), row.id, version)


def load(session: Session, asked: Question, recipe: Recipe) -> Ratings:
    """The ratings that a recipe reads, derived under its weight profile if they are not yet."""
    return loaded(session, asked, recipe)[0]


def loaded(session: Session, asked: Question, recipe: Recipe) -> tuple[Ratings, Ints, Reading]:
    """The same as `load`, with the id of the judgment behind each row, and what scores are read by."""
    read = reading(asked.campaign, recipe.scoring)
    if not read.protocol.ranks:
        raise Invalid(f"judgments by {read.protocol.name} rank nothing")
    profile = derive(session, asked.campaign_id, read)
    frame = ratings.Frame(
        higher_is_better=read.measure.higher_is_better,
        scale=read.measure.scale,
        criterion=None if read.own else read.measure.name,
        documents_known=asked.campaign.documents_known,
        standardised=read.options.standardised,
    )
    found = ratings.load(session, campaign_id=asked.campaign_id, profile_id=profile, version=asked.version, frame=frame)
    rows, ids = found.ratings, found.judgment_ids
    if read.protocol.level == "document":
        rows, ids = rows.documents_as_segments(), ids[rows.kind == Kind.DOCUMENT]
    cap = recipe.scoring.cap
    if cap is not None:
        capped = rows.with_score(np.minimum(rows.score, cap))
        order = capped.canonical_order()
        rows, ids = capped.canonical(order), ids[order]
    return rows, ids, read


@dataclass(frozen=True, slots=True)
class Marked:
    """Ratings as `loaded`. unweighed: errors that the weights do not know; None where none are read, or marked."""

    rows: Ratings
    ids: Ints
    read: Reading
    unweighed: Unweighed | None


def load_marked(session: Session, asked: Question, recipe: Recipe) -> Marked:
    """The same as `loaded`, with the errors that its weights do not know."""
    rows, ids, scores = loaded(session, asked, recipe)
    if not scores.measure.uses_profile or rows.n_errors.max(initial=0) <= 0:
        return Marked(rows, ids, scores, None)
    unknown = unweighed.load(session, asked.campaign_id, rows.judgment, ids, scores.options.profile)
    return Marked(rows, ids, scores, unknown)


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
        material = read(session, question(session, campaign, as_of), recipe)
    return material.ranked()


def read(session: Session, about: Question, recipe: Recipe) -> Material:
    """Read all that a ranking is made of. Raises Invalid where the recipe's scores are not in the judgments."""
    found = load_marked(session, about, recipe)
    words, documents, names = _named(session, about.campaign_id, found.rows)
    stands = registered(session, about.campaign_id, about.version)
    return Material(about, recipe, found.rows, words, documents, names, stands, found.unweighed)


def _named(session: Session, campaign_id: int, rows: Ratings) -> tuple[Mapping[str, texts.SystemWords], Documents, str]:
    """Names and domains as they are now, with their digest; read anew where somebody changed them in between."""
    before, names = "", texts.names_digest(session, campaign_id)
    while before != names:
        before = names
        words = texts.system_words(session, campaign_id)
        documents = side_tables.documents(session, campaign_id, rows.labels)
        names = texts.names_digest(session, campaign_id)
    return words, documents, names


def data_hash(rows: Ratings, documents: Documents, known: Mapping[str, texts.SystemWords]) -> str:
    """Digest of all that a report used: the same data give the same digest in any database.

    Beside the ratings these are what they mean (scale, which way is better), the domains of the documents
    that were rated, and the names and kinds of the systems.
    """
    digest = hashlib.sha256()
    systems, _ = _used(rows.system, len(rows.labels.systems))
    rated, _ = _used(rows.document, len(rows.labels.documents))
    beside = [
        (rows.higher_is_better, rows.documents_known, rows.standardised),
        rows.scale and astuple(rows.scale),
        [documents.domain[code] for code in rated],
        [astuple(known[rows.labels.systems[code]]) for code in systems],
    ]
    digest.update(json.dumps(beside).encode() + b"\0")
    names, columns = rows.labels, {name: getattr(rows, name) for name in COLUMNS}
    labels = {"system": names.systems, "document": names.documents, "rater": names.raters, "task": names.tasks}
    renumbered = {}
    for name, words in labels.items():
        used, renumbered[name] = _used(columns[name], len(words))
        digest.update("\n".join(words[i] for i in used).encode() + b"\0")
        columns[name] = renumbered[name][columns[name]]
    shown, number = _used(columns["segment"][columns["segment"] >= 0], names.segment_position.size)
    document = renumbered["document"][names.segment_document[shown]]
    columns["segment"] = np.where(columns["segment"] < 0, -1, np.append(number, -1)[columns["segment"]])
    for column in (document, names.segment_position[shown], *columns.values()):
        digest.update(np.ascontiguousarray(column).tobytes())
    return "sha256:" + digest.hexdigest()


def _used(codes: Codes, n: int) -> tuple[Codes, Codes]:
    """The codes that occur, and by old code the new one: what a later version declares must not change this one."""
    occurs = np.bincount(codes, minlength=n) > 0
    return np.flatnonzero(occurs).astype(np.int32), (np.cumsum(occurs) - 1).astype(np.int32)


def _key(about: Question, recipe: Recipe, names: str) -> reports.ReportKey:
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
