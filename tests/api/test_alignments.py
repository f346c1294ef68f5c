"""Word alignments of outputs: put, imported, exported, cloned, and shown to raters beside the text that they are of."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import Any

import httpx
import pytest

from app.services.access import tokens
from app.services.data import exports
from app.storage.db import Database
from tests.api.direct import anonymous as anonymous  # a fixture

C = "/v1/campaigns/c"
SOURCES = ["The dog barked all night.", "Nobody slept."]
TEXTS = ["Der Hund bellte die ganze Nacht.", "Niemand schlief."]
REFERENCES = ["Der Köter bellte bis zum Morgen.", "Kein Mensch fand in dieser Nacht Schlaf."]
LINKS = ["0-0 1-1 2-2 3-4 4-5", "0-0 1-1"]
BINARY = {"Content-Type": "application/octet-stream"}


def ok(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def made(client: httpx.Client, key: str, protocol: str = "esa", **more: Any) -> str:
    """A draft with two segments and a system without outputs."""
    body = {"key": key, "protocol": protocol, "source_language": "en", "target_language": "de", **more}
    ok(client.post("/v1/campaigns", json=body), 201)
    path = f"/v1/campaigns/{key}"
    segments = [{"source": one, "references": {"refA": other}} for one, other in zip(SOURCES, REFERENCES, strict=True)]
    ok(client.put(f"{path}/documents/d", json={"segments": segments}))
    ok(client.put(f"{path}/systems/A", json={}))
    return path


@pytest.fixture
def draft(admin: httpx.Client) -> httpx.Client:
    made(admin, "c")
    return admin


def put(client: httpx.Client, path: str, alignment: list[str | None] | None, status: int = 200) -> Any:
    body = {"segments": TEXTS, **({} if alignment is None else {"alignment": alignment})}
    return ok(client.put(f"{path}/systems/A/outputs/d", json=body), status)


def stored(client: httpx.Client, path: str) -> list[str | None]:
    return [one["alignment"] for one in ok(client.get(f"{path}/systems/A/outputs/d"))["segments"]]


def test_an_alignment_is_put_with_outputs_and_comes_back_in_order(draft: httpx.Client) -> None:
    put(draft, C, ["1-1 0-0  2-2 4-5 3-4", None])
    assert stored(draft, C) == [LINKS[0], None]
    assert put(draft, C, [LINKS[0], None])["changed"] is False
    assert put(draft, C, [LINKS[0], ""])["changed"] is True
    assert stored(draft, C) == [LINKS[0], ""]
    put(draft, C, None)
    assert stored(draft, C) == [None, None]


@pytest.mark.parametrize(
    ("given", "loc", "said"),
    [
        (["4-5", "1-1"], None, None),
        (["5-5", None], 0, "link 1 (5-5): the source has 5 words, 0 to 4"),
        (["0-0 4-6", None], 0, "link 2 (4-6): the output has 6 words, 0 to 5"),
        ([None, "0-0 1-1 0-0"], 1, "link 3: 0-0 is there twice, as link 1 too"),
        ([None, "0:0"], 1, "link 1: '0:0' is not like 0-2, a source word and a word of the output"),
    ],
)
def test_a_link_that_does_not_fit_is_refused_by_name(
    draft: httpx.Client, given: list[str | None], loc: int | None, said: str | None
) -> None:
    if loc is None:
        put(draft, C, given)
        return
    assert put(draft, C, given, 422)["errors"] == [{"loc": ["body", "alignment", loc], "msg": said}]
    assert ok(draft.get(f"{C}/systems/A/outputs/d"))["segments"][0]["text"] is None


def test_an_alignment_needs_an_output_a_source_and_one_entry_a_segment(draft: httpx.Client) -> None:
    short = draft.put(f"{C}/systems/A/outputs/d", json={"segments": TEXTS, "alignment": [""]})
    assert ok(short, 422)["errors"][0]["loc"] == ["body", "alignment"]
    silent = draft.put(f"{C}/systems/A/outputs/d", json={"segments": [TEXTS[0], None], "alignment": [None, ""]})
    assert ok(silent, 422)["errors"] == [{"loc": ["body", "alignment", 1], "msg": "there is no output to align"}]
    ok(draft.put(f"{C}/documents/blind", json={"segments": [{"source": None}]}))
    blind = draft.put(f"{C}/systems/A/outputs/blind", json={"segments": ["Eins"], "alignment": [""]})
    assert ok(blind, 422)["errors"] == [{"loc": ["body", "alignment", 0], "msg": "there is no source to align with"}]


def jsonl(*lines: dict[str, Any]) -> bytes:
    return b"\n".join(json.dumps(one).encode() for one in ({"type": "plumbline", "version": 1}, *lines))


def brought(client: httpx.Client, key: str, body: bytes, status: int = 200) -> Any:
    return ok(
        client.post(f"/v1/campaigns/{key}/imports", params={"format": "jsonl"}, content=body, headers=BINARY), status
    )


OUTPUT = {"type": "output", "system": "A", "document": "d", "position": 1, "text": TEXTS[0]}


@pytest.mark.parametrize(
    ("alignment", "said"),
    [
        ("5-0", "link 1 (5-0): the source has 5 words, 0 to 4"),
        ("0-6", "alignment: link 1 (0-6): the output has 6 words, 0 to 5"),
        ("0-0 0-0", "alignment: link 2: 0-0 is there twice, as link 1 too"),
        (7, "alignment: must be a text"),
    ],
)
def test_a_file_with_a_link_that_does_not_fit_is_refused_with_its_line(
    draft: httpx.Client, alignment: object, said: str
) -> None:
    (fault,) = brought(draft, "c", jsonl({**OUTPUT, "alignment": alignment}), 422)["errors"]
    assert (fault["loc"][1], fault["msg"]) == (2, said)
    assert ok(draft.get(f"{C}/systems/A/outputs/d"))["segments"][0]["text"] is None


def test_a_file_adds_alignments_to_outputs_that_are_there_and_contradicts_none(draft: httpx.Client) -> None:
    put(draft, C, None)
    version = ok(draft.get(C))["data_version"]
    brought(draft, "c", jsonl({**OUTPUT, "alignment": "1-1 0-0"}))
    assert stored(draft, C) == ["0-0 1-1", None]
    assert ok(draft.get(C))["data_version"] == version + 1
    brought(draft, "c", jsonl({**OUTPUT, "alignment": "0-0 1-1"}), 200)
    assert ok(draft.get(C))["data_version"] == version + 1
    (fault,) = brought(draft, "c", jsonl({**OUTPUT, "alignment": "0-0"}), 422)["errors"]
    assert (fault["loc"][1], fault["msg"]) == (2, "the output of A on d:1 has another alignment elsewhere")


def test_alignments_go_round_in_our_own_format_and_a_bundle_are_cloned_and_counted_by_the_others(
    draft: httpx.Client, database: Database
) -> None:
    put(draft, C, LINKS)
    out = draft.get(f"{C}/exports/jsonl").content
    assert out.count(b'"alignment":') == 2
    same = {"protocol": "esa", "source_language": "en", "target_language": "de"}
    ok(draft.post("/v1/campaigns", json={"key": "again", "name": "c", **same}), 201)
    brought(draft, "again", out)
    assert draft.get("/v1/campaigns/again/exports/jsonl").content == out

    with tarfile.open(fileobj=io.BytesIO(draft.get(f"{C}/exports/bundle").content)) as archive:
        packed = {one.name: archive.extractfile(one) for one in archive}
        (data,) = (part.read() for name, part in packed.items() if part and name.startswith("data.jsonl"))
    plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    assert plain.count(b'"alignment":') == 2

    ok(draft.post(f"{C}/clone", json={"key": "copy"}), 201)
    assert stored(draft, "/v1/campaigns/copy") == LINKS
    for format in exports.list_writable_formats():
        lost = exports.Counter[str]()
        if exports.get_export_file_type(format).files:
            [b"".join(part) for _, part in exports.export_campaign_files(database, "c", format, lost=lost)]
        else:
            b"".join(exports.export_campaign(database, "c", format, lost=lost))
        assert lost["word alignments of outputs"] == (0 if format == "jsonl" else 2), format
        told = draft.get(f"{C}/exports/{format}/losses")
        assert (told.headers["content-type"], told.json()) == ("application/json", {"format": format, "losses": lost})
    assert draft.get(f"{C}/exports/nothing/losses").status_code == 404


def shown(client: httpx.Client, database: Database, path: str) -> list[dict[str, Any]]:
    """All segments of the task that a rater is given."""
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="rater", campaign=path.rpartition("/")[2], rater="r1").secret
    task = ok(client.post(f"{path}/lease", headers={"Authorization": f"Bearer {secret}"}))["task"]
    return [segment for item in task["items"] for segment in item["segments"]]


def opened(client: httpx.Client, path: str, **design: Any) -> None:
    ok(client.put(f"{path}/raters/r1", json={}))
    ok(client.post(f"{path}/plan", json={"seed": 5, "overlap": None, **design}), 201)
    ok(client.post(f"{path}/open"))


def test_a_task_shows_the_alignment_where_one_is_given(draft: httpx.Client, database: Database) -> None:
    put(draft, C, [LINKS[0], None])
    opened(draft, C)
    assert [one["alignment"] for one in shown(draft, database, C)] == [LINKS[0], None]


@pytest.mark.parametrize(("protocol", "more"), [("xsts", {}), ("esa", {"basis": "reference"})])
def test_where_the_source_is_not_to_be_seen_or_told_apart_no_alignment_tells_it(
    admin: httpx.Client, database: Database, protocol: str, more: dict[str, Any]
) -> None:
    path = made(admin, "hidden", protocol, **more)
    put(admin, path, LINKS)
    opened(admin, path)
    found = shown(admin, database, path)
    assert [one["source"] for one in found] == [None, None]
    assert [one["alignment"] for one in found] == [None, None]


def test_control_items_have_what_fits_their_text(draft: httpx.Client, database: Database) -> None:
    """A degraded copy goes by the output's alignment, so it is not known by having none; a reference has no output."""
    put(draft, C, LINKS)
    opened(draft, C, controls={"bad_reference": {"rate": 0.25}, "reference": {"rate": 0.25}})
    kinds = {**dict.fromkeys(TEXTS, "output"), **dict.fromkeys(REFERENCES, "reference")}
    of_text: dict[str, set[str | None]] = {"output": set(), "reference": set(), "degraded": set()}
    for one in shown(draft, database, C):
        kind = kinds.get(one["text"], "degraded")
        of_text[kind].add(one["alignment"])
        if kind == "degraded":
            words = len(one["text"].split())
            linked = [int(link.split("-")[1]) for link in one["alignment"].split()]
            assert linked
            assert max(linked) < words
    assert of_text["output"] == set(LINKS)
    assert of_text["reference"] == {None}
    assert None not in of_text["degraded"]
    assert of_text["degraded"]
