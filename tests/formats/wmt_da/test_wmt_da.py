"""`wmt-da`: presentations, roles, filtered and unfiltered files, and scores that are none."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.formats.base import CampaignRow, DocumentRecord, RaterRow, SystemRecord
from app.formats.wmt_da.rows import COLUMNS, split_da_cells
from tests.formats.conftest import Read, Write

HEADER = "\t".join(COLUMNS)


def row(
    score: object = 50,
    *,
    sid: object = 1,
    system: str = "A",
    worker: str = "w1",
    hit: str = "h1",
    rid: object = 7,
    kind: str = "SYSTEM",
    pair: str = "cs\ten",
    time: object = "931.0",
) -> str:
    return f"{hit}\t{worker}\t{pair}\tad\t4\t{system}\t{rid}\t{kind}\t{sid}\t{score}\t{time}"


def table(*rows: str, header: str = HEADER) -> bytes:
    return "\n".join([header, *rows, ""]).encode()


def test_a_row_is_a_judgment_and_its_presentation_is_an_item(read: Read) -> None:
    found = read("wmt-da", table(row(), row(0, sid=2, rid=8, kind="BAD_REF", worker="w2", time="NA")))
    first, second = found.judgments
    assert (first.task, first.item, first.rater, first.systems) == ("h1:w1", "7:A:SYSTEM", "w1", ("A",))
    assert (first.document, first.position, first.role, first.accepted) == ("unknown", 1, "rating", True)
    assert first.payload == {"protocol": "da", "score": 50.0}
    assert (first.task_meta, first.item_meta) == ({"HITId": "h1"}, {"rid": "7", "hit": "4"})
    assert (first.meta, second.meta) == ({"seconds": 931.0}, None)
    assert (second.payload, second.role) == ({"protocol": "da", "score": 0.0}, "degraded")
    campaign = found.of(CampaignRow)[0]
    assert (campaign.protocol, campaign.source_language, campaign.target_language) == ("da", "cs", "en")
    assert campaign.documents_known is False


@pytest.mark.parametrize(
    ("kind", "role"), [("SYSTEM", "rating"), ("REPEAT", "repeat"), ("REF", "reference"), ("BAD_REF", "degraded")]
)
def test_types_are_roles(read: Read, kind: str, role: str) -> None:
    assert read("wmt-da", table(row(kind=kind))).judgments[0].role == role


@pytest.mark.parametrize(
    ("sid", "document", "position", "meta"),
    [
        ("177", "unknown", 177, {"seconds": 931.0}),
        ("doc.3", "doc", 3, {"seconds": 931.0}),
        ("hi-bn-0-46-1001558.1_1", "hi-bn-0-46-1001558", 1, {"sid": "hi-bn-0-46-1001558.1_1", "seconds": 931.0}),
        ("a.b.12", "a.b", 12, {"seconds": 931.0}),
        ("007", "unknown", 7, {"sid": "007", "seconds": 931.0}),
    ],
)
def test_a_sid_names_the_segment_and_perhaps_its_document(
    read: Read, sid: str, document: str, position: int, meta: object
) -> None:
    found = read("wmt-da", table(row(sid=sid)))
    assert (found.judgments[0].document, found.judgments[0].position) == (document, position)
    assert found.judgments[0].meta == meta
    assert found.of(CampaignRow)[0].documents_known is (document != "unknown")


def test_items_of_known_documents_do_not_reach_over_documents(read: Read) -> None:
    found = read("wmt-da", table(row(sid="a.1"), row(sid="a.2"), row(sid="b.1")))
    assert [j.item for j in found.judgments] == ["7:A:SYSTEM:a"] * 2 + ["7:A:SYSTEM:b"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        *(
            (row(score), "not a number")
            for score in ("NaN", "inf", "0x1F", "1e999", "1_0", "٥", "5,0", "--5", "", "1" * 50)
        ),
        *((row(score), "not from 0 to 100") for score in ("-1", "100.01", "1e30")),
        (row(kind="CHK"), "unknown type 'CHK'"),
        *((row(sid=sid), "neither a number from 1 nor") for sid in ("0", "doc", "doc.x", "doc.0", ".5", "1e3")),
        (row(time="soon"), "not a number"),
        (row() + "\tmore", "13 columns where 12"),
        (row(system='"Online'), "double quote"),
        (row(system='On"line"'), "double quote"),
        (row(system="x" * 400), "more than 300 characters"),
        (row(system='""'), "a cell is empty"),
    ],
)
def test_a_bad_line_is_named_with_its_reason(read: Read, line: str, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        read("wmt-da", {"x": table(row(), line)})
    assert [place.loc for place in refused.value.places] == [("x", 3)]
    assert says in refused.value.places[0].msg or (
        says == "not a number" and "11 columns" in refused.value.places[0].msg
    )


def test_standardised_scores_have_no_range(read: Read) -> None:
    found = read("wmt-da", table(row("-2.31"), row("3.5", sid=2)), scale="z")
    assert [j.payload["score"] for j in found.judgments] == [-2.31, 3.5]
    assert found.of(CampaignRow)[0].options == {"scale": "z"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"scale": "t"}, "only z"),
        ({"accepted": "a"}, "at least two files"),
        ({"split": "language_pair"}, "several campaigns"),
        ({"columns": "12"}, "no option"),
    ],
)
def test_an_option_that_will_not_do_is_refused(read: Read, options: dict[str, str], says: str) -> None:
    with pytest.raises(Invalid, match=says):
        read("wmt-da", {"a": table(row())}, **options)


def test_rows_that_only_the_unfiltered_file_has_were_rejected(read: Read) -> None:
    files = {"good.csv": table(row()), "all.csv": table(row(), row(10, sid=2))}
    found = read("wmt-da", files, accepted="good.csv")
    assert [(j.position, j.accepted) for j in found.judgments] == [(1, True), (2, False)]
    assert not found.log.repaired


@pytest.mark.parametrize(
    ("extra", "says"), [(row(9, sid=3), "is not in the unfiltered one"), (row(51, sid=2), "another score or time")]
)
def test_a_filtered_file_that_says_otherwise_is_refused(read: Read, extra: str, says: str) -> None:
    files = {"good.csv": table(row(), extra), "all.csv": table(row(), row(10, sid=2))}
    with pytest.raises(Invalid) as refused:
        read("wmt-da", files, accepted="good.csv")
    assert says in refused.value.places[0].msg


def test_a_row_that_stands_twice_alike_counts_once(read: Read) -> None:
    found = read("wmt-da", table(row("50"), row("50.0")))
    assert len(found.judgments) == 1
    assert found.log.repaired["rows that stand twice alike"] == 1


def test_one_presentation_with_two_scores_is_refused_with_both_lines(read: Read) -> None:
    with pytest.raises(Invalid) as refused:
        read("wmt-da", {"x": table(row(50), row(60))})
    assert refused.value.places[0].loc == ("x", 3)
    assert "line 2 of x" in refused.value.places[0].msg


def test_two_sids_of_one_segment_are_refused(read: Read) -> None:
    with pytest.raises(Invalid, match="bad line") as refused:
        read("wmt-da", table(row(sid="a.1_1"), row(sid="a.1_2", worker="w2")))
    assert "same segment" in refused.value.places[0].msg


def test_several_language_pairs_are_refused_and_named(read: Read) -> None:
    with pytest.raises(Invalid, match="cs-en, de-en"):
        read("wmt-da", table(row(), row(sid=2, pair="de\ten")))


def test_sids_with_and_without_documents_do_not_go_together(read: Read) -> None:
    with pytest.raises(Invalid, match="some sids name a document"):
        read("wmt-da", table(row(), row(sid="a.2")))


@pytest.mark.parametrize(
    ("header", "says"),
    [(HEADER.replace("sid", "seg"), "lacks sid; found HITId"), (HEADER + "\tx", "too many"), (row(), "lacks HITId")],
)
def test_a_header_that_will_not_do_is_refused_with_line_and_columns(read: Read, header: str, says: str) -> None:
    with pytest.raises(Invalid, match=says) as refused:
        read("wmt-da", {"x": table(row(), header=header)})
    assert refused.value.places[0].loc == ("x", 1)


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("a\tb  c", ["a", "b", "c"]),
        ('a "b c"\td', ["a", "b c", "d"]),
        ("  ä\t b\u00a0c ", ["ä", "b\u00a0c"]),
        ('"a"', ["a"]),
    ],
)
def test_cells_are_apart_by_tabs_and_blanks_and_quotes_hold_blanks(line: str, cells: list[str]) -> None:
    assert split_da_cells(line) == cells


def test_names_that_are_no_keys_are_mapped_and_kept(read: Read) -> None:
    found = read("wmt-da", table(row(system='"Online W"', worker="Jörg", sid="ä.1")))
    assert [(r.name) for kind in (SystemRecord, RaterRow, DocumentRecord) for r in found.of(kind)] == [
        "Online W",
        "Jörg",
        "ä",
    ]


def test_a_system_named_human_is_a_human_translation_and_the_report_says_so(read: Read) -> None:
    found = read("wmt-da", table(row(system="HUMAN.0"), row(system="HUMAN.0", sid=2), row(system="Humane")))
    assert [(r.key, r.kind) for r in found.of(SystemRecord)] == [("HUMAN.0", "human")], (
        "the other one is known by its key"
    )
    assert found.log.notes == {"judgments of HUMAN.0, taken for a human translation by its name": 2}


def test_a_human_translation_whose_name_is_no_key_keeps_its_name(read: Read) -> None:
    (system,) = read("wmt-da", table(row(system='"HUMAN B"'))).of(SystemRecord)
    assert (system.name, system.kind) == ("HUMAN B", "human")


@st.composite
def tables(draw: st.DrawFn) -> list[str]:
    """Rows that do not contradict each other."""
    keys = st.tuples(
        st.integers(1, 4), st.sampled_from(["A", '"B b"', '"ç"']), st.sampled_from(["w1", "w2"]), st.sampled_from("78")
    )
    found = draw(st.lists(keys, min_size=1, max_size=10, unique=True))
    kinds = st.sampled_from(["SYSTEM", "REF"])
    scores = st.one_of(st.integers(0, 100), st.floats(0, 100))
    return [row(draw(scores), sid=f"d.{s}_{s}", system=y, worker=w, rid=r, kind=draw(kinds)) for s, y, w, r in found]


@settings(deadline=None, max_examples=40)
@given(tables(), st.randoms(use_true_random=False))
def test_neither_order_nor_writing_changes_the_records(
    read: Read, write: Write, rows: list[str], rng: random.Random
) -> None:
    once, lost = read("wmt-da", table(*rows)), Counter[str]()
    assert read("wmt-da", table(*rng.sample(rows, len(rows)))).plain == once.plain
    written = write("wmt-da", once.records, lost)
    assert read("wmt-da", written).plain == once.plain
    assert not +lost


def test_what_the_table_cannot_carry_is_counted(read: Read, write: Write) -> None:
    files = {"good": table(row()), "all": table(row(), row(10, sid=2))}
    lost = Counter[str]()
    write("wmt-da", read("wmt-da", files, accepted="good").records, lost)
    assert lost == {"that a task was rejected": 1}
