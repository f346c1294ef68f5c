"""`jsonl`: loses nothing, and takes nothing that is not as it should be."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    JudgmentRow,
    OutputRow,
    RaterRow,
    Record,
    SegmentRow,
    SystemRecord,
    VoidedJudgmentRow,
)
from tests.formats.conftest import NOWHERE, Read, Write

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
FULL: list[Record] = [
    CampaignRow(
        NOWHERE,
        "mqm",
        "en",
        "de",
        "source",
        "Démo",
        {"a": [1, 2.5, None, {"b": True}]},
        documents_known=False,
        slider_colors=True,
    ),
    SystemRecord(NOWHERE, "A", "Ä B", "human", "Lab", ("x", "y")),
    SystemRecord(NOWHERE, "B", "B"),
    DocumentRecord(NOWHERE, "d", "d #1", "calibration", "news", 3, {"k": 1}),
    RaterRow(NOWHERE, "r", "R. R.", "p1", {"native": "de"}),
    SegmentRow(NOWHERE, "d", 1, "Good dog.", {"refA": "Braver Hund."}, {"globalSegId": "7"}),
    SegmentRow(NOWHERE, "d", 2),
    OutputRow(NOWHERE, "A", "d", 1, "Guter\tHund\n\u2028🐶"),
    JudgmentRow(NOWHERE, "t", "i", ("A",), "d", None, "r", {"protocol": "da", "score": 0.0}),
    JudgmentRow(
        NOWHERE,
        "t",
        "i",
        ("A", "B"),
        "d",
        1,
        "r",
        {"protocol": "mqm", "errors": [{"severity": "minor", "start": 0, "end": 5}]},
        "repeat",
        accepted=False,
        revision=2,
        item_position=4,
        started_at=NOON,
        submitted_at=NOON + timedelta(microseconds=5),
        external_id="x",
        task_meta={"HITId": "h"},
        item_meta={"rid": 1},
        meta={"n": -0.5},
    ),
    VoidedJudgmentRow(NOWHERE, "t", "i", None, "r", "a mistake", "admin"),
]
JUDGMENT = {
    "type": "judgment",
    "task": "t",
    "item": "i",
    "systems": ["A"],
    "document": "d",
    "position": 1,
    "rater": "r",
    "payload": {"protocol": "da", "score": 5},
}
HEADER = {"type": "plumbline", "version": 1}


def by_hand(*lines: dict[str, object], header: dict[str, object] | None = None) -> bytes:
    return "\n".join(json.dumps(line) for line in (header or HEADER, *lines)).encode()


def test_every_field_of_every_record_survives(read: Read, write: Write) -> None:
    assert read("jsonl", write("jsonl", FULL)).plain == FULL


def test_what_is_written_again_is_the_same_bytes_whatever_the_order(read: Read, write: Write) -> None:
    once = write("jsonl", FULL)
    assert write("jsonl", read("jsonl", once).records) == once
    assert write("jsonl", reversed(FULL)) == once


def test_times_are_written_in_utc(read: Read, write: Write) -> None:
    there = NOON.astimezone(timezone(timedelta(hours=5)))
    record = JudgmentRow(NOWHERE, "t", "i", ("A",), "d", 1, "r", {"protocol": "da"}, submitted_at=there)
    written = write("jsonl", [record])
    assert b'"submitted_at":"2026-11-20T12:00:00Z"' in written
    assert read("jsonl", written).judgments[0].submitted_at == NOON


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda lines: lines[:-1], "cut"),
        (lambda lines: lines[:1], "cut"),
        (lambda lines: [*lines[:-2], lines[-1]], "altered"),
        (lambda lines: [lines[0], *reversed(lines[1:-1]), lines[-1]], "altered"),
        (lambda lines: [*lines, lines[1]], "after the end"),
        (lambda lines: lines[1:], "first line must be the header"),
        (lambda lines: [lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]], "reads version 1"),
        (lambda lines: [lines[0].replace(b'"version":1', b'"version":true'), *lines[1:]], "reads version 1"),
        (lambda lines: [lines[0].replace(b"{", b'{"x":1,'), *lines[1:]], "only"),
    ],
)
def test_a_sealed_file_that_was_cut_or_altered_is_refused(
    read: Read, write: Write, damage: object, reason: str
) -> None:
    lines = write("jsonl", FULL).splitlines()
    with pytest.raises(Invalid, match=reason):
        read("jsonl", b"\n".join(damage(lines)))


def test_a_file_by_hand_needs_a_header_only(read: Read) -> None:
    assert len(read("jsonl", by_hand(JUDGMENT)).judgments) == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"surprise": 1}, "surprise: no such field"),
        ({"task": None}, "task: must be a text"),
        ({"task": "a b"}, "task: must be a key"),
        ({"position": 0}, "position: must be a whole number"),
        ({"position": True}, "position: must be"),
        ({"position": 1.0}, "position: must be"),
        ({"position": 2**40}, "position: must be"),
        ({"systems": []}, "systems: must be a list"),
        ({"systems": "A"}, "systems: must be a list"),
        ({"systems": [1]}, "systems: must be a text"),
        ({"accepted": 1}, "accepted: must be true or false"),
        ({"role": "judge"}, "role: must be one of"),
        ({"payload": []}, "payload: must be an object"),
        ({"submitted_at": "2026-11-20"}, "submitted_at: must be a time"),
        ({"submitted_at": "2026-02-30T00:00:00Z"}, "submitted_at: is no time"),
        ({"submitted_at": "2026-11-20T00:00:00+01:00"}, "submitted_at: must be a time"),
        ({"type": "verdict"}, "type: must be one of"),
        ({"type": ["x"]}, "type: must be one of"),
    ],
)
def test_a_field_that_will_not_do_is_a_bad_line_that_names_it(read: Read, change: dict[str, object], says: str) -> None:
    with pytest.raises(Invalid) as refused:
        read("jsonl", {"x": by_hand({**JUDGMENT, **change})})
    assert refused.value.places[0].loc == ("x", 2)
    assert says in refused.value.places[0].msg


@pytest.mark.parametrize(
    "line",
    [
        {"type": "segment", "document": "d", "position": None, "source": "x"},
        {"type": "output", "system": "A", "document": "d", "position": None, "text": "x"},
    ],
)
def test_a_segment_and_an_output_have_a_place(read: Read, line: dict[str, object]) -> None:
    with pytest.raises(Invalid) as refused:
        read("jsonl", {"x": by_hand(line)})
    assert refused.value.places[0].loc == ("x", 2)
    assert "position: must be a whole number" in refused.value.places[0].msg


@pytest.mark.parametrize("missing", ["task", "systems", "position", "payload", "type"])
def test_a_missing_field_is_named(read: Read, missing: str) -> None:
    with pytest.raises(Invalid) as refused:
        read("jsonl", by_hand({k: v for k, v in JUDGMENT.items() if k != missing}))
    assert missing in refused.value.places[0].msg


def test_null_is_as_good_as_nothing_where_nothing_is_allowed(read: Read) -> None:
    assert read("jsonl", by_hand({**JUDGMENT, "meta": None})).plain == read("jsonl", by_hand(JUDGMENT)).plain


def test_identical_lines_count_once_and_others_about_the_same_thing_contradict(read: Read) -> None:
    same = read("jsonl", by_hand(JUDGMENT, dict(reversed(JUDGMENT.items()))))
    assert len(same.judgments) == 1
    assert same.log.repaired["identical lines"] == 1
    with pytest.raises(Invalid) as refused:
        read("jsonl", {"x": by_hand(JUDGMENT, {**JUDGMENT, "payload": {"protocol": "da", "score": 6}})})
    assert "neither revision nor submitted_at" in refused.value.places[0].msg
    outputs = [{"type": "output", "system": "A", "document": "d", "position": 1, "text": t} for t in "ab"]
    with pytest.raises(Invalid) as refused:
        read("jsonl", {"x": by_hand(*outputs)})
    assert refused.value.places[0].loc == ("x", 3)
    assert refused.value.places[0].msg == "contradicts line 2 of x, which is about the same thing"


def test_revisions_come_in_order(read: Read) -> None:
    lines = [{**JUDGMENT, "revision": n, "payload": {"protocol": "da", "score": n}} for n in (10, 9, 1, 2)]
    assert [j.revision for j in read("jsonl", by_hand(*lines)).judgments] == [1, 2, 9, 10]
    times = [{**JUDGMENT, "submitted_at": f"2026-11-20T{h}:00:00{f}Z"} for h, f in ((12, ""), (11, ".5"), (11, ""))]
    found = [j.submitted_at for j in read("jsonl", by_hand(*times)).judgments]
    assert found == sorted(found)


def test_white_space_at_the_ends_of_a_text_is_stripped_and_spans_follow(read: Read) -> None:
    spans = [{"severity": "minor", "start": s, "end": e} for s, e in ((0, 2), (2, 5), (4, 8))]
    found = read(
        "jsonl",
        by_hand(
            {**JUDGMENT, "payload": {"protocol": "mqm", "errors": spans}},
            {"type": "output", "system": "A", "document": "d", "position": 1, "text": "  Hund  "},
        ),
    )
    assert found.of(OutputRow)[0].text == "Hund"
    errors = found.judgments[0].payload["errors"]
    assert [(e["start"], e["end"]) for e in errors] == [(0, 0), (0, 3), (2, 4)]
    assert found.log.repaired["white space at the ends of a text"] == 1


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.dictionaries(st.text("xyz", min_size=1, max_size=3), JSON, max_size=3), max_size=5), st.randoms())
def test_any_json_survives_and_no_order_matters(
    read: Read, write: Write, metas: list[dict[str, object]], rng: random.Random
) -> None:
    records: list[Record] = [
        JudgmentRow(NOWHERE, "t", "i", ("A",), "d", n + 1, "r", {"protocol": "da", "score": 0.1}, meta=meta)
        for n, meta in enumerate(metas)
    ]
    once = write("jsonl", records)
    assert read("jsonl", once).plain == records
    assert write("jsonl", read("jsonl", once).records) == once
    header, *lines = by_hand(*(json.loads(line) for line in once.splitlines()[1:-1])).splitlines()
    rng.shuffle(lines)
    assert read("jsonl", b"\n".join([header, *lines])).plain == records


@pytest.mark.parametrize("revision", [0, 1_000_001, 2**31 - 1])
def test_a_revision_that_leaves_no_room_for_the_next_is_refused_by_line(read: Read, revision: int) -> None:
    row = {"type": "judgment", "task": "t", "item": "i", "systems": ["A"], "document": "d", "position": 1, "rater": "r"}
    rows = [{**row, "payload": {"protocol": "da", "score": 0}, "revision": n} for n in (1_000_000, revision)]
    data = "".join(json.dumps(one) + "\n" for one in ({"type": "plumbline", "version": 1}, *rows)).encode()
    with pytest.raises(Invalid) as refused:
        read("jsonl", {"bad.file": data})
    assert [place.loc for place in refused.value.places] == [("bad.file", 3)]
    assert "revision: must be a whole number from 1 to 1,000,000" in refused.value.places[0].msg
