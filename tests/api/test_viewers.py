"""What a viewer fetches of a ranking names no rater, in any representation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from app.reports.registry import ALL as REPORTS
from app.storage import embedded
from tests.judged_demo import load_judged
from tests.spine import Spine, template_of

DEMO = "demo-1"
KINDS = ("", ".csv", ".tex", ".md", ".svg")


NAMING = ["rater:rater-1", "rater:nobody", "task:anything"]


@pytest.fixture(scope="module")
def judged(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """The name of a database with the demo, judged."""

    def fill(spine: Spine) -> None:
        assert load_judged(spine.database, seed=1) == DEMO

    with template_of(postgres, migrated_template, fill) as name:
        yield name


@pytest.fixture
def template(judged: str) -> str:
    return judged


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def ranking(client: httpx.Client, secret: Callable[..., str], role: str, kind: str = "") -> Any:
    """The ranking by a recipe of the campaign's own, in which its manager left out a rater."""
    campaign = f"/v1/campaigns/{DEMO}"
    recipe = {"name": "recommended", "exclude": ["rater:rater-1"]}
    stored = client.put(f"{campaign}/recipes/ours", json=recipe, headers=bearer(secret("manager")))
    assert stored.status_code == 200, stored.text
    asked = {"recipe": "ours", "table": "pairs"}
    answer = client.get(f"{campaign}/ranking{kind}", params=asked, headers=bearer(secret(role)))
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize("kind", KINDS)
def test_a_viewer_sees_no_rater(anonymous: httpx.Client, secret: Callable[..., str], kind: str) -> None:
    seen = ranking(anonymous, secret, "viewer", kind)
    known = ranking(anonymous, secret, "manager", kind)
    assert "rater-" not in seen.text
    assert seen.headers["etag"] != known.headers["etag"]


def test_a_manager_does_see_them(anonymous: httpx.Client, secret: Callable[..., str]) -> None:
    """Control: there is something to hide."""
    assert "rater-" in ranking(anonymous, secret, "manager").text


@pytest.mark.parametrize("named", NAMING)
def test_a_viewer_cannot_ask_which_raters_there_are(
    anonymous: httpx.Client, secret: Callable[..., str], named: str
) -> None:
    """Known or not, the answer is the same, and other exclusions stay a viewer's right."""
    path = f"/v1/campaigns/{DEMO}/ranking"
    viewer, manager = bearer(secret("viewer")), bearer(secret("manager"))
    for kind in (*KINDS, "/segments"):
        assert anonymous.get(f"{path}{kind}", params={"exclude": named}, headers=viewer).status_code == 403
    assert anonymous.post(path, json={"exclude": [named]}, headers=viewer).status_code == 403
    expected = 200 if named == NAMING[0] else 422
    assert anonymous.get(path, params={"exclude": named}, headers=manager).status_code == expected
    assert anonymous.post(path, json={"exclude": [named]}, headers=manager).status_code == expected


OF_RATERS = sorted((kind.name, field) for kind in REPORTS.values() for field in kind.naming)


def test_there_are_reports_of_raters_that_are_named() -> None:
    assert OF_RATERS


@pytest.mark.parametrize(("report", "field"), OF_RATERS)
@pytest.mark.parametrize("named", ["rater-1", "nobody"])
def test_a_viewer_cannot_ask_a_report_which_raters_there_are(
    anonymous: httpx.Client, secret: Callable[..., str], report: str, field: str, named: str
) -> None:
    """A manager is answered about who is there, and told of who is not."""
    path = f"/v1/campaigns/{DEMO}/reports/{report}"
    viewer, manager = bearer(secret("viewer")), bearer(secret("manager"))
    refused = anonymous.get(path, params={field: named}, headers=viewer)
    assert refused.status_code == 403
    assert f"to name raters under {field} needs the rights of a manager; yours is viewer" in refused.json()["detail"]
    asked = anonymous.get(path, params={field: named}, headers=manager)
    assert asked.status_code in ({200, 202} if named == "rater-1" else {422}), asked.text
    assert anonymous.get(path, headers=viewer).status_code in {200, 202}


def test_a_viewer_may_leave_out_a_system(anonymous: httpx.Client, secret: Callable[..., str]) -> None:
    path = f"/v1/campaigns/{DEMO}/ranking"
    viewer = bearer(secret("viewer"))
    system = anonymous.get(path, headers=viewer).json()["systems"][0]
    key = system["system"] if "system" in system else system["key"]
    assert anonymous.get(path, params={"exclude": f"system:{key}"}, headers=viewer).status_code == 200
