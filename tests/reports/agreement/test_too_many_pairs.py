"""Reports on more pairs of ratings than are held in memory: they leave statistics by pair out, and say so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest

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


OF_MQM = {"campaign/mqm2"}
"""Reports on other campaigns than those here."""


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        for campaign in ("da", "da2"):
            found.take(campaign, "wmt-da", DA.encode())
        found.take("standardised", "wmt-da", DA.encode(), options={"scale": "z"})
        yield found


def computed(spine: Spine, kind: Report[Any, Any], other: str = "da2", seed: str = "1") -> dict[str, Any]:
    """The report on a campaign of direct assessments, or on two."""
    campaigns = ("da",) if kind.over == "campaign" else ("da", other)
    query = {name: value for name, value in {**QUICK, "seed": seed}.items() if name in kind.options.model_fields}
    question = request.parse_report_options(kind, query)
    asking = request.ReportRequest(kind, campaigns, question)
    view: dict[str, Any] = json.loads(store.find_or_compute_report(spine.database, asking).body)
    return view


@pytest.mark.parametrize("name", [name for name in registry.ALL if name not in OF_MQM])
def test_too_many_pairs_end_no_report(name: str, spine: Spine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MOST_PAIRS", 1)
    answer = computed(spine, registry.ALL[name])
    if name in BY_PAIR:
        assert [one for one in answer["warnings"] if BY_PAIR[name] in one]


def test_of_translations_under_two_names_the_raters_of_each_are_left_out(
    spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = registry.ALL["campaign/agreement"]
    before = {line["what"] for line in computed(spine, kind, seed="3")["own"]}
    monkeypatch.setattr(pairs, "MOST_PAIRS", 1)
    after = {line["what"] for line in computed(spine, kind, seed="2")["own"]}
    assert before - after == {"same_output_other_rater"}


def test_campaigns_on_different_scales_are_compared_without_pairs(
    spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = registry.ALL["campaigns/agreement"]
    assert computed(spine, kind, "standardised", seed="3")["statistics"]
    monkeypatch.setattr(pairs, "MOST_PAIRS", 1)
    answer = computed(spine, kind, "standardised", seed="2")
    assert (answer["statistics"], answer["pairs"]) == ([], [])
    assert [one for one in answer["warnings"] if OF_UNITS in one]
