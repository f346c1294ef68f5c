"""Batches of Appraise become a test set; its results are read as `esa` is."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.formats.base import CampaignRow, InputFile, OutputRow, ReaderLimits, ReadLog, SegmentRow
from app.formats.kit import reading as _reading
from app.formats.kit.json_stream import stream_json_values
from tests.formats.conftest import Found, Read

TASK = {"batchNo": 1, "batchSize": 100, "sourceLanguage": "eng", "targetLanguage": "deu", "requiredAnnotations": 1}


def item(document: str, target: str, source: str, text: str, **more: object) -> dict[str, object]:
    known = {"documentID": document, "targetID": target, "sourceText": source, "targetText": text}
    return {**known, "itemType": "TGT", "isCompleteDocument": False, "mqm": [], "itemID": 7, **more}


def batches(*tasks: list[dict[str, object]]) -> bytes:
    return json.dumps([{"items": items, "task": TASK} for items in tasks], indent=1).encode()


WHOLE = [
    item("d1", "wmt23.A", "One.", "Eins."),
    item("d1", "wmt23.A", "Two.<br>2", "Zwei.<br>2"),
    item("d1", "wmt23.A", "One. Two.", "Eins. Zwei.", isCompleteDocument=True),
    item("d1#bad", "wmt23.A", "One.", "Käse.", itemType="BAD"),
    item("en-tutorial1", "en-tutorial1", "x", "y"),
    item("d1#B#dup1", "wmt23.B", "One.", "Eins."),
]


def texts(found: Found) -> dict[tuple[str, str, int], str]:
    return {(r.system, r.document, r.position): r.text for r in found.of(OutputRow)}


def test_items_are_outputs_and_copies_are_left_out(read: Read) -> None:
    found = read("appraise", batches([{**WHOLE[0], "documentDomain": "news"}, *WHOLE[1:]]))

    assert texts(found) == {("A", "d1", 1): "Eins.", ("A", "d1", 2): "Zwei.\n2"}
    assert [(r.position, r.source) for r in found.of(SegmentRow)] == [(1, "One."), (2, "Two.\n2")]
    (head,) = found.of(CampaignRow)
    assert (head.protocol, head.source_language, head.target_language) == ("esa", "eng", "deu")
    unread = "members of batches that nothing is read from: "
    assert found.log.dropped == {
        "items that stand for a whole document": 1,
        "control items (BAD, REF)": 1,
        "tutorials": 1,
        "filler repetitions (#dup)": 1,
        "fields of items that nothing is read from: documentDomain": 1,
        **{f"{unread}{name}": 1 for name in TASK.keys() - {"sourceLanguage", "targetLanguage"}},
    }


def test_identical_outputs_are_stored_for_each_system(read: Read) -> None:
    found = read("appraise", batches([item("d1", "wmt23.A+wmt23.B", "One.", "Eins.")]))

    assert {r.system for r in found.of(OutputRow)} == {"A", "B"}


def test_a_part_of_a_document_is_placed_by_its_sources(read: Read) -> None:
    found = read("appraise", batches([item("d1", "B", "Two.<br>2", "zwei")], WHOLE))

    assert texts(found)["B", "d1", 2] == "zwei"


def test_a_document_with_other_sources_is_a_bad_batch(read: Read) -> None:
    with pytest.raises(Invalid) as raised:
        read("appraise", {"b.json": batches(WHOLE, [item("d1", "B", "Three.", "drei")])})

    (place,) = raised.value.places
    assert place.loc[0] == "b.json"
    assert int(place.loc[1]) > 60
    assert "other sources" in place.msg


def test_errors_filled_in_beforehand_are_shown_with_the_output(read: Read) -> None:
    payload = [
        {"start_i": 0, "end_i": 4, "severity": "minor"},
        {"start_i": "missing", "end_i": "missing", "severity": "major"},
    ]
    found = read("appraise", batches([item("d1", "A", "One.", " Eins.", mqm={"payload": payload})]))

    (output,) = found.of(OutputRow)
    assert output.text == "Eins."
    assert output.prefill == (
        {"severity": "minor", "start": 0, "end": 3},
        {"severity": "major", "omission": True},
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'[{"items": 3}]', "list of items"),
        (b'[{"items": [{}]}]', "targetID"),
        (b'[{"items": [{"targetID": "A", "documentID": "d"}]}]', "sourceText"),
        (b'[{"items": [], "items": []}]', "twice"),
    ],
)
def test_a_bad_batch_is_named_by_file_and_line(read: Read, body: bytes, reason: str) -> None:
    with pytest.raises(Invalid) as raised:
        read("appraise", {"b.json": b"\n\n" + body})

    assert raised.value.places[0].loc == ("b.json", 3)
    assert reason in raised.value.places[0].msg


@pytest.mark.parametrize("body", [b"[", b'[{"items": []}', b"[1}", b"[1] 2", b'{"a" 1}', b"[" * 100, b"{a: 1}"])
def test_what_is_not_one_json_value_is_refused(read: Read, body: bytes) -> None:
    with pytest.raises(Invalid):
        read("appraise", body)


def test_results_are_read_as_esa_is(read: Read) -> None:
    line = b"eng1,wmt23.A,1,TGT,eng,deu,80,d1#A,False,[],1700000000.0,1700000001.0\n"

    assert read("appraise", line).plain == read("esa", line).plain


def test_batches_and_results_are_two_imports(read: Read) -> None:
    with pytest.raises(Invalid, match="one after the other"):
        read("appraise", {"b.json": batches(WHOLE), "r.csv": b"eng1,wmt23.A,1,TGT,eng,deu,80,d,False,[],1,2\n"})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "]"]), inner, max_size=3),
    max_leaves=8,
)


@given(
    value=st.lists(VALUES, max_size=5) | st.dictionaries(st.sampled_from(["x", "y", "{"]), VALUES, max_size=3),
    indent=st.none() | st.just(1),
    block=st.integers(4, 40),
)
def test_pieces_are_what_a_parser_finds_in_the_whole(value: object, indent: int | None, block: int) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=False).encode()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_reading, "BLOCK", block)
        found = list(stream_json_values(InputFile("f", lambda: io.BytesIO(body)), ReaderLimits(), ReadLog()))

    assert [(p.key, p.value, p.is_array_element) for p in found] == list(_expected(value))


def _expected(value: object) -> Iterator[tuple[str | None, object, bool]]:
    if isinstance(value, list):
        yield from ((None, one, True) for one in value)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from ((key, each, True) for each in one) if isinstance(one, list) else ((key, one, False),)


def batch(*items: dict[str, object]) -> bytes:
    task = {"sourceLanguage": "eng", "targetLanguage": "deu"}
    return json.dumps([{"items": list(items), "task": task}]).encode()


def shown(number: int, source: str, *, kind: str = "TGT", system: str = "A", **more: object) -> dict[str, object]:
    text = f"{system} of {source}" if kind == "TGT" else "degraded"
    return {
        "itemID": number,
        "itemType": kind,
        "sourceText": source,
        "targetID": f"t.{system}",
        "targetText": text,
        **more,
    }


def test_control_items_among_others_count_for_positions_and_show_nothing(read: Read) -> None:
    whole = [shown(n, f"s{n}", documentID="d") for n in range(4)]
    mixed = [shown(n, f"s{n}", kind="BAD" if n % 2 else "TGT", system="B", documentID="d") for n in range(4)]
    copies = [shown(n, f"s{n}", kind="BAD", system="B", documentID="d#bad1") for n in range(2)]

    found = read("appraise", batch(*whole, *mixed, *copies))

    assert sorted((r.system, r.position, r.text) for r in found.of(OutputRow)) == [
        *[("A", n + 1, f"A of s{n}") for n in range(4)],
        ("B", 1, "B of s0"),
        ("B", 3, "B of s2"),
    ]
    assert found.log.dropped == {"control items (BAD, REF)": 4}
    assert found.of(CampaignRow)[0].documents_known is None


def test_items_of_no_document_are_lines_of_a_test_set(read: Read) -> None:
    items = [shown(68, "x"), shown(3, "y"), shown(68, "x", system="B"), shown(3, "y", kind="BAD")]

    found = read("appraise", batch(*items))

    assert found.of(CampaignRow)[0].documents_known is False
    assert {(r.document, r.position, r.source) for r in found.of(SegmentRow)} == {
        ("unknown", 69, "x"),
        ("unknown", 4, "y"),
    }
    assert [(r.system, r.position) for r in found.of(OutputRow)] == [("A", 69), ("A", 4), ("B", 69)]


def test_where_batches_number_sources_otherwise_the_sources_tell_segments_apart(read: Read) -> None:
    first, second = batch(shown(1, "x"), shown(2, "y")), batch(shown(1, "y", system="B"), shown(2, "x", system="B"))

    found = read("appraise", {"1.json": first, "2.json": second})

    assert [(r.system, r.position, r.text) for r in found.of(OutputRow)] == [
        ("A", 1, "A of x"),
        ("A", 2, "A of y"),
        ("B", 2, "B of y"),
        ("B", 1, "B of x"),
    ]


@pytest.mark.parametrize("number", [None, "7", -1, 2_000_000, True])
def test_an_item_of_no_document_must_say_its_line(read: Read, number: object) -> None:
    with pytest.raises(Invalid) as raised:
        read("appraise", batch({**shown(1, "x"), "itemID": number}))

    assert "itemID must be a line of the test set" in raised.value.places[0].msg


def test_pairs_show_two_systems_an_item(read: Read) -> None:
    items = [
        {
            "itemType": "TGT",
            "documentID": "d",
            "segmentText": f"s{n}",
            "targets": [{"targetID": f"t.{system}", "targetText": f"{system}{n}"} for system in "AB"],
        }
        for n in range(2)
    ]

    found = read("appraise", batch(*items))

    assert [(r.system, r.position, r.text) for r in found.of(OutputRow)] == [
        ("A", 1, "A0"),
        ("A", 2, "A1"),
        ("B", 1, "B0"),
        ("B", 2, "B1"),
    ]
