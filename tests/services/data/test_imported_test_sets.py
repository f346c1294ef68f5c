"""Test sets come in as every format that holds them: into a new campaign, and one system at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest

from app.domain.errors import Invalid
from tests.spine import Spine, opened

TWO = b"One.\nTwo.\n"


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def jsonl(*objects: Mapping[str, object]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in objects).encode()


APPRAISE = [
    {"documentID": "d1", "targetID": "wmt23.A", "itemType": "TGT", "sourceText": f"{n}.", "targetText": n, "mqm": []}
    for n in ("One", "Two")
]
SETS: Mapping[str, tuple[Mapping[str, bytes], Mapping[str, str]]] = {
    "text": ({"source.txt": TWO, "set.docs": b"d1\nd1\n", "A.txt": b"Eins\nZwei\n"}, {}),
    "wmt-jsonl": (
        {
            "set.jsonl": jsonl({"doc_id": "d1", "src_text": "One.\n\nTwo.", "refs": {}}),
            "A.jsonl": jsonl({"doc_id": "d1", "hypothesis": "Eins\n\nZwei"}),
        },
        {},
    ),
    "mtme": (
        {
            "sources/en-de.txt": TWO,
            "documents/en-de.docs": b"news d1\nnews d1\n",
            "system-outputs/en-de/A.txt": b"Eins\nZwei\n",
        },
        {},
    ),
    "appraise": ({"b.json": json.dumps([{"items": APPRAISE, "task": {}}]).encode()}, {}),
    "pearmut": (
        {
            "c.json": json.dumps(
                {
                    "info": {"protocol": "ESA"},
                    "data": [
                        [
                            {"item_id": "d1_#_0", "src": "One.", "tgt": {"A": "Eins"}},
                            {"item_id": "d1_#_1", "src": "Two.", "tgt": {"A": "Zwei"}},
                        ]
                    ],
                }
            ).encode()
        },
        {},
    ),
    "table": (
        {
            "t.tsv": b"d\ts\tA\nd1\tOne.\tEins\nd1\tTwo.\tZwei\n",
            "m.json": b'{"rows": "texts", "columns": {"document": "d", "source": "s"}, "outputs": {"A": "A"}}',
        },
        {"map": "m.json"},
    ),
}
ABOUT = {"protocol": "esa", "target_language": "de"}


@pytest.mark.parametrize("format", SETS)
def test_a_test_set_makes_a_new_campaign_where_the_protocol_is_told_and_again_changes_nothing(
    spine: Spine, format: str
) -> None:
    files, options = SETS[format]

    report = spine.take("c", format, files, options={**options, **ABOUT})

    looked = report["ingest"]
    assert (looked["documents"], looked["segments"]) == (1, 2)
    assert [(system["system"], system["outputs"], system["missing"]) for system in looked["systems"]] == [("A", 2, 0)]
    assert spine.ask("SELECT protocol, target_language, state FROM campaigns") == [("esa", "de", "draft")]
    before = spine.counts()

    spine.take("c", format, files, options={**options, **ABOUT})

    assert spine.counts() == before


def test_without_a_protocol_the_error_says_how_to_tell_it(spine: Spine) -> None:
    files, options = SETS["text"]

    with pytest.raises(Invalid) as raised:
        spine.take("c", "text", files, options=options)

    assert raised.value.places[0].loc == ("options", "protocol")


ONE_MORE: Mapping[str, tuple[Mapping[str, bytes], Mapping[str, str]]] = {
    "text": ({"B.txt": b"eins\nzwei\n"}, {}),
    "wmt-jsonl": ({"B.jsonl": jsonl({"doc_id": "d1", "hypothesis": "eins\n\nzwei"})}, {}),
    "mtme": ({"system-outputs/en-de/B.txt": b"eins\nzwei\n"}, {}),
    "table": (
        {
            "t.tsv": b"d\tB\nd1\teins\nd1\tzwei\n",
            "m.json": b'{"rows": "texts", "columns": {"document": "d"}, "outputs": {"B": "B"}}',
        },
        {"map": "m.json"},
    ),
}


@pytest.mark.parametrize("format", ONE_MORE)
def test_outputs_come_one_system_at_a_time(spine: Spine, format: str) -> None:
    spine.take("c", "text", SETS["text"][0], options=ABOUT)
    files, options = ONE_MORE[format]

    report = spine.take("c", format, files, options=options)

    assert [(system["system"], system["missing"]) for system in report["ingest"]["systems"]] == [("A", 0), ("B", 0)]
    assert report["ingest"]["segments"] == 2


@pytest.mark.parametrize("lines", [b"eins\n", b"eins\nzwei\ndrei\n"])
@pytest.mark.parametrize(("format", "name"), [("text", "B.txt"), ("mtme", "system-outputs/en-de/B.txt")])
def test_a_system_with_more_or_fewer_lines_than_the_campaign_has_is_refused(
    spine: Spine, format: str, name: str, lines: bytes
) -> None:
    spine.take("c", "text", SETS["text"][0], options=ABOUT)

    with pytest.raises(Invalid, match="the campaign has"):
        spine.take("c", format, {name: lines})

    assert spine.ask("SELECT count(*) FROM systems") == [(1,)]


def test_errors_shown_with_outputs_survive_export_and_import(spine: Spine) -> None:
    shown = [{"start_i": 0, "end_i": 2, "severity": "minor"}]
    items = [{**APPRAISE[0], "mqm": {"payload": shown}}, APPRAISE[1]]
    spine.take("c", "appraise", {"b.json": json.dumps([{"items": items, "task": {}}]).encode()}, options=ABOUT)
    exported = spine.export("c")

    spine.take("again", "jsonl", exported)

    assert b'"prefill":[{"category":null,"end":2' in exported
    assert spine.export("again") == exported
    assert spine.ask("SELECT count(*) FROM variants WHERE kind = 'prefill'") == [(2,)]


def test_an_error_shown_outside_its_text_is_a_bad_line(spine: Spine) -> None:
    body = (
        b'{"type":"plumbline","version":1}\n{"type":"campaign","protocol":"esa"}\n{"type":"output","system":"A",'
        b'"document":"d","position":1,"text":"x","prefill":[{"severity":"minor","start":0,"end":9}]}\n'
    )

    with pytest.raises(Invalid) as raised:
        spine.take("c", "jsonl", body)

    assert raised.value.places[0].loc == ("file", 3)
    assert "outside the target text" in raised.value.places[0].msg


def test_an_import_with_judgments_is_not_looked_through(spine: Spine) -> None:
    entry = {
        "user_id": "u",
        "item_i": 0,
        "item": [{"item_id": "d_0", "src": "x", "tgt": {"A": "a"}}],
        "annotation": [{"A": {"score": 3, "error_spans": []}}],
    }

    report = spine.take("c", "pearmut", {**SETS["pearmut"][0], "log.jsonl": jsonl(entry)})

    assert report["stored"]["judgments"] == 1
    assert report["ingest"] is None
