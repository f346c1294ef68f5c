"""What every kind of report owes whoever asks: each kind that there is, and two toys that show the test can fail."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from app.api import reports
from app.api.kit import report_routes
from app.main import create_app
from app.reports import registry
from app.reports.kit.report import Report
from app.services.access import tokens
from app.storage import embedded
from tests.api.conftest import MQM, OPTIONS
from tests.api.direct import asking
from tests.described import parameters
from tests.reports.toy_reports import BOTH
from tests.services.data.test_imports import DA
from tests.spine import fresh
from tests.working import draining

ALL = {**registry.ALL, **BOTH}
SHAPES = {
    "csv": "text/csv",
    "tex": "application/x-tex",
    "md": "text/markdown",
    "svg": "image/svg+xml",
}
OF_ZEBRAS = re.sub(r"\trater(\d)", r"\tzebra\1", MQM)  # a rater whom no other word is like
FILLED: Mapping[str, tuple[str, str]] = {
    "mqm": ("mqm-tsv", OF_ZEBRAS),
    "mqm2": ("mqm-tsv", OF_ZEBRAS.replace("Accuracy\tMajor", "Fluency\tMinor")),
    "da": ("wmt-da", DA),
}
QUICK = {"bootstrap": "20", "studies": "20", "draws": "10", "permutations": "100", "swaps": "10"}
QUICKER = {"power": {"documents": "6,12", "groupings": "psxs,none"}}
EMPTY = ("mqm", "da", "esa", "xsts", "postedit")  # protocols of campaigns in which there is nothing
NAN = re.compile(r"(?i)(?<![a-z])(nan|-?inf|infinity)(?![a-z])")


@dataclass(frozen=True)
class Asked:
    """A running application over filled campaigns and empty ones, and who asks."""

    client: httpx.Client
    tokens: Mapping[str, str]
    answers: dict[str, tuple[str, httpx.Response]] = field(default_factory=dict)

    def get(self, path: str, who: str = "manager", query: Mapping[str, str] | None = None, **headers: str) -> Any:
        told = {"Authorization": f"Bearer {self.tokens[who]}", "Prefer": "wait=30", **headers}
        for _ in range(10):
            answer = self.client.get(path, params=query, headers=told)
            if answer.status_code != 202:
                break
        return answer


@pytest.fixture(scope="module")
def world(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Asked]:
    before, real = list(reports.router.routes), registry.ALL
    report_routes.add_report_routes(reports.router, BOTH.values())
    registry.ALL = MappingProxyType(ALL)
    try:
        with fresh(postgres, migrated_template) as spine, draining(spine.database):
            for campaign, (format, text) in FILLED.items():
                spine.take(campaign, format, text.encode())
            with spine.database.transaction() as session:
                given = {role: tokens.issue_token(session, role=role).secret for role in ("admin", "manager", "viewer")}
                given["bound"] = tokens.issue_token(session, role="manager", campaign="da").secret
            app = create_app(spine.database, OPTIONS)
            with asking(app) as client:
                for protocol in EMPTY:
                    body = {"key": f"empty-{protocol}", "protocol": protocol}
                    made = client.post(
                        "/v1/campaigns", json=body, headers={"Authorization": f"Bearer {given['admin']}"}
                    )
                    assert made.status_code == 201, made.text
                yield Asked(client, given)
    finally:
        reports.router.routes[:] = before
        registry.ALL = real


def path_of(kind: Report[Any, Any], campaign: str) -> str:
    return (
        f"/v1/comparisons/{kind.name}" if kind.over == "campaigns" else f"/v1/campaigns/{campaign}/reports/{kind.name}"
    )


def quick(kind: Report[Any, Any]) -> dict[str, str]:
    """What a report is asked so that it takes no longer than the test is about; usual numbers are its own tests'."""
    plain = {name: value for name, value in QUICK.items() if name in kind.options.model_fields}
    return plain | QUICKER.get(kind.name, {})


def query_of(kind: Report[Any, Any], campaign: str) -> dict[str, str]:
    if kind.over == "campaign":
        return quick(kind)
    second = campaign.replace("empty-", "mqm2 ").split()[0] if campaign.startswith("empty") else f"{campaign}2"
    return {**quick(kind), "campaigns": f"{campaign},{'mqm2' if second not in FILLED else second}"}


def shaped_answer(world: Asked, kind: Report[Any, Any], campaign: str, shape: str) -> httpx.Response:
    """The report in a shape, under the address of its own; asked once for all tests."""
    name = f"{kind.over} {kind.name}.{shape}"
    if name not in world.answers:
        answer = world.get(f"{path_of(kind, campaign)}.{shape}", query=query_of(kind, campaign))
        world.answers[name] = campaign, answer
    return world.answers[name][1]


def answered(world: Asked, kind: Report[Any, Any]) -> tuple[str, httpx.Response]:
    """A filled campaign that the report fits, with its answer; asked once for all tests."""
    name, said = f"{kind.over} {kind.name}", []
    if name in world.answers:
        return world.answers[name]
    for campaign in FILLED:
        answer = world.get(path_of(kind, campaign), query=query_of(kind, campaign))
        if answer.status_code == 200:
            world.answers[name] = campaign, answer
            return campaign, answer
        assert answer.status_code in {409, 422}, answer.text
        said.append(answer.json()["detail"])
    raise AssertionError(f"{kind.name} fits none of {list(FILLED)}: {said}")


every_kind = pytest.mark.parametrize("kind", ALL.values(), ids=list(ALL))
in_every_shape = pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])


def shapes_of(kind: Report[Any, Any], whole: bool) -> list[str]:
    """Every shape, or the one whose turn it is: a kind has its own, and each shape comes to some kind."""
    return list(SHAPES) if whole else [list(SHAPES)[list(ALL.values()).index(kind) % len(SHAPES)]]


@in_every_shape
@every_kind
def test_a_report_is_what_its_view_says_in_every_shape_and_without_nan(
    world: Asked, kind: Report[Any, Any], whole: bool
) -> None:
    """whole: each shape is asked for by header, too; otherwise the one whose turn it is."""
    campaign, answer = answered(world, kind)

    view = kind.result.model_validate(answer.json())
    assert campaign in view.campaigns
    assert json.loads(view.model_dump_json()) == answer.json()
    for suffix, media_type in SHAPES.items():
        shaped = shaped_answer(world, kind, campaign, suffix)
        assert (shaped.status_code, bool(shaped.content)) == (200, True), shaped.text
        assert shaped.headers["Content-Type"].startswith(media_type)
        assert not NAN.search(shaped.text), shaped.text[:500]
        if suffix in shapes_of(kind, whole):
            by_accept = world.get(path_of(kind, campaign), query=query_of(kind, campaign), Accept=media_type)
            assert by_accept.content == shaped.content
    assert not NAN.search(answer.text)


@every_kind
def test_every_picture_of_a_kind_is_one(world: Asked, kind: Report[Any, Any]) -> None:
    campaign, _ = answered(world, kind)
    tags = set()
    for name in kind.charts:
        query = {**query_of(kind, campaign), "picture": name}
        drawn = world.get(f"{path_of(kind, campaign)}.svg", query=query)
        assert b"<svg" in drawn.content
        tags.add(drawn.headers["ETag"])
    assert len(tags) == len(kind.charts)
    query = {**query_of(kind, campaign), "picture": "of-nothing"}
    refused = world.get(f"{path_of(kind, campaign)}.svg", query=query)
    assert refused.status_code == 422


@in_every_shape
@every_kind
def test_the_same_question_has_the_same_bytes_and_its_tag_is_known(
    world: Asked, kind: Report[Any, Any], whole: bool
) -> None:
    campaign, first = answered(world, kind)
    for shape in ("", *shapes_of(kind, whole)):
        path, query = path_of(kind, campaign) + f".{shape}" * bool(shape), query_of(kind, campaign)
        before = shaped_answer(world, kind, campaign, shape) if shape else first
        again = world.get(path, query=query)
        assert again.content == before.content
        assert (again.headers["ETag"], again.headers["Vary"]) == (
            before.headers["ETag"],
            "Accept, Authorization, Cookie",
        )
        known = world.get(path, query=query, **{"If-None-Match": again.headers["ETag"]})
        assert (known.status_code, known.content) == (304, b"")


@every_kind
def test_an_unknown_campaign_is_not_found(world: Asked, kind: Report[Any, Any]) -> None:
    query = {"campaigns": "mqm,nowhere"} if kind.over == "campaigns" else {}
    assert world.get(path_of(kind, "nowhere"), query=query).status_code == 404


@in_every_shape
@every_kind
def test_whose_role_lacks_it_gets_nothing_and_viewers_learn_no_rater(
    world: Asked, kind: Report[Any, Any], whole: bool
) -> None:
    campaign, full = answered(world, kind)
    for suffix in ("", *(f".{shape}" for shape in shapes_of(kind, whole))):
        path, query = path_of(kind, campaign) + suffix, query_of(kind, campaign)
        answer = world.get(path, "viewer", query)
        if kind.role == "manager":
            assert answer.status_code == 403
        else:
            assert answer.status_code == 200, answer.text
            assert "zebra" not in answer.text
            if not suffix:
                assert answer.headers["ETag"] != full.headers["ETag"]


@every_kind
def test_another_campaigns_credential_finds_nothing(world: Asked, kind: Report[Any, Any]) -> None:
    answer = world.get(path_of(kind, "mqm"), "bound", query_of(kind, "mqm"))
    assert answer.status_code == 404


@every_kind
def test_an_empty_campaign_has_a_clear_statement(world: Asked, kind: Report[Any, Any]) -> None:
    """Of one protocol, in one shape: all of them, in turn."""
    turn = list(ALL.values()).index(kind)
    ask_empty_campaign(world, kind, EMPTY[turn % len(EMPTY)], shapes_of(kind, whole=False))


@pytest.mark.soak
@every_kind
@pytest.mark.parametrize("protocol", EMPTY)
def test_an_empty_campaign_has_a_clear_statement_in_every_shape(
    world: Asked, kind: Report[Any, Any], protocol: str
) -> None:
    ask_empty_campaign(world, kind, protocol, list(SHAPES))


def ask_empty_campaign(world: Asked, kind: Report[Any, Any], protocol: str, shapes: list[str]) -> None:
    campaign = f"empty-{protocol}"
    answer = world.get(path_of(kind, campaign), query=query_of(kind, campaign))
    if answer.status_code == 200:
        assert kind.result.model_validate(answer.json()).warnings
        assert not NAN.search(answer.text)
        for shape in shapes:
            shaped = world.get(f"{path_of(kind, campaign)}.{shape}", query=query_of(kind, campaign))
            assert (shape, shaped.status_code, NAN.search(shaped.text)) == (shape, 200, None)
    else:
        assert answer.status_code in {409, 422}, answer.text
        assert answer.json()["detail"]


@every_kind
def test_data_as_they_were_before_anything_was_judged_are_those_of_an_empty_campaign(
    world: Asked, kind: Report[Any, Any]
) -> None:
    campaign, _ = answered(world, kind)
    query = {**query_of(kind, campaign), "as_of": "2020-01-01T00:00:00Z"}
    assert world.get(path_of(kind, campaign), query=query).status_code in {200, 409, 422}


@pytest.fixture(scope="module")
def document(world: Asked) -> dict[str, Any]:
    """What the application says of itself."""
    told: dict[str, Any] = world.client.get("/openapi.json").json()
    return told


@every_kind
def test_the_document_names_the_question_of_a_kind(document: dict[str, Any], kind: Report[Any, Any]) -> None:
    described = document["paths"][path_of(kind, "{campaign}")]["get"]
    assert {p["name"] for p in parameters(document, described) if p["in"] == "query"} >= {
        *kind.options.model_fields,
        "as_of",
    }
    assert described["responses"]["200"]["content"]["application/json"]["example"]


def test_a_wrong_question_is_refused_with_its_place(world: Asked) -> None:
    path = path_of(BOTH["campaign/toy"], "mqm")
    for query, loc in (({"parts": "51"}, ["query", "parts"]), ({"rater": "nobody"}, ["query", "rater"])):
        refused = world.get(path, query=query)
        assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, loc)
    assert world.get(path, query={"unknown": "1"}).status_code == 422


def test_another_question_seed_or_version_is_another_report(world: Asked) -> None:
    path = path_of(BOTH["campaign/toy"], "mqm")
    questions = ({}, {"seed": "1"}, {"parts": "2"}, {"as_of": "0"})
    assert len({world.get(path, query=query).headers["ETag"] for query in questions}) == len(questions)


@pytest.mark.parametrize("campaigns", [".", "..", ".,..", ".,mqm", "mqm,.."])
def test_a_campaign_that_no_address_can_name_is_not_found_and_not_passed_over(world: Asked, campaigns: str) -> None:
    for who in ("admin", "manager"):
        assert world.get("/v1/comparisons/toys", who, {"campaigns": campaigns}).status_code == 404


def test_versions_of_several_campaigns_are_asked_by_time(world: Asked) -> None:
    query = {"campaigns": "mqm,mqm2", "as_of": "1"}
    refused = world.get("/v1/comparisons/toys", query=query)
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["query", "as_of"])
