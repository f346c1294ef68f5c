"""The stability report as it is stored, and as tables and pictures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from xml.etree import ElementTree as ET

import pytest

from app.domain.errors import Invalid, NotFound
from app.services import stability
from app.services.jobs import jobs
from app.services.stability import Asked, prepared
from app.services.stability_renderings import render, table, warnings
from app.services.stability_view import StabilityView
from app.services.stability_workers import in_processes
from app.stats.stability.curves import Stopped
from app.stats.stability.extraction import NotMultiplyRated
from app.stats.stability.request import Assignment, Request, StudyDesign, paper_designs
from app.storage import embedded
from tests.spine import Spine, fresh
from tests.stats.stability.worlds import as_mqm, made_up

SVG = "{http://www.w3.org/2000/svg}"
DESIGNS = (StudyDesign(), StudyDesign(Assignment("none"), "z"))
SMALL = Asked(Request(DESIGNS, documents=(5, 10), studies=40, per_set=10, permutations=200, seed=3))
HEADINGS_OF_ALL = ("Kendall with all ratings", "Same claims as all ratings")


@pytest.fixture(scope="module")
def spine(postgres: embedded.Server, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("thrice", "mqm-tsv", as_mqm(made_up(1, documents=14)))
        found.take("once", "mqm-tsv", as_mqm(made_up(1, documents=4, pools=((0,), (1,)))))
        yield found


def view(spine: Spine, asked: Asked = SMALL) -> StabilityView:
    return StabilityView.model_validate_json(stability.report(spine.database, "thrice", asked).body)


def test_a_report_says_from_what_it_was_made(spine: Spine) -> None:
    found = view(spine)
    assert (found.campaign, found.seed, found.method_version) == ("thrice", 3, "stability-2")
    assert (found.documents_available, found.buckets, found.raters) == (14, [7, 7], 5)
    assert [len(curve.points) for curve in found.curves] == [2, 2]
    assert found.request.recipe == "srp-paper"
    assert found.data_hash == spine.rank("thrice", "srp-paper")["data_hash"]
    assert "a fixed rater pool cannot show rater × system variance" in found.warnings[0]
    few = found.curves[0].points[0]
    assert few.warnings[-1] == "no difference can be significant with 5 documents: the smallest p is 0.0625"


def test_a_report_tells_how_often_each_pair_is_claimed_by_places_in_its_systems(
    spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = view(spine)
    for curve in found.curves:
        assert len(curve.pairs) == 6
        assert {*sum(curve.pairs, ())} == set(range(len(found.systems)))
        assert [(len(p.claimed), len(p.contradicted)) for p in curve.points] == [(6, 6), (6, 6)]
        assert curve.points[1].claimed[curve.pairs.index((0, 3))] > 0.5
    assert not any("is claimed is" in text for text in found.warnings)
    for most, pairs, said in ((12, 3, "is told of systems next to each other"), (11, 0, "pair is claimed is not told")):
        monkeypatch.setattr("app.stats.stability.pairs.MOST_TOLD", most)
        asked = replace(SMALL, request=replace(SMALL.request, seed=20 + most))
        short = view(spine, asked)
        assert {len(curve.pairs) for curve in short.curves} == {pairs}
        assert said in short.warnings[-1]


def test_a_report_of_before_pairs_were_told_is_still_read(spine: Spine) -> None:
    """A job that was begun before keeps its report under the version of then."""
    stored = json.loads(stability.report(spine.database, "thrice", SMALL).body)
    for curve in stored["curves"]:
        del curve["pairs"]
        for point in curve["points"]:
            del point["claimed"], point["contradicted"]
    read = StabilityView.model_validate_json(json.dumps(stored))
    assert render(read, "csv") == render(view(spine), "csv")
    assert [point.claimed for curve in read.curves for point in curve.points] == [[]] * 4


def test_a_job_that_was_begun_by_the_version_before_goes_on_with_the_chunks_that_it_has(spine: Spine) -> None:
    asked = replace(SMALL, request=replace(SMALL.request, documents=None, seed=15))
    key, about, recipe, _ = stability.located(spine.database, "thrice", asked)
    given = {"request": asdict(asked.request), "recipe": recipe.as_json()}
    del given["request"]["open_counts"]
    before = jobs.Request(
        stability.KIND,
        replace(key, method_version="stability-1"),
        {"thrice": about.version},
        json.loads(json.dumps(given)),
    )
    work = stability.work(spine.database, before)
    finished = work.finish([work.chunk(n) for n in range(work.n_chunks)])
    assert finished == view(spine, asked)


def test_the_second_answer_comes_from_the_store_and_costs_nothing(spine: Spine) -> None:
    asked = replace(SMALL, request=replace(SMALL.request, seed=11))
    told: list[int] = []
    first = stability.report(spine.database, "thrice", asked, on_progress=lambda done, _: told.append(done))
    n = len(told)
    second = stability.report(spine.database, "thrice", asked, on_progress=lambda done, _: told.append(done))
    assert n == len(told) == 5
    assert first == second
    assert stability.report(spine.database, "thrice", SMALL).etag != first.etag


def test_several_processes_give_the_bytes_of_one(spine: Spine) -> None:
    asked = replace(SMALL, request=replace(SMALL.request, seed=12))
    made = prepared(spine.database, "thrice", asked)
    silent = {"on_progress": lambda *_: None, "should_stop": lambda: False}
    here = stability.computed(made, **silent)
    there = stability.computed(made, execute=in_processes(2), **silent)
    assert here == there


def test_work_that_is_stopped_stores_nothing(spine: Spine) -> None:
    asked = replace(SMALL, request=replace(SMALL.request, seed=13))
    with pytest.raises(Stopped):
        stability.report(spine.database, "thrice", asked, should_stop=lambda: True)
    assert prepared(spine.database, "thrice", asked).body is None
    stability.report(spine.database, "thrice", asked)
    assert prepared(spine.database, "thrice", asked).body is not None


def test_what_cannot_be_simulated_is_refused(spine: Spine) -> None:
    with pytest.raises(NotFound):
        stability.report(spine.database, "nowhere", SMALL)
    with pytest.raises(NotMultiplyRated):
        stability.report(spine.database, "once", SMALL)
    with pytest.raises(Invalid) as refused:
        stability.report(spine.database, "thrice", replace(SMALL, recipe="nothing"))
    assert refused.value.places[0].loc == ("body", "recipe")


def test_designs_of_the_paper_that_do_not_fit_are_listed_with_the_reason(spine: Spine) -> None:
    request = Request(paper_designs(), documents=(14,), studies=10, per_set=10, permutations=50, seed=1, lenient=True)
    found = view(spine, Asked(request))
    assert len(found.curves) == 36
    left = [curve for curve in found.curves if not curve.points]
    assert {curve.design.entropy for curve in left} <= {0.55, 0.7, 0.85}
    assert all(curve.why for curve in left)
    assert any(curve.points for curve in found.curves if curve.design.entropy)


def test_normalizations_that_the_scores_cannot_have_are_refused_or_listed(spine: Spine) -> None:
    named = ("system", "document", "position", "rater", "score")
    through = {
        "protocol": "da",
        "columns": {name: name for name in named},
        "constants": {"source_language": "en", "target_language": "de"},
    }
    rows = [",".join(named)]
    given = made_up(2, documents=8)
    names = given.labels
    rows += [
        f"{names.systems[s]},{names.documents[d]},{names.segment_position[g]},{names.raters[r]},{min(100, 10 * x)}"
        for s, d, g, r, x in zip(given.system, given.document, given.segment, given.rater, given.score, strict=True)
    ]
    files = {"map.json": json.dumps({**through, "delimiter": ","}).encode(), "table.csv": "\n".join(rows).encode()}
    spine.take("da", "table", files, options={"map": "map.json"})
    request = Request((StudyDesign(normalize="mean"), StudyDesign()), documents=(8,), studies=10, per_set=10)
    with pytest.raises(Invalid) as refused:
        stability.report(spine.database, "da", Asked(request))
    assert refused.value.places[0].msg.startswith("mean: dividing")
    body = stability.report(spine.database, "da", Asked(replace(request, lenient=True))).body
    curves = StabilityView.model_validate_json(body).curves
    assert [(curve.design.normalize, bool(curve.points)) for curve in curves] == [("none", True), ("mean", False)]


def test_tables_have_a_line_a_point_and_every_warning(spine: Spine) -> None:
    found = view(spine)
    lines = list(csv.DictReader(io.StringIO(render(found, "csv").decode())))
    assert [(line["grouping"], line["documents"]) for line in lines] == [
        ("psxs", "5"),
        ("psxs", "10"),
        ("none", "5"),
        ("none", "10"),
    ]
    assert float(lines[1]["srp"]) == found.curves[0].points[1].srp
    assert "vacuous" in lines[0]["warnings"]
    shown = table(found)
    assert len(shown.rows) == 4
    assert shown.breaks == {2}
    point = found.curves[0].points[1]
    last = (f"{point.full_data_tau:.2f}", f"{100 * point.same_claims_as_full_data:.1f} %")
    assert (shown.headings[-2:], shown.rows[1][-2:]) == (HEADINGS_OF_ALL, last)
    for kind in ("md", "tex"):
        text = render(found, kind).decode()
        assert text.count("pSxS, no normalization") >= 2
        assert "vacuous" in text
        assert "Kendall with all ratings" in text
        assert "Same claims as all ratings" in text
    assert any(text.startswith("pSxS, no normalization, 5 documents: vacuous") for text in warnings(found))


@pytest.mark.parametrize("picture", ["documents", "power"])
def test_pictures_show_every_design_with_what_it_finds_and_are_the_same_twice(spine: Spine, picture: str) -> None:
    found = view(spine)
    drawn = render(found, "svg", picture)
    assert drawn == render(found, "svg", picture)
    texts = ["".join(t.itertext()) for t in ET.fromstring(drawn).iter(f"{SVG}text")]  # noqa: S314, our own
    assert any(text.startswith("pSxS, no normalization; 0–") for text in texts)
    assert any(text.startswith("No grouping, z-score; ") for text in texts)
    assert ("significant pairs of a study, mean" if picture == "power" else "documents") in texts
    assert any("rater × system variance" in text for text in texts)


def test_many_designs_have_a_panel_for_each_assignment(spine: Spine) -> None:
    request = replace(SMALL.request, designs=paper_designs()[:12], documents=(8,), studies=10)
    drawn = render(view(spine, Asked(request)), "svg")
    texts = ["".join(t.itertext()) for t in ET.fromstring(drawn).iter(f"{SVG}text")]  # noqa: S314, our own
    heads = [text for text in texts if "significant pairs" in text]
    assert [text.partition(";")[0] for text in heads] == ["pSxS", "System-balanced", "No grouping"]
    assert {"no normalization", "mean", "error", "z-score"} <= set(texts)


def test_a_report_is_strict_json_without_what_json_cannot_hold(spine: Spine) -> None:
    body = stability.report(spine.database, "thrice", SMALL).body
    assert b"NaN" not in body
    assert json.loads(body)["curves"][0]["points"][0]["sign_error_rate"] is None
