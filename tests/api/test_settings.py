"""Settings are never overwritten silently."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier

import httpx
import pytest

from app.storage import campaigns

URL = "/v1/campaigns/demo"


@pytest.fixture
def etag(admin: httpx.Client) -> str:
    """A campaign in draft without data; the ETag of its settings."""
    made = admin.post("/v1/campaigns", json={"key": "demo", "protocol": "mqm", "settings": {"notes": "old"}})
    assert made.status_code == 201
    return admin.get(URL).headers["ETag"]


def patched_at_once(client: httpx.Client, etag: str, n: int) -> Counter[int]:
    """The statuses of changes sent together, each of which saw the same state."""

    def patch(i: int) -> int:
        return client.patch(URL, json={"name": f"name {i}"}, headers={"If-Match": etag}).status_code

    with ThreadPoolExecutor(n) as pool:
        return Counter(pool.map(patch, range(n)))


def test_of_twenty_who_saw_the_same_settings_one_changes_them(admin: httpx.Client, etag: str) -> None:
    assert patched_at_once(admin, etag, 20) == {200: 1, 412: 19}
    assert admin.get(URL).json()["settings_version"] == 2


def test_a_look_before_the_change_without_a_lock_is_caught(
    admin: httpx.Client, etag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: the same change, read without holding the row, by two who both look before either acts."""
    locked, nth, both = campaigns.load_campaign, count(1), Barrier(2, timeout=60)

    def unlocked(session: campaigns.Session, key: str, *, lock: bool = False) -> campaigns.CampaignRecord:
        row = locked(session, key)
        if lock and next(nth) <= 2:
            both.wait()
        return row

    monkeypatch.setattr(campaigns, "load_campaign", unlocked)
    assert patched_at_once(admin, etag, 20)[200] > 1


def test_a_change_says_which_state_it_saw(admin: httpx.Client, etag: str) -> None:
    missing = admin.patch(URL, json={"name": "new"})
    assert missing.status_code == 428
    assert missing.json()["type"] == "urn:plumbline:problem:if-match-missing"
    for stale in ('"0"', "1", f"W/{etag}", '"2"', "x"):
        answer = admin.patch(URL, json={"name": "new"}, headers={"If-Match": stale})
        assert answer.status_code == 412, stale
    assert admin.get(URL).json()["name"] == "demo"


@pytest.mark.parametrize("seen", ['"7", "1"', "*"])
def test_several_tags_and_any_tag_are_understood(admin: httpx.Client, etag: str, seen: str) -> None:
    assert admin.patch(URL, json={"name": "new"}, headers={"If-Match": seen}).json()["name"] == "new"


def test_a_draft_without_data_changes_all_but_its_key(admin: httpx.Client, etag: str) -> None:
    wanted = {
        "name": "New name",
        "series": "ted",
        "protocol": "da",
        "options": {"scale": "z"},
        "source_language": "en",
        "target_language": "de",
        "basis": "both",
        "settings": {"notes": "new"},
    }
    answer = admin.patch(URL, json=wanted, headers={"If-Match": etag})
    now = answer.json()
    assert answer.status_code == 200, now
    made_by = now["settings"].pop("created_by")
    assert made_by.startswith("token:")
    assert {name: now[name] for name in wanted} == wanted
    assert answer.headers["ETag"] == admin.get(URL).headers["ETag"] != etag
    assert admin.patch(URL, json={"key": "x"}, headers={"If-Match": answer.headers["ETag"]}).status_code == 422


def test_what_is_left_out_stays_and_null_takes_away(admin: httpx.Client, etag: str) -> None:
    first = admin.patch(URL, json={"series": "a", "name": "N"}, headers={"If-Match": etag})
    second = admin.patch(URL, json={"series": None, "name": None}, headers={"If-Match": first.headers["ETag"]})
    assert second.json()["series"] is None
    assert second.json()["name"] == "demo"
    assert second.json()["settings"]["notes"] == "old"


def test_who_made_a_campaign_cannot_be_rewritten(admin: httpx.Client, etag: str) -> None:
    before = admin.get(URL).json()["settings"]["created_by"]
    answer = admin.patch(URL, json={"settings": {"created_by": "me"}}, headers={"If-Match": etag})
    assert answer.json()["settings"] == {"created_by": before}


def test_what_scores_follow_from_is_settled_once_there_are_data(admin: httpx.Client, populated: dict[str, str]) -> None:
    before = admin.get(URL)
    tag = {"If-Match": before.headers["ETag"]}
    for change in ({"protocol": "da"}, {"options": {"weights": "wmt24"}}):
        answer = admin.patch(URL, json=change, headers=tag)
        assert answer.status_code == 409
        assert answer.json()["errors"][0]["loc"] == list(change)
    assert admin.get(URL).json() == before.json()


def test_a_change_that_reports_show_is_a_new_version_of_the_data(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    before = admin.get(f"{URL}/ranking").json()
    tag = admin.get(URL).headers["ETag"]
    assert admin.patch(URL, json={"basis": "both"}, headers={"If-Match": tag}).status_code == 200
    after = admin.get(f"{URL}/ranking").json()
    assert after["basis"] == "both"
    assert after["data_version"] == before["data_version"] + 1


def test_once_open_only_name_and_settings_change(
    admin: httpx.Client, etag: str, database_url: str, ask: Callable[..., None]
) -> None:
    ask("UPDATE campaigns SET state = 'open'")
    assert admin.patch(URL, json={"basis": "both"}, headers={"If-Match": etag}).status_code == 409
    answer = admin.patch(URL, json={"name": "N", "settings": {"notes": "n"}}, headers={"If-Match": etag})
    assert answer.status_code == 200


def test_a_change_that_is_not_valid_names_its_field(admin: httpx.Client, etag: str) -> None:
    answer = admin.patch(URL, json={"protocol": "palmistry"}, headers={"If-Match": etag})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"][-1] == "protocol"
    assert admin.patch(URL, json={"basis": None}, headers={"If-Match": etag}).status_code == 422


@pytest.mark.parametrize(
    ("name", "value"), [("presentation", []), ("presentation", "segments"), ("presentation", None), ("prefill", {})]
)
def test_settings_that_a_plan_writes_into_tasks_are_refused_with_their_place(
    admin: httpx.Client, etag: str, name: str, value: object
) -> None:
    refused = admin.patch(URL, json={"settings": {name: value}}, headers={"If-Match": etag})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["loc"][-2:] == ["settings", name]
    good = {"presentation": "segment", "prefill": None}
    assert admin.patch(URL, json={"settings": good}, headers={"If-Match": etag}).status_code == 200


@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [
        ("lease_seconds", ["two hours", True, 0, 29, 14 * 86_400 + 1, [600]], 600),
        ("seconds_per_word", ["0.8", False, 0, -1, 3600], 0.8),
        ("automatic_score", ["34.2", True, {}], -34.2),
        ("markup", ["yes", 1], True),
        ("slider_colors", ["no", 0], False),
        ("glossary", ["dog", 5, [["dog", "Hund"]] * 1001], [{"term": "dog", "translation": "Hund"}]),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_when_it_is_set(
    admin: httpx.Client, etag: str, name: str, wrong: list[object], right: float
) -> None:
    for value in wrong:
        given = {"settings": {name: value}}
        for answer in (
            admin.patch(URL, json=given, headers={"If-Match": etag}),
            admin.post("/v1/campaigns", json={"key": "new", "protocol": "mqm", **given}),
        ):
            assert (answer.status_code, [one["loc"][-2:] for one in answer.json()["errors"]]) == (
                422,
                [["settings", name]],
            ), answer.text
    assert admin.get(URL).headers["ETag"] == etag
    for value in (right, None):
        now = admin.get(URL).headers["ETag"]
        told = admin.patch(URL, json={"settings": {name: value}}, headers={"If-Match": now})
        assert told.json()["settings"][name] == value


@pytest.mark.parametrize(("own", "kept"), [(None, True), (True, True), (False, False)])
def test_a_file_of_pearmut_colours_sliders_where_the_campaign_is_silent(
    admin: httpx.Client, own: bool | None, kept: bool
) -> None:
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "cesa", "settings": {"slider_colors": own}})
    item = {"item_id": "d_#_0", "src": "One.", "tgt": {"A": "Eins.", "B": "Ein."}}
    file = {"campaign_id": "c", "info": {"protocol": "cESA", "slider_colors": True}, "data": [[item]]}
    read = admin.post("/v1/campaigns/c/imports", params={"format": "pearmut"}, content=json.dumps(file))
    assert read.status_code == 200, read.text
    assert admin.get("/v1/campaigns/c").json()["settings"]["slider_colors"] is kept
    lines = admin.get("/v1/campaigns/c/exports/jsonl").content
    admin.post("/v1/campaigns", json={"key": "again", "protocol": "cesa"})
    assert admin.post("/v1/campaigns/again/imports", params={"format": "jsonl"}, content=lines).status_code == 200
    assert admin.get("/v1/campaigns/again").json()["settings"]["slider_colors"] is kept
