"""Campaigns in different languages on one scale: the planted order where the raw scores have another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from app.domain.errors import Invalid
from app.reports.kit import request, store
from app.reports.xsts import language_pairs
from app.reports.xsts import report as xsts
from app.reports.xsts import view as shown
from app.reports.xsts.view import XstsView
from app.storage import embedded
from tests.reports.languages import PLANTED, World, lines
from tests.spine import Spine, fresh

CAMPAIGNS = tuple(f"en-{world.language}" for world in PLANTED)


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        for world in PLANTED:
            found.take(f"en-{world.language}", "jsonl", lines(world))
        yield found


def compared(spine: Spine, campaigns: tuple[str, ...] = CAMPAIGNS, **query: str) -> XstsView:
    question = request.parse_report_options(xsts.REPORT, {"bootstrap": "100", **query})
    asking = request.ReportRequest(xsts.REPORT, campaigns, question)
    return XstsView.model_validate(json.loads(store.find_or_compute_report(spine.database, asking).body))


def order(view: XstsView, method: str) -> list[str]:
    ranked = sorted(view.systems, key=lambda one: one.score_under_method(method).rank or 99)
    return [one.campaign for one in ranked]


@pytest.mark.parametrize("by", ["language", "rater"])
def test_the_calibrated_order_is_the_planted_one_where_the_raw_is_not(spine: Spine, by: str) -> None:
    for method in ("cs", "cs_ht"):
        view = compared(spine, method=method, by=by)
        assert order(view, method) == list(CAMPAIGNS)
        assert order(view, "raw") != list(CAMPAIGNS)
        assert [one.campaign for one in view.systems] == list(CAMPAIGNS)


def test_what_each_line_was_made_of_is_told(spine: Spine) -> None:
    view = compared(spine)
    for world, one in zip(PLANTED, view.directions, strict=True):
        assert one.c is not None
        assert one.consensus == pytest.approx(3.0, abs=1e-6)
        assert one.c - one.consensus == pytest.approx(world.lenient, abs=0.15)
        assert (one.n_pairs, one.share_of_set, one.n_human, one.n_raters) == (100, 1.0, 80, 3)
        both = next(line for line in one.lines if line.method == "cs_ht")
        assert both.slope is not None
        assert both.intercept is not None
        assert both.slope * one.c + both.intercept == pytest.approx(one.consensus)
    assert view.target == pytest.approx(sum(one.h or 0 for one in view.directions) / 3)
    assert view.pivot == "en"
    for system in view.systems:
        main = system.score_under_method("cs_ht")
        assert main.interval is not None
        assert main.interval[0] < (main.value or 0) < main.interval[1]


def test_a_target_that_is_asked_for_is_kept_and_the_score_follows(spine: Spine) -> None:
    view = compared(spine, target="4.687", method="ht")
    for one in view.directions:
        (system,) = [s for s in view.systems if s.campaign == one.campaign]
        assert system.score_under_method("ht").value == pytest.approx(
            (system.score_under_method("raw").value or 0) + 4.687 - (one.h or 0)
        )


def test_a_campaign_without_calibration_items_has_no_such_score_and_stands_last(spine: Spine) -> None:
    bare = b"\n".join(one for one in lines(World("am", 4.0, 0.0)).split(b"\n") if b"anchors" not in one)
    spine.take("en-am", "jsonl", bare)
    view = compared(spine, ("en-am", *CAMPAIGNS), method="cs")
    assert view.systems[-1].campaign == "en-am"
    assert view.systems[-1].score_under_method("cs").value is None
    assert any("no rater judged a pair" in one for one in view.warnings)
    assert view.systems[-1].score_under_method("ht").value is not None


def test_automatic_scores_are_followed_and_languages_are_described(spine: Spine) -> None:
    given = ",".join(f"{key}={score}" for key, score in zip(CAMPAIGNS, (40, 30, 20), strict=True))
    view = compared(spine, automatic=given)
    found = {one.method: one for one in view.external if one.directions == "all"}
    assert found["cs_ht"].pearson is not None
    assert found["cs_ht"].pearson > 0.9
    assert found["raw"].pearson is not None
    assert found["raw"].pearson < found["cs_ht"].pearson
    assert "halves need" in (found["raw"].why or "")
    with pytest.raises(Invalid, match="query"):
        compared(spine, automatic="en-hi=x")
    assert next(one.title for one in xsts.REPORT.tables(view)) == "Systems on one scale"


def test_pictures_and_tables_are_of_the_same_figures(spine: Spine) -> None:
    view = compared(spine)
    heads, rows = xsts.REPORT.csv(view)
    assert len(rows) == 3 * 4
    values: Any = {(row[0], row[2]): row[3] for row in rows}
    assert values["en-hi", "cs_ht"] == view.systems[0].score_under_method("cs_ht").value
    assert len(heads) == len(shown.CSV) == len(rows[0])
    assert b"en-hi" in xsts.REPORT.charts["default"](view)


def test_thin_and_constant_data_have_a_statement_and_no_number(spine: Spine) -> None:
    rows = [json.loads(one) for one in lines(World("xx", 3.0, 0.0), pairs=4).split(b"\n")]
    nobody = [one for one in rows if one["type"] != "judgment"]
    alone = [one for one in rows if one["type"] != "judgment" or (one["rater"] == "xx0" and one["document"] == "d000")]
    for one in rows:
        if one["type"] == "judgment":
            one["payload"]["score"] = 3
    for key, given in (("nobody", nobody), ("alone", alone), ("constant", rows)):
        spine.take(key, "jsonl", "\n".join(map(json.dumps, given)).encode())
    assert compared(spine, ("nobody", "alone")).systems[0].score_under_method("cs").value is None
    for by in ("language", "rater"):
        view = compared(spine, ("constant", "nobody"), method="cs", by=by, pool="campaign")
        (score,) = [one.score_under_method("cs_ht") for one in view.systems]
        assert (score.value, score.interval) == (None, None)
        assert "no better than the calibration set" in (score.why or "")
        with pytest.raises(Invalid) as refused:
            compared(spine, ("constant", "nobody"), by=by, pool="campaign")
        (place,) = refused.value.places
        assert place.loc == ("query", "method")
        assert "no better than the calibration set in constant, so" in place.msg
    assert b"no score" in xsts.REPORT.charts["default"](compared(spine, ("nobody", "alone")))


def test_a_language_that_no_campaign_has_is_no_pivot(spine: Spine) -> None:
    assert compared(spine, pivot="en").pivot == "en"
    with pytest.raises(Invalid) as refused:
        compared(spine, pivot="xx")
    assert refused.value.places[0].loc == ("query", "pivot")


@pytest.mark.parametrize(("width", "refused"), [(-1.0, True), (0.0, True), (0.1, False), (None, False)])
def test_points_in_one_place_or_the_wrong_way_round_give_no_line(
    monkeypatch: pytest.MonkeyPatch, width: float | None, refused: bool
) -> None:
    monkeypatch.setattr(
        language_pairs.language_pairs, "compute_language_pair_fixed_points", lambda *_: SimpleNamespace(distance=width)
    )
    laid = language_pairs.CampaignsByLanguage("en", ["de"], [], [SimpleNamespace(name="en-de")], 1, 3.0)
    with pytest.raises(Invalid) if refused else nullcontext():
        language_pairs.check_fixed_point_order(laid, request.parse_report_options(xsts.REPORT, {"method": "cs_ht"}))
