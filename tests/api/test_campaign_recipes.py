"""Recipes that a campaign names for itself: kept in every revision, and known wherever a recipe is named."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest

from app.domain.recipe import NAMED

RECIPES = "/v1/campaigns/demo/recipes"
RANKING = "/v1/campaigns/demo/ranking"


def test_a_stored_recipe_ranks_by_its_name_as_by_its_choices(admin: httpx.Client, populated: dict[str, str]) -> None:
    mine = admin.put(f"{RECIPES}/mine", json={"name": "google-mqm", "alpha": 0.02, "permutations": 200}).json()

    by_name = admin.get(RANKING, params={"recipe": "mine"})
    by_choices = admin.get(RANKING, params={"recipe": "google-mqm", "alpha": "0.02", "permutations": "200"})

    assert mine["revision"] == 1
    assert by_name.json()["recipe"] == mine["recipe"]
    assert by_name.json()["recipe"]["hash"] == by_choices.json()["recipe"]["hash"]
    assert by_name.json()["pairs"] == by_choices.json()["pairs"]
    assert admin.get(RANKING, params={"recipe": "mine", "alpha": "0.2"}).json()["recipe"]["name"] == "mine+alpha"


def test_a_stored_recipe_named_in_a_body_is_the_one_to_start_from(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    stored = admin.put(f"{RECIPES}/mine", json={"name": "google-mqm", "permutations": 200}).json()["recipe"]

    whole = admin.post(RANKING, json={"name": "mine"}).json()["recipe"]
    changed = admin.post(RANKING, json={"name": "mine", "alpha": 0.2}).json()["recipe"]

    assert whole == stored
    assert (changed["name"], changed["test"], changed["permutations"]) == ("mine+alpha", "marot", 200)


def test_every_revision_is_kept_and_the_same_choices_are_none(
    admin: httpx.Client, populated: dict[str, str], database_url: str
) -> None:
    for alpha, revision in ((0.01, 1), (0.01, 1), (0.02, 2), (0.01, 3)):
        body = {"name": "google-mqm", "alpha": alpha}
        assert admin.put(f"{RECIPES}/mine", json=body).json()["revision"] == revision

    kept = [admin.get(f"{RECIPES}/mine", params={"revision": n}).json()["recipe"]["alpha"] for n in (1, 2, 3)]
    assert kept == [0.01, 0.02, 0.01]
    assert admin.get(f"{RECIPES}/mine").json()["revision"] == 3
    assert admin.get(f"{RECIPES}/mine", params={"revision": 4}).status_code == 404
    sent_back = admin.get(f"{RECIPES}/mine").json()["recipe"]
    again = admin.put(f"{RECIPES}/mine", json=sent_back)
    assert again.status_code == 200, again.text
    assert again.json()["revision"] == 3
    for change in ("UPDATE recipes SET revision = 9", "DELETE FROM recipes", "TRUNCATE recipes"):
        with psycopg.connect(database_url) as connection, pytest.raises(psycopg.errors.RestrictViolation):
            connection.execute(change)


def test_recipes_stored_at_once_are_revisions_one_after_another(admin: httpx.Client, populated: dict[str, str]) -> None:
    def store(n: int) -> int:
        stored = admin.put(f"{RECIPES}/mine", json={"alpha": n / 100})
        return int(stored.json()["revision"])

    with ThreadPoolExecutor(5) as threads:
        assert sorted(threads.map(store, range(1, 6))) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", [*NAMED, "recommended+alpha", "locked", "custom"])
def test_the_name_of_a_recipe_that_every_campaign_has_is_reserved(
    admin: httpx.Client, populated: dict[str, str], name: str
) -> None:
    assert admin.put(f"{RECIPES}/{name}", json={}).status_code == 409


def test_what_contradicts_itself_or_starts_from_nothing_known_is_refused(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    contradiction = admin.put(f"{RECIPES}/mine", json={"name": "google-mqm", "alternative": "two-sided"})
    unknown = admin.put(f"{RECIPES}/mine", json={"name": "nobody's"})
    misspelt = admin.put(f"{RECIPES}/mine", json={"name": "google-mqn"})

    assert contradiction.json()["errors"][0]["loc"] == ["body", "alternative"]
    assert (unknown.status_code, misspelt.status_code) == (422, 422)
    assert misspelt.json()["errors"][0]["loc"] == ["body", "name"]
    assert admin.get(f"{RECIPES}/mine").status_code == 404


def test_filters_are_refused_with_the_choices_that_do_what_they_would(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    body = {"name": "google-mqm", "filters": {"roles": ["rating"]}}
    for told in (admin.post(RANKING, json=body), admin.put(f"{RECIPES}/mine", json=body)):
        assert told.status_code == 422
        assert "`filters`: there is no such choice: roles, accepted_only, exclude and standing" in told.text
    assert admin.post(RANKING, json={"name": "google-mqm", "roles": ["rating"]}).status_code == 200


def test_a_list_has_the_latest_revision_of_each_by_name(admin: httpx.Client, populated: dict[str, str]) -> None:
    for name in ("b", "a", "Z"):
        for alpha in (0.01, 0.02):
            admin.put(f"{RECIPES}/{name}", json={"alpha": alpha})

    first = admin.get(RECIPES, params={"limit": 3}).json()
    rest = admin.get(RECIPES, params={"limit": 3, "cursor": first["next"]}).json()

    shown = [(one["name"], one["revision"]) for one in (*first["items"], *rest["items"])]
    assert shown == [("Z", 2), ("a", 2), ("b", 2), ("strict", 1)]
    assert rest["next"] is None


def test_a_recipe_belongs_to_its_campaign_and_only_managers_store_one(
    admin: httpx.Client, populated: dict[str, str], secret: Callable[..., str]
) -> None:
    admin.post("/v1/campaigns", json={"key": "other", "protocol": "mqm"})
    assert admin.get("/v1/campaigns/other/recipes/strict").status_code == 404
    told = admin.get("/v1/campaigns/other/ranking", params={"recipe": "strict"})
    assert (told.status_code, told.json()["errors"][0]["loc"]) == (422, ["query", "recipe"])
    viewer = {"Authorization": f"Bearer {secret('viewer')}"}
    assert admin.put(f"{RECIPES}/mine", json={}, headers=viewer).status_code == 403
    assert admin.get(f"{RECIPES}/strict", headers=viewer).status_code == 200
    elsewhere = {"Authorization": f"Bearer {secret('manager', campaign='other')}"}
    assert admin.put(f"{RECIPES}/mine", json={}, headers=elsewhere).status_code == 404


def test_who_only_views_does_not_learn_which_raters_a_recipe_leaves_out(
    admin: httpx.Client, populated: dict[str, str], secret: Callable[..., str]
) -> None:
    admin.put(f"{RECIPES}/mine", json={"name": "google-mqm", "exclude": ["rater:rater1", "system:B"]})
    admin.post("/v1/campaigns/demo/lock", json={"recipe": "mine", "reason": "late"})
    viewer = {"Authorization": f"Bearer {secret('viewer')}"}

    for address in (RECIPES, f"{RECIPES}/mine", "/v1/campaigns/demo/lock", "/v1/campaigns/demo/reports/recipes"):
        assert "rater1" not in admin.get(address, headers=viewer).text
    assert admin.get(f"{RECIPES}/mine", headers=viewer).json()["recipe"]["exclude"] == ["rater:*", "system:B"]
    assert "rater:rater1" in admin.get(f"{RECIPES}/mine").text
