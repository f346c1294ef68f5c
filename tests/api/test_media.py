"""Media of a campaign over HTTP: sent at once or in parts, served in ranges, and to raters by signed addresses only."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from app.domain.media_types import MediaLimits
from app.services.media.media_settings import MediaSettings
from app.storage.db import Database
from app.storage.media.stores import FolderMediaStore
from tests.api.live_campaign import tokens_of
from tests.api.test_data_seals import purge
from tests.media_files import VTT, ZIP_END, make_pdf, make_png, make_wav

C = "/v1/campaigns/live"
WAV, LONG = make_wav(2), make_wav(20)


def ok(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


@pytest.fixture
def policy(tmp_path: Path) -> MediaSettings:
    folder = tmp_path / "media"
    (tmp_path / "shelf" / "talks").mkdir(parents=True)
    (tmp_path / "shelf" / "talks" / "1.wav").write_bytes(WAV)
    (tmp_path / "shelf" / "report.pdf").write_bytes(make_pdf(3))
    (tmp_path / "outside.wav").write_bytes(WAV)
    (tmp_path / "shelf" / "link.wav").symlink_to(tmp_path / "outside.wav")
    limits = MediaLimits(size=1 << 20, duration=60, pixels=20_000)
    return MediaSettings(FolderMediaStore(folder), folder / "parts", limits, shelf=tmp_path / "shelf")


@pytest.fixture
def app(make_app: Callable[..., FastAPI], policy: MediaSettings) -> FastAPI:
    return make_app(media=policy)


@pytest.fixture
def draft(admin: httpx.Client) -> httpx.Client:
    ok(admin.post("/v1/campaigns", json={"key": "live", "protocol": "da", "target_language": "de"}), 201)
    return admin


def files_in(policy: MediaSettings) -> list[Path]:
    assert policy.parts is not None
    return [path for path in policy.parts.parent.rglob("*") if path.is_file()]


def test_a_file_is_known_by_its_content_and_stored_once(draft: httpx.Client, policy: MediaSettings) -> None:
    stored = ok(draft.put(f"{C}/media/talk.wav", content=WAV))
    assert stored == {
        "name": "talk.wav",
        "kind": "audio",
        "media_type": "audio/wav",
        "size": len(WAV),
        "sha256": hashlib.sha256(WAV).hexdigest(),
        "duration_ms": 2000,
        "width": None,
        "height": None,
        "captions": None,
        "transcript": None,
    }
    assert ok(draft.put(f"{C}/media/talk.wav", content=WAV)) == stored
    ok(draft.put(f"{C}/media/again.wav", content=WAV))
    assert len(files_in(policy)) == 1
    ok(draft.put(f"{C}/media/talk.wav", content=LONG), 409)
    assert [one["name"] for one in ok(draft.get(f"{C}/media"))["items"]] == ["again.wav", "talk.wav"]
    ok(draft.delete(f"{C}/media/again.wav"), 204)
    ok(draft.get(f"{C}/media/again.wav"), 404)


def test_what_is_refused_leaves_nothing(draft: httpx.Client, policy: MediaSettings) -> None:
    refused = {
        "polyglot.png": make_png() + ZIP_END,
        "page.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "long.wav": make_wav(61),
        "large.png": make_png(201, 100),
        "pages.pdf": make_pdf(2),
        "empty.wav": b"",
    }
    for name, content in refused.items():
        problem = ok(draft.put(f"{C}/media/{name}", content=content), 422)
        assert problem["errors"][0]["loc"] == ["media", name]
    assert ok(draft.get(f"{C}/media"))["items"] == []
    assert files_in(policy) == []


def test_a_page_is_stored_as_its_picture(draft: httpx.Client) -> None:
    stored = ok(draft.put(f"{C}/media/page.pdf", content=make_pdf()))
    assert (stored["kind"], stored["media_type"], stored["width"], stored["height"]) == ("image", "image/png", 150, 75)
    assert ok(draft.put(f"{C}/media/page.pdf", content=make_pdf())) == stored
    third = ok(draft.put(f"{C}/media/report.pdf~page3", content=make_pdf(3)))
    assert (third["media_type"], third["width"]) == ("image/png", 226)
    ok(draft.put(f"{C}/media/report.pdf~page4", content=make_pdf(3)), 422)
    text = '<img src="assets/report.pdf#page=3">'
    ok(draft.put(f"{C}/documents/report", json={"segments": [{"source": text}]}))
    assert "report" in ok(draft.delete(f"{C}/media/report.pdf~page3"), 409)["errors"][0]["msg"]
    assert text in draft.get(f"{C}/exports/jsonl").text.replace('\\"', '"')


def test_an_upload_that_breaks_goes_on_where_it_ended(draft: httpx.Client, policy: MediaSettings) -> None:
    told = {"name": "talk.wav", "size": len(LONG), "sha256": hashlib.sha256(LONG).hexdigest()}
    announced = draft.post(f"{C}/media-uploads", json=told)
    at, half = announced.headers["Location"], len(LONG) // 2
    assert ok(announced, 201)["offset"] == 0
    part = draft.patch(at, content=LONG[:half], headers={"Upload-Offset": "0"})
    assert (ok(part)["offset"], part.headers["Upload-Offset"], part.json()["media"]) == (half, str(half), None)
    for wrong in (0, half + 1):
        ok(draft.patch(at, content=LONG[half:], headers={"Upload-Offset": str(wrong)}), 409)
    ok(draft.patch(at, content=LONG, headers={"Upload-Offset": str(half)}), 422)  # leads beyond the end
    assert draft.head(at).headers["Upload-Offset"] == str(half)
    assert ok(draft.get(f"{C}/media-uploads"))["uploads"][0]["offset"] == half
    whole = ok(draft.patch(at, content=LONG[half:], headers={"Upload-Offset": str(half)}))
    assert whole["media"]["duration_ms"] == 20_000
    ok(draft.get(at), 404)
    assert [path.read_bytes() for path in files_in(policy)] == [LONG]


def test_an_upload_with_another_hash_or_given_up_is_gone(draft: httpx.Client, policy: MediaSettings) -> None:
    told = {"name": "talk.wav", "size": len(WAV), "sha256": "0" * 64}
    at = draft.post(f"{C}/media-uploads", json=told).headers["Location"]
    ok(draft.patch(at, content=WAV, headers={"Upload-Offset": "0"}), 422)
    ok(draft.get(at), 404)
    at = draft.post(f"{C}/media-uploads", json={"name": "talk.wav", "size": len(WAV)}).headers["Location"]
    ok(draft.patch(at, content=WAV[:100], headers={"Upload-Offset": "0"}))
    ok(draft.delete(at), 204)
    assert files_in(policy) == []
    ok(draft.post(f"{C}/media-uploads", json={"name": "a.wav", "size": 1 << 21}), 422)


def test_files_are_taken_from_the_folder_and_from_nowhere_else(draft: httpx.Client) -> None:
    assert ok(draft.post(f"{C}/media", json={"path": "talks/1.wav"}), 201)["name"] == "talks:1.wav"
    assert ok(draft.post(f"{C}/media", json={"path": "talks/1.wav", "name": "b.wav"}), 201)["name"] == "b.wav"
    for path in ("../outside.wav", "link.wav", "/etc/passwd", "talks", "none.wav"):
        ok(draft.post(f"{C}/media", json={"path": path}), 404)


def test_a_page_of_the_folder_has_a_name_of_this_page(draft: httpx.Client) -> None:
    third = {"path": "report.pdf#page=3"}
    assert ok(draft.post(f"{C}/media", json=third), 201)["name"] == "report.pdf~page3"
    assert ok(draft.post(f"{C}/media", json={**third, "name": "r.pdf~page3"}), 201)["name"] == "r.pdf~page3"
    for name in ("r.pdf", "r.pdf~page2"):
        assert ok(draft.post(f"{C}/media", json={**third, "name": name}), 422)["errors"][0]["loc"] == ["body", "name"]
    for page in ("0", "-1", "3#page=3"):
        ok(draft.post(f"{C}/media", json={"path": f"report.pdf#page={page}"}), 404)
    ok(draft.post(f"{C}/media", json={"path": "report.pdf#page=4"}), 422)


def test_a_player_seeks_by_ranges(draft: httpx.Client) -> None:
    ok(draft.put(f"{C}/media/talk.wav", content=WAV))
    at = f"{C}/media/talk.wav/content"
    whole = draft.get(at)
    assert whole.content == WAV
    assert whole.headers["Content-Disposition"] == 'inline; filename="media.wav"'
    assert whole.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in whole.headers["Content-Security-Policy"]
    n = len(WAV)
    for asked, first, last in (("0-", 0, n - 1), ("5-9", 5, 9), ("-7", n - 7, n - 1), (f"9-{n + 50}", 9, n - 1)):
        part = draft.get(at, headers={"Range": f"bytes={asked}"})
        assert (part.status_code, part.content) == (206, WAV[first : last + 1])
        assert part.headers["Content-Range"] == f"bytes {first}-{last}/{n}"
    for asked in (f"{n}-", "9-5", "-0"):
        refused = draft.get(at, headers={"Range": f"bytes={asked}"})
        assert (refused.status_code, refused.headers["Content-Range"]) == (416, f"bytes */{n}")
    for asked in ("lines=0-1", "bytes=0-1,5-6", "bytes=x-"):
        assert draft.get(at, headers={"Range": asked}).content == WAV
    changed = draft.get(at, headers={"Range": "bytes=5-9", "If-Range": '"other"'})
    assert (changed.status_code, len(changed.content)) == (200, n)
    ok(draft.get(at, headers={"If-None-Match": whole.headers["ETag"]}), 304)


def test_captions_belong_to_sound_and_are_webvtt(draft: httpx.Client) -> None:
    for name, content in {"a.wav": WAV, "a.vtt": VTT, "a.png": make_png()}.items():
        ok(draft.put(f"{C}/media/{name}", content=content))
    told = ok(draft.patch(f"{C}/media/a.wav", json={"captions": "a.vtt", "transcript": "Good morning."}))
    assert (told["captions"], told["transcript"]) == ("a.vtt", "Good morning.")
    assert ok(draft.patch(f"{C}/media/a.wav", json={"transcript": None}))["captions"] == "a.vtt"
    for name, captions in (("a.wav", "a.png"), ("a.wav", "none.vtt"), ("a.png", "a.vtt")):
        ok(draft.patch(f"{C}/media/{name}", json={"captions": captions}), 422)
    problem = ok(draft.delete(f"{C}/media/a.vtt"), 409)
    assert problem["errors"][0]["msg"] == "a.wav refers to it"


SHOWN = {
    "sysA": '<video src="assets/sysA/secret.wav" controls></video>',
    "sysB": "<audio src='assets/sysB/secret.wav'></audio>",
}


def open_with_media(client: httpx.Client) -> None:
    for name, content in {
        "talk.wav": LONG,
        "a.vtt": VTT,
        "sysA:secret.wav": WAV,
        "sysB:secret.wav": make_wav(3),
    }.items():
        ok(client.put(f"{C}/media/{name}", content=content))
    ok(client.patch(f"{C}/media/talk.wav", json={"captions": "a.vtt"}))
    source = '<audio src="assets/talk.wav"></audio>Good <b>morning</b>.'
    ok(client.put(f"{C}/documents/d1", json={"segments": [{"source": source}, {"source": "Plain."}]}))
    for system, element in SHOWN.items():
        ok(client.put(f"{C}/systems/{system}", json={}))
        ok(client.put(f"{C}/systems/{system}/outputs/d1", json={"segments": [element, f"{system[:3]} says."]}))
    for rater in ("r1", "r2"):
        ok(client.put(f"{C}/raters/{rater}", json={}))
    ok(client.post(f"{C}/plan", json={"seed": 3, "overlap": None}), 201)
    ok(client.post(f"{C}/open"))


@pytest.fixture
def opened(draft: httpx.Client) -> httpx.Client:
    open_with_media(draft)
    return draft


def test_raters_see_files_and_nothing_of_their_names(opened: httpx.Client, database: Database) -> None:
    auth = tokens_of(database)
    answer = opened.post(f"{C}/lease", headers=auth("r1"))
    task = ok(answer)["task"]
    first, second = task["items"][0]["segments"]
    assert first["source"] == first["text"] == ""
    heard, judged = (text["media"] for text in first["texts"])
    assert (heard["kind"], heard["duration_ms"], heard["transcript"]) == ("audio", 20_000, "Good morning.")
    assert judged["duration_ms"] in (2000, 3000)
    assert "media" not in second["texts"][0]
    listed = opened.get(f"/v1/tasks/{task['task']}/media", headers=auth("r1"))
    addresses = {one["media"]: one["address"] for one in ok(listed)["media"]}
    assert set(addresses) >= {heard["id"], heard["captions"], judged["id"]}
    played = opened.get(addresses[judged["id"]], headers={**auth("r1"), "Range": "bytes=0-"})
    assert (played.status_code, played.headers["Content-Type"]) == (206, "audio/wav")
    assert opened.get(addresses[heard["captions"]], headers=auth("r1")).content == VTT
    for told in (answer, listed, played):
        assert not {"secret", "sysA", "sysB"} & set(f"{told.headers} {told.text}".replace(":", " ").split())
        assert "secret" not in f"{told.headers} {told.content!r}"


def test_an_address_is_good_for_one_rater_one_task_and_a_short_time(
    opened: httpx.Client, database: Database, make_app: Callable[..., FastAPI], policy: MediaSettings, serving: Any
) -> None:
    auth = tokens_of(database)
    task = ok(opened.post(f"{C}/lease", headers=auth("r1")))["task"]["task"]
    other = ok(opened.post(f"{C}/lease", headers=auth("r2")))["task"]
    address = ok(opened.get(f"/v1/tasks/{task}/media", headers=auth("r1")))["media"][0]["address"]
    ok(opened.get(address, headers=auth("r2")), 404)
    ok(opened.get(f"/v1/tasks/{task}/media", headers=auth("r2")), 404)
    if other is not None:
        ok(opened.get(address.replace(task, other["task"]), headers=auth("r1")), 404)
    path, _, query = address.partition("?")
    signature = query.partition("signature=")[2]
    ok(opened.get(f"{path}?expires=9999999999&signature={signature}", headers=auth("r1")), 403)
    ok(opened.get(path, headers=auth("r1")), 404)
    with serving(make_app(media=MediaSettings(policy.store, policy.parts, lifetime=timedelta(seconds=-1)))) as client:
        late = ok(client.get(f"/v1/tasks/{task}/media", headers=auth("r1")))["media"][0]["address"]
        ok(client.get(late, headers=auth("r1")), 403)
        client.headers.pop("Authorization", None)
        ok(client.get(address), 401)
    with serving(make_app(media=MediaSettings(policy.store, policy.parts, lifetime=timedelta(seconds=2)))) as client:
        began = time.monotonic()
        soon = ok(client.get(f"/v1/tasks/{task}/media", headers=auth("r1")))["media"][0]["address"]
        assert client.get(soon, headers=auth("r1")).status_code == 200
        while client.get(soon, headers=auth("r1")).status_code == 200:
            assert time.monotonic() - began < 3
            time.sleep(0.05)
        assert time.monotonic() - began > 1  # its end is a whole second


def test_text_marks_do_not_fit_a_file(opened: httpx.Client, database: Database) -> None:
    """A file has no characters, so what was sent with offsets of the element's text is refused."""
    auth = tokens_of(database)
    task = ok(opened.post(f"{C}/lease", headers=auth("r1")))["task"]
    score = {"protocol": "da", "score": 50}
    ok(opened.put(f"/v1/tasks/{task['task']}/judgments/1/1", json=score, headers=auth("r1")))
    assert opened.get(f"{C}/exports/jsonl").text.count(SHOWN["sysA"].replace('"', '\\"')) == 1


def test_a_file_in_use_stays(opened: httpx.Client) -> None:
    problem = ok(opened.delete(f"{C}/media/sysA:secret.wav"), 409)
    assert problem["errors"][0]["msg"] == "sysA on d1, segment 1 refers to it"


def played(client: httpx.Client, headers: dict[str, str], task: str, media: str, *steps: tuple[str, int, int]) -> None:
    """Events of a page: (kind, by the clock, in the file), in milliseconds."""
    n = played.__dict__.setdefault("n", 0)
    played.__dict__["n"] = n + 1
    events = [
        {
            "session": f"s{n}",
            "seq": i,
            "kind": f"media_{kind}",
            "at_ms": 1_700_000_000_000 + at,
            "item": 1,
            "segment": 1,
        }
        | {"media": media, "media_ms": ms}
        for i, (kind, at, ms) in enumerate(steps)
    ]
    ok(client.post(f"/v1/tasks/{task}/heartbeat", json={"events": events}, headers=headers))


def test_a_task_is_handed_in_once_it_was_heard(draft: httpx.Client, database: Database) -> None:
    ok(draft.patch(C, json={"settings": {"media": {"hear_all": True}}}, headers={"If-Match": '"1"'}))
    open_with_media(draft)
    r1 = tokens_of(database)("r1")
    task = ok(draft.post(f"{C}/lease", headers=r1))["task"]
    for item in task["items"]:
        for segment in item["segments"]:
            address = f"/v1/tasks/{task['task']}/judgments/{item['item']}/{segment['segment']}"
            ok(draft.put(address, json={"protocol": "da", "score": 50}, headers=r1))
    shown = [t["media"] for item in task["items"] for s in item["segments"] for t in s["texts"] if "media" in t]
    files = {media["id"]: media["duration_ms"] for media in shown}
    refused = ok(draft.post(f"/v1/tasks/{task['task']}/submit", headers=r1), 409)
    assert refused["errors"][0] == {"loc": ["items", 1, "segments", 1], "msg": "not played to the end"}
    for media, ms in files.items():
        # Claims of a page that played no longer than a second are worth a second, and a seek to the end is no playing.
        played(draft, r1, task["task"], media, ("play", 0, 0), ("ended", 10, ms))
        played(draft, r1, task["task"], media, ("play", 0, 0), ("seek", 900, ms - 10), ("ended", 1000, ms))
    ok(draft.post(f"/v1/tasks/{task['task']}/submit", headers=r1), 409)
    for media, ms in files.items():
        half = ms // 2
        played(draft, r1, task["task"], media, ("play", 0, 0), ("heard", half, half), ("ended", ms, ms))
    told = ok(draft.get(f"/v1/tasks/{task['task']}/media", headers=r1))
    assert told["hear_all"]
    assert all(one["heard"] for one in told["media"] if one["media"] in files)
    ok(draft.post(f"/v1/tasks/{task['task']}/submit", headers=r1))
    paid = {one["rater"]: one for one in ok(draft.get(f"{C}/hours"))["raters"]}
    whole = sum(files.values()) / 1000
    assert whole <= paid["r1"]["heard_seconds"] <= whole + 2 * len(files)  # and what the claims before were worth
    assert sum(day["heard_seconds"] for day in paid["r1"]["days"]) == pytest.approx(paid["r1"]["heard_seconds"])
    assert "heard_seconds" not in paid["r2"]
    head, line, *_ = draft.get(f"{C}/hours.csv").text.splitlines()
    assert head.endswith(",heard_seconds")
    assert float(line.rpartition(",")[2]) == pytest.approx(paid["r1"]["heard_seconds"])
    assert ok(draft.get("/v1/me/hours", headers=r1))["hours"]["heard_seconds"] == paid["r1"]["heard_seconds"]


def test_a_file_plays_as_often_as_the_campaign_allows(draft: httpx.Client, database: Database) -> None:
    ok(draft.patch(C, json={"settings": {"media": {"most_plays": 2}}}, headers={"If-Match": '"1"'}))
    open_with_media(draft)
    r1 = tokens_of(database)("r1")
    task = ok(draft.post(f"{C}/lease", headers=r1))["task"]
    media = task["items"][0]["segments"][0]["texts"][1]["media"]
    ms = media["duration_ms"]

    def left() -> tuple[int, str]:
        listed = ok(draft.get(f"/v1/tasks/{task['task']}/media", headers=r1))["media"]
        return next((one["plays_left"], one["address"]) for one in listed if one["media"] == media["id"])

    for plays in (2, 1):
        n, address = left()
        assert n == plays
        assert draft.get(address, headers=r1).status_code == 200
        played(draft, r1, task["task"], media["id"], ("play", 0, 0), ("ended", ms, ms))
    n, address = left()
    assert n == 0
    ok(draft.get(address, headers=r1), 403)


@pytest.mark.parametrize("given", [7, {"hear_all": 1}, {"most_plays": 0}, {"most_plays": True}, {"loud": True}])
def test_rules_that_cannot_be_are_refused(draft: httpx.Client, given: object) -> None:
    problem = ok(draft.patch(C, json={"settings": {"media": given}}, headers={"If-Match": '"1"'}), 422)
    assert problem["errors"][0]["loc"][:2] == ["settings", "media"]


def test_errors_in_time_fit_the_file_weigh_and_survive_export(admin: httpx.Client, database: Database) -> None:
    ok(admin.post("/v1/campaigns", json={"key": "live", "protocol": "mqm", "target_language": "de"}), 201)
    open_with_media(admin)
    r1 = tokens_of(database)("r1")
    task = ok(admin.post(f"{C}/lease", headers=r1))["task"]
    at = f"/v1/tasks/{task['task']}/judgments/1"
    ms = task["items"][0]["segments"][0]["texts"][1]["media"]["duration_ms"]

    def judge(segment: int, status: int = 200, **error: object) -> Any:
        marked = {"side": "target", "severity": "major", "category": "Accuracy/Omission", **error}
        payload = {"protocol": "mqm", "errors": [marked]}
        return ok(admin.put(f"{at}/{segment}", json=payload, headers=r1), status)

    assert judge(1, start_ms=500, end_ms=ms)["score"] == 5.0
    assert judge(1, side="source", start_ms=0, end_ms=20_000)["score"] == 5.0
    wrong: tuple[tuple[int, dict[str, object], str], ...] = (
        (1, {"start_ms": 0, "end_ms": ms + 1}, "end_ms"),
        (1, {"start_ms": 9, "end_ms": 8}, "end_ms"),
        (1, {"start_ms": 9}, "end_ms"),
        (1, {"start_ms": 0, "end_ms": 1, "start": 0, "end": 0}, "start"),
        (1, {"start": 0, "end": 1}, "end"),
        (2, {"start_ms": 0, "end_ms": 1}, "start_ms"),
    )
    for segment, error, field in wrong:
        assert judge(segment, 422, **error)["errors"][0]["loc"][-1] == field
    judge(1, start_ms=500, end_ms=900)
    lines = admin.get(f"{C}/exports/jsonl").content
    assert b'"start_ms":500' in lines.replace(b" ", b"")
    ok(admin.post("/v1/campaigns", json={"key": "copy", "protocol": "mqm", "target_language": "de"}), 201)
    ok(admin.post("/v1/campaigns/copy/imports", params={"format": "jsonl"}, content=lines))
    again = admin.get("/v1/campaigns/copy/exports/jsonl").content

    def payloads(exported: bytes) -> list[Any]:
        records = map(json.loads, exported.splitlines())
        return [one["payload"] for one in records if one.get("type") == "judgment"]

    assert payloads(again) == payloads(lines)
    assert len(payloads(lines)) == 3
    lost = "times of errors in audio and video"
    assert ok(admin.get(f"{C}/exports/mtme/losses"))["losses"][lost] == 1
    assert lost not in ok(admin.get(f"{C}/exports/mqm-tsv/losses"))["losses"]
    table = admin.get(f"{C}/exports/mqm-tsv").content
    ok(admin.post("/v1/campaigns", json={"key": "table", "protocol": "mqm", "target_language": "de"}), 201)
    ok(admin.post("/v1/campaigns/table/imports", params={"format": "mqm-tsv"}, content=table))
    stretches = [
        [(error.get("side", "target"), error["start_ms"], error["end_ms"]) for error in payload["errors"]]
        for payload in payloads(admin.get("/v1/campaigns/table/exports/jsonl").content)
    ]
    assert stretches == [[("target", 500, 900)]]

    ok(admin.put(f"{C}/media/beside.wav", content=make_wav(2.0)))
    etag = admin.get(C).headers["ETag"]
    ok(admin.post(f"{C}/close", json={}, headers={"If-Match": etag}))
    look_at_the_archive(admin, ms)


def look_at_the_archive(admin: httpx.Client, ms: int) -> None:
    """Players in the place of texts, marks in time, and bytes for everybody, as long as the archive is open."""
    address, stranger = ok(admin.put(f"{C}/archive"))["address"], {"Authorization": ""}
    index = ok(admin.get(f"/v1/archive/{address}", headers=stranger))
    document = index["documents"][0]["document"]
    shown = ok(admin.get(f"/v1/archive/{address}/documents/{document}", headers=stranger))
    files = {file["name"]: file for file in shown["media"]}
    sound = next(file for file in files.values() if file["duration_ms"] == ms)
    bytes_of = admin.get(sound["address"], headers={**stranger, "Range": "bytes=0-3"})
    assert (bytes_of.status_code, bytes_of.content) == (206, b"RIFF")
    assert bytes_of.headers["Content-Security-Policy"].startswith("default-src 'none'")
    page = admin.get(f"/archive/{address}/documents/{document}", headers={**stranger, "Accept": "text/html"}).text
    assert f'src="{sound["address"]}"' in page
    assert f'href="{sound["address"]}#t=0.5,0.9">0:00.5–0:00.9</a>' in page
    assert '<rect class="is-major" x="500" y="0" width="400"' in page
    assert "&lt;audio" not in page
    beside = f"{sound['address'].rpartition('/')[0]}/beside.wav"
    assert admin.get(beside, headers=stranger).status_code == 404, "a file of the campaign that no text shows"
    ok(admin.delete(f"{C}/archive"), 204)
    assert admin.get(sound["address"], headers=stranger).status_code == 404


def test_a_clone_has_the_files_that_its_texts_name(opened: httpx.Client) -> None:
    ok(opened.put(f"{C}/media/unused.wav", content=make_wav(1)))
    names = [[one["name"], one["sha256"]] for one in ok(opened.get(f"{C}/media"))["items"]]
    ok(opened.post(f"{C}/clone", json={"key": "next"}), 201)
    cloned = ok(opened.get("/v1/campaigns/next/media"))["items"]
    assert [[one["name"], one["sha256"]] for one in cloned] == [one for one in names if one[0] != "unused.wav"]
    assert len(cloned) >= 2
    assert any(one["captions"] for one in cloned)
    for one in cloned:
        assert opened.get(f"/v1/campaigns/next/media/{one['name']}/content").status_code == 200
    ok(opened.post(f"{C}/clone", json={"key": "bare", "systems": False}), 201)
    bare = {one["name"] for one in ok(opened.get("/v1/campaigns/bare/media"))["items"]}
    assert bare < {one["name"] for one in cloned}


def test_an_erased_rater_reads_no_media_any_more_and_a_purge_takes_what_they_heard(
    opened: httpx.Client, database: Database
) -> None:
    auth = tokens_of(database)
    task = ok(opened.post(f"{C}/lease", headers=auth("r1")))["task"]["task"]
    one = ok(opened.get(f"/v1/tasks/{task}/media", headers=auth("r1")))["media"][0]
    played(opened, auth("r1"), task, one["media"], ("play", 0, 0), ("pause", 1000, 1000))
    assert opened.get(one["address"], headers=auth("r1")).status_code == 200
    ok(opened.delete("/v1/raters/r1"))
    ok(opened.get(one["address"], headers=auth("r1")), 401)
    ok(opened.get(f"/v1/tasks/{task}/media", headers=auth("r1")), 401)
    stored = ok(opened.get(f"{C}/media"))["items"]
    assert len(stored) == 4, "the files are the campaign's"
    heard = "SELECT count(*) FROM activity WHERE kind LIKE 'media%'"
    with psycopg.connect(database.url) as db:
        assert db.execute(heard).fetchall() == [(2,)]
    purge(database, "live")
    with psycopg.connect(database.url) as db:
        assert db.execute(heard).fetchall() == [(0,)]
