"""What stands in a campaign at a data version besides its data: the lock with its amendments, and the exclusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.recipe import NamedExclusion, Recipe, parse_recipe_json
from app.stats.ranking.result import Ranking
from app.stats.selection import DroppedRows
from app.storage import exclusions, locks
from app.storage.db import Session


@dataclass(frozen=True, slots=True)
class StandingExclusion:
    """An exclusion that stands. n: its number. withdrawal: it was made by withdrawing the system."""

    n: int
    exclusion: NamedExclusion
    withdrawal: bool = False

    @property
    def reason(self) -> str:
        """Why a report leaves rows out; a rater, task or document is not named."""
        if self.withdrawal:
            return f"withdrawn system {self.exclusion.key}"
        return f"standing exclusion of a {self.exclusion.what}"


@dataclass(frozen=True, slots=True)
class AnalysisLockState:
    """The latest entry of a lock. hash: of the whole chain up to it. preregistered: made before the first judgment."""

    hash: str
    recipe: Recipe
    amendments: int
    preregistered: bool


@dataclass(frozen=True, slots=True)
class ExclusionsAndLock:
    """What stands at a data version."""

    exclusions: tuple[StandingExclusion, ...]
    lock: AnalysisLockState | None


def load_exclusions_and_lock(session: Session, campaign_id: int, version: int) -> ExclusionsAndLock:
    """What stood in a campaign at a data version."""
    stood = (
        StandingExclusion(row.n, NamedExclusion(row.what, row.key), row.withdrawal)
        for row in exclusions.load_standing_exclusions(session, campaign_id, version)
    )
    chain = locks.load_analysis_lock_chain(session, campaign_id, version)
    if not chain:
        return ExclusionsAndLock(tuple(stood), None)
    first, last = chain[0], chain[-1]
    state = AnalysisLockState(
        format_digest(last.hash), parse_stored_recipe(last.recipe), len(chain) - 1, first.before_judgments
    )
    return ExclusionsAndLock(tuple(stood), state)


def format_digest(digest: bytes) -> str:
    """A digest as it is shown."""
    return f"sha256:{digest.hex()}"


def parse_stored_recipe(choices: Mapping[str, object]) -> Recipe:
    """A recipe as it was stored; a choice that a later version added is as it was before there was one."""
    plain = Recipe(name=str(choices["name"])).as_json()
    return parse_recipe_json({**plain, **choices}, {})


def add_standing_exclusions(recipe: Recipe, stands: ExclusionsAndLock) -> Recipe:
    """The recipe with the standing exclusions among its own: all where it asks for them, withdrawn systems always."""
    standing = {one.exclusion for one in stands.exclusions if recipe.standing or one.withdrawal}
    return replace(recipe, exclude=tuple(sorted({*recipe.exclude, *standing}))) if standing else recipe


def put_requested_recipe_in_ranking(ranking: Ranking, recipe: Recipe, stands: ExclusionsAndLock) -> Ranking:
    """A ranking with standing exclusions as one under the recipe: it says what was left out, but not which rater."""
    reasons = {
        f"excluded {one.exclusion.what}:{one.exclusion.key}": one.reason
        for one in stands.exclusions
        if one.exclusion not in recipe.exclude
    }
    counts: dict[str, int] = {}
    for dropped in ranking.dropped:
        reason = reasons.get(dropped.reason, dropped.reason)
        counts[reason] = counts.get(reason, 0) + dropped.n
    withdrawn = [one.exclusion.key for one in stands.exclusions if one.withdrawal and one.reason in counts]
    return replace(
        ranking,
        recipe=replace(ranking.recipe, exclude=recipe.exclude),
        requested=recipe,
        dropped=tuple(DroppedRows(reason, n) for reason, n in counts.items()),
        warnings=(*ranking.warnings, *_withdrawn(withdrawn)),
    )


def _withdrawn(systems: Sequence[str]) -> Sequence[str]:
    if not systems:
        return ()
    named = f"{', '.join(systems)} {'was' if len(systems) == 1 else 'were'} withdrawn from the campaign"
    return (f"{named} and not ranked; to rank a withdrawn system, lift its exclusion",)


def compare_ranking_with_lock(ranking: Ranking, stands: ExclusionsAndLock) -> dict[str, object] | None:
    """Whether a ranking follows the lock: it was asked for by the locked recipe, whose normalization was settled then.

    None where nothing is locked.
    """
    lock = stands.lock
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
