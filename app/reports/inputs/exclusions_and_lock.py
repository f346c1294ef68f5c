"""The lock with its amendments and the standing exclusions of a campaign at a data version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.recipe import ExclusionTarget, Recipe, parse_recipe_json
from app.stats.ranking.result import Ranking
from app.stats.selection import DroppedRowCount
from app.storage import analysis_locks, exclusions
from app.storage.db import Session


@dataclass(frozen=True, slots=True)
class StandingExclusion:
    """An exclusion that is in force. n: its number. withdrawal: it was made by withdrawing the system."""

    n: int
    exclusion: ExclusionTarget
    withdrawal: bool = False

    @property
    def reason(self) -> str:
        """Why a report leaves out rows; raters, tasks and documents are not named."""
        if self.withdrawal:
            return f"withdrawn system {self.exclusion.key}"
        return f"standing exclusion of a {self.exclusion.what}"


@dataclass(frozen=True, slots=True)
class AnalysisLockState:
    """The latest entry of a lock.

    hash: of the whole chain up to it. preregistered: the lock was made before the first judgment.
    """

    hash: str
    recipe: Recipe
    amendments: int
    preregistered: bool


@dataclass(frozen=True, slots=True)
class ExclusionsAndLock:
    """The exclusions and the lock in force at a data version."""

    exclusions: tuple[StandingExclusion, ...]
    lock: AnalysisLockState | None


def load_exclusions_and_lock(session: Session, campaign_id: int, version: int) -> ExclusionsAndLock:
    """Load the exclusions and the lock that were in force at a data version."""
    stood = (
        StandingExclusion(row.n, ExclusionTarget(row.what, row.key), row.withdrawal)
        for row in exclusions.load_exclusions_in_force(session, campaign_id, version)
    )
    chain = analysis_locks.load_analysis_lock_chain(session, campaign_id, version)
    if not chain:
        return ExclusionsAndLock(tuple(stood), None)
    first, last = chain[0], chain[-1]
    state = AnalysisLockState(
        format_digest(last.hash), parse_stored_recipe(last.recipe), len(chain) - 1, first.before_judgments
    )
    return ExclusionsAndLock(tuple(stood), state)


def format_digest(digest: bytes) -> str:
    """Format a digest for display."""
    return f"sha256:{digest.hex()}"


def parse_stored_recipe(choices: Mapping[str, object]) -> Recipe:
    """Parse a stored recipe; choices introduced later get the value that preserves the earlier behaviour."""
    plain = Recipe(name=str(choices["name"])).as_json()
    return parse_recipe_json({**plain, **choices}, {})


def add_standing_exclusions(recipe: Recipe, in_force: ExclusionsAndLock) -> Recipe:
    """Add standing exclusions to a recipe: all of them if it applies them, withdrawn systems in any case."""
    standing = {one.exclusion for one in in_force.exclusions if recipe.standing or one.withdrawal}
    return replace(recipe, exclude=tuple(sorted({*recipe.exclude, *standing}))) if standing else recipe


def present_ranking_under_requested_recipe(ranking: Ranking, recipe: Recipe, in_force: ExclusionsAndLock) -> Ranking:
    """Present a ranking under the requested recipe: it says what was left out, but does not name raters."""
    reasons = {
        f"excluded {one.exclusion.what}:{one.exclusion.key}": one.reason
        for one in in_force.exclusions
        if one.exclusion not in recipe.exclude
    }
    counts: dict[str, int] = {}
    for dropped in ranking.dropped:
        reason = reasons.get(dropped.reason, dropped.reason)
        counts[reason] = counts.get(reason, 0) + dropped.n
    withdrawn = [one.exclusion.key for one in in_force.exclusions if one.withdrawal and one.reason in counts]
    return replace(
        ranking,
        recipe=replace(ranking.recipe, exclude=recipe.exclude),
        requested=recipe,
        dropped=tuple(DroppedRowCount(reason, n) for reason, n in counts.items()),
        warnings=(*ranking.warnings, *_withdrawn(withdrawn)),
    )


def _withdrawn(systems: Sequence[str]) -> Sequence[str]:
    if not systems:
        return ()
    named = f"{', '.join(systems)} {'was' if len(systems) == 1 else 'were'} withdrawn from the campaign"
    return (f"{named} and not ranked; to rank a withdrawn system, lift its exclusion",)


def compare_ranking_with_lock(ranking: Ranking, in_force: ExclusionsAndLock) -> dict[str, object] | None:
    """Say whether a ranking follows the lock: its recipe and the normalization settled then are the locked ones.

    Returns None if nothing is locked.
    """
    lock = in_force.lock
    if lock is None:
        return None
    as_locked = replace(ranking.requested, normalize=ranking.recipe.normalize)
    follows = as_locked.hash == lock.recipe.hash
    return {
        "hash": lock.hash,
        "follows": follows,
        "amendments": lock.amendments,
        "preregistered": lock.preregistered,
    }
