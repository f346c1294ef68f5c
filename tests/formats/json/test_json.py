"""`json`: bio-MQM, SummEval and maps of one's own; what is wrong is named, what is not used is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.domain.errors import Invalid
from app.formats.base import DocumentRecord, OutputRow, RaterRow, SegmentRow, SystemRecord
from tests.formats.conftest import Read


def bio(n: int, source: str, target: str, system: str = "TMT_run1", **more: Any) -> dict[str, Any]:
    """A segment as bio-MQM publishes it."""
    return {
        "source": source,
        "target": target,
        "SEG_ID": str(n),
        "filename": f"{system}_abstract_de2en_en.txt",
        "MT_Engine": system,
        "source_locale": "de_en",
        "target_locale": "de_en",
        "source_errors": [],
        "target_errors": [],
        "Annotator_ID": 5367941,
        **more,
    }


GRAMMAR = {"term": "with", "startIndex": 3, "endIndex": 6, "error_category": "Grammar", "severity": "Major"}
SEGMENTS = [bio(1, "Eins.", "One."), bio(2, "Zwei.", "So with with.", target_errors=[GRAMMAR]), bio(1, "Drei.", "3.")]


def sent(*objects: object) -> bytes:
    """An array, indented as published."""
    return json.dumps(objects, ensure_ascii=False, indent=4).encode()


def test_bio_mqm_has_a_new_document_where_its_numbers_begin_again(read: Read) -> None:
    others = [bio(2, "Zwei.", "Two.", "B"), bio(1, "Drei.", "Three.", "B")]
    found = read("json", {"a.json": sent(*SEGMENTS), "b.json": sent(*others)}, map="bio-mqm")

    judged = [(j.systems, j.document, j.position, j.rater) for j in found.judgments]
    assert judged == [
        (("TMT_run1",), "document-1", 1, "5367941"),
        (("TMT_run1",), "document-1", 2, "5367941"),
        (("TMT_run1",), "document-2", 1, "5367941"),
        (("B",), "document-1", 2, "5367941"),
        (("B",), "document-2", 1, "5367941"),
    ]
    assert found.judgments[1].payload["errors"] == [
        {"severity": "major", "start": 3, "end": 7, "category": "Grammar"},
    ]
    assert [row.text for row in found.of(OutputRow)][:2] == ["One.", "So with with."]
    assert found.log.dropped["field 'source_locale' of an object: the map gives it no meaning"] == 5
    assert not found.log.notes


def test_two_sentences_for_one_are_one_output_with_the_errors_of_both(read: Read) -> None:
    on_source = {**GRAMMAR, "startIndex": 0, "endIndex": 3}
    first = bio(2, "Zwei und.", "So with.", target_errors=[GRAMMAR])
    second = bio(2, "Zwei und.", "We with.", target_errors=[GRAMMAR], source_errors=[on_source])
    found = read("json", sent(SEGMENTS[0], first, second, bio(1, "Drei.", "3.")), map="bio-mqm")

    (joined,) = [row for row in found.of(OutputRow) if row.position == 2]
    assert joined.text == "So with. We with."
    errors = found.judgments[1].payload["errors"]
    marked = [joined.text[e["start"] : e["end"]] for e in errors if e.get("side") != "source"]
    assert (marked, len(errors)) == (["with", "with"], 3)
    assert found.log.repaired["objects with the next sentence of the output before them: joined to it"] == 1


def test_another_answer_to_the_same_output_is_a_bad_line(read: Read) -> None:
    with pytest.raises(Invalid) as raised:
        read("json", sent(SEGMENTS[0], {**SEGMENTS[0], "target_errors": [{**GRAMMAR, "endIndex": 3}]}), map="bio-mqm")

    assert "answered there before, and otherwise" in raised.value.places[0].msg


def test_a_table_beside_it_names_the_documents(read: Read) -> None:
    table = b"SEG_ID\tDoc\tSource\tTarget\n1\tdoc100\tEins.\t\n2\tdoc100\tZwei.\t\n1\tdoc12\tDrei.\t\n"
    found = read("json", {"a.json": sent(*SEGMENTS), "a.tsv": table}, map="bio-mqm")

    assert [row.name for row in found.of(DocumentRecord)] == ["doc100", "doc12"]


def test_errors_on_the_source_without_a_place_and_beyond_the_end(read: Read) -> None:
    omitted = {"term": "Eins", "startIndex": 0, "endIndex": 3, "error_category": "Omission", "severity": "Minor"}
    nowhere = {"startIndex": None, "endIndex": None, "error_category": None, "severity": "Critical"}
    beyond = {"term": "e!", "startIndex": 2, "endIndex": 9, "severity": "Neutral"}
    segment = bio(1, "Eins.", "One.", source_errors=[omitted], target_errors=[nowhere, beyond])
    found = read("json", sent(segment), map="bio-mqm")

    assert found.judgments[0].payload["errors"] == [
        {"severity": "critical", "omission": True},
        {"severity": "neutral", "start": 2, "end": 4},
        {"severity": "minor", "start": 0, "end": 4, "category": "Omission", "side": "source"},
    ]
    assert found.log.repaired == {"errors that reach beyond the end of a text, cut there": 1}
    assert found.log.notes == {"marked words that are not what stands at their place: the place counts": 1}


def test_human_translations_are_told_by_name(read: Read) -> None:
    found = read("json", sent(bio(1, "Eins.", "One.", "reference"), SEGMENTS[0]), map="bio-mqm", human="reference")

    assert [(row.key, row.kind) for row in found.of(SystemRecord)] == [("reference", "human"), ("TMT_run1", "mt")]


def summary(model: str, *, expert: int = 4, **more: Any) -> dict[str, Any]:
    """A summary as SummEval publishes it: three experts, five of the crowd."""
    five = {"coherence": expert, "consistency": 5, "fluency": 5, "relevance": 2}
    return {
        "id": "dm-test-8764fb95",
        "decoded": f"{model} says so .",
        "expert_annotations": [five] * 3,
        "turker_annotations": [five | {"coherence": 1}] * 5,
        "references": ["One.", "Two."],
        "model_id": model,
        "filepath": "cnndm/8764fb95.story",
        **more,
    }


def lines(*objects: object) -> bytes:
    """One object a line."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in objects)


def test_summeval_has_four_qualities_of_eight_raters(read: Read) -> None:
    found = read("json", lines(summary("M1"), summary("M8", text="The whole story.")), map="summeval")

    assert len(found.judgments) == 16
    assert [row.name for row in found.of(RaterRow)] == [f"expert-{n}" for n in (1, 2, 3)] + [
        f"crowd-{n}" for n in (1, 2, 3, 4, 5)
    ]
    first, crowd = found.judgments[0], found.judgments[3]
    assert first.payload == {
        "protocol": "rating",
        "scores": {"coherence": 4.0, "consistency": 5.0, "fluency": 5.0, "relevance": 2.0},
    }
    assert crowd.payload["scores"]["coherence"] == 1.0  # type: ignore[index]
    assert [row.source for row in found.of(SegmentRow)] == [None, "The whole story."]
    assert found.of(SegmentRow)[0].references == {"ref-1": "One.", "ref-2": "Two."}
    assert found.log.dropped == {"field 'filepath' of an object: the map gives it no meaning": 2}


OWN = {
    "protocol": "esa",
    "fields": {"system": "mt", "document": "doc", "position": "n", "rater": "by", "target": "text"},
    "score": "points",
    "errors": [{"list": "errors", "start": "from", "end": "to", "severity": "how"}],
    "first_position": 0,
}


def test_a_map_of_ones_own(read: Read) -> None:
    error = {"from": 0, "to": 2, "how": "minor"}
    line = {"mt": "A", "doc": "d", "n": 0, "by": "r", "text": "Ja.", "points": "72.5", "errors": [error]}
    found = read("json", {"map.json": json.dumps(OWN).encode(), "data.jsonl": lines(line, line)}, map="map.json")

    (judgment,) = found.judgments
    assert judgment.payload == {
        "protocol": "esa",
        "score": 72.5,
        "errors": [{"severity": "minor", "start": 0, "end": 2}],
    }
    assert judgment.position == 1
    assert found.log.repaired == {"objects that stand twice alike": 1}


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ([bio(1, "a", "b", target_errors=[{**GRAMMAR, "severity": "Bad"}])], "unknown severity 'Bad'"),
        ([bio(1, "a", "b", target_errors=[{**GRAMMAR, "startIndex": 5, "endIndex": 2}])], "are no span"),
        ([bio(1, "a", "b", target_errors={"startIndex": 1})], "target_errors: must be a list"),
        ([{**bio(1, "a", "b"), "MT_Engine": " "}], "MT_Engine: must have 1 to 1000 characters"),
        ([{**bio(1, "a", "b"), "MT_Engine": [1]}], "MT_Engine: must be a text"),
        ([{**bio(1, "a", "b"), "SEG_ID": "0"}], "the position must be a whole number from 1"),
        (
            [bio(1, "a", "b"), bio(2, "a", "b", filename="x_en2de_y.txt")],
            "this is of en-de, the objects before of de-en",
        ),
        ([bio(1, "a", "b"), bio(1, "a", "b", target_errors=[GRAMMAR])], "answered there before, and otherwise"),
        ([[1]], "must be an object"),
    ],
)
def test_what_is_wrong_is_a_bad_line(read: Read, objects: list[object], why: str) -> None:
    with pytest.raises(Invalid) as raised:
        read("json", sent(*objects), map="bio-mqm")

    assert why in raised.value.places[0].msg


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"fields": {"system": "mt"}}, "document, rater must be there"),
        ({"protocol": "nothing"}, "nothing"),
        ({"protocol": "mqm"}, "mqm has no score"),
        ({"score": None}, "score: esa needs it"),
        ({"extra": 1}, "Extra inputs"),
    ],
)
def test_a_map_that_does_not_fit_is_refused_by_place(read: Read, change: dict[str, Any], why: str) -> None:
    own = {name: value for name, value in (OWN | change).items() if value is not None}
    with pytest.raises(Invalid) as raised:
        read("json", {"map.json": json.dumps(own).encode(), "data.jsonl": lines({})}, map="map.json")

    assert any(why in place.msg for place in raised.value.places)


def test_without_a_map_the_error_names_those_there_are(read: Read) -> None:
    with pytest.raises(Invalid, match="bio-mqm, summeval"):
        read("json", sent(*SEGMENTS))


def test_documents_that_begin_alike_are_told_apart(read: Read) -> None:
    first, second = (
        [bio(1, "Background:", "a"), bio(2, "Eins.", "b")],
        [bio(1, "Background:", "a"), bio(2, "Zwei.", "c")],
    )
    files = {"a.json": sent(*first, *second), "b.json": sent(*(one | {"MT_Engine": "B"} for one in (*second, *first)))}
    found = read("json", files, map="bio-mqm")

    assert [j.document for j in found.judgments] == [f"document-{n}" for n in (1, 1, 2, 2, 2, 2, 1, 1)]


def test_a_mark_of_no_length_is_kept(read: Read) -> None:
    found = read(
        "json", sent(bio(1, "a", "bcd", target_errors=[{**GRAMMAR, "startIndex": 2, "endIndex": 1}])), map="bio-mqm"
    )

    assert found.judgments[0].payload["errors"][0]["start"] == found.judgments[0].payload["errors"][0]["end"] == 2  # type: ignore[index]
