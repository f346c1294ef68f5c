"""Raters of a simulated campaign against a calibration set that it took in."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from app.domain.errors import Invalid
from app.reports.calibration import report as calibration
from app.reports.calibration.view import CalibrationView
from app.reports.kit import request, store
from app.reports.xsts import report as xsts
from app.storage import embedded
from tests.reports.languages import PLANTED, lines
from tests.spine import Spine, fresh


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("ka", "jsonl", lines(PLANTED[2]))
        rows = lines(PLANTED[0]).split(b"\n")
        kept = [row for row in rows if b"hi1" not in row or b"anchors" not in row]
        found.take("hi", "jsonl", b"\n".join(kept))
        nobody = [row for row in rows if b'"judgment"' not in row]
        found.take("nobody", "jsonl", b"\n".join(nobody))
        yield found


def report(spine: Spine, campaign: str, **query: str) -> CalibrationView:
    asking = request.ReportRequest(
        calibration.REPORT, (campaign,), request.parse_report_options(calibration.REPORT, query)
    )
    return CalibrationView.model_validate(json.loads(store.find_or_compute_report(spine.database, asking).body))


def test_the_leniency_that_was_planted_is_found(spine: Spine) -> None:
    view = report(spine, "ka")
    assert (view.items, view.agreed, view.n_items, view.warnings) == ("calibration", "set", 100, [])
    assert view.consensus == pytest.approx(3.0)
    for one in view.raters:
        assert one.lenient == pytest.approx(PLANTED[2].lenient, abs=0.2)
        assert one.interval is not None
        assert one.interval[0] < one.shift < one.interval[1] < 0
    (machine,) = [one for one in view.systems if one.system == "mt"]
    mean_shift = sum(one.shift for one in view.raters) / 3
    assert machine.shifted == pytest.approx(machine.raw + mean_shift)


def test_raters_without_calibration_items_are_listed_and_not_shifted(spine: Spine) -> None:
    view = report(spine, "hi")
    assert [one["rater"] for one in view.unknown] == ["hi1"]
    assert {one.rater for one in view.raters} == {"hi0", "hi2"}
    assert any("rater:hi1" in one for one in view.warnings)


@pytest.mark.parametrize("campaign", ["ka", "hi"])
def test_a_ranking_by_calibration_items_has_the_z_of_this_report(spine: Spine, campaign: str) -> None:
    ranking = spine.rank(campaign, "recommended", normalize="z", moments="calibration")
    view = report(spine, campaign)
    told = {row["system"]: row["score"] for row in ranking["systems"]}
    assert told == pytest.approx({one.system: one.z for one in view.systems})
    unknown = (
        "raters without calibration items, so treated as constant raters; let them judge the "
        "calibration items: rater:hi1"
    )
    assert (unknown in ranking["warnings"]) == (campaign == "hi")


def test_a_ranking_by_calibration_items_that_nobody_judged_is_refused(spine: Spine) -> None:
    set_aside = [row for row in lines(PLANTED[1]).split(b"\n") if b'"role": "calibration"' not in row]
    spine.take("bare", "jsonl", b"\n".join(set_aside))
    with pytest.raises(Invalid, match="no calibration item was rated"):
        spine.rank("bare", "recommended", normalize="z", moments="calibration")


def test_nothing_judged_is_one_clear_statement(spine: Spine) -> None:
    view = report(spine, "nobody")
    assert (view.raters, view.systems, len(view.warnings)) == ([], [], 1)
    assert b"<svg" in calibration.REPORT.charts["default"](view)


def test_items_that_raters_share_do_where_there_is_no_set(spine: Spine) -> None:
    view = report(spine, "ka", items="common")
    assert (view.items, view.agreed) == ("common", "panel")
    assert view.severity is not None
    assert view.severity.n_items == 160
    assert abs(sum(one.shift for one in view.raters)) < 0.5


def test_the_table_holds_what_the_picture_shows(spine: Spine) -> None:
    view = report(spine, "ka")
    _, rows = calibration.REPORT.csv(view)
    assert [row[1] for row in rows if row[0] == "rater"] == [one.rater for one in view.raters]
    assert len(calibration.REPORT.tables(view)) == 2
    assert b"shift" in calibration.REPORT.charts["default"](view)


def test_items_that_nobody_agreed_on_are_left_out_and_counted(spine: Spine) -> None:
    rows = [json.loads(line) for line in lines(PLANTED[2]).split(b"\n")]
    for row in rows:
        if row["type"] == "document" and row["key"] in ("anchors:00003", "anchors:00004"):
            del row["meta"]["consensus"]
    spine.take("open", "jsonl", "\n".join(map(json.dumps, rows)).encode())
    view = report(spine, "open")
    said = [{"reason": "calibration item without an agreed score", "n": 2, "campaign": "open"}]
    assert (view.n_items, view.dropped) == (98, said)
    asking = request.ReportRequest(
        xsts.REPORT, ("open",), request.parse_report_options(xsts.REPORT, {"bootstrap": "0"})
    )
    compared = json.loads(store.find_or_compute_report(spine.database, asking).body)
    assert (compared["directions"][0]["n_pairs"], compared["dropped"]) == (98, said)
    assert report(spine, "ka").dropped == []
