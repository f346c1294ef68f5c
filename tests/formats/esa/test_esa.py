"""Results of error span annotation as Appraise exports them."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest

from app import formats
from app.domain.errors import Invalid
from app.formats.base import CampaignRow, InputFile, ReadContext, ReaderLimits, ReadLog
from tests.formats.conftest import Parts, Read

NO_MARKS = "[]"
MINOR = '"[{""start_i"":0,""end_i"":2,""severity"":""minor"",""error_type"":null}]"'


def row(
    item: int,
    *,
    user: str = "u1",
    target: str = "wmt23.A",
    kind: str = "TGT",
    score: object = 80,
    document: str = "d1#A",
    whole: str = "False",
    marks: str = NO_MARKS,
    end: float = 100.0,
    languages: str = "eng,deu",
) -> str:
    return f"{user},{target},{item},{kind},{languages},{score},{document},{whole},{marks},{end - 5},{end}"


def lines(*rows: str) -> bytes:
    return "\n".join(rows).encode() + b"\n"


def test_a_row_is_a_judgment_with_score_errors_and_times(read: Read) -> None:
    found = read("esa", lines(row(7, marks=MINOR, score=0)))
    (judgment,) = found.judgments
    assert (judgment.task, judgment.rater, judgment.systems) == ("u1", "u1", ("A",))
    assert (judgment.document, judgment.position, judgment.role) == ("d1", 1, "rating")
    assert judgment.payload == {
        "protocol": "esa",
        "errors": [{"severity": "minor", "start": 0, "end": 3}],
        "score": 0.0,
    }
    assert judgment.submitted_at == datetime.fromtimestamp(100, UTC)
    head = found.of(CampaignRow)[0]
    assert (head.protocol, head.source_language, head.target_language) == ("esa", "eng", "deu")


def test_both_ends_of_a_mark_are_inclusive_and_those_of_a_prefilled_one_are_not(read: Read) -> None:
    prefilled = '"[{""start_i"":0,""end_i"":2,""severity"":""major""}]"'
    found = read("esa", lines(row(1, marks=MINOR), row(2, marks=prefilled)))
    spans = [j.payload["errors"][0] for j in found.judgments]
    assert [(s["start"], s["end"], s.get("prefill")) for s in spans] == [(0, 3, None), (0, 2, "auto")]


def test_missing_is_an_omission_without_a_place(read: Read) -> None:
    place = '""start_i"":""missing"",""end_i"":""missing""'
    marks = f'"[{{{place},""severity"":""major"",""error_type"":[""Accuracy"",""Omission""]}}]"'
    (judgment,) = read("esa", lines(row(1, marks=marks))).judgments
    assert judgment.payload["errors"] == [{"severity": "major", "omission": True, "category": "Accuracy/Omission"}]


def test_the_place_of_a_segment_is_its_place_among_the_items_of_its_document(read: Read) -> None:
    found = read(
        "esa",
        lines(
            row(41),
            row(42),
            row(5, user="u2", target="wmt23.B", document="d1#B"),
            row(6, user="u2", target="wmt23.B", document="d1#B"),
        ),
    )
    assert sorted((j.rater, j.position) for j in found.judgments) == [("u1", 1), ("u1", 2), ("u2", 1), ("u2", 2)]


def test_a_document_shown_in_part_is_left_out_and_counted(read: Read) -> None:
    found = read("esa", lines(row(41), row(42), row(9, user="u2")))
    assert [j.rater for j in found.judgments] == ["u1", "u1"]
    assert sum(found.log.dropped.values()) == 1
    assert "shows in part" in next(iter(found.log.dropped))


def test_an_item_that_is_the_line_of_the_test_set_says_which_segment_it_is(read: Read) -> None:
    whole = [row(item) for item in (41, 42, 43)]
    part = [row(item, user="u2", target="wmt24.B", kind="BAD", document="d1#B#bad1") for item in (42, 43)]
    other = [row(7, user="u2", document="d2#A")]

    found = read("esa", lines(*whole, *part, *other))

    assert sorted((j.rater, j.document, j.position) for j in found.judgments) == [
        *[("u1", "d1", position) for position in (1, 2, 3)],
        *[("u2", "d1", position) for position in (2, 3)],
        ("u2", "d2", 1),
    ]
    assert not found.log.dropped


def test_one_document_that_is_numbered_otherwise_makes_items_screens(read: Read) -> None:
    """Then the numbers of no document can be trusted, also where those of one happen to be alike."""
    alike, part = [row(41), row(42)], [row(42, user="u2")]
    moved = [row(3, document="d2#A"), row(9, user="u2", document="d2#A")]

    found = read("esa", lines(*alike, *part, *moved))

    assert sorted((j.rater, j.document, j.position) for j in found.judgments) == [
        ("u1", "d1", 1),
        ("u1", "d1", 2),
        ("u1", "d2", 1),
        ("u2", "d2", 1),
    ]
    assert sum(found.log.dropped.values()) == 1


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("d1#A#dup1", "filler repetitions (#dup)"),
        ("d1#A#incomplete", "parts of documents (#incomplete)"),
        ("d1#A#bad1#dup1", "filler repetitions (#dup)"),
        ("en_tutorial_1#A", "tutorials"),
        ("d1#A#tutorial", "tutorials"),
    ],
)
def test_what_never_reaches_a_ranking_is_dropped_and_counted(read: Read, document: str, reason: str) -> None:
    found = read("esa", lines(row(1), row(2, document=document)))
    assert len(found.judgments) == 1
    assert found.log.dropped == {reason: 1}


@pytest.mark.parametrize(
    ("kind", "document", "role"),
    [("BAD", "d1#A#bad3", "degraded"), ("REF", "d1#A#ref", "reference"), ("CHK", "d1#A", "repeat")],
)
def test_control_items_have_their_role_and_name_their_original(read: Read, kind: str, document: str, role: str) -> None:
    found = read("esa", lines(row(1), row(51, kind=kind, document=document)))
    original, control = sorted(found.judgments, key=lambda j: j.role != "rating")
    assert control.role == role
    assert control.position == original.position == 1
    assert control.item != original.item
    assert control.item_meta == {"of": original.item}
    assert original.item_meta is None


def test_of_several_answers_the_latest_comes_last_and_the_same_row_twice_counts_once(read: Read) -> None:
    rows = [row(1, score=10, end=300), row(1, score=90, end=200), row(1, score=90, end=200)]
    found = read("esa", lines(*rows))
    assert [j.payload["score"] for j in found.judgments] == [90.0, 10.0]
    assert len({(j.task, j.item, j.position) for j in found.judgments}) == 1
    assert found.log.notes == {"re-submissions: the latest counts": 1}
    assert found.log.repaired == {"rows that stand twice alike": 1}


def test_two_answers_at_one_time_contradict_each_other(read: Read) -> None:
    with pytest.raises(Invalid) as refused:
        read("esa", lines(row(1, score=10), row(1, score=20)))
    assert "at the same time" in refused.value.places[0].msg


def test_identical_outputs_are_credited_to_each_system(read: Read) -> None:
    (judgment,) = read("esa", lines(row(1, target="wmt23.B+wmt23.A", document="d1#A"))).judgments
    assert judgment.systems == ("A", "B")


def test_a_score_of_the_whole_document_has_no_position(read: Read) -> None:
    found = read("esa", lines(row(1), row(2, whole="True")))
    assert sorted(j.position is None for j in found.judgments) == [False, True]
    assert len({j.item for j in found.judgments}) == 1


def test_the_optional_columns_behind_are_let_be(read: Read) -> None:
    found = read("esa", lines(row(1) + ",batch1,17"))
    assert len(found.judgments) == 1


def test_marks_without_a_score_are_mqm_under_the_profile_of_these_campaigns(read: Read) -> None:
    found = read("esa", lines(row(1, marks=MINOR, score=0)), protocol="mqm")
    assert found.of(CampaignRow)[0].options == {"weights": "esa-mqm"}
    assert found.judgments[0].payload == {"protocol": "mqm", "errors": [{"severity": "minor", "start": 0, "end": 3}]}


def test_language_pairs_can_be_split_and_must_be(read: Read, parts: Parts) -> None:
    rows = lines(row(1), row(1, user="u2", languages="eng,ces"))
    with pytest.raises(Invalid, match="eng-ces, eng-deu") as refused:
        read("esa", rows)
    assert "split=language_pair" in refused.value.detail
    found = parts("esa", {"file": rows}, split="language_pair")
    assert {name: len(part.judgments) for name, part in found.items()} == {"eng-ces": 1, "eng-deu": 1}
    assert [part.of(CampaignRow)[0].target_language for part in found.values()] == ["ces", "deu"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row(1, kind="ABC"), "unknown type 'ABC'"),
        (row(1, score="NaN"), "not a number"),
        (row(1, score=""), "the score is empty"),
        (row(1).replace(",1,TGT", ",0,TGT"), "whole number from 1"),
        (row(1).replace(",1,TGT", ",x,TGT"), "whole number from 1"),
        (row(1, end=float("nan")), "not a time"),
        (row(1, end=1e15), "not a time"),
        (row(1, target=""), "the system is empty"),
        (row(1, target="wmt23."), None),
        (row(1, document=""), "the document is empty"),
        (row(1, marks='"[{""start_i"":3,""end_i"":1,""severity"":""minor""}]"'), "are no span"),
        (row(1, marks='"[{""start_i"":0,""end_i"":1,""severity"":""awful""}]"'), "unknown severity"),
        (row(1, marks='"{}"'), "must be a list"),
        (row(1, marks='"[1]"'), "unknown severity"),
        (row(1, marks='"[{""start_i"'), "double quote|JSON|columns"),
        (row(1, marks='"[') + '"', "double quote|JSON|columns"),
        ("a,b", "2 columns where 12 are needed"),
    ],
)
def test_a_bad_line_is_named_with_its_reason(read: Read, bad: str, reason: str | None) -> None:
    rows = lines(row(7, document="d9#A"), bad)
    if reason is None:
        assert len(read("esa", rows).judgments) == 2
        return
    with pytest.raises(Invalid) as refused:
        read("esa", {"x.csv": rows})
    (place,) = refused.value.places
    assert place.loc == ("x.csv", 2)
    assert any(part in place.msg for part in reason.split("|"))


@pytest.mark.parametrize("options", [{"scale": "z"}, {"protocol": "da"}, {"split": "rater"}])
def test_an_option_that_is_unknown_is_refused(read: Read, options: dict[str, str]) -> None:
    with pytest.raises(Invalid, match="option"):
        read("esa", lines(row(1)), **options)


def test_a_campaign_that_is_there_keeps_its_weights() -> None:
    body = lines(row(1, marks=MINOR, score=0))
    context = ReadContext({"protocol": "mqm"}, ReaderLimits(), "mqm")
    found = formats.get_format("esa").read
    assert found is not None
    (head, *_) = found([InputFile("f", lambda: io.BytesIO(body))], context, ReadLog())
    assert isinstance(head, CampaignRow)
    assert not head.options
