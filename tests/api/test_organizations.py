"""Every route × a caller of another organization, taken from the application itself: all there is, is absent.

Three organizations in one database: the default one and its twin have campaigns, raters, tasks and reports of the same
keys and, where nobody draws them, the same names, but other words in every text; the third has next to nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from app.main import create_app
from app.services.access import tokens
from app.services.access.tokens import ROLES, Role
from app.storage import embedded
from app.storage.current_organization import SPAN, use_organization
from app.storage.db import Database
from tests.api.access_rows import EXPECTED, ROLE_SETS
from tests.api.conftest import OPTIONS, populate
from tests.api.direct import asking
from tests.api.test_access_matrix import (
    KEEPS_OUT,
    PAGES,
    SAFE,
    Address,
    Matrix,
    addresses,
    everything_in,
    few_reports,
)
from tests.organized import OTHER, OURS, TWIN, within
from tests.spine import Spine, template_of

WORDS = {OURS: "Dorsch", TWIN: "Zander"}
SENT = ("Source", "Target", "late", "Bonn", "Read first", "I agree")  # what is written into texts, notes and names
TWINS_NUMBER = re.compile(r"(?<![0-9.])687194[7-9][0-9]{4}(?![0-9])")  # from SPAN on
WHOLE = {
    "GET /metrics",
    "GET /livez",
    "GET /readyz",
    "GET /version",
    "GET /openapi.json",
}  # of the installation, without names


class Writer:
    """A client whose every text has a word in it."""

    def __init__(self, client: httpx.Client, word: str) -> None:
        self.client, self.word = client, word

    def _put(self, text: str) -> str:
        for sent in SENT:
            text = text.replace(sent, f"{self.word} {sent}")
        return text

    def __getattr__(self, method: str) -> Any:
        def send(url: str, **given: Any) -> httpx.Response:
            if "json" in given:
                given["json"] = json.loads(self._put(json.dumps(given["json"])))
            if "content" in given:
                given["content"] = self._put(given["content"].decode()).encode()
            if "params" in given:
                given["params"] = {name: self._put(value) for name, value in given["params"].items()}
            answer: httpx.Response = getattr(self.client, method)(url, **given)
            return answer

        return send


class MadeOrganizations(NamedTuple):
    """The template, and what the parameters of paths can take in the default organization and in its twin."""

    template: str
    values: dict[int, dict[str, str]]


def issue(database: Database, organization: int, role: Role = "admin", **given: Any) -> str:
    with use_organization(organization), database.transaction() as session:
        return tokens.issue_token(session, role=role, **given).secret


@pytest.fixture(scope="module")
def made(postgres: embedded.EmbeddedServer, organized_template: str) -> Iterator[MadeOrganizations]:
    values: dict[int, dict[str, str]] = {}

    def fill(spine: Spine) -> None:
        with asking(create_app(spine.database, OPTIONS)) as client:
            for organization in (OURS, TWIN, OTHER):
                client.headers["Authorization"] = f"Bearer {issue(spine.database, organization)}"
                if organization in WORDS:
                    writer: Any = Writer(client, WORDS[organization])
                    values[organization] = populate(writer, within(spine.url, organization))
                    note = {"name": f"{WORDS[organization]} viewer", "role": "viewer"}
                    assert client.post("/v1/tokens", json=note).status_code == 201
                assert client.post("/v1/campaigns", json={"key": "other", "protocol": "da"}).status_code == 201
                for path in ("teams/bonn", "raters/r1"):
                    body = {"name": path} if "teams" in path else {}
                    assert client.put(f"/v1/campaigns/other/{path}", json=body).status_code == 200

    with template_of(postgres, organized_template, fill) as name:
        yield MadeOrganizations(name, values)


@pytest.fixture
def template(made: MadeOrganizations) -> str:
    return made.template


@pytest.fixture
def matrix(app: FastAPI, made: MadeOrganizations) -> Iterator[Matrix]:
    with asking(app) as client:
        yield Matrix(app, client, dict(made.values[OURS]))


def bearer(database: Database, organization: int, role: Role, **given: Any) -> dict[str, str]:
    """The headers of a new token; those that must be of a campaign are of `other` unless it is said."""
    if role in {"rater", "coordinator", "frontend"}:
        given = {"campaign": "other", **given}
    given |= {"rater": "r1"} if role == "rater" else {"team": "bonn"} if role == "coordinator" else {}
    headers = {"Authorization": f"Bearer {issue(database, organization, role, **given)}"}
    return {**headers, **({"Plumbline-Rater": "r1"} if role == "frontend" else {})}


def names_something(address: Address) -> bool:
    """Whether an address names a campaign or something in one, by what is found nowhere else."""
    return any(f"{{{name}}}" in address.path for name in ("campaign", "task", "job", "prefix", "import"))


def dump(url: str, organization: int) -> dict[str, str]:
    return everything_in(within(url, organization))


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    "role", [role if role in {"admin", "rater"} else pytest.param(role, marks=pytest.mark.soak) for role in ROLES]
)
def test_whatever_another_organization_has_is_absent(
    matrix: Matrix, database: Database, database_url: str, role: Role, whole: bool
) -> None:
    """whole: at every address; otherwise where the role is let in, and at every fourth of the rest."""
    caller = bearer(database, OTHER, role)
    before = everything_in(database_url)
    for n, (address, needs) in enumerate(matrix.known()):
        if needs in {*PAGES, "public"} or not names_something(address):
            continue
        if not whole and role not in ROLE_SETS[needs] and n % 4:
            continue
        answer = matrix.send(address, caller)
        absent = {404} if role in ROLE_SETS[needs] else {403, 404}
        if "{campaign}" in address.path:  # and what is wrong with a request to it, as with one to no campaign
            unknown = matrix.send(address, caller, campaign="nowhere")
            if {**answer.json(), "instance": ""} != {**unknown.json(), "instance": ""}:
                matrix.broken.append(f"{address.name} tells another organization's campaign from none")
            absent |= {409, 422, 428}
        matrix.want(f"a {role} of another organization", address, answer, absent)
    assert matrix.tried > 100
    assert not matrix.broken, "\n".join(matrix.broken)
    assert everything_in(database_url) == before


@pytest.mark.parametrize("who", ["staff", "rater"])
def test_pages_and_cookies_show_no_other_organization(
    matrix: Matrix, database: Database, database_url: str, who: str
) -> None:
    given = bearer(database, OTHER, "admin" if who == "staff" else "rater")
    opened = matrix.client.post("/v1/session", json={"token": given["Authorization"].removeprefix("Bearer ")})
    assert opened.status_code == 201
    cookie = {"Cookie": f"{who}={matrix.client.cookies[who]}"}
    assert matrix.client.cookies[who].startswith(f"o{OTHER}-")
    before = everything_in(database_url)
    for address, _ in matrix.known():
        if address.method not in SAFE or address.name in WHOLE:
            continue
        answer = matrix.send(address, cookie)
        if answer.status_code >= 500 or WORDS[OURS] in answer.text or '"demo"' in answer.text:
            matrix.broken.append(f"{address.name} with a {who} cookie: {answer.status_code}")
    assert not matrix.broken, "\n".join(matrix.broken)
    assert everything_in(database_url) == before


def test_no_change_by_another_organization_changes_this_one(
    matrix: Matrix, database: Database, database_url: str
) -> None:
    """The twin has everything under the same names, so that its changes are carried out: there, and nowhere else."""
    before, theirs = everything_in(database_url), dump(database_url, TWIN)
    manager, rater = bearer(database, TWIN, "admin"), bearer(database, TWIN, "rater", campaign="demo")
    done = 0
    for address, needs in sorted(matrix.known(), key=lambda one: one[1] != "rater"):  # whose tokens others end
        if address.method not in SAFE and needs not in {*PAGES, "public"} and address.name not in KEEPS_OUT:
            answer = matrix.send(address, rater if needs == "rater" else manager)
            matrix.want("an admin of the twin", address, answer, None)
            done += answer.is_success
    assert done > 20
    assert not matrix.broken, "\n".join(matrix.broken)
    assert everything_in(database_url) == before
    assert dump(database_url, TWIN) != theirs


@pytest.mark.parametrize("representations", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_no_text_of_one_organization_is_ever_shown_to_the_other(
    matrix: Matrix, made: MadeOrganizations, database: Database, representations: bool
) -> None:
    """What is kept in memory after one has asked is not what the other is given: both ask all, each first in turn.

    Texts have a word of their own, and numbers of rows are the twin's from `SPAN` on. representations: also other than
    JSON and pages, which are made of the same reports, and every report, which are kept alike; otherwise every fourth.
    """
    callers: dict[tuple[int, str], dict[str, str]] = {}
    for organization in WORDS:
        token = issue(database, organization)
        assert matrix.client.post("/v1/session", json={"token": token}).status_code == 201
        callers[organization, "page"] = {"Cookie": f"staff={matrix.client.cookies['staff']}"}
        callers[organization, ""] = {"Authorization": f"Bearer {token}"}
        rater = issue(database, organization, "rater", campaign="demo", rater="r1")
        callers[organization, "rater"] = {"Authorization": f"Bearer {rater}"}
        matrix.client.cookies.clear()
        assert matrix.client.post("/v1/session", json={"token": rater}).status_code == 201
        callers[organization, "own page"] = {"Cookie": f"rater={matrix.client.cookies['rater']}"}
        matrix.client.cookies.clear()
    shown = dict.fromkeys(WORDS, 0)
    asked = [one for one in matrix.known() if one[0].method == "GET" and one[0].name not in KEEPS_OUT]
    asked = [one for one in asked if representations or not one[0].path.endswith(".{kind}")]
    few = {address.name for address in few_reports((address for address, _ in asked), 4)}
    asked = [one for one in asked if representations or one[0].name in few]
    for n, (address, needs) in enumerate(asked):
        for organization, other in ((OURS, TWIN), (TWIN, OURS))[:: 1 if n % 2 else -1]:
            matrix.values = dict(made.values[organization])
            caller = callers[organization, needs if needs in {"page", "own page", "rater"} else ""]
            answer = matrix.send(address, caller)
            theirs = organization == OURS and TWINS_NUMBER.search(answer.text)
            if WORDS[other] in answer.text or theirs or answer.status_code >= 500:
                matrix.broken.append(f"{address.name} for {organization}: {answer.status_code}")
            shown[organization] += WORDS[organization] in answer.text
    assert not matrix.broken, "\n".join(matrix.broken)
    assert shown[OURS] == shown[TWIN] > 10


def test_a_credential_with_another_organizations_mark_is_none(matrix: Matrix, database: Database) -> None:
    ours, theirs = issue(database, OURS), issue(database, TWIN)
    assert theirs.startswith("plb1_")
    for forged in (ours.replace("plb_", "plb1_"), theirs.replace("plb1_", "plb_"), theirs.replace("plb1_", "plb2_")):
        answer = matrix.client.get("/v1/me", headers={"Authorization": f"Bearer {forged}"})
        assert answer.status_code == 401
    for unknown in ("plb3_", "plb4095_", "plb9999_"):
        answer = matrix.client.get("/v1/me", headers={"Authorization": f"Bearer {theirs.replace('plb1_', unknown)}"})
        assert answer.status_code == 401


def test_the_largest_tables_of_the_twin_hold_its_own_words_only(database_url: str, made: MadeOrganizations) -> None:
    """The control: each organization's texts are where they belong, and both have them."""
    assert made.values[OURS].keys() == made.values[TWIN].keys()
    for organization, other in ((OURS, TWIN), (TWIN, OURS)):
        with psycopg.connect(within(database_url, organization)) as connection:
            texts = str(connection.execute("SELECT text FROM outputs").fetchall())
        assert WORDS[organization] in texts
        assert WORDS[other] not in texts


def test_the_twins_numbers_are_known_by_their_look() -> None:
    assert TWINS_NUMBER.search(f'"id":{SPAN + 1},')
    assert TWINS_NUMBER.search(str(SPAN + 20_000))


def test_every_route_is_in_the_matrix(app: FastAPI) -> None:
    named = [address for address in addresses(app) if names_something(address)]
    assert {address.name for address in named} <= EXPECTED.keys()
    assert len(named) > 150


def mixed_values(made: MadeOrganizations) -> Iterator[tuple[str, dict[str, str]]]:
    """The twin's values with one of the default organization's among them."""
    ours, theirs = made.values[OURS], made.values[TWIN]
    for name, value in ours.items():
        if value != theirs[name]:
            yield name, {**theirs, name: value}


def cursors_of(matrix: Matrix, values: dict[str, str], caller: dict[str, str]) -> dict[str, str]:
    """Where the second page begins of every list that has one."""
    matrix.values, cursors = values, {}
    for address, needs in matrix.known():
        if address.method == "GET" and needs not in {*PAGES, "public"} and address.name not in KEEPS_OUT:
            answer = matrix.send(address._replace(path=f"{address.path}?limit=1"), caller)
            if answer.headers.get("Content-Type", "").startswith("application/json") and answer.json().get("next"):
                cursors[address.name] = answer.json()["next"]
    return cursors


def with_leaf(body: Any, value: str) -> Iterator[Any]:
    """A body again and again, each time with another of its texts replaced."""
    if isinstance(body, str):
        yield value
    for key, held in body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ():
        for changed in with_leaf(held, value):
            whole = dict(body) if isinstance(body, dict) else list(body)
            whole[key] = changed
            yield whole


def requests_with_ids(
    address: Address, made: MadeOrganizations, cursors: dict[str, str], turn: int | None
) -> Iterator[tuple[str, Address, dict[str, str], dict[str, Any]]]:
    """Requests of the twin with an id of the default organization: where it stands, address, values and body.

    turn: which of the ids stands in a filter, and one more in the next; None: each stands in each filter.
    """
    theirs, plain = dict(made.values[TWIN]), address.body()
    ids = [mixed[name] for name, mixed in mixed_values(made)]
    for name, mixed in mixed_values(made):
        if f"{{{name}}}" in address.path:
            yield "path", address, mixed, plain
    queries = [("cursor", "cursor", cursors[address.name])] if address.name in cursors else []
    for n, parameter in enumerate(address.described.get("parameters", ())):
        if parameter.get("in") == "query" and "enum" not in parameter["schema"]:
            given = ids if turn is None else [ids[(turn + n) % len(ids)]]
            queries += [("filter", parameter["name"], value) for value in given]
    for where, name, value in queries:
        yield where, address._replace(path=f"{address.path}?{name}={value}"), theirs, plain
    for body in with_leaf(plain["json"], made.values[OURS]["task"]) if "json" in plain else ():
        yield "body", address, theirs, {"json": body}


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_ids_of_another_organization_lead_nowhere_wherever_they_stand(
    matrix: Matrix, made: MadeOrganizations, database: Database, database_url: str, whole: bool
) -> None:
    """In paths, cursors, filters and bodies of requests that are otherwise the twin's own.

    whole: each id in each filter; otherwise one in each, in turn, and every fourth report.
    """
    owner, caller = bearer(database, OURS, "admin"), bearer(database, TWIN, "admin")
    rater = bearer(database, TWIN, "rater", campaign="demo")
    asked = matrix.client.get("/v1/campaigns/demo/reports/robustness", headers={**owner, "Prefer": "wait=0"})
    job = asked.headers["Location"].rpartition("/")[2]
    made = made._replace(values={**made.values, OURS: {**made.values[OURS], "job": job}})
    cursors = cursors_of(matrix, made.values[OURS], owner)
    before, tried = everything_in(database_url), dict.fromkeys(("path", "cursor", "filter", "body"), 0)
    # What deletes comes last, as it may delete what is the twin's own.
    asked_of = addresses(matrix.app) if whole else few_reports(addresses(matrix.app), 4)
    names = {address.name for address in asked_of}
    for n, (known, needs) in enumerate(sorted(matrix.known(), key=lambda one: one[0].method == "DELETE")):
        if needs in PAGES or known.name in {*KEEPS_OUT, *WHOLE} or known.name not in names:
            continue
        for where, address, values, body in requests_with_ids(known, made, cursors, None if whole else n):
            url = address.path.format(**{name: v for name, v in values.items() if f"{{{name}}}" in address.path})
            headers = {"Prefer": "wait=0", **(rater if needs == "rater" else caller)}
            answer = matrix.client.request(address.method, url, headers=headers, **body)
            tried[where] += 1
            if answer.status_code >= 500 or WORDS[OURS] in answer.text:
                matrix.broken.append(f"{address.name}, {where}: {answer.status_code}")
            if where == "path" and answer.status_code < 300:
                matrix.broken.append(f"{address.name} finds the {where}: {answer.status_code}")
    assert tried["path"] > 12, tried
    assert tried["cursor"] > 4, tried
    assert min(tried["filter"], tried["body"]) > 100, tried
    assert not matrix.broken, "\n".join(matrix.broken)
    assert everything_in(database_url) == before
