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
from app.jobs.job_steps import load_job_work
from app.reports.inputs import named_recipes
from app.reports.kit import store
from app.reports.kit.processes import make_chunk_executor
from app.reports.kit.render.representations import render_report
from app.reports.kit.report import ReportComputation, StoredReport
from app.reports.kit.request import ReportRequest
from app.reports.kit.store import RequestAborted
from app.reports.stability.options import StabilityIn, StudyDesignIn
from app.reports.stability.report import EARLIER, REPORT
from app.reports.stability.view import StabilityView
from app.services.jobs import jobs, report_requests
from app.stats.stability.multiply_rated_documents import NoMultiplyRatedDocuments
from app.stats.stability.request import make_riley_2024_designs
from app.storage import embedded
from tests.spine import Spine, fresh
from tests.stats.stability.worlds import as_mqm, made_up

SVG = "{http://www.w3.org/2000/svg}"
SMALL = StabilityIn(
    designs=[StudyDesignIn(), StudyDesignIn(grouping="none", normalize="z")],
    documents=[5, 10],
    studies=40,
    studies_per_document_set=10,
    permutations=200,
    seed=3,
)
HEADINGS_OF_ALL = ("Kendall with all ratings", "Same claims as all ratings")


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("thrice", "mqm-tsv", as_mqm(made_up(1, documents=14)))
        found.take("once", "mqm-tsv", as_mqm(made_up(1, documents=4, pools=((0,), (1,)))))
        yield found


def request(options: StabilityIn, campaign: str = "thrice") -> ReportRequest:
    return ReportRequest(REPORT, (campaign,), options)


def stored(spine: Spine, options: StabilityIn = SMALL, campaign: str = "thrice") -> StoredReport:
    return store.find_or_compute_report(spine.database, request(options, campaign))


def view(spine: Spine, options: StabilityIn = SMALL) -> StabilityView:
    return StabilityView.model_validate_json(stored(spine, options).body)


def shown(report: StabilityView, shape: str, picture: str = "documents") -> bytes:
    return render_report(REPORT, report.model_dump_json().encode(), shape, picture)


def with_seed(seed: int) -> StabilityIn:
    return SMALL.model_copy(update={"seed": seed})


def is_stored(spine: Spine, options: StabilityIn) -> bool:
    with spine.database.transaction() as session:
        return store.look_up_report(session, request(options)).body is not None


def test_a_report_says_from_what_it_was_made(spine: Spine) -> None:
    found = view(spine)
    assert (found.campaign, found.seed, found.method_version) == ("thrice", 3, "stability-2")
    assert (found.documents_available, found.buckets, found.raters) == (14, [7, 7], 5)
    assert [len(curve.points) for curve in found.curves] == [2, 2]
    assert found.request.recipe == "srp-paper"
    assert found.data_hash == spine.rank("thrice", "srp-paper")["data_hash"]
    assert "a fixed rater pool cannot show rater × system variance" in found.warnings[0]
    few = found.curves[0].points[0]
    assert (
        few.warnings[-1]
        == "no difference can be significant with 5 documents: the smallest p is 0.0625; draw larger studies"
    )


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
    for most, pairs, said in (
        (12, 3, "is reported for systems next to each other"),
        (11, 0, "pair is claimed is not reported"),
    ):
        monkeypatch.setattr("app.stats.stability.pairs.MOST_REPORTED", most)
        short = view(spine, with_seed(20 + most))
        assert {len(curve.pairs) for curve in short.curves} == {pairs}
        assert said in short.warnings[-1]


def test_a_report_of_before_pairs_were_told_is_still_read(spine: Spine) -> None:
    """A job that was begun before keeps its report under the version of then."""
    earlier = json.loads(stored(spine).body)
    for curve in earlier["curves"]:
        del curve["pairs"]
        for point in curve["points"]:
            del point["claimed"], point["contradicted"]
    read = StabilityView.model_validate_json(json.dumps(earlier))
    assert shown(read, "csv") == shown(view(spine), "csv")
    assert [point.claimed for curve in read.curves for point in curve.points] == [[]] * 4


def test_a_job_that_was_begun_by_the_version_before_goes_on_with_the_chunks_that_it_has(spine: Spine) -> None:
    options = with_seed(15).model_copy(update={"documents": None})
    with spine.database.transaction() as session:
        lookup = store.look_up_report(session, request(options))
        recipe = named_recipes.resolve_recipe(session, "thrice", options.recipe)
    given = {"request": asdict(options.to_request()), "recipe": recipe.as_json()}
    del given["request"]["open_counts"]
    before = jobs.JobRequest(
        EARLIER,
        replace(lookup.key, kind="stability", recipe_hash="of then", method_version="stability-1"),
        {"thrice": lookup.about[0].version},
        json.loads(json.dumps(given)),
    )
    work = load_job_work(spine.database, before)
    finished = store.assemble_report_from_chunks(work, [work.chunk(n) for n in range(work.n_chunks)])
    assert finished == stored(spine, options).body
    assert report_requests.get_report_kind_of_job(before.kind) is REPORT


def test_the_second_answer_comes_from_the_store_and_costs_nothing(spine: Spine) -> None:
    told: list[int] = []
    asking = request(with_seed(11))
    first = store.find_or_compute_report(spine.database, asking, on_progress=lambda done, _: told.append(done))
    assert told == [0, 1, 2, 3, 4]
    second = store.find_or_compute_report(spine.database, asking, on_progress=lambda done, _: told.append(done))
    assert len(told) == 5
    assert first == second
    assert stored(spine).etag != first.etag


def test_several_processes_give_the_bytes_of_one(spine: Spine) -> None:
    with spine.database.transaction() as session:
        asking = request(with_seed(12))
        work = REPORT.prepare(session, store.look_up_report(session, asking).about, asking.options)
    silent = {"on_progress": lambda *_: None, "should_stop": lambda: False}
    here = store.compute_report(work, **silent)
    there = store.compute_report(work, execute=make_chunk_executor(2), **silent)
    assert here == there


def test_a_process_that_refuses_a_chunk_says_the_same_as_one_here(spine: Spine) -> None:
    options = SMALL.model_copy(update={"designs": [StudyDesignIn(ratings_per_item=4)], "documents": [5], "seed": 16})
    refused = []
    for execute in (store.compute_chunks_serially, make_chunk_executor(2)):
        with pytest.raises(Invalid) as error:
            store.find_or_compute_report(spine.database, request(options), execute=execute)
        refused.append((error.value.detail, error.value.places))
    assert refused[0] == refused[1]
    assert refused[0][1][0].loc == ("body", "designs")


def test_work_that_is_stopped_stores_nothing(spine: Spine) -> None:
    options = with_seed(13)
    with pytest.raises(RequestAborted):
        store.find_or_compute_report(spine.database, request(options), should_stop=lambda: True)
    assert not is_stored(spine, options)
    stored(spine, options)
    assert is_stored(spine, options)


def test_whoever_computes_chunks_is_told_when_the_work_is_stopped() -> None:
    closed: list[bool] = []

    def watched(work: ReportComputation[bytes]) -> Iterator[bytes]:
        try:
            yield from store.compute_chunks_serially(work)
        finally:
            closed.append(True)

    work = ReportComputation(3, lambda number: bytes([number]), b"".join)
    assert (
        store.compute_report(work, on_progress=lambda *_: None, should_stop=lambda: False, execute=watched) == b"\0\1\2"
    )
    assert closed.pop()
    with pytest.raises(RequestAborted) as stopped:
        store.compute_report(work, on_progress=lambda *_: None, should_stop=lambda: True, execute=watched)
    assert closed
    # The traceback holds every frame, so it was closed, not forgotten.
    assert stopped.tb is not None


def test_what_cannot_be_simulated_is_refused(spine: Spine) -> None:
    with pytest.raises(NotFound):
        stored(spine, campaign="nowhere")
    with pytest.raises(NoMultiplyRatedDocuments):
        stored(spine, campaign="once")
    with pytest.raises(Invalid) as refused:
        stored(spine, SMALL.model_copy(update={"recipe": "nothing"}))
    assert refused.value.places[0].loc == ("body", "recipe")


def test_designs_of_the_paper_that_do_not_fit_are_listed_with_the_reason(spine: Spine) -> None:
    options = StabilityIn(
        designs="paper", documents=[14], studies=10, studies_per_document_set=10, permutations=50, seed=1
    )
    found = view(spine, options)
    assert len(found.curves) == 36
    left = [curve for curve in found.curves if not curve.points]
    assert {curve.design.work_entropy for curve in left} <= {0.55, 0.7, 0.85}
    assert all(curve.why for curve in left)
    assert any(curve.points for curve in found.curves if curve.design.work_entropy)


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
    options = StabilityIn(
        designs=[StudyDesignIn(normalize="mean"), StudyDesignIn()],
        documents=[8],
        studies=10,
        studies_per_document_set=10,
    )
    with pytest.raises(Invalid) as refused:
        stored(spine, options, "da")
    assert refused.value.places[0].msg.startswith("mean: dividing")
    lenient = stored(spine, options.model_copy(update={"designs": "paper"}), "da")
    curves = StabilityView.model_validate_json(lenient.body).curves
    assert {"none": True, "mean": False}.items() <= {
        curve.design.normalize: bool(curve.points) for curve in curves if curve.design.balance == "full"
    }.items()


def test_tables_have_a_line_a_point_and_every_warning(spine: Spine) -> None:
    found = view(spine)
    lines = list(csv.DictReader(io.StringIO(shown(found, "csv").decode())))
    assert [(line["grouping"], line["documents"]) for line in lines] == [
        ("psxs", "5"),
        ("psxs", "10"),
        ("none", "5"),
        ("none", "10"),
    ]
    assert float(lines[1]["srp"]) == found.curves[0].points[1].srp
    assert "vacuous" in lines[0]["warnings"]
    table = REPORT.tables(found)[0].table
    assert len(table.rows) == 4
    assert table.breaks == {2}
    point = found.curves[0].points[1]
    last = (f"{point.full_data_tau:.2f}", f"{100 * point.same_claims_as_full_data:.1f} %")
    assert (table.headings[-2:], table.rows[1][-2:]) == (HEADINGS_OF_ALL, last)
    for kind in ("md", "tex"):
        text = shown(found, kind).decode()
        assert text.count("pSxS, no normalization") >= 2
        assert "vacuous" in text
        assert "Kendall with all ratings" in text
        assert "Same claims as all ratings" in text
    assert any(text.startswith("pSxS, no normalization, 5 documents: vacuous") for text in REPORT.warnings(found))


@pytest.mark.parametrize("picture", ["documents", "power"])
def test_pictures_show_every_design_with_what_it_finds_and_are_the_same_twice(spine: Spine, picture: str) -> None:
    found = view(spine)
    drawn = shown(found, "svg", picture)
    assert drawn == shown(found, "svg", picture)
    texts = ["".join(t.itertext()) for t in ET.fromstring(drawn).iter(f"{SVG}text")]  # noqa: S314, our own
    assert any(text.startswith("pSxS, no normalization; 0–") for text in texts)
    assert any(text.startswith("No grouping, z-score; ") for text in texts)
    assert ("mean significant pairs per study" if picture == "power" else "documents") in texts
    assert any("rater × system variance" in text for text in texts)


def test_many_designs_have_a_panel_for_each_assignment(spine: Spine) -> None:
    designs = [
        StudyDesignIn(grouping=each.assignment.grouping, normalize=each.normalize)
        for each in make_riley_2024_designs()[:12]
    ]
    drawn = shown(view(spine, SMALL.model_copy(update={"designs": designs, "documents": [8], "studies": 10})), "svg")
    texts = ["".join(t.itertext()) for t in ET.fromstring(drawn).iter(f"{SVG}text")]  # noqa: S314, our own
    heads = [text for text in texts if "significant pairs" in text]
    assert [text.partition(";")[0] for text in heads] == ["pSxS", "System-balanced", "No grouping"]
    assert {"no normalization", "mean", "error", "z-score"} <= set(texts)


def test_a_report_is_strict_json_without_what_json_cannot_hold(spine: Spine) -> None:
    body = stored(spine).body
    assert b"NaN" not in body
    assert json.loads(body)["curves"][0]["points"][0]["sign_error_rate"] is None
