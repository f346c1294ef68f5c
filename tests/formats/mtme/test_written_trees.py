"""Campaigns out as trees of other tools, and in again: what they can hold comes back, what they cannot is counted."""

from __future__ import annotations

import gzip
import io
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from app import formats
from app.domain.keys import convert_name_to_key
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    InputFile,
    JudgmentRow,
    OutputRow,
    RaterRow,
    ReadContext,
    ReaderLimits,
    ReadLog,
    Record,
    SegmentRow,
    SystemRecord,
)
from tests.formats.conftest import NOWHERE, Found, Read
from tests.formats.trees import contents, tree

CALM = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
PIECE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(str.strip)
TEXT = st.lists(PIECE, min_size=1, max_size=4).map(lambda parts: "\n".join(parts).strip()).filter(bool)
WORD = st.text("AbÜ漢😀-_ (9", min_size=1, max_size=6).map(str.strip).filter(bool)
NAME = st.one_of(st.sampled_from(["A", "Online-W", "Gemini-1.5-Pro", "ü b"]), WORD)
WILD = st.one_of(st.sampled_from(["a/b", "x:y", "d#1", "x+y"]), PIECE.map(str.strip))
SEVERITIES = ("minor", "major", "critical", "neutral")


@st.composite
def campaigns(draw: st.DrawFn, protocol: str, name: st.SearchStrategy[str] = NAME) -> list[Record]:
    """Documents of up to three segments, systems of which some are not judged, raters who judge some outputs."""
    systems = draw(st.lists(name, min_size=1, max_size=3, unique_by=convert_name_to_key))
    raters = draw(st.lists(name, min_size=1, max_size=3, unique_by=convert_name_to_key))
    documents = draw(st.lists(name, min_size=1, max_size=3, unique_by=convert_name_to_key))
    assume(not any("canary" in name.casefold() for name in documents))
    records: list[Record] = [CampaignRow(NOWHERE, protocol, "en", "pt-BR", documents_known=True)]
    records += [SystemRecord(NOWHERE, convert_name_to_key(name), name) for name in systems]
    records += [RaterRow(NOWHERE, convert_name_to_key(name), name) for name in raters]
    judged = False
    for place, name in enumerate(documents, 1):
        key = convert_name_to_key(name)
        records.append(DocumentRecord(NOWHERE, key, name, position=place, domain=draw(st.sampled_from([None, "news"]))))
        for position in range(1, draw(st.integers(1, 3)) + 1):
            references = draw(st.sampled_from([None, {"refA": "R"}]))
            records.append(SegmentRow(NOWHERE, key, position, draw(TEXT), references))
            for system in map(convert_name_to_key, systems):
                text = draw(TEXT)
                records.append(OutputRow(NOWHERE, system, key, position, text))
                for rater in map(convert_name_to_key, raters):
                    if not judged or draw(st.booleans()):
                        judged = True
                        payload = draw(payloads(protocol, text))
                        item = convert_name_to_key(f"{system}:{key}")
                        records.append(JudgmentRow(NOWHERE, rater, item, (system,), key, position, rater, payload))
    return records


@st.composite
def payloads(draw: st.DrawFn, protocol: str, text: str) -> dict[str, object]:
    payload: dict[str, object] = {"protocol": protocol}
    if protocol != "da":
        payload["errors"] = [draw(errors(text)) for _ in range(draw(st.integers(0, 2)))]
    if protocol != "mqm":
        payload["score"] = float(draw(st.integers(0, 100)))
    return payload


@st.composite
def errors(draw: st.DrawFn, text: str) -> dict[str, object]:
    start = draw(st.sampled_from([n for n, char in enumerate(text) if char != "\n"]))
    line_end = text.find("\n", start)  # no place on Pearmut's page
    end = draw(st.integers(start + 1, len(text) if line_end < 0 else line_end))
    error: dict[str, object] = {"severity": draw(st.sampled_from(SEVERITIES)), "start": start, "end": end}
    category = draw(st.sampled_from([None, "Style", "Accuracy/Mistranslation"]))
    return {**error, "category": category} if category else error


def again(name: str, files: dict[str, bytes], protocol: str, **options: str) -> Found:
    inputs = [InputFile(path, lambda data=data: io.BytesIO(data)) for path, data in files.items()]
    log = ReadLog()
    read = formats.get_format(name).read
    assert read is not None
    return Found(list(read(inputs, ReadContext(options, ReaderLimits(), protocol), log)), log)


def said(records: list[Record]) -> Counter[str]:
    """What is judged how by whom, whatever tasks are called."""
    found = Counter[str]()
    for one in (record for record in records if isinstance(record, JudgmentRow)):
        marks = one.payload.get("errors", ())
        told = sorted((e["severity"], e.get("category") or "", e["start"], e["end"]) for e in marks)
        found[repr((one.systems, one.document, one.position, one.rater, one.payload.get("score"), told))] += 1
    return found


def texts(records: list[Record], *, one_line: bool = False) -> dict[tuple[object, ...], str]:
    found: dict[tuple[object, ...], str] = {}
    for record in records:
        if isinstance(record, OutputRow):
            found[record.system, record.document, record.position] = record.text
        elif isinstance(record, SegmentRow):
            found["", record.document, record.position] = record.source or ""
    return {key: text.replace("\n", " ").strip() if one_line else text for key, text in found.items()}


@pytest.mark.parametrize("protocol", ["da", "esa", "mqm"])
def test_mtme_out_and_in_again_is_the_same_judgments_and_texts(protocol: str) -> None:
    @CALM
    @given(campaigns(protocol))
    def there_and_back(records: list[Record]) -> None:
        found = again("mtme", tree("mtme", contents(records)), protocol, human=f"{protocol}-*")
        assert said(found.records) == said(records)
        assert texts(found.records, one_line=True) == texts(records, one_line=True)

    there_and_back()


@pytest.mark.parametrize(
    ("references", "human", "written", "lost"),
    [
        (None, True, ["H"], 0),
        (None, False, [], 1),
        ({"refA": "R"}, True, ["refA"], 0),
    ],
)
def test_human_systems_stand_in_for_references(
    references: dict[str, str] | None, human: bool, written: list[str], lost: int
) -> None:
    records: list[Record] = [
        CampaignRow(NOWHERE, "da", "en", "de"),
        SystemRecord(NOWHERE, "A", "A"),
        SystemRecord(NOWHERE, "H", "H", "human" if human else "mt"),
        SegmentRow(NOWHERE, "d", 1, "source", references),
        OutputRow(NOWHERE, "A", "d", 1, "by A"),
        OutputRow(NOWHERE, "H", "d", 1, "by H"),
    ]
    counted = Counter[str]()

    files = tree("mtme", contents(records), counted)

    assert [name for name in files if name.startswith("references/")] == [f"references/en-de.{n}.txt" for n in written]
    assert files.get("references/en-de.H.txt", b"by H\n") == files["system-outputs/en-de/H.txt"] == b"by H\n"
    assert counted["references, without which mt-metrics-eval cannot load the files"] == lost


@CALM
@given(campaigns("da", WILD))
def test_names_that_a_path_cannot_hold_are_other_names_and_no_judgment_is_lost(records: list[Record]) -> None:
    found = again("mtme", tree("mtme", contents(records)), "da", human="da-*")
    assert len(found.judgments) == sum(isinstance(record, JudgmentRow) for record in records)
    assert len({one.systems for one in found.judgments}) == len(
        {r.systems for r in records if isinstance(r, JudgmentRow)}
    )


@pytest.mark.parametrize("protocol", ["da", "esa", "cesa", "mqm"])
def test_pearmut_out_and_in_again_is_the_same_judgments_and_texts(protocol: str) -> None:
    @CALM
    @given(campaigns(protocol, WILD))
    def there_and_back(records: list[Record]) -> None:
        names = [one.name for one in records if isinstance(one, SystemRecord)]
        assume(not any(name.isdigit() for name in names))  # Pearmut takes no such model
        found = again("pearmut", tree("pearmut", contents(records)), protocol)
        assert said(found.records) == said(records)
        assert texts(found.records) == texts(records)

    there_and_back()


@CALM
@given(campaigns("esa"))
def test_appraise_batches_out_and_in_again_are_the_same_test_set(records: list[Record]) -> None:
    lost = Counter[str]()
    files = tree("appraise", contents(records), lost)
    assume(not any("keys instead" in what or "tutorials" in what or "<br>" in what for what in lost))
    found = again("appraise", {"batches.json": files["batches.json"]}, "esa")
    assert texts(found.records) == texts(records)


def test_means_of_mtme_are_negated_where_lower_is_better_and_stand_at_every_level() -> None:
    records: list[Record] = [CampaignRow(NOWHERE, "mqm", "en", "de")]
    records += [DocumentRecord(NOWHERE, "d", "d", domain="news"), DocumentRecord(NOWHERE, "e", "e")]
    given = [("d", 1, "r", 1.0), ("d", 1, "s", 2.0), ("d", 2, "r", 5.0), ("e", 1, "r", 0.0)]
    for document, position, rater, score in given:
        payload: dict[str, object] = {"protocol": "mqm", "errors": []}
        judgment = JudgmentRow(NOWHERE, rater, f"A:{document}", ("A",), document, position, rater, payload, score=score)
        records.append(judgment)
    files = tree("mtme", contents(records))

    assert files["human-scores/en-de.mqm.seg.score"] == b"A\t-1.5\nA\t-5.0\nA\t0.0\n"
    assert files["human-scores/en-de.mqm.doc.score"] == b"A\t-3.25\nA\t0.0\n"
    assert files["human-scores/en-de.mqm.domain.score"] == b"all A 0.0\nnews A -3.25\n"
    assert files["human-scores/en-de.mqm.sys.score"] == f"A\t{-6.5 / 3!r}\n".encode()
    assert files["human-scores/en-de.mqm-2.seg.rating"] == b'A\t{"errors":[]}\ts\nA\tNone\nA\tNone\n'
    assert files["documents/en-de.docs"] == b"news d\nnews d\nall e\n"


def test_what_trees_cannot_hold_is_counted() -> None:
    base = JudgmentRow(NOWHERE, "t", "A:d", ("A", "B"), "d", 1, "r", {"protocol": "da", "score": 3.0})
    records: list[Record] = [
        CampaignRow(NOWHERE, "da"),
        base,
        replace(base, task="t2", role="degraded"),
        replace(base, task="t3", accepted=False),
        replace(base, task="t4", position=None),
        replace(base, task="t5", role="repeat", submitted_at=datetime(2026, 1, 1, tzinfo=UTC)),
    ]
    lost: dict[str, Counter[str]] = defaultdict(Counter)
    for name in ("mtme", "pearmut"):
        tree(name, contents(records), lost[name])

    assert lost["mtme"] == {
        "judgments of the kind degraded": 1,
        "judgments of rejected tasks": 1,
        "judgments at another level than the protocol's": 1,
        "that a judgment is a repeat": 1,
        "tasks of judgments": 2,
        "that identical outputs were judged once": 2,
        "times of judgments": 1,
        "references, without which mt-metrics-eval cannot load the files": 1,
    }
    assert lost["pearmut"]["judgments of the kind degraded"] == lost["pearmut"]["judgments of the kind repeat"] == 1
    assert lost["pearmut"]["judgments of whole items"] == lost["pearmut"]["judgments of rejected tasks"] == 1


@pytest.mark.parametrize(("deleted", "lost"), [([], 0), (["p1"], 1)])
def test_what_says_nothing_more_in_a_payload_is_no_loss(deleted: list[str], lost: int) -> None:
    payload = {"protocol": "mqm_reannotation", "errors": [], "deleted": deleted}
    records: list[Record] = [
        CampaignRow(NOWHERE, "mqm_reannotation"),
        JudgmentRow(NOWHERE, "r", "A:d", ("A",), "d", 1, "r", payload),
    ]
    counted = Counter[str]()
    files = tree("mtme", contents(records), counted)
    del counted["references, without which mt-metrics-eval cannot load the files"]
    assert counted == ({"judgments with more than a score and errors: means only": 1} if lost else {})
    assert ("human-scores/und-und.mqm_reannotation-1.seg.rating" in files) is not bool(lost)


@pytest.mark.soak
def test_a_document_of_another_tool_is_read_as_it_was_written(read: Read, data: Callable[[str], bytes]) -> None:
    found = read("mqm-tsv", gzip.decompress(data("mqm_ted_ende/mqm_ted_ende.tsv.gz")))
    lost = Counter[str]()

    back = again("pearmut", tree("pearmut", contents(found.records), lost), "mqm")

    assert len(back.judgments) == len(found.judgments) == 7406
    assert texts(back.records) == texts(found.records)
    assert lost["places of omissions"] == 14
