"""How the studies of a validation are divided into chunks: the larger the campaign, the fewer at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.jobs.job_steps import MOST_CHUNKS
from app.reports.validation import MOST_STUDIES, _Studies
from app.stats.validation.recipe_validator import WORLDS


@pytest.mark.parametrize(
    ("ratings", "size"), [(0, 20), (1_000_000, 20), (1_000_001, 19), (9_999_999, 2), (10_000_001, 2), (10**9, 2)]
)
def test_a_chunk_ranks_so_many_studies(ratings: int, size: int) -> None:
    validator: Any = SimpleNamespace(population=SimpleNamespace(rows=range(ratings)))
    studies = _Studies(validator, MOST_STUDIES, WORLDS)
    assert studies.studies_per_chunk == size
    assert studies.n_chunks == len(WORLDS) * -(-MOST_STUDIES // size) <= MOST_CHUNKS
