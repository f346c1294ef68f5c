"""Error Span Annotation campaigns on WMT23 en-de: system means, signed-rank p-values, wins and chains.

Source: expected/esa_rankings.json, computed on the annotations of the ErrorSpanAnnotation repository (target rows that
are not filler duplicates; the latest of a (system, line, account) counts).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from functools import cache
from pathlib import Path

import pytest

from app.domain.recipe import NAMED, apply_query_options_to_recipe
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.ratings import Ratings

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
PROTOCOLS = ["ESA-1", "ESA-2", "ESAAI-1", "ESAAI-2"]
OPTIONS = (
    "normalize=none&aggregate=mean&test=signed_rank&unit=segment&alternative=two-sided&zero_method=wilcox"
    "&correction=false&method=asymptotic&adjust=none&clusters=wmt24"
)
RECIPE = apply_query_options_to_recipe(
    NAMED["wmt24-esa"],
    {name: [value] for name, value in (option.split("=") for option in OPTIONS.split("&"))},
)

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the public data are not beside the repository"),
]


@cache
def latest() -> dict[str, dict[tuple[str, str, str], dict[str, str]]]:
    """By protocol, the rows that count by (system, line, account)."""
    text = gzip.decompress((SHARED / "data" / "esa_wmt23_ende" / "annotations.tsv.gz").read_bytes()).decode()
    kept: dict[str, dict[tuple[str, str, str], dict[str, str]]] = {}
    for row in csv.DictReader(io.StringIO(text, newline="\n"), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["item_type"] != "TGT" or row["duplicate"] not in {"", "0", "False"}:
            continue
        rows = kept.setdefault(row["protocol"], {})
        key = (row["system"], row["line"], row["login"])
        if key not in rows or float(row["t_end"]) > float(rows[key]["t_end"]):
            rows[key] = row
    return kept


def ratings(protocol: str) -> Ratings:
    rows = list(latest()[protocol].values())
    return Ratings.from_columns(
        system=[row["system"] for row in rows],
        document=[row["doc"] for row in rows],
        position=[int(row["line"]) + 1 for row in rows],
        rater=[row["login"] for row in rows],
        score=[float(row["score"]) for row in rows],
        higher_is_better=True,
    )


@cache
def ranking(protocol: str) -> Ranking:
    return rank_systems(ratings(protocol), RECIPE)


def expected(protocol: str) -> dict[str, object]:
    return json.loads((SHARED / "expected" / "esa_rankings.json").read_text())[f"wmt23 en-de {protocol}"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_means_wins_ranges_and_chains_are_met(protocol: str) -> None:
    rows = ranking(protocol).systems
    theirs = expected(protocol)["ranking"]
    assert [row.system for row in rows] == [their["system"] for their in theirs]
    for row, their in zip(rows, theirs, strict=True):
        assert row.score == pytest.approx(their["mean"], abs=1e-9)
        assert (row.n_segments, row.wins, row.losses) == (their["n"], their["wins"], their["losses"])
        assert (list(row.rank_range), row.cluster) == (their["rank_range"], their["cluster"])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_signed_rank_p_values_are_met(protocol: str) -> None:
    theirs = expected(protocol)["wilcoxon_two_sided_p"]
    pairs = ranking(protocol).pairs
    assert len(pairs) == len(theirs)
    for pair in pairs:
        assert pair.p_value == pytest.approx(theirs[f"{pair.better} | {pair.worse}"], rel=1e-9)


def test_no_other_test_or_weight_is_left_of_the_recipe_that_the_options_start_from() -> None:
    assert (RECIPE.test, RECIPE.aggregate, RECIPE.normalize, RECIPE.fallback) == ("signed_rank", "mean", "none", False)
