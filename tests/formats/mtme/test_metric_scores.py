"""Scores of automatic metrics in files: jsonl says all, mt-metrics-eval what it has a place for, others count them."""

from __future__ import annotations

from collections import Counter

import pytest

from app import formats
from app.domain.errors import Invalid
from app.formats.base import (
    BY_METRICS,
    DocumentRecord,
    JudgmentRow,
    MetricScoreRow,
    OutputRow,
    Record,
    SegmentRow,
    SystemRecord,
)
from tests.formats.conftest import NOWHERE, Read, Write
from tests.formats.mtme.test_mtme import TREE
from tests.formats.trees import book, contents, tree

BLEU = "wmt22/metric-scores/en-de/BLEU-refA.seg.score"
SCORED: list[Record] = [
    SystemRecord(NOWHERE, "A", "A"),
    SystemRecord(NOWHERE, "B", "B"),
    DocumentRecord(NOWHERE, "d", "d", position=1),
    *(SegmentRow(NOWHERE, "d", n, f"Source {n}.") for n in (1, 2)),
    *(OutputRow(NOWHERE, system, "d", n, f"{system} {n}") for n in (1, 2) for system in "AB"),
    JudgmentRow(NOWHERE, "r", "A:d", ("A",), "d", 1, "r", {"protocol": "da", "score": 5.0}),
    MetricScoreRow(NOWHERE, "comet", "A", 0.1 + 0.2, document="d", position=2),
    MetricScoreRow(NOWHERE, "comet", "B", -1e-300, document="d", position=1),
    MetricScoreRow(NOWHERE, "comet", "A", 0.75),
    MetricScoreRow(NOWHERE, "ter", "B", 2.5, higher_is_better=False, document="d", position=2),
    MetricScoreRow(NOWHERE, "ter", "B", 0.0, higher_is_better=False, document="d", position=1),
]


def scores(records: list[Record]) -> set[tuple[object, ...]]:
    return {
        (one.metric, one.system, one.document, one.position, one.value)
        for one in records
        if isinstance(one, MetricScoreRow)
    }


def test_jsonl_reads_what_it_wrote(read: Read, write: Write) -> None:
    lost = Counter[str]()
    written = write("jsonl", SCORED, lost)
    found = read("jsonl", written)

    assert not lost
    assert sorted(map(repr, found.plain)) == sorted(map(repr, SCORED))
    assert write("jsonl", found.records) == written


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ('"value":1,"document":"d"', "document and position"),
        ('"value":1,"position":1', "document and position"),
        ('"value":true', "value: must be a number"),
        ('"value":"1"', "value: must be a number"),
        (f'"value":{10**400}', "an integer does not fit"),
        ('"higher_is_better":true', "value: is missing"),
        ('"value":1,"higher_is_better":0', "higher_is_better: must be true or false"),
    ],
)
def test_a_score_that_cannot_be_is_a_bad_line(read: Read, fields: str, said: str) -> None:
    line = f'{{"type":"metric","metric":"m","system":"A",{fields}}}'
    with pytest.raises(Invalid) as refused:
        read("jsonl", f'{{"type":"plumbline","version":1}}\n{line}\n'.encode())
    assert [place.loc for place in refused.value.places] == [("file", 2)]
    assert said in refused.value.places[0].msg


def test_mtme_writes_blocks_with_higher_better_and_reads_them_again(read: Read) -> None:
    lost = Counter[str]()
    files = tree("mtme", contents(SCORED), lost)

    assert files["metric-scores/und-und/comet.seg.score"] == (b"A\tNone\nA\t0.30000000000000004\nB\t-1e-300\nB\tNone\n")
    assert files["metric-scores/und-und/comet.sys.score"] == b"A\t0.75\n"
    assert files["metric-scores/und-und/ter.seg.score"] == b"B\t0.0\nB\t-2.5\n"
    assert lost["that lower is better by an automatic metric: its scores are negated"] == 2
    found = read("mtme", files, metric="comet,t*")
    assert scores(found.records) == {
        (metric, system, document, position, -value + 0.0 if metric == "ter" else value)
        for metric, system, document, position, value in scores(SCORED)
    }
    assert found.log.notes["outputs and systems without a metric's score (None)"] == 2


def test_metrics_of_mtme_are_read_where_they_are_asked_for(read: Read) -> None:
    assert not scores(read("mtme", TREE).records)
    found = read("mtme", {**TREE, "wmt22/metric-scores/en-de/BLEU-refA.doc.score": b"M.2 1\nM.2 2\n"}, metric="BLEU*")

    assert scores(found.records) == {
        ("BLEU-refA", "M.2", "d1", 1, 1.0),
        ("BLEU-refA", "M.2", "d1", 2, 2.0),
        ("BLEU-refA", "M.2", "d2", 1, 3.0),
    }
    assert found.log.dropped == {"files of metric scores at other levels than of segments and systems": 1}


def test_the_canary_of_a_test_set_has_no_score(read: Read) -> None:
    ahead = {name: b"canary canary\n" if name.endswith(".docs") else b"Do not train.\n" for name in TREE}
    files = {name: ahead[name] + body for name, body in TREE.items()} | {BLEU: b"M.2 9\n" + TREE[BLEU]}
    assert scores(read("mtme", files, metric="*").records) == scores(read("mtme", TREE, metric="*").records)


@pytest.mark.parametrize(
    ("body", "option", "said"),
    [
        (b"M.2 1\nM.2 2\n", "*", "M.2 has 2 lines where 3 are needed"),
        (b"M.2 1\nM.2 2\nM.2 x\n", "*", "not a number: 'x'"),
        (b"M.2 1\nM.2 2\nM.2 nan\n", "*", "not a number: 'nan'"),
        (TREE[BLEU], "COMET", "there is no COMET"),
    ],
)
def test_metrics_that_do_not_fit_the_test_set_are_refused(read: Read, body: bytes, option: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        read("mtme", {**TREE, BLEU: body}, metric=option)
    assert said in str(refused.value.detail) + "".join(place.msg for place in refused.value.places)


def test_two_scores_of_one_system_are_refused(read: Read) -> None:
    files = {**TREE, "wmt22/metric-scores/en-de/X.sys.score": b"M.2\t1\nM.2\t2\n"}
    with pytest.raises(Invalid) as refused:
        read("mtme", files, metric="X")
    assert [place.loc[1] for place in refused.value.places] == [2]


OTHERS = sorted(
    name
    for name, one in formats.ALL.items()
    if (one.write or one.write_book or one.write_file_tree) and name != "jsonl"
)


@pytest.mark.parametrize("name", [name for name in OTHERS if name != "mtme"])
def test_every_other_format_counts_what_it_leaves_out(name: str, write: Write) -> None:
    lost, found = Counter[str](), formats.get_format(name)
    if found.write_file_tree is not None:
        tree(name, contents(SCORED), lost)
    elif found.write_book is not None:
        book(name, contents(SCORED), lost)
    else:
        write(name, SCORED, lost)
    assert lost[BY_METRICS] == 5
