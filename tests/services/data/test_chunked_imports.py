"""An import merged document by document beside its reading stores what one merged as a whole stores, or nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from app.domain.errors import Invalid
from app.formats.base import JudgmentRow, LineLocation, OutputRow, ReadLog, Record, SegmentRow
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns import campaigns
from app.services.data import merging, record_import
from app.storage import seals
from app.storage.imports import staging
from tests.spine import Spine, opened

HEADER = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"
DA_HEADER = "HITId\tWorkerId\tInput.src\tInput.trg\tInput.item\thit\tsys_id\trid\ttype\tsid\tscore\ttime"


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


@pytest.fixture
def chunks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Merge after every document; the list grows by one for each chunk that is merged beside the reading."""
    given: list[int] = []
    give = merging.BackgroundMerger.submit

    def counted(self: merging.BackgroundMerger, lines: staging.CopyBuffer, campaign: CampaignInfo) -> None:
        given.append(1)
        give(self, lines, campaign)

    monkeypatch.setattr(record_import, "CHUNK", 1)
    monkeypatch.setattr(merging.BackgroundMerger, "submit", counted)
    return given


def mqm(*more: str) -> bytes:
    """Four documents of two segments, by three systems, rated by two raters each; lines in no order."""
    draw = random.Random(5)
    rows = list(more)
    for doc in range(4):
        for position in (1, 2):
            for system in "ABC":
                for rater in ("r1", "r 2"):
                    text = f"{system} on {doc} {position}"
                    marked, what = (
                        (f"<v>{text[:1]}</v>{text[1:]}", "Minor") if draw.random() < 0.6 else (text, "No-error")
                    )
                    rows.append(
                        f"{system}\td {doc}\t{position}\t0\t{rater}\tsource {doc} {position}\t{marked}\tX\t{what}\t"
                    )
    draw.shuffle(rows)
    return "\n".join([HEADER, *rows, ""]).encode()


def da() -> bytes:
    """Three documents, two systems, one HIT for each rater, which spans all documents."""
    rows = [
        f"h-{rater}\t{rater}\tces\teng\tad\th\t{system}\tr{doc}\tSYSTEM\td{doc}.{position}\t{position * 10 + doc}\t1.5"
        for rater in ("r1", "r2")
        for doc in range(3)
        for system in "AB"
        for position in (1, 2)
    ]
    return "\n".join([DA_HEADER, *rows, ""]).encode()


def said(spine: Spine, campaign: str) -> list[str]:
    """What a campaign holds, without its name and the places in tasks, which follow the order of merging."""
    lines = [json.loads(line) for line in spine.export(campaign).splitlines()[:-1]]  # the last is a digest
    return sorted(
        json.dumps(
            {name: value for name, value in line.items() if name not in ("item_position", "name")}, sort_keys=True
        )
        for line in lines
    )


@pytest.mark.parametrize(("format", "data"), [("mqm-tsv", mqm()), ("wmt-da", da())])
def test_chunks_store_what_one_piece_stores(
    spine: Spine, format: str, data: bytes, chunks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_chunks = spine.take("chunked", format, data)["stored"]
    assert len(chunks) >= 2
    n = len(chunks)
    monkeypatch.setattr(record_import, "CHUNK", 10_000)
    assert spine.take("whole", format, data)["stored"] == in_chunks
    assert len(chunks) == n
    assert said(spine, "chunked") == said(spine, "whole")
    assert spine.body("chunked", "recommended").replace(b"chunked", b"whole") == spine.body("whole", "recommended")


def test_chunks_again_change_nothing(spine: Spine, chunks: list[int]) -> None:
    first = spine.take("c", "mqm-tsv", mqm())["stored"]
    before = spine.counts()
    again = spine.take("c", "mqm-tsv", mqm())["stored"]
    assert (again["judgments"], again["unchanged"]) == (0, first["judgments"])
    assert again["data_version"] == first["data_version"]
    assert spine.counts() == before
    assert chunks


def test_a_contradiction_in_a_later_chunk_leaves_nothing_of_those_before(spine: Spine, chunks: list[int]) -> None:
    spine.take("c", "mqm-tsv", mqm().split(b"\n")[0] + b"\nA\td 3\t1\t0\tr9\tanother source\tA on 3 1\tX\tNo-error\t\n")
    before = spine.counts()
    with pytest.raises(Invalid) as caught:
        spine.take("c", "mqm-tsv", mqm())
    assert "another source text" in str(caught.value.places[0].msg)
    assert chunks
    assert spine.counts() == before


def test_bad_lines_are_named_before_what_an_earlier_chunk_contradicts(spine: Spine, chunks: list[int]) -> None:
    spine.take("c", "mqm-tsv", mqm().split(b"\n")[0] + b"\nA\td 0\t1\t0\tr9\tanother source\ttext\tX\tNo-error\t\n")
    bad = f"A\td 3\t2\t0\tr1\tsource 3 2\tA on 3 2\tX\tMinor\t{json.dumps({'note': 1})[:-1]}"
    with pytest.raises(Invalid) as caught:
        spine.take("c", "mqm-tsv", mqm(bad))
    assert "metadata" in caught.value.places[0].msg
    assert chunks


@pytest.mark.parametrize("room", [47, 48])
def test_an_import_holds_no_more_judgments_than_a_seal_covers(
    spine: Spine, chunks: list[int], monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(seals, "MOST_ROWS", room)
    before = spine.counts()
    if room < 48:
        with pytest.raises(merging.ImportTooLong, match="at most 47 judgments"):
            spine.take("c", "mqm-tsv", mqm())
        assert spine.counts()["judgments"] == before["judgments"] == 0
    else:
        assert spine.take("c", "mqm-tsv", mqm())["stored"]["judgments"] == 48
    assert len(chunks) >= 2


def test_an_import_with_too_many_judgments_is_not_read_to_its_end(
    spine: Spine, chunks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seals, "MOST_ROWS", 1)
    bad = f"A\td 3\t2\t0\tr1\tsource 3 2\tA on 3 2\tX\tMinor\t{json.dumps({'note': 1})[:-1]}"
    with pytest.raises(merging.ImportTooLong):
        spine.take("c", "mqm-tsv", mqm(bad))
    assert len(chunks) < 3


def edited(document: str) -> list[Record]:
    """A document of one segment, its output and an edit of that output that takes one word away."""
    at = LineLocation("f", 1)
    payload = {"protocol": "postedit", "text": "one two", "critical_errors": 0}
    return [
        SegmentRow(at, document, 1, "eins zwei"),
        OutputRow(at, "A", document, 1, "one two three"),
        JudgmentRow(at, "t", f"A:{document}", ("A",), document, 1, "r", payload),
    ]


def test_scores_that_need_texts_are_stored_chunk_by_chunk(spine: Spine, chunks: list[int]) -> None:
    with spine.database.transaction() as session:
        new = campaigns.NewCampaign(key="p", name="p", protocol="postedit")
        view = campaigns.create_campaign(session, new, actor="test")
        records = [*edited("d1"), *edited("d2"), *edited("d3")]
        counts = record_import.import_records(
            record_import.RunningImport(session, view, "test", "edits"), records, ReadLog(), by_document=True
        )
    assert counts["judgments"] == 3
    assert len(chunks) == 2
    scores = [row[0] for row in spine.ask("SELECT score FROM scores ORDER BY judgment_id")]
    assert len(scores) == 3
    assert scores[0] > 0
    assert set(scores) == {scores[0]}
