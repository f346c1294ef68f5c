"""The lock: before the first judgment a pre-registration, later an amendment with a reason, and rankings say so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from tests.api.conftest import MQM

LOCK = "/v1/campaigns/new/lock"
RANKING = "/v1/campaigns/new/ranking"
RULES = {"hypotheses": ["A beats B."], "exclusion_rules": ["Below half of the control items."], "stopping_rule": "All."}


@pytest.fixture
def new(admin: httpx.Client) -> httpx.Client:
    """A campaign without judgments."""
    assert admin.post("/v1/campaigns", json={"key": "new", "protocol": "mqm"}).status_code == 201
    return admin


def judge(admin: httpx.Client, table: str = MQM) -> None:
    read = admin.post("/v1/campaigns/new/imports", params={"format": "mqm-tsv"}, content=table.encode())
    assert read.status_code == 200, read.text


def locked(admin: httpx.Client, **asked: str) -> Any:
    """What a ranking says of the lock."""
    ranked = admin.get(RANKING, params=asked)
    assert ranked.status_code == 200, ranked.text
    return ranked.json()["locked"]


def digest(entry: dict[str, Any]) -> str:
    """The hash of an entry, by its description alone."""
    said = {**entry, "campaign": "new", "at": entry["at"].replace("Z", "+00:00")}
    said["recipe"] = {name: value for name, value in entry["recipe"].items() if name != "hash"}
    del said["hash"], said["data_version"]
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_a_lock_before_the_first_judgment_is_a_preregistration_that_rankings_follow_or_not(new: httpx.Client) -> None:
    made = new.post(LOCK, json={"recipe": "google-mqm", **RULES})
    assert made.status_code == 201, made.text
    judge(new)

    state = {"hash": made.json()["hash"], "amendments": 0, "preregistered": True}
    assert locked(new, recipe="google-mqm") == locked(new, recipe="locked") == {**state, "follows": True}
    assert locked(new, recipe="google-mqm", alpha="0.01") == {**state, "follows": False}
    assert locked(new) == {**state, "follows": False}


def test_a_ranking_of_what_is_not_locked_says_nothing_of_a_lock(new: httpx.Client) -> None:
    judge(new)
    assert locked(new) is None
    assert new.get(LOCK).status_code == 404
    told = new.get(RANKING, params={"recipe": "locked"})
    assert (told.status_code, told.json()["errors"][0]["loc"]) == (422, ["query", "recipe"])


def test_what_recommended_leaves_to_the_data_is_settled_by_whoever_locks_before_there_are_any(
    new: httpx.Client,
) -> None:
    told = new.post(LOCK, json={})
    assert (told.status_code, told.json()["errors"][0]["loc"]) == (422, ["body", "normalize"])

    made = new.post(LOCK, json={"normalize": "z"}).json()
    judge(new)

    recipe = made["entries"][0]["recipe"]
    assert (recipe["name"], recipe["normalize"]) == ("recommended+normalize", "z")
    ranked = new.get(RANKING).json()
    assert ranked["locked"]["follows"] is (ranked["recipe"]["normalize"] == "z")
    other = "none" if ranked["recipe"]["normalize"] == "z" else "z"
    assert locked(new, normalize=other)["follows"] is (other == "z")


def test_what_recommended_leaves_to_the_data_is_settled_by_the_data_where_there_are_some(new: httpx.Client) -> None:
    judge(new)
    assert new.post(LOCK, json={}).json()["errors"][0]["loc"] == ["body", "reason"]

    made = new.post(LOCK, json={"reason": "late"}).json()

    assert made["preregistered"] is False
    assert made["entries"][0]["recipe"]["normalize"] == new.get(RANKING).json()["recipe"]["normalize"]
    assert locked(new)["follows"] is True


def test_every_change_is_an_amendment_with_a_reason_and_the_chain_keeps_all(
    new: httpx.Client, database_url: str
) -> None:
    first = new.post(LOCK, json={"recipe": "google-mqm", **RULES}).json()
    assert new.post(LOCK, json={"recipe": "srp-paper"}).json()["errors"][0]["loc"] == ["body", "reason"]
    assert new.post(LOCK, json={"reason": "again"}).status_code == 409
    judge(new)
    before = new.get(RANKING, params={"recipe": "google-mqm"}).json()

    amended = new.post(LOCK, json={"recipe": "srp-paper", "reason": "reviewers asked"}).json()

    assert amended["preregistered"] is True
    assert amended["entries"][0] == first["entries"][0]
    last = amended["entries"][1]
    assert (last["reason"], last["before_judgments"], last["hypotheses"]) == ("reviewers asked", False, ["A beats B."])
    assert last["previous"] == first["hash"]
    assert [digest(entry) for entry in amended["entries"]] == [first["hash"], amended["hash"]]
    assert locked(new, recipe="srp-paper")["amendments"] == 1
    assert locked(new, recipe="google-mqm")["follows"] is False
    as_of = new.get(RANKING, params={"recipe": "google-mqm", "as_of": before["data_version"]}).json()
    assert as_of == before
    assert new.get(LOCK).json() == amended
    for change in ("UPDATE locks SET reason = 'x'", "DELETE FROM locks", "TRUNCATE locks"):
        with psycopg.connect(database_url) as connection, pytest.raises(psycopg.errors.RestrictViolation):
            connection.execute(change)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("change", ["rules = jsonb_set(rules, '{stopping_rule}', '\"x\"')", "hash = sha256('x')"])
def test_a_chain_that_somebody_changed_beneath_us_is_not_intact(
    new: httpx.Client, database_url: str, n: int, change: str
) -> None:
    """Whichever entry it was: the pre-registration itself matters most, and is the first."""
    for entry in (
        {"recipe": "google-mqm"},
        {"recipe": "srp-paper", "reason": "a"},
        {"recipe": "google-mqm", "reason": "b"},
    ):
        assert new.post(LOCK, json=entry).json()["intact"] is True
    with psycopg.connect(database_url) as connection:
        connection.execute("SET plumbline.purge = 'on'")
        connection.execute(f"UPDATE locks SET {change} WHERE n = {n}".encode())
    assert new.get(LOCK).json()["intact"] is False


def test_a_recipe_that_is_changed_after_the_lock_stays_locked_as_it_was(new: httpx.Client) -> None:
    recipe = "/v1/campaigns/new/recipes/mine"
    new.put(recipe, json={"name": "google-mqm", "alpha": 0.01})
    new.post(LOCK, json={"recipe": "mine"})
    judge(new)
    assert locked(new, recipe="mine")["follows"] is True

    new.put(recipe, json={"name": "google-mqm", "alpha": 0.05})

    assert locked(new, recipe="mine")["follows"] is False
    assert locked(new, recipe="locked")["follows"] is True
    assert new.get(RANKING, params={"recipe": "locked"}).json()["recipe"]["alpha"] == 0.01


def test_only_managers_lock_and_viewers_see_it(new: httpx.Client, secret: Callable[..., str]) -> None:
    viewer = {"Authorization": f"Bearer {secret('viewer')}"}
    assert new.post(LOCK, json={"recipe": "google-mqm"}, headers=viewer).status_code == 403
    assert new.post(LOCK, json={"recipe": "nobody's"}).json()["errors"][0]["loc"] == ["body", "recipe"]
    assert new.post(LOCK, json={"recipe": "google-mqm", "normalize": "z"}).status_code == 422
    assert new.post(LOCK, json={"recipe": "google-mqm"}).status_code == 201
    assert new.get(LOCK, headers=viewer).json()["intact"] is True


def test_viewers_read_no_raters_key_in_any_text_and_the_hashes_stay(
    new: httpx.Client, secret: Callable[..., str]
) -> None:
    viewer = {"Authorization": f"Bearer {secret('viewer')}"}
    judge(new)
    rules = {
        "hypotheses": ["A beats B for Rater1, too."],
        "exclusion_rules": ["drop rater1 and task t:rater0.", "Keep rater1x; half of the raters stay."],
        "stopping_rule": "When rater0's tasks are done.",
    }
    made = new.post(LOCK, json={"recipe": "google-mqm", **rules, "reason": "rater1 was drunk"}).json()

    (seen,) = (shown := new.get(LOCK, headers=viewer).json())["entries"]

    assert seen["hypotheses"] == ["A beats B for *, too."]
    assert seen["exclusion_rules"] == ["drop * and task t:*.", "Keep rater1x; half of the raters stay."]
    assert (seen["stopping_rule"], seen["reason"]) == ("When *'s tasks are done.", "* was drunk")
    assert (shown["hash"], shown["intact"], seen["hash"]) == (made["hash"], True, made["hash"])
    (written,) = new.get(LOCK).json()["entries"]
    assert {name: written[name] for name in rules} == rules
    assert (written["reason"], digest(written)) == ("rater1 was drunk", made["hash"])


def test_viewers_read_no_raters_name_in_any_text(new: httpx.Client, secret: Callable[..., str]) -> None:
    judge(new, MQM.replace("\trater1\t", "\tJörg Müller\t"))
    contact = {"name": "Ada L.", "email": "ada@example.org"}
    enrolled = new.put("/v1/campaigns/new/raters/r7", json={"contact": contact})
    assert enrolled.status_code == 200, enrolled.text
    rules = ["Drop _Jörg Müller_ and __rater0__.", "Keep what Ada L. gave; Jörg stays."]
    assert new.post(LOCK, json={"recipe": "google-mqm", "exclusion_rules": rules, "reason": "late"}).status_code == 201

    (seen,) = new.get(LOCK, headers={"Authorization": f"Bearer {secret('viewer')}"}).json()["entries"]

    assert seen["exclusion_rules"] == ["Drop _*_ and __*__.", "Keep what * gave; Jörg stays."]
    assert new.get(LOCK).json()["entries"][0]["exclusion_rules"] == rules
