"""Relative rankings come in as comparisons of columns, are reported as preferences, and go out and in again equal."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from app.domain.errors import Invalid
from app.reports.kit import request, store
from app.reports.preferences.report import REPORT
from app.services.campaigns import data_seals
from tests.spine import Spine, opened

HEADER = "srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID"


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as world:
        yield world


def pair(segment: int, first: tuple[str, int], second: tuple[str, int], ranking: int, judge: str = "judge1") -> str:
    """A line as WMT16 published it."""
    named = (f"newstest2016.{name}.4361.cs-en,{rank}" for name, rank in (first, second))
    return f"cze,eng,{segment},{segment},{judge},{','.join(named)},{ranking}"


def sent(*lines: str) -> bytes:
    return "\n".join((HEADER, *lines, "")).encode()


# A beats B, which ties with the output that C and D share; in the second ranking B beats A.
RANKED = sent(
    pair(1, ("A", 1), ("B", 3), 1),
    pair(1, ("A", 1), ("C", 3), 1),
    pair(1, ("A", 1), ("D", 3), 1),
    pair(1, ("B", 3), ("C", 3), 1),
    pair(1, ("B", 3), ("D", 3), 1),
    pair(2, ("B", 2), ("A", 4), 2, "judge2"),
)


def test_rankings_of_wmt16_are_preferences(spine: Spine) -> None:
    report = spine.take("rr", "wmt-rr", RANKED)

    assert report["stored"]["comparisons"] == 2
    assert spine.ask("SELECT source_language, target_language, documents_known FROM campaigns") == [("cs", "en", False)]
    asking = request.ReportRequest(REPORT, ("rr",), request.parse_report_options(REPORT, {}))
    view = json.loads(store.find_or_compute_report(spine.database, asking).body)
    pairs = {(one["better"], one["worse"]): one for one in view["pairs"]}
    told = {names: (one["wins"], one["losses"], one["ties"]) for names, one in pairs.items()}
    assert told == {
        ("A", "B"): (1, 1, 0),
        ("A", "C"): (1, 0, 0),
        ("A", "D"): (1, 0, 0),
        ("B", "C"): (0, 0, 1),
        ("B", "D"): (0, 0, 1),
    }


def test_they_go_out_and_in_again_equal_and_sealed(spine: Spine) -> None:
    spine.take("rr", "wmt-rr", RANKED)
    exported = spine.export("rr")
    assert exported.count(b'"type":"comparison"') == 2

    spine.take("again", "jsonl", exported)

    assert spine.export("again") == exported
    with spine.database.transaction() as session:
        sealed = list(data_seals.verify_data_seals(session))
    assert [(one.campaign, one.faults) for one in sealed] == [("rr", ()), ("again", ())]


def test_the_same_again_changes_nothing_and_another_answer_is_a_revision(spine: Spine) -> None:
    spine.take("rr", "wmt-rr", RANKED)
    before = spine.counts()
    spine.take("rr", "wmt-rr", RANKED)
    assert spine.counts() == before

    spine.take("rr", "wmt-rr", sent(pair(2, ("B", 2), ("A", 2), 2, "judge2")))

    assert spine.ask("SELECT revision FROM screen_judgments WHERE screen = 2 ORDER BY revision") == [(1,), (2,)]


def test_a_screen_with_other_systems_than_before_is_refused_whole(spine: Spine) -> None:
    spine.take("rr", "wmt-rr", RANKED)
    before = spine.counts()

    with pytest.raises(Invalid):
        spine.take("rr", "wmt-rr", sent(pair(2, ("X", 2), ("B", 2), 2, "judge2")))

    assert spine.counts() == before


def test_a_ranking_of_more_systems_than_a_screen_has_columns_goes_out_and_in_again_equal(spine: Spine) -> None:
    names = [f"s{n:02}" for n in range(13)]
    spine.take("rr", "wmt-rr", sent(*(pair(1, (a, 2), (b, 2), 1) for a in names for b in names if a < b)))
    exported = spine.export("rr")

    spine.take("again", "jsonl", exported)

    assert spine.export("again") == exported


def test_an_item_that_stood_alone_joins_no_screen_whose_number_is_its_position(spine: Spine) -> None:
    told = {"protocol": "da", "score": 50}
    at = {"task": "t", "document": "d", "rater": "r"}
    judged = [
        {
            "type": "judgment",
            **at,
            "item": f"i{n}",
            "systems": [system],
            "position": 1,
            "payload": told,
            "item_position": n,
        }
        for n, system in enumerate("ABC", 1)
    ]
    compared = {"type": "comparison", **at, "screen": 3, "items": ["i1", "i2"], "columns": [["A"], ["B"]]}
    lines = [
        {"type": "plumbline", "version": 1},
        {"type": "campaign", "protocol": "da", "options": {"preference": "ranking"}},
        *judged,
        {**compared, "preference": [[1], [2]], "position": 1},
    ]
    spine.take("one", "jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())
    exported = spine.export("one")
    assert exported.count(b'"type":"comparison"') == 1
    spine.take("two", "jsonl", exported)
    assert spine.export("two") == exported
    view = json.loads(
        store.find_or_compute_report(
            spine.database, request.ReportRequest(REPORT, ("two",), request.parse_report_options(REPORT, {}))
        ).body
    )
    assert (view["n_screens"], [(one["better"], one["worse"]) for one in view["pairs"]]) == (1, [("A", "B")])
