"""Ratings with known variance components."""

from __future__ import annotations

import gzip
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from app.stats.components.observations import ModelObservations, make_model_observations
from app.stats.components.terms import TERMS, encode_term_levels
from app.stats.ratings import Floats, Ratings
from app.stats.scoring import PROFILES, sum_error_weights, weigh_error

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared"
needs_public_data = [
    pytest.mark.golden,
    pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the public data are not beside the repository"),
]


@cache
def side_by_side() -> Ratings:
    """The side-by-side MQM of WMT23 en-de (Song et al. 2025), weights wmt24."""
    lines = (
        gzip.decompress((SHARED / "data" / "sxs_mqm2023_ende" / "ratings.tsv.gz").read_bytes()).decode().splitlines()
    )
    header = lines[0].split("\t")
    marked: dict[tuple[str, str, int, str], list[float]] = defaultdict(list)
    for line in lines[1:]:
        row = dict(zip(header, line.split("\t"), strict=False))
        key = (row["system"], row["doc"], int(row["docSegId"]), row["rater"])
        marked[key].append(weigh_error(PROFILES["wmt24"], row["severity"], row["category"])[0])
    systems, documents, positions, raters = zip(*marked, strict=True)
    return Ratings.from_columns(
        system=systems,
        document=documents,
        position=positions,
        rater=raters,
        score=[sum_error_weights(weights) for weights in marked.values()],
        higher_is_better=False,
    )


def crossed(
    seed: int,
    *,
    documents: int = 6,
    systems: int = 3,
    raters: int = 4,
    ratings: int = 2,
    segments: int = 3,
    missing: float = 0.0,
    variance: dict[str, float] | None = None,
) -> Ratings:
    """Every document by `ratings` raters for all systems, some ratings missing at random; systems are 1 apart.

    variance: of each term; 1 for the residual where it is not named.
    """
    rng = np.random.default_rng(seed)
    columns: list[tuple[int, int, int, int]] = []
    for d in range(documents):
        who = rng.choice(raters, ratings, replace=False)
        for g in range(int(rng.integers(1, segments + 1))):
            columns += [(s, d, g + 1, int(r)) for s in range(systems) for r in who if rng.random() >= missing]
    s, d, g, r = map(list, zip(*columns, strict=True))
    plain = Ratings.from_columns(
        system=[f"s{i:02}" for i in s],
        document=[f"d{i:03}" for i in d],
        position=g,
        rater=[f"r{i:02}" for i in r],
        score=np.zeros(len(s)),
        higher_is_better=True,
    )
    return plain.with_scores(plain.system + drawn(rng, plain, variance or {}))


def drawn(rng: np.random.Generator, ratings: Ratings, variance: dict[str, float]) -> Floats:
    """Random effects of every row, in the order of the ratings."""
    rows = make_model_observations(ratings)
    place = np.lexsort((ratings.rater, ratings.system, ratings.segment, ratings.document))
    found = rng.normal(0, np.sqrt(variance.get("residual", 1.0)), len(ratings))
    for term in TERMS:
        level = encode_term_levels(rows, term)
        found[place] += rng.normal(0, np.sqrt(variance.get(term, 0.0)), int(level.max()) + 1)[level]
    return found


def laid(seed: int, missing: float = 0.2) -> ModelObservations:
    return make_model_observations(
        crossed(seed, missing=missing, variance={"rater": 1.0, "segment": 0.5, "doc_system": 0.3})
    )
