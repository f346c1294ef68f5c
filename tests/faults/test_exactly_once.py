"""However often and however late an answer is sent, it is stored once, and everybody is told so."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from app.storage import embedded
from app.storage.db import Database
from app.storage.recorder.judgments import RECORD
from tests.collecting import Collecting, collect
from tests.faults.again import Again
from tests.load.server import serving
from tests.spine import fresh
from tests.working import LIMIT, until

THREADS = 60
CUTS = 10
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@dataclass(frozen=True)
class Service:
    """A database, and where it is served."""

    url: str
    origin: str


@pytest.fixture(scope="module")
def run(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Service]:
    with fresh(postgres, migrated_template) as spine, serving(spine.url, size=20) as served:
        yield Service(spine.url, served.url)


@contextmanager
def holding(run: Service, key: str) -> Iterator[tuple[Collecting, str]]:
    """A campaign and the address of a task that r1 holds."""
    database = Database(run.url, size=1, role="plumbline_app")
    live = collect(database, key=key)
    database.close()
    lease = httpx.post(
        f"{run.origin}/v1/campaigns/{key}/lease", headers=live.auth("r1"), trust_env=False, timeout=LIMIT
    )
    yield live, f"/v1/tasks/{lease.json()['task']['task']}/judgments"


def stored(run: Service, live: Collecting) -> list[tuple[int, float]]:
    with psycopg.connect(run.url) as db:
        rows = db.execute(
            """SELECT revision, (payload ->> 'score')::float8 FROM judgments WHERE campaign_id = %s
               ORDER BY item_id, segment_id, revision""",
            (live.id,),
        ).fetchall()
    return [(int(row[0]), float(row[1])) for row in rows]


def together(run: Service, live: Collecting, url: str, scores: list[float], seen: str) -> list[httpx.Response]:
    """The same address judged by many threads at the same moment."""
    barrier = threading.Barrier(len(scores), timeout=LIMIT)

    def one(score: float) -> httpx.Response:
        with httpx.Client(base_url=run.origin, timeout=LIMIT, trust_env=False) as web:
            barrier.wait()
            headers = {**live.auth("r1"), "If-Match": seen}
            return Again().request(web, "PUT", url, json={"protocol": "da", "score": score}, headers=headers)

    with ThreadPoolExecutor(len(scores)) as pool:
        return list(pool.map(one, scores))


def test_sixty_at_once_with_one_answer_are_all_told_that_it_is_stored(run: Service) -> None:
    with holding(run, "same") as (live, url):
        answers = together(run, live, f"{url}/1/1", [50.0] * THREADS, '"0"')
        assert Counter(answer.status_code for answer in answers) == {200: THREADS}
        assert {answer.json()["revision"] for answer in answers} == {1}
        assert stored(run, live) == [(1, 50.0)]


def test_of_sixty_different_answers_one_is_stored_and_the_others_see_it(run: Service) -> None:
    with holding(run, "different") as (live, url):
        answers = together(run, live, f"{url}/1/1", [float(n) for n in range(THREADS)], '"0"')
        counts = Counter(answer.status_code for answer in answers)
        assert counts == {200: 1, 412: THREADS - 1}
        ((revision, score),) = stored(run, live)
        assert revision == 1
        refused = [answer.json() for answer in answers if answer.status_code == 412]
        assert {told["stored"]["payload"]["score"] for told in refused} == {score}


def test_sixty_in_threes_with_one_key_are_stored_once_each(run: Service) -> None:
    """POST with an Idempotency-Key: a flag; another body under the key is refused."""
    with holding(run, "flags") as (live, url):
        flags = url.replace("/judgments", "/flags")

        def one(n: int) -> int:
            headers = {**live.auth("r1"), "Idempotency-Key": f"k{n % 3}"}
            body = {"reason": "technical", "item": 1, "note": f"n{n % 3}"}
            with httpx.Client(base_url=run.origin, timeout=LIMIT, trust_env=False) as web:
                return Again().request(web, "POST", flags, json=body, headers=headers).status_code

        with ThreadPoolExecutor(20) as pool:
            assert set(pool.map(one, range(THREADS))) == {201}
        other = httpx.post(
            f"{run.origin}{flags}",
            json={"reason": "technical"},
            headers={**live.auth("r1"), "Idempotency-Key": "k0"},
            trust_env=False,
            timeout=LIMIT,
        )
        assert other.status_code == 422
        with psycopg.connect(run.url) as db:
            assert db.execute("SELECT count(*) FROM flags WHERE campaign_id = %s", (live.id,)).fetchone() == (3,)


def _whole(client: socket.socket) -> bytes:
    """A request to its end."""
    data = b""
    while True:
        data += client.recv(1 << 16)
        head, found, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if found and len(body) >= (int(length[1]) if length else 0):
            return data


class Cutter:
    """A proxy that passes a request on and cuts the line before its answer, as often as it is told."""

    def __init__(self, port: int | None, cuts: int) -> None:
        self.cuts = cuts
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._target)) as server:
            server.sendall(_whole(client))
            answer = server.recv(1 << 16)  # it is carried out by now
            if self.cuts > 0:
                self.cuts -= 1
                return
            client.sendall(answer)

    def close(self) -> None:
        self._listener.close()


def test_a_line_that_is_cut_after_the_work_is_done_leads_to_no_second_revision(run: Service) -> None:
    with holding(run, "cut") as (live, url):
        cutter = Cutter(urlsplit(run.origin).port, CUTS)
        sent = 0
        for seen in (None, "0"):
            for _ in range(CUTS + 5):
                headers = {**live.auth("r1"), "Connection": "close", **({"If-Match": f'"{seen}"'} if seen else {})}
                sent += 1
                try:
                    answer = httpx.put(
                        f"http://127.0.0.1:{cutter.port}{url}/1/1",
                        json={"protocol": "da", "score": 50},
                        headers=headers,
                        trust_env=False,
                        timeout=LIMIT,
                    )
                except httpx.TransportError:
                    continue
                assert (answer.status_code, answer.json()["revision"]) == (200, 1)
        cutter.close()
        assert cutter.cuts == 0
        assert sent > CUTS
        assert stored(run, live) == [(1, 50.0)]


def test_a_statement_that_looks_in_its_own_snapshot_is_caught(run: Service) -> None:
    """The negative control: without the lock before it, the statement misses what a concurrent one stores."""
    with holding(run, "snapshot") as (live, _):
        with psycopg.connect(run.url) as db:
            row = db.execute(
                """SELECT k.id, t.rater_id, t.id, i.id, g.id FROM tasks t JOIN tokens k ON k.rater_id = t.rater_id
                   JOIN items i ON i.task_id = t.id JOIN segments g ON g.document_id = i.document_id
                   WHERE t.campaign_id = %s AND t.state = 'leased' LIMIT 1""",
                (live.id,),
            ).fetchone()
            settings = db.execute("SELECT settings_version FROM campaigns WHERE id = %s", (live.id,)).fetchone()
            profile = db.execute(
                """INSERT INTO profiles (campaign_id, name, digest) VALUES (%s, 'score', 'score')
                   ON CONFLICT (campaign_id, digest) DO UPDATE SET name = 'score' RETURNING id""",
                (live.id,),
            ).fetchone()
        assert row is not None
        assert profile is not None
        assert settings is not None
        names = ("token", "rater", "task", "item", "segment")
        keys = {name: [value] for name, value in zip(names, row, strict=True)}
        keys |= {"n": [0], "seen": [0], "final": [False], "keep": [False], "errors": [-1], "guidelines": [None]}
        keys["session"] = [None]
        keys |= {"payload": [json.dumps({"protocol": "da", "score": 50})], "score": [50.0]}
        alone = {**keys, "campaign": live.id, "profile": profile[0], "lasts": "1 hour", "actor": "a"}
        alone["settings"] = settings[0]

        def careless(_: int) -> str:
            with psycopg.connect(run.url) as db:
                try:
                    found = db.execute(RECORD.encode(), alone).fetchone()
                except psycopg.errors.UniqueViolation:
                    return "lost"
                return str(found[0]) if found else ""

        with (
            ThreadPoolExecutor(7) as pool,
            psycopg.connect(run.url) as first,
            psycopg.connect(run.url, autocommit=True) as look,
        ):
            stored_by_first = first.execute(RECORD.encode(), alone).fetchone()
            others = [pool.submit(careless, n) for n in range(7)]
            until(lambda: look.execute(WAITING).fetchone() == (7,), "all have looked before the first one commits")
            first.commit()
            verdicts = Counter(other.result(LIMIT) for other in others)
        assert stored_by_first is not None
        assert stored_by_first[0] == "added"
        assert verdicts == {"lost": 7}
