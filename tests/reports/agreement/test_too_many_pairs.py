"""Reports on more pairs of ratings than are held in memory: they leave statistics by pair out, and say so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from app.domain.errors import AppError
from app.reports import registry
from app.reports.kit import request, store
from app.reports.kit.report import Report
from app.stats.agreement import pairs
from app.storage import embedded
from tests.services.data.test_imports import DA
from tests.spine import Spine, fresh

QUICK = {"bootstrap": "20", "studies": "20", "draws": "10", "permutations": "100", "swaps": "10", "same": "A,B"}
OF_PAIRS, OF_UNITS = "too many pairs of ratings", "too many shared units"
BY_PAIR: Mapping[str, str] = MappingProxyType(
    {
        "campaign/agreement": OF_PAIRS,
        "campaign/protocols": OF_PAIRS,
        "campaigns/agreement": OF_UNITS,
        "campaigns/protocols": OF_PAIRS,
    }
)
"""Reports with statistics by pair of raters or campaigns, and what their warnings say of those that are missing."""


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        for campaign in ("da", "da2"):
            found.take(campaign, "wmt-da", DA.encode())
        yield found


def computed(spine: Spine, kind: Report[Any, Any]) -> dict[str, Any] | None:
    """The report on campaigns of direct assessments; None if it does not fit them."""
    campaigns = ("da",) if kind.over == "campaign" else ("da", "da2")
    query = {name: value for name, value in QUICK.items() if name in kind.options.model_fields}
    try:
        question = request.parse_report_options(kind, query)
        asking = request.ReportRequest(kind, campaigns, question)
        return json.loads(store.find_or_compute_report(spine.database, asking).body)
    except AppError:
        return None


@pytest.mark.parametrize("name", registry.ALL)
def test_too_many_pairs_end_no_report(name: str, spine: Spine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MOST_PAIRS", 1)
    answer = computed(spine, registry.ALL[name])
    if name in BY_PAIR:
        assert answer is not None
        assert [one for one in answer["warnings"] if BY_PAIR[name] in one]
