"""The universes of one branch: scores are normalized once, each test runs once, and each adjustment reuses it."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.errors import Invalid
from app.domain.recipe import STRATIFIED_TESTS, Normalize, Recipe
from app.stats.aggregate import ScoreMatrix, round_scores
from app.stats.multiverse.space import ExclusionChoice, MultiverseSpace, TestAndUnit
from app.stats.ranking import design_checks
from app.stats.ratings import Codes, Ratings
from app.stats.robustness.reranking import make_score_matrix_in_ranking_order
from app.stats.testing.common_segments import (
    CommonSegmentsByPair,
    list_all_system_pairs,
    reduce_pairs_to_common_segments,
)
from app.stats.testing.pair_tests import PAIRED_TESTS, PairTestResults, run_pair_tests
from app.stats.testing.wins import decide_wins

Marks = npt.NDArray[np.int8]
UNTESTED: np.int8 = np.int8(2)
ABSENT: np.int8 = np.int8(3)


@dataclass(frozen=True, slots=True)
class InapplicableUniverses:
    """Universes that do not apply. choices: the choices that rule them out, by dimension. n: number of universes."""

    choices: Mapping[str, str]
    n: int
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class MultiverseBranchClaims:
    """Claims of the universes with the same scoring, exclusion and normalization.

    universes: (test, adjustment) of each of the U universes. claims: for all pairs of systems in the order of their
    keys, shape (U, P); 1 if the first is significantly better, −1 if the second is, 0 if neither, `UNTESTED`, or
    `ABSENT` if a system is not ranked. ahead: the system with the better score, coded the same way, shape (P,).
    """

    scoring: str
    exclusion: str
    normalize: str
    universes: tuple[tuple[str, str], ...]
    claims: Marks
    ahead: Marks
    missing: tuple[InapplicableUniverses, ...]

    def to_bytes(self) -> bytes:
        """Serialize the branch; equal branches give equal bytes."""
        head = {
            "of": [self.scoring, self.exclusion, self.normalize],
            "universes": self.universes,
            "missing": [[dict(one.choices), one.n, one.reason] for one in self.missing],
        }
        out = io.BytesIO()
        for array in (np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), self.claims, self.ahead):
            np.save(out, array, allow_pickle=False)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, body: bytes) -> MultiverseBranchClaims:
        """Read what `to_bytes` wrote."""
        buffer = io.BytesIO(body)
        text, claims, ahead = (np.load(buffer, allow_pickle=False) for _ in range(3))
        head = json.loads(text.tobytes())
        universes = tuple((test, adjust) for test, adjust in head["universes"])
        missing = tuple(InapplicableUniverses(choices, n, reason) for choices, n, reason in head["missing"])
        scoring, exclusion, normalize = head["of"]
        return cls(scoring, exclusion, normalize, universes, claims, ahead, missing)


@dataclass(frozen=True, slots=True)
class RatingsUnderOneScoring:
    """Ratings under one scoring. domains: code of each document label, None if unknown."""

    name: str
    rows: Ratings
    domains: Codes | None


def compute_branch_claims(
    scored: RatingsUnderOneScoring,
    space: MultiverseSpace,
    excluding: ExclusionChoice,
    normalize: Normalize,
    systems: Sequence[str],
) -> MultiverseBranchClaims:
    """Compute every universe of a branch; universes that do not apply are listed with the reason.

    Parameters
    ----------
    systems : keys of all systems in sorted order; the result covers all their pairs.
    """
    choices = {"scoring": scored.name, "exclusion": excluding.name, "normalize": normalize}
    recipe = space.make_branch_recipe(excluding, normalize)
    matrix = _matrix_or_reason(scored, recipe)
    if isinstance(matrix, str):
        n_pairs = len(systems) * (len(systems) - 1) // 2
        claims, ahead = np.zeros((0, n_pairs), dtype=np.int8), np.full(n_pairs, ABSENT)
        why = InapplicableUniverses(choices, space.universes_per_branch, matrix)
        return MultiverseBranchClaims(scored.name, excluding.name, normalize, (), claims, ahead, (why,))
    universes, claims, ahead, missing = _Universes(scored, space, recipe, matrix, systems).all(choices)
    return MultiverseBranchClaims(scored.name, excluding.name, normalize, universes, claims, ahead, missing)


def _matrix_or_reason(scored: RatingsUnderOneScoring, recipe: Recipe) -> ScoreMatrix | str:
    """Return system × segment scores, or the reason why the recipe cannot be applied to the scores."""
    try:
        matrix = make_score_matrix_in_ranking_order(scored.rows, recipe, scored.domains)
    except Invalid as error:
        return error.detail or error.title()
    return matrix if len(matrix.systems) > 1 else "fewer than two systems have a score"


class _Universes:
    """The tests and adjustments of one branch."""

    def __init__(
        self,
        scored: RatingsUnderOneScoring,
        space: MultiverseSpace,
        recipe: Recipe,
        matrix: ScoreMatrix,
        systems: Sequence[str],
    ) -> None:
        self.rows, self.domains, self.space, self.recipe, self.laid = (
            scored.rows,
            scored.domains,
            space,
            recipe,
            matrix,
        )
        self.sign = scored.rows.better_sign
        self.place, self.turned = _pairs_among(scored.rows, matrix, systems)
        self.n_pairs = len(systems) * (len(systems) - 1) // 2
        self.shared: dict[str, CommonSegmentsByPair] = {}

    def all(
        self, choices: Mapping[str, str]
    ) -> tuple[tuple[tuple[str, str], ...], Marks, Marks, tuple[InapplicableUniverses, ...]]:
        """Return the universes, their claims, the systems ahead, and the universes that do not apply."""
        universes, claims, missing = list[tuple[str, str]](), list[Marks](), list[InapplicableUniverses]()
        for test in self.space.tests:
            tests = self._test(test)
            if isinstance(tests, str):
                missing.append(InapplicableUniverses({**choices, "test": test.name}, len(self.space.adjust), tests))
                continue
            for adjust in self.space.adjust:
                if adjust == "maxT" and test.test != "permutation":
                    why = "maxT is the joint permutation of all pairs: it needs test=permutation"
                    missing.append(InapplicableUniverses({**choices, "test": test.name, "adjust": adjust}, 1, why))
                    continue
                recipe = self.space.make_universe_recipe(self.recipe, test, adjust, self.place.size)
                wins = decide_wins(tests, self.laid, self.shared[test.unit], recipe, self.sign).wins
                universes.append((test.name, adjust))
                claims.append(self._marks(wins, tests))
        stacked = np.stack(claims) if claims else np.zeros((0, self.n_pairs), dtype=np.int8)
        return tuple(universes), stacked, self._mark_leaders(), tuple(missing)

    def _test(self, test: TestAndUnit) -> PairTestResults | str:
        """Test all pairs; return the reason if that is impossible."""
        if test.unit == "document" and not self.rows.documents_known:
            return "documents are unknown"
        if test.test in PAIRED_TESTS and design_checks.has_no_common_segments(self.laid):
            return "unpaired design: no two systems share a segment"
        if test.test in STRATIFIED_TESTS and self.domains is None:
            return "the domains of the documents are unknown"
        if test.unit not in self.shared:
            self.shared[test.unit] = reduce_pairs_to_common_segments(self.laid, self.sign, unit=test.unit)
        recipe = self.space.make_universe_recipe(self.recipe, test, "none", self.place.size)
        tests = run_pair_tests(self.laid, self.shared[test.unit], recipe, self.sign)
        return tests if tests.testable.any() else "no pair has enough data for this test"

    def _marks(self, wins: npt.NDArray[np.bool_], tests: PairTestResults) -> Marks:
        first, second = list_all_system_pairs(len(self.laid.systems))
        marks = wins[first, second].astype(np.int8) - wins[second, first].astype(np.int8)
        return self._spread_to_all_pairs(np.where(tests.testable, self.turned * marks, UNTESTED).astype(np.int8))

    def _mark_leaders(self) -> Marks:
        first, second = list_all_system_pairs(len(self.laid.systems))
        scores = self.sign * round_scores(self.laid.system_means())
        return self._spread_to_all_pairs((self.turned * np.sign(scores[first] - scores[second])).astype(np.int8))

    def _spread_to_all_pairs(self, marks: Marks) -> Marks:
        everything = np.full(self.n_pairs, ABSENT)
        everything[self.place] = marks
        return everything


def _pairs_among(rows: Ratings, matrix: ScoreMatrix, systems: Sequence[str]) -> tuple[npt.NDArray[np.intp], Marks]:
    """Position of each pair of a matrix among the pairs of all systems, and its sign: −1 if it is reversed, else 1."""
    at = {key: i for i, key in enumerate(systems)}
    own = np.array([at[rows.labels.systems[code]] for code in matrix.systems], dtype=np.intp)
    first, second = list_all_system_pairs(own.size)
    low, high = np.minimum(own[first], own[second]), np.maximum(own[first], own[second])
    place = low * len(systems) - low * (low + 1) // 2 + high - low - 1
    return place, np.where(own[first] < own[second], 1, -1).astype(np.int8)
