"""Campaigns linked by a calibration set and by common outputs, through the database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.reports.kit import request, store
from app.reports.linking import report as linking
from app.reports.linking.view import ScaleLinkingView
from app.storage import embedded
from tests.reports.languages import World, lines
from tests.reports.protocols.test_report import as_da
from tests.spine import Spine, fresh

SPRING = World("hi", 3.0, 0.0)


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("spring", "jsonl", lines(SPRING))
        found.take("autumn", "jsonl", lines(replace(SPRING, lenient=0.6), seed=8))
        found.take("other", "jsonl", lines(SPRING, seed=9, set_key="others", pairs=10))
        yield found


def linked(spine: Spine, *campaigns: str, **query: str) -> ScaleLinkingView:
    question = request.parse_report_options(linking.REPORT, {"bootstrap": "200", **query})
    return ScaleLinkingView.model_validate(
        json.loads(
            store.find_or_compute_report(
                spine.database, request.ReportRequest(linking.REPORT, campaigns, question)
            ).body
        )
    )


def test_the_planted_difference_of_raters_is_taken_out_with_its_error(spine: Spine) -> None:
    view = linked(spine, "spring", "autumn")
    (one,) = view.links
    assert (one.anchors, one.n, one.comparable) == ("calibration", 100, True)
    assert one.intercept == pytest.approx(-0.6, abs=0.15)
    (machine,) = [s for s in view.systems if (s.campaign, s.system) == ("autumn", "mt")]
    (before,) = [s for s in view.systems if (s.campaign, s.system) == ("spring", "mt")]
    assert machine.linked == pytest.approx(machine.raw + (one.intercept or 0))
    assert abs((machine.linked or 0) - (before.linked or 0)) < abs(machine.raw - before.raw)
    assert machine.link_error is not None
    assert 0 < machine.link_error < 0.1
    assert before.link_error == 0.0
    assert machine.interval is not None
    assert before.interval is not None


def test_outputs_in_both_campaigns_are_anchors_where_no_set_is_shared(spine: Spine) -> None:
    view = linked(spine, "spring", "other")
    assert (view.links[0].anchors, view.links[0].n) == ("common", 160)


def test_anchors_whose_sources_differ_are_left_out_and_counted(spine: Spine) -> None:
    told = lines(replace(SPRING, lenient=0.6), seed=8).replace(b'"source": "Anchor 7."', b'"source": "Another 7."')
    spine.take("changed", "jsonl", told)
    view = linked(spine, "spring", "changed")
    assert view.links[0].n == 99
    assert view.dropped == [
        {"reason": "anchor whose source differs from that in spring", "n": 1, "campaign": "changed"}
    ]


def test_a_mean_alone_is_moved_between_scales_with_a_warning(spine: Spine) -> None:
    spine.take("da", "jsonl", as_da(lines(SPRING)))
    told = "da is on another scale, and a link by the mean does not adjust its spread; use method=mean_sigma"
    assert told in linked(spine, "spring", "da").warnings
    assert told not in linked(spine, "spring", "da", method="mean_sigma").warnings
    assert not any("another scale" in one for one in linked(spine, "spring", "autumn").warnings)


def test_no_shared_item_is_not_comparable_and_says_so(spine: Spine) -> None:
    view = linked(spine, "spring", "other", anchors="calibration")
    assert not view.links[0].comparable
    assert any("no item is judged in both" in one for one in view.warnings)
    assert [s.linked for s in view.systems if s.campaign == "other"] == [None, None]
    assert b"not comparable" in linking.REPORT.charts["default"](view)
    assert len(linking.REPORT.csv(view)[1]) == 4
