"""Chunks, points and curves: the same numbers wherever and in whatever order they are computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from app.domain.errors import Invalid
from app.stats.ratings import Ratings
from app.stats.stability import multiply_rated_documents
from app.stats.stability.chunks import ChunkOutcome, StabilitySimulator
from app.stats.stability.curves import _mean_of, compute_stability_curves
from app.stats.stability.multiply_rated_documents import NoMultiplyRatedDocuments, extract_multiply_rated_documents
from app.stats.stability.request import RaterAssignmentScheme, StabilityRequest, StudyDesign, make_riley_2024_designs
from tests.stats.components.worlds import crossed
from tests.stats.stability.worlds import made_up

PSXS, APART, NONE = (RaterAssignmentScheme(grouping) for grouping in ("psxs", "system_balanced", "none"))
THREE = tuple(StudyDesign(assignment, method) for assignment in (PSXS, APART, NONE) for method in ("none", "z"))


def simulator(request: StabilityRequest, ratings: Ratings | None = None) -> StabilitySimulator:
    data = extract_multiply_rated_documents(made_up(1, documents=14) if ratings is None else ratings)
    return StabilitySimulator(data, request.resolve(len(data.documents), len(data.systems)))


def asked(**how: object) -> StabilityRequest:
    given = {"designs": THREE, "documents": (10, 14), "studies": 40, "per_set": 10, "permutations": 200, **how}
    return StabilityRequest(**given)


def test_chunks_in_any_order_and_sent_as_bytes_give_the_same_curves() -> None:
    whole = simulator(asked())

    def backwards() -> Iterator[tuple[int, ChunkOutcome]]:
        for index in reversed(range(len(whole.chunks))):
            fresh = StabilitySimulator(whole.data, whole.request)
            yield index, ChunkOutcome.from_bytes(fresh.run_chunk(index).to_bytes())

    assert compute_stability_curves(whole) == compute_stability_curves(whole, backwards())
    assert whole.run_chunk(0).to_bytes() == whole.run_chunk(0).to_bytes()


def test_a_curve_is_the_same_alone_and_among_others() -> None:
    together = {curve.design: curve for curve in compute_stability_curves(simulator(asked()))}
    for design in THREE:
        (alone,) = compute_stability_curves(simulator(asked(designs=(design,))))
        assert alone == together[design]
    assert len({curve.points[0].srp for curve in together.values()}) > 1


def test_chunks_of_many_sets_hold_no_more_than_250_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    request = asked(studies=1000, per_set=50, designs=THREE[:1], documents=(10,))
    assert [chunk.last - chunk.first for chunk in simulator(request).chunks] == [5, 5, 5, 5]
    monkeypatch.setattr("app.stats.stability.chunks._MOST_RATINGS", 10 * 4 * 7)
    outcome = simulator(asked(studies=40, per_set=20)).run_chunk(0)
    assert outcome.means.shape == (2, 40, 4)


def test_another_seed_gives_other_numbers_within_their_error() -> None:
    first, second = (compute_stability_curves(simulator(asked(seed=seed, studies=200)))[0].points[0] for seed in (1, 2))
    assert first != second
    assert first.mc_error
    assert second.mc_error
    assert abs(first.srp - second.srp) < 5 * (first.mc_error**2 + second.mc_error**2) ** 0.5


def test_pairs_are_those_of_one_document_set_and_all_where_all_have_the_same_documents() -> None:
    curve = compute_stability_curves(simulator(asked(designs=THREE[:1])))[0]
    assert [(p.n_pairs, p.document_sets) for p in curve.points] == [(4 * 10 * 9, 4), (40 * 39, 1)]
    anew = compute_stability_curves(simulator(asked(designs=THREE[:1], per_set=1, pairs="all", documents=(10,))))[0]
    assert (anew.points[0].n_pairs, anew.points[0].document_sets) == (40 * 39, 40)
    paper = StabilityRequest((), studies=250, per_set=50)
    assert paper.n_document_sets * 50 * 49 == 12_250


def test_studies_of_one_set_may_share_their_signs() -> None:
    own, shared = (
        compute_stability_curves(simulator(asked(signs=signs)))[0].points[0] for signs in ("study", "document_set")
    )
    assert own.kendall_tau == shared.kendall_tau
    assert own.mean_significant_pairs != shared.mean_significant_pairs
    assert own.mean_significant_pairs == pytest.approx(shared.mean_significant_pairs, abs=0.3)


def test_documents_are_drawn_equally_from_buckets_and_alike_for_all_designs() -> None:
    made = simulator(asked())
    bucket = made.data.bucket
    assert np.bincount(bucket).tolist() == [7, 7]
    for number in range(4):
        assert np.bincount(bucket[made.draw_document_set(10, number)]).tolist() == [5, 5]
    assert len({tuple(made.draw_document_set(10, number)) for number in range(4)}) > 1


def test_relabelling_systems_and_raters_changes_nothing_in_the_full_data() -> None:
    given = made_up(4)
    names = dataclasses.replace(given.labels, raters=tuple(f"x{name}" for name in given.labels.raters))
    request = asked(documents=(8,))
    assert compute_stability_curves(simulator(request, given)) == compute_stability_curves(
        simulator(request, dataclasses.replace(given, labels=names))
    )


def test_scores_where_higher_is_better_are_the_same_turned_round() -> None:
    given = made_up(4)
    turned = dataclasses.replace(given, score=-given.score, higher_is_better=True).in_canonical_order()
    request = asked(documents=(8,))
    for ours, theirs in zip(
        compute_stability_curves(simulator(request, given)),
        compute_stability_curves(simulator(request, turned)),
        strict=True,
    ):
        for a, b in zip(ours.points, theirs.points, strict=True):
            for field in dataclasses.fields(a):
                assert getattr(a, field.name) == pytest.approx(getattr(b, field.name)), field.name
        assert ours.pairs == theirs.pairs


def test_a_study_that_finds_nothing_is_called_vacuous() -> None:
    curve = compute_stability_curves(simulator(asked(documents=(5, 14)), made_up(1, documents=14, spread=0.0)))[0]
    first = curve.points[0]
    assert (first.srp, first.share_without_significance, first.sign_error_rate) == (1.0, 1.0, None)
    assert first.warnings == (
        "vacuous: 100 % of the studies claim nothing, and such studies count as stable; judge more documents",
        "no difference can be significant with 5 documents: the smallest p is 0.0625; draw larger studies",
    )


def test_the_better_systems_are_found_in_every_measure() -> None:
    point = compute_stability_curves(simulator(asked(documents=(14,)), made_up(1, documents=14, spread=9.0)))[0].points[
        0
    ]
    assert point.full_data_tau == 1.0
    assert point.sign_error_rate == 0.0
    assert point.mean_significant_pairs == pytest.approx(6, abs=0.5)
    assert point.retained_claims == pytest.approx(point.mean_significant_pairs)
    assert point.same_claims_as_full_data > 0.5
    assert not point.warnings


def test_a_system_or_document_that_nobody_rated_changes_nothing() -> None:
    given = made_up(4)
    n = given.labels.segment_document.size
    more = dataclasses.replace(
        given.labels,
        systems=(*given.labels.systems, "unseen"),
        documents=(*given.labels.documents, "unread"),
        raters=(*given.labels.raters, "absent"),
        segment_document=np.append(given.labels.segment_document, len(given.labels.documents)).astype(np.int32),
        segment_position=np.append(given.labels.segment_position, 1).astype(np.int32),
    )
    assert more.segment_document.size == n + 1
    request = asked(documents=(8,))
    assert compute_stability_curves(simulator(request, given)) == compute_stability_curves(
        simulator(request, dataclasses.replace(given, labels=more))
    )


def test_a_design_out_of_reach_is_refused_or_left_out_with_the_reason() -> None:
    out = StudyDesign(RaterAssignmentScheme("psxs", 0.05))
    with pytest.raises(Invalid) as refused:
        compute_stability_curves(simulator(asked(designs=(out,))))
    assert refused.value.places[0].msg.startswith("10 documents: a normalized entropy of 0.05")
    assert "found reachable" in refused.value.places[0].msg
    curves = compute_stability_curves(simulator(asked(designs=(out, THREE[0]), lenient=True)))
    assert (curves[0].points, len(curves[1].points)) == ((), 2)
    assert curves[0].why is not None
    assert "10 documents" in curves[0].why
    with pytest.raises(Invalid, match="does not fit"):
        compute_stability_curves(simulator(asked(designs=(StudyDesign(RaterAssignmentScheme(ratings=4)),))))


def test_with_counts_left_open_those_that_cannot_be_dealt_are_listed_with_the_reason() -> None:
    """Five documents in ten buckets, of thirty raters: no more than five of them can have work."""
    pools = tuple((3 * n, 3 * n + 1, 3 * n + 2) for n in range(10))
    given = made_up(1, documents=30, systems=2, segments=1, pools=pools)
    uneven = (StudyDesign(RaterAssignmentScheme("psxs", 0.66)), StudyDesign())
    left_open = simulator(asked(designs=uneven, documents=None, studies=20, permutations=20), given)

    curves = compute_stability_curves(left_open)
    assert [[point.documents for point in curve.points] for curve in curves] == [
        [10, 15, 20, 25, 30],
        [5, 10, 15, 20, 25, 30],
    ]
    assert curves[1].why is None
    assert curves[0].why is not None
    assert curves[0].why.startswith("5 documents: a normalized entropy of 0.66 (± 0.03) was not reached")
    backwards = ((n, left_open.run_chunk(n)) for n in reversed(range(len(left_open.chunks))))
    assert compute_stability_curves(left_open, backwards) == curves
    with pytest.raises(Invalid) as refused:
        compute_stability_curves(
            simulator(asked(designs=uneven, documents=(5, 10), studies=20, permutations=20), given)
        )
    assert refused.value.places[0].msg.startswith("5 documents: ")


def test_a_design_that_can_be_dealt_with_none_of_the_counts_is_refused_and_many_reasons_are_told_in_short() -> None:
    none = (StudyDesign(RaterAssignmentScheme(ratings=4)), THREE[0])
    with pytest.raises(Invalid, match="does not fit") as refused:
        compute_stability_curves(simulator(asked(designs=none, documents=None)))
    assert refused.value.places[0].msg.startswith("10 documents: bucket 1 has 3 raters")
    curves = compute_stability_curves(simulator(asked(designs=none, documents=(4, 6, 8, 10, 12), lenient=True)))
    assert curves[0].why is not None
    assert curves[0].why.count("bucket 1 has 3 raters") == 3
    assert curves[0].why.endswith("; nor can studies of 10, 12 documents be assigned")
    assert (curves[1].why, len(curves[1].points)) == (None, 5)


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"designs": ()}, "designs"),
        ({"documents": (15,)}, "documents"),
        ({"documents": ()}, "documents"),
        ({"documents": (0,)}, "documents"),
        ({"studies": 1}, "studies"),
        ({"studies": 10_001}, "studies"),
        ({"studies": 41}, "studies"),
        ({"per_set": 1}, "studies_per_document_set"),
        ({"permutations": 0}, "permutations"),
        ({"alpha": 1.0}, "alpha"),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_field(how: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        asked(**how).resolve(14, 4)
    assert [place.loc for place in refused.value.places] == [("body", field)]


def test_studies_of_very_many_systems_are_limited_by_what_is_held_at_once() -> None:
    assert asked(studies=1000, per_set=10).resolve(14, 200).studies == 1000
    with pytest.raises(Invalid) as refused:
        asked(studies=1010, per_set=10).resolve(14, 200)
    assert refused.value.places[0].msg == "at most 1005 with 200 systems"


def test_the_figures_of_the_paper_are_one_request() -> None:
    designs = make_riley_2024_designs()
    assert len(designs) == len(set(designs)) == 36
    request = StabilityRequest(designs).resolve(181, 15)
    assert request.document_counts == tuple(range(20, 181, 20))
    assert len(StabilitySimulator(extract_multiply_rated_documents(made_up(1)), request).chunks) == 9 * 9


def test_buckets_are_the_documents_whose_every_output_the_same_raters_rated() -> None:
    given = made_up(2, documents=8)
    names = given.labels
    lone = given.document == names.documents.index("d000")
    alone = lone & (given.rater != names.raters.index("r0"))
    partial = (given.document == names.documents.index("d001")) & (given.system == 2)
    uneven = (given.document == names.documents.index("d002")) & (given.system == 1) & (given.rater == 0)
    assert partial.any()
    assert uneven.any()

    data = extract_multiply_rated_documents(given.where(~(alone | partial | uneven)))

    assert data.documents == tuple(f"d{d:03}" for d in range(3, 8))
    assert [dropped.reason for dropped in data.left_out] == [
        "rated by fewer than two raters",
        "not every system was rated",
        "not every output was rated by the same raters",
    ]
    assert [dropped.n for dropped in data.left_out] == [1, 1, 1]
    pools = [tuple(data.raters[r] for r in pool) for pool in data.pools]
    assert [pools[b] for b in data.bucket] == [("r2", "r3", "r4"), ("r0", "r1", "r2")] * 2 + [("r2", "r3", "r4")]


def test_scores_lie_where_their_segment_system_and_rater_say() -> None:
    given = made_up(6, pools=((0, 1, 2), (2, 3)))
    data = extract_multiply_rated_documents(given)
    segments = np.unique(given.segment)
    for row in range(len(given)):
        g = int(np.searchsorted(segments, given.segment[row]))
        bucket = data.bucket[data.document[g]]
        nth = list(data.pools[bucket]).index(int(given.rater[row]))
        assert data.score[g, given.system[row], nth] == given.score[row]
        assert data.errors is not None
        assert data.errors[g, given.system[row], nth] == given.n_errors[row]
    assert data.score.sum() == given.score.sum()


def test_documents_of_many_more_raters_than_others_are_left_out_where_arrays_would_be_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A document that 100 raters judged gave every other output 100 places: 5 GB with 100,000 of them."""
    given = made_up(6, pools=((0, 1), (2, 3), (0, 1, 2, 3, 4, 5)), segments=1)
    monkeypatch.setattr(multiply_rated_documents, "MOST_PLACES", 12 * 4 * 6)
    assert len(extract_multiply_rated_documents(given).documents) == 12
    monkeypatch.setattr(multiply_rated_documents, "MOST_PLACES", 12 * 4 * 6 - 1)
    data = extract_multiply_rated_documents(given)
    assert [(one.reason, one.n) for one in data.left_out] == [("rated by many more raters than other documents", 4)]
    assert (len(data.documents), data.score.shape[2]) == (8, 2)
    monkeypatch.setattr(multiply_rated_documents, "MOST_PLACES", 1)
    assert len(extract_multiply_rated_documents(made_up(6, pools=((0, 1), (2, 3)))).documents) == 12


def test_two_ratings_of_one_output_by_one_rater_count_as_their_mean() -> None:
    rows = [("A", "x", 1.0), ("A", "x", 3.0), ("A", "y", 5.0), ("B", "x", 0.0), ("B", "y", 0.0)]
    system, rater, score = zip(*rows, strict=True)
    given = Ratings.from_columns(
        system=system, document=["d"] * 5, position=[1] * 5, rater=rater, score=score, higher_is_better=True
    )
    assert extract_multiply_rated_documents(given).score[0].tolist() == [[2.0, 5.0], [0.0, 0.0]]


def test_a_campaign_with_one_rating_an_item_says_why_there_is_nothing_to_simulate() -> None:
    given = made_up(2, documents=4, pools=((0,), (1,)))
    with pytest.raises(NoMultiplyRatedDocuments, match="4 documents: rated by fewer than two raters"):
        extract_multiply_rated_documents(given)


def test_one_system_alone_is_told_as_such() -> None:
    ratings = crossed(1, documents=8, systems=2, raters=2, ratings=2)
    with pytest.raises(NoMultiplyRatedDocuments, match="only one system was rated"):
        extract_multiply_rated_documents(ratings.where(ratings.system == 0))
    assert extract_multiply_rated_documents(ratings).systems == ("s00", "s01")


def test_studies_are_no_more_than_their_verdicts_on_all_pairs_can_be_held() -> None:
    """20 million verdicts: with 100 systems, 4,950 pairs, at most 4,040 studies."""
    assert asked(studies=4040).resolve(14, 100).studies == 4040
    with pytest.raises(Invalid) as refused:
        asked(studies=4050).resolve(14, 100)
    assert [(place.loc, place.msg) for place in refused.value.places] == [
        (("body", "studies"), "at most 4040 with 100 systems")
    ]


def test_correlations_of_groups_count_by_their_studies_and_none_is_beyond_one() -> None:
    assert _mean_of([(3.0, 4), (0.2, 1)]) == pytest.approx(0.64)
    assert [_mean_of([(sign * (3 + 1e-15), 3)]) for sign in (1, -1)] == [1.0, -1.0]
    assert _mean_of([]) is None
