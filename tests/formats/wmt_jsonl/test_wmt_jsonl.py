"""Test sets and system outputs as WMT publishes them from 2025 on."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.domain.keys import convert_name_to_key
from app.formats.base import CampaignRow, DocumentRecord, JudgmentRow, OutputRow, SegmentRow, SystemRecord
from tests.formats.conftest import NOWHERE, Parts, Read, Write

DOC = "en-cs_CZ_#_news_#_a.1"
SET = {
    "doc_id": DOC,
    "domain": "news",
    "src_lang": "en",
    "tgt_lang": "cs_CZ",
    "src_text": "One.\n\nTwo.",
    "refs": {"refA": {"ref": "Jedna.\n\nDvě."}},
    "video": None,
    "prompt_instruction": "Translate.",
}
OTHER = {"doc_id": "en-de_DE_#_news_#_a.1", "src_lang": "en", "tgt_lang": "de_DE", "src_text": "One.", "refs": {}}
OUT = {"doc_id": DOC, "hypothesis": "1.\n\n2.", "metadata": {"tokens": 3}}


def jsonl(*objects: Mapping[str, object]) -> bytes:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects).encode()


def test_paragraphs_are_segments_and_files_are_systems(read: Read) -> None:
    found = read("wmt-jsonl", {"set.jsonl": jsonl(SET), "My MT.jsonl.gz": gzip.compress(jsonl(OUT))})

    (document,) = found.of(DocumentRecord)
    assert (document.name, document.domain, document.meta) == (DOC, "news", {"prompt_instruction": "Translate."})
    assert [(r.position, r.source, r.references) for r in found.of(SegmentRow)] == [
        (1, "One.", {"refA": "Jedna."}),
        (2, "Two.", {"refA": "Dvě."}),
    ]
    assert [(r.position, r.text) for r in found.of(OutputRow)] == [(1, "1."), (2, "2.")]
    assert [(r.name, r.kind) for r in found.of(SystemRecord)] == [("My MT", "mt")]
    (head,) = found.of(CampaignRow)
    assert (head.source_language, head.target_language, head.protocol) == ("en", "cs_CZ", None)


MARKED = "<p>One.</p>\n<p>Two <b>now</b>.</p>\n"


@pytest.mark.parametrize(
    ("hypothesis", "segments", "repaired"),
    [
        ("<p>Eins.</p>\n<p>Zwei <b>jetzt</b>.</p>", ["Eins.", "Zwei <b>jetzt</b>."], 0),
        ("<P>Eins.</P> <p class='x'>Zwei.</p >", ["Eins.", "Zwei."], 0),
        ("<p>Eins\nund.</p><p></p>", ["Eins\nund.", ""], 0),
        ("Eins.\n\nZwei.", ["Eins.", "Zwei."], 0),
        ("Eins.\nZwei.\n", ["Eins.", "Zwei."], 1),
    ],
)
def test_paragraphs_of_wmt26_are_marked(read: Read, hypothesis: str, segments: list[str], repaired: int) -> None:
    marked = {**SET, "src_text": MARKED, "refs": {"refA": "<p>Jedna.</p>\n<p>Dvě.</p>"}}

    found = read("wmt-jsonl", {"set.jsonl": jsonl(marked), "A.jsonl": jsonl({**OUT, "hypothesis": hypothesis})})

    assert [(r.source, r.references) for r in found.of(SegmentRow)] == [
        ("One.", {"refA": "Jedna."}),
        ("Two <b>now</b>.", {"refA": "Dvě."}),
    ]
    assert [r.text for r in found.of(OutputRow)] == segments
    assert found.log.repaired["outputs without the source's paragraphs, cut at their line ends"] == repaired


@pytest.mark.parametrize(
    ("hypothesis", "number"),
    [("<p>Eins.</p>", 1), ("<p>1</p><p>2</p><p>3</p>", 3), ("<p>Eins.</p> und <p>zwei.</p>", 1)],
)
def test_an_output_with_other_paragraphs_than_the_marked_ones_is_a_bad_line(
    read: Read, hypothesis: str, number: int
) -> None:
    with pytest.raises(Invalid) as raised:
        read(
            "wmt-jsonl",
            {
                "set.jsonl": jsonl({**SET, "src_text": MARKED, "refs": {}}),
                "A.jsonl": jsonl({**OUT, "hypothesis": hypothesis}),
            },
        )

    assert raised.value.places[0].loc == ("A.jsonl", 1)
    assert f"has {number} paragraphs, the source has 2" in raised.value.places[0].msg


def test_several_language_pairs_are_named_and_can_be_split(read: Read, parts: Parts) -> None:
    files = {"set.jsonl": jsonl(SET, OTHER), "A.jsonl": jsonl(OUT, {"doc_id": OTHER["doc_id"], "hypothesis": "Eins."})}

    with pytest.raises(Invalid, match="en-cs_CZ, en-de_DE"):
        read("wmt-jsonl", files)
    split = parts("wmt-jsonl", files, split="language_pair")
    one = read("wmt-jsonl", files, language_pair="en-de_DE")

    assert list(split) == ["en-cs_CZ", "en-de_DE"]
    assert [r.text for r in split["en-de_DE"].of(OutputRow)] == ["Eins."] == [r.text for r in one.of(OutputRow)]


def test_an_output_with_other_paragraphs_than_its_source_is_a_bad_line(read: Read) -> None:
    files = {
        "set.jsonl": jsonl(SET, {**SET, "doc_id": "d2"}),
        "A.jsonl": jsonl({**OUT, "hypothesis": "1."}, {**OUT, "doc_id": "d2"}),
    }

    with pytest.raises(Invalid) as raised:
        read("wmt-jsonl", files)
    found = read("wmt-jsonl", files, skip=True)

    assert [(p.loc, p.msg) for p in raised.value.places] == [
        (("A.jsonl", 1), "the output has 1 paragraphs, the source has 2")
    ]
    assert {r.document for r in found.of(OutputRow)} == {"d2"}
    assert found.log.n_bad == 1


def test_texts_stay_whole_where_segments_are_documents(read: Read) -> None:
    found = read("wmt-jsonl", {"s": jsonl(SET), "A.jsonl": jsonl({**OUT, "hypothesis": "1."})}, segments="documents")

    assert [r.source for r in found.of(SegmentRow)] == ["One.\n\nTwo."]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"doc_id": "d"}', "src_text"),
        (b"[1]", "must be an object"),
        (b'{"doc_id": "d", "src_text": 1}', "must be a text"),
        (b'{"doc_id": "", "src_text": "x"}', "doc_id"),
        (b'{"doc_id": "d", "src_text": "x", "refs": {"A": "x\\n\\ny"}}', "2 paragraphs"),
        (b'{"doc_id": "d", "src_text": "x", "doc_id": "e"}', "twice"),
        (b'{"doc_id": "d", "src_text": "x", "tgt_text": {}, "scores": {"A": {"human": 1}}}', "was not shown"),
    ],
)
def test_a_bad_line_is_named_with_its_reason(read: Read, line: bytes, reason: str) -> None:
    with pytest.raises(Invalid) as raised:
        read("wmt-jsonl", {"set.jsonl": line + b"\n"})

    assert raised.value.places[0].loc == ("set.jsonl", 1)
    assert reason in raised.value.places[0].msg


def test_a_document_stands_once_in_a_test_set(read: Read) -> None:
    with pytest.raises(Invalid) as raised:
        read("wmt-jsonl", {"set.jsonl": jsonl(SET, SET)})

    assert raised.value.places[0].loc == ("set.jsonl", 2)


def test_an_object_with_an_answer_of_each_wave_is_several_answers(read: Read) -> None:
    waves = {
        "human2": 80,
        "errors2": [],
        "annotator2": "unknown",
        "times2": [100.5, 160],
        "human1": 60.5,
        "errors1": [{"start_i": 0, "end_i": 1, "severity": "minor"}],
        "annotator1": "en-cs_#_annotator3",
        "times1": [40, 90],
        "human11": 1,
    }
    line = {"doc_id": f"{DOC}_#_0", "src_text": "Two.", "tgt_text": {"A": "Zwei."}, "scores": {"A": waves}}

    third, first, second = sorted(read("wmt-jsonl", jsonl(line)).judgments, key=lambda one: one.payload["score"])

    assert [one.payload["score"] for one in (first, second, third)] == [60.5, 80.0, 1.0]
    assert [(one["start"], one["end"]) for one in first.payload["errors"]] == [(0, 2)]
    assert len({first.rater, second.rater, third.rater}) == 3
    assert second.rater == "unnamed-2"
    assert first.started_at is not None
    assert (second.started_at.timestamp(), second.submitted_at.timestamp()) == (100.5, 160.0)
    assert third.started_at is None


@pytest.mark.parametrize(
    ("wave", "reason"),
    [
        ({"errors1": []}, "human must be a number"),
        ({"human1": 1, "times1": [1]}, "two moments"),
        ({"human1": 1, "times1": [1, 1e15]}, "two moments"),
        ({"human1": 1, "times1": "12"}, "two moments"),
        ({"human1": True}, "human must be a number"),
        ({"human0": 1}, "human must be a number"),
    ],
)
def test_a_wave_that_cannot_be_read_is_a_bad_line(read: Read, wave: dict[str, object], reason: str) -> None:
    line = {"doc_id": "d", "src_text": "Two.", "tgt_text": {"A": "2."}, "scores": {"A": wave}}

    with pytest.raises(Invalid) as raised:
        read("wmt-jsonl", jsonl(line))

    assert reason in raised.value.places[0].msg


def test_judged_lines_hold_scores_with_inclusive_ends(read: Read) -> None:
    answer = {
        "human": 0,
        "errors": [
            {"start_i": 0, "end_i": 2, "severity": "minor"},
            {"start_i": "missing", "end_i": "missing", "severity": "major"},
        ],
        "annotator": "engces401",
    }
    line = {
        "doc_id": f"{DOC}_#_1",
        "src_text": "Two.",
        "tgt_text": {"refA": "Dvě.", "A": "2."},
        "scores": {"refA": [answer, {"human": 50}]},
    }

    found = read("wmt-jsonl", jsonl({**line, "doc_id": f"{DOC}_#_0", "scores": {}}, line))

    first, second = sorted(found.judgments, key=lambda judgment: judgment.rater)
    assert (first.rater, first.position, first.payload["score"]) == ("engces401", 2, 0.0)
    assert first.payload["errors"] == [
        {"severity": "minor", "start": 0, "end": 3},
        {"severity": "major", "omission": True},
    ]
    assert second.rater == "unnamed-2"
    assert [r.position for r in found.of(SegmentRow)] == [1, 2]
    assert {r.name: r.kind for r in found.of(SystemRecord)} == {"refA": "human", "A": "mt"}


TEXTS = st.lists(st.text(st.characters(exclude_characters="\0\n", exclude_categories=("Cs",))), min_size=1, max_size=4)


@given(documents=st.lists(TEXTS, min_size=1, max_size=4), systems=st.booleans())
def test_any_paragraphs_come_through_but_for_white_space_at_their_ends(
    read: Read, documents: list[list[str]], systems: bool
) -> None:
    lines = [{"doc_id": f"d{n}", "src_text": "\n\n".join(texts)} for n, texts in enumerate(documents)]
    files = {"set.jsonl": jsonl(*lines)}
    if systems:
        files["A.jsonl"] = jsonl(*({"doc_id": f"d{n}", "hypothesis": "\n\n".join(t)} for n, t in enumerate(documents)))
    reading = read("wmt-jsonl", files).records

    expected = [(f"d{n}", text.strip()) for n, texts in enumerate(documents) for text in texts]
    assert [(r.document, r.source) for r in reading if isinstance(r, SegmentRow)] == expected
    assert [(r.document, r.text) for r in reading if isinstance(r, OutputRow)] == (expected if systems else [])


def test_judgments_name_the_protocol_of_a_new_campaign(read: Read) -> None:
    line = {"doc_id": "d", "src_text": "Two.", "tgt_text": {"A": "2."}, "scores": {"A": {"human": 3}}}

    found = read("wmt-jsonl", jsonl(line))

    assert found.of(CampaignRow)[0].protocol == "esa"
    assert isinstance(found.judgments[0], JudgmentRow)


@given(
    name=st.sampled_from(["d ", "a_#_", "en-de_#_news_#_a_#_"]),
    documents=st.lists(
        st.lists(
            st.tuples(*[st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=6)] * 3),
            min_size=1,
            max_size=3,
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_what_is_written_reads_as_the_same_test_set(
    read: Read, write: Write, name: str, documents: list[list[tuple[str, str, str]]]
) -> None:
    lines = [
        {
            "doc_id": f"{name}{n}",
            "domain": "news",
            "src_lang": "en",
            "tgt_lang": "de",
            "src_text": [source for source, _, _ in segments],
            "refs": {"refA": [reference for _, reference, _ in segments]},
            "tgt_text": {"My MT": [output for _, _, output in segments]},
            "prompt": n + 1,
        }
        for n, segments in enumerate(documents)
    ]
    first = read("wmt-jsonl", jsonl(*lines))
    lost = Counter[str]()

    once = write("wmt-jsonl", first.records, lost)
    again = read("wmt-jsonl", once)

    assert again.plain == first.plain
    assert write("wmt-jsonl", again.records) == once
    assert not lost


def test_what_cannot_be_written_is_counted(read: Read, write: Write) -> None:
    records = [
        *read("wmt-jsonl", {"set.jsonl": jsonl(SET), "A.jsonl": jsonl(OUT)}).records,
        OutputRow(NOWHERE, "B", convert_name_to_key(DOC), 1, "x"),
        SystemRecord(NOWHERE, "H", "H", "human"),
        SegmentRow(NOWHERE, "bare", 1),
    ]
    lost = Counter[str]()

    (line,) = write("wmt-jsonl", records, lost).splitlines()

    assert json.loads(line)["tgt_text"] == {"A": "1.\n\n2."}
    assert set(lost) == {
        "outputs of documents that lack some of their segments",
        "which systems are human, and their labs and tags",
        "documents without a source",
    }
