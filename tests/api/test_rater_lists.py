"""Lists of raters and campaigns that are searched and sorted; changes of several raters; tables of raters."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

RATERS = "/v1/campaigns/c/raters"
TABLE = """rater,team,state,capacity,capacity_unit,languages,person,name,email,note,attribute.level
r1,bonn,active,400,segments,de en,p1,Ada,ada@example.org,mornings,senior
r2,kyiv,paused,,,,,"Ben, B.",,,
r3,,,,,,,,,,
"""


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    assert admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"}).status_code == 201
    return admin


def enrol(client: httpx.Client, table: str, **more: Any) -> httpx.Response:
    dry = more.pop("dry_run", False)
    return client.post(f"{RATERS}/import", json={"table": table, **more}, params={"dry_run": dry})


def whole(client: httpx.Client, path: str, **query: Any) -> list[str]:
    keys: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = client.get(path, params={**query, **cursor, "limit": 2})
        assert answer.status_code == 200, answer.text
        keys += [one["key"] for one in answer.json()["items"]]
        if answer.json()["next"] is None:
            return keys
        cursor = {"cursor": answer.json()["next"]}


def test_a_table_enrols_each_rater_as_its_line_says(manager: httpx.Client) -> None:
    assert enrol(manager, TABLE, new_teams=True, dry_run=True).json()["new_teams"] == ["bonn", "kyiv"]
    assert manager.get(RATERS).json()["items"] == []
    made = enrol(manager, "\ufeff" + TABLE, new_teams=True)
    assert made.status_code == 201, made.text
    assert made.json()["enrolled"] == ["r1", "r2", "r3"]
    r1, r2, r3 = (manager.get(f"{RATERS}/r{n}").json() for n in (1, 2, 3))
    assert (r1["team"], r1["capacity"], r1["capacity_unit"], r1["languages"]) == ("bonn", 400, "segments", ["de", "en"])
    assert (r1["person"], r1["attributes"]) == ("p1", {"level": "senior"})
    assert r1["contact"] == {"name": "Ada", "email": "ada@example.org", "note": "mornings"}
    assert (r2["state"], r2["team"], r2["contact"]["name"]) == ("paused", "kyiv", "Ben, B.")
    assert (r3["state"], r3["team"], r3["contact"], r3["settings_version"]) == ("active", None, None, 1)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_cell_of_a_table_may_go_over_several_lines(manager: httpx.Client, end: str) -> None:
    table = end.join(("rater;name;note", 'r1;Ada;"mornings;', 'not ""Fridays"""', "r2;Ben;", ""))
    assert enrol(manager, table).json()["enrolled"] == ["r1", "r2"]
    assert manager.get(f"{RATERS}/r1").json()["contact"]["note"] == 'mornings;\nnot "Fridays"'


@pytest.mark.parametrize("heading", ["E-Mail", "mail", "Email"])
def test_addresses_stand_below_the_usual_headings(manager: httpx.Client, heading: str) -> None:
    assert enrol(manager, f"Rater,{heading}\nr1,ada@example.org\n").json()["enrolled"] == ["r1"]
    assert manager.get(f"{RATERS}/r1").json()["contact"]["email"] == "ada@example.org"


@pytest.mark.parametrize(
    ("table", "line", "what"),
    [
        ("key\nr1\n", 1, "must name the column rater"),
        ("rater,shoe\nr1,3\n", 1, "is no column"),
        ("rater,rater\nr1,r2\n", 1, "twice"),
        ("", 1, "must name the column rater"),
        ("rater\n\n", 2, "no rater"),
        ("rater;team\nr1;nowhere\n", 2, "no team"),
        ("rater\tcapacity\nr1\tmany\n", 2, "whole number"),
        ("rater,state\nr1,gone\n", 2, "state"),
        ("rater,email\nr1,\nr2,nowhere\n", 3, "contact email"),
        ("rater\nr1\nr 2\nr1\n", 3, "not a valid key"),
        ('rater\n"r1\n', 2, "not closed"),
        ('rater,note\nr1,"a\nb"\nr2,"c"d\n', 4, "within a cell"),
        ("rater\nr1,2\n", 2, "2 cells"),
    ],
)
def test_a_fault_of_a_table_is_named_by_its_line_and_nobody_is_enrolled(
    manager: httpx.Client, table: str, line: int, what: str
) -> None:
    refused = enrol(manager, table)
    assert refused.status_code == 422, refused.text
    first = refused.json()["errors"][0]
    assert first["loc"] == ["body", "table", line]
    assert what in first["msg"]
    assert manager.get(RATERS).json()["items"] == []


def test_who_is_enrolled_already_is_named_and_who_judged_before_is_enrolled(manager: httpx.Client) -> None:
    assert enrol(manager, "rater\nr1\n").status_code == 201
    assert "line 3" in enrol(manager, "rater\nr2\nr1\n").json()["errors"][0]["msg"]
    thousand = "rater\n" + "".join(f"s{n}\n" for n in range(1001))
    assert "at most 1000" in enrol(manager, thousand).json()["errors"][0]["msg"]
    assert len(enrol(manager, "rater\n" + "".join(f"s{n}\n" for n in range(1000))).json()["enrolled"]) == 1000


def test_a_table_without_keys_gets_new_ones_where_that_is_asked_for(manager: httpx.Client) -> None:
    assert enrol(manager, "rater\nr1\nr03\n").status_code == 201
    people = "name,email\n" + "".join(f"P{n},p{n}@example.org\n" for n in range(10))
    assert enrol(manager, people).status_code == 422
    made = enrol(manager, people, new_keys=True)
    assert made.json()["enrolled"] == ["r01", "r02", *(f"r{n:02}" for n in range(4, 12))]
    assert manager.get(f"{RATERS}/r04").json()["contact"]["email"] == "p2@example.org"
    assert "not a valid key" in enrol(manager, "rater,name\nx,X\n,Y\n", new_keys=True).json()["errors"][0]["msg"]
    links = manager.post("/v1/campaigns/c/links", json={"raters": ["r04", "r1"]}).text.splitlines()
    assert [line.rpartition("+00:00,")[2] for line in links[1:]] == ["P2,p2@example.org", ","]


def test_raters_are_searched_by_all_words_and_sorted_each_way_over_pages(manager: httpx.Client) -> None:
    enrol(manager, TABLE, new_teams=True)
    enrol(manager, "rater,team\nr10,kyiv\nr11,\n")
    assert whole(manager, RATERS, q="ADA example") == ["r1"]
    assert whole(manager, RATERS, q="r1") == ["r1", "r10", "r11"]
    assert whole(manager, RATERS, q="100%_") == []
    assert whole(manager, RATERS, sort="-key") == ["r3", "r2", "r11", "r10", "r1"]
    assert whole(manager, RATERS, sort="team") == ["r11", "r3", "r1", "r10", "r2"]
    assert whole(manager, RATERS, sort="-team", state="active") == ["r10", "r1", "r3", "r11"]
    assert whole(manager, RATERS, sort="enrolled")[:3] == ["r1", "r2", "r3"]
    assert whole(manager, RATERS, sort="-enrolled")[2:] == ["r3", "r2", "r1"]
    of_team = manager.get(RATERS, params={"sort": "team", "limit": 2}).json()["next"]
    assert manager.get(RATERS, params={"sort": "-enrolled", "cursor": of_team}).status_code == 422
    by_key = manager.get(RATERS, params={"limit": 2}).json()["next"]
    assert manager.get(RATERS, params={"sort": "team", "cursor": by_key}).status_code == 422


def test_several_raters_change_together_or_not_at_all(manager: httpx.Client) -> None:
    enrol(manager, TABLE, new_teams=True)
    changed = manager.patch(RATERS, json={"raters": ["r1", "r2"], "state": "paused"})
    assert changed.status_code == 200, changed.text
    assert changed.json()["before"] == [
        {"key": "r1", "state": "active", "team": "bonn"},
        {"key": "r2", "state": "paused", "team": "kyiv"},
    ]
    r1 = manager.get(f"{RATERS}/r1").json()
    assert (r1["state"], r1["team"], r1["contact"]["name"], r1["person"]) == ("paused", "bonn", "Ada", "p1")
    assert manager.patch(RATERS, json={"raters": ["r1", "r3"], "team": None}).status_code == 200
    assert whole(manager, RATERS, team="bonn") == []
    for wrong, place in (
        ({"raters": ["r1", "nobody"], "state": "left"}, ["body", "raters", 1]),
        ({"raters": ["r1", "r1"], "state": "left"}, ["body", "raters", 1]),
        ({"raters": ["r1"], "team": "nowhere"}, ["body", "team"]),
        ({"raters": ["r1"]}, ["body"]),
    ):
        refused = manager.patch(RATERS, json=wrong)
        assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, place), wrong
    undo = {"raters": ["r1", "r2"], "state": "active", "expected": {"state": "paused", "team": None}}
    refused = manager.patch(RATERS, json=undo)
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:plumbline:problem:raters-changed-meanwhile")
    assert refused.json()["errors"] == [{"loc": ["body", "raters", 1], "msg": "'r2' was changed meanwhile"}]
    assert manager.patch(RATERS, json={"raters": ["r1"], "expected": {}}).status_code == 422
    undone = manager.patch(RATERS, json={**undo, "raters": ["r1"], "state": "paused"})
    assert undone.json()["before"] == [{"key": "r1", "state": "paused", "team": None}]
    manager.delete("/v1/raters/r2")
    assert "erased" in manager.patch(RATERS, json={"raters": ["r2"], "state": "active"}).json()["errors"][0]["msg"]
    for gone in ("r2", "nobody"):  # undoing leaves out whoever was erased or removed since, and goes on with the others
        refused = manager.patch(RATERS, json={**undo, "raters": ["r1", gone], "expected": {"state": "paused"}})
        assert refused.json()["errors"] == [{"loc": ["body", "raters", 1], "msg": f"'{gone}' was changed meanwhile"}]
        assert refused.status_code == 409
    assert manager.get(f"{RATERS}/r1").json()["state"] == "paused"


def test_links_of_some_raters_leave_the_others_alone(manager: httpx.Client) -> None:
    enrol(manager, TABLE, new_teams=True)
    made = manager.post("/v1/campaigns/c/links", json={"raters": ["r3", "r1"]}, headers={"Idempotency-Key": "two"})
    assert [line.split(",")[0] for line in made.text.splitlines()] == ["rater", "r3", "r1"]
    manager.patch(RATERS, json={"raters": ["r2"], "state": "left"})
    refused = manager.post("/v1/campaigns/c/links", json={"raters": ["r1", "r2", "x"]})
    assert [one["loc"] for one in refused.json()["errors"]] == [["body", "raters", 1], ["body", "raters", 2]]
    shown = manager.post(f"{RATERS}/r1/link", headers={"Idempotency-Key": "qr"}).json()["qr"]
    assert shown.startswith("<svg")
    assert "style" not in shown


def test_campaigns_are_searched_by_words_and_sorted_over_pages(admin: httpx.Client) -> None:
    for key, name, series in (
        ("b", "Älter", None),
        ("a", "news DE", "wmt26"),
        ("d", "älteste", "wmt26"),
        ("c", "news", None),
    ):
        admin.post("/v1/campaigns", json={"key": key, "name": name, "series": series, "protocol": "da"})
    path = "/v1/campaigns"
    assert whole(admin, path, q="WMT26 news") == ["a"]
    assert whole(admin, path, q="news") == ["a", "c"]
    assert whole(admin, path, sort="name") == ["b", "d", "c", "a"]
    assert whole(admin, path, sort="-name") == ["a", "c", "d", "b"]
    assert whole(admin, path, sort="-created") == ["c", "d", "a", "b"]
    assert whole(admin, path, sort="-key", q="wmt") == ["d", "a"]
    assert admin.get(path, params={"sort": "name", "cursor": "a0000"}).status_code == 422
