"""What a viewer fetches of a ranking names no rater, in any representation."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from app.services.demo import load_demo
from app.storage.db import Database

KINDS = ("", ".csv", ".tex", ".md", ".svg")


def ranking(client: httpx.Client, database: Database, token: str, kind: str = "") -> httpx.Response:
    campaign = load_demo(database, seed=1)
    path = f"/v1/campaigns/{campaign}/ranking{kind}"
    bearer = {"Authorization": f"Bearer {token}"}
    answer = client.get(path, params={"exclude": "rater:rater-1", "table": "pairs"}, headers=bearer)
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize("kind", KINDS)
def test_a_viewer_sees_no_rater(
    anonymous: httpx.Client, database: Database, secret: Callable[..., str], kind: str
) -> None:
    seen = ranking(anonymous, database, secret("viewer"), kind)
    known = ranking(anonymous, database, secret("manager"), kind)
    assert "rater-" not in seen.text
    assert seen.headers["etag"] != known.headers["etag"]


def test_a_manager_does_see_them(anonymous: httpx.Client, database: Database, secret: Callable[..., str]) -> None:
    """Control: there is something to hide."""
    assert "rater-" in ranking(anonymous, database, secret("manager")).text
