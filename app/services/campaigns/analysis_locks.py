"""The lock of a campaign: recipe and rules registered before the data, and every later change with its reason."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from app.domain.errors import Conflict, Invalid, NotFound, Place
from app.domain.recipe import Recipe
from app.reports.inputs import named_recipes, recipe_ratings, snapshot
from app.reports.inputs.exclusions_and_lock import (
    add_standing_exclusions,
    format_digest,
    load_exclusions_and_lock,
    parse_stored_recipe,
)
from app.reports.kit.redact import hide_names
from app.services.campaigns import audit
from app.stats.ranking.ranking import rank_systems
from app.storage import analysis_locks, campaigns, clock, raters, staged_judgments
from app.storage.db import Session
from app.storage.imports.staging import format_canonical_json


class AnalysisNotLocked(NotFound):
    """Nothing is locked in this campaign."""

    published = "NotLocked"


class AmendmentReasonMissing(Invalid):
    """This is an amendment; it needs a reason."""

    published = "ReasonNeeded"


class LockUnchanged(Conflict):
    """This is locked already."""

    published = "NothingChanges"


class NormalizationNotFixed(Invalid):
    """The recipe leaves its normalization to the data."""

    published = "NotSettled"


@dataclass(frozen=True, slots=True)
class HypothesesAndRules:
    """What is promised in addition to the recipe, in the manager's words."""

    hypotheses: tuple[str, ...] = ()
    exclusion_rules: tuple[str, ...] = ()
    stopping_rule: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisLockRequest:
    """What to lock. None keeps the locked value; at first this is `recommended`, without rules.

    normalize: fixes the normalization of a recipe that leaves it to the data, while there are no data.
    """

    recipe: str | None = None
    normalize: str | None = None
    hypotheses: Sequence[str] | None = None
    exclusion_rules: Sequence[str] | None = None
    stopping_rule: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AnalysisLockEntry:
    """One entry of the chain. hash: of all its other fields, and, through `previous`, of all earlier entries.

    choices: the recipe as it was stored; a later version reads it as `recipe`.
    """

    n: int
    data_version: int
    before_judgments: bool
    choices: Mapping[str, object]
    rules: HypothesesAndRules
    reason: str | None
    actor: str
    at: datetime
    previous: str | None
    hash: str

    @property
    def recipe(self) -> Recipe:
        """The recipe that the choices define."""
        return parse_stored_recipe(self.choices)

    def digest(self, campaign: str) -> bytes:
        """Return the SHA-256 of the entry in canonical JSON: keys sorted, no spaces."""
        said = {
            "campaign": campaign,
            "n": self.n,
            "before_judgments": self.before_judgments,
            "recipe": self.choices,
            **_rules_as_json(self.rules),
            "reason": self.reason,
            "actor": self.actor,
            "at": self.at.astimezone(UTC).isoformat(),
            "previous": self.previous,
        }
        return hashlib.sha256(format_canonical_json(said).encode()).digest()


@dataclass(frozen=True, slots=True)
class AnalysisLockChain:
    """The lock with its amendments. intact: whether every hash matches its entry and the previous entry."""

    campaign: str
    entries: tuple[AnalysisLockEntry, ...]
    intact: bool


def set_or_amend_analysis_lock(
    session: Session, campaign: str, wanted: AnalysisLockRequest, *, actor: str
) -> AnalysisLockChain:
    """Lock recipe and rules, or amend the lock. A first entry before the first judgment is a pre-registration.

    Raises NotFound, AmendmentReasonMissing for an amendment without a reason, LockUnchanged, NormalizationNotFixed, or
    Invalid naming the field.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    before = _entries(session, row.id, int(row.data_version))
    last = before[-1] if before else None
    untouched = not staged_judgments.has_judgments(session, row.id)
    if (last is not None or not untouched) and wanted.reason is None:
        why = "the campaign is locked" if last is not None else "the campaign has judgments"
        raise AmendmentReasonMissing(
            places=(Place(("body", "reason"), f"{why}, so this is an amendment and needs a reason"),)
        )
    recipe, rules = _recipe(session, campaign, wanted, last), _rules(wanted, last)
    if last is not None and (last.recipe, last.rules) == (recipe, rules):
        raise LockUnchanged
    version = campaigns.take_next_data_version(session, row.id, actor=actor, what="amendment" if before else "lock")
    entry = AnalysisLockEntry(
        n=len(before) + 1,
        data_version=version,
        before_judgments=untouched,
        choices=recipe.as_json(),
        rules=rules,
        reason=wanted.reason,
        actor=actor,
        at=clock.get_database_time(session),
        previous=last.hash if last else None,
        hash="",
    )
    _store(session, row.id, entry, entry.digest(campaign))
    done = {"entry": entry.n, "data_version": version}
    audit.record_action(session, row.id, actor=actor, action="lock amended" if before else "campaign locked", what=done)
    return get_analysis_lock(session, campaign)


def get_analysis_lock(session: Session, campaign: str) -> AnalysisLockChain:
    """Return the lock with its amendments. Raises NotFound for an unknown campaign, and if nothing is locked."""
    row = campaigns.load_campaign(session, campaign)
    entries = _entries(session, row.id, int(row.data_version))
    if not entries:
        raise AnalysisNotLocked
    intact = all(entry.hash == format_digest(entry.digest(campaign)) for entry in entries)
    return AnalysisLockChain(campaign, tuple(entries), intact)


def redact_raters_in_analysis_lock(session: Session, chain: AnalysisLockChain) -> AnalysisLockChain:
    """Return the lock as viewers see it: no text contains a rater's key or name.

    Hashes are still those of the original texts.
    """
    known = raters.load_all_rater_names(session, campaigns.load_campaign(session, chain.campaign).id)

    def plain(entry: AnalysisLockEntry) -> AnalysisLockEntry:
        rules = HypothesesAndRules(
            hypotheses=tuple(hide_names(text, known) for text in entry.rules.hypotheses),
            exclusion_rules=tuple(hide_names(text, known) for text in entry.rules.exclusion_rules),
            stopping_rule=entry.rules.stopping_rule and hide_names(entry.rules.stopping_rule, known),
        )
        return replace(entry, rules=rules, reason=entry.reason and hide_names(entry.reason, known))

    return replace(chain, entries=tuple(map(plain, chain.entries)))


def _recipe(session: Session, campaign: str, wanted: AnalysisLockRequest, last: AnalysisLockEntry | None) -> Recipe:
    """Return the recipe to be locked. Raises NoSuchRecipe, NormalizationNotFixed."""
    if wanted.recipe is None and last is not None:
        recipe = last.recipe
    else:
        recipe = named_recipes.resolve_recipe(
            session, campaign, wanted.recipe or "recommended", place=("body", "recipe")
        )
    if recipe.normalize != "auto":
        if wanted.normalize not in (None, recipe.normalize):
            message = f"the recipe says {recipe.normalize}"
            raise Invalid(message, places=(Place(("body", "normalize"), message),))
        return recipe
    settled = wanted.normalize or _by_data(session, campaign, recipe)
    return replace(recipe, normalize=settled, name=f"{recipe.name}+normalize"[:128])  # type: ignore[arg-type]  # checked as a choice


def _by_data(session: Session, campaign: str, recipe: Recipe) -> str:
    """Return the normalization that `auto` means for the existing ratings.

    Raises NormalizationNotFixed if there are none.
    """
    asked = snapshot.load_snapshot(session, campaign, None)
    rows = recipe_ratings.load_recipe_ratings(session, asked, recipe)
    if not len(rows):
        message = "there are no judgments yet: choose z if all raters judge all systems, otherwise none"
        raise NormalizationNotFixed(places=(Place(("body", "normalize"), message),))
    stands = load_exclusions_and_lock(session, asked.campaign_id, asked.version)
    plain = replace(
        add_standing_exclusions(recipe, stands), test="none", clusters="none", adjust="none", rank_sets=False
    )
    return rank_systems(rows, replace(plain, influence=False)).recipe.normalize


def _rules(wanted: AnalysisLockRequest, last: AnalysisLockEntry | None) -> HypothesesAndRules:
    """Return the rules to be locked."""
    had = last.rules if last else HypothesesAndRules()
    return HypothesesAndRules(
        hypotheses=had.hypotheses if wanted.hypotheses is None else tuple(wanted.hypotheses),
        exclusion_rules=had.exclusion_rules if wanted.exclusion_rules is None else tuple(wanted.exclusion_rules),
        stopping_rule=had.stopping_rule if wanted.stopping_rule is None else wanted.stopping_rule,
    )


def _store(session: Session, campaign_id: int, entry: AnalysisLockEntry, digest: bytes) -> None:
    values: Mapping[str, object] = {
        "n": entry.n,
        "before_judgments": entry.before_judgments,
        "recipe": entry.choices,
        "rules": _rules_as_json(entry.rules),
        "reason": entry.reason,
        "hash": digest,
        "actor": entry.actor,
        "at": entry.at,
        "version": entry.data_version,
    }
    analysis_locks.insert_analysis_lock_entry(session, campaign_id, values)


def _entries(session: Session, campaign_id: int, version: int) -> list[AnalysisLockEntry]:
    entries: list[AnalysisLockEntry] = []
    for row in analysis_locks.load_analysis_lock_chain(session, campaign_id, version):
        said = row.rules
        rules = HypothesesAndRules(tuple(said["hypotheses"]), tuple(said["exclusion_rules"]), said["stopping_rule"])
        entries.append(
            AnalysisLockEntry(
                n=row.n,
                data_version=row.version,
                before_judgments=row.before_judgments,
                choices=row.recipe,
                rules=rules,
                reason=row.reason,
                actor=row.actor,
                at=row.at,
                previous=entries[-1].hash if entries else None,
                hash=format_digest(row.hash),
            )
        )
    return entries


def _rules_as_json(rules: HypothesesAndRules) -> dict[str, object]:
    """Return the rules as JSON values."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(rules).items()}
