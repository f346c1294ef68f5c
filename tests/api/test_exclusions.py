"""Exclusions: seen before they are made, kept with who, when and why, lifted but never deleted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

EXCLUSIONS = "/v1/campaigns/demo/exclusions"
RANKING = "/v1/campaigns/demo/ranking"
RATER = {"rater": "rater1", "reason": "clicked through"}


def ranking(admin: httpx.Client, **params: Any) -> dict[str, Any]:
    """The ranking but for its data version."""
    sent: dict[str, Any] = admin.get(RANKING, params=params).json()
    del sent["data_version"]
    return sent


def test_recommended_leaves_out_what_stands_and_other_recipes_do_not(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    asked = ranking(admin, exclude="rater:rater1")
    google = ranking(admin, recipe="google-mqm")

    made = admin.post(EXCLUSIONS, json=RATER)

    assert made.status_code == 201, made.text
    assert made.headers["Location"] == f"{EXCLUSIONS}/{made.json()['exclusion']}"
    now = ranking(admin)
    assert [(s["system"], s["score"]) for s in now["systems"]] == [(s["system"], s["score"]) for s in asked["systems"]]
    assert now["pairs"] == asked["pairs"]
    assert ranking(admin, recipe="google-mqm") == google
    assert now["n_ratings"] == asked["n_ratings"] < ranking(admin, standing=False)["n_ratings"]


def test_the_ranking_as_of_an_earlier_version_is_as_it_was(admin: httpx.Client, populated: dict[str, str]) -> None:
    before = ranking(admin)
    number = admin.post(EXCLUSIONS, json=RATER).json()["exclusion"]
    during = ranking(admin)
    lifted = admin.delete(f"{EXCLUSIONS}/{number}", params={"reason": "they did not"}).json()

    assert ranking(admin, as_of=number - 1) == ranking(admin) == before
    assert ranking(admin, as_of=number) == during != before
    assert lifted["lifted"]["data_version"] == number + 1


def test_the_report_tells_how_much_was_left_out_but_not_which_rater(
    admin: httpx.Client, populated: dict[str, str], secret: Callable[..., str]
) -> None:
    admin.post(EXCLUSIONS, json=RATER)
    viewer = {"Authorization": f"Bearer {secret('viewer')}"}

    seen = admin.get(RANKING, headers=viewer, params={"influence": False})

    assert {"reason": "standing exclusion of a rater", "n": 6} in seen.json()["dropped"]
    assert "rater1" not in seen.text
    assert admin.get(EXCLUSIONS, headers=viewer).status_code == 403
    assert admin.post(EXCLUSIONS, headers=viewer, json=RATER).status_code == 403


def test_a_dry_run_stores_nothing_and_says_what_would_be(admin: httpx.Client, populated: dict[str, str]) -> None:
    before = admin.get("/v1/campaigns/demo").json()["data_version"]
    listed = admin.get(EXCLUSIONS).json()

    told = admin.post(EXCLUSIONS, json={"system": "C", "reason": "late"}, params={"dry_run": True, "recipe": "strict"})

    assert told.status_code == 200, told.text
    effect = told.json()
    assert [line["system"] for line in effect["systems"] if line["after"] is None] == ["C"]
    ranked = ranking(admin, recipe="strict", exclude="system:C")
    after = {line["system"]: line["after"]["score"] for line in effect["systems"] if line["after"]}
    assert after == {line["system"]: line["score"] for line in ranked["systems"]}
    assert admin.get(EXCLUSIONS).json() == listed
    assert admin.get("/v1/campaigns/demo").json()["data_version"] == before


def test_a_dry_run_names_the_pairs_that_turn(admin: httpx.Client, populated: dict[str, str]) -> None:
    body = "".join(
        f"{s}\td{d}\t1\t{d}\t{r}\tS {d}.\tT {d} of {s}.\tFluency\t{severity}\t\n"
        for d in range(1, 9)
        for r in ("steady", "lover")
        for s, severity in (("A", "Minor" if r == "steady" else "Major"), ("B", "Major" if r == "steady" else "Minor"))
        if not (r == "lover" and d > 3)
    )
    header = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata\n"
    admin.post("/v1/campaigns", json={"key": "turn", "protocol": "mqm"})
    sent = admin.post("/v1/campaigns/turn/imports", params={"format": "mqm-tsv"}, content=(header + body).encode())
    assert sent.status_code == 200, sent.text

    told = admin.post(
        "/v1/campaigns/turn/exclusions",
        json={"rater": "steady", "reason": "knew the systems"},
        params={"dry_run": True, "recipe": "google-mqm"},
    ).json()

    assert told["order_changed"] is True
    assert [(pair["pair"], pair["before"]["better"], pair["after"]["better"]) for pair in told["pairs"]] == [
        (["A", "B"], "A", "B")
    ]


def test_an_exclusion_is_kept_with_who_when_and_why_and_the_database_holds_on_to_it(
    admin: httpx.Client, populated: dict[str, str], database_url: str
) -> None:
    made = admin.post(EXCLUSIONS, json=RATER).json()
    assert made["actor"].startswith("token:")
    assert made["lifted"] is None
    number = made["exclusion"]

    lifted = admin.delete(f"{EXCLUSIONS}/{number}", params={"reason": "a mistake"}).json()
    again = admin.delete(f"{EXCLUSIONS}/{number}", params={"reason": "another reason"}).json()

    assert lifted["lifted"]["reason"] == "a mistake"
    assert again == lifted == admin.get(f"{EXCLUSIONS}/{number}").json()
    assert {**lifted, "lifted": None} == made
    for change in ("DELETE FROM exclusions", "TRUNCATE exclusions"):
        with psycopg.connect(database_url) as connection, pytest.raises(psycopg.errors.RestrictViolation):
            connection.execute(change)


def test_a_thing_is_excluded_once_however_many_ask_at_once(admin: httpx.Client, populated: dict[str, str]) -> None:
    with ThreadPoolExecutor(5) as threads:
        told = list(threads.map(lambda _: admin.post(EXCLUSIONS, json=RATER).status_code, range(5)))
    assert sorted(told) == [201, 409, 409, 409, 409]
    number = admin.get(EXCLUSIONS).json()["items"][-1]["exclusion"]
    admin.delete(f"{EXCLUSIONS}/{number}", params={"reason": "again"})
    assert admin.post(EXCLUSIONS, json=RATER).status_code == 201
    assert [one["lifted"] is None for one in admin.get(EXCLUSIONS).json()["items"]][-2:] == [False, True]
    assert admin.post(EXCLUSIONS, json={**RATER, "rater": "rater0"}).status_code == 201, "another of its kind"


def test_the_same_request_under_a_key_excludes_once(admin: httpx.Client, populated: dict[str, str]) -> None:
    key = {"Idempotency-Key": "once"}
    first, again = (admin.post(EXCLUSIONS, json=RATER, headers=key) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"reason": "r"}, ["body"]),
        ({"rater": "rater1", "system": "A", "reason": "r"}, ["body"]),
        ({"rater": "nobody", "reason": "r"}, ["body", "rater"]),
        ({"task": "nothing", "reason": "r"}, ["body", "task"]),
        ({"rater": "rater1", "reason": "  "}, ["body", "reason"]),
        ({"rater": "rater1"}, ["body", "reason"]),
    ],
)
def test_what_names_nothing_or_gives_no_reason_is_refused_with_its_place(
    admin: httpx.Client, populated: dict[str, str], body: dict[str, str], place: list[str]
) -> None:
    for dry_run in (True, False):
        told = admin.post(EXCLUSIONS, json=body, params={"dry_run": dry_run})
        assert (told.status_code, told.json()["errors"][0]["loc"]) == (422, place)


@pytest.mark.parametrize("what", ["document", "task", "system"])
def test_everything_can_be_left_out_and_the_ranking_is_then_empty_or_smaller(
    admin: httpx.Client, populated: dict[str, str], what: str, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(f"SELECT key FROM {what}s ORDER BY 1").fetchall()
    for (key,) in rows:
        assert admin.post(EXCLUSIONS, json={what: key, "reason": "all of it"}).status_code == 201
    assert ranking(admin)["systems"] == []


def test_lists_go_page_by_page(admin: httpx.Client, populated: dict[str, str]) -> None:
    for system in "ABC":
        admin.post(EXCLUSIONS, json={"system": system, "reason": "late"})
    first = admin.get(EXCLUSIONS, params={"limit": 3}).json()
    rest = admin.get(EXCLUSIONS, params={"limit": 3, "cursor": first["next"]}).json()
    assert [one["key"] for one in (*first["items"], *rest["items"])] == ["B", "A", "B", "C"]
    assert rest["next"] is None
