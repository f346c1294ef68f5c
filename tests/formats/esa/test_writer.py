"""`esa` out: what is written reads as the same judgments, and what the columns cannot hold is counted."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    JudgmentRow,
    OutputRow,
    RaterRow,
    Record,
    SystemRecord,
    VoidedJudgmentRow,
)
from tests.examples import few
from tests.formats.conftest import NOWHERE, Read, Write

HEAD = CampaignRow(NOWHERE, protocol="esa", source_language="eng", target_language="deu")


def judged(position: int | None = 1, *errors: dict[str, object], **fields: object) -> JudgmentRow:
    """A judgment of system A on document d by rater u."""
    score = fields.pop("score", 80.0)
    base = JudgmentRow(
        NOWHERE, "u", "A:d", ("A",), "d", position, "u", {"protocol": "esa", "errors": list(errors), "score": score}
    )
    return replace(base, **fields)


def cells(written: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(written.decode())))


def minute(n: int) -> datetime:
    return datetime(2026, 1, 1, 0, n, tzinfo=UTC)


def test_a_judgment_is_a_row_and_a_score_of_zero_is_a_score(write: Write) -> None:
    mark = {"severity": "minor", "start": 2, "end": 5}
    lost = Counter[str]()
    written = write("esa", [HEAD, judged(1, mark, score=0.0, submitted_at=minute(1))], lost)
    place = '[{"end_i":4,"error_type":null,"severity":"minor","start_i":2}]'
    assert cells(written) == [
        ["u", "plumbline.A", "1", "TGT", "eng", "deu", "0", "d#A", "False", place, "", "1767225660.0"]
    ]
    assert not lost


def test_an_omission_is_missing(read: Read, write: Write) -> None:
    omission = {"severity": "major", "omission": True, "category": "Accuracy/Omission"}
    written = write("esa", [HEAD, judged(1, omission)])
    assert '""start_i"":""missing""' in written.decode()
    assert read("esa", written).judgments[0].payload["errors"] == [omission]


@pytest.mark.parametrize(
    ("error", "what"),
    [
        ({"severity": "minor", "side": "source", "start": 0, "end": 2}, "errors on the source: missing"),
        ({"severity": "minor"}, "errors without a place that are no omissions: missing"),
        ({"severity": "minor", "omission": True, "side": "source", "start": 0, "end": 2}, "places of omissions"),
        ({"severity": "minor", "start": 1, "end": 1}, "errors of no length: one character"),
        ({"severity": "minor", "start": 1, "end": 2, "note": "why"}, "notes on errors"),
        (
            {"severity": "minor", "start": 1, "end": 2, "prefill": "p7"},
            "which prefilled error an error came from",
        ),
    ],
)
def test_what_a_mark_cannot_hold_is_counted_and_its_severity_stays(
    read: Read, write: Write, error: dict[str, object], what: str
) -> None:
    lost = Counter[str]()
    written = write("esa", [HEAD, judged(1, error)], lost)
    assert lost == {what: 1}
    (mark,) = read("esa", written).judgments[0].payload["errors"]
    assert mark["severity"] == "minor"


def test_what_has_no_column_is_counted(write: Write) -> None:
    records: list[Record] = [
        HEAD,
        SystemRecord(NOWHERE, "A", "=A+B"),
        DocumentRecord(NOWHERE, "d", "d", domain="news"),
        RaterRow(NOWHERE, "u", "u", person="p"),
        OutputRow(NOWHERE, "A", "d", 1, "text"),
        judged(1, accepted=False, meta={"itemID": "4", "more": 1}),
        judged(2, item="other", role="calibration"),
        judged(3, payload={"protocol": "da", "score": 3.0}),
        judged(1, task="t2", item="again"),
        judged(5),
        VoidedJudgmentRow(NOWHERE, "u", "A:d", 5, "u", "why", "who"),
    ]
    lost = Counter[str]()
    assert len(cells(write("esa", records, lost))) == 1
    assert lost == {
        "names that a cell cannot hold: keys instead": 1,
        "domains of documents": 1,
        "persons behind raters": 1,
        "texts of outputs": 1,
        "that a task was rejected": 1,
        "what else is kept with judgments": 1,
        "judgments of the kind calibration": 1,
        "judgments that are neither ESA nor MQM": 1,
        "tasks of judgments": 1,
        "answers of one rater to one output in another task": 1,
        "voided judgments": 1,
    }


def test_documents_judged_in_part_say_which_segments_behind_the_columns(read: Read, write: Write) -> None:
    lost = Counter[str]()
    whole, part = [judged(n) for n in (1, 2, 3)], [judged(n, rater="v", task="v") for n in (1, 3)]
    written = write("esa", [HEAD, *whole, *part], lost)
    assert not lost
    assert [row[12:] for row in cells(written)] == [["plumbline", str(n)] for n in (1, 2, 3, 1, 3)]
    found = read("esa", written)
    assert [(j.rater, j.position) for j in found.judgments] == [("u", 1), ("v", 1), ("u", 2), ("u", 3), ("v", 3)]
    assert write("esa", found.records) == written


def test_revisions_are_re_submissions_where_their_times_tell_them_apart(read: Read, write: Write) -> None:
    answers = [judged(1, score=float(n), revision=n, submitted_at=minute(n)) for n in (1, 2, 3)]
    found = read("esa", write("esa", [HEAD, *answers]))
    assert [j.payload["score"] for j in found.judgments] == [1.0, 2.0, 3.0]
    lost = Counter[str]()
    timeless = [replace(one, submitted_at=None) for one in answers]
    (only,) = read("esa", write("esa", [HEAD, *timeless], lost)).judgments
    assert only.payload["score"] == 3.0
    assert lost == {"superseded revisions": 2}


def test_a_system_may_be_called_as_marks_are(read: Read, write: Write) -> None:
    names = ("refA", "bad", "dup-tuned", "tutorial", "incomplete")
    records = [judged(1, systems=(name,), item=f"{name}:d") for name in names]
    found = read("esa", write("esa", [HEAD, *records]))
    assert sorted(j.systems[0] for j in found.judgments) == sorted(names)
    assert {j.role for j in found.judgments} == {"rating"}
    assert not any(j.item_meta for j in found.judgments)


name = st.one_of(
    st.text("AbRef.-~ü ,\"'+#=@\u202e", min_size=1, max_size=12).filter(str.strip),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip),
)
times = st.datetimes(datetime(2000, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  (as hypothesis wants bounds)
place = st.tuples(st.integers(0, 500), st.integers(1, 99)).map(lambda pair: (pair[0], pair[0] + pair[1]))
category = st.one_of(st.none(), name.filter(lambda text: "tutorial" not in text))


@st.composite
def marks(draw: st.DrawFn) -> dict[str, object]:
    mark: dict[str, object] = {"severity": draw(st.sampled_from(["minor", "major", "critical"]))}
    if draw(st.booleans()):
        mark["omission"] = True
    else:
        mark["start"], mark["end"] = draw(place)
    if said := draw(category):
        mark["category"] = said
    elif draw(st.booleans()):
        mark["prefill"] = "auto"
    return mark


@st.composite
def campaigns(draw: st.DrawFn) -> list[Record]:
    """Whole documents judged by several raters, with control items, document scores and re-submissions."""
    systems, documents, raters = (
        draw(st.lists(name, min_size=1, max_size=3, unique_by=str.strip)) for _ in ("systems", "documents", "raters")
    )
    lengths = {n: draw(st.integers(1, 3)) for n in range(len(documents))}
    records: list[Record] = [HEAD]
    for noun, names in ((SystemRecord, systems), (DocumentRecord, documents), (RaterRow, raters)):
        records += [noun(NOWHERE, f"{noun.__name__[0].lower()}{n}", said) for n, said in enumerate(names)]
    for rater in range(len(raters)):
        for system in range(len(systems)):
            document = draw(st.sampled_from(sorted(lengths)))
            role = draw(st.sampled_from(["rating", "degraded", "reference", "repeat"]))
            plain = f"s{system}:d{document}"
            item = plain if role == "rating" else f"{plain}:{draw(st.sampled_from([role, 'bad1', 'ref']))}"
            for position in [*range(1, lengths[document] + 1), *([None] if draw(st.booleans()) else [])]:
                for revision, at in enumerate(sorted(draw(st.sets(times, min_size=1, max_size=2))), 1):
                    payload = {"protocol": "esa", "errors": draw(st.lists(marks(), max_size=3))}
                    records.append(
                        judged(
                            position,
                            task=f"r{rater}",
                            rater=f"r{rater}",
                            item=item,
                            systems=(f"s{system}",),
                            document=f"d{document}",
                            role=role,
                            revision=revision,
                            submitted_at=at,
                            started_at=draw(st.one_of(st.none(), times)),
                            item_meta=None if role == "rating" else {"of": plain},
                            payload={**payload, "score": draw(st.floats(0, 100))},
                        )
                    )
    return records


@settings(deadline=None, max_examples=few(40))
@given(campaigns(), st.randoms())
def test_what_is_written_reads_as_the_same_judgments_and_writes_to_the_same_bytes(
    read: Read, write: Write, records: list[Record], rng: random.Random
) -> None:
    written = write("esa", records)
    assert not any(cell[:1] in ("=", "+", "-", "@") for row in cells(written) for cell in row)
    found = read("esa", written)
    ours = [r for r in records if isinstance(r, JudgmentRow)]
    assert sorted(map(said, found.judgments)) == sorted(map(said, ours))
    assert write("esa", found.records) == written
    lines = written.splitlines(keepends=True)
    rng.shuffle(lines)
    assert read("esa", b"".join(lines)).plain == found.plain


def said(judgment: JudgmentRow) -> str:
    """All of a judgment but the keys, which readers make of names."""
    return repr(
        (
            judgment.position or 0,
            judgment.role,
            judgment.started_at and judgment.started_at.isoformat(),
            judgment.submitted_at and judgment.submitted_at.isoformat(),
            judgment.payload["score"],
            judgment.payload["errors"],
        )
    )
