"""Imports: all of it or nothing, versions only for changes, revisions and voids, and what contradicts is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import AppError, Conflict, Invalid
from app.formats.base import ReaderLimits
from app.services.data import imports, merging, record_import
from app.storage import embedded, seals
from app.storage.db import Session
from app.storage.imports import staging
from benchmarks import reports_data
from benchmarks.children import run
from tests.spine import Spine, fresh, opened

MQM_HEADER = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata\n"
MQM = MQM_HEADER + "".join(
    f"{system}\td{d}\t{p}\t{10 * d + p}\tr{d % 2}\tSource {d} {p}.\tTarget <v>{system}</v> {d} {p}."
    f"\tStyle/Awkward\t{severity}\t\n"
    for d in range(1, 8)
    for p in (1, 2)
    for system, severity in (("A", "Minor"), ("B", "Major" if (d + p) % 3 else "Minor"))
)
DA = "HITId WorkerId Input.src Input.trg Input.item hit sys_id rid type sid score time\n" + "".join(
    f"h{w} w{w} cs en ad 1 {system} {d} SYSTEM doc{d}_1.{p} {(37 * d + 11 * p + 5 * w + 3 * ord(system)) % 101} 10\n"
    for d in range(1, 8)
    for p in (1, 2)
    for w in (1, 2)
    for system in "AB"
)
HEADER = {"type": "plumbline", "version": 1}


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


@pytest.fixture(scope="module")
def untouched(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    """For tests that store nothing."""
    with fresh(postgres, migrated_template) as found:
        yield found


def lines(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in (HEADER, *records)).encode()


def judgment(system: str = "A", document: str = "d1", score: float = 50, **other: Any) -> dict[str, Any]:
    said = {"type": "judgment", "task": "t1", "item": f"{system}:{document}", "systems": [system], "rater": "r1"}
    return {**said, "document": document, "position": 1, "payload": {"protocol": "da", "score": score}, **other}


def void(system: str = "A", document: str = "d1", **other: Any) -> dict[str, Any]:
    said = {"type": "void", "task": "t1", "item": f"{system}:{document}", "position": 1, "rater": "r1"}
    return {**said, "reason": "clicked through", "actor": "manager", **other}


def study(*, changed: float | None = None) -> list[dict[str, Any]]:
    """Two systems on seven documents by one rater."""
    rows = [judgment(s, f"d{d}", (31 * d + 7 * ord(s)) % 97) for d in range(1, 8) for s in "AB"]
    if changed is not None:
        rows[0]["payload"]["score"] = changed
    return rows


def means(ranking: dict[str, Any]) -> dict[str, float]:
    return {row["system"]: row["score"] for row in ranking["systems"]}


BAD = {
    "cut gzip": ("mqm-tsv", gzip.compress(MQM.encode())[:-20], "cut"),
    "wrong header": ("wmt-da", b"a b c d e f g h i j k l\n1 2 3 4 5 6 7 8 9 10 11 12\n", "1"),
    "missing column": ("wmt-da", DA.replace(" score", "").encode(), "score"),
    "short row": ("mqm-tsv", (MQM + "A\td9\t1\n").encode(), "30"),
    "score out of range": ("wmt-da", DA.replace(" SYSTEM doc3_1.1 ", " SYSTEM doc3_1.1 1", 1).encode(), "0 to 100"),
    "NaN": ("wmt-da", (DA + "h1 w1 cs en ad 1 A 9 SYSTEM doc9_1.1 NaN 10\n").encode(), "58"),
    "NaN in JSON": ("jsonl", lines(judgment(score=float("nan"))), "NaN"),
    "infinite": ("jsonl", lines(judgment()).replace(b"50", b"1e999"), "large"),
    "NUL": ("mqm-tsv", MQM.replace("Source 3 1", "Source\0 3 1").encode(), "NUL"),
    "escaped NUL": ("jsonl", lines(judgment(meta={"note": "a\0b"})), "NUL"),
    "lone surrogate": ("mqm-tsv", MQM.encode().replace(b"Source 3 1", b"\xed\xa0\x80"), "surrogate"),
    "escaped lone surrogate": ("jsonl", lines(judgment(meta={"note": "\ud800"})), "surrogate"),
    "unknown severity": ("mqm-tsv", MQM.replace("Major", "Terrible", 1).encode(), "Terrible|severity"),
    "other source": ("mqm-tsv", MQM.replace("Source 3 1.", "Another 3 1.", 1).encode(), "another source"),
    "other target": (
        "mqm-tsv",
        (MQM + "A\td1\t1\t11\tr9\tSource 1 1.\tAnother target.\tNo-error\tNo-error\t\n").encode(),
        "another target",
    ),
    "several language pairs": ("wmt-da", (DA + "h1 w1 cs de ad 1 A 9 SYSTEM doc9_1.1 5 10\n").encode(), "cs-de"),
    "a million empty lines": ("mqm-tsv", MQM.encode() + b"\n" * 1_000_000 + b"x", "empty"),
    "gzip bomb": ("mqm-tsv", gzip.compress(MQM.encode() + (MQM.splitlines()[1] + "\n").encode() * 90_000), "bomb"),
    "a line that is too long": (
        "mqm-tsv",
        MQM.replace("Target <v>B</v> 7 2.", "x" * (ReaderLimits().line_bytes + 1), 1).encode(),
        "longer than",
    ),
    "no judgments": ("wmt-da", DA.splitlines(keepends=True)[0].encode(), "no judgments"),
    "empty file": ("jsonl", b"", "empty"),
    "judged twice": ("jsonl", lines(judgment(score=1), judgment(score=2)), "contradicts"),
    "same time twice": (
        "jsonl",
        lines(judgment(score=1, revision=1), judgment(score=2, submitted_at="2026-01-01T00:00:00Z")),
        "twice",
    ),
    "two places of one item": ("jsonl", lines(*(judgment(s, item_position=1) for s in "AB")), "two items"),
    "two raters of one task": ("jsonl", lines(judgment(), judgment("B", rater="r2")), "task t1"),
    "two documents of one item": ("jsonl", lines(judgment(), judgment(document="d2", item="A:d1", position=2)), "A:d1"),
    "metadata of a task that differ": (
        "jsonl",
        lines(judgment(task_meta={"a": 1}), judgment("B", task_meta={"a": 2})),
        "task t1",
    ),
    "metadata of an item that differ": (
        "jsonl",
        lines(judgment(item_meta={"a": 1}), judgment(position=2, item_meta={"a": 2})),
        "item A:d1",
    ),
    "a void of nothing": ("jsonl", lines(judgment(), void("B")), "no judgment"),
    "a void of a segment that was not judged": (
        "jsonl",
        lines(judgment(position=None), void(position=3)),
        "no judgment",
    ),
    "a span outside the text": (
        "jsonl",
        lines(
            {"type": "output", "system": "A", "document": "d1", "position": 1, "text": "short"},
            judgment(
                payload={
                    "protocol": "mqm",
                    "errors": [{"side": "target", "start": 2, "end": 9, "severity": "minor", "category": "Style"}],
                }
            ),
        ),
        "end|span|text",
    ),
    "another protocol": ("jsonl", lines(judgment(), judgment("B", payload={"protocol": "mqm", "errors": []})), "mqm"),
    "an unknown protocol": ("jsonl", lines(judgment(payload={"protocol": "nope", "score": 1})), "protocol"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_refused_with_file_and_reason_and_stores_nothing(untouched: Spine, kind: str) -> None:
    format, data, reason = BAD[kind]
    before = untouched.counts()
    with pytest.raises(AppError) as refused:
        untouched.take("bad", format, {"bad.file": data})
    error = refused.value
    said = " ".join([error.detail, *(f"{p.loc} {p.msg}" for p in error.places)])
    assert any(word in said for word in reason.split("|")), said
    assert "bad.file" in said or kind == "an unknown protocol", said
    assert untouched.counts() == before


@pytest.mark.parametrize(
    "kind", ["other source", "a span outside the text", "a void of nothing", "two raters of one task"]
)
def test_what_is_refused_leaves_a_campaign_with_data_as_it_was(spine: Spine, kind: str) -> None:
    format, data, _ = BAD[kind]
    spine.take("good", format, {"mqm-tsv": MQM.encode(), "jsonl": lines(judgment(task="t0"))}[format])
    before = spine.counts(), spine.export("good")
    with pytest.raises(AppError):
        spine.take("good", format, data)
    assert (spine.counts(), spine.export("good")) == before


def test_records_in_any_order_are_staged_in_pieces_and_stored_the_same(
    spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However large a file is, a process holds a piece of it; all is merged at the end, as without pieces."""
    data = lines(*reversed(study()), void(), *({**one, "revision": 2} for one in study(changed=99)))
    whole = spine.take("whole", "jsonl", data)
    copied, held = staging.copy_into_staging, list[int]()

    def copy(session: Session, buffer: staging.CopyBuffer) -> None:
        buffer.pack_lines()
        held.append(sum(block.count(b"\n") for blocks in buffer._blocks.values() for block in blocks))
        copied(session, buffer)

    monkeypatch.setattr(staging, "copy_into_staging", copy)
    monkeypatch.setattr(record_import, "CHUNK", 5)
    pieces = spine.take("pieces", "jsonl", data)
    assert len(held) == 6  # of 29 records
    assert max(held) <= 15  # a judgment may bring a segment and an item
    assert pieces == whole
    told, wanted = (spine.export(key).splitlines()[:-1] for key in ("pieces", "whole"))  # but for the seal
    assert [line.replace(b'"pieces"', b'"whole"') for line in told] == wanted


@pytest.mark.soak
def test_a_file_eight_times_as_large_takes_hardly_more_memory(database_url: str, tmp_path: Path) -> None:
    """In any order of lines: 350,000 further judgments took 100 MB when a process held all that it had staged."""
    memory = []
    for size in (50_000, 400_000):
        file = tmp_path / f"{size}.jsonl"
        reports_data.campaign(file, "da_sqm", size)
        done = run("import", database_url, f"c{size}", "jsonl", "da_sqm", str(file))
        memory.append(done.answer["memory"])
    assert memory[1] - memory[0] < 60, memory  # MB; names of segments and items are remembered, up to a number


def test_a_dry_run_reports_what_would_be_stored_and_stores_nothing(spine: Spine) -> None:
    before = spine.counts()
    planned = spine.take("c", "mqm-tsv", MQM.encode(), dry_run=True)
    assert spine.counts() == before
    done = spine.take("c", "mqm-tsv", MQM.encode())
    assert planned == {**done, "dry_run": True}


def test_bad_lines_can_be_left_out_of_a_new_campaign_and_are_listed(spine: Spine) -> None:
    report = spine.take("c", "mqm-tsv", {"f": (MQM + "oops\n").encode()}, skip_bad_lines=True)
    assert report["stored"]["judgments"] == 28
    assert [line["loc"] for line in report["bad_lines"]["first"]] == [["f", 30]]
    alone = spine.take("d", "mqm-tsv", MQM.encode())
    assert report["stored"] == alone["stored"]


def test_the_same_file_again_takes_no_version_and_stores_no_row(spine: Spine) -> None:
    for format, data in (("mqm-tsv", MQM.encode()), ("wmt-da", DA.encode()), ("jsonl", lines(*study(), void()))):
        first = spine.take(f"c-{format}", format, data)
        before = spine.counts()
        again = spine.take(f"c-{format}", format, data)
        assert again["stored"]["data_version"] == first["stored"]["data_version"] == 1
        assert again["stored"]["unchanged"] == first["stored"]["judgments"]
        assert spine.counts() == before


def test_a_changed_answer_is_revision_2_and_as_of_still_gives_the_old_ranking(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(*study()))
    old = spine.body("c", "wmt-da")
    report = spine.take("c", "jsonl", lines(*study(changed=99)))
    assert (report["stored"]["revisions"], report["stored"]["unchanged"]) == (1, 13)
    new = spine.rank("c", "wmt-da")
    assert new["data_version"] == 2
    assert new["systems"] != json.loads(old)["systems"]
    spine.take("d", "jsonl", lines(*study(changed=99)))
    assert spine.rank("d", "wmt-da")["systems"] == new["systems"]
    spine.ask("DELETE FROM reports RETURNING 1")
    assert spine.body("c", "wmt-da", as_of=1) == old


def test_what_a_later_version_brings_does_not_change_an_earlier_ranking(spine: Spine) -> None:
    """New systems, documents and raters sort before the old ones here; every code would move."""
    spine.take("c", "jsonl", lines(*study()))
    old = spine.body("c", "wmt-da")
    more = [judgment("0", "a0", 3, rater="a", task="a", position=7), judgment("A", "a0", 90, rater="a", task="a")]
    spine.take("c", "jsonl", lines(*more))
    spine.ask("DELETE FROM reports RETURNING 1")
    assert spine.body("c", "wmt-da", as_of=1) == old
    assert spine.body("c", "wmt-da") != old


def test_a_void_judgment_leaves_the_ranking_with_all_its_revisions(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(*study()))
    old = spine.body("c", "wmt-da")
    report = spine.take("c", "jsonl", lines(void()))
    assert (report["stored"]["voids"], report["stored"]["data_version"]) == (1, 2)
    spine.take("d", "jsonl", lines(*study()[1:]))
    without = spine.rank("d", "wmt-da")["systems"]
    assert spine.rank("c", "wmt-da")["systems"] == without
    revised = spine.take("c", "jsonl", lines(*study(changed=99)))
    assert (revised["stored"]["revisions"], revised["stored"]["voids"]) == (1, 1)
    assert spine.rank("c", "wmt-da")["systems"] == without
    spine.ask("DELETE FROM reports RETURNING 1")
    assert spine.body("c", "wmt-da", as_of=1) == old


@pytest.mark.parametrize("room", [1, 2])
def test_voids_of_an_import_count_among_what_its_seal_covers(
    spine: Spine, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    spine.take("c", "jsonl", lines(*study()))
    before = spine.counts()
    monkeypatch.setattr(seals, "MOST_ROWS", room)
    both = lines(judgment("A", "a0", 90, rater="new", task="new"), void())
    if room == 1:
        with pytest.raises(merging.ImportTooLong):
            spine.take("c", "jsonl", both)
        assert spine.counts() == before
    else:
        stored = spine.take("c", "jsonl", both)["stored"]
        assert (stored["judgments"], stored["voids"]) == (1, 1)


def test_answers_without_revisions_are_numbered_by_their_times_whatever_their_order(spine: Spine) -> None:
    times = [f"2026-01-0{d}T12:00:00Z" for d in (3, 1, 2)]
    timed = [judgment(score=d, submitted_at=time) for d, time in zip((30, 10, 20), times, strict=True)]
    first = spine.take("c", "jsonl", lines(*timed, judgment("B")))
    assert first["stored"]["revisions"] == 2
    stored = spine.ask("SELECT revision, (payload ->> 'score')::float8 FROM judgments ORDER BY item_id, revision")
    assert stored[:3] == [(1, 10.0), (2, 20.0), (3, 30.0)]
    again = spine.take("c", "jsonl", lines(*timed, judgment("B")))
    assert (again["stored"]["unchanged"], again["stored"]["judgments"], again["stored"]["data_version"]) == (4, 0, 1)


def test_places_of_items_given_and_not_given_do_not_collide(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(judgment("A"), judgment("B", item_position=1), judgment("C", item_position=7)))
    spine.take("c", "jsonl", lines(judgment("D"), judgment("E", item_position=5)))
    found = spine.ask("SELECT key, position FROM items ORDER BY position")
    assert found == [("B:d1", 1), ("E:d1", 5), ("C:d1", 7), ("A:d1", 8), ("D:d1", 9)]


def test_a_file_that_says_otherwise_of_what_is_stored_is_refused_not_ignored(spine: Spine) -> None:
    declared = {"type": "system", "key": "A", "name": "A"}
    spine.take("c", "jsonl", lines(declared, judgment(rater="r1")))
    for record, what in (
        ({**declared, "kind": "human"}, "system A"),
        ({**declared, "lab": "somebody"}, "system A"),
        ({"type": "document", "key": "d1", "name": "d1", "kind": "calibration"}, "document d1"),
        ({"type": "rater", "key": "r1", "name": "r1", "person": "p1"}, "rater r1"),
    ):
        with pytest.raises(Invalid) as refused:
            spine.take("c", "jsonl", {"f": lines(record)})
        assert refused.value.places[0].loc == ("f", 2)
        assert what in refused.value.places[0].msg
    assert spine.take("c", "jsonl", lines(declared))["stored"]["data_version"] == 1


def test_sources_and_metadata_can_become_known_later(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(judgment()))
    segment = {"type": "segment", "document": "d1", "position": 1, "source": "Now known.", "meta": {"line": 7}}
    assert spine.take("c", "jsonl", lines(segment))["stored"]["data_version"] == 2
    assert spine.ask("SELECT source, meta FROM segments") == [("Now known.", {"line": 7})]
    with pytest.raises(Invalid, match="contradict"):
        spine.take("c", "jsonl", lines({**segment, "meta": {"line": 8}}))


def marked(side: str = "target", **other: Any) -> dict[str, Any]:
    error = {"side": side, "start": 2, "end": 9, "severity": "minor", "category": "Style"}
    return judgment(payload={"protocol": "mqm", "errors": [error]}, **other)


def output(text: str, system: str = "A") -> dict[str, Any]:
    return {"type": "output", "system": system, "document": "d1", "position": 1, "text": text}


def source(text: str) -> dict[str, Any]:
    return {"type": "segment", "document": "d1", "position": 1, "source": text}


@pytest.mark.parametrize(("side", "said"), [("target", output), ("source", source)])
def test_a_text_that_comes_after_spans_beyond_its_end_is_refused_by_line(
    spine: Spine, side: str, said: Callable[[str], dict[str, Any]]
) -> None:
    spine.take("c", "jsonl", lines(marked(side)))
    before = spine.counts(), spine.export("c")
    with pytest.raises(Invalid, match="spans") as refused:
        spine.take("c", "jsonl", {"late.file": lines(output("short", "B"), said("8 chars."))})
    assert [place.loc[:2] for place in refused.value.places] == [("late.file", 3)]
    assert f"A:d1:1, is outside the {side} text of 8 characters" in refused.value.places[0].msg
    assert (spine.counts(), spine.export("c")) == before
    spine.take("c", "jsonl", lines(said("nine char")))
    spine.take("copy", "jsonl", spine.export("c"))


def test_a_late_text_is_held_only_against_what_was_marked_on_it(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(marked(role="degraded"), marked("source", system="B")))
    for said in (output("short"), output("short", "B"), output("short", "C")):
        assert spine.take("c", "jsonl", lines(said))["stored"]["outputs"] == 1


def test_files_of_another_protocol_than_the_campaigns_are_refused(spine: Spine) -> None:
    spine.take("c", "mqm-tsv", MQM.encode())
    with pytest.raises(Invalid, match="their protocol is da"):
        spine.take("c", "wmt-da", DA.encode())


def test_languages_that_contradict_are_refused(spine: Spine) -> None:
    spine.take("c", "wmt-da", DA.encode())
    with pytest.raises(Conflict, match="source_language"):
        spine.take("c", "wmt-da", DA.replace(" cs en ", " de en ").encode())


def test_an_import_in_parts_is_stored_once_and_answers_alike(spine: Spine) -> None:
    spine.take("c", "mqm-tsv", MQM.encode(), dry_run=False)
    with spine.database.transaction() as session:
        import_id = imports.create_import(session, "c", format="mqm-tsv", options={}).public_id
    more = MQM.replace("\td", "\tx").replace(MQM_HEADER.replace("\td", "\tx"), MQM_HEADER).encode()
    with spine.database.transaction() as session:
        for _ in range(2):  # the same bytes again change nothing
            imports.add_import_file(session, "c", import_id, "x.tsv", iter([more[:100], more[100:]]))
    with spine.database.transaction() as session, pytest.raises(Conflict):
        imports.add_import_file(session, "c", import_id, "x.tsv", iter([b"other"]))
    how = {"dry_run": False, "skip_bad_lines": False, "actor": "test"}
    done = imports.commit_import(spine.database, "c", import_id, **how)
    assert done["stored"]["judgments"] == 28
    assert imports.commit_import(spine.database, "c", import_id, **how) == done
    assert spine.counts()["import_chunks"] == 0
    with spine.database.transaction() as session, pytest.raises(Conflict):
        imports.add_import_file(session, "c", import_id, "y.tsv", iter([b"late"]))
