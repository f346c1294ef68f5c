"""Scores of automatic metrics through imports: with the data they are about, in place of what there was, none lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.domain.errors import Invalid
from app.services.data import metrics, test_sets
from app.services.data.test_sets import DocumentOutputsInput, TestSetPartInUse
from app.storage.imports.merge import ImportContradiction
from tests.services.data.test_exports import place, there_and_back
from tests.services.data.test_imports import judgment, lines
from tests.spine import Spine, opened


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def metric(value: float, system: str = "A", name: str = "comet", **other: Any) -> dict[str, Any]:
    return {"type": "metric", "metric": name, "system": system, "value": value, **other}


def texts() -> list[dict[str, Any]]:
    """Two segments of two systems, of which one output is judged: the others are there for the metrics alone."""
    return [
        {"type": "campaign", "protocol": "da"},
        *({"type": "output", **place(n), "system": system, "text": f"{system} {n}"} for n in (1, 2) for system in "AB"),
        judgment("A", "d1", 1),
    ]


SET = [metric(0.5, **place(1)), metric(0.25, **place(2)), metric(-1.5, "B", **place(2)), metric(0.375)]
LOWER = metric(3.0, "B", "ter", higher_is_better=False)


def stored(spine: Spine, key: str = "c") -> list[metrics.Metric]:
    with spine.database.transaction() as session:
        return metrics.list_metrics(session, key)


def test_scores_go_out_and_in_again_with_the_same_bytes_though_hardly_any_output_is_judged(spine: Spine) -> None:
    report = spine.take("c", "jsonl", lines(*texts(), *SET, LOWER))

    assert report["stored"]["metric_scores"] == 5
    assert not report["dropped"]
    assert [(one.metric, one.higher_is_better, one.n_outputs, one.n_of_systems) for one in stored(spine)] == [
        ("comet", True, 3, 1),
        ("ter", False, 0, 1),
    ]
    assert spine.export("c").count(b'"type":"metric"') == 5
    there_and_back(spine, "c")


def test_the_same_scores_again_change_nothing_and_others_take_their_place(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(*texts(), *SET, LOWER))
    again = spine.take("c", "jsonl", lines(*texts(), *SET, LOWER))
    assert again["stored"]["data_version"] == 1
    assert "metric_scores" not in again["stored"]

    other = spine.take("c", "jsonl", lines(*SET[:2]))

    assert (other["stored"]["data_version"], other["stored"]["metric_scores"]) == (2, 2)
    assert [(one.metric, one.n_outputs, one.data_version) for one in stored(spine)] == [("comet", 2, 2), ("ter", 0, 1)]
    there_and_back(spine, "c")


def test_scores_of_what_the_campaign_does_not_have_are_counted(spine: Spine) -> None:
    gone = [metric(1.0, "Z"), metric(1.0, **place(9)), metric(1.0, document="d9", position=1)]
    report = spine.take("c", "jsonl", lines(*texts(), SET[0], *gone))

    assert report["dropped"] == {"scores of automatic metrics of systems or segments that are not here": 3}
    assert [one.n_outputs for one in stored(spine)] == [1]


def test_a_metric_that_is_better_both_ways_is_refused_with_its_line(spine: Spine) -> None:
    with pytest.raises(ImportContradiction) as refused:
        spine.take("c", "jsonl", lines(*texts(), SET[0], {**SET[1], "higher_is_better": False}))
    assert [place.loc for place in refused.value.places] == [("file", len(texts()) + 3)]
    assert "whether higher is better by comet" in refused.value.places[0].msg


def test_a_score_said_twice_is_refused(spine: Spine) -> None:
    with pytest.raises(Invalid, match="bad line"):
        spine.take("c", "jsonl", lines(*texts(), SET[0], {**SET[0], "value": 0.75}))


def test_scores_of_score_files_join_a_campaign_that_is_there(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(*texts()))
    files = {
        "metric-scores/en-de/COMET.seg.score": b"A\t0.5\nA\tNone\nB\t1\nB\t2\nZ\t1\nZ\t2\n",
        "metric-scores/en-de/COMET.sys.score": b"A\t0.5\n",
    }
    report = spine.take("c", "mtme", files, options={"metric": "*", "language_pair": "en-de"})

    assert [(one.metric, one.n_outputs, one.n_of_systems) for one in stored(spine)] == [("COMET", 3, 1)]
    assert report["dropped"] == {"scores of automatic metrics of systems or segments that are not here": 2}


def test_a_draft_keeps_what_its_scores_are_about(spine: Spine) -> None:
    outputs = [line for line in texts() if line["type"] != "judgment"]
    spine.take("c", "jsonl", lines(*outputs, metric(0.5, "B", **place(1)), metric(1.0, "C"), SET[0]))
    spine.take("c", "jsonl", lines({"type": "system", "key": "C", "name": "C"}, metric(1.0, "C")))
    with spine.database.transaction() as session:
        for go in (
            lambda: test_sets.delete_system_outputs_on_document(session, "c", "B", "d1", actor="test"),
            lambda: test_sets.put_system_outputs_on_document(
                session, "c", "B", "d1", DocumentOutputsInput(["other", "B 2"]), actor="test"
            ),
            lambda: test_sets.delete_system(session, "c", "C", actor="test"),
        ):
            with pytest.raises(TestSetPartInUse, match="automatic metrics"):
                go()
