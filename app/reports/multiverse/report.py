"""Multiverse analysis: which claims hold in every defensible analysis of the same judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from app.domain.recipe import Normalize
from app.reports.inputs.recipe_input import RecipeInput, load_recipe_input
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.reports.multiverse.choices import (
    MultiverseOptions,
    load_ratings_by_distinct_scoring,
    make_multiverse_space,
    merge_equivalent_exclusions,
)
from app.reports.multiverse.view import (
    AnalysisChoiceClaimsView,
    InapplicableUniversesView,
    MultiverseView,
    PairClaimsView,
    make_caption,
    make_csv_rows,
    make_tables,
    plot_claim_matrix,
    plot_claim_shares_by_choice,
)
from app.stats.multiverse.branches import (
    InapplicableUniverses,
    MultiverseBranchClaims,
    RatingsUnderOneScoring,
    compute_branch_claims,
)
from app.stats.multiverse.shares import PairClaimShare, compute_claim_shares
from app.stats.multiverse.space import ExclusionChoice, MultiverseSpace
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.storage.db import Session


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: MultiverseOptions
) -> ReportComputation[MultiverseView]:
    inputs = load_recipe_input(session, snapshots[0], options)
    space, same = merge_equivalent_exclusions(make_multiverse_space(inputs, options), inputs.rows)
    base = rank_systems(inputs.rows, inputs.recipe, inputs.documents)
    if len(base.systems) < 2:
        return make_undivided_computation(partial(_view, inputs, base, (), ()))
    universes = space.universes_per_branch * len(space.normalize) * len(space.excluding)
    scorings, missing = load_ratings_by_distinct_scoring(session, inputs, options, universes)
    work = _Branches(tuple(scorings), space, inputs.rows.labels.systems)
    return ReportComputation(len(work.order), work.run, partial(_finish, inputs, base, (*missing, *same)))


@dataclass(frozen=True, slots=True)
class _Branches:
    """The chunks: one for each scoring, exclusion and normalization."""

    scorings: tuple[RatingsUnderOneScoring, ...]
    space: MultiverseSpace
    systems: tuple[str, ...]

    @property
    def order(self) -> list[tuple[RatingsUnderOneScoring, ExclusionChoice, Normalize]]:
        return [(s, e, n) for s in self.scorings for e in self.space.excluding for n in self.space.normalize]

    def run(self, number: int) -> bytes:
        """Compute all universes of a branch."""
        ratings, excluding, normalize = self.order[number]
        return compute_branch_claims(ratings, self.space, excluding, normalize, self.systems).to_bytes()


def _finish(
    inputs: RecipeInput, base: Ranking, missing: Sequence[InapplicableUniverses], parts: Sequence[bytes]
) -> MultiverseView:
    return _view(inputs, base, [MultiverseBranchClaims.from_bytes(part) for part in parts], missing)


def _view(
    inputs: RecipeInput,
    base: Ranking,
    branches: Sequence[MultiverseBranchClaims],
    unasked: Sequence[InapplicableUniverses],
) -> MultiverseView:
    systems = [row.system for row in base.systems]
    claims = compute_claim_shares(branches, tuple(inputs.rows.labels.systems) if branches else ())
    missing = [*unasked, *claims.missing]
    return MultiverseView(
        campaigns=inputs.data_version_by_campaign,
        data_hash=inputs.data_hash,
        basis=inputs.snapshot.campaign.basis,
        warnings=_warnings(base, claims.n),
        recipe=base.recipe.name,
        recipe_hash=inputs.hash_requested_recipe(base.recipe),
        seed=base.recipe.seed,
        alpha=base.recipe.alpha,
        systems=systems,
        n=claims.n,
        pairs=_pairs(systems, base, claims.pairs),
        choices=[
            AnalysisChoiceClaimsView(dimension=c.dimension, choice=c.choice, n=c.n, claimed=c.claimed)
            for c in claims.choices
        ],
        missing=[InapplicableUniversesView(choices=dict(m.choices), n=m.n, reason=m.reason) for m in missing],
    )


def _warnings(base: Ranking, n: int) -> list[str]:
    if not base.systems:
        return list(base.warnings)
    if len(base.systems) == 1:
        return ["only one system is ranked, so there are no pairs to compare; rank at least two"]
    if not n:
        return ["no analysis applies to these data; allow other choices"]
    return [
        (
            "a share of analyses is not a probability: it shows how much a claim depends on analysis choices, not on "
            "the data; for the latter, read its p-value"
        )
    ]


def _pairs(systems: Sequence[str], base: Ranking, pair_shares: Sequence[PairClaimShare]) -> list[PairClaimsView]:
    """Return the pairs in the order of the base ranking, each with the higher-ranked system first."""
    claimed = {
        frozenset((row.better, row.worse)): row.better if row.significant else row.worse
        for row in base.pairs
        if row.significant or row.significant_reverse
    }
    shared = {frozenset((one.first, one.second)): one for one in pair_shares}
    return [
        _pair(shared[frozenset(pair)], pair, claimed.get(frozenset(pair)))
        for pair in combinations(systems, 2)
        if frozenset(pair) in shared
    ]


def _pair(share: PairClaimShare, pair: tuple[str, str], base: str | None) -> PairClaimsView:
    better, ahead = (share.first_better, share.second_better), (share.first_ahead, share.second_ahead)
    if share.first != pair[0]:
        better, ahead = better[::-1], ahead[::-1]
    return PairClaimsView(
        first=pair[0],
        second=pair[1],
        base=base,
        n=share.n,
        first_better=better[0],
        second_better=better[1],
        untested=share.untested,
        first_ahead=ahead[0],
        second_ahead=ahead[1],
        kind=share.kind,
        hangs_on=share.hangs_on,
        spread=share.spread,
    )


EXAMPLE: dict[str, Any] = {
    "campaigns": {"ted-ende": 7},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "recipe": "recommended",
    "recipe_hash": "sha256:" + "5e" * 32,
    "seed": 20261120,
    "alpha": 0.05,
    "systems": ["ref", "Facebook-AI"],
    "n": 516,
    "pairs": [
        {
            "first": "ref",
            "second": "Facebook-AI",
            "base": None,
            "n": 430,
            "first_better": 0.31,
            "second_better": 0.0,
            "untested": 86,
            "first_ahead": 1.0,
            "second_ahead": 0.0,
            "kind": "depends",
            "hangs_on": "test",
            "spread": 0.8,
        }
    ],
    "choices": [{"dimension": "test", "choice": "permutation:document", "n": 48, "claimed": 0.2}],
    "missing": [
        {
            "choices": {"adjust": "maxT", "test": "rank_sum:segment"},
            "n": 12,
            "reason": "maxT is the joint permutation of all pairs: it needs test=permutation",
        }
    ],
}
REPORT: Report[MultiverseOptions, MultiverseView] = Report(
    name="multiverse",
    title="Multiverse analysis",
    summary="Share of analyses (scoring, normalization, test, correction, exclusion) in which each claim holds.",
    options=MultiverseOptions,
    result=MultiverseView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_claim_matrix, "choices": plot_claim_shares_by_choice},
    caption=make_caption,
    long=True,
)
