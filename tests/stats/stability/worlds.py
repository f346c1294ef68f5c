"""Data for the tests of stability: the public side-by-side MQM, and campaigns made up by a seed."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.stats.ratings import Ratings
from app.stats.scoring import PROFILES, sum_error_weights, weigh_error
from app.stats.stability.multiply_rated_documents import MultiplyRatedDocuments, extract_multiply_rated_documents

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared"
needs_public_data = [
    pytest.mark.golden,
    pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the public data are not beside the repository"),
]


@cache
def side_by_side() -> Ratings:
    """The side-by-side MQM of WMT23 en-de (Song et al. 2025), weights wmt24."""
    file = SHARED / "data" / "sxs_mqm2023_ende" / "ratings.tsv.gz"
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    header = lines[0].split("\t")
    weights: dict[tuple[str, str, int, str], list[float]] = defaultdict(list)
    errors: dict[tuple[str, str, int, str], int] = defaultdict(int)
    for line in lines[1:]:
        row = dict(zip(header, line.split("\t"), strict=False))
        key = (row["system"], row["doc"], int(row["docSegId"]), row["rater"])
        weights[key].append(weigh_error(PROFILES["wmt24"], row["severity"], row["category"])[0])
        errors[key] += row["severity"] in {"Major", "Minor"}
    return Ratings.from_columns(
        system=[k[0] for k in weights],
        document=[k[1] for k in weights],
        position=[k[2] for k in weights],
        rater=[k[3] for k in weights],
        score=[sum_error_weights(given) for given in weights.values()],
        n_errors=[errors[k] for k in weights],
        higher_is_better=False,
    )


@cache
def side_by_side_arrays() -> MultiplyRatedDocuments:
    return extract_multiply_rated_documents(side_by_side())


@cache
def expected(file: str) -> Any:
    return json.loads((SHARED / "expected" / file).read_text())


def made_up(
    seed: int,
    *,
    documents: int = 12,
    systems: int = 4,
    segments: int = 3,
    pools: tuple[tuple[int, ...], ...] = ((0, 1, 2), (2, 3, 4)),
    spread: float = 1.0,
) -> Ratings:
    """Penalties of systems that differ, by raters who differ; documents go round the pools."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {name: [] for name in ("system", "document", "position", "rater", "score", "n_errors")}
    severity = 0.5 + rng.random(1 + max(map(max, pools)))
    for d in range(documents):
        for g in range(int(rng.integers(1, segments + 1))):
            for s in range(systems):
                for r in pools[d % len(pools)]:
                    n = int(rng.poisson((0.5 + spread * s) * severity[r]))
                    found = (f"s{s}", f"d{d:03}", g + 1, f"r{r}", float(n + 4 * rng.binomial(n, 0.2)), n)
                    for column, value in zip(rows.values(), found, strict=True):
                        column.append(value)
    return Ratings.from_columns(**rows, higher_is_better=False)


def as_mqm(ratings: Ratings) -> bytes:
    """Made-up ratings as a file of MQM: a minor error for each point of a score up to 4, a major one for each 5."""
    names = ratings.labels
    lines = ["system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"]
    for row in range(len(ratings)):
        segment, score = ratings.segment[row], round(float(ratings.score[row]))
        system, document = names.systems[ratings.system[row]], names.documents[ratings.document[row]]
        head = [system, document, str(names.segment_position[segment]), str(segment + 1)]
        head += [names.raters[ratings.rater[row]], f"Source {segment}.", f"Target {segment} of {system}."]
        marked = ["Major"] * (score // 5) + ["Minor"] * (score % 5)
        for severity in marked or ["No-error"]:
            category = "No-error" if severity == "No-error" else "Accuracy/Mistranslation"
            lines.append("\t".join([*head, category, severity, ""]))
    return ("\n".join(lines) + "\n").encode()
