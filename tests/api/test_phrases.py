"""Phrases of the raters' pages in a campaign's own words: which are refused, and that a page says the others."""

from __future__ import annotations

import pytest

URL = "/v1/campaigns/c"


@pytest.fixture
def campaign(admin):
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"})
    admin.put(f"{URL}/raters/r1", json={})
    return admin


def put(client, phrases):
    etag = client.get(URL).headers["ETag"]
    return client.patch(URL, json={"settings": {"phrases": phrases}}, headers={"If-Match": etag})


@pytest.mark.parametrize(
    ("phrases", "place"),
    [
        ([], ["settings", "phrases"]),
        ({f"a{chr(97 + n)}": {} for n in range(21)}, ["settings", "phrases"]),
        ({"not a language": {}}, ["settings", "phrases", "(name)"]),
        ({"de": []}, ["settings", "phrases", "de"]),
        ({"de": {str(n): "x" for n in range(501)}}, ["settings", "phrases", "de"]),
        ({"de": {"Task": ""}}, ["settings", "phrases", "de"]),
        ({"de": {"Task": " "}}, ["settings", "phrases", "de"]),
        ({"de": {"Task": 1}}, ["settings", "phrases", "de"]),
        ({"de": {"Task": "x" * 2001}}, ["settings", "phrases", "de"]),
        ({"de": {"Text {n}": "Text"}}, ["settings", "phrases", "de"]),
        ({"de": {"Task": "Aufgabe {n}"}}, ["settings", "phrases", "de"]),
    ],
)
def test_a_phrase_that_no_page_could_say_is_refused_at_its_place(campaign, phrases, place):
    answer = put(campaign, phrases)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == place
    if place[-1] == "de" and len(phrases["de"]) == 1:
        assert next(iter(phrases["de"])) in answer.json()["errors"][0]["msg"]
    assert "phrases" not in campaign.get(URL).json()["settings"]


@pytest.mark.parametrize(
    "phrases",
    [
        None,
        {},
        {f"a{chr(97 + n)}": {} for n in range(20)},
        {"de": {str(n): "x" for n in range(500)}},
        {"zh-Hans": {"Task": "x" * 2000}},
        {"de": {"Text {n} of {total}": "{total}: {n}"}},
    ],
)
def test_phrases_at_the_limit_are_stored_as_they_are(campaign, phrases):
    assert put(campaign, phrases).status_code == 200
    assert campaign.get(URL).json()["settings"]["phrases"] == phrases
