"""A test set of mt-metrics-eval comes in by the paths of its files, its human scores by block."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import formats
from app.domain.errors import Invalid
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    InputFile,
    JudgmentRow,
    OutputRow,
    ReadContext,
    ReaderLimits,
    ReadLog,
    SegmentRow,
    SystemRecord,
)
from tests.formats.conftest import Parts, Read

TREE = {
    "wmt22/sources/en-de.txt": b"One.\nTwo.\nThree.\n",
    "wmt22/documents/en-de.docs": b"news d1\nnews d1\nall d2\n",
    "wmt22/references/en-de.refA.txt": b"Eins.\nZwei.\nDrei.\n",
    "wmt22/system-outputs/en-de/refA.txt": b"Eins.\nZwei.\nDrei.\n",
    "wmt22/system-outputs/en-de/M.2.txt": b"1.\n\n3.\n",
    "wmt22/metric-scores/en-de/BLEU-refA.seg.score": b"M.2 1\nM.2 2\nM.2 3\n",
}
SCORES = b"refA\t-1\nM.2\t-5\nrefA\t0\nrefA\tNone\nM.2\t-2.5\nM.2\t0\n"
ERROR = {"start": 0, "end": 2, "category": "accuracy", "severity": "Major", "score": 5.0, "is_source_error": False}


def test_files_are_told_apart_by_their_paths(read: Read) -> None:
    found = read("mtme", TREE)

    assert [(r.key, r.domain) for r in found.of(DocumentRecord)] == [("d1", "news"), ("d2", None)]
    assert [(r.document, r.position, r.source, r.references) for r in found.of(SegmentRow)] == [
        ("d1", 1, "One.", {"refA": "Eins."}),
        ("d1", 2, "Two.", {"refA": "Zwei."}),
        ("d2", 1, "Three.", {"refA": "Drei."}),
    ]
    assert {r.key: r.kind for r in found.of(SystemRecord)} == {"refA": "human", "M.2": "mt"}
    assert [r.text for r in found.of(OutputRow) if r.system == "M.2"] == ["1.", "", "3."]
    assert (found.of(CampaignRow)[0].source_language, found.of(CampaignRow)[0].target_language) == ("en", "de")
    assert sum(found.log.dropped.values()) == 1


def test_a_name_may_have_colons_where_a_path_has_slashes(read: Read) -> None:
    assert read("mtme", {name.replace("/", ":"): body for name, body in TREE.items()}).records


def test_scores_are_blocks_by_system_and_none_is_no_rating(read: Read) -> None:
    found = read("mtme", {**TREE, "wmt22/human-scores/en-de.mqm.seg.score": SCORES}, human="mqm")

    head = found.of(CampaignRow)[0]
    assert head.protocol == "rating"
    assert head.options == {"criteria": [{"name": "mqm", "minimum": -5.0, "maximum": 0.0, "step": None}]}
    assert {(j.systems[0], j.document, j.position): j.payload["scores"] for j in found.judgments} == {
        ("refA", "d1", 1): {"mqm": -1.0},
        ("refA", "d1", 2): {"mqm": 0.0},
        ("M.2", "d1", 1): {"mqm": -5.0},
        ("M.2", "d1", 2): {"mqm": -2.5},
        ("M.2", "d2", 1): {"mqm": 0.0},
    }
    assert {j.rater for j in found.judgments} == {"mqm"}


def test_the_sign_turns_scores_round(read: Read) -> None:
    files = {**TREE, "wmt22/human-scores/en-de.mqm.seg.score": SCORES}

    found = read("mtme", files, human="mqm", sign="-1")

    assert sorted(j.payload["scores"]["mqm"] for j in found.judgments) == [0.0, 0.0, 1.0, 2.5, 5.0]


def test_scores_that_nobody_asked_for_are_counted(read: Read) -> None:
    found = read("mtme", {**TREE, "wmt22/human-scores/en-de.mqm.seg.score": SCORES})

    assert not found.judgments
    assert any("--option human" in what for what in found.log.notes)


def test_ratings_have_exclusive_ends_and_their_raters(read: Read) -> None:
    rated = json.dumps({"errors": [ERROR, {**ERROR, "is_source_error": True}, {**ERROR, "severity": "no-error"}]})
    lines = f"M.2\tNone\nM.2\tNone\nM.2\t{rated}\tr1\n".encode()

    found = read("mtme", {**TREE, "human-scores/en-de.mqm.seg.rating": lines}, human="mqm")

    (judgment,) = found.judgments
    assert (judgment.rater, judgment.document, judgment.position) == ("r1", "d2", 1)
    assert judgment.payload == {
        "protocol": "mqm",
        "errors": [
            {"severity": "major", "start": 0, "end": 2, "category": "accuracy"},
            {"severity": "major", "start": 0, "end": 2, "side": "source", "category": "accuracy"},
        ],
    }


@pytest.mark.parametrize("shortened", [False, True])
def test_a_leading_canary_is_left_out_of_texts_and_scores(read: Read, shortened: bool) -> None:
    ahead = {name: b"canary canary\n" if name.endswith(".docs") else b"Do not train on this.\n" for name in TREE}
    tree = {name: ahead[name] + body for name, body in TREE.items() if "metric" not in name}
    if shortened:
        tree["wmt22/system-outputs/en-de/M.2.txt"] = TREE["wmt22/system-outputs/en-de/M.2.txt"]

    plain = read("mtme", {**TREE, "human-scores/en-de.x.seg.score": SCORES}, human="x")
    found = read("mtme", tree | {"human-scores/en-de.x.seg.score": _with_canary(SCORES)}, human="x")

    assert [(r.source, r.position) for r in found.of(SegmentRow)] == [
        (r.source, r.position) for r in plain.of(SegmentRow)
    ]
    assert [r.text for r in found.of(OutputRow)] == [r.text for r in plain.of(OutputRow)]
    assert [(j.item, j.position, j.payload) for j in found.judgments] == [
        (j.item, j.position, j.payload) for j in plain.judgments
    ]


def _with_canary(scores: bytes) -> bytes:
    return b"M.2\tNone\nrefA\tNone\n" + scores


def test_a_block_of_another_length_is_refused_with_its_file(read: Read) -> None:
    with pytest.raises(Invalid) as raised:
        read("mtme", {**TREE, "human-scores/en-de.x.seg.score": b"M.2\t1\n"}, human="x")

    assert raised.value.places[-1].loc[0] == "human-scores/en-de.x.seg.score"
    assert "1 lines where 3 are needed" in raised.value.places[-1].msg


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"M.2\tmuch\n", "not a number"),
        (b"M.2\t\n", "must be a system"),
    ],
)
def test_a_bad_score_is_named_by_file_and_line(read: Read, line: bytes, reason: str) -> None:
    scores = b"M.2\t1\n" + line + b"M.2\t1\n"

    with pytest.raises(Invalid) as raised:
        read("mtme", {**TREE, "human-scores/en-de.x.seg.score": scores}, human="x")
    skipped = read("mtme", {**TREE, "human-scores/en-de.x.seg.score": scores}, human="x", skip=True)

    assert raised.value.places[0].loc == ("human-scores/en-de.x.seg.score", 2)
    assert reason in raised.value.places[0].msg
    assert [j.position for j in skipped.judgments] == [1, 1]


def test_several_language_pairs_are_named_and_can_be_split(read: Read, parts: Parts) -> None:
    tree = TREE | {name.replace("en-de", "en-cs"): body for name, body in TREE.items()}

    with pytest.raises(Invalid, match="en-cs, en-de"):
        read("mtme", tree)

    assert list(parts("mtme", tree, split="language_pair")) == ["en-cs", "en-de"]
    assert read("mtme", tree, language_pair="en-cs").of(CampaignRow)[0].target_language == "cs"


def test_two_test_sets_cannot_be_one(read: Read) -> None:
    with pytest.raises(Invalid, match="is it another set"):
        read("mtme", {**TREE, "wmt23/sources/en-de.txt": b"x\n"})


def test_files_without_telling_paths_are_refused(read: Read) -> None:
    with pytest.raises(Invalid, match=r"sources/PAIR\.txt"):
        read("mtme", {"en-de.txt": b"x\n"})


SEGMENTS = st.lists(
    st.tuples(
        st.sampled_from(["d1", "d2", "d3"]),
        st.text(st.characters(exclude_characters="\0\n\r", exclude_categories=("Cs",)), min_size=1),
        st.integers(-100, 0) | st.none(),
    ),
    min_size=1,
    max_size=12,
)


@given(rows=SEGMENTS)
def test_any_segments_keep_their_documents_texts_and_scores(
    read: Read, rows: list[tuple[str, str, int | None]]
) -> None:
    files = {
        "sources/a-b.txt": "".join(f"x{text}\n" for _, text, _ in rows).encode(),
        "documents/a-b.docs": "".join(f"all {name}\n" for name, _, _ in rows).encode(),
        "system-outputs/a-b/A.txt": "".join(f"{text}\n" for _, text, _ in rows).encode(),
        "human-scores/a-b.h.seg.score": "".join(f"A\t{score}\n" for *_, score in rows).encode(),
    }

    found = read("mtme", files, human="h")

    assert [(r.document, r.text) for r in found.of(OutputRow)] == [(name, text.strip()) for name, text, _ in rows]
    places = [(r.document, r.position) for r in found.of(OutputRow)]
    scored = {(j.document, j.position): j.payload["scores"]["h"] for j in found.judgments}
    assert scored == {place: score for place, (*_, score) in zip(places, rows, strict=True) if score is not None}


def with_protocol(protocol: str, files: dict[str, bytes], **options: str) -> list[JudgmentRow]:
    inputs = [InputFile(name, lambda data=data: io.BytesIO(data)) for name, data in files.items()]
    reader = formats.get_format("mtme").read
    assert reader is not None
    records = reader(inputs, ReadContext(options, ReaderLimits(), protocol), ReadLog())
    return [record for record in records if isinstance(record, JudgmentRow)]


def test_scores_and_ratings_together_are_esa() -> None:
    rated = json.dumps({"errors": [ERROR]})
    files = {
        **TREE,
        "human-scores/en-de.esa.seg.score": b"M.2\t80\nM.2\tNone\nM.2\t0\n",
        "human-scores/en-de.esa.seg.rating": f"M.2\t{rated}\tr1\nM.2\tNone\nM.2\t{rated}\tr2\n".encode(),
    }

    judgments = with_protocol("esa", files, human="esa")

    assert [(j.rater, j.document, j.position, j.payload["score"]) for j in judgments] == [
        ("r1", "d1", 1, 80.0),
        ("r2", "d2", 1, 0.0),
    ]
    assert all(len(j.payload["errors"]) == 1 for j in judgments)


def test_a_protocol_that_judges_documents_takes_their_scores() -> None:
    files = {
        **TREE,
        "human-scores/en-de.da.doc.score": b"M.2\t80\nM.2\t70\n",
        "human-scores/en-de.da.seg.score": SCORES,
    }

    judgments = with_protocol("da_document", files, human="da")

    assert [(j.document, j.position, j.payload["score"]) for j in judgments] == [("d1", None, 80.0), ("d2", None, 70.0)]


def test_a_protocol_says_which_file_it_lacks() -> None:
    with pytest.raises(Invalid, match=r"esa needs a file human-scores/PAIR\.x\.seg\.rating"):
        with_protocol("esa", {**TREE, "human-scores/en-de.x.seg.score": SCORES}, human="x")
