"""Exports: jsonl loses nothing; the field's own formats say what counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.domain.errors import Invalid, NotFound
from app.services.data import exports
from tests.services.data.test_imports import MQM, judgment, lines, study, void
from tests.spine import Spine, opened

WILD = (
    '🦜 zero\u200bwidth \u202eright to left\u202c tab\tquote" back\\slash '
    "\\N \\. É e\u0301 \u2028 \x7f \ud7ff \U0010ffff"
)


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def place(position: int = 1, **other: Any) -> dict[str, Any]:
    return {"document": "d1", "position": position, **other}


def wild() -> list[dict[str, Any]]:
    """Everything that jsonl can say, with texts that are hard to keep."""
    meta = {
        "text": WILD,
        "large": 1e22,
        "small": 5e-324,
        "int": 2**62,
        "float": 0.1 + 0.2,
        "none": None,
        "list": [1, []],
    }
    return [
        {"type": "campaign", "protocol": "da", "name": WILD, "source_language": "en", "basis": "reference"},
        {
            "type": "system",
            "key": "A",
            "name": WILD,
            "kind": "human",
            "lab": WILD,
            "tags": [WILD, "{,}", ""[:0] or "x"],
        },
        {"type": "document", "key": "d1", "name": WILD, "domain": WILD, "position": 3, "meta": meta},
        {"type": "rater", "key": "r1", "name": WILD, "person": "p1", "attributes": meta},
        {"type": "segment", **place(), "source": WILD.strip(), "references": {WILD: WILD.strip()}, "meta": meta},
        {"type": "output", **place(), "system": "A", "text": WILD.strip()},
        judgment(revision=1, submitted_at="2026-01-01T00:00:00.000001Z", external_id=WILD, meta=meta),
        judgment(revision=2, score=77.125, started_at="1999-12-31T23:59:59Z", meta=meta),
        judgment("B", item="both", systems=["B", "C"], item_meta=meta, task_meta=meta, task="t2"),
        judgment("B", position=None, task_meta=meta, task="t2", accepted=False, role="calibration"),
        void(reason=WILD, actor=WILD),
    ]


def there_and_back(spine: Spine, key: str) -> None:
    exported = spine.export(key)
    spine.take(f"{key}-again", "jsonl", exported)
    assert spine.export(f"{key}-again") == exported


def test_everything_that_can_be_said_comes_back(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(*wild()))
    there_and_back(spine, "c")
    records = [json.loads(line) for line in spine.export("c").decode().split("\n")[1:-2]]
    by_type: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_type.setdefault(record["type"], []).append(record)
    assert by_type["output"][0]["text"] == WILD.strip()
    assert by_type["system"][0]["tags"] == [WILD, "{,}", "x"]
    assert by_type["void"] == [void(reason=WILD, actor=WILD)]
    assert [r.get("revision") for r in by_type["judgment"]] == [1, 2, 1, 1]
    said = by_type["judgment"][0]["meta"]
    assert (said["large"], said["small"], said["int"], said["float"]) == (1e22, 5e-324, 2**62, 0.1 + 0.2)
    assert said["text"] == WILD


any_example = settings(
    deadline=None, phases=(Phase.generate,), derandomize=True, suppress_health_check=list(HealthCheck)
)
any_text_and_number = given(
    text=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40),
    number=st.floats(allow_nan=False, allow_infinity=False),
)


@settings(any_example, max_examples=4)
@any_text_and_number
def test_any_text_and_any_number_come_back(spine: Spine, text: str, number: float) -> None:
    takes_and_gives_back(spine, text, number)


@pytest.mark.soak
@settings(any_example, max_examples=50)
@any_text_and_number
def test_many_texts_and_many_numbers_come_back(spine: Spine, text: str, number: float) -> None:
    takes_and_gives_back(spine, text, number)


def takes_and_gives_back(spine: Spine, text: str, number: float) -> None:
    key = f"g{spine.ask('SELECT count(*) FROM campaigns')[0][0]}"
    output = {"type": "output", **place(), "system": "A", "text": text}
    spine.take(key, "jsonl", lines(output, judgment(meta={"text": text, "number": number, text: []})))
    there_and_back(spine, key)
    assert spine.ask("SELECT o.text FROM outputs o ORDER BY id DESC LIMIT 1") == [(text.strip(),)]
    kept = json.loads(next(line for line in spine.export(key).decode().split("\n") if '"type":"judgment"' in line))
    assert kept["meta"]["text"] == text or text == "number"


def test_a_campaign_after_revisions_and_voids_comes_back_with_its_ranking(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(*study()))
    spine.take("c", "jsonl", lines(void("A", "d3")))
    spine.take("c", "jsonl", lines(*study(changed=99)[:2], judgment("A", "d3", 1)))
    there_and_back(spine, "c")
    ours, theirs = spine.rank("c", "wmt-da"), spine.rank("c-again", "wmt-da")
    assert (ours["data_version"], theirs["data_version"]) == (3, 1)
    for name in ("systems", "pairs", "data_hash", "warnings"):
        assert ours[name] == theirs[name]


def test_what_is_void_is_not_written_to_the_fields_formats(spine: Spine) -> None:
    spine.take("c", "mqm-tsv", MQM.encode())
    task, item = spine.ask("SELECT t.key, i.key FROM items i JOIN tasks t ON t.id = i.task_id ORDER BY i.id LIMIT 1")[0]
    rater = spine.ask("SELECT r.key FROM tasks t JOIN raters r ON r.id = t.rater_id WHERE t.key = '" + task + "'")[0][0]
    spine.take("c", "jsonl", lines(void(task=task, item=item, rater=rater)))
    spine.take("d", "mqm-tsv", spine.export("c", "mqm-tsv"))
    assert spine.rank("d", "google-mqm")["systems"] == spine.rank("c", "google-mqm")["systems"]
    assert spine.rank("d", "google-mqm")["n_ratings"] == 27


def test_what_documents_say_of_their_segments_stays_theirs(spine: Spine) -> None:
    told = [
        {"type": "segment", "document": f"d{n}", "position": 1, "source": f"S{n}", "references": {"ref": f"R{n}"}}
        for n in (1, 2)
    ]
    given = lines({"type": "campaign", "protocol": "da"}, *({**one, "meta": {"from": one["source"]}} for one in told))
    spine.take("c", "jsonl", given)
    spine.take("c", "jsonl", given)  # the same again contradicts nothing
    stored = "SELECT g.source, r.text FROM reference_texts r JOIN segments g ON g.id = r.segment_id ORDER BY 1, 2"
    assert spine.ask(stored) == [("S1", "R1"), ("S2", "R2")]


def test_a_campaign_without_judgments_can_be_written(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(*wild()[:6]))
    there_and_back(spine, "c")


def test_an_unknown_campaign_or_format_is_refused_before_the_first_byte(spine: Spine) -> None:
    with pytest.raises(NotFound):
        exports.export_campaign(spine.database, "nobody", "jsonl")
    spine.take("c", "jsonl", lines(judgment()))
    with pytest.raises((Invalid, NotFound)):
        exports.export_campaign(spine.database, "c", "no-such-format")


def test_surplus_counts_as_little_after_it_was_written_and_read(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(*study()))
    before = spine.rank("c", "wmt-da")["n_ratings"]
    spine.take("e", "jsonl", spine.export("c"))
    with psycopg.connect(spine.url) as connection:
        connection.execute(
            "UPDATE items SET surplus_from = 1 WHERE id = (SELECT min(i.id) FROM items i"
            " JOIN campaigns c ON c.id = i.campaign_id WHERE c.key = 'e')"
        )
    there_and_back(spine, "e")
    ours, theirs = spine.rank("e", "wmt-da"), spine.rank("e-again", "wmt-da")
    assert theirs["n_ratings"] == ours["n_ratings"] < before
    assert ours["systems"] == theirs["systems"]
    assert b'"reason":"surplus' in spine.export("e")


def test_every_file_has_a_name_and_a_type_that_say_how_to_open_it() -> None:
    opened = {}
    for name in exports.list_writable_formats():
        target = exports.get_export_file_type(name)
        ending = target.suffix.rpartition(".")[2]
        opened[target.suffix] = target.media_type
        assert ending in exports.MEDIA_TYPES, name
        assert target.files == (ending == "tar"), name
    assert len(opened) == len(exports.list_writable_formats())
    assert opened["ratings.csv"].startswith("text/csv")
