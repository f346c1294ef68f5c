"""Calibration over campaigns goes by person: keys of raters are a campaign's own and do not tell who somebody is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest

from app.reports.datasheet import report as datasheet
from app.reports.kit import request, store
from app.reports.xsts import report as xsts
from app.reports.xsts.view import XstsView
from app.storage import embedded
from tests.spine import Spine, fresh

AGREED = 3.0


def campaign(
    source: str, target: str, given: Mapping[str, int], people: Mapping[str, str], anchor: int | None
) -> bytes:
    """Each rater gives the system one score throughout, and the calibration pair another where there is one."""
    records: list[dict[str, object]] = [
        {"type": "plumbline", "version": 1},
        {"type": "campaign", "protocol": "xsts", "source_language": source, "target_language": target},
        *({"type": "system", "key": key, "name": key, "kind": "mt"} for key in ("mt", "anchors")),
        *({"type": "rater", "key": key, "name": key, "person": who} for key, who in people.items()),
        {"type": "document", "key": "anchors:1", "name": "pair", "kind": "calibration", "meta": {"consensus": AGREED}},
        {"type": "segment", "document": "anchors:1", "position": 1, "source": "Anchor."},
    ]
    for rater, score in given.items():
        records += [judged(rater, "mt", f"d{n}", score, "rating") for n in range(4)]
        records += [judged(rater, "anchors", "anchors:1", anchor, "calibration")] if anchor is not None else []
    return "\n".join(map(json.dumps, records)).encode()


def judged(rater: str, system: str, document: str, score: int, role: str) -> dict[str, object]:
    return {
        "type": "judgment", "task": f"t-{rater}", "item": f"{system}-{document}".replace(":", "-"), "position": 1,
        "rater": rater, "systems": [system], "document": document, "role": role,
        "payload": {"protocol": "xsts", "score": score},
    }  # fmt: skip


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    """One person judged from Hindi as h1 and into it as h2, the calibration pair there only; who s is nobody said."""
    with fresh(postgres, migrated_template) as found:
        linked = {"h1": "asha"}, {"h2": "asha"}
        found.take("into", "jsonl", campaign("en", "hi", {"h2": 4}, linked[1], 5))
        found.take("from", "jsonl", campaign("hi", "en", {"h1": 4}, linked[0], None))
        found.take("into-sw", "jsonl", campaign("en", "sw", {"s": 4}, {}, 5))
        found.take("from-sw", "jsonl", campaign("sw", "en", {"s": 4}, {}, 2))
        found.take("twice", "jsonl", campaign("en", "ka", {"a": 2, "b": 3, "c": 5}, {"a": "one", "b": "one"}, 3))
        yield found


def compared(spine: Spine, *campaigns: str, **query: str) -> XstsView:
    question = request.parse_report_options(xsts.REPORT, {"bootstrap": "0", "method": "cs", "by": "rater", **query})
    asking = request.ReportRequest(xsts.REPORT, campaigns, question)
    return XstsView.model_validate(json.loads(store.find_or_compute_report(spine.database, asking).body))


def test_a_rater_is_moved_by_what_the_same_person_gave_under_another_key(spine: Spine) -> None:
    view = compared(spine, "into", "from")
    scores = {one.campaign: one.score_under_method("cs").value for one in view.systems}
    assert scores == {"into": 2.0, "from": 2.0}
    assert {(one.campaign, one.rater, one.anchors, one.moved) for one in view.raters} == {
        ("into", "h2", 5.0, True),
        ("from", "h1", 5.0, True),
    }
    assert view.warnings == ["lines by rater have no interval; use by=language for one"]


def test_raters_of_one_key_whom_nobody_linked_are_two_and_that_is_told(spine: Spine) -> None:
    view = compared(spine, "into-sw", "from-sw", pivot="en")
    scores = {one.campaign: one.score_under_method("cs").value for one in view.systems}
    assert scores == {"into-sw": 2.0, "from-sw": 5.0}
    told = "sw: raters with the same key in several campaigns count as different people because"
    assert f"{told} their accounts are not linked; link those of one person: rater:s" in view.warnings
    assert not any(
        "with the same key" in one
        for one in compared(spine, "into-sw", "from-sw", pivot="en", pool="campaign").warnings
    )


def test_two_accounts_of_one_person_are_one_voice_in_the_median(spine: Spine) -> None:
    """The median of 2, 3 and 5 is 3; that of the person's 2.5 and the other's 5 is 3.75."""
    view = compared(spine, "twice", method="raw")
    assert [one.score_under_method("raw").value for one in view.systems] == [3.75]
    assert view.directions[0].n_raters == 2
    assert view.systems[0].n_ratings == 8


def test_a_data_sheet_counts_people_and_tells_accounts_where_these_are_more(spine: Spine) -> None:
    for key, said in (("twice", "2, by 3 accounts"), ("into", "1")):
        body = store.find_or_compute_report(
            spine.database, request.ReportRequest(datasheet.REPORT, (key,), datasheet.REPORT.options())
        ).body
        sheet = json.loads(body)
        assert next(one["answer"] for one in sheet["heds"] if one["number"] == "3.2.1") == said
        assert sheet["methods"].startswith(f"{said[0]} rater")
