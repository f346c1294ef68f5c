"""Whatever stands in files of test sets, reading them ends in records or in an error that says where."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.formats.base import OutputRow, ReaderLimits
from tests.formats.conftest import Read

DOC = {"doc_id": "d_#_1", "domain": "news", "src_lang": "en", "tgt_lang": "de", "src_text": "One.\n\nTwo."}
ITEM = {"item_id": "d-0", "src": "One.", "tgt": {"A": "Eins."}}
SPAN = {"start_i": 0, "end_i": 2, "severity": "minor", "category": None}
BATCH_ITEM = {
    "documentID": "d",
    "targetID": "wmt23.A",
    "itemType": "TGT",
    "isCompleteDocument": False,
    "sourceText": "One.",
    "targetText": "Eins.",
    "mqm": [{"start_i": 0, "end_i": 2, "severity": "minor"}],
}
RATING = {"errors": [{"start": 0, "end": 2, "severity": "minor", "category": "x", "is_source_error": False}]}


def jsonl(*objects: object) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in objects).encode()


SETS: Mapping[str, tuple[Mapping[str, bytes], Mapping[str, str]]] = {
    "text": ({"src": b"One.\nTwo.\n", "set.docs": b"d1\tnews\nd2\n", "ref.A": b"1\n2\n", "S": b"x\ny\n"}, {}),
    "wmt-jsonl": (
        {
            "set.jsonl": jsonl({**DOC, "refs": {"refA": {"ref": "1\n\n2"}}, "video": None}),
            "S.jsonl": jsonl({"doc_id": "d_#_1", "hypothesis": "x\n\ny"}),
        },
        {},
    ),
    "mtme": (
        {
            "sources/en-de.txt": b"One.\nTwo.\n",
            "documents/en-de.docs": b"news d1\nall d2\n",
            "system-outputs/en-de/S.txt": b"x\ny\n",
            "human-scores/en-de.mqm.seg.rating": f"S\tNone\nS\t{json.dumps(RATING)}\tr1\n".encode(),
            "human-scores/en-de.da.seg.score": b"S 3\nS None\n",
        },
        {"human": "mqm"},
    ),
    "appraise": ({"b.json": json.dumps([{"items": [BATCH_ITEM], "task": {}}], indent=1).encode()}, {}),
    "pearmut": (
        {
            "c.json": json.dumps({"info": {"protocol": "ESA"}, "data": [[ITEM]]}, indent=1).encode(),
            "c.jsonl": jsonl(
                {
                    "annotation": [{"A": {"score": 1, "error_spans": [SPAN]}}],
                    "item": [ITEM],
                    "user_id": "u",
                    "item_i": 0,
                }
            ),
        },
        {},
    ),
    "table": (
        {
            "m.json": b'{"rows": "texts", "columns": {"document": "d", "source": "s"}, "outputs": {"S": "o"}}',
            "t.tsv": b"d\ts\to\nd1\tOne.\tx\nd1\tTwo.\ty\n",
        },
        {"map": "m.json"},
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_the_files_are_good_before_anything_is_done_to_them(read: Read, name: str) -> None:
    files, options = SETS[name]

    assert read(name, files, **options).of(OutputRow)
    assert read(name, {file: gzip.compress(body) for file, body in files.items()}, **options).of(OutputRow)


PIECES = st.sampled_from(
    [b"", b"\0", b"\xff", b'"', b"{", b"]", b"[[", b"\n", b"\t", b"\\", b"null", b"-1", b"1e999", b"\xed\xa0\x80"]
)


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=60, deadline=None)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 400), st.integers(0, 6), PIECES), min_size=1, max_size=4
    ),
    skip=st.booleans(),
)
def test_damaged_files_end_in_records_or_in_an_error_that_says_where(
    read: Read, name: str, changes: list[tuple[int, int, int, bytes]], skip: bool
) -> None:
    files, options = SETS[name]
    damaged = dict(files)
    for which, at, length, piece in changes:
        file = sorted(files)[which % len(files)]
        body = damaged[file]
        start = at % (len(body) + 1)
        damaged[file] = body[:start] + piece + body[start + length :]

    try:
        found = read(name, damaged, skip=skip, limits=ReaderLimits(line_bytes=4096), **options)
    except Invalid:
        return
    assert skip or not found.log.bad
