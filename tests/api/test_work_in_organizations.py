"""People of two organizations at work at once, under the same keys: raters, seats of invitations, archives, streams."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, cast

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from app.services.access import tokens
from app.storage import embedded
from app.storage.current_organization import SPAN, organization_number_from_row_id, use_organization
from app.storage.db import Database, DatabaseBusy, Session
from app.web import organizations
from app.web.organizations import OrganizationDirectory
from app.web.server_sent_events import EventStreams
from tests.api.conftest import OPTIONS
from tests.api.direct import asking
from tests.api.live_campaign import LIVE, judge_task, lease, ok, open_live, ranked
from tests.organized import KEYS, OURS, TWIN, within
from tests.spine import Spine, template_of

BOTH = (OURS, TWIN)
TEXT = {OURS: "sysA says", TWIN: "sysZ says"}


def issue(database: Database, organization: int, **given: Any) -> dict[str, str]:
    with use_organization(organization), database.transaction() as session:
        secret = tokens.issue_token(session, **{"role": "admin", **given}).secret
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture(scope="module")
def made(postgres: embedded.EmbeddedServer, organized_template: str) -> Iterator[str]:
    """The template: the open campaign in both organizations."""
    from app.main import create_app

    def fill(spine: Spine) -> None:
        with asking(create_app(spine.database, OPTIONS)) as client:
            for organization in BOTH:
                client.headers.update(issue(spine.database, organization))
                open_live(client)

    with template_of(postgres, organized_template, fill) as name:
        yield name


@pytest.fixture
def template(made: str) -> str:
    return made


@pytest.fixture
def client(app: FastAPI) -> Iterator[httpx.Client]:
    with asking(app) as found:
        yield found


@pytest.fixture
def staff(database: Database) -> dict[int, dict[str, str]]:
    return {organization: issue(database, organization) for organization in BOTH}


def count(url: str, organization: int) -> int:
    with psycopg.connect(within(url, organization)) as connection:
        numbers = [row[0] for row in connection.execute("SELECT id FROM judgments").fetchall()]
    assert {organization_number_from_row_id(number) for number in numbers} <= {organization}
    return len(numbers)


def test_answers_of_raters_of_one_key_stay_apart_and_are_ranked_apart(
    client: httpx.Client, database: Database, database_url: str, staff: dict[int, dict[str, str]]
) -> None:
    raters = {one: issue(database, one, role="rater", campaign="live", rater="r1") for one in BOTH}
    for _ in range(2):
        for organization in BOTH:
            assert judge_task(client, raters[organization])
    assert judge_task(client, raters[TWIN])
    assert (count(database_url, OURS), count(database_url, TWIN)) == (4, 6)
    for organization, n in ((OURS, 4), (TWIN, 6), (OURS, 4)):
        client.headers.update(staff[organization])
        assert sum(ranked(client).values()) == n
        progress = ok(client.get(f"{LIVE}/progress"))
        assert progress["judgments"] == n if "judgments" in progress else progress
        shown = client.get(f"{LIVE}/progress/stream", headers={"Accept": "application/json"})
        assert shown.status_code == 200


def test_a_task_of_one_organization_is_nobodys_in_the_other(client: httpx.Client, database: Database) -> None:
    raters = {one: issue(database, one, role="rater", campaign="live", rater="r1") for one in BOTH}
    task = lease(client, raters[OURS])["task"]
    payload = {"protocol": "da", "score": 50}
    for path in ("", "/judgments/1/1"):
        method = "PUT" if path else "GET"
        answer = client.request(method, f"/v1/tasks/{task}{path}", headers=raters[TWIN], json=payload if path else None)
        assert answer.status_code == 404, answer.text
    assert client.put(f"/v1/tasks/{task}/judgments/1/1", headers=raters[OURS], json=payload).status_code == 200


def test_a_seat_is_claimed_where_the_invitation_is_and_stays_there(
    client: httpx.Client, database_url: str, staff: dict[int, dict[str, str]]
) -> None:
    for organization in BOTH:
        made = client.post(f"{LIVE}/invitations", json={"count": 2}, headers=staff[organization]).json()
        body = {"secret": made["secret"], "external_id": "w1", "want": "token"}
        path = f"/v1/invitations/{made['invitation']}/claim"
        claimed = client.post(path, json=body).json()
        me = client.get("/v1/me", headers={"Authorization": f"Bearer {claimed['token']}"}).json()
        assert me["rater"] == claimed["rater"]
        wrong = made["secret"].removeprefix("o1-") if organization else f"o1-{made['secret']}"
        assert client.post(path, json={**body, "secret": wrong}).status_code == 404
        opened = client.post(path, json={**body, "external_id": "w2", "want": "session"})
        assert opened.status_code == 201, opened.text
        assert client.get("/v1/me").json()["rater"] == opened.json()["rater"]
        client.cookies.clear()
        with psycopg.connect(within(database_url, organization)) as connection:
            assert connection.execute("SELECT count(*) FROM enrolments WHERE external_id = 'w1'").fetchone() == (1,)


def test_the_address_of_an_archive_leads_to_its_organization(
    client: httpx.Client, database: Database, staff: dict[int, dict[str, str]]
) -> None:
    addresses = {}
    for organization in BOTH:
        judge_task(client, issue(database, organization, role="rater", campaign="live", rater="r1"))
        etag = client.get(LIVE, headers=staff[organization]).headers["ETag"]
        closed = client.post(f"{LIVE}/close", json={}, headers={"If-Match": etag, **staff[organization]})
        assert closed.status_code in (200, 204)
        renamed = {"name": f"of {organization}"}
        etag = client.get(LIVE, headers=staff[organization]).headers["ETag"]
        assert client.patch(LIVE, json=renamed, headers={"If-Match": etag, **staff[organization]}).status_code == 200
        addresses[organization] = ok(client.put(f"{LIVE}/archive", headers=staff[organization]))["address"]
    assert addresses[TWIN].startswith("o1-")
    for organization in (*BOTH, OURS):
        shown = client.get(f"/v1/archive/{addresses[organization]}")
        assert shown.json()["name"] == f"of {organization}"
        page = client.get(f"/archive/{addresses[organization]}", headers={"Accept": "text/html"})
        assert f"of {organization}" in page.text
    for forged in (addresses[TWIN].removeprefix("o1-"), f"o1-{addresses[OURS]}", f"o9-{addresses[OURS]}"):
        assert client.get(f"/v1/archive/{forged}").status_code == 404


def test_a_removed_organization_is_served_no_more(
    client: httpx.Client, database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rater = issue(database, TWIN, role="rater", campaign="live", rater="r1")
    task = lease(client, rater)["task"]
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE plumbline_shared.organizations SET state = 'removing' WHERE key = %s", [KEYS[TWIN]])
        connection.execute("DROP SCHEMA organization_1 CASCADE")
    payload = {"protocol": "da", "score": 50}
    # Within the seconds in which a process still knows it, and for a rater whom it remembers.
    assert client.put(f"/v1/tasks/{task}/judgments/1/1", headers=rater, json=payload).status_code == 404
    monkeypatch.setattr(organizations, "KNOWN_FOR", 0.0)
    assert client.get("/v1/me", headers=rater).status_code == 401


def test_numbers_of_the_last_organization_are_numbers_everywhere() -> None:
    """Of the largest one that can be, and the largest row of it: what scripts and locks take."""
    largest = 4096 * SPAN - 1
    assert int(float(largest)) == largest
    assert largest < 1 << 48
    assert (largest * 10**4 + 9999) < 1 << 63  # with the check digits of a cursor


@pytest.mark.parametrize("how", ["token", "cookie"])
@pytest.mark.parametrize("dropped", [True, False])
def test_a_stream_ends_with_its_organization(
    client: httpx.Client,
    app: FastAPI,
    database: Database,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    dropped: bool,
) -> None:
    monkeypatch.setattr(organizations, "KNOWN_FOR", 0.0)
    app.state.live = EventStreams(every=0.02, alive=0.02, longest=20)
    headers = issue(database, TWIN)
    if how == "cookie":
        token = headers.pop("Authorization").removeprefix("Bearer ")
        assert client.post("/v1/session", json={"token": token}).status_code == 201

    def remove() -> None:
        with psycopg.connect(database_url) as connection:
            connection.execute("UPDATE plumbline_shared.organizations SET state = 'removing' WHERE key = 'twin'")
            if dropped:
                connection.execute("DROP SCHEMA organization_1 CASCADE")

    ended: list[BaseException | None] = []
    stream = EventStreams._stream_events

    async def watched(self: EventStreams, *given: Any) -> AsyncIterator[bytes]:
        try:
            async for piece in stream(self, *given):
                yield piece
        except BaseException as error:
            ended.append(error)
            raise
        ended.append(None)

    monkeypatch.setattr(EventStreams, "_stream_events", watched)
    removal = threading.Timer(0.5, remove)
    removal.start()
    begun = time.monotonic()
    shown = client.get(f"{LIVE}/progress/stream", headers={"Accept": "text/event-stream", **headers})
    removal.join()
    assert b"event: progress" in shown.content
    assert ended == [None]
    assert time.monotonic() - begun < 15


def test_nobody_waits_for_others_to_look_which_organizations_there_are() -> None:
    """Two look at the same time, neither of whom goes on before the other has come."""
    together = threading.Barrier(2, timeout=5)

    class Slow:
        def transaction(self) -> AbstractContextManager[Session]:
            together.wait()
            raise DatabaseBusy

    directory = OrganizationDirectory(cast("Database", Slow()))
    with ThreadPoolExecutor(2) as threads:
        looks = [threads.submit(directory.has, TWIN) for _ in range(2)]
    assert [type(look.exception()) for look in looks] == [DatabaseBusy] * 2
