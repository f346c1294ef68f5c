"""Public judgments that come one a row, or one an error, against their published counts and segment scores."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app import protocols
from app.domain.errors import Invalid
from app.formats.base import CampaignRow, OutputRow, RaterRow, SegmentRow
from app.protocols.base import JudgedTexts, parse_scoring_options
from tests.formats.conftest import Found, Parts, Read, Write

pytestmark = pytest.mark.golden
EXPECTED = Path(__file__).resolve().parents[2] / ".." / "shared" / "expected"
ESA_FILES = ("annotations.tsv.gz", "texts.tsv.gz")
DA_SQM = "da_sqm_wmt22_calibration"
Data = Callable[[str], bytes]
Scores = dict[tuple[str, str, int], list[float]]


@cache
def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXPECTED / f"{name}.json").read_text())
    return found


def scores(found: Found, role: str = "rating", weights: str | None = None) -> Scores:
    """Latest scores of segments, by system, document and position, through the protocol and its checks."""
    head = found.of(CampaignRow)[0]
    protocol = protocols.get_protocol(head.protocol)
    options = parse_scoring_options(protocol, {**(head.options or {}), **({"weights": weights} if weights else {})})
    sources = {(s.document, s.position): s.source for s in found.of(SegmentRow)}
    texts = {(o.system, o.document, o.position): o.text for o in found.of(OutputRow)}
    latest = {}
    for judgment in found.judgments:
        if judgment.role == role and judgment.position is not None:
            where = judgment.systems[0], judgment.document, judgment.position
            shown = JudgedTexts(sources.get(where[1:]), texts.get(where))
            payload = protocol.payload.model_validate(judgment.payload)
            protocol.check(payload, shown, options)
            latest[*where, judgment.task, judgment.item, judgment.rater] = protocol.score(payload, shown, options).score
    gathered: Scores = defaultdict(list)
    for key, score in latest.items():
        gathered[key[:3]].append(score)
    return gathered


def means(given: Scores) -> dict[str, float]:
    """System means of segment means."""
    by_system = defaultdict(list)
    for (system, _, _), values in given.items():
        by_system[system].append(sum(values) / len(values))
    return {system: sum(values) / len(values) for system, values in by_system.items()}


def test_side_by_side_mqm_has_the_published_size_and_scores(read: Read, data: Data) -> None:
    found = read("table", data("sxs_mqm2023_ende/ratings.tsv.gz"), map="sxs-mqm")
    counts = expected("datasets")["sxs_mqm2023_ende"]
    assert found.log.lines == counts["rows"] + 1
    assert len(found.judgments) == counts["segment_ratings"]
    assert len({j.systems for j in found.judgments}) == counts["systems"]
    assert len({j.document for j in found.judgments}) == counts["documents"]
    assert len({j.rater for j in found.judgments}) == counts["raters"]
    assert len(found.of(SegmentRow)) == counts["segments"]
    assert found.log.dropped == {"attention checks (HOTW-test), kept with the judgment": counts["attention_check_rows"]}
    theirs = expected("mqm_sxs2023")["ende"]["system_means"]
    for ours, name in (("wmt24", "wmt24"), ("freitag2021", "google2021")):
        assert means(scores(found, weights=ours)) == pytest.approx(theirs[name], abs=1e-9)


def test_eight_raters_of_mqm_have_the_published_size_and_scores(read: Read, data: Data) -> None:
    found = read("table", data("mqm_wmt23_zhen_calibration/ratings.tsv.gz"), map="mqm-spans")
    counts = expected("datasets")["mqm_wmt23_zhen_calibration"]
    assert found.log.lines == counts["rows"] + 1
    assert len(found.judgments) == counts["segment_ratings"]
    assert len({(j.document, j.position) for j in found.judgments}) == counts["segments"]
    assert not found.of(OutputRow), "texts are unknown, not empty"
    ours = {(w[0], w[2] - 1): -sum(s) / len(s) for w, s in scores(found, weights="wmt24").items()}
    lines = gzip.decompress(data("mqm_wmt23_zhen_calibration/official_seg_scores.tsv.gz")).decode().splitlines()[1:]
    official = {(system, int(line)): float(score) for system, line, score in (row.split("\t") for row in lines)}
    assert ours == pytest.approx(official, abs=1e-9)
    assert means(scores(found, weights="wmt24")) == pytest.approx(
        expected("agreement_wmt23_zhen_8raters")["system_means"], abs=1e-9
    )


@pytest.fixture(scope="module")
def esa(parts: Parts, data: Data) -> dict[str, Found]:
    files = {name: data(f"esa_wmt23_ende/{name}") for name in ESA_FILES}
    return parts("table", files, map="esa-annotations", split="protocol")


def test_error_spans_have_the_published_size(esa: dict[str, Found]) -> None:
    counts = expected("datasets")["esa_wmt23_ende"]
    assert len(esa) == counts["protocols"]
    judgments = [j for found in esa.values() for j in found.judgments]
    log = next(iter(esa.values())).log
    left_out = log.dropped["filler repetitions (#dup)"] + log.repaired["rows that stand twice alike"]
    assert len(judgments) + left_out == counts["rows"]
    assert len({j.rater for j in judgments}) == counts["accounts"]
    assert len({r.person for found in esa.values() for r in found.of(RaterRow)}) == counts["annotators"]
    assert len({j.systems for j in judgments}) == counts["systems"]
    assert len({j.document for j in judgments}) == counts["documents"]
    assert len({(j.document, j.position) for j in judgments}) == counts["segments"]


@pytest.mark.parametrize("name", ["ESA-1", "ESA-2", "ESA-IAA", "ESAAI-1", "ESAAI-2", "ESAAI-IAA", "MQM-1", "MQM-IAA"])
def test_error_spans_give_the_published_segment_scores(esa: dict[str, Found], data: Data, name: str) -> None:
    sign = -1.0 if name.startswith("MQM") else 1.0
    given = scores(esa[name])
    theirs = expected("esa_wmt23")["protocols"][name]
    assert len(given) == theirs["items"]
    assert {s: sign * m for s, m in means(given).items()} == pytest.approx(theirs["system_means"], abs=1e-9)
    official: dict[tuple[str, int], float] = {}
    seen: Counter[str] = Counter()
    for line in gzip.decompress(data(f"esa_wmt23_ende/official_{name}.seg.score.gz")).decode().splitlines():
        system, score = line.split()
        if score != "None":
            official[system, seen[system]] = float(score)
        seen[system] += 1
    ours = {(w[0], w[2] - 1): sign * sum(s) / len(s) for w, s in given.items()}
    assert ours == pytest.approx(official, abs=1e-9)


def raw_export(data: Data, protocol: str) -> tuple[list[dict[str, str]], bytes]:
    """Rows of the published table, and the file that Appraise exported them as."""
    header, *lines = gzip.decompress(data("esa_wmt23_ende/annotations.tsv.gz")).decode().removesuffix("\n").split("\n")
    rows = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
    rows = [row for row in rows if row["protocol"] == protocol]
    export = io.StringIO()
    for row in rows:
        name = "#".join(
            filter(None, (row["doc"], row["system"], row["bad_id"], row["duplicate"].replace("licate", "")))
        )
        head = (row["login"], f"wmt23.{row['system']}", row["item_no"], row["item_type"], "eng", "deu", row["score"])
        csv.writer(export).writerow((*head, name, "False", row["error_spans"], row["t_start"], row["t_end"]))
    return rows, export.getvalue().encode()


def test_the_raw_export_places_every_segment_where_the_published_table_has_it(read: Read, data: Data) -> None:
    rows, export = raw_export(data, "ESA-1")
    found = read("esa", export)
    documents = defaultdict(set)
    for row in rows:
        documents[row["doc"]].add(int(row["line"]))
    table = {(r["login"], r["system"], int(r["line"]), r["bad_id"], float(r["score"])) for r in rows}
    for judgment in found.judgments:
        assert judgment.position is not None
        line = sorted(documents[judgment.document])[judgment.position - 1]
        copy = judgment.item.rpartition(":")[2] if judgment.role == "degraded" else ""
        assert (judgment.rater, judgment.systems[0], line, copy, judgment.payload["score"]) in table
    assert found.log.dropped["filler repetitions (#dup)"] == 15
    assert len(found.judgments) > 0.96 * len(rows)


@pytest.mark.parametrize(
    ("protocol", "option"),
    [("ESA-1", "esa"), pytest.param("ESAAI-1", "esa", marks=pytest.mark.soak), ("MQM-1", "mqm")],
)
def test_the_raw_export_survives_going_in_out_and_in_again(
    read: Read, write: Write, data: Data, protocol: str, option: str
) -> None:
    _, export = raw_export(data, protocol)
    once, lost = read("esa", export, protocol=option), Counter[str]()
    written = write("esa", once.records, lost)
    again = read("esa", written, protocol=option)
    assert again.plain == once.plain
    assert write("esa", again.records) == written
    # The weights of MQM have no place in the file: an import says them again.
    weighed = {"options of the campaign: say its weights again": 1}
    assert lost == (weighed if option == "mqm" else {})
    assert len(once.judgments) > 1000


def test_degraded_copies_name_their_originals(esa: dict[str, Found]) -> None:
    found = esa["ESA-1"]
    items = {(j.task, j.item, j.position) for j in found.judgments if j.role == "rating"}
    degraded = [j for j in found.judgments if j.role == "degraded"]
    linked = sum((j.task, (j.item_meta or {})["of"], j.position) in items for j in degraded)
    rows = expected("esa_wmt23")["protocols"]["ESA-1"]["control_items"]
    assert rows - 2 <= len(degraded) <= rows
    assert linked / len(degraded) > 0.95


def test_document_scores_repeats_and_persons_of_wmt22(parts: Parts, data: Data) -> None:
    files = {name: data(f"{DA_SQM}/{name}") for name in ("calibration.csv.gz", "mapping.csv.gz")}
    found = parts("wmt-da-sqm", files, mapping="mapping.csv.gz", split="language_pair")
    counts = expected("datasets")[DA_SQM]
    judgments = [j for part in found.values() for j in part.judgments]
    assert len(judgments) == counts["rows"]
    assert len({j.rater for j in judgments}) == counts["annotators"]
    assert sum(j.position is None for j in judgments) == counts["document_score_rows"]
    assert len(found) == counts["language_pairs"]
    people = {r.person for part in found.values() for r in part.of(RaterRow)}
    assert len(people - {None}) == 80, "calibration accounts that stand for persons"
    for name, part in found.items():
        theirs = expected("calibration_wmt22")[name]
        assert len(part.judgments) == theirs["rows"]
        assert sum(j.position is not None for j in part.judgments) == theirs["segment_rows"]
        segments = {(j.systems, j.document, j.position) for j in part.judgments if j.position is not None}
        assert len(segments) == theirs["items"]
        assert len({(j.systems, j.document) for j in part.judgments}) == theirs["documents"]


def test_without_a_split_several_pairs_are_an_error_that_names_them(read: Read, data: Data) -> None:
    with pytest.raises(Invalid, match="eng-ces, eng-deu, eng-hrv, eng-jpn, eng-zho, zho-eng"):
        read("wmt-da-sqm", data(f"{DA_SQM}/calibration.csv.gz"))


def test_the_order_of_rows_is_irrelevant(parts: Parts, data: Data) -> None:
    header, *rows = gzip.decompress(data(f"{DA_SQM}/calibration.csv.gz")).splitlines()
    once = parts("wmt-da-sqm", {"a": b"\n".join([header, *rows])}, split="language_pair")
    random.Random(7).shuffle(rows)
    again = parts("wmt-da-sqm", {"a": b"\n".join([header, *rows])}, split="language_pair")
    assert {name: part.plain for name, part in once.items()} == {name: part.plain for name, part in again.items()}


def test_the_order_of_error_rows_is_irrelevant(parts: Parts, data: Data) -> None:
    header, *rows = gzip.decompress(data("esa_wmt23_ende/annotations.tsv.gz")).splitlines()
    options = {"map": "esa-annotations", "split": "protocol"}
    once = parts("table", {"a": b"\n".join([header, *rows[:3000]])}, **options)
    shuffled = rows[:3000]
    random.Random(7).shuffle(shuffled)
    again = parts("table", {"a": b"\n".join([header, *shuffled])}, **options)
    assert {name: part.plain for name, part in once.items()} == {name: part.plain for name, part in again.items()}
