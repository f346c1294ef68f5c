"""MQM 2.0 scores of systems as a report: worked examples, a twin that counts mark by mark, refusals."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from app.domain.errors import Invalid
from app.domain.recipe import ExclusionTarget
from app.reports import registry
from app.reports.kit import request, store
from app.services.campaigns import exclusions
from app.storage import embedded
from tests.spine import Spine, fresh

Record = dict[str, Any]
REPORT = registry.ALL["campaign/mqm2"]
POINTS = {"neutral": 0.0, "minor": 1.0, "major": 5.0, "critical": 25.0}
WORKED: dict[str, tuple[int, Sequence[str]]] = {
    "ten": (1000, ["major"] * 2),
    "twenty": (1000, ["major"] * 3 + ["minor"] * 5),
    "short": (250, ["major", "minor", "minor", "neutral"]),
    "grave": (10_000, ["critical"]),
}
"""Words of the only segment of each system's document, and the errors that are marked in it."""


def judgment(rater: str, document: str, position: int, systems: Sequence[str], marks: Sequence[str]) -> Record:
    errors = [{"severity": severity, "category": "Accuracy/Mistranslation"} for severity in marks]
    return {
        "type": "judgment", "task": f"t-{rater}", "item": f"{document}-{''.join(systems)}", "position": position,
        "rater": rater, "systems": list(systems), "document": document, "role": "rating",
        "payload": {"protocol": "mqm2", "errors": errors},
    }  # fmt: skip


def file(systems: Sequence[str], records: Sequence[Record], **campaign: object) -> bytes:
    head: list[Record] = [
        {"type": "plumbline", "version": 1},
        {"type": "campaign", "protocol": "mqm2", **campaign},
        *({"type": "system", "key": key, "name": key, "kind": "mt"} for key in systems),
    ]
    return "\n".join(map(json.dumps, [*head, *records])).encode()


def segment(document: str, position: int, words: int) -> Iterator[Record]:
    if position == 1:
        yield {"type": "document", "key": document, "name": document}
    yield {"type": "segment", "document": document, "position": position, "source": "a " * words}


def worked() -> bytes:
    records: list[Record] = []
    for system, (words, marks) in WORKED.items():
        records += [*segment(f"d-{system}", 1, words), judgment("ann", f"d-{system}", 1, [system], marks)]
    return file(list(WORKED), records)


def random_records() -> list[Record]:
    """Two systems share an output now and then; one to three raters; one segment has no source."""
    rng = random.Random(7)
    records: list[Record] = []
    for n in range(8):
        document, position = f"d{n // 2}", 1 + n % 2
        if (document, position) != ("d3", 2):
            records += segment(document, position, rng.randint(3, 40))
        for systems in (["A", "B"], ["C"]) if n % 3 == 0 else (["A"], ["B"], ["C"]):
            for rater in rng.sample(["ann", "bob", "cem"], rng.randint(1, 3)):
                marks = rng.choices(list(POINTS), weights=[2, 6, 3, 1], k=rng.randint(0, 4))
                records.append(judgment(rater, document, position, systems, marks))
    return records


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("worked", "jsonl", worked())
        found.take("random", "jsonl", file("ABC", random_records()))
        found.take("own", "jsonl", file(["A"], own_weights(), options={"weights": {"Major": 3, "Critical": 30}}))
        yield found


def own_weights() -> list[Record]:
    return [*segment("d", 1, 100), judgment("ann", "d", 1, ["A"], ["major", "minor", "critical"])]


def report(spine: Spine, campaign: str, **query: str) -> dict[str, Any]:
    asking = request.ReportRequest(REPORT, (campaign,), request.parse_report_options(REPORT, query))
    view: dict[str, Any] = json.loads(store.find_or_compute_report(spine.database, asking).body)
    return view


def scores(view: dict[str, Any], *names: str) -> dict[str, tuple[Any, ...]]:
    return {one["system"]: tuple(one[name] for name in names) for one in view["systems"]}


def test_the_worked_examples_are_met_in_the_report(spine: Spine) -> None:
    view = report(spine, "worked", passing="90", points="10")
    found = scores(view, "words", "penalty", "normed", "raw", "calibrated", "passed", "critical")
    assert found["ten"] == (1000, 10, 10, 99, 90, True, 0)
    assert found["twenty"] == pytest.approx((1000, 20, 20, 98, 80, False, 0))
    assert found["grave"] == pytest.approx((10_000, 25, 2.5, 99.75, 97.5, False, 1))
    assert [one["system"] for one in view["systems"]] == ["grave", "ten", "twenty", "short"]
    assert view["warnings"] == [
        (
            "systems have different numbers of words, so they were judged on different texts; leave out documents that "
            "some lack"
        )
    ]
    short = scores(report(spine, "worked", passing="90", points="20"), "normed", "raw", "calibrated")["short"]
    assert short == pytest.approx((28, 97.2, 86))


def test_a_critical_error_fails_a_system_unless_that_is_switched_off(spine: Spine) -> None:
    assert scores(report(spine, "worked", passing="90", points="10"), "passed")["grave"] == (False,)
    lenient = report(spine, "worked", passing="90", points="10", critical_fails="false")
    assert scores(lenient, "passed", "critical")["grave"] == (True, 1)


def test_without_a_threshold_scores_are_raw_and_that_is_said(spine: Spine) -> None:
    view = report(spine, "worked")
    assert scores(view, "raw", "calibrated", "passed")["ten"] == (99, None, None)
    assert any("no threshold" in one for one in view["warnings"])


def test_scores_are_those_of_a_twin_that_counts_one_mark_at_a_time(spine: Spine) -> None:
    view, records = report(spine, "random", passing="80", points="50"), random_records()
    words = {(r["document"], r["position"]): len(r["source"].split()) for r in records if r["type"] == "segment"}
    of = defaultdict[str, dict[tuple[str, int], list[Sequence[str]]]](lambda: defaultdict(list))
    for one in records:
        if one["type"] == "judgment" and (one["document"], one["position"]) in words:
            marks = [error["severity"] for error in one["payload"]["errors"]]
            for system in one["systems"]:
                of[system][one["document"], one["position"]].append(marks)
    expected = {}
    for system, segments in of.items():
        points = sum(sum(POINTS[m] for marks in each for m in marks) / len(each) for each in segments.values())
        total = sum(words[at] for at in segments)
        grave = sum(marks.count("critical") for each in segments.values() for marks in each)
        expected[system] = (total, points, 100 * (1 - points / total), 100 - 1000 * points / total * 20 / 50, grave)
    found = scores(view, "words", "penalty", "raw", "calibrated", "critical")
    assert found.keys() == expected.keys() == set("ABC")
    for system, figures in expected.items():
        assert found[system] == pytest.approx(figures)
    lost = sum(
        len(r["systems"]) for r in records if r["type"] == "judgment" and (r["document"], r["position"]) not in words
    )
    assert [one["n"] for one in view["dropped"]] == [lost]
    assert lost > 0


def test_a_campaigns_own_weights_hold_and_what_they_do_not_know_is_said(spine: Spine) -> None:
    view = report(spine, "own")
    assert scores(view, "penalty") == {"A": (33,)}
    assert any("1 marked error without a weight under own" in one for one in view["warnings"])
    assert scores(report(spine, "own", weights="mqm2"), "penalty") == {"A": (31,)}


def test_what_a_standing_exclusion_names_is_left_out_and_counted(spine: Spine) -> None:
    spine.take("excluded", "jsonl", worked())
    with spine.database.transaction() as session:
        exclusions.create_exclusion(
            session, "excluded", ExclusionTarget("system", "ten"), reason="a test", actor="test"
        )
    view = report(spine, "excluded")
    assert set(scores(view)) == WORKED.keys() - {"ten"}
    assert view["dropped"] == [{"reason": "excluded system:ten", "n": 1}]


@pytest.mark.parametrize(
    ("query", "place"),
    [({"passing": "90"}, "points"), ({"points": "10"}, "passing"), ({"passing": "100", "points": "1"}, "passing"),
     ({"passing": "90", "points": "0"}, "points"), ({"weights": "nobodys"}, "weights")],
)  # fmt: skip
def test_half_a_threshold_and_impossible_ones_are_refused(spine: Spine, query: dict[str, str], place: str) -> None:
    with pytest.raises(Invalid) as refused:
        report(spine, "worked", **query)
    assert [one.loc for one in refused.value.places] == [("query", place)]


def test_a_campaign_whose_protocol_marks_no_errors_is_refused(spine: Spine) -> None:
    spine.take("scored", "jsonl", file("A", [], protocol="da"))
    with pytest.raises(Invalid) as refused:
        report(spine, "scored")
    assert "marks no errors" in refused.value.places[0].msg
