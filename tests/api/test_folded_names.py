"""`.` and `..` name nothing: a client would fold them away in the address of what they name."""

from __future__ import annotations

import httpx
import pytest

from app.domain.keys import convert_name_to_key, is_key

FOLDED = [".", ".."]
KEPT = ["...", ".a", "..a", "a.", "-"]


@pytest.mark.parametrize("name", FOLDED)
def test_a_name_that_is_folded_away_is_no_key(name: str) -> None:
    assert not is_key(name)
    assert is_key(convert_name_to_key(name))
    assert all(is_key(other) and convert_name_to_key(other) == other for other in KEPT)


@pytest.mark.parametrize("name", FOLDED)
def test_nothing_is_made_by_a_name_that_is_folded_away(
    admin: httpx.Client, populated: dict[str, str], name: str
) -> None:
    escaped = name.replace(".", "%2E")
    new = {"key": "other", "protocol": "da"}
    file = f"/v1/campaigns/demo/imports/{populated['import']}/files/{escaped}"
    answers = {
        "key": admin.post("/v1/campaigns", json={**new, "key": name}),
        "series": admin.post("/v1/campaigns", json={**new, "series": name}),
        "name": admin.put(file, content=b"x"),
        "recipe": admin.put(f"/v1/campaigns/demo/recipes/{escaped}", json={"name": "google-mqm"}),
    }
    for field, answer in answers.items():
        assert answer.status_code == 422, (field, answer.text)
        assert [error["loc"][-1] for error in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("key", KEPT)
def test_other_dots_are_kept(admin: httpx.Client, key: str) -> None:
    assert admin.post("/v1/campaigns", json={"key": key, "protocol": "da"}).status_code == 201
    assert admin.get(f"/v1/campaigns/{key}").json()["key"] == key
