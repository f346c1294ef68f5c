"""Every route × every kind of caller, taken from the application itself. A route without a row here fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

from app.main import create_app
from app.services.access import tokens
from app.services.access.tokens import ROLES, Role
from app.storage import embedded
from app.storage.db import Database
from app.web.access import Public
from app.web.deps import SessionDep
from tests.api.access_rows import EXPECTED, ROLE_SETS
from tests.api.conftest import OPTIONS, populate
from tests.api.direct import asking
from tests.spine import Spine, template_of

SAFE = {"GET", "HEAD"}
# What the matrix itself keeps apart: sending it would end the credential that is being tried, or make another.
PAGES = {"page", "own page"}
KEEPS_OUT = {"POST /v1/session", "DELETE /v1/session"}


OF_REPORTS = re.compile("/(reports|comparisons)/")
"""What the kit makes for each report alike: its addresses and its page."""


class Address(NamedTuple):
    """One method of one address, with what its document says."""

    method: str
    path: str
    described: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    def body(self) -> dict[str, Any]:
        """A body that would be taken: the first example of the document, or a few bytes."""
        content = self.described.get("requestBody", {}).get("content", {})
        examples = list(content.get("application/json", {}).get("examples", {}).values())
        if examples:
            return {"json": examples[0]["value"]}
        return {"content": b"x"} if content else {}


def few_reports(asked: Iterable[Address], every: int) -> Iterator[Address]:
    """The same by name, with each so many-th of those that read a report; 0: without them."""
    n = 0
    for address in sorted(asked, key=lambda one: one.name):
        if OF_REPORTS.search(address.path):
            n += 1
            if not every or n % every:
                continue
        yield address


def addresses(app: FastAPI) -> Iterator[Address]:
    for context in iter_route_contexts(app.routes):
        described = app.openapi()["paths"].get(context.path_format, {})
        for method in sorted(context.methods or ()):
            yield Address(method, context.path_format, described.get(method.lower(), {}))


@dataclass
class Matrix:
    """Sends every address as every caller and keeps what was not as expected."""

    app: FastAPI
    client: httpx.Client
    values: dict[str, str]
    broken: list[str] = field(default_factory=list)
    tried: int = 0

    def send(self, address: Address, caller: dict[str, str], **changes: str) -> httpx.Response:
        values = {**self.values, **changes}
        url = address.path.format(**{name: values.get(name, "x") for name in values if f"{{{name}}}" in address.path})
        self.client.cookies.clear()
        self.tried += 1
        at_once = {"Prefer": "wait=0", **caller}  # no worker computes here
        return self.client.request(address.method, url, headers=at_once, follow_redirects=False, **address.body())

    def want(self, what: str, address: Address, answer: httpx.Response, expected: set[int] | None) -> None:
        """expected: the statuses that are right; None is any but 401 and 403."""
        right = answer.status_code in expected if expected else answer.status_code not in {401, 403}
        if not right or answer.status_code >= 500:
            self.broken.append(f"{address.name} as {what}: {answer.status_code}")

    def known_in_turn(self, turn: int, of: int) -> list[tuple[Address, str]]:
        """What one of several callers asks, where each address is asked by one of them."""
        return list(self.known())[turn::of]

    def known(self) -> Iterator[tuple[Address, str]]:
        """Every address with its expectation."""
        return ((address, EXPECTED[address.name]) for address in addresses(self.app) if address.name in EXPECTED)


class Made(NamedTuple):
    """The template of a populated database, and what the parameters of paths can take there."""

    template: str
    values: dict[str, str]


@pytest.fixture(scope="module")
def made(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Made]:
    """Two campaigns, made once for all tests here."""
    values: dict[str, str] = {}

    def fill(spine: Spine) -> None:
        with spine.database.transaction() as session:
            secret = tokens.issue_token(session, role="admin").secret
        with asking(create_app(spine.database, OPTIONS)) as admin:
            admin.headers["Authorization"] = f"Bearer {secret}"
            values.update(populate(admin, spine.url))
            assert admin.post("/v1/campaigns", json={"key": "other", "protocol": "da"}).status_code == 201
            for path in ("demo/teams/ulm", "other/teams/bonn", "demo/raters/r2", "other/raters/r1"):
                body = {"name": path} if "teams" in path else {}
                assert admin.put(f"/v1/campaigns/{path}", json=body).status_code == 200

    with template_of(postgres, migrated_template, fill) as name:
        yield Made(name, values)


@pytest.fixture
def template(made: Made) -> str:
    return made.template


@pytest.fixture
def matrix(app: FastAPI, made: Made) -> Iterator[Matrix]:
    with asking(app) as client:
        yield Matrix(app, client, dict(made.values))


@pytest.fixture
def credential(database: Database) -> Callable[..., dict[str, str]]:
    """The headers of a new token; of a campaign, a coordinator's is for team bonn and a rater's is that of r1."""

    def make(role: Role = "admin", *, revoked: bool = False, **given: Any) -> dict[str, str]:
        if role == "coordinator" and "campaign" in given:
            given = {"team": "bonn", **given}
        if role == "rater":
            given = {"rater": "r1", **given}
        with database.transaction() as session:
            issued = tokens.issue_token(session, role=role, **given)
            if revoked:
                tokens.revoke_token(session, issued.token.prefix, by=None)
        return {"Authorization": f"Bearer {issued.secret}", **({"Plumbline-Rater": "r1"} if role == "frontend" else {})}

    return make


Credential = Callable[..., dict[str, str]]


def everything_in(url: str) -> dict[str, str]:
    """A hash of each table."""
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
        # But for when a token was last used, which changes by each use.
        query = """SELECT md5(string_agg(r, chr(10) ORDER BY r)) FROM
            (SELECT (to_jsonb(t) - 'last_used_at')::text AS r FROM "{}" t) rows"""
        return {name: str(connection.execute(query.format(name)).fetchone()) for (name,) in tables}


def credentials_that_have_ended(credential: Credential) -> dict[str, dict[str, str]]:
    return {
        "anonymous": {},
        "an expired token": credential(expires_at=datetime.now(UTC) - timedelta(seconds=1)),
        "a revoked token": credential(revoked=True),
        "a made-up token": {"Authorization": "Bearer plb_000000000000_" + "A" * 43},
        "an ended session": {"Cookie": "staff=" + "A" * 43},
    }


def without_a_row(app: FastAPI) -> set[str]:
    return {address.name for address in addresses(app)} - set(EXPECTED)


def test_every_route_has_a_row(app: FastAPI) -> None:
    assert not without_a_row(app)


def test_nobody_without_a_live_credential_gets_in_or_changes_anything(
    matrix: Matrix, credential: Credential, database_url: str
) -> None:
    """Each address is asked without a credential, and with one that has ended: each way of ending, in turn."""
    ask_without_a_live_credential(matrix, credential, database_url, ended=1)


@pytest.mark.soak
def test_nobody_gets_in_with_any_credential_that_has_ended(
    matrix: Matrix, credential: Credential, database_url: str
) -> None:
    ask_without_a_live_credential(matrix, credential, database_url, ended=4)


def ask_without_a_live_credential(matrix: Matrix, credential: Credential, database_url: str, ended: int) -> None:
    """ended: how many of the ways in which a credential ends are tried at an address."""
    (nobody, *ends) = credentials_that_have_ended(credential).items()
    before = everything_in(database_url)
    asked = [(address, needs) for address, needs in matrix.known() if address.name != "POST /v1/session"]
    for n, (address, needs) in enumerate(asked):
        expected = {"public": None, "page": {303, 401}, "own page": {303, 401}}.get(
            needs, {401}
        )  # a page may send to where one signs in
        in_turn = [ends[(n + more) % len(ends)] for more in range(ended)]
        for what, caller in (nobody, *in_turn):
            matrix.want(what, address, matrix.send(address, caller), expected)
    assert matrix.tried == (1 + ended) * (len(list(matrix.known())) - 1)
    assert not matrix.broken, "\n".join(matrix.broken)
    assert everything_in(database_url) == before


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize("role", ROLES)
def test_a_role_gets_what_it_has_and_nothing_more(
    matrix: Matrix, credential: Credential, role: Role, database_url: str, whole: bool
) -> None:
    """Each role is refused at each address that it has not.

    whole: and gets in at each that it has; otherwise at each one of the roles that have it, in turn.
    """
    caller = credential(role, campaign="demo")
    before = everything_in(database_url)
    for address, needs in matrix.known():
        allowed = role in ROLE_SETS[needs] and needs != "unbound"
        if needs not in {*PAGES, "public"} and not allowed:
            matrix.want(role, address, matrix.send(address, caller), {403})
    assert not matrix.broken, "\n".join(matrix.broken)
    assert everything_in(database_url) == before

    unbound = credential(role) if role in {"admin", "manager", "viewer"} else caller
    for n, (address, needs) in enumerate(matrix.known()):
        having = [one for one in ROLES if one in ROLE_SETS[needs]]
        asks = role in having if whole else role == having[n % len(having)]
        if asks and address.name not in KEEPS_OUT and needs not in PAGES:
            matrix.want(role, address, matrix.send(address, unbound), None)
    assert not matrix.broken, "\n".join(matrix.broken)


@pytest.mark.parametrize("role", ROLES)
def test_another_campaign_answers_as_if_it_did_not_exist(
    matrix: Matrix, credential: Credential, role: Role, database_url: str
) -> None:
    """To one role an address, in turn: it is 404 to any, so that any finds a route that does not look."""
    asked = matrix.known_in_turn(ROLES.index(role), len(ROLES))
    see_no_other_campaign(matrix, credential, role, database_url, asked)


@pytest.mark.soak
@pytest.mark.parametrize("role", ROLES)
def test_another_campaign_answers_every_role_as_if_it_did_not_exist(
    matrix: Matrix, credential: Credential, role: Role, database_url: str
) -> None:
    see_no_other_campaign(matrix, credential, role, database_url, matrix.known())


def see_no_other_campaign(
    matrix: Matrix, credential: Credential, role: Role, database_url: str, asked: Iterable[tuple[Address, str]]
) -> None:
    caller = credential(role, campaign="other")
    before = everything_in(database_url)
    for address, needs in asked:
        if "{campaign}" not in address.path or needs in {*PAGES, "public"}:
            continue
        answer, unknown = matrix.send(address, caller), matrix.send(address, caller, campaign="nowhere")
        matrix.want(f"a {role} of another campaign", address, answer, {404})
        told, of_nothing = answer.json(), unknown.json()
        if {**told, "instance": ""} != {**of_nothing, "instance": ""}:
            matrix.broken.append(f"{address.name} tells another's campaign from one that is not there")
    assert matrix.tried
    assert not matrix.broken, "\n".join(matrix.broken)
    assert everything_in(database_url) == before


def test_a_coordinator_of_another_team_is_told_that_there_is_no_such_rater_or_team(
    matrix: Matrix, credential: Credential, database_url: str
) -> None:
    moved = {"If-Match": "*", **credential()}
    assert matrix.client.put("/v1/campaigns/demo/raters/r1", json={"team": "bonn"}, headers=moved).status_code == 200
    ours, theirs = credential("coordinator", campaign="demo"), credential("coordinator", campaign="demo", team="ulm")
    before = everything_in(database_url)
    closed = [address for address, needs in matrix.known() if needs == "coordinator"]
    for address in (one for one in closed if "{rater}" in one.path or "{team}" in one.path):
        matrix.want("a coordinator of another team", address, matrix.send(address, theirs), {404})
    assert everything_in(database_url) == before
    for address in closed:
        matrix.want("the team's coordinator", address, matrix.send(address, ours), None)
        if address.method in SAFE and '"r1"' in matrix.send(address, theirs).text:
            matrix.broken.append(f"{address.name} shows a coordinator of another team the rater")
    for address in closed:
        matrix.want("a coordinator of no team", address, matrix.send(address, credential("coordinator")), {403})
    assert not matrix.broken, "\n".join(matrix.broken)


def test_another_rater_reaches_nothing_of_this_one(matrix: Matrix, credential: Credential, database_url: str) -> None:
    other = credential("rater", campaign="demo", rater="r2")
    through = {**credential("frontend", campaign="demo"), "Plumbline-Rater": "r2"}
    before = everything_in(database_url)
    for address in (one for one, needs in matrix.known() if needs == "rater" and "{task}" in one.path):
        for what, caller in {"another rater": other, "a front-end for another rater": through}.items():
            matrix.want(what, address, matrix.send(address, caller), {404})
    assert not matrix.broken, "\n".join(matrix.broken)
    assert everything_in(database_url) == before


def test_a_front_end_acts_for_raters_of_its_campaign_and_for_nobody_else(
    matrix: Matrix, credential: Credential
) -> None:
    through = credential("frontend", campaign="demo")
    closed = [address for address, needs in matrix.known() if needs == "rater"]
    assert closed
    for address in closed:
        for rater in ("rater0", "nobody", "R1"):  # known from judgments only, unknown, and another
            answer = matrix.send(address, {**through, "Plumbline-Rater": rater})
            matrix.want(f"a front-end for {rater}", address, answer, {404})
        unnamed = {"Authorization": through["Authorization"]}
        matrix.want("a front-end for nobody", address, matrix.send(address, unnamed), {403})
        staff = {**credential("admin"), "Plumbline-Rater": "r1"}
        matrix.want("an admin in a rater's place", address, matrix.send(address, staff), {403})
    assert not matrix.broken, "\n".join(matrix.broken)


@pytest.mark.parametrize("role", ["manager", "viewer", "admin"])
def test_lists_show_nothing_of_another_campaign(matrix: Matrix, credential: Credential, role: Role) -> None:
    caller = credential(role, campaign="other")
    credential("viewer", campaign="demo", name="of demo")
    for address, needs in matrix.known():
        if address.method == "GET" and "{" not in address.path and needs not in {*PAGES, "public"}:
            answer = matrix.send(address, caller)
            if '"demo"' in answer.text or "of demo" in answer.text:
                matrix.broken.append(f"{address.name} shows a {role} another campaign")
    assert not matrix.broken, "\n".join(matrix.broken)
    assert '"other"' in matrix.client.get("/v1/campaigns", headers=caller).text


def test_bodies_and_queries_reach_no_other_campaign(matrix: Matrix, credential: Credential) -> None:
    caller = credential("manager", campaign="other")
    body = {"role": "viewer", "campaign": "demo"}
    assert matrix.client.post("/v1/tokens", json=body, headers=caller).status_code == 404
    unbound = {"role": "viewer"}
    assert matrix.client.post("/v1/tokens", json=unbound, headers=caller).status_code == 403
    theirs = matrix.values["import"]
    for method, rest in (("GET", ""), ("PUT", "/files/a.tsv"), ("POST", "/commit")):
        url = f"/v1/campaigns/other/imports/{theirs}{rest}"
        assert matrix.client.request(method, url, headers=caller).status_code == 404, rest


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize("who", ["staff", "rater"])
def test_a_cookie_reads_and_changes_nothing_without_proof_of_origin(
    matrix: Matrix, credential: Credential, database_url: str, who: str, whole: bool
) -> None:
    """whole: each proof that is none at each address; otherwise one at each, in turn, and every fourth report read."""
    given = credential() if who == "staff" else credential("rater", campaign="demo")
    token = given["Authorization"].removeprefix("Bearer ")
    opened = matrix.client.post("/v1/session", json={"token": token})
    cookie = {"Cookie": f"{who}={matrix.client.cookies[who]}"}
    csrf = {"X-CSRF-Token": opened.json()["csrf"]}
    foreign = {"Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    unproven = {"nothing": {}, "only the page's": csrf, "only the browser's": {"Sec-Fetch-Site": "same-origin"}}
    unproven |= {"another site's": {**csrf, **foreign}}
    closed = [
        one
        for one, needs in matrix.known()
        if needs != "public" and (needs in {"rater", "own page"}) == (who == "rater")
    ]
    assert closed
    for address in closed if whole else few_reports(closed, 4):
        if address.method in SAFE:
            matrix.want("a cookie", address, matrix.send(address, cookie), None)
    before = everything_in(database_url)
    for n, address in enumerate(address for address in closed if address.method not in SAFE):
        for what, proof in list(unproven.items()) if whole else [list(unproven.items())[n % len(unproven)]]:
            matrix.want(f"a cookie with {what} proof", address, matrix.send(address, {**cookie, **proof}), {403})
    assert not matrix.broken, "\n".join(matrix.broken)
    assert everything_in(database_url) == before
    proven = {**cookie, **csrf, "Sec-Fetch-Site": "same-origin"}
    made = matrix.client.post("/v1/campaigns", json={"key": "proven", "protocol": "da"}, headers=proven)
    assert made.status_code == (201 if who == "staff" else 401)  # staff routes do not read a rater's cookie


@pytest.mark.soak
def test_a_route_that_lets_everybody_in_is_caught(
    matrix: Matrix, credential: Credential, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: one new route without a row, and one with a row that does not keep its door."""

    def careless(_: Public, session: SessionDep) -> list[str]:
        return [view.name for view in tokens.list_tokens(session, by=None, after=None, limit=10)]

    for path in ("/forgotten", "/v1/campaigns/{campaign}/careless"):
        matrix.app.router.routes.append(APIRoute(path, careless, name=path))
    matrix.app.openapi().clear()
    monkeypatch.setitem(EXPECTED, "GET /v1/campaigns/{campaign}/careless", "manager")

    for address, needs in matrix.known():
        if needs == "manager":
            matrix.want("anonymous", address, matrix.send(address, {}), {401})
            matrix.want("viewer", address, matrix.send(address, credential("viewer")), {403})

    assert "GET /forgotten" in without_a_row(matrix.app)
    assert "GET /v1/campaigns/{campaign}/careless as anonymous: 200" in matrix.broken
    assert "GET /v1/campaigns/{campaign}/careless as viewer: 200" in matrix.broken
    assert len(matrix.broken) == 2
