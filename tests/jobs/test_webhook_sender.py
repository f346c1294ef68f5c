"""Webhooks over real connections: every event in order, once where the receiver lives, again after it was away."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from sqlalchemy import text

from app.jobs import webhook_sender
from app.jobs.webhook_sender import WebhookSender
from app.services.campaigns.campaigns import NewCampaign, create_campaign
from app.services.webhooks import delivery, events, webhooks
from app.services.webhooks.addresses import ONLY_PUBLIC, AllowedWebhookAddresses
from app.storage import campaigns
from app.storage.db import Database
from tests.working import until

LOOPBACK = AllowedWebhookAddresses.parse(["127.0.0.1", "localhost"])
TOLERANCE = 300


@dataclass
class Receiver:
    """Takes requests as Standard Webhooks tells receivers to: by id, time and signature."""

    port: int
    secret: str = ""
    statuses: list[int] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def take(self, headers: Any, body: bytes) -> int:
        if self.statuses and (status := self.statuses.pop(0)) != 200:
            return status
        said = (headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        if not is_signed(self.secret, body, *said):
            self.refused.append(headers["webhook-id"])
            return 401
        self.ids.append(headers["webhook-id"])
        self.seen.append(json.loads(body))
        return 204

    @property
    def numbers(self) -> list[int]:
        return [one["data"]["n"] for one in self.seen]


def is_signed(secret: str, body: bytes, message_id: str, seconds: str, signature: str) -> bool:
    """What a receiver does: the time is near, and one of the signatures is right."""
    if abs(time.time() - int(seconds)) > TOLERANCE:
        return False
    key = base64.b64decode(secret.split("_", 1)[1])
    right = hmac.digest(key, f"{message_id}.{seconds}.".encode() + body, hashlib.sha256)
    return any(hmac.compare_digest(f"v1,{base64.b64encode(right).decode()}", one) for one in signature.split())


@contextmanager
def listening(receiver: Receiver) -> Iterator[None]:
    """The receiver answers for the length of a block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = receiver.take(self.headers, body)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", receiver.port), Handler)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    handle = Database(database_url, size=4, role="plumbline_app")
    with handle.transaction() as session:
        create_campaign(session, NewCampaign(key="c", protocol="da"), actor="test")
    yield handle
    handle.close()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_sender, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(delivery, "compute_seconds_until_next_attempt", lambda _: 0)


@contextmanager
def sending(database: Database, allowed: AllowedWebhookAddresses = LOOPBACK, *, senders: int = 1) -> Iterator[None]:
    stop = threading.Event()
    threads = [threading.Thread(target=WebhookSender(database, stop=stop, allowed=allowed).run) for _ in range(senders)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def make(database: Database, receiver: Receiver, *kinds: events.EventKind, host: str = "127.0.0.1") -> str:
    url = f"http://{host}:{receiver.port}/hook"
    with database.transaction() as session:
        made = webhooks.create_webhook(
            session, "c", url=url, kinds=kinds or events.EVENT_KINDS, allowed=LOOPBACK, actor="test"
        )
    receiver.secret = made.secret
    return made.webhook.public_id


def happen(database: Database, *kinds: events.EventKind) -> None:
    for kind in kinds:
        with database.transaction() as session:
            events.record_webhook_event(session, campaigns.load_campaign(session, "c").id, kind, {"job": "j"})


def view(database: Database, public_id: str) -> webhooks.WebhookView:
    with database.transaction() as session:
        return next(
            one for one in webhooks.list_webhooks(session, "c", after=None, limit=9) if one.public_id == public_id
        )


def deliveries(database: Database, public_id: str) -> list[webhooks.WebhookDelivery]:
    with database.transaction() as session:
        return webhooks.list_webhook_deliveries(session, "c", public_id, before=None, limit=200)[0]


@pytest.mark.usefixtures("soon")
def test_every_event_comes_once_and_in_order_also_after_the_receiver_was_away(database: Database) -> None:
    receiver = Receiver(0)
    with listening(receiver):
        hook = make(database, receiver)
        with sending(database, senders=2):
            happen(database, *["job.done"] * 5)
            until(lambda: len(receiver.seen) == 5, "five events")
    with sending(database, senders=2):
        happen(database, *["job.done"] * 5)
        until(lambda: view(database, hook).attempts >= 2, "failed attempts while nobody listens")
        receiver.statuses = [500, 302, 503]
        with listening(receiver):
            until(lambda: len(receiver.seen) == 10, "the other five")
            until(lambda: view(database, hook).next_event == 11, "nothing is left to send")
            time.sleep(0.2)
    assert receiver.numbers == list(range(1, 11))
    assert receiver.ids == [f"c.{n}" for n in range(1, 11)]
    assert {one["type"] for one in receiver.seen} == {"job.done"}
    assert {one["data"]["campaign"] for one in receiver.seen} == {"c"}
    met = [one.status for one in deliveries(database, hook)]
    assert met.count(204) == 10
    assert {500, 302, 503, None} <= set(met)
    assert view(database, hook).failing_since is None


@pytest.mark.usefixtures("soon")
def test_events_are_sent_again_from_where_one_says_with_the_same_ids(database: Database) -> None:
    receiver = Receiver(0)
    with listening(receiver), sending(database):
        hook = make(database, receiver)
        happen(database, *["job.done"] * 3)
        until(lambda: view(database, hook).next_event == 4, "three events")
        with database.transaction() as session:
            webhooks.replay_events(session, "c", hook, event=2, actor="test")
        until(lambda: len(receiver.seen) == 5, "two of them again")
    assert receiver.ids == ["c.1", "c.2", "c.3", "c.2", "c.3"]


@pytest.mark.usefixtures("soon")
def test_a_receiver_refuses_what_another_signed(database: Database) -> None:
    receiver = Receiver(0)
    with listening(receiver), sending(database):
        hook = make(database, receiver)
        right, receiver.secret = receiver.secret, "whsec_" + base64.b64encode(b"x" * 32).decode()
        happen(database, "job.done")
        until(lambda: receiver.refused, "the event is refused")
        receiver.secret = right
        until(lambda: receiver.seen, "the event is taken")
        until(lambda: view(database, hook).next_event == 2, "it is noted")
    assert receiver.refused[0] == "c.1"
    body, now = b"{}", int(time.time())
    for wrong in ({"message_id": "c.2"}, {"timestamp": now - 1}, {"body": b"[]"}, {"timestamp": now - TOLERANCE - 5}):
        said = {"message_id": "c.1", "timestamp": now, "body": body}
        signature = delivery.sign_message(right, **said)  # type: ignore[arg-type]
        said |= wrong
        assert not is_signed(right, said["body"], str(said["message_id"]), str(said["timestamp"]), signature)  # type: ignore[arg-type]
    assert is_signed(right, body, "c.1", str(now), delivery.sign_message(right, "c.1", now, body))


@pytest.mark.usefixtures("soon")
def test_a_webhook_is_told_its_kinds_only_and_tests_of_its_own(database: Database) -> None:
    receiver, other = Receiver(0), Receiver(0)
    with listening(receiver), listening(other), sending(database):
        hook, second = make(database, receiver, "job.failed"), make(database, other, "job.done")
        happen(database, "job.done", "job.failed", "job.done")
        with database.transaction() as session:
            assert webhooks.queue_test_event(session, "c", hook) == 4
        until(lambda: len(receiver.seen) == 2 and len(other.seen) == 2, "each has its own")
        until(lambda: view(database, second).next_event == 4, "and no more")
    assert [(one["type"], one["data"]["n"]) for one in receiver.seen] == [("job.failed", 2), ("webhook.test", 4)]
    assert other.numbers == [1, 3]


@pytest.mark.usefixtures("soon")
def test_who_answers_410_gets_nothing_more_until_somebody_asks(database: Database) -> None:
    receiver = Receiver(0, statuses=[410])
    with listening(receiver), sending(database):
        hook = make(database, receiver)
        happen(database, "job.done")
        until(lambda: view(database, hook).stopped_because == "gone", "it stops")
        happen(database, "job.done")
        time.sleep(0.3)
        assert receiver.seen == []
        with database.transaction() as session:
            webhooks.replay_events(session, "c", hook, event=None, actor="test")
        until(lambda: receiver.numbers == [1, 2], "it goes on where it was")


@pytest.mark.usefixtures("soon")
def test_who_takes_nothing_for_three_days_is_stopped(database: Database) -> None:
    receiver = Receiver(0, statuses=[500] * 1000)
    with listening(receiver), sending(database):
        hook = make(database, receiver)
        happen(database, "job.done")
        until(lambda: view(database, hook).failing_since is not None, "it fails")
        assert view(database, hook).stopped_at is None
        shift(database, "71 hours 59 minutes")
        until(lambda: len(deliveries(database, hook)) > 4, "it is still tried")
        assert view(database, hook).stopped_at is None
        shift(database, "1 minute")
        until(lambda: view(database, hook).stopped_because == "failing", "it stops")


def shift(database: Database, by: str) -> None:
    with database.transaction() as session:
        session.execute(text(f"UPDATE webhooks SET failing_since = failing_since - interval '{by}'"))


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_nothing_is_sent_inside_unless_it_is_listed(database: Database, host: str) -> None:
    receiver = Receiver(0)
    with listening(receiver):
        hook = make(database, receiver, host=host)
        with sending(database, ONLY_PUBLIC):
            happen(database, "job.done")
            until(lambda: deliveries(database, hook), "it was tried")
        assert receiver.seen == []
        assert {one.error for one in deliveries(database, hook)} == {"the host's address is not public"}


@pytest.mark.usefixtures("soon")
def test_a_name_with_one_address_inside_is_refused_whole(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = Receiver(0)
    with listening(receiver):
        hook = make(database, receiver, host="localhost")
        both = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, receiver.port))
            for address in ("1.1.1.1", "127.0.0.1")
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
        with sending(database, ONLY_PUBLIC):
            happen(database, "job.done")
            until(lambda: deliveries(database, hook), "it was tried")
    assert {one.error for one in deliveries(database, hook)} == {"the host's address is not public"}


@pytest.mark.usefixtures("soon")
def test_who_never_answers_is_left_in_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_sender, "TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hook = make(database, Receiver(silent.getsockname()[1]))
        with sending(database):
            happen(database, "job.done")
            until(lambda: deliveries(database, hook), "it was tried")
    assert deliveries(database, hook)[0].error == "no answer within 0.3 s"


def test_events_are_numbered_in_the_order_in_which_they_are_seen(database: Database) -> None:
    with listening(receiver := Receiver(0)):
        make(database, receiver)
    numbers: list[int] = []
    turn = threading.Barrier(4)

    def add() -> None:
        turn.wait()
        for _ in range(20):
            happen(database, "job.done")
            with database.transaction() as session:
                numbers.append(webhooks_last(session))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(numbers) == 80
    assert sorted(set(numbers)) == sorted(set(numbers) & set(range(1, 81)))


def webhooks_last(session: Any) -> int:
    """The last number, and no gap before it."""
    count, last = session.execute(text("SELECT count(*), max(n) FROM webhook_events")).one()
    assert count == last
    return int(last)


def test_without_a_webhook_nothing_is_kept(database: Database) -> None:
    happen(database, "job.done")
    with listening(receiver := Receiver(0)):
        hook = make(database, receiver)
    with database.transaction() as session:
        webhooks.delete_webhook(session, "c", hook, actor="test")
    happen(database, "job.done")
    with database.transaction() as session:
        assert session.execute(text("SELECT count(*) FROM webhook_events")).scalar() == 0
