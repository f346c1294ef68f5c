"""A page of a list costs the same however much there is, for each filter alone, by plans for its values and for any."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.routing import APIRoute

from app.main import create_app
from app.services.access import tokens
from app.services.tasks import campaign_judgments
from app.storage import embedded, flags, invitations, judgment_filter, query_planning, webhooks
from app.storage.db import Database, StatementTimedOut
from app.web.deps import ServiceOptions
from app.web.pagination import Page
from tests.api.conftest import _serving
from tests.blocks import MODES, costs
from tests.grown import LAST, grow
from tests.spine import Spine, fresh

SMALL, LARGE, MILLION = 1500, 15_000, 1_000_000
PAGE_BLOCKS = 2000
"""What a page of a million judgments may touch, all statements of its request together."""
# What stands in addresses and filters, by name; a filter that is not here fails the test until it is.
NAMES: dict[str, tuple[str, ...]] = {
    "system": ("s4", LAST),
    "document": ("d2", LAST),
    "rater": ("r8", LAST),
    "task": ("t2-1",),
    "segment": ("3", "99"),
    "severity": ("minor", "major"),
    "category": ("accuracy", "style"),
    "/raters state": ("active", "left"),
    "/tasks state": ("handed_in", "leased"),
    "/items plan": ("1",),
    "/jobs state": ("done", "running"),
    "bucket": ("2",),
    "answered": ("true", "false"),
    "commented": ("true", "false"),
    "team": ("team",),
    "format": ("json",),
    "q": ("r8", "nothing"),
    "/raters sort": ("-key", "enrolled", "-team", "state"),
    "/qualification/results sort": ("-rater", "best", "-at"),
    "/tutorial/results sort": ("-rater", "right", "-at"),
    "/attention-checks/results sort": ("-rater", "-failed", "at"),
    "/attention-checks/results state": ("none", "failed"),
    "/questionnaires/answers sort": ("-rater",),
    "/invitations sort": ("-invitation", "made"),
    "/exclusions sort": ("-made",),
    "passed": ("true", "false"),
    "live": ("true", "false"),
    "what": ("rater",),
    "standing": ("true", "false"),
    "taken": ("true", "false"),
    "kind": ("task.handed_in", "job.done"),
    "/documents kind": ("test", "attention"),
    "read": ("true", "false"),
}
ELSEWHERE = ("/imports/{import}", "/metrics")
"""Lists of something else than what a campaign has much of."""
STORAGE = Path(judgment_filter.__file__).parent
ROOM = 1.5
ROW = 64
"""Blocks that the depth of an index and the like may make."""


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        for key, judgments in (("small", SMALL), ("large", LARGE)):
            grow(found.url, key, judgments)
        yield found


@pytest.fixture(scope="module")
def client(spine: Spine) -> Iterator[httpx.Client]:
    with spine.database.transaction() as session:
        secret = tokens.issue_token(session, role="admin").secret
    with _serving(create_app(spine.database, ServiceOptions()), Authorization=f"Bearer {secret}") as client:
        yield client


def lists(app: FastAPI) -> Iterator[APIRoute]:
    """Routes that answer with a page of something of a campaign."""
    for route in app.routes:
        model = getattr(route, "response_model", None)
        if not (isinstance(route, APIRoute) and isinstance(model, type) and issubclass(model, Page)):
            continue
        if "{campaign}" in route.path and not any(part in route.path for part in ELSEWHERE):
            yield route


def asked(route: APIRoute) -> Iterator[tuple[str, dict[str, str]]]:
    """The route without a filter, and with each of its filters alone, each with each value."""
    path = route.path.replace("{system}", "s4").replace("{document}", "d2").replace("{rater}", "r8")
    yield path, {}
    flat = [field.alias for field in route.dependant.query_params]
    models = [getattr(field.field_info.annotation, "model_fields", {}) for field in route.dependant.query_params]
    names = {name for model in models for name in model} or set(flat)
    for name in sorted(names - {"limit", "cursor", "asked"}):
        for value in values_of(path, name):
            yield path, {name: value}


def values_of(path: str, name: str) -> tuple[str, ...]:
    """The values of a filter of a list: its own ones, or those that all lists have."""
    own = (f"/{'/'.join(path.split('/')[-n:])} {name}" for n in (2, 1))
    return next((NAMES[each] for each in own if each in NAMES), ()) or NAMES[name]


CASES = [
    pytest.param(path, query, id=f"{path.removeprefix('/v1/campaigns/{campaign}')} {query}")
    for route in lists(create_app(Database("postgresql://", size=2), ServiceOptions()))
    for path, query in asked(route)
]


def address_in(path: str, campaign: str) -> str:
    """The address of a list of a campaign, and of what it has one of."""
    webhook = f"w_{hashlib.md5(campaign.encode(), usedforsecurity=False).hexdigest()}"
    return path.replace("{campaign}", campaign).replace("{webhook}", webhook)


@pytest.mark.parametrize(("path", "query"), CASES)
def test_a_page_costs_the_same_however_much_there_is(
    spine: Spine, client: httpx.Client, path: str, query: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for most in ("LOOKED_AT", "FEW"):
        monkeypatch.setattr(judgment_filter, most, 300)
    for module in (flags, invitations, webhooks):
        monkeypatch.setattr(module, "LOOKED_AT", 20)
    walks = sa.text("SELECT a_page_that_is_planned_to_walk_a_whole_campaign()")  # which there is not, so it fails
    monkeypatch.setattr(query_planning, "_BEFORE", walks)

    def ask(campaign: str) -> Callable[[], None]:
        def request() -> None:
            answer = client.get(address_in(path, campaign), params={**query, "limit": 1})
            assert answer.status_code == 200, answer.text

        return request

    small, large = (costs(spine.database, spine.url, ask(key)) for key in ("small", "large"))
    for mode in MODES:
        told = f"{mode}: {large[mode]} blocks, {small[mode]} where there is {LARGE // SMALL} times less"
        assert large[mode] <= ROOM * small[mode] + ROW, told


@pytest.fixture(scope="module")
def million(spine: Spine) -> str:
    grow(spine.url, "million", MILLION)
    return "million"


def together() -> Iterator[tuple[str, dict[str, str]]]:
    """The routes with all of their filters at once, with each filter's first and with each filter's last value."""
    by_path: dict[str, dict[str, list[str]]] = {}
    for path, query in (case.values for case in CASES):
        for name, value in query.items():  # type: ignore[union-attr]
            by_path.setdefault(str(path), {}).setdefault(name, []).append(value)
    for path, filters in by_path.items():
        if len(filters) > 1:
            yield path, {name: values[0] for name, values in filters.items()}
            yield path, {name: values[-1] for name, values in filters.items()}


@pytest.mark.soak
def test_a_page_of_a_million_judgments_touches_few_blocks(spine: Spine, client: httpx.Client, million: str) -> None:
    told: dict[str, int] = {}
    for path, query in [*(case.values for case in CASES), *together()]:

        def request(path: str = str(path), query: Any = query) -> None:
            answer = client.get(address_in(path, million), params=query)
            assert answer.status_code == 200, answer.text

        name = f"{path} {query}"
        told[name] = max(costs(spine.database, spine.url, request).values())
    worst = sorted(told, key=lambda name: -told[name])[:8]
    print(f"{len(told)} requests; the dearest:", *(f"{told[name]:5d} {name}" for name in worst), sep="\n")  # noqa: T201  (figures)
    assert {name: blocks for name, blocks in told.items() if blocks > PAGE_BLOCKS} == {}
    assert {name: blocks for name, blocks in told.items() if blocks > PAGE_BLOCKS} == {}


def test_the_lists_of_judgments_and_tasks_are_among_them() -> None:
    ids = {case.id for case in CASES}
    assert {f"{of} {{}}" for of in ("/judgments", "/tasks", "/raters", "/flags")} <= ids
    assert "/judgments {'system': 'last'}" in ids


@pytest.mark.parametrize(
    "only",
    [
        {},
        {"rater": LAST},
        {"system": LAST},
        {"system": "s3"},
        {"document": "d5"},
        {"segment": 2},
        {"document": "d3", "system": "s2"},
        {"rater": "r7", "segment": 5},
        {"task": "t2-1", "rater": "r8"},
        {"rater": "nobody"},
    ],
    ids=str,
)
@pytest.mark.parametrize("looked_at", [100, 100_000])
def test_pages_together_are_all_that_a_filter_means(
    spine: Spine, client: httpx.Client, only: dict[str, Any], looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most in ("LOOKED_AT", "FEW"):
        monkeypatch.setattr(judgment_filter, most, looked_at)
    with spine.database.transaction() as session:
        campaign = campaign_judgments.campaigns.load_campaign(session, "small").id
        meant = [
            row.id
            for row in campaign_judgments.campaign_judgments.stream_judgment_rows(session, campaign, 0, filters=only)
        ]
    names = {"rater": "r.key", "system": "s.key", "document": "d.key", "segment": "g.position", "task": "t.key"}
    where = "".join(f" AND {names[name]} = '{value}'" for name, value in only.items())
    slow = spine.ask(
        f"""SELECT j.id FROM judgments j JOIN items i ON i.id = j.item_id JOIN tasks t ON t.id = i.task_id
            JOIN documents d ON d.id = i.document_id JOIN raters r ON r.id = j.rater_id
            JOIN segments g ON g.id = j.segment_id JOIN credits c ON c.item_id = i.id
            JOIN systems s ON s.id = c.system_id WHERE j.campaign_id = {campaign}{where} ORDER BY j.id"""
    )
    paged, cursor = [], "0"
    while cursor is not None:
        query = {**only, "limit": 200, "cursor": cursor}
        answer = client.get("/v1/campaigns/small/judgments", params=query).json()
        paged += [one["id"] for one in answer["items"]]
        cursor = answer["next"]
    assert paged == meant == [row[0] for row in slow]


def test_judgments_of_one_system_on_a_document_come_at_once(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judgment_filter, "LOOKED_AT", 100)  # the document has 30 items, with 150 judgments
    query = {"document": "d3", "system": "s2", "limit": 200}
    page = client.get("/v1/campaigns/small/judgments", params=query).json()
    assert (len(page["items"]), page["next"]) == (15, None)


def test_a_statement_that_takes_too_long_is_stopped(spine: Spine) -> None:
    hurried = Database(spine.url, size=1, role="plumbline_app", timeout=0.05)
    try:
        with pytest.raises(StatementTimedOut), hurried.transaction() as session:
            session.execute(sa.text("SELECT pg_sleep(60)"))
        with hurried.transaction() as session:
            assert session.execute(sa.text("SELECT 1")).scalar() == 1, "the connection goes on"
    finally:
        hurried.close()


def test_the_server_keeps_no_plan_of_a_statement_however_often_it_is_asked(spine: Spine) -> None:
    with spine.database.transaction() as session:
        for _ in range(20):
            session.execute(sa.text("SELECT count(*) FROM judgments WHERE campaign_id = :campaign"), {"campaign": 1})
        kept = session.execute(sa.text("SELECT count(*) FROM pg_prepared_statements")).scalar()
    assert kept == 0


def test_no_statement_asks_whether_a_filter_is_given() -> None:
    optional = re.compile(r"(?:CAST\(:\w+ AS [\w\[\]]+\)|:\w+|%\(\w+\)s)(?:::[\w\[\]]+)? IS NULL\s+OR\b")
    found = {path.name for path in STORAGE.rglob("*.py") if optional.search(path.read_text(encoding="utf-8"))}
    assert found == {"leases.py"}, "there the same plan is for all: it looks up by key, and the rest is reckoned by row"


def test_pages_of_a_search_in_flags_together_are_all_that_it_means(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/v1/campaigns/small/flags"
    everything = [one for page in _pages(client, path, {}) for one in page]
    for query, means in (
        ({"rater": "r8"}, lambda one: one["rater"] == "r8"),
        ({"q": "OTHER r1"}, lambda one: "r1" in one["rater"]),
        ({"q": "nothing"}, lambda _: False),
    ):
        meant = [one["flag"] for one in everything if means(one)]
        for looked_at in (3, 1000):
            monkeypatch.setattr(flags, "LOOKED_AT", looked_at)
            pages = _pages(client, path, query)
            assert [one["flag"] for page in pages for one in page] == meant, (query, looked_at)


def _pages(client: httpx.Client, path: str, query: dict[str, Any]) -> list[list[dict[str, Any]]]:
    pages: list[list[dict[str, Any]]] = []
    cursor: str | None = "0"
    while cursor is not None:
        answer = client.get(path, params={**query, "limit": 2, "cursor": cursor}).json()
        pages.append(answer["items"])
        cursor = answer["next"]
    return pages
