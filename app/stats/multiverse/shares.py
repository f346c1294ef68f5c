"""The share of universes in which each claim holds, and the choice on which it depends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from app.stats.multiverse.branches import ABSENT, UNTESTED, InapplicableUniverses, Marks, MultiverseBranchClaims
from app.stats.multiverse.space import DIMENSIONS, Dimension
from app.stats.ratings import Floats

Kind = Literal["always", "depends", "reversed", "never"]


@dataclass(frozen=True, slots=True)
class PairClaimShare:
    """One pair over all universes in which it was tested.

    n: number of these universes. first_better, second_better: share of them that claims it. untested: universes that
    rank both systems but could not test the pair. first_ahead, second_ahead: share of branches, by score only.
    kind: `always` if every universe makes the same claim, `never` if none makes any, `reversed` if each direction is
    claimed somewhere, else `depends`. hangs_on, spread: the dimension between whose choices the net share of claims
    differs most, and by how much; None if it does not differ.
    """

    first: str
    second: str
    n: int
    first_better: float | None
    second_better: float | None
    untested: int
    first_ahead: float | None
    second_ahead: float | None
    kind: Kind | None
    hangs_on: Dimension | None
    spread: float | None


@dataclass(frozen=True, slots=True)
class ChoiceClaimShare:
    """One choice of a dimension. n: universes that make it. claimed: share of their pair tests that make a claim."""

    dimension: Dimension
    choice: str
    n: int
    claimed: float | None


@dataclass(frozen=True, slots=True)
class MultiverseClaims:
    """All universes together. missing: universes that do not apply, merged if choice and reason are the same."""

    n: int
    pairs: tuple[PairClaimShare, ...]
    choices: tuple[ChoiceClaimShare, ...]
    missing: tuple[InapplicableUniverses, ...]


def compute_claim_shares(branches: Sequence[MultiverseBranchClaims], systems: Sequence[str]) -> MultiverseClaims:
    """Combine the universes of all branches.

    systems : keys of all systems, sorted, as the branches were given.
    """
    claims = np.concatenate([one.claims for one in branches]) if branches else np.zeros((0, 0), dtype=np.int8)
    codes = {dimension: _codes(branches, dimension) for dimension in DIMENSIONS}
    ahead = np.stack([one.ahead for one in branches if one.universes] or [np.zeros(claims.shape[1], dtype=np.int8)])
    by_choice = {dimension: _by_choice(claims, labels) for dimension, labels in codes.items()}
    pairs = tuple(
        _pair(k, pair, claims[:, k], ahead[:, k], by_choice) for k, pair in enumerate(combinations(systems, 2))
    )
    choices = tuple(
        _choice(claims[labels == choice], dimension, str(choice))
        for dimension, labels in codes.items()
        for choice in dict.fromkeys(labels.tolist())
    )
    return MultiverseClaims(len(claims), pairs, choices, _merge_reasons([one for b in branches for one in b.missing]))


def _codes(
    branches: Sequence[MultiverseBranchClaims], dimension: Dimension
) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """Return the choice of each universe in a dimension."""
    at = {"test": 0, "adjust": 1}.get(dimension)
    if at is not None:
        return np.array([universe[at] for one in branches for universe in one.universes], dtype=np.str_)
    return np.array([getattr(one, dimension) for one in branches for _ in one.universes], dtype=np.str_)


def _by_choice(claims: Marks, labels: np.ndarray[tuple[int], np.dtype[np.str_]]) -> Floats:
    """By choice, share that claims the first minus share that claims the second; (choices, P), NaN if untested."""
    return np.stack([_mean_claim(claims[labels == choice]) for choice in np.unique(labels)] or [_mean_claim(claims)])


def _mean_claim(claims: Marks) -> Floats:
    tested = np.abs(claims) < UNTESTED
    n = tested.sum(axis=0)
    net = np.where(tested, claims, 0).sum(axis=0)
    return np.asarray(np.divide(net, n, out=np.full(n.shape, np.nan), where=n > 0), dtype=np.float64)


def _pair(
    k: int, pair: tuple[str, str], claims: Marks, ahead: Marks, by_choice: dict[Dimension, Floats]
) -> PairClaimShare:
    tested = claims[np.abs(claims) < UNTESTED]
    ranked = ahead[ahead != ABSENT]
    first, second = _share(tested, 1), _share(tested, -1)
    spreads = {dimension: _range(net[:, k]) for dimension, net in by_choice.items()}
    hangs_on = max(spreads, key=lambda dimension: spreads[dimension])
    spread = spreads[hangs_on]
    return PairClaimShare(
        *pair,
        n=tested.size,
        first_better=first,
        second_better=second,
        untested=int((claims == UNTESTED).sum()),
        first_ahead=_share(ranked, 1),
        second_ahead=_share(ranked, -1),
        kind=_kind(first, second),
        hangs_on=hangs_on if spread > 0 else None,
        spread=spread if spread > 0 else None,
    )


def _share(marks: Marks, mark: int) -> float | None:
    return float((marks == mark).mean()) if marks.size else None


def _range(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return round(float(known.max() - known.min()), 12) if known.size else 0.0


def _kind(first: float | None, second: float | None) -> Kind | None:
    if first is None or second is None:
        return None
    if first > 0 and second > 0:
        return "reversed"
    if 1.0 in (first, second):
        return "always"
    return "never" if first == second == 0 else "depends"


def _choice(claims: Marks, dimension: Dimension, choice: str) -> ChoiceClaimShare:
    tested = np.abs(claims) < UNTESTED
    claimed = (np.abs(claims) == 1).sum() / tested.sum() if tested.any() else None
    return ChoiceClaimShare(dimension, choice, len(claims), None if claimed is None else float(claimed))


def _merge_reasons(missing: Sequence[InapplicableUniverses]) -> tuple[InapplicableUniverses, ...]:
    """Merge entries with the same reason from several branches; keep the choices that they have in common."""
    by_pair: dict[tuple[str, str], list[InapplicableUniverses]] = {}
    for entry in missing:
        last = list(entry.choices)[-1]
        by_pair.setdefault((entry.reason, f"{last}={entry.choices[last]}"), []).append(entry)
    return tuple(_merge_group(group) for group in by_pair.values())


def _merge_group(group: Sequence[InapplicableUniverses]) -> InapplicableUniverses:
    first = group[0].choices
    common = {name: value for name, value in first.items() if all(one.choices.get(name) == value for one in group)}
    return InapplicableUniverses(common, sum(one.n for one in group), group[0].reason)
