"""Rankings beside each other: a campaign under several recipes, the campaigns of a series under one."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from xml.etree import ElementTree as ET

import httpx
import pytest

from tests.api.conftest import MQM

RECIPES = "/v1/campaigns/demo/reports/recipes"
SERIES = "/v1/series/wmt/ranking"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def series(admin: httpx.Client, populated: dict[str, str]) -> httpx.Client:
    """A second campaign of the series, in which A and C changed names and B is missing; a third without judgments."""
    swapped = MQM.replace("A\tnews", "X\tnews").replace("C\tnews", "A\tnews").replace("X\tnews", "C\tnews")
    lines = "".join(line for line in swapped.splitlines(keepends=True) if not line.startswith("B\t"))
    for key in ("second", "third"):
        assert admin.post("/v1/campaigns", json={"key": key, "protocol": "mqm", "series": "wmt"}).status_code == 201
    read = admin.post("/v1/campaigns/second/imports", params={"format": "mqm-tsv"}, content=lines.encode())
    assert read.status_code == 200, read.text
    return admin


def test_each_recipe_has_the_ranks_of_its_own_ranking_and_a_misfit_says_why(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    told = admin.get(RECIPES, params={"recipes": "google-mqm,strict,wmt24-esa,google-mqm"})

    assert told.status_code == 200, told.text
    shown = told.json()
    assert [one["name"] for one in shown["rankings"]] == ["google-mqm", "strict", "wmt24-esa"]
    assert shown["rankings"][2]["why"]
    for recipe in ("google-mqm", "strict"):
        ranked = admin.get("/v1/campaigns/demo/ranking", params={"recipe": recipe}).json()["systems"]
        places = {row["system"]: row["places"][recipe] for row in shown["systems"]}
        assert {s["system"]: (s["rank"], s["cluster"], s["score"]) for s in ranked} == {
            system: (place["rank"], place["cluster"], place["score"]) for system, place in places.items()
        }
    assert [row["mean_relative_rank"] for row in shown["systems"]] == [0, 0.5, 1]


def test_pairs_that_recipes_do_not_agree_on_are_named(admin: httpx.Client, populated: dict[str, str]) -> None:
    loose = {"name": "google-mqm", "alpha": 0.5, "permutations": 500}
    assert admin.put("/v1/campaigns/demo/recipes/loose", json=loose).status_code == 200

    pairs = admin.get(RECIPES, params={"recipes": "strict,loose"}).json()["pairs"]

    assert {pair["kind"] for pair in pairs} == {"significance"}
    for pair in pairs:
        assert pair["verdicts"]["strict"]["significant"] is None
        assert pair["verdicts"]["loose"]["significant"] == pair["verdicts"]["loose"]["better"]


def test_the_same_rankings_are_known_by_their_tag_in_every_representation(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    asked = {"recipes": "google-mqm,strict"}
    tags = {admin.get(RECIPES, params=asked).headers["ETag"]}
    for kind, media_type in {"csv": "text/csv", "tex": "application/x-tex", "md": "text/markdown"}.items():
        answer = admin.get(f"{RECIPES}.{kind}", params=asked)
        assert answer.headers["Content-Type"].startswith(media_type)
        assert answer.content == admin.get(RECIPES, params=asked, headers={"Accept": media_type}).content
        known = {"If-None-Match": answer.headers["ETag"]}
        assert admin.get(f"{RECIPES}.{kind}", params=asked, headers=known).status_code == 304
        tags.add(answer.headers["ETag"])
    assert len(tags) == 4
    picture = admin.get(f"{RECIPES}.svg", params=asked)
    assert picture.content == admin.get(f"{RECIPES}.svg", params=asked).content
    texts = ["".join(t.itertext()) for t in ET.fromstring(picture.content).iter(f"{SVG}text")]  # noqa: S314, our own
    assert {"google-mqm", "strict", "A", "B", "C"} <= set(texts)
    assert texts.count("A") == 2


def test_an_unknown_recipe_is_refused_with_its_place_and_as_of_holds_for_all(
    admin: httpx.Client, populated: dict[str, str]
) -> None:
    told = admin.get(RECIPES, params={"recipes": "strict,unknown"})
    assert (told.status_code, told.json()["errors"][0]["loc"]) == (422, ["query", "recipes"])
    past = admin.get(RECIPES, params={"recipes": "strict,google-mqm", "as_of": 1}).json()
    assert {one["data_version"] for one in past["rankings"]} == {1}


def test_a_series_ranks_each_system_over_its_campaigns(series: httpx.Client) -> None:
    told = series.get(SERIES, params={"recipe": "google-mqm"})

    assert told.status_code == 200, told.text
    shown = told.json()
    assert [one["name"] for one in shown["rankings"]] == ["demo", "second", "third"]
    by_system = {row["system"]: row for row in shown["systems"]}
    assert {s: (row["mean_relative_rank"], row["n_rankings"]) for s, row in by_system.items()} == {
        "A": (0.5, 2),
        "B": (0.5, 1),
        "C": (0.5, 2),
    }
    assert by_system["A"]["places"]["demo"]["relative_rank"] == 1
    assert by_system["A"]["places"]["second"]["relative_rank"] == 0
    assert by_system["B"]["places"]["second"] is None
    assert any("not every system" in warning for warning in shown["warnings"])


def test_a_series_is_a_table_in_every_representation(series: httpx.Client) -> None:
    rows = list(csv.DictReader(io.StringIO(series.get(f"{SERIES}.csv", params={"recipe": "google-mqm"}).text)))
    assert {(row["system"], row["ranking"]) for row in rows} == {
        ("A", "demo"),
        ("A", "second"),
        ("B", "demo"),
        ("C", "demo"),
        ("C", "second"),
    }
    markdown = series.get(f"{SERIES}.md", params={"recipe": "google-mqm"}).text
    assert "| System | Mean relative rank | demo | second | third |" in markdown
    assert "\\toprule" in series.get(f"{SERIES}.tex", params={"recipe": "google-mqm"}).text
    assert series.get(f"{SERIES}.svg", params={"recipe": "google-mqm"}).status_code == 200


def test_a_credential_of_one_campaign_sees_that_campaign_of_a_series_only(
    series: httpx.Client, secret: Callable[..., str]
) -> None:
    series.post("/v1/campaigns", json={"key": "elsewhere", "protocol": "mqm"})
    bound = {"Authorization": f"Bearer {secret('viewer', campaign='second')}"}
    stranger = {"Authorization": f"Bearer {secret('viewer', campaign='elsewhere')}"}

    assert [one["name"] for one in series.get(SERIES, headers=bound).json()["rankings"]] == ["second"]
    assert series.get(SERIES, headers=stranger).status_code == 404
    assert series.get("/v1/series/none/ranking").status_code == 404


def test_an_own_recipe_that_a_campaign_of_the_series_lacks_is_its_reason(series: httpx.Client) -> None:
    shown = series.get(SERIES, params={"recipe": "strict"}).json()

    assert [one["why"] is None for one in shown["rankings"]] == [True, False, False]
    told = series.get(SERIES, params={"recipe": "unknown"})
    assert (told.status_code, told.json()["errors"][0]["loc"]) == (422, ["query", "recipe"])
