"""Stored ranking reports for tests of what shows them: factories as fixtures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import pytest

from app.stats.ranking.result import METHOD_VERSION
from tests.patience import patience as patience  # a fixture

Report = dict[str, object]


def _system(key: str, rank: int, **other: object) -> Report:
    """One ranked system with an interval and a relative interval."""
    score = 0.5 + 0.61803 * rank
    base: Report = {
        "system": key,
        "kind": "mt",
        "rank": rank,
        "cluster": 1 + (rank > 2),
        "rank_range": [rank, rank + 1],
        "rank_set": None,
        "score": score,
        "raw": score,
        "interval": [score - 0.25, score + 0.25],
        "relative": score - 1.5,
        "relative_interval": [score - 1.6, score - 1.4],
        "n_segments": 1529,
        "n_documents": 12,
        "n_ratings": 1529,
        "wins": 1,
        "losses": rank - 1,
    }
    return base | other


def _pair(better: str, worse: str, **other: object) -> Report:
    """One pair, tested and significant."""
    base: Report = {
        "better": better,
        "worse": worse,
        "difference": 0.61803,
        "interval": [-0.1, 1.3],
        "p_value": 0.00002,
        "p_reverse": None,
        "p_adjusted": 0.012345,
        "significant": True,
        "significant_reverse": False,
        "testable": True,
        "order_conflict": False,
        "minimum_detectable": 0.4,
        "n_common": 1529,
        "documents_common": 12,
        "flips_without": None,
    }
    return base | other


def _report(
    systems: Sequence[Mapping[str, object]], pairs: Sequence[Mapping[str, object]] = (), **other: object
) -> bytes:
    """A whole report as it is stored."""
    base: Report = {
        "campaign": "test_campaign",
        "data_version": 7,
        "data_hash": "sha256:00",
        "method_version": METHOD_VERSION,
        "protocol": "mqm",
        "source_language": "en",
        "target_language": "de",
        "recipe": {
            "name": "recommended",
            "hash": "sha256:abc",
            "normalize": "none",
            "unit": "document",
            "test": "permutation",
            "alternative": "two-sided",
            "adjust": "holm",
            "alpha": 0.05,
            "inclusive": True,
            "clusters": "strict",
        },
        "seed": 11,
        "higher_is_better": False,
        "unit": "raw",
        "n_ratings": 4587,
        "interval_level": 0.95,
        "systems": list(systems),
        "pairs": list(pairs),
        "warnings": ["5 documents: p-values of a document-level test cannot go below 0.0625"],
        "notes": [],
    }
    return json.dumps(base | other).encode()


@pytest.fixture
def system() -> Callable[..., Report]:
    """system(name, rank, **fields): one ranked system."""
    return _system


@pytest.fixture
def pair() -> Callable[..., Report]:
    """pair(better, worse, **fields): one tested pair."""
    return _pair


@pytest.fixture
def report() -> Callable[..., bytes]:
    """report(systems, pairs, **fields): a stored ranking."""
    return _report
