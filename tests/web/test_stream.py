"""Progress as it happens, over real connections: what is sent when, and what a hundred streams cost everybody else."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.services.access import tokens
from app.storage.db import Database
from app.web import server_sent_events
from app.web.http_protocol import LimitedHttpProtocol
from app.web.server_sent_events import EventStreams
from tests.collecting import Collecting, collect
from tests.patience import as_served, soon
from tests.web.conftest import Serving
from tests.working import LIMIT

pytestmark = pytest.mark.usefixtures("patience")
EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture
def campaign(database: Database) -> Collecting:
    return collect(database, documents=3)


@pytest.fixture
def app(make_app: Callable[..., FastAPI]) -> FastAPI:
    made = make_app()
    made.state.live = EventStreams(every=0.1, alive=0.3)
    return made


@pytest.fixture
def client(app: FastAPI, serving: Serving) -> Iterator[httpx.Client]:
    with serving(app) as (host, port):
        limits = httpx.Limits(max_connections=None)
        with httpx.Client(base_url=f"http://{host}:{port}", timeout=LIMIT, trust_env=False, limits=limits) as one:
            yield one


@pytest.fixture
def manager(database: Database) -> dict[str, str]:
    return bearer(database, role="manager")


def bearer(database: Database, **given: Any) -> dict[str, str]:
    with database.transaction() as session:
        return {"Authorization": f"Bearer {tokens.issue_token(session, **given).secret}"}


@dataclass
class Watching:
    """What a stream sent so far, read in a thread."""

    answer: httpx.Response
    events: list[dict[str, Any]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    ended: str | None = None

    def read(self) -> None:
        try:
            for line in self.answer.iter_lines():
                if line.startswith("data: "):
                    self.events.append(json.loads(line[6:]))
                elif line.startswith(":"):
                    self.comments.append(line)
            self.ended = "whole"
        except (httpx.TransportError, httpx.StreamError) as error:
            self.ended = type(error).__name__

    def wait(self, until: Callable[[], object]) -> None:
        end = time.monotonic() + LIMIT
        while not until() and time.monotonic() < end:
            time.sleep(0.02)
        assert until()

    def leave(self) -> None:
        """Go away; a line that is closed alone would still be read until something comes."""
        if self.ended is None:
            with suppress(OSError):  # the server was quicker
                self.answer.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self.answer.close()


@contextmanager
def watching(client: httpx.Client, campaign: Collecting, headers: dict[str, str]) -> Iterator[Watching]:
    url = f"/v1/campaigns/{campaign.key}/progress/stream"
    with client.stream("GET", url, headers={**EVENTS, **headers}) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        one = Watching(answer)
        thread = threading.Thread(target=one.read, daemon=True)
        thread.start()
        yield one
        one.leave()
    thread.join(LIMIT)
    assert not thread.is_alive()


def judge(client: httpx.Client, campaign: Collecting, rater: str = "r1") -> None:
    leased = client.post(f"/v1/campaigns/{campaign.key}/lease", headers=campaign.auth(rater)).json()["task"]
    url = f"/v1/tasks/{leased['task']}/judgments/1/1"
    stored = client.put(url, json={"protocol": "da", "score": 50}, headers=campaign.auth(rater))
    assert stored.status_code == 200, stored.text


def test_what_changes_is_sent_and_nothing_else_but_signs_of_life(
    client: httpx.Client, campaign: Collecting, manager: dict[str, str]
) -> None:
    with watching(client, campaign, manager) as one:
        one.wait(lambda: one.events)
        assert one.events[0]["total"]["judgments"] == 0
        one.wait(lambda: len(one.comments) > 1)
        assert {event["at"] for event in one.events} == {event["at"] for event in one.events[-1:]} or len(
            one.events
        ) < 3
        judge(client, campaign)
        one.wait(lambda: one.events[-1]["total"]["judgments"] == 1)


@pytest.fixture
def no_patience() -> Iterator[None]:
    """Nobody waits longer for a connection than in service, in what is made after this."""
    with as_served():
        yield


@pytest.mark.usefixtures("no_patience")  # before the database and the application, which are arguments
def test_a_hundred_streams_share_a_look_and_take_nobodys_place_or_connection(
    app: FastAPI, client: httpx.Client, campaign: Collecting, manager: dict[str, str], database: Database
) -> None:
    """Two connections: eight requests at once, so a hundred streams would leave room for nobody."""
    app.state.live = EventStreams(every=0.5, alive=60)
    with ExitStack() as stack:
        streams = [stack.enter_context(watching(client, campaign, manager)) for _ in range(100)]
        streams[-1].wait(lambda: all(one.events for one in streams))
        assert app.state.live.open == 100

        def busy() -> float:
            """The share of a second in which somebody has a connection."""
            before, since = app.state.live.looks, time.monotonic()
            seen = []
            while time.monotonic() - since < 1:
                seen.append(database.connections_in_use)
                time.sleep(0.01)
            # A look each quarter to half of a second.
            assert app.state.live.looks - before <= 1 + 4 * (time.monotonic() - since)
            return 1 - seen.count(0) / len(seen)

        assert soon(busy, 0.5), "the more the slower looks are: others use the machine, too"
        assert client.get("/v1/me", headers=manager).status_code == 200
        judge(client, campaign)
        streams[-1].wait(lambda: all(one.events[-1]["total"]["judgments"] == 1 for one in streams))
        full = client.get(f"/v1/campaigns/{campaign.key}/progress/stream", headers={**EVENTS, **manager})
        assert full.status_code == 503
        assert full.headers["retry-after"] == "30"
        assert full.headers["content-type"] == "application/problem+json"
    streams[0].wait(lambda: app.state.live.open == 0)


def test_streams_that_keep_their_places_are_caught(
    client: httpx.Client, campaign: Collecting, manager: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: eight streams that count as requests, and nobody else gets in."""
    monkeypatch.setattr(server_sent_events, "release_admission_slot", lambda _: None)
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(watching(client, campaign, manager))
        assert client.get("/v1/me", headers=manager).status_code == 503


def test_a_client_that_leaves_is_forgotten(
    app: FastAPI, client: httpx.Client, campaign: Collecting, manager: dict[str, str]
) -> None:
    with watching(client, campaign, manager) as one:
        one.wait(lambda: one.events)
        assert app.state.live.open == 1
    one.wait(lambda: app.state.live.open == 0)
    looks = app.state.live.looks
    time.sleep(0.4)
    assert app.state.live.looks == looks


def test_a_revoked_token_sees_no_more(client: httpx.Client, campaign: Collecting, database: Database) -> None:
    headers = bearer(database, role="viewer")
    with watching(client, campaign, headers) as one:
        one.wait(lambda: one.events)
        with database.transaction() as session:
            tokens.revoke_token(session, headers["Authorization"].split("_")[1], by=None)
        judge(client, campaign)
        one.wait(lambda: one.ended is not None)
        assert one.ended == "whole"
        assert one.events[-1]["total"]["judgments"] == 0


def stopped_within(app: FastAPI, serving: Serving, campaign: Collecting, headers: dict[str, str], http: type) -> float:
    """Seconds from telling a server to stop, with a stream open, until it is gone."""
    with ExitStack() as outer:
        with serving(app, http) as (host, port):
            client = outer.enter_context(httpx.Client(base_url=f"http://{host}:{port}", timeout=LIMIT, trust_env=False))
            one = outer.enter_context(watching(client, campaign, headers))
            one.wait(lambda: one.events)
            told = time.monotonic()
        seconds = time.monotonic() - told
        one.wait(lambda: one.ended is not None)
        return seconds


def test_streams_end_when_the_server_stops(
    app: FastAPI, serving: Serving, campaign: Collecting, manager: dict[str, str]
) -> None:
    """Within the time that a server waits for what is under way, here two seconds."""
    assert soon(lambda: stopped_within(app, serving, campaign, manager, LimitedHttpProtocol), 1.5)


def test_streams_that_are_not_told_are_caught(
    app: FastAPI, serving: Serving, campaign: Collecting, manager: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: the server waits for a stream without end as long as it waits at all."""
    monkeypatch.setattr(LimitedHttpProtocol, "shutdown", HttpToolsProtocol.shutdown)
    assert stopped_within(app, serving, campaign, manager, LimitedHttpProtocol) >= 1.9


def test_a_database_that_comes_back_goes_on_in_the_same_stream(
    client: httpx.Client, campaign: Collecting, manager: dict[str, str], database_url: str
) -> None:
    with watching(client, campaign, manager) as one:
        one.wait(lambda: one.events)
        with psycopg.connect(database_url, autocommit=True) as db:
            db.execute(
                """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()
                   AND backend_type = 'client backend'"""  # the owner may not end a worker of the autovacuum
            )
        judge(client, campaign)
        one.wait(lambda: one.events[-1]["total"]["judgments"] == 1)


def test_who_does_not_ask_for_events_gets_one_and_the_end(
    client: httpx.Client, campaign: Collecting, manager: dict[str, str]
) -> None:
    url = f"/v1/campaigns/{campaign.key}/progress"
    once = client.get(f"{url}/stream", headers=manager)
    assert once.status_code == 200
    name, data, *rest = once.text.split("\n")
    assert (name, rest) == ("event: progress", ["", ""])
    assert json.loads(data.removeprefix("data: "))["campaign"] == campaign.key
    assert client.head(f"{url}/stream", headers={**EVENTS, **manager}).status_code == 200


def test_each_sees_in_the_stream_what_they_see_elsewhere(
    client: httpx.Client, campaign: Collecting, database: Database
) -> None:
    url = f"/v1/campaigns/{campaign.key}/progress/stream"
    assert client.get(url, headers={**EVENTS, **campaign.auth("r1")}).status_code == 403
    assert client.get(url, headers=EVENTS).status_code == 401
    gone = client.get("/v1/campaigns/nowhere/progress/stream", headers={**EVENTS, **bearer(database, role="viewer")})
    assert gone.status_code == 404
    with watching(client, campaign, bearer(database, role="viewer")) as one:
        one.wait(lambda: one.events)
        assert one.events[0]["raters"] is None
        assert one.events[0]["systems"]
