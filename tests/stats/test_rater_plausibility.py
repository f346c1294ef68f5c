"""Plausibility of raters, against loops as the published script has them."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from app.domain.recipe import NAMED
from app.stats.ranking.ranking import rank_systems
from app.stats.rater_plausibility import compute_rater_plausibility
from app.stats.ratings import Ratings
from app.stats.selection import select_rows_by_recipe

SYSTEMS = "ABCD"


def campaign(seed: int, *, documents: int = 8, upside_down: str = "") -> Ratings:
    """Four systems ten points apart on harder and easier documents, of which each rater sees two in three.

    upside_down: a rater who turns the scale round.
    """
    rng = np.random.default_rng(seed)
    rows = [
        (system, f"d{d}", p, f"r{r}", level if f"r{r}" != upside_down else 100 - level)
        for d, p, r in itertools.product(range(documents), (1, 2), range(4))
        if (d + r) % 3
        for s, system in enumerate(SYSTEMS)
        if s != (d + r) % 5
        for level in [float(np.clip(round(90 - 10 * s - 5 * (d % 8) + 3 * rng.normal()), 0, 100))]
    ]
    names = ("system", "document", "position", "rater", "score")
    return Ratings.from_columns(
        **dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), higher_is_better=True
    )


def by_loops(ratings: Ratings) -> dict[str, float]:
    """Of each rater of three documents or more, as `02a-filter_data.py` computes it, without its bounds on floats."""
    of_system: dict[int, list[float]] = defaultdict(list)
    lines: dict[int, dict[int, dict[int, list[tuple[int, float]]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in range(len(ratings)):
        system, rater = int(ratings.system[row]), int(ratings.rater[row])
        of_system[system].append(float(ratings.score[row]))
        lines[rater][int(ratings.document[row])][int(ratings.segment[row])].append((system, float(ratings.score[row])))
    found = {}
    for rater, documents in lines.items():
        shares = []
        for segments in documents.values():
            for outputs in segments.values():
                for (one, a), (other, b) in itertools.combinations(outputs, 2):
                    if min(len(of_system[one]), len(of_system[other])) <= 10:
                        continue
                    mean = statistics.mean(of_system[one]) - statistics.mean(of_system[other])
                    spread = statistics.variance(of_system[one]) + statistics.variance(of_system[other])
                    shares.append(2 ** -((a - b - mean) ** 2 / (2 * spread + 1e-6)))
        if len(documents) >= 3 and shares:
            found[ratings.labels.raters[rater]] = statistics.mean(shares)
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("documents", [2, 4, 8])
def test_it_is_what_the_published_loops_say(seed: int, documents: int) -> None:
    ratings = campaign(seed, documents=documents, upside_down="r2")

    plausibility = compute_rater_plausibility(ratings)

    found = {key: share for key, share in zip(ratings.labels.raters, plausibility, strict=True) if np.isfinite(share)}
    assert found == pytest.approx(by_loops(ratings))


def test_a_rater_who_turns_the_scale_round_is_dropped_by_wmt26_alone() -> None:
    ratings = campaign(1, upside_down="r2")
    recipe = NAMED["wmt26"]

    plausibility = compute_rater_plausibility(ratings)
    selection = select_rows_by_recipe(ratings, recipe)
    ranking = rank_systems(ratings, recipe)

    assert [key for key, p in zip(ratings.labels.raters, plausibility, strict=True) if p < 0.75] == ["r2"]
    dropped = ratings.rater == ratings.labels.raters.index("r2")
    assert selection.ranked.tolist() == (~dropped).tolist()
    assert [(one.reason, one.n) for one in ranking.dropped if one.n] == [("implausible rater", int(dropped.sum()))]
    kept = rank_systems(ratings, replace(recipe, implausible_raters="keep"))
    assert not any(one.n for one in kept.dropped)


def test_nobody_is_dropped_where_all_agree() -> None:
    assert select_rows_by_recipe(campaign(2), NAMED["wmt26"]).ranked.all()


def test_one_system_alone_says_nothing_of_raters() -> None:
    ratings = campaign(3)
    alone = ratings.where(ratings.system == 0).in_canonical_order()

    assert np.isnan(compute_rater_plausibility(alone)).all()


def test_a_digest_is_as_it_was_before_there_was_the_choice() -> None:
    plain = NAMED["recommended"]

    assert plain.hash != replace(plain, implausible_raters="drop").hash
    assert "implausible_raters" in plain.as_json()
    assert plain.hash == "sha256:b3451d00fc244c24fe1221f288bb74741087062cdb70e9db09c08b039d48cd1d"
