"""XSTS and DA on the same outputs by simulated raters: separation, agreement and one predicted from the other."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from app.domain.errors import Invalid
from app.reports.kit import request, store
from app.reports.protocols import report as protocols
from app.reports.protocols import single_campaign as protocols_of_a_campaign
from app.reports.protocols.view import ProtocolComparisonView
from app.storage import embedded
from tests.reports.languages import World, lines
from tests.spine import Spine, fresh

HINDI = World("hi", 3.0, 0.0)


def as_da(given: bytes) -> bytes:
    """The same judgments as direct assessments, which took 20 to 29 seconds each."""
    out = []
    for n, line in enumerate(given.split(b"\n")):
        one = json.loads(line)
        if one["type"] == "campaign":
            one["protocol"] = "da"
        if one["type"] == "judgment":
            one["payload"] = {"protocol": "da", "score": 20 * one["payload"]["score"] - 10}
            one["started_at"], one["submitted_at"] = "2026-11-20T09:00:00Z", f"2026-11-20T09:00:{20 + n % 10}Z"
        out.append(json.dumps(one).encode())
    return b"\n".join(out)


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("xsts", "jsonl", lines(HINDI))
        found.take("da", "jsonl", as_da(lines(HINDI)))
        yield found


def compared(spine: Spine, campaigns: tuple[str, ...] = ("xsts", "da"), **query: str) -> ProtocolComparisonView:
    question = request.parse_report_options(protocols.REPORT, {"bootstrap": "200", **query})
    asking = request.ReportRequest(protocols.REPORT, campaigns, question)
    return ProtocolComparisonView.model_validate(json.loads(store.find_or_compute_report(spine.database, asking).body))


def test_both_protocols_tell_the_human_translation_from_the_system(spine: Spine) -> None:
    view = compared(spine)
    xsts, da = view.protocols
    assert (xsts.separates, da.separates) == (True, True)
    assert (xsts.gaps[0].better, xsts.gaps[0].worse, xsts.gaps[0].n) == ("human", "mt", 80)
    assert da.gaps[0].gap == pytest.approx(20 * xsts.gaps[0].gap)
    assert da.separation == pytest.approx(xsts.separation)
    assert da.alpha == pytest.approx(xsts.alpha)
    assert (da.seconds, da.n_timed) == (pytest.approx(24.5, abs=0.3), 480)
    assert xsts.seconds is None
    assert any("xsts: no times" in one for one in view.warnings)


def test_one_campaign_is_told_by_itself_what_the_comparison_says_of_it(spine: Spine) -> None:
    kind = protocols_of_a_campaign.REPORT
    asking = request.ReportRequest(kind, ("xsts",), request.parse_report_options(kind, {"bootstrap": "200"}))
    alone = ProtocolComparisonView.model_validate(json.loads(store.find_or_compute_report(spine.database, asking).body))
    assert (alone.protocols, alone.bridges) == ([compared(spine).protocols[0]], [])
    assert alone.campaigns.keys() == {"xsts"}


def test_an_order_that_is_not_seen_fails(spine: Spine) -> None:
    view = compared(spine, order="mt,human")
    assert [one.separates for one in view.protocols] == [False, False]
    assert view.protocols[0].gaps[0].gap < 0


def test_the_same_judgments_in_other_units_predict_each_other(spine: Spine) -> None:
    for one in compared(spine).bridges:
        assert one.n == 160
        assert one.r_squared == pytest.approx(1, abs=0.02)
        assert one.curve == sorted(one.curve)


def test_the_picture_and_the_table_hold_every_gap(spine: Spine) -> None:
    view = compared(spine)
    assert protocols.REPORT.charts["default"](view).count(b"human &gt; mt") >= 2
    assert sum(row[0] == "gap" for row in protocols.REPORT.csv(view)[1]) == 2
    assert [one.title for one in protocols.REPORT.tables(view)] == [
        "Separation, agreement and cost",
        "Seconds",
        "Expected order of systems",
        "Prediction of one protocol from another",
    ]


def test_a_system_that_no_campaign_has_stands_in_no_order(spine: Spine) -> None:
    with pytest.raises(Invalid) as refused:
        compared(spine, order="mt,nobody")
    assert refused.value.places[0].msg == "none of these campaigns has a system 'nobody'"


def test_outputs_are_the_same_where_a_source_is_unknown_and_left_out_and_counted_where_it_differs(spine: Spine) -> None:
    for campaign, first in (("told", "One."), ("otherwise", "Another.")):
        spine.take(campaign, "jsonl", with_source(lines(HINDI), first))
    one = compared(spine, campaigns=("xsts", "told"))
    assert [bridge.n for bridge in one.bridges] == [160, 160]
    assert one.dropped == []
    other = compared(spine, campaigns=("told", "otherwise"))
    assert [bridge.n for bridge in other.bridges] == [158, 158]
    assert other.dropped == [
        {"reason": "output whose source differs from that in otherwise: not bridged", "n": 2, "campaign": "told"}
    ]


def with_source(given: bytes, first: str) -> bytes:
    """The same with a source of the first document."""
    head, campaign, *rest = given.split(b"\n")
    told = [
        {"type": "document", "key": "d000", "name": "d000"},
        {"type": "segment", "document": "d000", "position": 1, "source": first},
    ]
    systems = [line for line in rest if b'"type": "system"' in line]
    others = [line for line in rest if b'"type": "system"' not in line]
    return b"\n".join((head, campaign, *systems, *(json.dumps(one).encode() for one in told), *others))
