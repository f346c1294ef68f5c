"""Blocks of documents put together are the campaign: a million judgments, from sums and all at once."""

from __future__ import annotations

import json
import math
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.recipe import NAMED
from app.reports.inputs.ratings_file_totals import SummableRatingsFile
from app.stats.ranking.rank_from_sums import can_rank_from_sums, drop_recipe_choices_needing_rows, rank_from_sums
from app.stats.ranking.ranking import rank_systems
from app.stats.rating_metadata import DocumentTable
from app.storage.rating_codes import RatingsMetadata
from app.storage.ratings_files import reading
from app.storage.ratings_files.reading import RatingsFile
from benchmarks.large import write_made_up_file

FRAME = RatingsMetadata(higher_is_better=True, scale=None, criterion=None, documents_known=True)


def numbers(value: Any, path: str = "") -> dict[str, float]:
    """All numbers of a report by their places."""
    if isinstance(value, dict):
        return {k: v for name, part in value.items() for k, v in numbers(part, f"{path}/{name}").items()}
    if isinstance(value, list):
        return {k: v for i, part in enumerate(value) for k, v in numbers(part, f"{path}/{i}").items()}
    return {path: value} if isinstance(value, int | float) else {}


def largest_difference(folder: Path, monkeypatch: pytest.MonkeyPatch) -> float:
    """The largest relative difference of any number; that of one which is no number is infinite."""
    recipe = replace(NAMED["recommended"], standing=False)
    with closing(RatingsFile.open(folder, FRAME)) as file:
        n = len(file.labels.documents)
        documents = DocumentTable(
            tuple(f"domain {i % 4}" for i in range(n)), ("test",) * n, np.ones(n, np.int32), np.ones(n, np.int32)
        )
        summed = rank_from_sums(SummableRatingsFile(file, recipe), recipe, documents)
        monkeypatch.setattr(reading, "BLOCK_ROWS", 1 << 40)
        [rows] = SummableRatingsFile(file, recipe).iterate_ranking_input_blocks()
    held = rank_systems(rows, drop_recipe_choices_needing_rows(recipe), documents)
    one, other = (numbers(json.loads(json.dumps(ranking.as_json()))) for ranking in (summed, held))
    assert one.keys() == other.keys()
    assert summed.warnings == held.warnings
    return max(abs(value - other[path]) / max(abs(other[path]), 1e-9) for path, value in one.items())


@pytest.mark.parametrize(
    ("n", "block"), [(4_500, 700), pytest.param(1_000_035, 150_000, marks=pytest.mark.soak)], ids=["small", "million"]
)
def test_numbers_are_those_of_all_ratings_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, block: int
) -> None:
    assert write_made_up_file(tmp_path, n)["judgments"] == n
    monkeypatch.setattr(reading, "BLOCK_ROWS", block)
    difference = largest_difference(tmp_path, monkeypatch)
    assert math.isfinite(difference)
    assert difference < 1e-11


def test_which_recipes_need_only_sums() -> None:
    assert {name for name, recipe in NAMED.items() if can_rank_from_sums(recipe, documents_known=True)} == {
        "recommended",
        "srp-paper",
    }
    assert not can_rank_from_sums(NAMED["recommended"], documents_known=False)
