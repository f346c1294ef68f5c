"""References that stand in an output's place: once they are judged, whatever reads a campaign's records goes on."""

from __future__ import annotations

import csv
import io
import json
import tarfile
from pathlib import Path

import httpx
import pytest

from app.services.data import bundle_check, exports
from app.storage import embedded
from app.storage.db import Database
from tests.api.rehearsed import REFERENCE, Rehearsed, ok
from tests.spine import fresh

DESIGN = {"controls": {"reference": {"rate": 0.3}}}


def rehearsed(client: httpx.Client, database: Database, key: str, protocol: str) -> Rehearsed:
    found = Rehearsed(client, database, key, protocol)
    found.set_up()
    found.open(DESIGN)
    for rater in ("r1", "r2", "r3"):
        found.judge(rater)
    return found


def written(live: Rehearsed, format: str) -> bytes:
    answer = live.client.get(f"{live.path}/exports/{format}")
    assert answer.status_code == 200, answer.text
    return answer.content


def unpacked(body: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        return {one.name: part.read() for one in archive if (part := archive.extractfile(one)) is not None}


@pytest.mark.parametrize("protocol", ["esa", pytest.param("da", marks=pytest.mark.soak)])
def test_a_judged_reference_is_in_every_export_by_its_role_or_counted(
    admin: httpx.Client, database: Database, protocol: str
) -> None:
    live = rehearsed(admin, database, "c", protocol)
    revisions = [one for one in live.judgments() if one["role"] == "reference"]
    told = {(one["task"], one["item"], one["segment"]) for one in revisions}
    assert told

    of_segments = [one["id"] for one in live.judgments() if one["segment"] is not None]
    assert [one["id"] for one in live.judgments(q="SOURCE here")] == of_segments  # words of every source
    in_lines = live.client.get(f"{live.path}/judgments", params={"q": "SOURCE here", "format": "ndjson"})
    assert [json.loads(line)["id"] for line in in_lines.text.splitlines()] == of_segments

    for format in exports.list_writable_formats():
        written(live, format)

    lines = [json.loads(line) for line in written(live, "jsonl").splitlines()]
    kept = [one for one in lines if one.get("role") == "reference"]
    assert len(kept) == len(revisions)
    assert {(tuple(one["systems"]), one["item_meta"]["reference"]) for one in kept} == {((), REFERENCE)}
    rows = list(csv.DictReader(io.StringIO(written(live, "csv").decode())))
    assert sum(row["role"] == "reference" for row in rows) == len(revisions)
    assert {row["system"] for row in rows if row["role"] == "reference"} == {""}
    if protocol == "da":
        rows = list(csv.DictReader(io.StringIO(written(live, "wmt-da").decode()), delimiter="\t"))
        assert {row["sys_id"] for row in rows if row["type"] == "REF"} == {REFERENCE}
        assert sum(row["type"] == "REF" for row in rows) == sum(segment is not None for _, _, segment in told)
    else:
        rows_of = list(csv.reader(io.StringIO(written(live, "esa").decode())))
        assert sum(row[3] == "REF" for row in rows_of) == len(revisions)
    batches = json.loads(unpacked(written(live, "appraise"))["batches.json"])
    shown = [item for batch in batches for item in batch["items"] if item["itemType"] == "REF"]
    assert len(shown) == sum(segment is not None for _, _, segment in told)
    assert all(item["targetText"].startswith("Reference ") for item in shown)


@pytest.mark.parametrize("bundled", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_campaign_with_judged_references_comes_back_is_carried_over_and_shown_ready_made(
    admin: httpx.Client,
    database: Database,
    postgres: embedded.EmbeddedServer,
    migrated_template: str,
    tmp_path: Path,
    bundled: bool,
) -> None:
    """bundled: and its bundle ranks to identical numbers, which the same lines of `jsonl` are for."""
    live = rehearsed(admin, database, "c", "mqm")
    body = written(live, "jsonl")

    ok(admin.post("/v1/campaigns", json={"key": "again", "name": "c", "protocol": "mqm"}))
    ok(admin.post("/v1/campaigns/again/imports", params={"format": "jsonl"}, content=body))
    assert b"".join(exports.export_campaign(database, "again", "jsonl")) == body
    ok(admin.post(f"{live.path}/clone", json={"key": "copy"}))
    carried = ok(admin.post("/v1/campaigns/copy/carry-over", json={"from": "c"}))
    assert carried["left"]["reference item"] > 0
    ok(admin.post(f"{live.path}/clone", json={"key": "second"}))
    third = {"key": "third", "protocol": "mqm_reannotation", "target_language": "de"}
    ok(admin.post("/v1/campaigns", json=third))
    assert ok(admin.post("/v1/campaigns/third/prefills", json={"from": "c"}))["outputs"] == 0

    if not bundled:
        return
    archive, folder = tmp_path / "c.tar", tmp_path / "unpacked"
    archive.write_bytes(written(live, "bundle"))
    folder.mkdir()
    bundle_check.unpack_bundle(archive, folder)
    with fresh(postgres, migrated_template) as elsewhere:
        assert bundle_check.reproduce_bundle(folder, elsewhere.database).rankings


def test_texts_of_raters_who_also_saw_references_become_outputs(admin: httpx.Client, database: Database) -> None:
    live = rehearsed(admin, database, "c", "back_translation")
    ok(admin.post("/v1/campaigns", json={"key": "judged", "protocol": "xsts", "target_language": "en"}))

    passed = ok(admin.post(f"{live.path}/back-translations", json={"to": "judged"}))

    assert passed["outputs"] > 0
    assert passed["left"]["not a rating of a segment"] > 0
